//! This program as a process of its own, with a limit of time and a fault on the way.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
#[allow(clippy::disallowed_types, reason = "faults come at instants of real time")]
use std::time::Instant;

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// A process that is asked to stop has so long to save its state.
const PATIENCE: Duration = Duration::from_secs(20);

/// The figure that only a traced run has.
const TIMELINE: &str = "figures/timeline.";

/// How a process ended.
pub(super) struct Ended {
    /// `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
    pub(super) took: Duration,
    /// Whether it was stopped at the limit of time.
    pub(super) is_cut: bool,
    /// Whether it did not stop when it was asked to.
    pub(super) hangs: bool,
}

impl Ended {
    /// The first line that says what went wrong, without the numbers in it.
    pub(super) fn why(&self) -> String {
        let line = self
            .stderr
            .lines()
            .find(|line| line.contains("error:") || line.contains("panicked"));
        line.unwrap_or("").trim().to_owned()
    }
}

/// Where and how processes run.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) program: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) data: Option<PathBuf>,
    pub(super) limit: Duration,
}

impl Place {
    fn command(&self, prefix: &[&str], args: &[&str]) -> Command {
        let program = self.program.to_string_lossy().into_owned();
        let words: Vec<&str> = prefix
            .iter()
            .copied()
            .chain([program.as_str()])
            .chain(args.iter().copied())
            .collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&self.dir).stdin(Stdio::null());
        match &self.data {
            Some(data) => command.env("FOLKMOOT_DATA", data),
            None => command.env_remove("FOLKMOOT_DATA"),
        };
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Ended {
        self.run_with(&[], args, |_, _| {})
    }

    /// Runs it behind the words of `prefix`; `meanwhile` is called again and again with its id and
    /// the time since its start.
    pub(super) fn run_with(&self, prefix: &[&str], args: &[&str], mut meanwhile: impl FnMut(u32, Duration)) -> Ended {
        let said = self.dir.join("stderr.txt");
        let stderr = File::create(&said).map_or_else(|_| Stdio::null(), Stdio::from);
        let child = self.command(prefix, args).stdout(Stdio::null()).stderr(stderr).spawn();
        let started = now();
        let (mut asked, mut hangs) = (0, false);
        let code = child.ok().and_then(|mut child| {
            loop {
                if let Ok(Some(status)) = child.try_wait() {
                    break status.code();
                }
                let passed = started.elapsed();
                meanwhile(child.id(), passed);
                // The first signal stops a run with its state saved. A run that scores at its end
                // goes on, and the second signal ends it.
                if asked < 2 && passed > self.limit + asked * PATIENCE {
                    asked += 1;
                    signal(child.id(), "TERM");
                }
                if passed > self.limit + 2 * PATIENCE {
                    hangs = true;
                    kill(&mut child);
                }
                std::thread::sleep(LOOK);
            }
        });
        let stderr = fs::read(&said).unwrap_or_default();
        Ended {
            code,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            took: started.elapsed(),
            is_cut: asked > 0,
            hangs,
        }
    }
}

fn kill(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
}

/// Sends a signal by its name.
pub(super) fn signal(id: u32, name: &str) {
    let name = format!("-{name}");
    let _ = Command::new("kill")
        .args([name.as_str(), &id.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// The processes that a process has started.
pub(super) fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|id| id.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "faults come at instants of real time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The files of a run directory that must be the same however the run is made, with the manifest
/// without its command, and without what is said of a trace that is too long.
pub(super) fn result_of(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), String::new())];
    while let Some((path, prefix)) = open.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                open.push((entry.path(), format!("{name}/")));
            } else if !["timing.csv", "trace.json.gz"].contains(&name.as_str()) && !name.starts_with(TIMELINE) {
                found.push((name, fs::read(entry.path()).unwrap_or_default()));
            }
        }
    }
    for (_, bytes) in found.iter_mut().filter(|(name, _)| name == "manifest.json") {
        let text = String::from_utf8_lossy(bytes).into_owned();
        // The warning may be the last of its list, or the only one.
        let is_kept = |line: &&str| {
            let told = ["\"command\":", "\"the trace ends with its event "];
            !told.iter().any(|words| line.trim_start().starts_with(words))
        };
        let lines = text.lines().filter(is_kept).map(|line| line.trim_end_matches(','));
        *bytes = lines
            .collect::<Vec<&str>>()
            .join("\n")
            .replace("[\n  ]", "[]")
            .into_bytes();
    }
    found.sort();
    found
}

/// The first file in which two results differ, and the first line of it.
pub(super) fn difference(a: &[(String, Vec<u8>)], b: &[(String, Vec<u8>)]) -> Option<String> {
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>();
    let (of_a, of_b) = (names(a), names(b));
    if of_a != of_b {
        let only = |a: &[String], b: &[String]| a.iter().filter(|name| !b.contains(name)).cloned().collect::<Vec<_>>();
        return Some(format!(
            "files {:?} against {:?}",
            only(&of_a, &of_b),
            only(&of_b, &of_a)
        ));
    }
    let (file, (_, was), (_, is)) = of_a
        .iter()
        .zip(a.iter().zip(b))
        .map(|(name, (a, b))| (name, a, b))
        .find(|(_, a, b)| a.1 != b.1)?;
    let (was, is) = (String::from_utf8_lossy(was), String::from_utf8_lossy(is));
    let lines = was.lines().zip(is.lines()).enumerate();
    let line = lines.into_iter().find(|(_, (a, b))| a != b);
    Some(match line {
        Some((at, (was, is))) => format!("{file}:{}: {was} against {is}", at + 1),
        None => format!("{file}: one is longer"),
    })
}
