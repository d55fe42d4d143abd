//! Apps of Flower, with a stand-in for its package: `tests/flower.py` at the root runs the real one.

use super::{Desk, desk, hash};
use folkmoot_metrics::{Direction, RunDir};
use std::fs;
use std::time::Duration;

const CARD: &str = "(
    dataset: AppClients(n_clients: 6),
    strategy: Flower(app: \"app\"),
    network: Links(uplink: (latency_ms: Uniform(low: 10, high: 90)), downlink: (latency_ms: Uniform(low: 10, high: 90))),
    devices: LogNormal(median_ops_per_s: 1e6, sigma: 1.0),
)";

const PROJECT: &str = "
[tool.flwr.app.components]
serverapp = \"server_app:app\"
clientapp = \"client_app:app\"
[tool.flwr.app.config]
rounds = 3
timeout = 30
deep.value = 1.5
";

const CLIENT: &str = "
import time
import numpy as np
from flwr.app import ArrayRecord, MetricRecord, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.train()
def train(message, context):
    BODY
    model = message.content['arrays'].to_numpy_ndarrays()[0]
    calls = context.state.get('calls', MetricRecord({'n': 0}))['n'] + 1
    context.state['calls'] = MetricRecord({'n': calls})
    model = model + calls + np.random.random(3) + context.node_config['partition-id']
    metrics = MetricRecord({'num-examples': 1 + calls, 'loss': float(model.sum())})
    return Message(RecordDict({'arrays': ArrayRecord([model]), 'metrics': metrics}), reply_to=message)
";

const SERVER: &str = "
import os, random, threading, time
import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()

@app.main()
def main(grid, context):
    config = context.run_config
    model = np.zeros(3)
    BODY
    for server_round in range(1, config['rounds'] + 1):
        content = RecordDict({'arrays': ArrayRecord([model]), 'config': ConfigRecord({'server-round': server_round})})
        nodes = random.sample(list(grid.get_node_ids()), 4)
        replies = grid.send_and_receive([Message(content, node, 'train') for node in nodes], timeout=config['timeout'])
        received = [reply.content['arrays'].to_numpy_ndarrays()[0] for reply in replies if reply.has_content()]
        print('round', server_round, len(received), [reply.error.code for reply in replies if reply.has_error()])
        model = np.mean(received or [model], axis=0)
    np.save('model', model)
    print('virtual', round(time.time() - 1577836800, 3))
";

/// A desk with the app, and the stand-in for flwr.
fn app(server: &str, client: &str) -> Option<Desk> {
    let desk = desk("")?;
    let (app, package) = (desk.path("app"), desk.path("packages/flwr"));
    fs::create_dir_all(&app).unwrap();
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), include_str!("../flwr/__init__.py")).unwrap();
    fs::write(app.join("pyproject.toml"), PROJECT).unwrap();
    fs::write(app.join("server_app.py"), SERVER.replace("BODY", server)).unwrap();
    fs::write(app.join("client_app.py"), CLIENT.replace("BODY", client)).unwrap();
    let python = &desk.machine.python;
    let script = fs::read_to_string(python).unwrap();
    let paths = format!("PYTHONPATH='{}':", desk.path("packages").display());
    fs::write(python, script.replace("PYTHONPATH=", &paths)).unwrap();
    Some(Desk { card: CARD, ..desk })
}

fn model(desk: &Desk, run: &str) -> Vec<u8> {
    fs::read(desk.path(run).join("app_files/model.npy")).unwrap()
}

fn log(desk: &Desk, run: &str) -> String {
    fs::read_to_string(desk.path(run).join("worker.log")).unwrap()
}

#[test]
fn workers_and_threads_change_no_byte_of_an_app() {
    let Some(desk) = app("pass", "pass") else { return };
    let mut results = Vec::new();
    for (at, (workers, threads)) in [(1, 1), (2, 2), (4, 4)].into_iter().enumerate() {
        let name = format!("run{at}");
        let run = desk
            .go(&name, &[&format!("strategy.workers={workers}")], (threads, None))
            .unwrap();
        results.push((hash(&run), model(&desk, &name)));
    }
    results.dedup();
    assert_eq!(results.len(), 1);
    let seeded = desk.whole("seeded", &["seed=2"]);
    assert_ne!(hash(&seeded), results[0].0);
}

