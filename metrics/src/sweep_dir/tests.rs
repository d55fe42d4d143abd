use super::write::other_sweep;
use super::*;
use crate::run_dir::{RunWriter, SCENARIO, WriteError, list_files, to_json, write_whole};
use crate::testing::{TempDir, manifest, result};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

fn sweep() -> SweepManifest {
    let axis = |path: &str, values: &[&str]| Axis {
        path: path.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        with: None,
    };
    SweepManifest {
        name: "smoke/sweep".into(),
        version: "0.1.0".into(),
        axes: vec![
            axis("strategy.epsilon", &["0.5", "1e1"]),
            axis("variant", &["AsPublished", "a b/c"]),
        ],
        seeds: vec![1, 2],
        headline: vec!["payload_bytes".into()],
        target: "x86_64-linux".into(),
        command: "folkmoot sweep smoke/sweep".into(),
        ..SweepManifest::default()
    }
}

#[test]
fn points_count_with_the_seed_innermost() {
    let points = sweep().points();
    assert_eq!(points.len(), 8);
    assert_eq!(
        points[3],
        Point {
            point: 3,
            choices: vec![0, 1],
            values: vec!["0.5".into(), "a b/c".into()],
            seed: 2
        }
    );
    assert_eq!(sweep().point_name(&points[3]), "0003-epsilon=0.5-variant=a_b_c-seed=2");
    let alone = SweepManifest {
        axes: vec![],
        ..sweep()
    };
    assert_eq!(alone.points().len(), 2);
}

/// An axis that moves along with an earlier one multiplies nothing, wherever it stands.
#[test]
fn axes_that_move_together_take_their_values_together() {
    let mut zipped = sweep();
    zipped.axes.push(Axis {
        path: "alpha".into(),
        values: vec!["1".into(), "2".into()],
        with: Some("strategy.epsilon".into()),
    });
    let points = zipped.points();
    assert_eq!((points.len(), zipped.n_points()), (8, 8));
    let values = |i: usize| (points[i].values.join(" "), points[i].choices.clone());
    assert_eq!(values(1), ("0.5 AsPublished 1".to_owned(), vec![0, 0, 0]));
    assert_eq!(values(6), ("1e1 a b/c 2".to_owned(), vec![1, 1, 1]));
}

/// What `scenario.ron` says in these tests.
const CARD: &str = "// smoke/sweep\n(\n    seed: 1,\n)\n";

/// Makes a point's run directory.
fn run(writer: &SweepWriter, point: &Point) {
    let mut result = result(1);
    result
        .summary
        .insert("a,\"b\"@Theorem 4.2".into(), f64::from(point.point) / 3.0);
    if point.point == 5 {
        result.summary.clear();
        result.summary.insert("z".into(), f64::INFINITY);
    }
    let manifest = Manifest {
        seed: point.seed,
        ..manifest()
    };
    RunWriter::create(&writer.point_path(point), "s", manifest)
        .unwrap()
        .finish(&result)
        .unwrap();
}

/// A sweep in `dir` with the points of a shard.
fn shard_in(dir: &Path, number: u32, of: u32) -> SweepWriter {
    let shard = SweepShard { number, of };
    let writer = SweepWriter::join(dir, sweep(), CARD, Some(shard)).unwrap();
    for point in sweep().points().iter().filter(|point| shard.owns(point.point)) {
        run(&writer, point);
    }
    writer
}

fn bytes_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = list_files(dir).unwrap();
    names
        .into_iter()
        .map(|name| (name.clone(), fs::read(dir.join(name)).unwrap()))
        .collect()
}

