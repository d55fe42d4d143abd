//! Functions of an app besides training: evaluation at clients, predictions, gradients of examples.

use super::{SOFTMAX, desk, hash};

const AT_CLIENT: &str = "
@fm.evaluate_at_client(cost=lambda shard, config: COST)
def evaluate_at_client(params, shard, ctx, state=None):
    found = evaluate(params, shard)
    return {'accuracy': found['accuracy'], 'has_state': fm.Metric(state is not None, unit='count')}
";

fn at_client(cost: &str) -> String {
    format!("{SOFTMAX}{}", AT_CLIENT.replace("COST", cost))
}

/// Bytes of one message with the two metrics.
const METRICS: f64 = 18.0 + 8.0 + 18.0 + 9.0;

#[test]
fn metrics_of_clients_are_sent_and_counted() {
    let Some(desk) = desk(&at_client("0")) else { return };
    let run = desk.whole("run", &[]);
    assert_eq!(run.summary["metrics_messages"], 4.0 * 5.0);
    assert_eq!(run.summary["metrics_payload_bytes"], 4.0 * 5.0 * METRICS);
    assert_eq!(
        run.summary["uplink_payload_bytes"],
        run.summary["update_payload_bytes"] + run.summary["metrics_payload_bytes"]
    );
    let of = |metric: &str| -> Vec<f64> {
        let rows = run.tables.scores.iter().filter(|row| row.metric == metric);
        rows.map(|row| row.value).collect()
    };
    // What clients report of the model that they receive, the evaluator has scored a round before.
    let (reported, scored) = (of("reported_accuracy"), of("accuracy"));
    assert_eq!(reported.len(), 4);
    assert_eq!(reported[1..], scored[..3]);
    assert_eq!(run.summary["test_reported_accuracy"], reported[3]);
    assert_eq!(of("reported_has_state"), [0.0, 1.0, 1.0, 1.0]);
    let term = &run.manifest.terms["test_reported_accuracy"];
    assert_eq!(term.better, Some(folkmoot_metrics::Better::Higher));
    // Scores and training are as they are without.
    let plain = desk.whole("plain", &["strategy.evaluate_at_client_every=0"]);
    assert_eq!(plain.summary["test_accuracy"], run.summary["test_accuracy"]);
    assert!(!plain.summary.contains_key("metrics_messages") || plain.summary["metrics_messages"] == 0.0);
}

#[test]
fn clients_evaluate_in_every_so_many_rounds_and_it_takes_their_time() {
    let Some(desk) = desk(&at_client("1e8")) else { return };
    let time = |name: &str, every: u32| {
        let setting = format!("strategy.evaluate_at_client_every={every}");
        let run = desk.whole(name, &[&setting]);
        let messages = run.summary.get("metrics_messages").copied().unwrap_or(0.0);
        (messages, run.summary["virtual_s"])
    };
    let (never, second, always) = (time("never", 0), time("second", 2), time("always", 1));
    assert_eq!([never.0, second.0, always.0], [0.0, 10.0, 20.0]);
    let (of_two, of_four) = (second.1 - never.1, always.1 - never.1);
    assert!(
        of_two > 1.0 && (of_four / of_two - 2.0).abs() < 0.2,
        "{of_two} s, {of_four} s"
    );
}

#[test]
fn evaluation_at_clients_gives_the_same_bytes_however_it_is_run() {
    let Some(mut desk) = desk(&at_client("1e6")) else {
        return;
    };
    for settings in [
        &[][..],
        &["strategy.protocol.secure=Pairwise()"],
        &["strategy.protocol.aggregation=Buffered(size: 2)", "cohort=Size(n: 3)"],
        &["dropout=(prob: 0.2)"],
    ] {
        let name = format!("{settings:?}");
        let whole = desk.go(
            &format!("whole{name}"),
            &[settings, &["strategy.workers=1"]].concat(),
            (1, None),
        );
        let whole = hash(&whole.unwrap());
        let two = [settings, &["strategy.workers=2"]].concat();
        desk.go(&format!("two{name}"), &two, (2, Some(2))).unwrap_err();
        let resumed = desk.go(&format!("two{name}"), &two, (2, None)).unwrap();
        assert_eq!(hash(&resumed), whole, "{name}");
    }
    desk.machine.checked = 1.0;
    let clock = at_client("1e6").replace("state is not None", "__import__('time').time_ns() % 97");
    std::fs::write(desk.path("client.py"), clock).unwrap();
    let failure = desk.failure(&[]);
    assert!(failure.contains("evaluation at client"), "{failure}");
    assert!(failure.contains("not deterministic: metrics is"), "{failure}");
}

#[test]
fn metrics_that_no_clip_bounds_are_refused_with_private_clients() {
    let Some(desk) = desk(&at_client("0")) else { return };
    let private = [
        "strategy.protocol.private=Clients(clip: 1.0)",
        "strategy.protocol.weighting=Uniform",
    ];
    let failure = desk.failure(&private);
    assert!(
        failure.contains("clients send metrics of @fm.evaluate_at_client"),
        "{failure}"
    );
    assert!(failure.contains("set evaluate_at_client_every: 0"), "{failure}");
    let never = [&private[..], &["strategy.evaluate_at_client_every=0"]].concat();
    desk.whole("never", &never);
}

