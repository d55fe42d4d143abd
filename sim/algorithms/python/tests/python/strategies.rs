//! Whole algorithms of an app: `PythonStrategy`.

use super::server::assert_one_hash;
use super::{Desk, desk, hash};
use std::fs;

const ROUNDS: &str = "strategy=PythonStrategy(app: \"client.py\", rounds: 4)";

fn example(name: &str, config: &str) -> String {
    format!(
        "strategy=PythonStrategy(app: \"folkmoot.examples.{name}\", rounds: 4, config: {config}, split: Shares(train: 0.6, validation: 0.1))"
    )
}

/// The bytes of an update are those of the model and the number of samples, which FedAvg has, too,
/// and the header.
#[test]
fn fed_avg_as_a_strategy_sends_what_fed_avg_sends_and_a_header() {
    let Some(desk) = desk("") else { return };
    let settings = [
        &*example("fed_avg", "{\"epochs\": 2, \"momentum\": 0.5}"),
        "cohort=Size(n: 3)",
    ];
    let run = desk.whole("run", &settings);
    let header = r#"[["weight","float32",[12,3]],["bias","float32",[3]],["n_samples","uint32",[]]]"#.len() as f64;
    assert_eq!(
        run.summary["update_payload_bytes"],
        12.0 * (4.0 * 39.0 + 4.0 + 4.0 + header)
    );
    let phases: Vec<_> = run
        .tables
        .messages
        .iter()
        .map(|row| (row.phase.as_str(), row.kind.as_str()))
        .collect();
    assert!(
        phases.contains(&("rounds", "model")) && phases.contains(&("rounds", "update")),
        "{phases:?}"
    );
    assert!(
        run.tables
            .rounds
            .iter()
            .all(|row| (row.cohort, row.completed) == (3, 3)),
        "{:?}",
        run.tables.rounds
    );
    assert_eq!(
        run.tables.scores.iter().filter(|row| row.metric == "accuracy").count(),
        4
    );
    assert_eq!(run.tables.client_scores.len(), 5);
    assert_one_hash(&desk, &settings);
    // Momentum that clients keep is used.
    let without = desk.whole("without", &[&*example("fed_avg", "{\"epochs\": 2}"), settings[1]]);
    assert_ne!(hash(&without), hash(&run));
}

/// From one model and with whole batches, in which no order counts, it learns what FedAvg learns.
#[test]
fn fed_avg_as_a_strategy_learns_what_fed_avg_learns() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/folkmoot/examples/fed_avg.py");
    let zeros =
        "{'weight': np.zeros((f.n_features, f.n_classes), np.float32), 'bias': np.zeros(f.n_classes, np.float32)}";
    let start = |text: &str, call: &str, facts: &str| {
        let started = text.replace(call, &zeros.replace("f.n_", &format!("{facts}.n_")));
        assert_ne!(started, text);
        started
    };
    let own = start(
        &fs::read_to_string(path).unwrap(),
        "softmax.initial(cx.facts, cx.rng)",
        "cx.facts",
    );
    let Some(desk) = desk(&own) else { return };
    let config = "{\"epochs\": 2, \"momentum\": 0.5, \"batch_size\": 1000}";
    let settings = format!(
        "strategy=PythonStrategy(app: \"client.py\", rounds: 4, config: {config}, split: Shares(train: 0.6, validation: 0.1))"
    );
    let own = desk.whole("own", &[&settings, "cohort=Size(n: 3)"]);
    let weights = "return {\"weight\": weight, \"bias\": np.zeros(facts.n_classes, np.float32)}";
    let returned = format!("return {weights}").replace(weights, "MODEL");
    let softmax = super::SOFTMAX.replace(weights, &returned);
    fs::write(desk.path("client.py"), start(&softmax, "MODEL", "facts")).unwrap();
    let built_in = desk.whole("built-in", &[&format!("strategy.config={config}"), "cohort=Size(n: 3)"]);
    let losses = |run: &folkmoot_metrics::RunDir| -> Vec<f64> {
        run.tables
            .scores
            .iter()
            .filter(|row| row.metric == "loss")
            .map(|row| row.value)
            .collect()
    };
    let (one, other) = (losses(&own), losses(&built_in));
    assert!(one.len() == 4 && one[3] < one[0] && one[0] < 1.0986, "{one:?}");
    for (one, other) in one.iter().zip(&other) {
        assert!((one - other).abs() < 1e-5, "{one}, {other}");
    }
}