#[test]
fn points_are_collected_from_finished_runs_only() {
    let temp = TempDir::new();
    let dir = temp.path().join("sweeps/a");
    let writer = SweepWriter::create(&dir, sweep(), CARD).unwrap();
    assert!(matches!(
        SweepWriter::create(&dir, sweep(), CARD),
        Err(WriteError::Exists { .. })
    ));
    assert_eq!(SweepDir::open(&dir).unwrap().points, vec![]);
    let points = sweep().points();
    points[1..].iter().for_each(|point| run(&writer, point));
    let before = SweepDir::open(&dir).unwrap();
    assert_eq!(before.unfinished().as_deref(), Some("7 of 8 points"));
    assert_eq!(writer.collect().unwrap(), 7);
    // The table says what the runs do.
    let table = decode_points(&sweep().axes, &fs::read(dir.join(POINTS)).unwrap()).unwrap();
    assert_eq!(table, before.points);
    assert!(!read_sweep_manifest(&dir).unwrap().finished);
    run(&writer, &points[0]);
    assert_eq!(writer.collect().unwrap(), 8);
    assert!(read_sweep_manifest(&dir).unwrap().finished);
    let back = SweepDir::open(&dir).unwrap();
    assert_eq!(back.unfinished(), None);
    assert_eq!(back.manifest.terms["payload_bytes"].words, "Payload bytes");
    assert_eq!(back.points.len(), 8);
    assert_eq!(back.points[2].summary["a,\"b\"@Theorem 4.2"], 2.0 / 3.0);
    assert_eq!(back.points[5].summary, [("z".to_owned(), f64::INFINITY)].into());
    assert_eq!((&back.points[7].values, back.points[7].seed), (&points[7].values, 2));
    let text = fs::read_to_string(dir.join(POINTS)).unwrap();
    let header = "point,strategy.epsilon,variant,seed,\"a,\"\"b\"\"@Theorem 4.2\",accuracy_final,payload_bytes,z\n";
    assert!(text.starts_with(header), "{text}");
}

#[test]
fn every_point_has_one_shard() {
    for of in 1..=9 {
        let owners = |point: &Point| {
            (1..=of)
                .filter(|&number| SweepShard { number, of }.owns(point.point))
                .count()
        };
        assert!(sweep().points().iter().all(|point| owners(point) == 1), "{of}");
    }
    assert!(SweepShard { number: 2, of: 3 }.owns(4));
}

#[test]
fn a_point_is_claimed_once_and_what_was_left_of_it_goes() {
    let temp = TempDir::new();
    let dir = temp.path().join("s");
    let mine = SweepWriter::join(&dir, sweep(), CARD, None).unwrap();
    let theirs = SweepWriter::join(&dir, sweep(), CARD, None).unwrap();
    let points = sweep().points();
    let point = &points[3];
    // Left by somebody who was killed after a round.
    let left = mine.point_path(point);
    write_whole(&left.join("rounds.csv"), b"round\n").unwrap();
    write_whole(&left.join("manifest.json"), &to_json(&manifest())).unwrap();
    let Claim::Yours(lock) = mine.claim(point).unwrap() else {
        panic!("nobody else is at it");
    };
    assert!(!left.exists());
    assert!(matches!(theirs.claim(point).unwrap(), Claim::Busy));
    assert!(matches!(theirs.claim(&points[4]).unwrap(), Claim::Yours(_)));
    run(&mine, point);
    drop(lock);
    let before = bytes_of(&left);
    assert!(matches!(theirs.claim(point).unwrap(), Claim::Finished));
    assert_eq!(bytes_of(&left), before);
    // A summary that is cut short is no result, and the point is made anew.
    for summary in ["", "{\"a\": 1"] {
        fs::write(left.join("summary.json"), summary).unwrap();
        let Claim::Yours(lock) = mine.claim(point).unwrap() else {
            panic!("it is not finished");
        };
        assert!(!left.exists());
        run(&mine, point);
        drop(lock);
        assert!(matches!(theirs.claim(point).unwrap(), Claim::Finished));
    }
    assert!(list_files(&dir).unwrap().iter().all(|name| !name.ends_with(".lock")));
    // The lock of who was killed.
    fs::write(dir.join("points/.0004.lock"), "").unwrap();
    assert!(matches!(mine.claim(&points[4]).unwrap(), Claim::Yours(_)));
}

