//! Several labels and numbers instead of one class: what is learned, how it is scored, and what
//! refuses it.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::cards::{Cards, played};
use folkmoot_classifiers::classifier::{Classifier, Facts, Inputs, Model, Split, Task, Training};
use folkmoot_classifiers::{fed_avg, federated, gossip, only, scaffold};
use folkmoot_draws::{Purpose, Rng, SeedableRng, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{
    DataDirs, DataSource, Dataset, Features, Graph, Labels, Partition, Partitioner, SparseRows, Targets, TaskLabels,
    datasets, partition,
};
use folkmoot_metrics::lints;
use folkmoot_scenarios::algorithm::{Algorithm, Keep, Source};
use std::path::Path;
use std::sync::Arc;

const N: u32 = 180;
const REST: &str =
    "training: (epochs: 5, optimiser: Adam, learning_rate: 0.02), split: Shares(train: 0.6, validation: 0.1)";
/// Plain steps, which every method takes.
const PLAIN: &str = "training: (epochs: 5, learning_rate: 0.1), split: Shares(train: 0.6, validation: 0.1)";
const GIN: &str = "model: (encoder: Gin), inputs: Degree(most: 12)";

/// A ring with chords of three arcs; features say the arc in two of three cases, and which nodes
/// have an even number.
fn ring() -> Dataset {
    let edges: Vec<(u32, u32)> = (0..N).flat_map(|v| [(v, (v + 1) % N), (v, (v + 2) % N)]).collect();
    let shown = |v: u32| if v.is_multiple_of(3) { (v / 3) % 3 } else { arc(v) };
    let rows: Vec<Vec<(u32, f32)>> = (0..N).map(|v| vec![(shown(v), 1.0), (3, (v % 2) as f32)]).collect();
    Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(4, &rows).unwrap())),
        ..Dataset::of_graph("ring", Graph::from_edges(N, &edges, false).unwrap())
    }
}

fn arc(v: u32) -> u32 {
    v * 3 / N
}

/// Each node has its arc as a label, and even ones another.
fn node_labels() -> Dataset {
    let even = (0..N).filter(|v| v.is_multiple_of(2)).map(|v| (v, 3));
    let pairs: Vec<(u32, u32)> = (0..N).map(|v| (v, arc(v))).chain(even).collect();
    Dataset {
        node_labels: Some(Labels::from_pairs(N, 4, &pairs).unwrap()),
        n_classes: 4,
        ..ring()
    }
}

/// Numbers by arc, in units of their own; of some nodes one is unknown, of some both.
fn node_numbers() -> Dataset {
    let value = |v: u32| {
        let known = |number: f32, rest: u32| if v % 13 == rest { f32::NAN } else { number };
        let (first, second) = (20.0 + 2.0 * arc(v) as f32, -500.0 + 100.0 * (v % 2) as f32);
        let second = if v % 26 == 4 { f32::NAN } else { known(second, 7) };
        [known(first, 4), second]
    };
    let names = vec!["warm".to_owned(), "high".to_owned()];
    Dataset {
        targets: Some(Targets::new(names, (0..N).flat_map(value).collect(), false).unwrap()),
        ..ring()
    }
}

fn graphs() -> Dataset {
    let spec = datasets::GraphClasses {
        n_graphs: 120,
        n_classes: 3,
        min_nodes: 8,
        max_nodes: 16,
    };
    spec.load(&DataDirs::new(), &mut Streams::new(1).global(Purpose(*b"dataset ")))
        .unwrap()
}

/// Three tasks of which every fifth label is missing.
fn graph_tasks() -> Dataset {
    let mut dataset = graphs();
    let classes = dataset.graph_labels.take().unwrap();
    let label = |(item, class): (usize, u32)| {
        let is_known = move |task: usize| !(item * 7 + task).is_multiple_of(5);
        [class == 0, class != 1, class == 2]
            .into_iter()
            .enumerate()
            .map(move |(task, label)| is_known(task).then_some(label))
    };
    let values = classes.into_iter().enumerate().flat_map(label).collect();
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    Dataset {
        graph_tasks: Some(TaskLabels::new(names, values).unwrap()),
        ..dataset
    }
}

/// The mean degree of a graph.
fn graph_numbers() -> Dataset {
    let mut dataset = graphs();
    let degree = |graph: &Graph| graph.n_arcs() as f32 / graph.n_nodes() as f32;
    let values = dataset.graphs.iter().map(degree).collect();
    dataset.targets = Some(Targets::new(vec!["degree".to_owned()], values, true).unwrap());
    dataset.graph_labels = None;
    dataset
}

