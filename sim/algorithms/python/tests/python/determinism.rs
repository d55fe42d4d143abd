//! The same bits for any number of threads and workers.

use super::{SOFTMAX, desk, hash};
use std::fs;

#[test]
fn workers_and_threads_change_no_byte() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let mut hashes = Vec::new();
    for (at, (workers, threads)) in [(1, 1), (1, 4), (2, 2), (4, 1), (4, 4)].into_iter().enumerate() {
        let setting = format!("strategy.workers={workers}");
        let run = desk.go(&format!("run{at}"), &[&setting], (threads, None)).unwrap();
        hashes.push(hash(&run));
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}

#[test]
fn a_run_that_was_stopped_goes_on_to_the_same_bytes_with_the_state_of_its_clients() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let whole = desk.whole("whole", &[]);
    for stops in [1, 2, 3] {
        let name = format!("stopped{stops}");
        let stopped = desk.go(&name, &[], (2, Some(stops))).unwrap_err().to_string();
        assert!(stopped.starts_with("stopped as asked"), "{stopped}");
        let resumed = desk.go(&name, &[], (1, None)).unwrap();
        assert_eq!(hash(&resumed), hash(&whole), "after {stops} rounds");
    }
    // The momentum that clients keep is used: without it the result is another.
    let without = desk.whole("without", &["strategy.config={\"epochs\": 2}"]);
    assert_ne!(hash(&without), hash(&whole));
}

#[test]
fn scores_have_the_units_and_directions_of_the_app() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let run = desk.whole("run", &["strategy.protocol.evaluate_every=2"]);
    let accuracy: Vec<_> = run
        .tables
        .scores
        .iter()
        .filter(|row| row.metric == "accuracy")
        .collect();
    assert_eq!(accuracy.iter().map(|row| row.round).collect::<Vec<_>>(), [1, 3]);
    assert!(accuracy[1].value > 0.5, "{accuracy:?}");
    assert_eq!(run.summary["test_accuracy"], accuracy[1].value);
    let terms = &run.manifest.terms;
    assert_eq!(terms["test_accuracy"].better, Some(folkmoot_metrics::Better::Higher));
    assert_eq!(terms["test_loss"].better, Some(folkmoot_metrics::Better::Lower));
    let facts = &run.manifest.public_facts;
    assert_eq!(facts["promise"], "exact on this stack");
    assert_eq!(facts["task"], "classes");
    assert!(facts["versions"]["numpy"].is_string(), "{facts:?}");
    assert_eq!(run.tables.client_scores.len(), 5);
    // Without PyTorch, deterministic operations cannot be requested of a GPU.
    let run = desk.whole("gpu", &["strategy.device=\"cuda\""]);
    assert_eq!(run.manifest.public_facts["promise"], "not exact");
}

#[test]
fn metrics_of_trainings_are_means_over_the_clients_of_a_round() {
    let app = SOFTMAX.replace(
        "state=velocity)",
        "metrics={\"client\": ctx.client, \"rows\": fm.Metric(1, n=len(y))}, state=velocity)",
    );
    assert_ne!(app, SOFTMAX);
    let Some(desk) = desk(&app) else { return };
    let run = desk.whole("run", &["cohort=Size(n: 2)"]);
    let rows: Vec<_> = run.tables.scores.iter().filter(|row| row.metric == "client").collect();
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| row.split == "train" && row.n == 2 && row.value <= 3.5),
        "{rows:?}"
    );
    assert!(rows.windows(2).any(|two| two[0].value != two[1].value), "{rows:?}");
    assert_eq!(
        run.summary["update_payload_bytes"],
        8.0 * (4.0 * 39.0 + 4.0),
        "they are not sent"
    );
    let stopped = desk
        .go("stopped", &["cohort=Size(n: 2)"], (2, Some(2)))
        .unwrap_err()
        .to_string();
    assert!(stopped.starts_with("stopped as asked"), "{stopped}");
    assert_eq!(
        hash(&desk.go("stopped", &["cohort=Size(n: 2)"], (2, None)).unwrap()),
        hash(&run)
    );
}

/// Draws from every generator, and from the global ones.
const DRAWS: &str = "
import random
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return [np.zeros(3), np.arange(2)]

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    drawn = [random.random(), np.random.random(), ctx.rng.python.random() + ctx.rng.numpy.random() + hash('x') % 7]
    return fm.Update([np.array(drawn), params[1]])

@fm.evaluate(on='whole')
def evaluate(params, data):
    return {'sum': float(sum(params[0])), 'nodes': fm.Metric(data.num_nodes, unit='count')}
";

