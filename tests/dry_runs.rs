//! The promise: a dry run sends the messages of the real run, whatever is lost, late or absent, or
//! it warns which it does not.

use crate::support::{TempDir, run_args};
use crate::trials::trials;
use folkmoot_metrics::{MessageRow, RunDir};

const QUICK: &str = "strategy.protocol.rounds=3";
const FEW: &str = "dataset.n_graphs=120";

/// Worlds in which messages arrive, are lost, come late, and find their receivers gone.
const WORLDS: &[&[&str]] = &[
    &[],
    &["network=Links(uplink: (loss_prob: 0.1), downlink: (loss_prob: 0.2), peer: (loss_prob: 0.2), max_retries: 0)"],
    &[
        "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 400)), downlink: (latency_ms: LogNormal(median: 60, \
         sigma: 1, min: 10)), up_bytes_per_s: Constant(20000), down_bytes_per_s: Constant(40000), server_up_bytes_per_s: 1e6)",
        "devices=LogNormal(median_ops_per_s: 1e8, sigma: 1)",
        "deadline_ms=3000",
    ],
    &[
        "network=Links(peer: (loss_prob: 0.05), max_retries: 1)",
        "dropout=(prob: 0.1)",
        "availability=OnOff(mean_on_s: 20, mean_off_s: 4)",
        "outages=(regions: 3, mean_between_s: 30, mean_length_s: 3)",
        "deadline_ms=20000",
    ],
];

/// The messages of a run and its warnings; why it could not be made.
fn played(temp: &TempDir, out: &str, case: &[&str], more: &[&str]) -> Result<RunDir, String> {
    let settings = case[1..].iter().flat_map(|setting| ["--set", setting]);
    let args: Vec<&str> = settings.chain(more.iter().copied()).chain(["--threads", "2"]).collect();
    let told = temp.run(&run_args(&case[..1], out, &args));
    match told.code {
        Some(0) => Ok(RunDir::open(&temp.join(out)).unwrap()),
        Some(1) => Err(told.stderr),
        _ => panic!("{case:?}: {told:#?}"),
    }
}

fn same_messages_in(world: &[&str], seeds: &[&str]) {
    for trial in trials(|file| &file.dry_runs) {
        let settings = trial.settings.iter().map(String::as_str);
        let case: Vec<&str> = [trial.card.as_str()]
            .into_iter()
            .chain(settings)
            .chain(world.iter().copied())
            .collect();
        for seed in seeds {
            let temp = TempDir::new();
            let [dry, real] = [&["--dry-run"][..], &[]].map(|more| {
                let out = if more.is_empty() { "real" } else { "dry" };
                played(&temp, out, &case, &[&["--seed", seed], more].concat())
            });
            match (dry, real) {
                (Ok(dry), Ok(real)) => {
                    assert!(dry.tables.messages == real.tables.messages, "{case:?}, seed {seed}");
                    assert!(dry.tables.rounds == real.tables.rounds, "{case:?}, seed {seed}");
                    let warned = |warning: &String| warning.starts_with("dry run: ");
                    assert!(!dry.manifest.warnings.iter().any(warned), "{case:?}");
                }
                // What stops a run, such as an exchange that nobody got through, stops its dry run
                // at the same time.
                (Err(dry), Err(real)) => {
                    let error = |told: &str| told.lines().find(|line| line.starts_with("error")).map(str::to_owned);
                    assert_eq!(error(&dry), error(&real), "{case:?}, seed {seed}");
                }
                (dry, real) => panic!("{case:?}, seed {seed}: {:?} {:?}", dry.err(), real.err()),
            }
        }
    }
}

#[test]
fn a_dry_run_sends_the_same_messages_in_an_ideal_world() {
    same_messages_in(WORLDS[0], &["1"]);
}

#[test]
fn a_dry_run_sends_the_same_messages_where_messages_are_lost() {
    same_messages_in(WORLDS[1], &["1", "2"]);
}

#[test]
fn a_dry_run_sends_the_same_messages_where_messages_are_late() {
    same_messages_in(WORLDS[2], &["3"]);
}

#[test]
fn a_dry_run_sends_the_same_messages_where_clients_come_and_go() {
    same_messages_in(WORLDS[3], &["4", "5"]);
}

/// The rows of messages whose size does not depend on values.
fn of_known_size<'a>(rows: &'a [MessageRow], unknown: &[&str]) -> Vec<&'a MessageRow> {
    rows.iter()
        .filter(|row| !unknown.contains(&row.kind.as_str()))
        .collect()
}

/// Where the size of a message depends on values, the dry run names it, and all others are those of
/// the real run.
#[test]
fn a_dry_run_names_the_messages_whose_size_it_does_not_know() {
    for trial in trials(|file| &file.unknown_sizes) {
        let settings = trial.settings.iter().map(String::as_str);
        let case: Vec<&str> = [trial.card.as_str()].into_iter().chain(settings).collect();
        let named: Vec<&str> = trial.kinds.iter().map(String::as_str).collect();
        assert!(!named.is_empty(), "{case:?}");
        let temp = TempDir::new();
        let dry = played(&temp, "dry", &case, &["--dry-run"]).unwrap();
        let real = played(&temp, "real", &case, &[]).unwrap();
        assert!(
            dry.tables.messages != real.tables.messages,
            "{case:?}: there is nothing to warn of"
        );
        assert_eq!(
            of_known_size(&dry.tables.messages, &named),
            of_known_size(&real.tables.messages, &named),
            "{case:?}"
        );
        let warning = format!(
            "dry run: the sizes of {} are not those of the real run",
            named.join(", ")
        );
        let warns = |run: &RunDir| run.manifest.warnings.iter().any(|it| it.starts_with(&warning));
        assert!(warns(&dry) && !warns(&real), "{case:?}: {:?}", dry.manifest.warnings);
    }
}

/// A stop condition that reads scores has no effect in a dry run, which says so in its manifest and
/// on the screen.
#[test]
fn a_dry_run_warns_of_stop_conditions_that_read_scores() {
    let temp = TempDir::new();
    let card = &[
        "fed-avg/small",
        QUICK,
        FEW,
        "targets={\"test_accuracy\": 0.1}",
        "stop=(target_reached: true, diverged: true)",
    ];
    let real = played(&temp, "real", card, &[]).unwrap();
    let settings = card[1..].iter().flat_map(|setting| ["--set", setting]);
    let args = ["run", card[0], "--out", "dry", "--dry-run"]
        .into_iter()
        .chain(settings);
    let told = temp.run(&args.collect::<Vec<&str>>());
    let dry = RunDir::open(&temp.join("dry")).unwrap();
    assert_eq!((real.tables.rounds.len(), dry.tables.rounds.len()), (1, 3));
    for field in ["target_reached", "diverged"] {
        let warning = format!("dry run: stop.{field} has no effect, since it depends on scores");
        assert!(
            dry.manifest.warnings.iter().any(|it| it.starts_with(&warning)),
            "{field}"
        );
        assert!(
            format!("{}{}", told.stdout, told.stderr).contains(&warning),
            "{told:#?}"
        );
        assert!(!real.manifest.warnings.iter().any(|it| it.starts_with("dry run")));
    }
}