/// A lock's file goes with its holder, just when others may have opened it.
#[test]
fn a_point_that_is_given_up_and_claimed_again_is_only_ever_ones() {
    let temp = TempDir::new();
    let writer = SweepWriter::create(&temp.path().join("s"), sweep(), CARD).unwrap();
    let point = &sweep().points()[0];
    let (n_holders, n_claims) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let claim_often = || {
        for _ in 0..2_000 {
            if let Claim::Yours(lock) = writer.claim(point).unwrap() {
                assert_eq!(n_holders.fetch_add(1, Ordering::SeqCst), 0, "two have it");
                n_claims.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                n_holders.fetch_sub(1, Ordering::SeqCst);
                drop(lock);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(claim_often);
        }
    });
    assert!(n_claims.load(Ordering::SeqCst) > 0);
    assert_eq!(list_files(&temp.path().join("s/points")).unwrap(), Vec::<String>::new());
}

#[test]
fn a_run_that_is_not_the_points_is_not_taken_for_it() {
    let temp = TempDir::new();
    let dir = temp.path().join("s");
    let writer = SweepWriter::join(&dir, sweep(), CARD, None).unwrap();
    let points = sweep().points();
    run(&writer, &points[1]);
    fs::rename(writer.point_path(&points[1]), writer.point_path(&points[0])).unwrap();
    let error = writer.claim(&points[0]).err().unwrap().to_string();
    assert!(error.contains("is of another sweep: its seed is 2, not 1"), "{error}");
    assert!(writer.point_path(&points[0]).is_dir());
}

#[test]
fn a_directory_of_something_else_is_not_joined() {
    let temp = TempDir::new();
    let dir = temp.path().join("s");
    SweepWriter::join(&dir, sweep(), CARD, None).unwrap();
    let refused = |manifest: SweepManifest, card: &str, word: &str| {
        let before = bytes_of(&dir);
        let error = SweepWriter::join(&dir, manifest, card, None).err().unwrap().to_string();
        assert!(
            error.contains(word) && error.contains("choose another --out"),
            "{error}"
        );
        assert_eq!(bytes_of(&dir), before);
    };
    let version = "9.9.9".to_owned();
    refused(
        SweepManifest { version, ..sweep() },
        CARD,
        "its version is 0.1.0, not 9.9.9",
    );
    let dry_run = true;
    refused(
        SweepManifest { dry_run, ..sweep() },
        CARD,
        "its dry run is false, not true",
    );
    refused(
        sweep(),
        &CARD.replace("seed: 1", "seed: 2"),
        "its card says seed: 1, not seed: 2",
    );
    refused(sweep(), "// smoke/sweep\n", "its card says (, not no line");
    let data_fingerprints = [("BlogCatalog".to_owned(), "00".to_owned())].into();
    refused(
        SweepManifest {
            data_fingerprints,
            ..sweep()
        },
        CARD,
        "the data set BlogCatalog",
    );
    let seeds = vec![1, 3];
    refused(SweepManifest { seeds, ..sweep() }, CARD, "it has other points");
    fs::remove_file(dir.join(SCENARIO)).unwrap();
    refused(sweep(), CARD, "an older version made it");
    fs::remove_file(dir.join(SWEEP)).unwrap();
    fs::write(dir.join("mine.txt"), "mine").unwrap();
    refused(sweep(), CARD, "already exists");
    assert!(other_sweep(&sweep(), CARD, &sweep(), CARD).is_none());
}

#[test]
fn shards_that_start_at_the_same_moment_make_one_directory() {
    let temp = TempDir::new();
    for round in 0..20 {
        let dir = temp.path().join(format!("deep/{round}"));
        std::thread::scope(|scope| {
            for number in 1..=4 {
                let dir = &dir;
                scope.spawn(move || shard_in(dir, number, 4));
            }
        });
        let names = list_files(&dir).unwrap();
        assert!(names.iter().all(|name| !name.contains(".tmp")), "{names:?}");
        assert_eq!(SweepDir::open(&dir).unwrap().points.len(), 8);
        assert!(!dir.join(POINTS).exists(), "tables are for who merges");
    }
}

