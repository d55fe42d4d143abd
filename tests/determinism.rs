//! The promise: a card and a seed give the same bytes, however they are run.

use crate::support::{ROUGH, TINY, TempDir, assert_same, result_of, rough, run_args, tiny};
use crate::trials::{on_all_cores, trials};
use folkmoot_metrics::RunDir;

/// Every way to run that must not change a result.
const WAYS: &[(&str, &[&str])] = &[
    ("2 threads", &["--threads", "2"]),
    ("3 threads", &["--threads", "3"]),
    ("8 threads", &["--threads", "8"]),
    ("windows off", &["--threads", "2", "--no-windows"]),
    ("wire check", &["--threads", "2", "--wire-check"]),
    (
        "windows off and wire check",
        &["--threads", "1", "--no-windows", "--wire-check"],
    ),
    ("a second run", &["--threads", "1"]),
];

fn every_way_gives_the_same_bytes(card: &[&str]) {
    let temp = TempDir::new();
    temp.run(&run_args(card, "first", &[])).done();
    let first = result_of(&temp.join("first"));
    for (way, args) in WAYS {
        let out = way.replace(' ', "-");
        temp.run(&run_args(card, &out, args)).done();
        assert_same(&first, &result_of(&temp.join(&out)), way);
    }
}

#[test]
fn threads_windows_and_wire_check_change_no_byte_in_a_rough_world() {
    every_way_gives_the_same_bytes(ROUGH);
}

#[test]
fn threads_windows_and_wire_check_change_no_byte_of_a_small_run() {
    every_way_gives_the_same_bytes(&[TINY]);
}

#[test]
fn threads_windows_and_wire_check_change_no_byte_of_other_algorithms() {
    on_all_cores(&trials(|file| &file.same_bytes), |trial| {
        every_way_gives_the_same_bytes(&trial.args());
    });
}

/// Rounds without a deadline whose end nobody announces: they are over when nothing is under way
/// any more.
#[test]
fn windows_change_no_byte_of_rounds_that_end_in_silence() {
    let network = "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), \
                   downlink: (latency_ms: LogNormal(median: 40, sigma: 0.5, min: 10)), max_retries: 0)";
    let temp = TempDir::new();
    for (trial, i) in trials(|file| &file.silent_rounds).into_iter().zip(0..) {
        let card = [trial.args().as_slice(), &["--set", network]].concat();
        for seed in ["1", "2", "3"] {
            let run = |out: &str, more: &[&str]| {
                let args = [&["--dry-run", "--seed", seed, "--threads", "2"], more].concat();
                temp.run(&run_args(&card, out, &args)).done();
                result_of(&temp.join(out))
            };
            let [on, off] = ["on", "off"].map(|name| format!("{name}-{i}-{seed}"));
            let what = format!("{} with seed {seed}", card[0]);
            assert_same(&run(&off, &["--no-windows"]), &run(&on, &[]), &what);
        }
    }
}

/// Observing changes two things: what was asked for stands in `scenario.ron`, and
/// `observations.csv` answers.
fn two_more_metrics_observed_change_nothing_else(card: &[&str], [first, second]: [&str; 2]) {
    let temp = TempDir::new();
    temp.run(&run_args(card, "plain", &[])).done();
    let observe = ["--observe", first, "--observe", second];
    temp.run(&run_args(card, "observed", &observe)).done();
    let [plain, observed] = ["plain", "observed"].map(|name| RunDir::open(&temp.join(name)).unwrap());
    assert_eq!(plain.manifest.result_fingerprint, observed.manifest.result_fingerprint);
    let (mut plain, mut observed) = (result_of(&plain.path), result_of(&observed.path));
    let scenario = |files: &mut std::collections::BTreeMap<String, Vec<u8>>| {
        String::from_utf8(files.remove("scenario.ron").unwrap()).unwrap()
    };
    let (card_of_plain, card_of_observed) = (scenario(&mut plain), scenario(&mut observed));
    let answer = format!("observe: [\n        \"{first}\",\n        \"{second}\",\n    ],");
    assert_eq!(card_of_plain.replace("observe: [],", &answer), card_of_observed);
    assert_same(&plain, &observed, "observed");
    let table = std::fs::read_to_string(temp.join("observed/observations.csv")).unwrap();
    assert!(table.starts_with("round,metric,value\n"), "{table}");
    assert!(table.contains(first) && table.contains(second), "{table}");
    assert!(!temp.join("plain/observations.csv").exists());
}

const COUNTERS: [&str; 2] = ["late_updates", "lost_models"];

#[test]
fn observing_counters_changes_nothing_else_in_a_rough_world() {
    two_more_metrics_observed_change_nothing_else(ROUGH, COUNTERS);
}

#[test]
fn observing_counters_changes_nothing_else_in_a_small_run() {
    two_more_metrics_observed_change_nothing_else(&[TINY], COUNTERS);
}

#[test]
fn observing_counters_changes_nothing_else_of_other_algorithms() {
    on_all_cores(&trials(|file| &file.observed), |trial| {
        let counters: Vec<&str> = trial.counters.iter().map(String::as_str).collect();
        two_more_metrics_observed_change_nothing_else(&trial.args(), counters.try_into().unwrap());
    });
}

#[test]
fn another_seed_gives_another_result() {
    let temp = TempDir::new();
    temp.run(&run_args(ROUGH, "out", &["--seed", "18446744073709551615"]))
        .done();
    let run = RunDir::open(&temp.join("out")).unwrap();
    assert_eq!(run.manifest.seed, u64::MAX);
    assert_ne!(run.manifest.result_fingerprint, rough().run.manifest.result_fingerprint);
    assert_ne!(run.manifest.data_fingerprints, rough().run.manifest.data_fingerprints);
}

#[test]
fn a_dry_run_sends_the_same_messages() {
    let temp = TempDir::new();
    temp.run(&run_args(ROUGH, "dry", &["--dry-run"])).done();
    let dry = RunDir::open(&temp.join("dry")).unwrap();
    assert_eq!(dry.tables.messages, rough().run.tables.messages);
    temp.run(&run_args(&[TINY], "tiny", &["--dry-run"])).done();
    let dry = RunDir::open(&temp.join("tiny")).unwrap();
    assert_eq!(dry.tables.messages, tiny().run.tables.messages);
    assert_eq!(dry.tables.rounds, tiny().run.tables.rounds);
}

#[test]
fn the_figures_of_a_run_are_drawn_alike_again() {
    let temp = TempDir::new();
    let before = result_of(&rough().lay(&temp, "rough"));
    assert!(before.contains_key("figures/participation.svg"), "{:?}", before.keys());
    std::fs::remove_dir_all(temp.join("rough/figures")).unwrap();
    let drawn = temp.run(&["plot", "rough"]).done();
    let pictures = before
        .keys()
        .filter(|name| name.starts_with("figures/") && !name.ends_with(".caption.txt"));
    assert_eq!(drawn.lines().count(), pictures.count());
    assert_same(&before, &result_of(&temp.join("rough")), "drawn again");
}