#[test]
fn global_generators_are_seeded_and_lists_of_arrays_are_models() {
    let Some(desk) = desk(DRAWS) else { return };
    let (one, other) = (desk.whole("one", &[]), desk.whole("other", &["strategy.workers=1"]));
    assert_eq!(hash(&one), hash(&other));
    let sums: Vec<f64> = one
        .tables
        .scores
        .iter()
        .filter(|row| row.metric == "sum")
        .map(|row| row.value)
        .collect();
    assert!(sums.windows(2).all(|two| two[0] != two[1]), "{sums:?}");
    assert_eq!(one.summary["test_nodes"], 90.0);
    let seeded = desk.whole("seeded", &["seed=2"]);
    assert_ne!(seeded.summary["test_sum"], one.summary["test_sum"]);
}

/// A model with arrays without a dimension, such as PyTorch's `num_batches_tracked`, and with one
/// that is not contiguous.
const SCALARS: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return {'n_seen': np.array(3), 'scale': np.array(0.5), 'turned': np.zeros((2, 3)).T}

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    assert params['n_seen'].dtype == np.int64 and params['n_seen'].shape == ()
    assert params['turned'].shape == (3, 2)
    return fm.Update({'n_seen': params['n_seen'] + 1, 'scale': params['scale'] * 2, 'turned': params['turned'].T.copy().T + 1})

@fm.evaluate(on='whole')
def evaluate(params, data):
    return {'seen': float(params['n_seen']), 'scale': float(params['scale']), 'turned': params['turned'].mean()}
";

#[test]
fn arrays_without_a_dimension_travel() {
    let Some(desk) = desk(SCALARS) else { return };
    let run = desk.whole("run", &[]);
    let found = ["test_seen", "test_scale", "test_turned"].map(|name| run.summary[name]);
    assert_eq!(found, [7.0, 8.0, 4.0], "after four rounds");
    assert_eq!(
        run.summary["update_payload_bytes"],
        run.summary["update_messages"] * (4.0 * 8.0 + 4.0)
    );
}

#[test]
fn a_client_that_is_seeded_by_the_second_is_caught() {
    // The other worker repeats the job within the same second.
    for clock in ["time.time()", "time.time_ns() // 10**9", "late()"] {
        let app = DRAWS.replace("import random", "import random, time\nfrom time import time as late");
        let app = app.replace(
            "    drawn = [random.random(),",
            &format!("    random.seed(int({clock}))\n    drawn = [random.random(),"),
        );
        let Some(mut desk) = desk(&app) else { return };
        desk.machine.checked = 1.0;
        let failure = desk.failure(&[]);
        assert!(
            failure.contains("not deterministic: update differs in"),
            "{clock}: {failure}"
        );
    }
}

#[test]
fn a_client_that_reads_the_clock_is_caught() {
    let clock = DRAWS.replace("[random.random(),", "[__import__('time').perf_counter_ns() % 997,");
    let Some(mut desk) = desk(&clock) else { return };
    desk.machine.checked = 1.0;
    let failure = desk.failure(&[]);
    assert!(failure.contains("not deterministic: update differs in"), "{failure}");
    assert!(failure.contains("training of client"), "{failure}");
    fs::remove_dir_all(desk.path("failed")).unwrap();
    // A sound app passes, and the check changes nothing.
    fs::write(desk.path("client.py"), DRAWS).unwrap();
    let checked = desk.whole("checked", &[]);
    desk.machine.checked = 0.0;
    assert_eq!(hash(&checked), hash(&desk.whole("unchecked", &[])));
}

#[test]
fn a_changed_program_has_another_fingerprint() {
    let Some(desk) = desk(DRAWS) else { return };
    let one = desk.whole("one", &[]);
    assert_eq!(fs::read_to_string(desk.path("one/program/client.py")).unwrap(), DRAWS);
    fs::write(desk.path("client.py"), format!("{DRAWS}\n# changed\n")).unwrap();
    let other = desk.whole("other", &[]);
    let print = |run: &folkmoot_metrics::RunDir| run.manifest.data_fingerprints["client.py"].clone();
    assert_ne!(print(&one), print(&other));
    assert_eq!(hash(&one), hash(&other));
}

#[test]
fn a_comparison_names_the_first_training_that_differs() {
    let at = |condition: &str| {
        SOFTMAX.replace(
            "    return fm.Update(",
            &format!("    if {condition}:\n        params['bias'] = params['bias'] + 1.0\n    return fm.Update("),
        )
    };
    let Some(desk) = desk(&at("False")) else { return };
    let one = desk.whole("one", &[]);
    std::fs::write(desk.path("client.py"), at("ctx.round >= 1 and ctx.client >= 3")).unwrap();
    let other = desk.whole("other", &[]);
    let found = folkmoot_metrics::compare::compare(&desk.path("one"), &desk.path("other")).unwrap();
    let said = found.unwrap().to_string();
    assert!(
        said.starts_with("artifacts/jobs.csv: line 10, training of client 3 in round 1: "),
        "{said}"
    );
    assert_ne!(hash(&one), hash(&other));
    // Four rounds of five clients, beside the result.
    let jobs = String::from_utf8(one.artifact("jobs.csv").unwrap()).unwrap();
    assert_eq!(jobs.lines().count(), 1 + 4 * 5);
}