#[test]
fn merged_shards_are_the_sweep_byte_for_byte() {
    let temp = TempDir::new();
    let place = |name: &str| temp.path().join(name);
    let whole = shard_in(&place("whole"), 1, 1);
    assert_eq!(whole.collect().unwrap(), 8);
    // One directory of all shards.
    (1..=3).for_each(|number| drop(shard_in(&place("one"), number, 3)));
    fs::write(place("one/points/.0002.lock"), "").unwrap();
    merge(&place("one"), &[], &place("one")).unwrap();
    assert_eq!(bytes_of(&place("one")), bytes_of(&place("whole")));
    // One each, the first twice.
    (1..=3).for_each(|number| drop(shard_in(&place(&number.to_string()), number, 3)));
    let parts = ["2", "3", "1"].map(place);
    let before = parts.each_ref().map(|part| bytes_of(part));
    merge(&place("1"), &parts, &place("out")).unwrap();
    assert_eq!(bytes_of(&place("out")), bytes_of(&place("whole")));
    assert_eq!(parts.each_ref().map(|part| bytes_of(part)), before);
    let error = merge(&place("1"), &parts, &place("out")).err().unwrap().to_string();
    assert!(error.contains("already exists"), "{error}");
}

#[test]
fn parts_that_are_no_whole_are_not_merged() {
    let temp = TempDir::new();
    let place = |name: &str| temp.path().join(name);
    let refused = |parts: &[PathBuf], words: &[&str]| {
        let error = merge(&place("1"), parts, &place("out")).err().unwrap().to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
        assert!(!place("out").exists());
    };
    (1..=2).for_each(|number| drop(shard_in(&place(&number.to_string()), number, 2)));
    let missing = ["4 of 8 points are missing: 0001-", "0003-", "0005-", "0007-"];
    refused(&[], &missing);
    refused(&[place("nowhere")], &["nowhere: is not a sweep directory"]);
    let point = |part: &str, i: usize| sweep().point_path(&place(part), &sweep().points()[i]);
    // Unfinished is missing.
    let manifest_file = point("2", 3).join(MANIFEST);
    let text = fs::read_to_string(&manifest_file).unwrap();
    let with = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        fs::write(&manifest_file, changed).unwrap();
    };
    with("\"finished\": true", "\"finished\": false");
    refused(
        &[place("2")],
        &["1 of 8 points are missing: 0003-epsilon=0.5-variant=a_b_c-seed=2"],
    );
    with("\"version\": \"0.1.0\"", "\"version\": \"0.0.9\"");
    refused(&[place("2")], &["0003-", "its version is 0.0.9, not 0.1.0"]);
    with("\"finished\": true", "\"finished\": true ");
    let card = place("2").join(SCENARIO);
    fs::write(&card, CARD.replace("seed: 1", "seed: 2")).unwrap();
    refused(
        &[place("2")],
        &["2: cannot be merged with", "its card says seed: 2, not seed: 1"],
    );
    fs::write(&card, CARD).unwrap();
    // Two results of one point.
    let writer = SweepWriter::open(&place("2")).unwrap();
    let other = Manifest { seed: 1, ..manifest() };
    let twin = RunWriter::create(&writer.point_path(&sweep().points()[0]), "s", other).unwrap();
    twin.finish(&result(2)).unwrap();
    refused(&[place("2")], &["are two results of one point"]);
}

#[test]
fn a_damaged_table_of_points_is_refused_by_line_and_column() {
    let temp = TempDir::new();
    let dir = temp.path().join("s");
    assert!(
        SweepDir::open(temp.path())
            .unwrap_err()
            .to_string()
            .contains("is not a sweep directory")
    );
    // Of a sweep that was copied without its runs.
    let finished = SweepManifest {
        finished: true,
        ..sweep()
    };
    write_whole(&dir.join(SWEEP), &to_json(&finished)).unwrap();
    write_whole(
        &dir.join(POINTS),
        b"point,strategy.epsilon,variant,seed,x\n0,1,A,1,2\n1,1,A,one,2\n",
    )
    .unwrap();
    let error = SweepDir::open(&dir).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("points.csv: line 3, column seed: must be a whole number"),
        "{error}"
    );
}
