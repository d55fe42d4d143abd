//! Runs that are stopped or killed and gone on with: every strategy, to the byte; and what cannot
//! be gone on with is refused.

#[path = "../sim/core/engine/tests/reference/stops.rs"]
mod stops;
mod strategies;

use crate::support::{FOLKMOOT, TINY, TempDir, assert_same, files, not_run, result_of, run_args, tiny};
use folkmoot_engine::prelude::{Options, SimTime};
use folkmoot_engine::run::{Observer, Outcome, Pause, Saved};
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::trace::{Event, TRACE};
use folkmoot_metrics::{Kind, MessageRow, RoundRow, RunDir, RunWriter};
use folkmoot_scenarios::algorithm::Job;
use folkmoot_scenarios::cards;
use folkmoot_scenarios::run::{Cache, Loaded, load};
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::apply_setting;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use stops::{among, in_pieces};

/// Counts windows, and keeps what is told.
struct Count(usize, Vec<Event>);

impl Observer for Count {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn traced(&mut self, events: Vec<Event>, _: &[Kind]) -> Result<(), String> {
        self.1.extend(events);
        Ok(())
    }

    fn pause(&mut self, _: SimTime, _: usize) -> Pause {
        self.0 += 1;
        Pause::GoOn
    }
}

fn prepared(card: &str, settings: &[&str]) -> (Scenario, Loaded) {
    let registry = folkmoot::shipped();
    let (name, mut source) = cards::find(card, registry.cards()).unwrap();
    for setting in settings {
        source = apply_setting(&source, setting).unwrap();
    }
    let scenario = check(&name, &source, &registry).unwrap();
    let loaded = load(&scenario, &DataDirs::new(), &Cache::default(), &mut ()).unwrap();
    (scenario, loaded)
}

/// All that a run leaves, as text.
fn print(outcome: &Outcome) -> String {
    let artifacts = outcome
        .artifacts
        .iter()
        .map(|artifact| (&artifact.path, &artifact.bytes));
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
        outcome.tables.messages,
        outcome.tables.rounds,
        outcome.tables.scores,
        outcome.summary,
        outcome.units,
        artifacts.collect::<Vec<_>>(),
        outcome.tables.privacy,
        outcome.tables.clients,
        outcome.counters,
        outcome.handled,
        outcome.end,
    )
}

/// Plays a card whole, and stopped after its first window, twice on the way, and after its last, by
/// one to three ranks.
#[track_caller]
fn stopping_changes_nothing(card: &str, settings: &[&str], dry_run: bool) {
    let (scenario, loaded) = prepared(card, settings);
    let world = &loaded.world;
    let play = |(options, n_ranks): (Options, usize), saved: Option<&Saved>, observer: &mut dyn Observer| {
        among(n_ranks, observer, |ranks, observer| {
            let job = Job {
                dataset: &loaded.dataset,
                partition: &loaded.partition,
                world,
                files: &loaded.files,
                keep: &[],
                evaluators: &[],
                dir: None,
                seed: scenario.seed(),
                options,
                saved,
                ranks,
            };
            let finished = scenario.strategy().run(&job, observer)?;
            Ok(finished.map(|finished| print(&finished.outcome)))
        })
    };
    let way = |threads, windows, wire_check| Options {
        threads,
        windows,
        wire_check,
        dry_run,
        trace: Some(7),
    };
    let (one, three, checked) = (way(1, true, false), way(3, true, false), way(2, true, true));
    let mut count = Count(0, Vec::new());
    let whole = play((one, 1), None, &mut count).unwrap();
    let Count(n, whole_told) = count;
    assert!(n > 3, "{card} has {n} windows");
    for (pieces, last) in [
        (&[((one, 1), 0)][..], (three, 2)),
        (&[((three, 1), n / 3), ((checked, 2), n / 3)][..], (one, 3)),
        (&[((one, 2), n - 1)][..], (three, 1)),
    ] {
        let (again, saved, told) = in_pieces(pieces, last, play);
        assert!(
            told == whole_told,
            "{card} {settings:?} after {pieces:?} of {n} windows"
        );
        assert_eq!(
            saved.len(),
            pieces.len(),
            "{card} goes on after {pieces:?} of {n} windows"
        );
        assert!(
            again.unwrap() == whole,
            "{card} {settings:?} after {pieces:?} of {n} windows"
        );
    }
}