#[test]
fn a_token_goes_from_client_to_client_and_waits_for_those_who_are_offline() {
    let Some(desk) = desk("") else { return };
    let settings = [
        &*example("random_walk", "{\"hops\": 6, \"wait_s\": 0.5}"),
        "availability=OnOff(mean_on_s: 2.0, mean_off_s: 2.0)",
    ];
    let run = desk.whole("run", &settings);
    let sum = |kind: &str, of: fn(&folkmoot_metrics::MessageRow) -> u64| -> u64 {
        run.tables.messages.iter().filter(|row| row.kind == kind).map(of).sum()
    };
    assert_eq!(sum("report", |row| row.delivered), 4);
    // Five hops a round, and again those that found nobody.
    let (sent, dropped) = (sum("token", |row| row.sent), sum("token", |row| row.dropped));
    assert_eq!(sent - dropped, 4 * 5);
    assert!(dropped > 0, "no client was offline");
    assert!(
        run.tables
            .messages
            .iter()
            .any(|row| row.phase == "walk" && row.direction == folkmoot_metrics::Direction::Peer),
        "{:?}",
        run.tables.messages
    );
    assert_one_hash(&desk, &settings);
}

/// A strategy whose server does `SERVER` at the start and whose clients do `CLIENT` with a message.
fn app(server: &str, client: &str) -> String {
    let (server, client) = (
        server.replace('\n', "\n            "),
        client.replace('\n', "\n            "),
    );
    format!(
        "
import numpy as np
import folkmoot as fm

class Mine(fm.Strategy):
    messages = {{'model': fm.Down, 'update': fm.Up('a', 'b'), 'token': fm.Peer, 'noisy': fm.Up(released=True)}}
    mechanisms = {{'sum': fm.Gaussian(2.0, clip=1.0), 'count': fm.Laplace(0.5, clip=2.0)}}

    def on_server(self, event, cx):
        if event.kind == 'start':
            {server}
        if event.kind == 'quiet':
            cx.round_done()
            cx.finish()

    def on_client(self, event, cx):
        if event.kind == 'message':
            {client}

    def work(self, shard, args, ctx):
        return {{'n': shard.num_nodes, **args}}
"
    )
}

const ASK: &str = "cx.send(range(cx.n_clients), 'model', {'w': np.zeros(3)})";

#[track_caller]
fn assert_refused(server: &str, client: &str, words: &[&str]) {
    let client = format!("if cx.me == 2:\n    {client}");
    if let Some(desk) = desk(&app(server, &client)) {
        let failure = desk.failure(&[ROUNDS]);
        for words in words {
            assert!(failure.contains(words), "{words} in: {failure}");
        }
        assert!(failure.contains("help: repeat this job with: "), "{failure}");
    }
}

#[test]
fn messages_go_as_they_are_declared() {
    assert_refused(
        "cx.send(0, 'modle', {})",
        "pass",
        &[
            "Mine declares no message 'modle'; it has model, update, token, noisy",
            "on_server at 0 s in round 0 failed",
        ],
    );
    let wrong = "message 'update' is declared fm.Up, from a client to the server; server sends it to client 2";
    assert_refused("cx.send(2, 'update', {})", "pass", &[wrong]);
    let wrong = "message 'token' is declared fm.Peer, from client to client; client 2 sends it to server";
    assert_refused(
        ASK,
        "cx.send(fm.SERVER, 'token', {})",
        &[wrong, "on_client of client 2 at "],
    );
    let wrong = "message 'token' is sent to client 5, which does not exist; clients are 0 to 4";
    assert_refused(ASK, "cx.send(5, 'token', {})", &[wrong]);
    let wrong = "message 'update' has no phase 'c'; Mine declares a, b";
    assert_refused(ASK, "cx.send(fm.SERVER, 'update', {}, phase='c')", &[wrong]);
    let wrong = "message 'update': array 'x' is of complex128, which cannot be sent";
    assert_refused(
        ASK,
        "cx.send(fm.SERVER, 'update', {'x': np.zeros(2, complex)})",
        &[wrong],
    );
    assert_refused(
        ASK,
        "cx.cohort()",
        &["cx.cohort is the server's; client 2 cannot call it"],
    );
    assert_refused("cx.shard", "pass", &["the server has no shard"]);
}

