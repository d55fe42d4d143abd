//! Clients whose data an app loads itself.

use super::{desk, hash};

/// Logistic regression on rows that each client draws about a line of its own offset.
const TABLE: &str = "
import random
import numpy as np
import folkmoot as fm

@fm.client_data
def client_data(client, ctx):
    random.random(), np.random.random()
    n = 200 if client is None else 20 + client
    x = ctx.rng.numpy.normal(size=(n, 3))
    return {'x': x, 'y': (x[:, 0] > x[:, 1]).astype(float)}

@fm.initial
def initial(facts, rng):
    assert facts.n_clients == 6
    return {'w': np.zeros(3)}

@fm.train(cost=lambda data, config: 1e3 * len(data['y']))
def train(params, data, ctx):
    x, y = data['x'], data['y']
    for _ in range(20):
        params['w'] = params['w'] - x.T @ (1 / (1 + np.exp(-x @ params['w'])) - y) / len(y)
    drawn = ctx.rng.numpy.random() + random.random() + np.random.random()
    return fm.Update(params, weight=len(y), metrics={'drawn': drawn, 'first': x[0, 0]})

@fm.evaluate(on='whole')
def evaluate(params, data):
    right = ((data['x'] @ params['w'] > 0) == data['y']).mean()
    return {'accuracy': fm.Metric(right, better='higher', unit='fraction', n=len(data['y']))}
";

const PLACES: [&str; 3] = [
    "dataset=ErdosRenyi(n_nodes: 6, mean_degree: 0, min_degree: 0)",
    "partition=Iid(n_clients: 6)",
    "strategy.config={}",
];

#[test]
fn clients_train_on_what_an_app_loads() {
    let Some(mut desk) = desk(TABLE) else { return };
    let run = desk.whole("run", &PLACES);
    assert!(run.summary["test_accuracy"] > 0.9, "{}", run.summary["test_accuracy"]);
    assert_eq!(run.summary["update_messages"], 4.0 * 6.0);
    let of = |metric: &str| -> Vec<f64> {
        let rows = run.tables.scores.iter().filter(|row| row.metric == metric);
        rows.map(|row| row.value).collect()
    };
    // A client has the same data in all rounds, and its job draws anew in each.
    let (first, drawn) = (of("first"), of("drawn"));
    assert!(first.windows(2).all(|two| two[0] == two[1]), "{first:?}");
    assert!(drawn.windows(2).all(|two| two[0] != two[1]), "{drawn:?}");
    let one = [&PLACES[..], &["strategy.workers=1"]].concat();
    assert_eq!(hash(&desk.whole("one", &one)), hash(&run));
    desk.go("stopped", &PLACES, (2, Some(2))).unwrap_err();
    assert_eq!(hash(&desk.go("stopped", &PLACES, (2, None)).unwrap()), hash(&run));
    desk.machine.checked = 1.0;
    assert_eq!(hash(&desk.whole("checked", &PLACES)), hash(&run));
    let seeded = desk.whole("seeded", &[&PLACES[..], &["seed=2"]].concat());
    assert_ne!(seeded.summary["test_accuracy"], run.summary["test_accuracy"]);
}

#[test]
fn what_reads_shards_is_refused_where_an_app_loads_its_own() {
    let Some(desk) = desk(TABLE) else { return };
    let attacks = [&PLACES[..], &["strategy.attacks=[LossThreshold()]"]].concat();
    let failure = desk.failure(&attacks);
    assert!(
        failure
            .contains("attacks.0: LossThreshold reads items of shards, and the app has @fm.client_data in their place"),
        "{failure}"
    );
    let private = [&PLACES[..], &["strategy.protocol.private=Items(clip: 1.0)"]].concat();
    let failure = desk.failure(&private);
    assert!(
        failure.contains("examples are those of shards, and the app has @fm.client_data"),
        "{failure}"
    );
}

#[test]
fn data_that_cannot_be_loaded_end_the_run_with_the_traceback() {
    let broken = TABLE.replace(
        "    n = 200",
        "    if client == 4:\n        raise OSError('no such image')\n    n = 200",
    );
    let Some(desk) = desk(&broken) else { return };
    let failure = desk.failure(&PLACES);
    assert!(failure.contains("cost: OSError: no such image"), "{failure}");
    assert!(failure.contains("client.py\", line 10, in client_data"), "{failure}");
}
