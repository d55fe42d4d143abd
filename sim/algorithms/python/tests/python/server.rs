//! Client selection and aggregation by an app.

use super::{Desk, SOFTMAX, desk, hash};
use std::fs;

/// The settings of an example, instead of the app beside the card.
fn example(name: &str) -> String {
    format!("strategy.app=\"folkmoot.examples.{name}\"")
}

/// One hash for any number of workers and threads, and after stops.
#[track_caller]
pub(crate) fn assert_one_hash(desk: &Desk, settings: &[&str]) {
    let whole = hash(&desk.whole("one-hash", settings));
    for (at, (workers, threads)) in [(1, 1), (2, 2), (4, 4)].into_iter().enumerate() {
        let workers = format!("strategy.workers={workers}");
        let settings = [settings, &[&workers]].concat();
        let run = desk.go(&format!("workers{at}"), &settings, (threads, None)).unwrap();
        assert_eq!(hash(&run), whole, "{workers}, {threads} threads");
    }
    for stops in [1, 2, 3] {
        let name = format!("pieces{stops}");
        let stopped = desk.go(&name, settings, (2, Some(stops))).unwrap_err().to_string();
        assert!(stopped.starts_with("stopped as asked"), "{stopped}");
        assert_eq!(
            hash(&desk.go(&name, settings, (1, None)).unwrap()),
            whole,
            "after {stops} rounds"
        );
    }
}

#[test]
fn an_app_selects_clients_by_what_they_report() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let settings = [&*example("selected"), "strategy.config={\"n_selected\": 2}"];
    let run = desk.whole("run", &settings);
    assert!(
        run.tables
            .rounds
            .iter()
            .all(|row| (row.cohort, row.completed) == (2, 2)),
        "{:?}",
        run.tables.rounds
    );
    // Number of metrics and the loss, number of samples, 39 numbers of the model.
    assert_eq!(
        run.summary["reported_update_payload_bytes"],
        8.0 * (8.0 + 4.0 + 4.0 * 39.0)
    );
    assert!(!run.summary.contains_key("update_payload_bytes"));
    // Clients that were never selected come first: within three rounds, all have trained.
    let trained = run.tables.clients.iter().filter(|row| row.compute_s > 0.0).count();
    assert_eq!(trained, 5);
    assert_one_hash(&desk, &settings);
}

/// An app that selects by `BODY`.
fn selecting(body: &str) -> String {
    format!(
        "{SOFTMAX}\n\n@fm.select\ndef select(round, clients, ctx):\n    {}\n",
        body.replace('\n', "\n    ")
    )
}

#[track_caller]
fn assert_not_selected(body: &str, words: &str) {
    if let Some(desk) = desk(&selecting(body)) {
        let failure = desk.failure(&[]);
        assert!(failure.contains(words), "{failure}");
        assert!(failure.contains("@fm.select in round 0 failed: "), "{failure}");
        assert!(failure.contains("--replay"), "{failure}");
    }
}

#[test]
fn a_selection_that_is_none_is_refused() {
    assert_not_selected("return [0, 9]", "@fm.select returned client 9, and clients are 0 to 4");
    assert_not_selected(
        "return [1, 2, 1]",
        "@fm.select returned client 1 twice; return each id once",
    );
    assert_not_selected(
        "return []",
        "@fm.select returned no client; return the ids of at least one",
    );
    assert_not_selected(
        "return [0.5]",
        "client ids, which are whole numbers; got float64 of shape (1,)",
    );
    assert_not_selected(
        "return None",
        "client ids, which are whole numbers; got object of shape ()",
    );
    assert_not_selected("raise KeyError('nobody')", "KeyError: 'nobody'");
}