fn settings<P: Algorithm>(text: &str) -> P {
    only()
        .settings(text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn iid(dataset: &Dataset) -> Arc<Partition> {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    Arc::new(partition::Iid { n_clients: 5 }.divide(dataset, &mut rng).unwrap())
}

fn try_play<P: Algorithm>(params: &P, dataset: Dataset, keep: &[Keep]) -> Result<Outcome, StrategyError> {
    let (dataset, partition) = (Arc::new(dataset.clone()), iid(&dataset));
    let source = Source {
        keep,
        ..Source::new(&dataset, &partition, Streams::new(3))
    };
    let prepared = params.prepare(&source)?;
    let options = Options::default();
    Ok(run(prepared.system(), &World::ideal(), 3, options, &mut Unobserved).unwrap())
}

fn play<P: Algorithm>(text: &str, dataset: Dataset) -> Outcome {
    try_play(&settings::<P>(text), dataset, &[]).unwrap()
}

fn refusal<P: Algorithm>(text: &str, dataset: Dataset) -> String {
    try_play(&settings::<P>(text), dataset, &[]).err().unwrap().to_string()
}

fn find(outcome: &Outcome, name: &str) -> Option<f64> {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| *value)
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    find(outcome, name).unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary))
}

fn control(outcome: &Outcome, control: &str, metric: &str) -> f64 {
    let mut rows = outcome.tables.controls.iter();
    let row = rows.find(|row| row.control == control && row.metric == metric);
    row.unwrap_or_else(|| panic!("no {control} of {metric} in {:?}", outcome.tables.controls))
        .value
}

fn no_lint(outcome: &Outcome) {
    let summary = outcome.summary.iter().cloned().collect();
    assert_eq!(lints(&summary), Vec::<String>::new());
    assert_eq!(outcome.warnings, Vec::<String>::new());
}

#[test]
fn several_labels_of_nodes_and_graphs_are_learned() {
    let of_nodes = format!("({REST}, protocol: (rounds: 20))");
    let of_graphs = format!("({GIN}, {REST}, protocol: (rounds: 20))");
    let batches =
        "(training: (epochs: 5, batch_size: 7, optimiser: Adam, learning_rate: 0.02), protocol: (rounds: 20))";
    for (text, dataset) in [
        (&of_nodes[..], node_labels()),
        (batches, node_labels()),
        (&of_graphs, graph_tasks()),
    ] {
        let outcome = play::<fed_avg::Params>(text, dataset);
        let value = |name: &str| number(&outcome, name);
        let prior = value("test_average_precision@label_prior");
        assert!(value("test_average_precision") > prior + 0.3, "{:?}", outcome.summary);
        assert!(value("test_roc_auc") > 0.85 && value("test_micro_f1") > 0.7 && value("test_macro_f1") > 0.6);
        assert_eq!(control(&outcome, "label_prior", "test_average_precision"), prior);
        assert_eq!(control(&outcome, "label_prior", "test_roc_auc"), 0.5);
        assert!(control(&outcome, "client_prior", "test_client_average_precision") < 0.7);
        assert!(control(&outcome, "untrained", "test_average_precision") < value("test_average_precision"));
        // The server's model is every client's.
        assert_eq!(
            value("test_own_average_precision"),
            value("test_client_average_precision")
        );
        assert!(value("test_own_worst_tenth_average_precision") <= value("test_own_average_precision"));
        assert!(value("test_own_spread_average_precision") >= 0.0);
        assert!(value("validation_own_average_precision") > 0.5);
        let file = outcome
            .artifacts
            .iter()
            .find(|file| file.path == "client_metrics.csv")
            .unwrap();
        let lines = std::str::from_utf8(&file.bytes).unwrap().lines();
        assert_eq!(
            lines.filter(|line| line.contains(",test,average_precision,")).count(),
            5
        );
        assert!(outcome.tables.client_scores.is_empty());
        no_lint(&outcome);
    }
}