#[test]
fn messages_are_counted_by_type_and_round_in_the_sizes_of_the_app() {
    let Some(desk) = app("pass", "pass") else { return };
    let run = desk.whole("run", &["strategy.run_config.rounds=2"]);
    let sent = |round: u32, direction: Direction| {
        let is_it = |row: &&folkmoot_metrics::MessageRow| row.round == round && row.direction == direction;
        let rows: Vec<_> = run.tables.messages.iter().filter(is_it).collect();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].phase.as_str(), rows[0].kind.as_str()), ("train", "train"));
        (rows[0].sent, rows[0].payload_bytes)
    };
    for round in [0, 1] {
        assert_eq!(sent(round, Direction::Downlink).0, 4);
        assert!(
            sent(round, Direction::Uplink).1 > sent(round, Direction::Downlink).1,
            "replies have metrics, too"
        );
    }
    assert_eq!(run.tables.rounds.len(), 2);
    assert_eq!((run.tables.rounds[1].cohort, run.tables.rounds[1].completed), (4, 4));
    let losses: Vec<f64> = run
        .tables
        .scores
        .iter()
        .filter(|row| row.metric == "loss")
        .map(|row| row.value)
        .collect();
    assert_eq!(losses.len(), 2);
    assert_eq!(run.summary["train_loss"], losses[1]);
    assert_eq!(run.manifest.public_facts["versions"]["flwr"], "stand-in");
}

#[test]
fn a_run_that_was_stopped_goes_on_to_the_same_bytes_by_the_answers_it_had() {
    let Some(desk) = app("pass", "pass") else { return };
    let whole = desk.whole("whole", &[]);
    for stops in [1, 2] {
        let name = format!("stopped{stops}");
        let stopped = desk.go(&name, &[], (2, Some(stops))).unwrap_err().to_string();
        assert!(stopped.starts_with("stopped as asked"), "{stopped}");
        fs::remove_dir_all(desk.path(&name).join("app_files")).unwrap();
        let resumed = desk.go(&name, &[], (1, None)).unwrap();
        assert_eq!(hash(&resumed), hash(&whole), "after {stops} rounds");
        assert_eq!(model(&desk, &name), model(&desk, "whole"));
    }
}

#[test]
fn a_server_that_does_not_repeat_itself_and_a_log_that_is_too_large_are_refused_on_resume() {
    let body = "model = np.full(3, float(os.path.exists('app_was_here')))\n    open('app_was_here', 'w').close()";
    let Some(desk) = app(body, "pass") else { return };
    desk.go("changed", &[], (2, Some(1))).unwrap_err();
    let failure = desk.go("changed", &[], (2, None)).unwrap_err().to_string();
    assert!(
        failure.contains("did not repeat itself: its request 2 (messages to send)"),
        "{failure}"
    );
    assert!(failure.contains("help: run again from the start"), "{failure}");
    let small = ["strategy.log_gb=0.000000001"];
    desk.go("small", &small, (2, Some(2))).unwrap_err();
    let failure = desk.go("small", &small, (2, None)).unwrap_err().to_string();
    assert!(
        failure.contains("(strategy.log_gb)\nhelp: run again from the start, with --set strategy.log_gb=1"),
        "{failure}"
    );
}

