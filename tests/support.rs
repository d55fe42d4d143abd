//! What the tests share: folders of their own, the program run to its end, and files compared.

#[path = "not_run.rs"]
mod not_run;

use folkmoot_metrics::RunDir;
pub(crate) use not_run::not_run;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The program under test.
pub(crate) const FOLKMOOT: &str = env!("CARGO_BIN_EXE_folkmoot");

/// A folder of the test's own below the target directory, removed when the test passes.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static N_DIRS: AtomicU32 = AtomicU32::new(0);
        let n = N_DIRS.fetch_add(1, Ordering::Relaxed);
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{n}", std::process::id()));
        // Left over from a process of the same number that failed.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the folders it lies in.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs the program in this folder.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(args, self.command(args).output().unwrap())
    }

    /// The program with `args`, to be run in this folder, without data sets of the machine.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FOLKMOOT);
        command
            .args(args)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env_remove("FOLKMOOT_DATA");
        command
    }

    /// The names in this folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        TempDir::names_in(&self.0)
    }

    /// The names in any folder, sorted.
    pub(crate) fn names_in(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A program that has come to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) command: String,
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(args: &[&str], output: Output) -> Self {
        Ended {
            command: format!("folkmoot {}", args.join(" ")),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Code 0; returns stdout.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }

    /// Code 2, nothing on stdout, no panic, and each of `words` in the message; returns the
    /// message.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) -> String {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:#?}");
        }
        self.stderr
    }

    /// As a terminal would show it, for snapshots.
    pub(crate) fn transcript(&self) -> String {
        let mut text = format!("$ {}\n{}{}", self.command, self.stdout, self.stderr);
        if self.code != Some(0) {
            text += &format!("[exit code {}]\n", self.code.unwrap());
        }
        text + "\n"
    }
}

/// Every file below `dir`, by its path with `/` between the parts.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![(dir.to_owned(), String::new())];
    while let Some((path, prefix)) = open.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            if entry.path().is_symlink() {
                found.insert(name, Vec::new());
            } else if entry.path().is_dir() {
                open.push((entry.path(), format!("{name}/")));
            } else {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// The files of a run directory that must be the same for the same scenario: all but the timing,
/// what was observed besides, and the manifest's command.
pub(crate) fn result_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = files(dir);
    files.remove("timing.csv").expect("a run directory has a timing.csv");
    files.remove("observations.csv");
    let manifest = files.get_mut("manifest.json").expect("a run directory has a manifest");
    let text = String::from_utf8(manifest.clone()).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("\"command\":"))
        .collect();
    *manifest = lines.join("\n").into_bytes();
    files
}

/// Fails naming the first file in which two directories differ, as [`files`] or [`result_of`] read
/// them.
#[track_caller]
pub(crate) fn assert_same(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>, what: &str) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "{what}: other files");
    for (name, bytes) in a {
        let same = *bytes == b[name];
        assert!(
            same,
            "{what}: {name} differs:\n{}\nagainst\n{}",
            start_of(bytes),
            start_of(&b[name])
        );
    }
}

fn start_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned()
}

/// A finished run that many tests read, made once and kept in memory.
pub(crate) struct Kept {
    files: BTreeMap<String, Vec<u8>>,
    pub(crate) run: RunDir,
    pub(crate) said: Ended,
}

impl Kept {
    fn of(args: &[&str]) -> Self {
        let temp = TempDir::new();
        let said = temp.run(&[&["run"], args, &["--out", "out"]].concat());
        assert_eq!(said.code, Some(0), "{said:#?}");
        Kept {
            files: files(&temp.join("out")),
            run: RunDir::open(&temp.join("out")).unwrap(),
            said,
        }
    }

    /// Lays a copy of its directory at `name`.
    pub(crate) fn lay(&self, temp: &TempDir, name: &str) -> PathBuf {
        lay(&self.files, temp, name)
    }
}

/// Writes `files`, as [`files`] reads them, into a new directory `name`.
pub(crate) fn lay(files: &BTreeMap<String, Vec<u8>>, temp: &TempDir, name: &str) -> PathBuf {
    for (file, bytes) in files {
        temp.write(&format!("{name}/{file}"), bytes);
    }
    temp.join(name)
}

/// A card whose run takes a fraction of a second: three clients on a graph of 34 nodes, with
/// latencies, attacks and artifacts.
pub(crate) const TINY: &str = "fed-avg/tiny";

/// `folkmoot run fed-avg/tiny`.
pub(crate) fn tiny() -> &'static Kept {
    static RUN: OnceLock<Kept> = OnceLock::new();
    RUN.get_or_init(|| Kept::of(&[TINY]))
}

/// A world with dropout, loss, jitter and a deadline, small enough for a test.
pub(crate) const ROUGH: &[&str] = &[
    "fed-avg/small",
    "--set",
    "strategy.protocol.rounds=10",
    "--set",
    "dataset.n_graphs=160",
    "--set",
    "partition.min_size=2",
    "--set",
    "network=Links(uplink: (latency_ms: LogNormal(median: 40, sigma: 0.5, min: 10), loss_prob: 0.1), downlink: (latency_ms: \
     LogNormal(median: 30, sigma: 0.5, min: 10), loss_prob: 0.1), max_retries: 1, retry_after_ms: 200)",
    "--set",
    "devices=LogNormal(median_ops_per_s: 1e7, sigma: 0.7)",
    "--set",
    "dropout=(prob: 0.1, after_ms: Uniform(low: 0, high: 200))",
    "--set",
    "deadline_ms=400",
    "--set",
    "figures=[\"participation\", \"message-fate\", \"score-*\"]",
];

/// The run of that world.
pub(crate) fn rough() -> &'static Kept {
    static RUN: OnceLock<Kept> = OnceLock::new();
    RUN.get_or_init(|| Kept::of(ROUGH))
}

/// The arguments of a quiet run into `out`.
pub(crate) fn run_args<'a>(card: &[&'a str], out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run"], card, &["--quiet", "--out", out], more].concat()
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The real data that `FOLKMOOT_DATA` names, if it names any: tests of them are for who has them.
pub(crate) fn real_data() -> Option<PathBuf> {
    let data = std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from);
    if data.is_none() {
        not_run("FOLKMOOT_DATA names no folder of real data");
    }
    data
}

/// Compares with a file below `tests/`, or writes it if `UPDATE_GOLDEN` is set.
#[track_caller]
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = root().join("tests").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let first = golden.lines().zip(text.lines()).position(|(a, b)| a != b);
    let line = first.unwrap_or(golden.lines().count().min(text.lines().count()));
    assert!(
        golden == text,
        "tests/{name} differs from line {}: expected {:?}, got {:?}; UPDATE_GOLDEN=1 rewrites it. The whole:\n{text}",
        line + 1,
        golden.lines().nth(line),
        text.lines().nth(line),
    );
}
