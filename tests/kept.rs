//! What a card has a run keep: models, predictions and assignments, which say again what the run's
//! scores say and change nothing of its result.

use crate::support::{TempDir, run_args};
use crate::trials::trials;
use folkmoot_metrics::RunDir;
use folkmoot_metrics::npy::Array;
use std::collections::BTreeMap;

/// Data set, partition and number of items.
type Data = (&'static str, &'static str, usize);

const NODES: Data = (
    "DcSbm(n_nodes: 180, n_classes: 3, mean_degree: 8, assortativity: 0.9)",
    "Louvain(n_clients: 3)",
    180,
);
const GRAPHS: Data = ("GraphClasses(n_graphs: 60)", "Iid(n_clients: 4)", 60);
const ALL: &str = "keep=[Model, Predictions, Assignment]";

/// A row of a table of predictions.
struct Row {
    item: u32,
    client: u32,
    part: String,
    label: u32,
    predicted: u32,
    probabilities: Vec<f64>,
}

fn predictions(run: &RunDir, file: &str) -> Vec<Row> {
    let text = String::from_utf8(run.artifact(file).unwrap()).unwrap();
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("item,client,part,label,predicted,probability_0,probability_1")
    );
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let whole = |i: usize| cells[i].parse().unwrap();
        Row {
            item: whole(0),
            client: whole(1),
            part: cells[2].to_owned(),
            label: whole(3),
            predicted: whole(4),
            probabilities: cells[5..].iter().map(|cell| cell.parse().unwrap()).collect(),
        }
    };
    lines.map(row).collect()
}

fn accuracy<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    let (mut hits, mut n) = (0_u32, 0_u32);
    for row in rows {
        hits += u32::from(row.label == row.predicted);
        n += 1;
    }
    f64::from(hits) / f64::from(n)
}

/// Runs a card without and with what is kept.
fn run(temp: &TempDir, name: &str, (dataset, partition, _): Data, strategy: &str) -> RunDir {
    let card = format!("{name}.ron");
    temp.write(
        &card,
        format!("(dataset: {dataset}, partition: {partition}, strategy: {strategy})"),
    );
    let plain = format!("{name}-plain");
    temp.run(&run_args(&[&card], &plain, &[])).done();
    temp.run(&run_args(&[&card], name, &["--set", ALL])).done();
    let [plain, kept] = [plain, name.to_owned()].map(|dir| RunDir::open(&temp.join(&dir)).unwrap());
    let print = kept.manifest.result_fingerprint.clone();
    assert_eq!(print, plain.manifest.result_fingerprint, "{name}");
    assert_eq!(print, Some(kept.fingerprint().unwrap()), "{name}");
    kept
}

/// The assignment names every item once, and the parts of predictions are those.
fn assert_assigned(run: &RunDir, rows: &[Row], n_items: usize) {
    let text = String::from_utf8(run.artifact("assignment.csv").unwrap()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("item,client,part"));
    let assigned: BTreeMap<u32, (u32, String)> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (
                cells[0].parse().unwrap(),
                (cells[1].parse().unwrap(), cells[2].to_owned()),
            )
        })
        .collect();
    assert_eq!(assigned.len(), n_items);
    for row in rows {
        assert_eq!(assigned[&row.item], (row.client, row.part.clone()), "item {}", row.item);
    }
    for part in ["train", "validation", "test"] {
        assert!(assigned.values().any(|(_, of)| of == part), "{part}");
    }
}

#[test]
fn predictions_give_the_test_accuracy_of_the_scores_to_the_digit() {
    let temp = TempDir::new();
    for (trial, i) in trials(|file| &file.keeps).into_iter().zip(0..) {
        let data = match trial.data.as_str() {
            "nodes" => NODES,
            "graphs" => GRAPHS,
            other => panic!("no data are called {other:?}"),
        };
        let [strategy] = trial.settings.as_slice() else {
            panic!("{trial:?} sets more than its strategy")
        };
        let name = format!("{i}-{}", trial.card.replace('/', "-"));
        let (_, _, n_items) = data;
        let run = run(&temp, &name, data, strategy.strip_prefix("strategy=").unwrap());
        let rows = predictions(&run, "predictions.csv");
        assert_eq!(rows.len(), n_items, "{name}: every item has a label");
        let mut last = run
            .tables
            .scores
            .iter()
            .filter(|row| row.split == "test" && row.metric == "accuracy");
        let last = last.next_back().unwrap();
        let tested: Vec<&Row> = rows.iter().filter(|row| row.part == "test").collect();
        assert_eq!(tested.len() as u64, last.n, "{name}");
        let accuracy = accuracy(tested.into_iter());
        assert_eq!(
            accuracy.to_bits(),
            last.value.to_bits(),
            "{name}: {accuracy} and {}",
            last.value
        );
        assert_eq!(accuracy, run.summary["test_accuracy"], "{name}");
        for row in &rows {
            let sum: f64 = row.probabilities.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{name}: {sum}");
            let most = row.probabilities.iter().copied().fold(0.0, f64::max);
            assert_eq!(row.probabilities[row.predicted as usize], most, "{name}");
        }
        assert_assigned(&run, &rows, n_items);
        if i == 0 {
            temp.run(&["verify", &name]).done();
        }
        let model = Array::parse(&run.artifact("model.npy").unwrap(), 1 << 24).unwrap();
        let layout = String::from_utf8(run.artifact("model_layout.csv").unwrap()).unwrap();
        let sizes = layout.lines().skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            cells[2].parse::<usize>().unwrap() * cells[3].parse::<usize>().unwrap()
        });
        assert_eq!(model.shape, [sizes.sum::<usize>()], "{name}: {layout}");
    }
}

#[test]
fn models_of_clients_are_kept_with_what_they_predict() {
    let temp = TempDir::new();
    let settings = "inputs: Degree(most: 16)";
    for (name, strategy) in [
        (
            "ditto",
            format!("Federated(method: Ditto(), {settings}, protocol: (rounds: 3))"),
        ),
        (
            "local",
            format!("Federated(method: LocalOnly(), {settings}, protocol: (rounds: 3))"),
        ),
        ("gossip", format!("Gossip(topology: Ring(), {settings}, rounds: 3)")),
    ] {
        let run = run(&temp, name, GRAPHS, &strategy);
        let rows = predictions(&run, "own_predictions.csv");
        assert_eq!(rows.len(), 60, "{name}");
        assert_assigned(&run, &rows, 60);
        for scored in &run.tables.client_scores {
            let own = rows
                .iter()
                .filter(|row| row.client == scored.client && row.part == "test");
            assert_eq!(accuracy(own), scored.accuracy, "{name}, client {}", scored.client);
        }
        let models = Array::parse(&run.artifact("own_models.npy").unwrap(), 1 << 24).unwrap();
        assert_eq!(models.shape[0], 4, "{name}");
    }
}

#[test]
fn what_cannot_be_kept_is_refused_and_a_dry_run_keeps_the_assignment_alone() {
    let temp = TempDir::new();
    temp.run(&["check", "fed-avg/small", "--set", "keep=[Weights]"])
        .refused(&["keep.0", "Weights"]);
    temp.run(&run_args(&["fed-avg/small"], "dry", &["--dry-run", "--set", ALL]))
        .done();
    let run = RunDir::open(&temp.join("dry")).unwrap();
    assert_eq!(run.artifacts, ["assignment.csv"]);
}