#[test]
fn lost_messages_are_waited_for_until_the_timeout_or_the_time_to_live() {
    let Some(desk) = app("pass", "pass") else { return };
    let run = desk.whole(
        "lossy",
        &["network.uplink.loss_prob=0.5", "network.max_retries=0", "seed=3"],
    );
    let dropped: u64 = run.tables.rounds.iter().map(|row| row.dropped).sum();
    assert!(dropped > 0, "{:?}", run.tables.rounds);
    let waits = run.tables.rounds.iter().filter(|row| row.dropped > 0).count();
    let virtual_s = run.summary["virtual_s"];
    assert!(
        (30.0 * waits as f64..30.0 * waits as f64 + 10.0).contains(&virtual_s),
        "{virtual_s}"
    );
    // Without a timeout, the time to live ends it, with an error reply.
    fs::write(
        desk.path("app/server_app.py"),
        SERVER
            .replace("BODY", "pass")
            .replace(", timeout=config['timeout']", ""),
    )
    .unwrap();
    let patient = desk.whole(
        "patient",
        &["network.uplink.loss_prob=0.5", "network.max_retries=0", "seed=3"],
    );
    assert!(
        patient.summary["virtual_s"] >= 43200.0,
        "{:?}",
        patient.summary["virtual_s"]
    );
    assert!(log(&desk, "patient").contains("[3"), "{}", log(&desk, "patient"));
}

/// An app that polls: it pulls, sleeps and reads the clock.
const POLLS: &str = "
    nodes = list(grid.get_node_ids())
    content = RecordDict({'arrays': ArrayRecord([model])})
    ids = list(grid.push_messages([Message(content, node, 'train', ttl=60.0) for node in nodes]))
    assert not grid.pull_messages(ids)
    got = list(grid.pull_messages(ids))
    assert len(got) == 1, len(got)
    start = time.monotonic()
    time.sleep(20)
    assert time.monotonic() == start + 20
    got += grid.pull_messages(ids)
    assert len(got) == 6, len(got)
    return";

#[test]
fn sleeping_and_polling_take_virtual_time() {
    let Some(desk) = app(POLLS.trim_start(), "time.sleep(1000)") else {
        return;
    };
    let run = desk.whole("run", &[]);
    assert!((20.0..30.0).contains(&run.summary["virtual_s"]), "{:?}", run.summary);
    assert_eq!(run.tables.rounds.len(), 1);
}

#[test]
fn a_server_that_waits_for_what_never_comes_ends_the_run() {
    let Some(desk) = app(
        "while len(list(grid.get_node_ids())) < 7:\n        time.sleep(1)",
        "pass",
    ) else {
        return;
    };
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("6 of 6 clients are online\nhelp: give it as many clients"),
        "{failure}"
    );
}

