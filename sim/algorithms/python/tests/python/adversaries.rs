//! Malicious clients of an app: changed training items, and how often the model is deceived.

use super::{SOFTMAX, desk, hash};

/// Mean features of nodes stand for graphs; a training says the mean class that it has learned.
const OTHERS: &str = "
import types

def plain(data):
    if not data.is_graph_level:
        return data
    x = np.array([graph.x.mean(axis=0) if len(graph.x) else np.zeros(graph.x.shape[1]) for graph in data])
    masks = {name: getattr(data, name) for name in ('train_mask', 'val_mask', 'test_mask')}
    return types.SimpleNamespace(x=x, y=data.y, **masks)

softmax = {'train': train, 'evaluate': evaluate}

@fm.train(cost=lambda shard, config: 0)
def train(params, shard, ctx, state=None):
    shard = plain(shard)
    update = softmax['train'](params, shard, ctx, state)
    update.metrics = {'mean_class': float(shard.y[shard.train_mask].mean())}
    return update

@fm.evaluate
def evaluate(params, data):
    return softmax['evaluate'](params, plain(data))
";
const PREDICT: &str = "
@fm.predict
def predict(params, items):
    return plain(items.shard).x[items.index] @ params['weight'] + params['bias']
";

#[test]
fn malicious_clients_train_on_flipped_classes_in_their_rounds() {
    let Some(desk) = desk(&format!("{SOFTMAX}{OTHERS}")) else {
        return;
    };
    let flips = "strategy.protocol.malicious=(clients: Fraction(1.0), adversary: LabelFlip(), from_round: 2)";
    let run = desk.whole("run", &[flips]);
    let means = |run: &folkmoot_metrics::RunDir| -> Vec<f64> {
        let rows = run.tables.scores.iter().filter(|row| row.metric == "mean_class");
        rows.map(|row| row.value).collect()
    };
    let [a, b, c, d] = means(&run)[..] else {
        panic!("{:?}", run.tables.scores)
    };
    assert_eq!((a, c), (b, d));
    // Class c of 3 becomes 2 - c.
    assert!((a + c - 2.0).abs() < 1e-6 && a != c, "{a} {c}");
    let half = "strategy.protocol.malicious=(clients: Fraction(0.4), adversary: LabelFlip(source: 0, target: 2), from_round: 2)";
    let half = desk.failure(&[half]);
    assert!(half.contains("add @fm.predict to the app"), "{half}");
}

#[test]
fn a_backdoor_of_nodes_deceives_the_model_where_it_is_planted() {
    let Some(desk) = desk(&format!("{SOFTMAX}{OTHERS}{PREDICT}")) else {
        return;
    };
    let backdoor = "strategy.protocol.malicious=(clients: Named([0, 3]), adversary: NodeBackdoor(target: 1, share: 0.5, features: 4, \
                    value: 5.0))";
    let settings = [backdoor, "strategy.protocol.rounds=12"];
    let run = desk.whole("run", &settings);
    let (success, honest) = (run.summary["test_attack_success"], run.summary["test_honest_accuracy"]);
    let control = run
        .tables
        .controls
        .iter()
        .find(|row| row.metric == "test_attack_success");
    let control = control.unwrap();
    assert_eq!(control.control, "without_trigger");
    assert!(
        success > 0.9 && control.value < success - 0.2,
        "{success} {}",
        control.value
    );
    let of_clients = run
        .tables
        .client_scores
        .iter()
        .filter(|row| ![0, 3].contains(&row.client));
    let of_clients: Vec<f64> = of_clients.map(|row| row.accuracy).collect();
    assert_eq!(of_clients.len(), 3);
    assert!((honest - of_clients.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    assert!(run.tables.client_scores.len() == 5);
    let rows = run.tables.scores.iter().filter(|row| row.metric == "attack_success");
    assert_eq!(rows.count(), 12);
    let alone = desk.whole("alone", &[&settings[..], &["strategy.workers=1"]].concat());
    assert_eq!(hash(&run), hash(&alone));
    // Everybody else has the data of a run without the attack.
    let of_class = "strategy.protocol.malicious=(clients: Fraction(0.4), adversary: LabelFlip(source: 0, target: 2))";
    let run = desk.whole("class", &[of_class]);
    assert!(run.summary.contains_key("test_attack_success"));
    assert!(run.tables.controls.iter().all(|row| row.control != "without_trigger"));
}

#[test]
fn a_subgraph_is_planted_in_graphs_of_malicious_clients() {
    let Some(desk) = desk(&format!("{SOFTMAX}{OTHERS}{PREDICT}")) else {
        return;
    };
    let graphs = [
        "dataset=GraphClasses(n_graphs: 60)",
        "partition=Iid(n_clients: 5)",
        "strategy.inputs=Degree(most: 12)",
    ];
    let backdoor = "strategy.protocol.malicious=(clients: Fraction(0.6), adversary: SubgraphBackdoor(target: 1, share: 0.5, nodes: 8, \
                    density: 1.0))";
    let run = desk.whole(
        "run",
        &[&graphs[..], &[backdoor, "strategy.protocol.rounds=20"]].concat(),
    );
    let success = run.summary["test_attack_success"];
    let control = run
        .tables
        .controls
        .iter()
        .find(|row| row.metric == "test_attack_success")
        .unwrap();
    assert!(success > control.value, "{success} {}", control.value);
    let wrong = desk.failure(
        &[
            &graphs[..],
            &["strategy.protocol.malicious=(clients: Fraction(0.6), adversary: NodeBackdoor(target: 1))"],
        ]
        .concat(),
    );
    assert!(wrong.contains("use SubgraphBackdoor"), "{wrong}");
}

#[test]
fn what_changes_no_items_of_an_app_is_refused() {
    let app = format!("{SOFTMAX}{OTHERS}{PREDICT}");
    let Some(desk) = desk(&app) else { return };
    let flips = "strategy.protocol.malicious=(clients: Fraction(0.4), adversary: LabelFlip())";
    let class =
        desk.failure(&["strategy.protocol.malicious=(clients: Fraction(0.4), adversary: LabelFlip(target: 7))"]);
    assert!(class.contains("there is no class 7"), "{class}");
    std::fs::write(
        desk.path("client.py"),
        format!("{app}\n@fm.client_data\ndef client_data(client, ctx): return None\n"),
    )
    .unwrap();
    let own = desk.failure(&[flips]);
    assert!(own.contains("the app has @fm.client_data in their place"), "{own}");
}