#[test]
fn numbers_of_nodes_and_graphs_are_learned_and_scored_in_their_unit() {
    let of_nodes = format!("({REST}, protocol: (rounds: 40))");
    let of_graphs = format!("({GIN}, {REST}, protocol: (rounds: 40))");
    for (text, dataset) in [(of_nodes, node_numbers()), (of_graphs, graph_numbers())] {
        let outcome = play::<fed_avg::Params>(&text, dataset);
        let value = |name: &str| number(&outcome, name);
        assert!(value("test_r2") > 0.4, "{:?}", outcome.summary);
        let constant = value("test_r2@training_mean");
        assert!(constant <= 1e-12 && constant > -0.5, "{constant}");
        assert!(value("test_mae") < 0.7 * value("test_mae@training_mean"));
        assert!(value("test_rmse") >= value("test_mae") && value("test_loss") < 0.6);
        assert!(control(&outcome, "client_mean", "test_client_mae") > value("test_client_mae"));
        assert_eq!(value("test_own_mae"), value("test_client_mae"));
        assert!(value("test_own_worst_tenth_mae") >= value("test_own_mae"));
        no_lint(&outcome);
    }
    // The numbers of an arc are 2 apart, and those of even and odd nodes 100.
    let outcome = play::<fed_avg::Params>(&format!("({REST}, protocol: (rounds: 40))"), node_numbers());
    let [warm, high] = ["test_mae[target=warm]", "test_mae[target=high]"].map(|name| number(&outcome, name));
    assert!(warm < 1.0 && high > 1.0 && high < 30.0, "{warm} {high}");
    assert!(((warm + high) / 2.0 - number(&outcome, "test_mae")).abs() < 1e-9);
}

/// What no clients' data can show: a model that never trains is warned of, by the constant answer.
#[test]
fn a_model_that_is_no_better_than_the_constant_answer_is_warned_of() {
    let still = "(training: (learning_rate: 1e-30), protocol: (rounds: 1))";
    for (dataset, expected) in [(node_numbers(), "test_r2"), (node_labels(), "test_average_precision")] {
        let outcome = play::<fed_avg::Params>(still, dataset);
        let mut summary: std::collections::BTreeMap<String, f64> = outcome.summary.iter().cloned().collect();
        if expected == "test_average_precision" {
            summary.insert(expected.to_owned(), 0.01);
        }
        assert!(lints(&summary)[0].starts_with(expected), "{summary:?}");
    }
}

/// The gradient of every task, along drawn directions.
#[test]
fn gradients_are_the_slopes_of_the_losses() {
    for (dataset, task) in [
        (node_labels(), Task::Labels),
        (node_numbers(), Task::Numbers),
        (graph_tasks(), Task::Labels),
        (graph_numbers(), Task::Numbers),
    ] {
        let inputs = match dataset.features {
            Some(_) => Inputs::Features,
            None => Inputs::Degree { most: 8 },
        };
        let (dataset, partition) = (Arc::new(dataset.clone()), iid(&dataset));
        let source = Source::new(&dataset, &partition, Streams::new(3));
        let facts = Facts::new(inputs, Split::default(), &source).unwrap();
        assert_eq!(facts.task, task);
        let classifier = Classifier::new(&Model::default(), &Training::default(), &facts).unwrap();
        let held = classifier.share(Split::default(), &source).unwrap();
        let rng = &mut SimRng::seed_from_u64(1);
        let model = classifier.network().layout().initialise(rng);
        for shard in held.shards() {
            let gradient = classifier.loss_gradient(shard, &model, rng);
            let direction: Vec<f32> = model.iter().map(|_| (rng.next_u32() % 3) as f32 - 1.0).collect();
            let moved = |step: f32| -> f64 {
                let model: Vec<f32> = model.iter().zip(&direction).map(|(w, d)| w + step * d).collect();
                classifier.training_loss(shard, &model)
            };
            let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let along = gradient
                .iter()
                .zip(&direction)
                .map(|(g, d)| f64::from(g * d))
                .sum::<f64>();
            assert!(
                (slope - along).abs() < 2e-2 * along.abs().max(0.5),
                "{task:?}: {slope} {along}"
            );
        }
    }
}

