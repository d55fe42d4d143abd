//! What an app is given to learn from, and what a run keeps of it.

use super::{Desk, desk, hash};
use std::fs;

/// Least squares on one number of each node; what shards hold is compared with the tables.
const NUMBERS: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    assert (facts.n_outputs, facts.n_classes, facts.task) == (2, 0, 'numbers'), vars(facts)
    return {'w': np.zeros((facts.n_features, 2))}

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    ids = shard.nodes
    want = np.stack([2.0 * ids, 100.0 - ids], axis=1)
    want[ids == 3, 0] = np.nan
    assert shard.y.dtype == np.float32 and np.array_equal(shard.y, want, equal_nan=True), shard.y
    assert not (shard.train_mask | shard.val_mask | shard.test_mask)[ids == 4].any()
    ends = ids[shard.edge_index]
    assert np.array_equal(shard.edge_attr[:, 0], np.abs(ends[0] - ends[1])), shard.edge_attr
    x, y = shard.x[shard.train_mask], np.nan_to_num(shard.y[shard.train_mask])
    params['w'] = params['w'] - 0.05 * x.T @ (x @ params['w'] - y) / max(1, len(y))
    return fm.Update(params, metrics={'now': ctx.now})

@fm.predict
def predict(params, items):
    return items.x @ params['w']
";

const OF_TABLES: [&str; 4] = [
    "dataset=Tables(nodes: \"n.csv\", edges: \"e.csv\", targets: [\"t\", \"u\"], edge_features: [\"far\"])",
    "partition=Iid(n_clients: 2)",
    "strategy.config={}",
    "keep=[Model, Predictions, Assignment]",
];

/// A circle of twelve nodes, of which node 3 lacks one number and node 4 both.
fn tables(desk: &Desk) {
    let number = |known: bool, number: u32| if known { number.to_string() } else { String::new() };
    let node = |id: u32| {
        let numbers = [number(id != 3 && id != 4, 2 * id), number(id != 4, 100 - id)];
        format!("{id},0.{id},{}\n", numbers.join(","))
    };
    let edge = |id: u32| format!("{id},{},{}\n", (id + 1) % 12, if id == 11 { 11 } else { 1 });
    let nodes: String = (0..12).map(node).collect();
    let edges: String = (0..12).map(edge).collect();
    fs::write(desk.path("n.csv"), format!("id,x,t,u\n{nodes}")).unwrap();
    fs::write(desk.path("e.csv"), format!("source,target,far\n{edges}")).unwrap();
}

#[test]
fn numbers_and_features_of_edges_reach_an_app_and_its_answers_are_kept() {
    // The unlabelled node has no numbers to compare.
    let app = NUMBERS.replace(
        "want[ids == 3, 0] = np.nan",
        "want[ids == 3, 0] = want[ids == 4] = np.nan",
    );
    let Some(desk) = desk(&app) else { return };
    tables(&desk);
    let run = desk.whole("run", &OF_TABLES);
    let text = |name: &str| String::from_utf8(run.artifact(name).unwrap()).unwrap();
    assert_eq!(text("model_layout.csv").lines().nth(1), Some("w,0,1,2,1"));
    assert!(run.artifacts.contains(&"model.npy".to_owned()), "{:?}", run.artifacts);
    // A line for each number of the eleven labelled nodes.
    let outputs = text("outputs.csv");
    assert_eq!(outputs.lines().count(), 1 + 11 * 2, "{outputs}");
    let of_three: Vec<&str> = outputs.lines().filter(|line| line.starts_with("3,")).collect();
    assert!(
        of_three[0].contains(",0,,") && of_three[1].contains(",1,97,"),
        "{of_three:?}"
    );
    assert_eq!(text("assignment.csv").lines().count(), 1 + 12);
    let model = &run.manifest.public_facts["model"][0];
    assert_eq!((&model["name"], &model["shape"]), (&"w".into(), &vec![1, 2].into()));
    // The clock of a training is that of its round.
    let now = run.tables.scores.iter().filter(|row| row.metric == "now");
    let now: Vec<(f64, f64)> = now.map(|row| (row.value, row.virtual_s)).collect();
    assert_eq!(now.len(), 4);
    assert!(now.windows(2).all(|two| two[0].0 < two[1].0), "{now:?}");
    assert!(now.iter().all(|(began, ended)| began < ended), "{now:?}");
    // What is kept changes nothing.
    assert_eq!(hash(&desk.whole("plain", &OF_TABLES[..3])), hash(&run));
}

#[test]
fn what_an_app_cannot_answer_is_not_kept() {
    let without = NUMBERS.split("@fm.predict").next().unwrap();
    let Some(desk) = desk(without) else { return };
    tables(&desk);
    let failure = desk.failure(&OF_TABLES);
    let words = "keep: Predictions asks the model; add @fm.predict to the app";
    assert!(failure.contains(words), "{failure}");
}

/// Checks that labels are what the tables say; node 1 lacks one of them.
const SEVERAL: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    assert (facts.n_outputs, facts.task) == (2, 'labels'), vars(facts)
    return {'w': np.zeros(1)}

@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    want = np.stack([shard.nodes % 2, np.where(shard.nodes == 1, np.nan, shard.nodes % 3 == 0)], axis=1)
    assert np.array_equal(shard.y, want, equal_nan=True), (shard.nodes, shard.y)
    return fm.Update(params)
";

#[test]
fn several_labels_reach_an_app_with_those_that_are_missing() {
    let Some(desk) = desk(SEVERAL) else { return };
    let node = |id: u32| {
        let third = if id == 1 {
            String::new()
        } else {
            u32::from(id.is_multiple_of(3)).to_string()
        };
        format!("{id},{},{third}\n", id % 2)
    };
    let nodes: String = (0..9).map(node).collect();
    fs::write(desk.path("n.csv"), format!("id,odd,third\n{nodes}")).unwrap();
    fs::write(desk.path("e.csv"), "source,target\n0,1\n4,8\n").unwrap();
    let dataset = "dataset=Tables(nodes: \"n.csv\", edges: \"e.csv\", labels: [\"odd\", \"third\"])";
    let inputs = "strategy.inputs=Degree()";
    desk.whole("run", &[dataset, OF_TABLES[1], OF_TABLES[2], inputs]);
}
