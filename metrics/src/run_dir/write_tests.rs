use super::super::disk::write_whole;
use super::super::writer::{Record, Writer};
use super::*;
use crate::compare::compare;
use crate::records::ReadingRow;
use crate::run_dir::{Checkpoint, CheckpointError, ReadError};
use crate::testing::{TempDir, manifest, result, round};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A disk whose `n`-th step fails; a failing write leaves half of the bytes, as a full disk does.
struct Failing {
    left: Arc<AtomicUsize>,
}

impl Failing {
    fn after(steps: usize) -> (Box<dyn Disk>, Arc<AtomicUsize>) {
        let left = Arc::new(AtomicUsize::new(steps));
        (
            Box::new(Failing {
                left: Arc::clone(&left),
            }),
            left,
        )
    }

    fn step(&self) -> io::Result<()> {
        let more = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

impl Disk for Failing {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        fs::create_dir(path)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.step() {
            fs::write(path, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        fs::write(path, bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        fs::rename(from, to)
    }
}

fn tree(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true => names.extend(tree(&path).into_iter().map(|below| format!("{name}/{below}"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

#[test]
fn a_finished_run_reads_back_as_written() {
    let temp = TempDir::new();
    let dir = temp.path().join("runs/a");
    let run = RunWriter::create(&dir, "Scenario()\n", manifest()).unwrap();
    let written = result(3);
    let print = run.finish(&written).unwrap();
    let back = RunDir::open(&dir).unwrap();
    assert_eq!(back.manifest.result_fingerprint.as_ref(), Some(&print));
    assert_eq!(back.fingerprint().unwrap(), print);
    assert!(back.manifest.finished);
    assert_eq!(back.manifest.notes, ["a note"]);
    assert_eq!(back.scenario, "Scenario()\n");
    assert_eq!(
        (&back.tables.rounds, &back.tables.messages),
        (&written.tables.rounds, &written.tables.messages)
    );
    assert_eq!(
        (&back.tables.scores, &back.tables.privacy),
        (&written.tables.scores, &written.tables.privacy)
    );
    assert_eq!(back.tables.readings, written.tables.readings);
    assert_eq!(
        (&back.tables.clients, &back.summary, &back.tables.timing),
        (&written.tables.clients, &written.summary, &written.tables.timing)
    );
    assert_eq!(back.artifacts, ["embeddings/last.npy", "tree.json"]);
    assert_eq!(back.artifact("embeddings/last.npy").unwrap(), [1, 2, 3]);
}

#[test]
fn a_run_whose_readings_stand_among_its_scores_is_the_same_run() {
    let temp = TempDir::new();
    let [new, old] = ["new", "old"].map(|name| temp.path().join(name));
    let (written, mut among) = (result(3), result(3));
    let score = |row: ReadingRow| ScoreRow {
        round: row.round,
        virtual_s: row.virtual_s,
        split: ReadingRow::split(&row.metric).unwrap().to_owned(),
        metric: row.metric,
        value: row.value,
        n: row.n,
    };
    let readings: Vec<ScoreRow> = among.tables.readings.drain(..).map(score).collect();
    among.tables.scores.splice(1..1, readings);
    among.readings_after = 0;
    let finish = |dir: &Path, result: &RunResult| {
        let run = RunWriter::create(dir, "s", manifest()).unwrap();
        run.finish(result).unwrap()
    };
    assert_eq!(finish(&new, &written), finish(&old, &among));
    assert!(new.join("readings.csv").exists() && !old.join("readings.csv").exists());
    let read = RunDir::open(&old).unwrap();
    assert_eq!(
        (read.tables.scores, read.tables.readings),
        (written.tables.scores.clone(), written.tables.readings.clone())
    );
    assert_eq!(compare(&new, &old).unwrap(), None);
    // The test can fail: a reading counts.
    among.tables.scores[1].value = 0.5;
    let other = temp.path().join("other");
    assert_ne!(finish(&other, &among), finish(&temp.path().join("again"), &written));
    let found = compare(&new, &other).unwrap().unwrap().to_string();
    assert_eq!(found, "readings.csv: line 2, value: 0.75 against 0.5");
}

#[test]
fn equal_results_have_equal_fingerprints_whatever_the_timing() {
    let temp = TempDir::new();
    let print = |name: &str, change: &dyn Fn(&mut RunResult)| {
        let mut result = result(2);
        change(&mut result);
        RunWriter::create(&temp.path().join(name), "s", manifest())
            .unwrap()
            .finish(&result)
            .unwrap()
    };
    let first = print("a", &|_| ());
    assert_eq!(first, print("b", &|result| result.tables.timing[0].seconds = 9.0));
    assert_eq!(first, print("c", &|result| result.artifacts.reverse()));
    assert_ne!(first, print("d", &|result| result.tables.messages[0].sent += 1));
    assert_ne!(first, print("e", &|result| result.artifacts[0].bytes.push(0)));
}

#[test]
fn an_existing_path_is_never_written_over() {
    let temp = TempDir::new();
    let error = RunWriter::create(temp.path(), "s", manifest()).err().unwrap();
    assert!(matches!(error, WriteError::Exists { .. }));
    assert!(
        error
            .to_string()
            .ends_with("already exists and is never overwritten; choose another --out"),
        "{error}"
    );
    assert!(temp.path().is_dir());
}

#[test]
fn a_file_in_the_way_is_found_at_the_start() {
    let temp = TempDir::new();
    fs::write(temp.path().join("file"), "x").unwrap();
    let error = RunWriter::create(&temp.path().join("file/run"), "s", manifest())
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("a file is in the way of a folder"),
        "{error}"
    );
    assert_eq!(tree(temp.path()), ["file"]);
}

#[test]
fn a_run_given_up_before_its_first_round_leaves_nothing() {
    let temp = TempDir::new();
    let run = RunWriter::create(&temp.path().join("new/run"), "s", manifest()).unwrap();
    assert_eq!(tree(temp.path()), ["new/run/manifest.json", "new/run/scenario.ron"]);
    drop(run);
    assert!(!temp.path().join("new").exists());
}

#[test]
fn a_run_given_up_later_keeps_its_finished_rounds() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let mut run = RunWriter::create(&dir, "s", manifest()).unwrap();
    run.save_progress(&[round(0)], &[], &[]).unwrap();
    drop(run);
    let back = RunDir::open(&dir).unwrap();
    assert!(!back.manifest.finished);
    assert_eq!((back.tables.rounds, back.tables.clients), (vec![round(0)], vec![]));
    let run = RunWriter::resume(&dir).unwrap();
    run.finish(&result(2)).unwrap();
    assert!(matches!(RunWriter::resume(&dir), Err(WriteError::Finished { .. })));
}

/// Whatever step fails, every file left is whole, no temporary file stays, and the directory stays
/// only with a round.
#[test]
fn a_directory_that_was_removed_meanwhile_is_not_made_again() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let run = RunWriter::create(&dir, "s", manifest()).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    let error = run.finish(&result(3)).unwrap_err().to_string();
    assert!(error.contains("was removed while the run went on"), "{error}");
    assert!(!dir.exists());
}

#[test]
fn no_failing_step_leaves_half_a_file() {
    let whole = result(3);
    let mut n_failures = 0;
    for steps in 0.. {
        let temp = TempDir::new();
        let dir = temp.path().join("run");
        let (disk, left) = Failing::after(steps);
        let outcome = RunWriter::create_on(disk, &dir, "scenario", manifest()).and_then(|mut run| {
            run.save_progress(&whole.tables.rounds[..1], &whole.tables.messages[..1], &[])?;
            run.finish(&whole)
        });
        let Err(error) = outcome else {
            assert_eq!(left.load(Ordering::Relaxed), 0);
            break;
        };
        n_failures += 1;
        assert!(
            error.to_string().contains("the disk is full; free some space"),
            "{error}"
        );
        if !dir.exists() {
            assert_eq!(tree(temp.path()), Vec::<String>::new());
            continue;
        }
        assert!(
            tree(&dir).iter().all(|name| !name.ends_with(".tmp")),
            "{:?}",
            tree(&dir)
        );
        let back = RunDir::open(&dir).unwrap();
        assert!(!back.manifest.finished && !back.tables.rounds.is_empty());
        assert!(back.tables.rounds == whole.tables.rounds || back.tables.rounds == whole.tables.rounds[..1]);
        assert!(back.tables.clients.is_empty() || back.tables.clients == whole.tables.clients);
        assert!(back.summary.is_empty() || back.summary == whole.summary);
    }
    assert!(n_failures > 20);
}

#[test]
fn the_writer_thread_brings_its_error_back() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let (disk, left) = Failing::after(usize::MAX);
    let mut writer = Writer::spawn(RunWriter::create_on(disk, &dir, "s", manifest()).unwrap()).unwrap();
    writer.send(Record::Round(round(0))).unwrap();
    writer.send(Record::Save).unwrap();
    while !dir.join("rounds.csv").exists() {
        std::thread::yield_now();
    }
    left.store(0, Ordering::Relaxed);
    let mut sends = (0..).map(|n| {
        writer.send(if n % 2 == 0 {
            Record::Round(round(n))
        } else {
            Record::Save
        })
    });
    let error = sends.find_map(Result::err).unwrap();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(dir.join("rounds.csv").exists());
}

#[test]
fn the_writer_thread_writes_what_the_writer_would() {
    let temp = TempDir::new();
    let direct = RunWriter::create(&temp.path().join("a"), "s", manifest())
        .unwrap()
        .finish(&result(4))
        .unwrap();
    let run = RunWriter::create(&temp.path().join("b"), "s", manifest()).unwrap();
    let mut writer = Writer::spawn(run).unwrap();
    for row in result(4).tables.rounds {
        writer.send(Record::Round(row)).unwrap();
        writer.send(Record::Save).unwrap();
    }
    writer.save_checkpoint(sections(1)).unwrap().unwrap();
    assert!(
        temp.path().join("b/checkpoint/state").is_file(),
        "it is there when the call ends"
    );
    assert_eq!(writer.finish(result(4)).unwrap(), direct);
    assert_eq!(tree(&temp.path().join("a")), tree(&temp.path().join("b")));
    let run = RunWriter::create(&temp.path().join("c"), "s", manifest()).unwrap();
    Writer::spawn(run).unwrap().abandon().unwrap();
    assert!(!temp.path().join("c").exists());
    // Rounds that nobody asked to save are no less finished.
    let run = RunWriter::create(&temp.path().join("d"), "s", manifest()).unwrap();
    let mut writer = Writer::spawn(run).unwrap();
    writer.send(Record::Round(round(0))).unwrap();
    writer.abandon().unwrap();
    assert!(temp.path().join("d/rounds.csv").is_file());
}

fn sections(byte: u8) -> Vec<(String, Vec<u8>)> {
    vec![("server".to_owned(), vec![byte; 99])]
}

#[test]
fn a_checkpoint_that_does_not_fit_leaves_the_one_before_and_the_directory() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let (disk, left) = Failing::after(usize::MAX);
    let mut run = RunWriter::create_on(disk, &dir, "s", manifest()).unwrap();
    assert!(matches!(
        Checkpoint::read(&dir, &manifest()),
        Err(CheckpointError::Missing { .. })
    ));
    run.save_checkpoint(&sections(1)).unwrap();
    left.store(0, Ordering::Relaxed);
    let error = run.save_checkpoint(&sections(2)).unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    drop(run);
    assert_eq!(Checkpoint::read(&dir, &manifest()).unwrap().sections, sections(1));
    assert_eq!(tree(&dir), ["checkpoint/state", "manifest.json", "scenario.ron"]);
}

#[test]
fn a_writer_that_cannot_save_a_state_goes_on() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let (disk, left) = Failing::after(usize::MAX);
    let mut writer = Writer::spawn(RunWriter::create_on(disk, &dir, "s", manifest()).unwrap()).unwrap();
    writer.save_checkpoint(sections(1)).unwrap().unwrap();
    left.store(0, Ordering::Relaxed);
    let unsaved = writer.save_checkpoint(sections(2)).unwrap();
    assert!(unsaved.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(Checkpoint::read(&dir, &manifest()).unwrap().sections, sections(1));
    left.store(usize::MAX, Ordering::Relaxed);
    writer.save_checkpoint(sections(3)).unwrap().unwrap();
    assert_eq!(Checkpoint::read(&dir, &manifest()).unwrap().sections, sections(3));
    assert!(writer.finish(result(2)).is_ok());
}

/// The thread ends with what came before the state, which then waits for nobody.
#[test]
fn a_state_behind_a_record_that_cannot_be_saved_is_not_waited_for() {
    for _ in 0..200 {
        let temp = TempDir::new();
        let (disk, left) = Failing::after(usize::MAX);
        let run = RunWriter::create_on(disk, &temp.path().join("run"), "s", manifest()).unwrap();
        let mut writer = Writer::spawn(run).unwrap();
        left.store(0, Ordering::Relaxed);
        let records = (0..4).map(round).map(Record::Round);
        let sent = records.chain([Record::Save]).try_for_each(|record| writer.send(record));
        let error = sent.and_then(|()| writer.save_checkpoint(sections(1)).map(|_| ()));
        assert!(error.unwrap_err().to_string().contains("the disk is full"));
    }
}

#[test]
fn a_directory_that_is_being_written_is_nobody_elses() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let mut run = RunWriter::create(&dir, "s", manifest()).unwrap();
    assert!(matches!(RunWriter::resume(&dir), Err(WriteError::Busy { .. })));
    run.save_checkpoint(&sections(1)).unwrap();
    drop(run);
    let run = RunWriter::resume(&dir).unwrap();
    assert!(matches!(RunWriter::resume(&dir), Err(WriteError::Busy { .. })));
    drop(run);
    assert!(RunWriter::resume(&dir).is_ok());
}

#[test]
fn artifact_names_stay_inside_the_directory() {
    for name in ["", "../x", "/x", "a//b", "a/.b", "a/../b", "a\\b", "./a", "a/"] {
        assert!(check_name(name).is_err(), "{name}");
    }
    assert!(check_name("a/b.npy").is_ok());
    let temp = TempDir::new();
    let mut twice = result(1);
    twice.artifacts.push(twice.artifacts[0].clone());
    let error = RunWriter::create(&temp.path().join("r"), "s", manifest())
        .unwrap()
        .finish(&twice)
        .unwrap_err();
    assert!(error.to_string().contains("must be given once"), "{error}");
    let kept = RunDir::open(&temp.path().join("r")).unwrap();
    assert!(!kept.manifest.finished && kept.tables.rounds == twice.tables.rounds);
}

#[test]
fn damaged_directories_are_refused_by_file_and_line() {
    let temp = TempDir::new();
    let error = RunDir::open(temp.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is not a run directory: it has no manifest.json"),
        "{error}"
    );
    let dir = temp.path().join("run");
    RunWriter::create(&dir, "s", manifest())
        .unwrap()
        .finish(&result(2))
        .unwrap();
    let text = fs::read_to_string(dir.join("messages.csv")).unwrap();
    write_whole(&dir.join("messages.csv"), text.replace("uplink", "sideways").as_bytes()).unwrap();
    let error = RunDir::open(&dir).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("messages.csv: line 2, column direction: must be uplink, downlink or peer, got \"sideways\""),
        "{error}"
    );
    write_whole(&dir.join("messages.csv"), text.as_bytes()).unwrap();
    fs::remove_file(dir.join("clients.csv")).unwrap();
    assert!(matches!(RunDir::open(&dir), Err(ReadError::Io { .. })));
    write_whole(&dir.join("manifest.json"), b"{\n\"name\": 3\n}").unwrap();
    let error = RunDir::open(&dir).unwrap_err();
    assert!(
        error.to_string().contains("manifest.json: line 2: invalid type"),
        "{error}"
    );
}