const PREDICT: &str = "
@fm.predict
def predict(params, items):
    return items.x @ params['weight'] + params['bias']
";

const GRADIENT: &str = "
@fm.gradient
def gradient_of_each(params, items):
    slope = probabilities(params, items.x)
    slope[np.arange(len(items)), items.y] -= 1
    return {'weight': items.x[:, :, None] * slope[:, None, :], 'bias': slope}
";

const ATTACKS: &str = "strategy.attacks=[LossThreshold(), GradientInversion()]";

#[test]
fn attacks_on_an_app_find_what_is_planted_and_nothing_elsewhere() {
    let Some(desk) = desk(&format!("{SOFTMAX}{PREDICT}{GRADIENT}")) else {
        return;
    };
    // One step on one item sends the item.
    let one_item = [
        "strategy.split=Shares(train: 0.01, validation: 0.1)",
        "strategy.config={\"epochs\": 1}",
    ];
    let settings = [&one_item[..], &[ATTACKS, "strategy.protocol.rounds=2"]].concat();
    let run = desk.whole("one", &settings);
    assert_eq!(run.summary["inversion_updates"], 5.0);
    assert_eq!(
        run.summary["inversion_recovered"], 1.0,
        "error {}",
        run.summary["inversion_error"]
    );
    assert_eq!(run.summary["inversion_matched"], 1.0);
    assert_eq!(run.summary["inversion_classes"], 1.0);
    assert_eq!(run.summary["loss_membership_others"], 85.0);
    // Many items and many steps: what comes out is none of them; and an overfitted model shows its
    // members.
    let many = [
        "strategy.config={\"epochs\": 300, \"learning_rate\": 1.0}",
        "strategy.split=Shares(train: 0.3, validation: 0.1)",
        "dataset=ContextualSbm(n_nodes: 90, n_classes: 3, n_features: 200)",
        ATTACKS,
    ];
    let many = desk.whole("many", &many);
    assert_eq!(many.summary["inversion_recovered"], 0.0);
    assert!(
        many.summary["loss_membership_auc"] > 0.7,
        "{}",
        many.summary["loss_membership_auc"]
    );
    assert!(
        many.summary.keys().any(|name| name.contains("untrained")),
        "{:?}",
        many.summary
    );
    // They change nothing, and are the same on one worker.
    let again = [&settings[..], &["strategy.workers=1"]].concat();
    assert_eq!(hash(&desk.whole("again", &again)), hash(&run));
    let without = [&one_item[..], &["strategy.protocol.rounds=2"]].concat();
    let without = desk.whole("without", &without);
    assert_eq!(without.summary["test_accuracy"], run.summary["test_accuracy"]);
}

#[test]
fn shadow_models_and_updates_of_an_app_are_attacked_like_those_of_a_network() {
    let Some(desk) = desk(&format!("{SOFTMAX}{PREDICT}")) else {
        return;
    };
    let settings = [
        "dataset=ContextualSbm(n_nodes: 90, n_classes: 3, n_features: 200)",
        "strategy.config={\"epochs\": 300, \"learning_rate\": 1.0}",
        "strategy.split=Shares(train: 0.5, validation: 0.0)",
        "strategy.attacks=[LikelihoodRatio(pairs: 6), ClientLinking(rounds: 3)]",
    ];
    let run = desk.whole("run", &settings);
    let of = |name: &str| run.summary[name];
    // An overfitted model shows its members, another one does not.
    assert_eq!(of("lira_others"), 45.0);
    assert!(of("lira_online_auc") > 0.75, "{}", of("lira_online_auc"));
    let other = of("lira_online_auc@other_model");
    assert!((other - 0.5).abs() < 0.15, "{other}");
    // Clients whose updates hold their own nodes are told apart.
    assert!(of("linking_centred_first") > of("linking_centred_first@chance"));
    let again = [&settings[..], &["strategy.workers=1"]].concat();
    let again = desk.go("again", &again, (1, None)).unwrap();
    assert_eq!(hash(&again), hash(&run));
}

#[test]
fn attacks_that_an_app_does_not_open_are_named() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let failure = desk.failure(&["strategy.attacks=[LossThreshold(), GradientInversion(), LinkStealing()]"]);
    for words in [
        "attacks.0: LossThreshold asks a model about items; add @fm.predict to the app",
        "attacks.1: GradientInversion reads gradients of single examples; add @fm.gradient to the app",
        "attacks.2: LinkStealing(",
        "reads a network of FedAvg and its relatives; leave it out",
    ] {
        assert!(failure.contains(words), "{failure}");
    }
}

