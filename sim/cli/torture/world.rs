//! One card, run in many ways that must come to the same bytes, some of them with a fault on the
//! way.

use super::child::{Ended, Place, children, difference, now, result_of, signal};
use super::{ledger, masked};
use folkmoot_draws::{SimRng, index, unit};
use folkmoot_metrics::RunDir;
use folkmoot_metrics::run_dir::Checkpoint;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A run may be killed so often before it is let finish.
const MOST_KILLS: usize = 3;
const CARD: &str = "card.ron";
/// Another way to run a card may take so many times the limit of the first: it shares the machine,
/// and it saves its state.
const PATIENT: u32 = 5;

/// What breaks no promise, since a busy machine does it, too.
const TOO_LONG: &str = "a run that takes as long in another way";

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// The promise, and the same for cards that break it in the same way.
    pub(super) check: String,
    pub(super) detail: String,
}

/// What has become of a world.
pub(super) enum End {
    Done,
    /// The run fails with a message, as it must with this card.
    Fails(String),
    /// The run did not end in time, and went on when it was stopped.
    Slow(String),
    Fault(Fault),
}

fn fault(check: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault {
        check: check.into(),
        detail: detail.into(),
    }
}

/// A way to run a card.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Other,
    Resolved,
    Dry,
    Killed,
    Stopped,
    SmallFiles,
    SmallDisk,
    Paused,
    Clock,
    Orphaned,
    Ranks,
    RankKilled,
}

/// Ways of which a world has some, more of those that stand here twice.
const WAYS: [Way; 15] = [
    Way::Other,
    Way::Other,
    Way::Resolved,
    Way::Dry,
    Way::Dry,
    Way::Killed,
    Way::Killed,
    Way::Stopped,
    Way::SmallFiles,
    Way::SmallDisk,
    Way::Paused,
    Way::Clock,
    Way::Orphaned,
    Way::Ranks,
    Way::RankKilled,
];

/// Runs the card; `rng` draws the ways.
pub(super) fn torment(place: &Place, card: &str, rng: &mut SimRng, ways: &mut BTreeMap<String, usize>) -> End {
    let _ = fs::remove_dir_all(&place.dir);
    if let Err(error) = fs::create_dir_all(&place.dir).and_then(|()| fs::write(place.dir.join(CARD), card)) {
        return End::Fault(fault(
            "a folder to work in",
            format!("{}: {error}", place.dir.display()),
        ));
    }
    let patient = Place {
        limit: place.limit * PATIENT,
        ..place.clone()
    };
    let mut world = World {
        first: place,
        place: &patient,
        rng,
        ways,
    };
    world.all().unwrap_or_else(|fault| match fault.check == TOO_LONG {
        true => End::Slow(fault.detail),
        false => End::Fault(fault),
    })
}

/// Whether a card that cannot be run is refused as it should be.
pub(super) fn refuse(place: &Place, card: &str) -> Result<(), Fault> {
    let _ = fs::create_dir_all(&place.dir);
    if fs::write(place.dir.join(CARD), card).is_err() {
        return Ok(());
    }
    let ended = place.run(&["run", CARD, "--out", "refused"]);
    let is_plain = ended.code == Some(2) && ended.stderr.contains("error:") && !ended.stderr.contains("panicked");
    if !is_plain {
        let said = format!("it ended with {:?}: {}", ended.code, ended.stderr);
        return Err(fault("a card that is refused, with code 2", said));
    }
    match place.dir.join("refused").exists() {
        true => Err(fault("a card that is refused leaves nothing", "there is a folder")),
        false => Ok(()),
    }
}

struct World<'a> {
    /// Where the card is run first.
    first: &'a Place,
    /// The same for the other ways.
    place: &'a Place,
    rng: &'a mut SimRng,
    ways: &'a mut BTreeMap<String, usize>,
}

