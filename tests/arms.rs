//! Arms, targets, early ends and warnings: what a sweep says when algorithms are compared.

use crate::support::{TempDir, assert_same, files, result_of, run_args};
use folkmoot_metrics::{RunDir, SweepDir, curves};
use std::path::Path;

/// The shipped comparison, small enough for a test.
const SHORT: [&str; 4] = ["fed-avg/algorithms", "--set", "strategy.protocol.rounds=12", "--set"];

/// Arms that differ in fields of different structs, beside an axis.
const ARMS: &str = "sweep=(arms: {\"mean\": {}, \"near\": {\"strategy.training.fedprox_mu\": 0.5}, \"buffered\": \
    {\"strategy.protocol.aggregation\": Buffered(size: 5), \"strategy.training.epochs\": 1}}, seeds: [1, 2])";

fn sweep<'a>(setting: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep"], &SHORT[..], &[setting, "--out", out], more].concat()
}

fn run_of(dir: &Path, point: &str) -> RunDir {
    RunDir::open(&dir.join("points").join(point)).unwrap()
}

#[test]
fn arms_are_points_with_the_settings_that_they_name() {
    let temp = TempDir::new();
    let told = temp.run(&sweep(ARMS, "s", &["--threads", "2"])).done();
    let sweep = SweepDir::open(&temp.join("s")).unwrap();
    let arms: Vec<&str> = sweep.points.iter().map(|row| row.values[0].as_str()).collect();
    assert_eq!(arms, ["mean", "mean", "near", "near", "buffered", "buffered"]);
    for (point, words) in [
        ("0000-arm=mean-seed=1", ["fedprox_mu: 0.0", "epochs: 2"]),
        ("0003-arm=near-seed=2", ["fedprox_mu: 0.5", "epochs: 2"]),
        ("0004-arm=buffered-seed=1", ["Buffered(", "epochs: 1"]),
    ] {
        let scenario = run_of(&temp.join("s"), point).scenario;
        assert!(words.iter().all(|word| scenario.contains(word)), "{scenario}");
    }
    // What it took is counted from the tables of each run.
    for (row, point) in sweep.points.iter().zip(sweep.manifest.points()) {
        let run = RunDir::open(&sweep.manifest.point_path(&temp.join("s"), &point)).unwrap();
        let curves = curves(&run);
        let curve = curves.iter().find(|curve| curve.name() == "test_accuracy").unwrap();
        let first = curve.points.iter().find(|point| point.value >= 0.9);
        let numbers = ["rounds", "virtual_s", "bytes"].map(|what| {
            let name = format!("{what}_to_target[test_accuracy=0.9]");
            row.summary.get(&name).copied()
        });
        let expected = first.map(|first| [f64::from(first.round) + 1.0, first.virtual_s, first.bytes as f64]);
        assert_eq!(
            numbers,
            expected.map_or([None; 3], |numbers| numbers.map(Some)),
            "{}",
            point.point
        );
        assert_eq!(
            row.summary["target_reached[test_accuracy=0.9]"],
            f64::from(u8::from(first.is_some()))
        );
    }
    assert!(
        told.contains("Cost to reach test_accuracy 0.9\narm ") && told.contains("/2 "),
        "{told}"
    );
    for figure in ["curves-test-accuracy.svg", "target-test-accuracy-0-9.svg"] {
        assert!(temp.join("s/figures").join(figure).is_file(), "{figure}");
    }
    // Made in shards and merged, it is the same.
    for shard in ["1/2", "2/2"] {
        temp.run(&self::sweep(ARMS, "t", &["--quiet", "--shard", shard])).done();
    }
    temp.run(&["merge", "t", "--quiet"]).done();
    let strip = |name: &str| {
        let mut files = files(&temp.join(name));
        files.retain(|name, _| !name.ends_with("timing.csv") && !name.ends_with("manifest.json"));
        files
    };
    assert_same(&strip("s"), &strip("t"), "merged");
}

#[test]
fn axes_that_move_together_multiply_nothing() {
    let temp = TempDir::new();
    let zipped = "sweep=(axes: {\"strategy.training.learning_rate\": [0.003, 0.01], \"strategy.training.epochs\": [1, 2], \"partition.alpha\": \
        [0.5, 5.0]}, zip: [[\"strategy.training.learning_rate\", \"strategy.training.epochs\"]], seeds: [1])";
    temp.run(&sweep(zipped, "s", &["--dry-run", "--quiet"])).done();
    let points = SweepDir::open(&temp.join("s")).unwrap().points;
    let values: Vec<String> = points.iter().map(|row| row.values.join(" ")).collect();
    assert_eq!(values, ["0.003 1 0.5", "0.003 1 5.0", "0.01 2 0.5", "0.01 2 5.0"]);
    let uneven = "sweep=(axes: {\"strategy.training.learning_rate\": [0.1], \"strategy.training.epochs\": [1, 2]}, zip: \
        [[\"strategy.training.learning_rate\", \"strategy.training.epochs\"]])";
    temp.run(&sweep(uneven, "u", &[]))
        .refused(&["as many values", "strategy.training.learning_rate has 1"]);
    assert_eq!(temp.names(), ["s"]);
}