#[test]
fn state_is_arrays_bytes_numbers_and_texts() {
    let words = "state['f']: a function cannot be kept; use arrays, bytes, numbers and texts in dicts and lists";
    assert_refused(ASK, "cx.state['f'] = lambda: 0", &[words, "on_client of client 2 at "]);
    let words = "args of work: a set cannot be kept";
    assert_refused(ASK, "cx.compute(1.0, 'work', {1})", &[words]);
    let words = "Mine has no method 'wrok' to compute";
    assert_refused(ASK, "cx.compute(1.0, 'wrok')", &[words]);
    assert_refused(
        ASK,
        "cx.timer(-1.0)",
        &["after_seconds: must be a finite number of at least 0, got -1.0"],
    );
}

/// The failure names participant, time and round, and a command that repeats it, with the answers
/// that the run gave.
#[test]
fn a_handler_that_raises_is_repeated_from_its_job() {
    let body = "noisy = cx.release('sum', event.arrays['w'])\n\
                if cx.me == 3:\n    raise RuntimeError(f'drawn {noisy[0]:.6f}')";
    let Some(desk) = desk(&app(ASK, body)) else { return };
    let failure = desk.failure(&[ROUNDS]);
    assert!(failure.contains("on_client of client 3 at 0."), "{failure}");
    assert!(
        failure.contains(" s in round 0 failed: RuntimeError: drawn "),
        "{failure}"
    );
    assert!(failure.contains("in on_client"), "{failure}");
    assert!(!failure.contains("folkmoot/strategy.py"), "{failure}");
    let file = desk.path("failed/failed_jobs/handle_client_3_round_0.job");
    let replayed = desk.replayed("folkmoot.worker", &file);
    let stderr = String::from_utf8(replayed.stderr).unwrap();
    let raised = stderr.trim_end().lines().last().unwrap();
    assert!(
        raised.starts_with("RuntimeError: drawn ") && failure.contains(raised),
        "{stderr}\n{failure}"
    );
    for (threads, workers) in [(1, 1), (4, 3)] {
        fs::remove_dir_all(desk.path("failed")).unwrap();
        let setting = format!("strategy.workers={workers}");
        let again = desk
            .go("failed", &[ROUNDS, &setting], (threads, None))
            .unwrap_err()
            .to_string();
        assert_eq!(again, failure);
    }
}

fn charged(desk: &Desk, name: &str) -> Vec<(String, u64, f64)> {
    let run = desk.whole(name, &[ROUNDS]);
    let row = |row: &folkmoot_metrics::PrivacyRow| (row.mechanism.clone(), row.releases, row.epsilon_per_release);
    run.tables.privacy.iter().map(row).collect()
}

/// Noise is drawn and charged by one call: a client's value is clipped and charged to it, and what
/// is not declared as released is unprotected.
#[test]
fn a_release_is_clipped_noisy_and_charged() {
    let client = "value = cx.release('count', {'a': np.full(2, 50.0), 'b': np.float32(0)})\n\
                  assert value['a'].shape == (2,) and value['b'].dtype == np.float32\n\
                  assert abs(value['a']).max() < 100 and value['a'][0] != 1.0\n\
                  cx.send(fm.SERVER, 'noisy', value)\n\
                  if cx.me < 2:\n    cx.send(fm.SERVER, 'update', value, phase='b')";
    let Some(desk) = desk(&app(ASK, client)) else { return };
    let rows = charged(&desk, "client");
    assert_eq!(rows[0], ("none: messages".to_owned(), 2, f64::INFINITY));
    assert_eq!(rows[2].0, "Laplace noise: count");
    assert_eq!((rows[2].1, rows[2].2), (5, 0.5));
    assert!(!rows.iter().any(|row| row.0.contains("sum") && row.1 > 0), "{rows:?}");
    // At the server: a sum of clipped values, charged to every client.
    let server = "values = {c: np.full(4, 100.0) for c in (3, 1)}\n\
                  noisy = cx.release('sum', values)\n\
                  assert abs(noisy - 1.0).max() < 12, noisy";
    fs::write(desk.path("client.py"), app(server, "pass")).unwrap();
    let rows = charged(&desk, "server");
    assert_eq!((rows[1].0.as_str(), rows[1].1), ("Gaussian noise: sum", 5));
    let server = "cx.release('sum', np.ones(3))";
    assert_refused(
        server,
        "pass",
        &["cx.release at the server takes a dict of values by client"],
    );
    assert_refused(
        ASK,
        "cx.release('some', 1.0)",
        &["Mine declares no mechanism 'some'; it has sum, count"],
    );
    let words = "value 0 of the input lies outside the mechanism's domain, got NaN";
    assert_refused(ASK, "cx.release('sum', np.array([np.nan]))", &[words]);
}