impl World<'_> {
    fn all(&mut self) -> Result<End, Fault> {
        let threads = ["1", "2"][index(self.rng, 2)];
        let first = self.first.run(&[
            "run",
            CARD,
            "--out",
            "first",
            "--quiet",
            "--threads",
            threads,
            "--events",
            "events.jsonl",
            "--max-memory",
            "1500MB",
        ]);
        if let Some(end) = self.other_end(&first)? {
            if let End::Fails(why) = &end {
                let again = self.place.run(&[
                    "run",
                    CARD,
                    "--out",
                    "again",
                    "--quiet",
                    "--threads",
                    "3",
                    "--no-windows",
                ]);
                let is_alike = again.is_cut || again.why() == *why;
                if !is_alike {
                    return Err(fault(
                        "a failure that is alike on other threads",
                        format!("{why} against {:?} {}", again.code, again.stderr),
                    ));
                }
            }
            return Ok(end);
        }
        let run = self.open("first")?;
        if let Some((check, detail)) = ledger::broken(&run) {
            return Err(fault(check, detail));
        }
        let whole = result_of(&self.place.dir.join("first"));
        let n = 1 + index(self.rng, 2);
        self.way(Way::Other, &run, &whole, first.took)?;
        for _ in 0..n {
            let way = WAYS[index(self.rng, WAYS.len())];
            self.way(way, &run, &whole, first.took)?;
        }
        Ok(End::Done)
    }

    fn open(&self, out: &str) -> Result<RunDir, Fault> {
        RunDir::open(&self.place.dir.join(out))
            .map_err(|error| fault("a run directory that can be read", error.to_string()))
    }

    /// An end without a result, if this is one.
    fn other_end(&self, ended: &Ended) -> Result<Option<End>, Fault> {
        let said = || {
            format!(
                "code {:?} after {:.1} s: {}",
                ended.code,
                ended.took.as_secs_f64(),
                ended.stderr
            )
        };
        if ended.stderr.contains("panicked") {
            return Err(fault(format!("no panic: {}", masked(&ended.why())), said()));
        }
        if ended.hangs {
            return Err(fault("a run that stops when it is asked to", said()));
        }
        if ended.is_cut {
            return self.slow(ended).map(Some);
        }
        match ended.code {
            Some(0) => Ok(None),
            Some(1) => Ok(Some(End::Fails(ended.why()))),
            Some(2) if ended.stderr.contains("memory") => Ok(Some(End::Slow("memory".to_owned()))),
            Some(2) => Err(fault(
                format!(
                    "a card whose beginning is accepted can be run: {}",
                    masked(&ended.why())
                ),
                said(),
            )),
            _ => Err(fault("a run that ends by itself", said())),
        }
    }

    /// How far a run came that was cut.
    fn slow(&self, ended: &Ended) -> Result<End, Fault> {
        let events = fs::read_to_string(self.place.dir.join("events.jsonl")).unwrap_or_default();
        let rounds = events.lines().filter(|line| line.contains("\"round\"")).count();
        Ok(End::Slow(format!(
            "{rounds} rounds in {:.0} s",
            ended.took.as_secs_f64()
        )))
    }

    fn way(&mut self, way: Way, run: &RunDir, whole: &[(String, Vec<u8>)], took: Duration) -> Result<(), Fault> {
        *self.ways.entry(format!("{way:?}").to_lowercase()).or_default() += 1;
        let out = "other";
        let _ = fs::remove_dir_all(self.place.dir.join(out));
        let same = |what: &str, world: &World<'_>| {
            let other = result_of(&world.place.dir.join(out));
            match difference(whole, &other) {
                None => Ok(()),
                Some(found) => Err(fault(format!("the same bytes: {what}"), found)),
            }
        };
        match way {
            Way::Other => {
                let args = self.other_engine();
                let words: Vec<&str> = args.iter().map(String::as_str).collect();
                self.finish(
                    &[&["run", CARD, "--out", out, "--quiet"], words.as_slice()].concat(),
                    &[],
                )?;
                same(&args.join(" "), self)
            }
            Way::Resolved => {
                let place = Place {
                    dir: self.place.dir.join("resolved"),
                    ..self.place.clone()
                };
                let _ = fs::create_dir_all(&place.dir);
                let _ = fs::copy(self.place.dir.join("first/scenario.ron"), place.dir.join(CARD));
                let ended = place.run(&["run", CARD, "--out", "../other", "--quiet", "--threads", "2"]);
                self.done(&ended, "scenario.ron run again")?;
                same("scenario.ron run again", self)
            }
            Way::Dry => self.dry(run),
            Way::Killed => {
                self.interrupted(out, took, "KILL", None)?;
                same("killed and resumed", self)
            }
            Way::Stopped => {
                let name = ["INT", "TERM"][index(self.rng, 2)];
                self.interrupted(out, took, name, None)?;
                same("stopped and resumed", self)
            }
            Way::RankKilled => match self.interrupted(out, took, "KILL", Some("2"))? {
                true => same("a rank killed, and resumed", self),
                false => Ok(()),
            },
            Way::SmallFiles => {
                let blocks = 1 + index(self.rng, 60);
                let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
                let ended = self.place.run_with(
                    &["sh", "-c", &script],
                    &["run", CARD, "--out", out, "--quiet"],
                    |_, _| {},
                );
                self.full(&ended, "files that may not grow")
            }
            Way::SmallDisk => {
                let kib = 4 << index(self.rng, 7);
                let script = format!("mount -t tmpfs -o size={kib}k none other && exec \"$0\" \"$@\"");
                let _ = fs::create_dir_all(self.place.dir.join(out));
                let ended = self.place.run_with(
                    &["unshare", "-m", "sh", "-c", &script],
                    &["run", CARD, "--out", "other/run", "--quiet"],
                    |_, _| {},
                );
                match ended.stderr.contains("mount") || ended.stderr.contains("unshare") {
                    true => Ok(()),
                    false => self.full(&ended, "a full disk"),
                }
            }
            Way::Paused => {
                let at = took.mul_f64(unit(self.rng));
                let mut state = 0;
                let args = ["run", CARD, "--out", out, "--quiet", "--checkpoint-every", "0.01s"];
                let ended = self.place.run_with(&[], &args, |id, passed| {
                    if state == 0 && passed > at {
                        state = 1;
                        signal(id, "STOP");
                    } else if state == 1 && passed > at + Duration::from_millis(300) {
                        state = 2;
                        signal(id, "CONT");
                    }
                });
                self.done(&ended, "a pause")?;
                same("a pause", self)
            }
            Way::Clock => {
                let prefix = [
                    "unshare",
                    "-T",
                    "--monotonic",
                    "1000000",
                    "--boottime",
                    "1000000",
                    "env",
                    "TZ=Pacific/Apia",
                ];
                let args = ["run", CARD, "--out", out, "--quiet", "--checkpoint-every", "0.01s"];
                let ended = self.place.run_with(&prefix, &args, |_, _| {});
                if ended.stderr.contains("unshare") {
                    return Ok(());
                }
                self.done(&ended, "another clock")?;
                same("another clock", self)
            }
            Way::Orphaned => self.orphaned(out, took, whole),
            Way::Ranks => {
                let n = ["1", "2", "3"][index(self.rng, 3)];
                let args = ["run", CARD, "--out", out, "--quiet", "--threads", "1"];
                let ended = self.place.run_with(&ranks(n), &args, |_, _| {});
                if lacks_ranks(&ended) {
                    return Ok(());
                }
                self.done(&ended, "ranks")?;
                same(&format!("{n} ranks"), self)
            }
        }
    }

    /// Options that change no byte.
    fn other_engine(&mut self) -> Vec<String> {
        let mut args = vec![
            "--threads".to_owned(),
            ["1", "2", "3", "4"][index(self.rng, 4)].to_owned(),
        ];
        for option in ["--no-windows", "--wire-check", "--trace"] {
            if unit(self.rng) < 0.5 {
                args.push(option.to_owned());
            }
        }
        args
    }

    fn finish(&self, args: &[&str], prefix: &[&str]) -> Result<(), Fault> {
        let ended = self.place.run_with(prefix, args, |_, _| {});
        self.done(&ended, &args[1..].join(" "))
    }

    fn done(&self, ended: &Ended, what: &str) -> Result<(), Fault> {
        let said = || format!("{what}: code {:?}: {}", ended.code, ended.stderr);
        match (ended.code, ended.is_cut) {
            (Some(0), false) => Ok(()),
            (_, true) if ended.hangs => Err(fault("a run that stops when it is asked to", said())),
            (_, true) => Err(fault(TOO_LONG, said())),
            _ if ended.stderr.contains("panicked") => Err(fault(format!("no panic: {}", masked(&ended.why())), said())),
            _ => Err(fault("a run that ends alike in another way", said())),
        }
    }

    fn dry(&self, run: &RunDir) -> Result<(), Fault> {
        self.finish(
            &["run", CARD, "--out", "other", "--quiet", "--dry-run", "--threads", "2"],
            &[],
        )?;
        let dry = self.open("other")?;
        if let Some((check, detail)) = ledger::broken(&dry) {
            return Err(fault(format!("dry run: {check}"), detail));
        }
        let warned = dry
            .manifest
            .warnings
            .iter()
            .any(|warning| warning.starts_with("dry run: "));
        let differs = dry
            .tables
            .messages
            .iter()
            .zip(&run.tables.messages)
            .find(|(dry, real)| dry != real);
        // Without training nothing diverges, and no update or model is refused.
        let diverged =
            |warning: &String| warning.contains("updates were refused") || warning.starts_with("diverged by round ");
        let refused = run.summary.get("refused_models").is_some_and(|n| *n > 0.0);
        let diverged = refused || run.manifest.warnings.iter().any(diverged);
        match (warned || diverged, differs) {
            (true, _) => Ok(()),
            (false, Some((dry, real))) => Err(fault(
                "a dry run with the same messages",
                format!("{dry:?} against {real:?}"),
            )),
            (false, None) if dry.tables.messages.len() != run.tables.messages.len() => Err(fault(
                "a dry run with the same messages",
                format!(
                    "{} rows against {}",
                    dry.tables.messages.len(),
                    run.tables.messages.len()
                ),
            )),
            (false, None) => match dry.tables.rounds == run.tables.rounds {
                true => Ok(()),
                false => Err(fault(
                    "a dry run with the same rounds",
                    format!("{:?} against {:?}", dry.tables.rounds, run.tables.rounds),
                )),
            },
        }
    }

    /// Sends a signal at a random instant, to one rank where there are several, and goes on; some
    /// times. False where there can be no ranks.
    fn interrupted(&mut self, out: &str, took: Duration, name: &str, n_ranks: Option<&str>) -> Result<bool, Fault> {
        let dir = self.place.dir.join(out);
        let prefix = n_ranks.map_or(Vec::new(), |n| ranks(n).to_vec());
        for kill in 0..=MOST_KILLS {
            let is_last = kill == MOST_KILLS;
            let every = ["1rounds", "0.001s", "0.02s", "1virtual_s"][index(self.rng, 4)];
            let every = if is_last { "10s" } else { every };
            let threads = ["1", "2", "3"][index(self.rng, 3)];
            let goes_on = Checkpoint::is_in(&dir);
            if !goes_on && !RunDir::open(&dir).is_ok_and(|run| run.manifest.finished) {
                let _ = fs::remove_dir_all(&dir);
            }
            let args: Vec<&str> = match dir.exists() {
                true => vec!["resume", out, "--quiet"],
                false => vec!["run", CARD, "--out", out, "--quiet"],
            };
            let args = [args.as_slice(), &["--threads", threads, "--checkpoint-every", every]].concat();
            let at = took.mul_f64(unit(self.rng) * 1.1);
            let mut sent = is_last;
            let whom = index(self.rng, 1000);
            let ended = self.place.run_with(&prefix, &args, |id, passed| {
                if !sent && passed > at {
                    let all = if n_ranks.is_some() { children(id) } else { vec![id] };
                    if let Some(id) = all.get(whom % all.len().max(1)) {
                        sent = true;
                        signal(*id, name);
                    }
                }
            });
            if n_ranks.is_some() && lacks_ranks(&ended) {
                return Ok(false);
            }
            let finished = RunDir::open(&dir).is_ok_and(|run| run.manifest.finished);
            match ended.code {
                Some(0) => return Ok(true),
                // Of several ranks the others end with an error of their own.
                _ if n_ranks.is_some() && sent && !is_last && !ended.stderr.contains("panicked") => {}
                // Killed with its results whole and its figures not.
                None if name == "KILL" && sent && !is_last => {}
                Some(1 | 130 | 143) | None if name != "KILL" && sent && !is_last => {}
                Some(2) if finished && ended.stderr.contains("is finished") => return Ok(true),
                _ => {
                    let what = format!("a run goes on after SIG{name}");
                    let said = format!("{}: code {:?}: {}", args.join(" "), ended.code, ended.stderr);
                    return Err(fault(what, said));
                }
            }
        }
        Err(fault(format!("a run ends after SIG{name}"), "it did not"))
    }

    /// A run that cannot write must say so and leave no file in part.
    fn full(&self, ended: &Ended, what: &str) -> Result<(), Fault> {
        let said = || format!("code {:?}: {}", ended.code, ended.stderr);
        let is_plain = match ended.code {
            Some(0) => true,
            Some(2) => ended.stderr.contains("cannot be written") && !ended.stderr.contains("panicked"),
            _ => false,
        };
        if !is_plain && !ended.is_cut {
            return Err(fault(format!("a plain message: {what}"), said()));
        }
        let left = fs::read_dir(self.place.dir.join("other"))
            .into_iter()
            .flatten()
            .flatten();
        let mut partial = left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
        match partial.next() {
            Some(entry) => Err(fault(
                format!("no file in part: {what}"),
                entry.path().display().to_string(),
            )),
            None => Ok(()),
        }
    }

    /// Kills one of the processes that the run has started.
    fn orphaned(&mut self, out: &str, took: Duration, whole: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        let at = took.mul_f64(unit(self.rng));
        let choice = index(self.rng, 1000);
        let started = now();
        let mut killed = false;
        let ended = self.place.run_with(
            &[],
            &["run", CARD, "--out", out, "--quiet", "--threads", "2"],
            |id, _| {
                let all = if !killed && started.elapsed() > at {
                    children(id)
                } else {
                    Vec::new()
                };
                if !all.is_empty() {
                    killed = true;
                    signal(all[choice % all.len()], "KILL");
                }
            },
        );
        let said = || format!("code {:?}: {}", ended.code, ended.stderr);
        match ended.code {
            Some(0) => match difference(whole, &result_of(&self.place.dir.join(out))) {
                None => Ok(()),
                Some(found) => Err(fault("the same bytes after a worker's death", found)),
            },
            Some(1) if killed && ended.stderr.contains("error:") && !ended.stderr.contains("panicked at") => Ok(()),
            _ => Err(fault("a plain message after a worker's death", said())),
        }
    }
}

/// What starts a program on so many ranks of this machine.
fn ranks(n: &str) -> [&str; 9] {
    [
        "env",
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "OMPI_MCA_mpi_yield_when_idle=1",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_hwloc_base_binding_policy=none",
        "mpirun",
        "-n",
        n,
    ]
}

/// Whether neither MPI nor a program with ranks is there.
fn lacks_ranks(ended: &Ended) -> bool {
    ended.code == Some(127) || ended.stderr.contains("built without MPI")
}

/// The folder for the world of a seed.
pub(super) fn folder(work: &std::path::Path, seed: u64) -> PathBuf {
    work.join(format!("world-{seed}"))
}