#[test]
fn what_the_server_knows_of_clients_are_arrays_by_id() {
    let body = "assert len(clients) == 5 and list(clients.ids) == [0, 1, 2, 3, 4]\n\
                if round == 2:\n    \
                assert clients.n_selected.tolist() == [1, 1, 0, 0, 0], clients.n_selected\n    \
                assert clients.last_round.tolist() == [0, 1, -1, -1, -1], clients.last_round\n    \
                assert (clients.n_samples[:2] > 0).all() and clients.n_samples[2] == -1\n    \
                assert (clients.seconds[:2] > 0).all() and np.isnan(clients.seconds[2:]).all()\n\
                return [round]";
    if let Some(desk) = desk(&selecting(body)) {
        desk.whole("run", &[]);
    }
}

#[test]
fn selection_by_an_app_suits_no_cohort_of_the_card_and_no_privacy() {
    let Some(desk) = desk(&selecting("return [0]")) else {
        return;
    };
    let told = |settings: &[&str]| {
        let failure = desk.failure(settings);
        fs::remove_dir_all(desk.path("failed")).ok();
        failure
    };
    let cohort = told(&["cohort=Size(n: 2)"]);
    assert!(
        cohort.contains("cohort: must be All, got Size: @fm.select selects the clients"),
        "{cohort}"
    );
    let private = "strategy.protocol.private=Clients(clip: 1.0, noise_multiplier: 1.0)";
    let private = told(&[private, "strategy.protocol.weighting=Uniform"]);
    assert!(
        private.contains("protocol.private: must not be Clients with @fm.select"),
        "{private}"
    );
    let buffered = told(&["strategy.protocol.aggregation=Buffered(size: 2)"]);
    assert!(buffered.contains("cohort: must be All, Size or Fraction"), "{buffered}");
    let power = "cohort=PowerOfChoice(n: 2, candidates: 4)";
    fs::write(desk.path("client.py"), SOFTMAX).unwrap();
    let lacking = told(&[power]);
    assert!(
        lacking.contains("fm.Update has no metric loss, which client selection or"),
        "{lacking}"
    );
}

/// As `Median`, which takes the middle of two in double precision.
#[test]
fn the_median_of_an_app_is_the_built_in_one() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let settings = [
        &*example("median"),
        "strategy.config={\"epochs\": 2}",
        "cohort=Size(n: 4)",
    ];
    let (own, built_in) = (
        desk.whole("own", &settings),
        desk.whole(
            "built-in",
            &[settings[1], settings[2], "strategy.protocol.aggregator=Median()"],
        ),
    );
    let mean = desk.whole("mean", &settings[1..]);
    assert_eq!(own.tables.scores.len(), built_in.tables.scores.len());
    for (one, other) in own.tables.scores.iter().zip(&built_in.tables.scores) {
        assert!((one.value - other.value).abs() < 1e-6, "{one:?}, {other:?}");
    }
    assert_ne!(own.summary["test_loss"], mean.summary["test_loss"]);
    assert_one_hash(&desk, &settings);
}

/// An app that aggregates by `BODY`.
fn aggregating(body: &str) -> String {
    format!(
        "{SOFTMAX}\n\n@fm.aggregate\ndef aggregate(params, updates, ctx, state=None):\n    {}\n",
        body.replace('\n', "\n    ")
    )
}

/// The server's momentum, kept by the function, is that of the server optimizer.
#[test]
fn an_aggregator_keeps_a_state_through_checkpoints() {
    let body = "weights = [update.weight for update in updates]\n\
                mean = {k: np.average([u.arrays[k] for u in updates], axis=0, weights=weights) for k in params}\n\
                v = {k: (0.5 * state[k] if state else 0) + mean[k] - params[k] for k in params}\n\
                return fm.Aggregate({k: params[k] + v[k] for k in params}, state=v)";
    let Some(desk) = desk(&aggregating(body)) else { return };
    assert_one_hash(&desk, &[]);
    let own = desk.whole("own", &[]);
    fs::write(desk.path("client.py"), SOFTMAX).unwrap();
    let momentum = "strategy.protocol.server_optimizer=Momentum(learning_rate: 1.0, beta: 0.5)";
    let built_in = desk.whole("built-in", &[momentum]);
    let (one, other) = (own.summary["test_loss"], built_in.summary["test_loss"]);
    assert!((one - other).abs() < 1e-4, "{one}, {other}");
    assert_ne!(one, desk.whole("without", &[]).summary["test_loss"]);
}