#[test]
fn exceptions_of_both_sides_end_the_run_with_their_tracebacks() {
    let Some(desk) = app("pass", "1 / (context.node_config['partition-id'] - 3)") else {
        return;
    };
    let failure = desk.failure(&["strategy.run_config={\"rounds\": 9}"]);
    assert!(
        failure.contains("the ClientApp of client 3, called with a train message of round"),
        "{failure}"
    );
    assert!(failure.contains("client_app.py\", line 11, in train"), "{failure}");
    assert!(failure.contains("ZeroDivisionError"), "{failure}");
    assert!(failure.contains("help: to have the strategy decide"), "{failure}");
    let file = fs::read_dir(desk.path("failed/failed_jobs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let replayed = desk.replayed("folkmoot.flower", &file.path());
    let told = String::from_utf8_lossy(&replayed.stderr).into_owned();
    assert!(
        !replayed.status.success() && told.contains("ZeroDivisionError"),
        "{told}"
    );
    let replies = desk.whole(
        "replies",
        &["strategy.client_errors=Reply", "strategy.run_config={\"rounds\": 9}"],
    );
    assert!(log(&desk, "replies").contains("[2]"), "the server is told");
    assert_eq!(replies.tables.rounds.len(), 9);

    let Some(desk) = app("raise KeyError('gone')", "pass") else {
        return;
    };
    let failure = desk.failure(&[]);
    assert!(failure.contains("the ServerApp failed: KeyError: 'gone'"), "{failure}");
    assert!(failure.contains("server_app.py\", line 13, in main"), "{failure}");
}

#[test]
fn dead_hanging_and_threaded_servers_are_told_apart() {
    let Some(mut desk) = app("os.kill(os.getpid(), 9)", "pass") else {
        return;
    };
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("the process of the ServerApp failed: its worker process died: signal 9"),
        "{failure}"
    );
    fs::remove_dir_all(desk.path("failed")).unwrap_or_default();
    let hangs = SERVER.replace("BODY", "threading.Event().wait()");
    fs::write(desk.path("app/server_app.py"), hangs).unwrap();
    desk.machine.job_timeout = Some(Duration::from_secs(1));
    let failure = desk.failure(&[]);
    assert!(failure.contains("it took longer than 1 s (--job-timeout)"), "{failure}");
    desk.machine.job_timeout = None;
    fs::remove_dir_all(desk.path("failed")).unwrap_or_default();
    let threads = "caught = []\n    def ask():\n        try:\n            grid.get_node_ids()\n        except RuntimeError as error:\n            \
                   caught.append(error)\n    thread = threading.Thread(target=ask, name='mine')\n    thread.start()\n    thread.join()\n    \
                   raise caught[0]";
    fs::write(desk.path("app/server_app.py"), SERVER.replace("BODY", threads)).unwrap();
    let failure = desk.failure(&[]);
    assert!(
        failure.contains("mine uses the grid: only the thread of the ServerApp may"),
        "{failure}"
    );
}

#[test]
fn faults_of_a_project_are_named() {
    let Some(desk) = app("pass", "pass") else { return };
    let failure = |settings: &[&str]| {
        let failure = desk.failure(settings);
        fs::remove_dir_all(desk.path("failed")).unwrap_or_default();
        failure
    };
    let unknown = failure(&["strategy.run_config={\"round\": 9}"]);
    assert!(
        unknown.contains("run_config: the app has no key 'round' (its keys: rounds, timeout, deep.value)"),
        "{unknown}"
    );
    fs::write(
        desk.path("app/pyproject.toml"),
        PROJECT.replace("server_app:app", "server_app:other"),
    )
    .unwrap();
    assert!(failure(&[]).contains("serverapp server_app:other: server_app has no other"));
    fs::write(
        desk.path("app/pyproject.toml"),
        PROJECT.replace("server_app:app", "client_app:app"),
    )
    .unwrap();
    assert!(failure(&[]).contains("is a ClientApp, and no ServerApp"));
    fs::write(desk.path("app/pyproject.toml"), PROJECT.replace("serverapp", "server")).unwrap();
    assert!(failure(&[]).contains("[tool.flwr.app.components] needs serverapp = \"module:object\""));
    fs::write(desk.path("app/pyproject.toml"), PROJECT).unwrap();
    fs::write(desk.path("packages/flwr/__init__.py"), "__version__ = '0'\n").unwrap();
    let old = failure(&[]);
    assert!(
        old.contains("apps run with flwr 1.22.0 to 1.42.0: ") && old.contains("-m pip install 'flwr==1.42.0'"),
        "{old}"
    );
}

#[test]
fn a_client_that_keeps_module_state_is_caught() {
    let Some(mut desk) = app(
        "pass",
        "app.n = getattr(app, 'n', 0) + 1; context.node_config['partition-id'] += app.n",
    ) else {
        return;
    };
    desk.machine.checked = 1.0;
    let failure = desk.failure(&[]);
    assert!(failure.contains("not deterministic: "), "{failure}");
}

#[test]
fn an_offline_client_is_not_listed_and_gets_its_messages_when_it_is_back() {
    let Some(desk) = app("print('online', len(list(grid.get_node_ids())))", "pass") else {
        return;
    };
    let settings = [
        "availability=OnOff(mean_on_s: 5, mean_off_s: 5)",
        "strategy.run_config={\"timeout\": 600}",
    ];
    let fewer = SERVER
        .replace("BODY", "print('online', len(list(grid.get_node_ids())))")
        .replace(
            "random.sample(list(grid.get_node_ids()), 4)",
            "list(grid.get_node_ids())",
        );
    fs::write(desk.path("app/server_app.py"), fewer).unwrap();
    let run: RunDir = desk.whole("run", &settings);
    assert!(!log(&desk, "run").contains("online 6"), "{}", log(&desk, "run"));
    assert_eq!(run.tables.rounds.iter().map(|row| row.dropped).sum::<u64>(), 0);
    assert_eq!(hash(&run), hash(&desk.go("again", &settings, (1, None)).unwrap()));
}