#[test]
fn predictions_and_gradients_of_another_shape_are_refused() {
    let told = |more: &str| Some(desk(&format!("{SOFTMAX}{more}"))?.failure(&[ATTACKS, "strategy.protocol.rounds=1"]));
    let whole = PREDICT.replace("items.x @", "items.x[:2] @");
    if let Some(failure) = told(&format!("{whole}{GRADIENT}")) {
        assert!(
            failure.contains("predictions for client 0 failed: @fm.predict returned shape (2, 3)"),
            "{failure}"
        );
        assert!(
            failure.contains("a row for each item, a column for each class"),
            "{failure}"
        );
    }
    let summed = GRADIENT.replace("'bias': slope", "'bias': slope.sum(0)");
    if let Some(failure) = told(&format!("{PREDICT}{summed}")) {
        assert!(
            failure.contains("@fm.gradient: array 'bias' has shape (3,); return one row for each example"),
            "{failure}"
        );
    }
    let missing = GRADIENT.replace(", 'bias': slope", "");
    if let Some(failure) = told(&format!("{PREDICT}{missing}")) {
        assert!(failure.contains("@fm.gradient: array 'bias' is missing"), "{failure}");
    }
}

/// Softmax regression on the mean features of graphs, by full-batch gradient descent.
const GRAPHS: &str = "
import numpy as np
import folkmoot as fm

def _rows(graphs):
    return np.stack([graph.x.mean(0) for graph in graphs]).astype(np.float64)

def _slope(params, x, y):
    powers = np.exp(x @ params['weight'] + params['bias'])
    slope = powers / powers.sum(1, keepdims=True)
    slope[np.arange(len(y)), y] -= 1
    return slope

@fm.initial
def initial(facts, rng):
    return {'weight': np.zeros((facts.n_features, facts.n_classes)), 'bias': np.zeros(facts.n_classes)}

@fm.gradient
def gradient(params, items):
    x = _rows(items)
    slope = _slope(params, x, items.y)
    return {'weight': x[:, :, None] * slope[:, None, :], 'bias': slope}

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    items = fm.Items(shard, np.flatnonzero(shard.train_mask))
    for _ in range(ctx.config['epochs']):
        for name, rows in gradient(params, items).items():
            params[name] = params[name] - 0.5 * rows.mean(0)
    return fm.Update(params)

@fm.evaluate
def evaluate(params, data):
    x, y = _rows(data), data.y
    logits = x @ params['weight'] + params['bias']
    loss = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(y)), y]
    return {'loss': fm.Metric(loss.mean(), better='lower', n=len(y))}
";

const OF_GRAPHS: [&str; 6] = [
    "dataset=GraphClasses(n_graphs: 40, n_classes: 3)",
    "partition=Iid(n_clients: 4)",
    "strategy.inputs=Degree()",
    "strategy.config={\"epochs\": 3}",
    "strategy.dp_sgd=(epochs: 3, learning_rate: 0.5)",
    "strategy.protocol.rounds=3",
];

#[test]
fn gradients_of_examples_hide_single_examples() {
    let Some(desk) = desk(GRAPHS) else { return };
    let with = |name: &str, settings: &[&str]| desk.whole(name, &[&OF_GRAPHS[..], settings].concat());
    // Without a clip and noise it is the app's own training, up to the rounding of its steps.
    let plain = with("plain", &[]);
    let open = with("open", &["strategy.protocol.private=Items(noise_multiplier: 0.0)"]);
    let (one, other) = (plain.summary["test_loss"], open.summary["test_loss"]);
    assert!((one - other).abs() < 1e-5, "{one} {other}");
    assert!(!plain.summary.contains_key("epsilon_training"));
    let private = "strategy.protocol.private=Items(clip: 0.5, noise_multiplier: 2.0)";
    let noisy = with("noisy", &[private]);
    assert!(noisy.summary["epsilon_training"] > 0.0);
    assert!((noisy.summary["test_loss"] - one).abs() > 1e-5);
    // Half as many examples in each step cost less.
    let drawn = with(
        "drawn",
        &[
            private,
            "strategy.dp_sgd=(epochs: 3, learning_rate: 0.5, batch_size: 2)",
        ],
    );
    assert_ne!(hash(&drawn), hash(&noisy));
    let (workers, stopped) = ([private, "strategy.workers=1"], [private]);
    assert_eq!(hash(&with("again", &workers)), hash(&noisy));
    let settings = [&OF_GRAPHS[..], &stopped].concat();
    desk.go("stopped", &settings, (2, Some(1))).unwrap_err();
    assert_eq!(hash(&desk.go("stopped", &settings, (1, None)).unwrap()), hash(&noisy));
}

#[test]
fn examples_are_hidden_only_where_their_gradients_are_their_own() {
    let items = ["strategy.protocol.private=Items(clip: 1.0)"];
    if let Some(desk) = desk(SOFTMAX) {
        let failure = desk.failure(&items);
        assert!(
            failure.contains("the app does not state the gradient of each example; add @fm.gradient"),
            "{failure}"
        );
    }
    if let Some(desk) = desk(&format!("{SOFTMAX}{GRADIENT}")) {
        let failure = desk.failure(&items);
        assert!(
            failure.contains("nodes of one graph are in each other's gradients"),
            "{failure}"
        );
    }
}