#[test]
fn an_aggregator_sees_clients_staleness_and_models_in_buffered_aggregation() {
    let body = "assert all(u.staleness >= 0 and u.weight > 0 and u.metrics == {} for u in updates)\n\
                assert [u.client for u in updates] == sorted(u.client for u in updates)\n\
                weights = [update.weight for update in updates]\n\
                return {k: np.average([u.arrays[k] for u in updates], axis=0, weights=weights) for k in params}";
    let Some(desk) = desk(&aggregating(body)) else { return };
    let buffered = "strategy.protocol.aggregation=Buffered(size: 2, discount: None)";
    let own = desk.whole("own", &[buffered]);
    fs::write(desk.path("client.py"), SOFTMAX).unwrap();
    let built_in = desk.whole("built-in", &[buffered]);
    let (one, other) = (own.summary["test_loss"], built_in.summary["test_loss"]);
    assert!((one - other).abs() < 1e-5, "{one}, {other}");
}

#[test]
fn an_aggregator_is_refused_where_the_server_sees_sums_alone() {
    let Some(desk) = desk(&aggregating("return params")) else {
        return;
    };
    let told = |settings: &[&str]| {
        let failure = desk.failure(settings);
        fs::remove_dir_all(desk.path("failed")).ok();
        failure
    };
    let secure = told(&["strategy.protocol.secure=Pairwise()"]);
    assert!(
        secure.contains("protocol.secure: must be Off with @fm.aggregate"),
        "{secure}"
    );
    let private = "strategy.protocol.private=Clients(clip: 1.0, noise_multiplier: 1.0)";
    let private = told(&[private, "strategy.protocol.weighting=Uniform"]);
    assert!(
        private.contains("protocol.private: must be Off with @fm.aggregate"),
        "{private}"
    );
    let median = told(&["strategy.protocol.aggregator=Median()"]);
    assert!(
        median.contains("protocol.aggregator: must be Mean, got Median"),
        "{median}"
    );
    fs::write(desk.path("client.py"), aggregating("return params['weight']")).unwrap();
    let array = told(&[]);
    assert!(array.contains("@fm.aggregate: must be arrays by name"), "{array}");
    assert!(array.contains("@fm.aggregate in round 0 failed"), "{array}");
    let kept = "return fm.Aggregate(params, state=object())";
    fs::write(desk.path("client.py"), aggregating(kept)).unwrap();
    let kept = told(&[]);
    assert!(
        kept.contains("state: a object cannot be kept; use arrays, bytes"),
        "{kept}"
    );
}

#[test]
fn fed_prox_and_scaffold_are_apps_of_at_most_thirty_lines() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let config = "strategy.config={\"learning_rate\": 0.1, \"epochs\": 2, \"steps\": 5}";
    let uniform = "strategy.protocol.weighting=Uniform";
    for (name, settings) in [("fed_prox", &[config][..]), ("scaffold", &[config, uniform])] {
        let path = format!(
            "{}/../../python/folkmoot/examples/{name}.py",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = fs::read_to_string(path).unwrap();
        let clients = text.split_once("@fm.train").unwrap().1;
        assert!(clients.lines().count() <= 30, "{name}");
        let app = example(name);
        let settings = [settings, &[&*app, "strategy.protocol.rounds=20"]].concat();
        let run = desk.whole(name, &settings);
        assert!(run.summary["test_accuracy"] > 0.5, "{name}: {:?}", run.summary);
    }
    // Without a pull FedProx is another algorithm.
    let free = config.replace("\"steps\": 5", "\"mu\": 0.0");
    let free = desk.whole("free", &[&free, &example("fed_prox")]);
    let pulled = desk.whole("pulled", &[config, &example("fed_prox")]);
    assert_ne!(free.summary["test_loss"], pulled.summary["test_loss"]);
}