#[test]
fn work_takes_virtual_time_and_a_shard_is_the_clients_own() {
    let client = "assert cx.shard.client == cx.me\n\
                  cx.compute(1e6 * (cx.me + 1), 'work', {'sent': cx.now})";
    let code = app(ASK, client)
        + "
    def on_done(self, event, cx):
        span = cx.now - event.result['sent']
        cx.send(fm.SERVER, 'update', {'span': span, 'n': event.result['n'], 'own': len(cx.shard.nodes)})
" + "
Mine.handle_message = Mine.on_client
def on_client(self, event, cx):
    (self.on_done if event.kind == 'done' else self.handle_message)(event, cx)
Mine.on_client = on_client
def on_server(self, event, cx):
    if event.kind == 'start':
        cx.send(range(cx.n_clients), 'model', {})
    elif event.kind == 'message':
        assert abs(event.arrays['span'] - (event.sender + 1)) < 1e-6, event.arrays
        assert event.arrays['n'] == event.arrays['own']
        cx.state['n'] = cx.state.get('n', 0) + int(event.arrays['n'])
    elif event.kind == 'quiet':
        assert cx.state['n'] == 90, cx.state
        cx.finish()
Mine.on_server = on_server
";
    if let Some(desk) = desk(&code) {
        desk.whole("run", &[ROUNDS, "devices=Constant(ops_per_s: 1e6)"]);
    }
}

#[test]
fn a_handler_that_reads_the_clock_is_caught() {
    let body = "cx.send(fm.SERVER, 'update', {'t': __import__('time').perf_counter_ns()})";
    let Some(mut desk) = desk(&app(ASK, body)) else { return };
    desk.machine.checked = 1.0;
    let failure = desk.failure(&[ROUNDS]);
    assert!(failure.contains("not deterministic: m0 differs in"), "{failure}");
    fs::remove_dir_all(desk.path("failed")).unwrap();
    let body = "cx.send(fm.SERVER, 'update', {'t': cx.release('sum', cx.rng.numpy.random(3))})";
    fs::write(desk.path("client.py"), app(ASK, body)).unwrap();
    let checked = desk.whole("checked", &[ROUNDS]);
    desk.machine.checked = 0.0;
    assert_eq!(hash(&checked), hash(&desk.whole("unchecked", &[ROUNDS])));
}

#[test]
fn an_app_that_is_another_component_is_named() {
    let Some(desk) = desk(&app(ASK, "pass")) else { return };
    let failure = desk.failure(&[]);
    let words =
        "has no function with @fm.initial; it has a class of fm.Strategy: write strategy: PythonStrategy(app: ...)";
    assert!(failure.contains(words), "{failure}");
    fs::remove_dir_all(desk.path("failed")).ok();
    fs::write(desk.path("client.py"), super::SOFTMAX).unwrap();
    let failure = desk.failure(&[ROUNDS]);
    let words = "has no class of fm.Strategy; it has a function with @fm.train: write strategy: Python(app: ...)";
    assert!(failure.contains(words), "{failure}");
    fs::remove_dir_all(desk.path("failed")).ok();
    let code = "import folkmoot as fm\nclass Mine(fm.Strategy):\n    messages = {'model': 'down'}\n";
    fs::write(desk.path("client.py"), code).unwrap();
    let failure = desk.failure(&[ROUNDS]);
    assert!(
        failure.contains("messages['model']: must be fm.Down, fm.Up or fm.Peer, got 'down'"),
        "{failure}"
    );
}