/// Mean and deviation of what trains, and of nothing else.
#[test]
fn numbers_are_scaled_by_what_trains() {
    let dataset = Arc::new(node_numbers());
    let shards = vec![(0..90).collect(), (90..N).collect()];
    let partition = Arc::new(Partition::from_shards(shards).unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
    let known: Vec<f64> = (0..N)
        .filter(|v| v % 13 != 4)
        .map(|v| 20.0 + 2.0 * f64::from(arc(v)))
        .collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let variance = known.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / known.len() as f64;
    assert_eq!((facts.targets[0].name.as_str(), facts.targets[0].mean), ("warm", mean));
    assert!((facts.targets[0].deviation - variance.sqrt()).abs() < 1e-12);
    let half = Facts::new(
        Inputs::Features,
        Split::Common {
            train: 0.5,
            validation: 0.0,
        },
        &source,
    )
    .unwrap();
    assert_ne!(half.targets, facts.targets);
}

#[test]
fn all_methods_learn_labels_and_numbers() {
    let methods = [
        "Global()",
        "LocalOnly()",
        "FineTuned()",
        "FedNova()",
        "FedDyn()",
        "Moon()",
        "FedPer()",
        "FedRep()",
        "Ditto()",
        "Ifca()",
        "FedPub()",
        "Gcfl(mean_norm: 1000, longest_norm: 0, first_rounds: 1)",
    ];
    for dataset in [node_labels(), node_numbers()] {
        let name = match dataset.targets {
            Some(_) => "mae",
            None => "average_precision",
        };
        for method in methods {
            let outcome = play::<federated::Params>(
                &format!("(method: {method}, {PLAIN}, protocol: (rounds: 3, weighting: Uniform))"),
                dataset.clone(),
            );
            let (own, worst) = (format!("test_own_{name}"), format!("test_own_worst_tenth_{name}"));
            assert!(
                number(&outcome, &own) > 0.0 && number(&outcome, &worst) > 0.0,
                "{method}"
            );
            assert!(
                control(
                    &outcome,
                    if name == "mae" { "client_mean" } else { "client_prior" },
                    &own
                ) > 0.0
            );
            assert!(
                outcome.tables.scores.iter().all(|row| row.metric != "cohort_accuracy"),
                "{method}"
            );
        }
        let outcome = play::<scaffold::Params>(&format!("({PLAIN}, protocol: (rounds: 3))"), dataset.clone());
        assert!(number(&outcome, &format!("test_{name}")) > 0.0);
        let outcome = play::<gossip::Params>(&format!("({REST}, topology: Ring(), rounds: 3)"), dataset);
        let [mean, worst] = ["", "worst_"].map(|whose| number(&outcome, &format!("test_{whose}{name}")));
        assert!(
            if name == "mae" { worst >= mean } else { worst <= mean },
            "{mean} {worst}"
        );
        assert!(find(&outcome, &format!("test_mean_model_{name}")).is_some());
        assert_eq!(
            outcome
                .tables
                .controls
                .iter()
                .filter(|row| row.metric == format!("test_{name}"))
                .count(),
            2
        );
    }
}

#[test]
fn answers_are_kept_in_their_unit() {
    for (dataset, n_lines) in [(node_numbers(), N - 7), (node_labels(), N)] {
        let is_numbers = dataset.targets.is_some();
        let n_outputs = if is_numbers { 2 } else { 4 };
        let params = settings::<fed_avg::Params>(&format!("({REST}, protocol: (rounds: 20))"));
        let outcome = try_play(&params, dataset, &[Keep::Predictions]).unwrap();
        let file = outcome
            .artifacts
            .iter()
            .find(|file| file.path == "outputs.csv")
            .unwrap();
        let text = std::str::from_utf8(&file.bytes).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("item,client,part,output,truth,answer"));
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len() as u32, n_outputs * n_lines);
        let float = |row: &Vec<&str>, at: usize| row[at].parse::<f64>();
        let (mut of_truth, mut surprise) = ([(0.0, 0); 2], 0.0);
        for row in &rows {
            let answer = float(row, 5).unwrap();
            match (is_numbers, row[3]) {
                (true, "0") => assert!((15.0..30.0).contains(&answer), "{row:?}"),
                (true, _) => assert!((-700.0..-200.0).contains(&answer), "{row:?}"),
                (false, _) => {
                    let is_present = float(row, 4).unwrap() == 1.0;
                    let (sum, n) = &mut of_truth[usize::from(is_present)];
                    (*sum, *n) = (*sum + answer, *n + 1);
                    // Not a number for what is no probability.
                    surprise -= libm::log(if is_present { answer } else { 1.0 - answer });
                }
            }
        }
        if !is_numbers {
            let [absent, present] = of_truth.map(|(sum, n)| sum / f64::from(n));
            assert!(present > absent + 0.2, "{absent} without the label, {present} with it");
            let surprise = surprise / rows.len() as f64;
            assert!(surprise < 0.6, "cross entropy {surprise}; a coin has 0.693");
        }
        assert_eq!(rows.iter().any(|row| row[4].is_empty()), is_numbers);
    }
}