/// A traced run that learns nothing, long enough to be stopped on its way.
const LONG: &[&str] = &[
    "fed-avg/small",
    "--dry-run",
    "--set",
    "strategy.protocol.rounds=4000",
    "--trace",
];
/// A run of a fraction of one.
const SHORT: &[&str] = &["fed-avg/small", "--dry-run", "--set", "strategy.protocol.rounds=300"];

/// Begins a run, and waits until `sign` is there below its directory.
fn begun(temp: &TempDir, card: &[&str], out: &str, more: &[&str], sign: &str) -> Child {
    let mut command = temp.command(&run_args(card, out, more));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !temp.join(out).join(sign).exists() {
        assert!(child.try_wait().unwrap().is_none(), "{out} ended without {sign}");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Stops a run by SIGTERM; its code, and what it said.
fn stop(child: Child) -> (Option<i32>, String) {
    send("TERM", &child);
    end_of(child)
}

fn send(signal: &str, child: &Child) {
    let killed = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {}", child.id())])
        .status();
    assert!(killed.unwrap().success());
}

#[test]
fn a_run_whose_terminal_is_closed_saves_its_state_unless_it_was_started_to_go_on() {
    let temp = TempDir::new();
    // The process that runs the tests may ignore the signal.
    let hung_up = |handling: &str, card, out: &str| {
        let mut command = Command::new("env");
        command.args([handling, FOLKMOOT]).args(run_args(card, out, &[]));
        let command = command
            .current_dir(temp.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        while !temp.join(out).join("manifest.json").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        send("HUP", &child);
        end_of(child)
    };
    let (code, said) = hung_up("--default-signal=HUP", LONG, "out");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("resume with: folkmoot resume out"), "{said}");
    assert!(temp.join("out/checkpoint/state").is_file());
    // As by nohup.
    assert_eq!(hung_up("--ignore-signal=HUP", SHORT, "on").0, Some(0));
}

#[test]
fn a_run_or_sweep_that_was_killed_before_its_figures_gets_them() {
    let temp = TempDir::new();
    let dir = tiny().lay(&temp, "out");
    let whole = files(&dir);
    for left in [0, 1] {
        for figure in TempDir::names_in(&dir.join("figures")).iter().skip(left) {
            fs::remove_file(dir.join("figures").join(figure)).unwrap();
        }
        let said = temp.run(&["resume", "out"]).done();
        assert!(said.contains("the results in out are complete"), "{said}");
        assert_same(&files(&dir), &whole, "figures");
    }
    // A picture whose caption was not written any more.
    let captions = TempDir::names_in(&dir.join("figures"));
    let caption = captions.iter().find(|name| name.ends_with(".caption.txt")).unwrap();
    fs::rename(
        dir.join("figures").join(caption),
        dir.join(format!("figures/.{caption}.tmp")),
    )
    .unwrap();
    temp.run(&["resume", "out"]).done();
    assert_same(&files(&dir), &whole, "a caption");
    temp.run(&["resume", "out"])
        .refused(&["is finished, so there is nothing to resume"]);
    let sweep = [
        "sweep",
        TINY,
        "--set",
        "sweep.seeds=[1, 2]",
        "--quiet",
        "--out",
        "sweep",
    ];
    temp.run(&sweep).done();
    let whole = files(&temp.join("sweep"));
    fs::remove_dir_all(temp.join("sweep/figures")).unwrap();
    temp.run(&["resume", "sweep", "--quiet"]).done();
    assert_same(&files(&temp.join("sweep")), &whole, "figures of a sweep");
    temp.run(&["resume", "sweep"])
        .refused(&["is finished, so there is nothing to resume"]);
}

fn end_of(child: Child) -> (Option<i32>, String) {
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

/// A run that was stopped; what it said.
fn stopped(temp: &TempDir, card: &[&str], out: &str) -> (PathBuf, String) {
    let (code, said) = stop(begun(temp, card, out, &["--threads", "2"], "manifest.json"));
    assert_eq!(code, Some(1), "{said}");
    (temp.join(out), said)
}

fn fingerprint(dir: &Path) -> Option<String> {
    RunDir::open(dir).ok()?.manifest.result_fingerprint
}

#[test]
fn a_run_that_is_stopped_says_how_to_go_on_and_comes_to_the_same_bytes() {
    let temp = TempDir::new();
    let (dir, said) = stopped(&temp, LONG, "out");
    assert!(said.contains("stopped as asked at"), "{said}");
    assert!(said.contains("resume with: folkmoot resume out"), "{said}");
    assert!(dir.join("checkpoint/state").is_file());
    assert_eq!(fingerprint(&dir), None);
    temp.run(&["resume", "out", "--threads", "1", "--quiet"]).done();
    temp.run(&run_args(LONG, "whole", &["--threads", "1"])).done();
    assert_same(&result_of(&temp.join("whole")), &result_of(&dir), "gone on with");
    temp.run(&["resume", "out"])
        .refused(&["is finished, so there is nothing to resume"]);
}

#[test]
fn a_run_that_is_killed_at_any_instant_is_gone_on_with_to_the_same_bytes() {
    let temp = TempDir::new();
    temp.run(&run_args(SHORT, "whole", &["--trace"])).done();
    let whole = fingerprint(&temp.join("whole"));
    let mut n_resumed = 0;
    for i in 0..10 {
        let out = format!("killed-{i}");
        let every = ["--threads", "2", "--checkpoint-every", "1rounds", "--trace"];
        let mut child = begun(&temp, SHORT, &out, &every, "checkpoint/state");
        std::thread::sleep(Duration::from_millis(7 * i));
        child.kill().unwrap();
        child.wait().unwrap();
        if fingerprint(&temp.join(&out)).is_none() {
            n_resumed += 1;
            temp.run(&["resume", &out, "--threads", "1", "--quiet"]).done();
        }
        assert_eq!(
            fingerprint(&temp.join(&out)),
            whole,
            "killed {i} times 7 ms after its first checkpoint"
        );
        let trace = |out: &str| fs::read(temp.join(out).join(TRACE)).unwrap();
        assert!(
            trace(&out) == trace("whole"),
            "killed {i} times 7 ms after its first checkpoint"
        );
    }
    assert!(n_resumed > 0, "every run was over before it was killed");
}

#[test]
fn what_cannot_be_gone_on_with_is_refused_and_left_as_it_is() {
    let temp = TempDir::new();
    let (dir, _) = stopped(&temp, LONG, "out");
    let state = dir.join("checkpoint/state");
    let (whole, card) = (fs::read(&state).unwrap(), fs::read(dir.join("scenario.ron")).unwrap());
    let refused = |words: &[&str]| temp.run(&["resume", "out"]).refused(words);

    for cut in (0..whole.len()).step_by(whole.len() / 7) {
        fs::write(&state, &whole[..cut]).unwrap();
        refused(&[
            "checkpoint/state: is damaged: ",
            "run again with: folkmoot run fed-avg/small",
        ]);
    }
    for flip in [0, 9, 15, 100, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[flip] ^= 1;
        fs::write(&state, bytes).unwrap();
        refused(&["checkpoint/state: is damaged: "]);
    }
    fs::write(&state, &whole).unwrap();
    let other = String::from_utf8(card.clone()).unwrap().replace("4000", "4001");
    fs::write(dir.join("scenario.ron"), other).unwrap();
    refused(&["is the checkpoint of another run: the scenario"]);
    fs::write(dir.join("scenario.ron"), &card).unwrap();

    let writer = RunWriter::resume(&dir).unwrap();
    refused(&["out: is being written by another process"]);
    drop(writer);

    fs::remove_file(&state).unwrap();
    refused(&["has no checkpoint to resume from", "--checkpoint-every"]);
    assert_eq!(fingerprint(&dir), None);
    temp.run(&["resume", "nowhere"])
        .refused(&["nowhere: is not a run directory"]);
    temp.run(&["run", "fed-avg/small", "--checkpoint-every", "10"])
        .refused(&["must be a number above 0 with its unit"]);
}

/// Two builds of one version may lay out a state in two ways, whatever their sources say.
#[test]
fn another_build_of_the_program_is_refused() {
    let temp = TempDir::new();
    let (dir, _) = stopped(&temp, LONG, "out");
    let other = temp.join("folkmoot");
    fs::copy(FOLKMOOT, &other).unwrap();
    let mut file = fs::File::options().append(true).open(&other).unwrap();
    file.write_all(b"built again").unwrap();
    drop(file);
    // A test beside this one may have begun a program while the file was open, which then holds it for
    // a moment.
    let resumed = loop {
        match Command::new(&other).arg("resume").arg(&dir).output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::sleep(Duration::from_millis(50)),
            resumed => break resumed.unwrap(),
        }
    };
    let said = String::from_utf8(resumed.stderr).unwrap();
    assert_eq!(resumed.status.code(), Some(2), "{said}");
    assert!(said.contains("the program's file (its hash) was"), "{said}");
    assert!(said.contains("resume with the program that wrote it"), "{said}");
    temp.run(&["resume", "out", "--quiet"]).done();
}

#[test]
fn data_that_changed_meanwhile_are_refused() {
    let temp = TempDir::new();
    let generate = |nodes: u32| {
        let dataset = format!("DcSbm(n_nodes: {nodes})");
        temp.run(&["data", "generate", &dataset, "--to", "data/set.graph"])
            .done();
    };
    fs::create_dir(temp.join("data")).unwrap();
    generate(3000);
    let before = fs::read(temp.join("data/set.graph")).unwrap();
    let mapped = "dataset=Mapped(path: \"set.graph\")";
    let card = [
        "fed-avg/cuts",
        "--dry-run",
        "--set",
        mapped,
        "--set",
        "strategy.protocol.rounds=4000",
    ];
    let (dir, _) = stopped(&temp, &card, "out");
    fs::remove_file(temp.join("data/set.graph")).unwrap();
    generate(3001);
    temp.run(&["resume", "out"])
        .refused(&["is the checkpoint of another run: the data ", "(their fingerprint) was"]);
    fs::write(temp.join("data/set.graph"), before).unwrap();
    temp.run(&["resume", "out", "--quiet"]).done();
    temp.run(&run_args(&card, "whole", &[])).done();
    assert_eq!(fingerprint(&dir), fingerprint(&temp.join("whole")));
}

/// A file system of its own in memory, until it is dropped.
struct Disk(PathBuf);

impl Disk {
    /// None, and a word about it, where none can be mounted.
    fn mount(dir: PathBuf, bytes: u32) -> Option<Self> {
        fs::create_dir_all(&dir).unwrap();
        let disk = Disk(dir);
        let is_mounted = disk.mount_with(&["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]);
        if !is_mounted {
            not_run("no file system can be mounted here, which needs root");
        }
        is_mounted.then_some(disk)
    }

    fn mount_with(&self, words: &[&str]) -> bool {
        let mut mount = Command::new("mount");
        let mounted = mount.args(words).arg(&self.0).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
    }
}

/// A run with a state of 2.1 MB, and a tenth of that in tables.
const LARGE: &[&str] = &["scaffold/small", "--dry-run", "--set", "strategy.model.hidden=128"];

/// The first state fits a disk on which two have no room.
#[test]
fn a_run_on_a_disk_that_is_full_goes_on_without_saving_its_state() {
    let temp = TempDir::new();
    let Some(_disk) = Disk::mount(temp.join("disk"), 4_000_000) else {
        return;
    };
    temp.run(&run_args(LARGE, "whole", &[])).done();
    let child = begun(
        &temp,
        LARGE,
        "disk/out",
        &["--checkpoint-every", "1rounds"],
        "checkpoint/state",
    );
    let (code, said) = end_of(child);
    assert_eq!(code, Some(0), "{said}");
    let why = "checkpoint/state: cannot be written: the disk is full; free some space";
    assert_eq!(said.matches(why).count(), 1, "{said}");
    assert!(said.contains("the run goes on, but its state is not saved"), "{said}");
    assert_eq!(fingerprint(&temp.join("disk/out")), fingerprint(&temp.join("whole")));
    let warnings = RunDir::open(&temp.join("disk/out")).unwrap().manifest.warnings;
    assert!(warnings.iter().any(|warning| warning.contains(why)), "{warnings:?}");
}

/// Whoever stops a run counts on its state, so that it is told.
#[test]
fn a_run_that_is_stopped_on_a_disk_that_is_full_says_that_its_state_is_lost() {
    let temp = TempDir::new();
    let Some(_disk) = Disk::mount(temp.join("disk"), 2_000_000) else {
        return;
    };
    let card = [LARGE, &["--set", "strategy.protocol.rounds=4000"]].concat();
    let (code, said) = stop(begun(&temp, &card, "disk/out", &[], "rounds.csv"));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("checkpoint/state: cannot be written: the disk is full"),
        "{said}"
    );
    assert!(said.contains("repeat with: folkmoot run scaffold/small"), "{said}");
    assert!(!temp.join("disk/out/checkpoint/state").exists());
}

#[test]
fn a_run_whose_disk_becomes_read_only_ends_and_goes_on_later() {
    let temp = TempDir::new();
    let Some(disk) = Disk::mount(temp.join("disk"), 4_000_000) else {
        return;
    };
    temp.run(&run_args(SHORT, "whole", &[])).done();
    let every = ["--checkpoint-every", "1rounds"];
    let child = begun(&temp, SHORT, "disk/out", &every, "checkpoint/state");
    // The system refuses while a file is open for writing.
    while !disk.mount_with(&["-o", "remount,ro"]) {}
    let (code, said) = end_of(child);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the disk is read-only"), "{said}");
    assert!(said.contains("then resume with: folkmoot resume disk/out"), "{said}");
    assert!(disk.mount_with(&["-o", "remount,rw"]));
    temp.run(&["resume", "disk/out", "--quiet"]).done();
    assert_eq!(fingerprint(&temp.join("disk/out")), fingerprint(&temp.join("whole")));
}

/// In the same world a fork is the run that goes on; in another it is not, and says where it comes
/// from. Its parent stays as it was.
#[test]
fn a_fork_goes_on_from_the_same_state_in_another_world() {
    let temp = TempDir::new();
    let (dir, _) = stopped(&temp, LONG, "out");
    let before = files(&dir);
    temp.run(&["fork", "out", "--out", "twin", "--quiet"]).done();
    let slow = "network=Links(uplink: (latency_ms: Constant(500)))";
    temp.run(&["fork", "out", "--set", slow, "--out", "slow", "--quiet"])
        .done();
    assert_same(&files(&dir), &before, "the parent");
    temp.run(&["resume", "out", "--quiet"]).done();
    assert_eq!(fingerprint(&temp.join("twin")), fingerprint(&dir));
    // A fork begins with its parent's trace, so that what the other world changes first can be
    // told.
    let trace = |name: &str| fs::read(temp.join(name).join(TRACE)).unwrap();
    assert!(trace("twin") == trace("out"));
    let compared = temp.run(&["compare", "out", "slow"]).stdout;
    assert!(compared.contains("\ntrace.json.gz: line "), "{compared}");
    let [twin, slow, whole] = ["twin", "slow", "out"].map(|name| RunDir::open(&temp.join(name)).unwrap());
    let parent = |run: &RunDir| run.manifest.parent.clone().unwrap();
    assert_eq!(parent(&twin), parent(&slow));
    assert_eq!((parent(&slow).dir.as_str(), whole.manifest.parent), ("out", None));
    assert!(slow.summary["virtual_s"] > whole.summary["virtual_s"]);
    assert_eq!(slow.tables.rounds.len(), whole.tables.rounds.len());
    temp.run(&["verify", "slow"])
        .refused(&["was forked from out", "folkmoot fork out --set"]);
    stopped(&temp, LONG, "again");
    for fixed in [
        "strategy.protocol.rounds=9",
        "seed=2",
        "partition.n_clients=3",
        "dataset.n_graphs=90",
    ] {
        let (field, _) = fixed.split_once(['.', '=']).unwrap();
        temp.run(&["fork", "again", "--set", fixed, "--out", "no"])
            .refused(&[&format!("{field} cannot change in a fork")]);
    }
    temp.run(&["fork", "out", "--out", "no"]).refused(&[
        "out has ended, and a run keeps no checkpoint",
        "help: make the run again: folkmoot run",
    ]);
}