#[test]
fn a_setting_that_the_sweep_sets_anew_is_refused() {
    let temp = TempDir::new();
    let axis = "sweep.axes={\"strategy.training\": [(learning_rate: 0.1), (learning_rate: 0.2)]}";
    let args = [
        "sweep",
        "fed-avg/small",
        "--set",
        axis,
        "--set",
        "strategy.training.epochs=9",
    ];
    temp.run(&args).refused(&[
        "--set strategy.training.epochs",
        "the sweep itself sets strategy.training in every run",
    ]);
    // An arm that sets it leaves it to the others.
    let args = ["--set", "strategy.training.fedprox_mu=0.25", "--dry-run", "--quiet"];
    temp.run(&sweep(ARMS, "s", &args)).done();
    assert!(
        run_of(&temp.join("s"), "0000-arm=mean-seed=1")
            .scenario
            .contains("fedprox_mu: 0.25")
    );
    assert!(
        run_of(&temp.join("s"), "0002-arm=near-seed=1")
            .scenario
            .contains("fedprox_mu: 0.5")
    );
}

#[test]
fn wrong_arms_and_targets_are_named_in_their_place() {
    let temp = TempDir::new();
    let arms = "sweep.arms={\"a\": {\"strategy.nothing\": 1}, \"b\": {\"seed\": 2}, \"c\": {}, \"d\": {}}";
    temp.run(&sweep(arms, "s", &[])).refused(&[
        "sweep.arms.b.seed: no arm can set this",
        "sweep.arms.d: is the same as the arm \"c\"",
    ]);
    let unknown = "sweep.arms={\"a\": {\"strategy.nothing\": 1}}";
    temp.run(&sweep(unknown, "s", &[]))
        .refused(&["sweep arm a: strategy.nothing"]);
    let score = "targets={\"test_acuracy\": 0.5}";
    temp.run(&["check", "fed-avg/small", "--set", score]).refused(&[
        "targets.test_acuracy",
        "has a score `test_acuracy`, did you mean `test_accuracy`?",
    ]);
    let share = "targets={\"test_accuracy\": 60}";
    temp.run(&["check", "fed-avg/small", "--set", share])
        .refused(&["targets.test_accuracy", "lies in 0..=1, got 60"]);
    let none = ["check", "fed-avg/small", "--set", "stop=(target_reached: true)"];
    temp.run(&none)
        .refused(&["stop.target_reached: there is no target to reach"]);
}

/// A run that is over when its target is reached is over at the same round whoever plays it, and
/// its account of messages holds.
#[test]
fn a_reached_target_ends_a_run_alike_for_any_threads() {
    let temp = TempDir::new();
    let stop = [&SHORT[..], &["stop=(target_reached: true)"]].concat();
    let ends = |out: &str, more: &[&str]| {
        temp.run(&run_args(&stop, out, more)).done();
        result_of(&temp.join(out))
    };
    let alone = ends("a", &["--threads", "1"]);
    assert_same(&alone, &ends("b", &["--threads", "3"]), "three threads");
    assert_same(&alone, &ends("c", &["--no-windows"]), "without windows");
    let run = RunDir::open(&temp.join("a")).unwrap();
    let rounds = run.tables.rounds.len();
    assert!((1..12).contains(&rounds), "{rounds} rounds");
    let reached = run.summary["rounds_to_target[test_accuracy=0.9]"];
    assert_eq!((reached, run.summary["stopped_early"]), (rounds as f64, 1.0));
    temp.run(&run_args(&SHORT[..3], "d", &[])).done();
    let whole = RunDir::open(&temp.join("d")).unwrap();
    assert_eq!(
        (whole.tables.rounds.len(), whole.summary.get("stopped_early")),
        (12, None)
    );
    assert_eq!(whole.tables.rounds[..rounds], run.tables.rounds[..]);
}

#[test]
fn training_that_diverges_is_warned_of_and_may_end_the_run() {
    let temp = TempDir::new();
    let wild = [
        "fed-avg/small",
        "--set",
        "strategy.training.optimiser=Sgd()",
        "--set",
        "strategy.training.learning_rate=1e12",
    ];
    let told = temp.run(&[&["run"], &wild[..], &["--out", "a"]].concat());
    assert_eq!(told.code, Some(0), "{told:#?}");
    let run = RunDir::open(&temp.join("a")).unwrap();
    assert!(run.summary["refused_updates"] > 0.0, "{:?}", run.summary);
    // A model that is no better than the majority class came later than the number of warnings,
    // which is hashed.
    let of_majority = |warning: &&String| warning.contains("is not above the majority class");
    let n_lints = run.manifest.warnings.iter().filter(of_majority).count();
    assert_eq!(run.summary["warnings"], (run.manifest.warnings.len() - n_lints) as f64);
    for words in ["updates were refused", "diverged by round"] {
        assert!(
            run.manifest.warnings.iter().any(|warning| warning.contains(words)),
            "{:?}",
            run.manifest.warnings
        );
        assert!(told.stderr.contains(words), "{}", told.stderr);
    }
    temp.run(&run_args(&wild, "b", &["--set", "stop=(diverged: true)"]))
        .done();
    let stopped = RunDir::open(&temp.join("b")).unwrap();
    assert!(
        stopped.tables.rounds.len() < run.tables.rounds.len() && stopped.summary["stopped_early"] == 1.0,
        "{:?}",
        stopped.summary
    );
    // In a sweep the arm is marked.
    let arms = "sweep=(arms: {\"wild\": {\"strategy.training.learning_rate\": 1e12}, \"tame\": {}}, seeds: [1], headline: [\"test_accuracy\"])";
    let wild = [
        "fed-avg/small",
        "--set",
        "strategy.training.optimiser=Sgd()",
        "--set",
        arms,
    ];
    let told = temp.run(&[&["sweep"], &wild[..], &["--out", "s"]].concat()).done();
    assert!(
        told.contains("\nwild !") && !told.contains("tame !") && told.contains("! warnings\n  wild, seed 1: "),
        "{told}"
    );
}