/// The layout that users write, by a card. `data/numbers.npz` holds a ring of 60 nodes with two
/// numbers, `celsius` and `metre`.
#[test]
fn a_card_learns_numbers_from_a_file() {
    let cards = Cards::new(only(), env!("CARGO_MANIFEST_DIR"), "classifiers");
    let text = r#"(
        question: "How well are two numbers of nodes predicted?",
        dataset: Npz(path: "numbers.npz"),
        partition: Iid(n_clients: 3),
        strategy: FedAvg(
            model: (encoder: Sage),
            training: (epochs: 10, optimiser: Adam, learning_rate: 0.02),
            protocol: (rounds: 40),
        ),
    )"#;
    let scenario = cards.scenario_of(text).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let out = std::env::temp_dir().join(format!("folkmoot-tasks-{}", std::process::id()));
    let run = played(&scenario, &[data], &out, &mut ()).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    let run = run.completed();
    let value = |name: &str| run.summary[name];
    assert!(value("test_r2") > 0.6, "{:?}", run.summary);
    assert!(value("test_mae[target=celsius]") < 2.0 && value("test_mae[target=metre]") < 500.0);
    assert!(run.manifest.terms["test_own_worst_tenth_mae"].about.contains("highest"));
    for name in run.summary.keys() {
        let name = name.split(['@', '[']).next().unwrap();
        assert!(run.manifest.terms.contains_key(name), "{name} has no definition");
    }
}

#[test]
fn what_needs_classes_refuses_other_tasks_before_the_run() {
    let gta = "(method: FedGta(), protocol: (rounds: 1))";
    for dataset in [node_labels(), node_numbers()] {
        let why = refusal::<federated::Params>(gta, dataset.clone());
        assert!(
            why.contains("FedGta passes classes") && why.contains("Global()"),
            "{why}"
        );
        let why = refusal::<fed_avg::Params>("(attacks: [LossThreshold()], protocol: (rounds: 1))", dataset);
        assert!(
            why.contains("attacks.0: it attacks models of one class per item"),
            "{why}"
        );
    }
    let linked = "(attacks: [ClientLinking(rounds: 2)], protocol: (rounds: 3))";
    assert!(find(&play::<fed_avg::Params>(linked, node_numbers()), "linking_raw_auc").is_some());
}

#[test]
fn data_that_cannot_be_learned_are_refused_with_the_place() {
    let plain = "(protocol: (rounds: 1))";
    let with = |values: Vec<f32>, of_graphs: bool| Dataset {
        targets: Some(Targets::new(vec!["x".to_owned()], values, of_graphs).unwrap()),
        ..ring()
    };
    let mut values = vec![1.0; N as usize];
    values[7] = f32::INFINITY;
    let why = refusal::<fed_avg::Params>(plain, with(values, false));
    assert!(why.contains("the number x of item 7 is inf"), "{why}");
    let why = refusal::<fed_avg::Params>(plain, with(vec![f32::NAN; N as usize], false));
    assert!(why.contains("the number x is missing for every training item"), "{why}");
    let why = refusal::<fed_avg::Params>(plain, with(vec![1.0; 3], false));
    assert!(why.contains("labels for 3 items and 180 items"), "{why}");
    let n_nodes = graphs().n_nodes();
    let of_nodes = Dataset {
        graph_labels: None,
        targets: Some(Targets::new(vec!["x".to_owned()], vec![1.0; n_nodes], false).unwrap()),
        ..graphs()
    };
    let why = refusal::<fed_avg::Params>(&format!("({GIN}, protocol: (rounds: 1))"), of_nodes);
    assert!(why.contains("are of nodes, and its items are whole graphs"), "{why}");
    // Noise that hides clients does not hide what the scale of a number is made of.
    let private = "(protocol: (rounds: 1, weighting: Uniform, private: Clients(clip: 1.0)))";
    let why = refusal::<fed_avg::Params>(private, node_numbers());
    assert!(
        why.contains("mean and deviation of the numbers to predict are public"),
        "{why}"
    );
    play::<fed_avg::Params>(private, node_labels());
}

/// Of equal numbers the mean is the whole answer: nothing is divided by 0.
#[test]
fn a_number_that_is_always_the_same_is_predicted() {
    let dataset = Dataset {
        targets: Some(Targets::new(vec!["x".to_owned()], vec![7.5; N as usize], false).unwrap()),
        ..ring()
    };
    let outcome = play::<fed_avg::Params>(&format!("({REST}, protocol: (rounds: 20))"), dataset);
    assert!(number(&outcome, "test_mae") < 0.2 && find(&outcome, "test_r2").is_none());
}
