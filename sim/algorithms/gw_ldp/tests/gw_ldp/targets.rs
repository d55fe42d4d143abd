//! What the network learns and how its inputs are scaled.

use super::{all_of, graphs, iid, number, play};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, Labels, SparseRows};
use folkmoot_gw_ldp::Params;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

fn params(settings: &str) -> Params {
    let settings = format!(
        "({settings}, release: Plain, training: (optimiser: Sgd(), learning_rate: 0.1), \
          protocol: (rounds: 40, server_optimizer: Adam(learning_rate: 0.03, tau: 1e-6)), evaluation: (metrics: [Released], svm: Off))"
    );
    folkmoot_gw_ldp::only().settings(&settings).unwrap()
}

/// The generated graphs; their nodes bring a 1 and their degree, times `unit`, and the better
/// connected half of them has a class of its own.
fn with_nodes(unit: f32) -> Arc<Dataset> {
    let mut dataset = Arc::unwrap_or_clone(graphs());
    let degrees: Vec<usize> = dataset
        .graphs
        .iter()
        .flat_map(|graph| (0..graph.n_nodes() as u32).map(|node| graph.degree(node)))
        .collect();
    let rows: Vec<[(u32, f32); 2]> = degrees
        .iter()
        .map(|degree| [(0, 1.0), (1, *degree as f32 * unit)])
        .collect();
    dataset.features = Some(Features::Sparse(SparseRows::from_rows(2, &rows).unwrap()));
    let mut sorted = degrees.clone();
    sorted.sort_unstable();
    let half = sorted[sorted.len() / 2];
    let classes = degrees.iter().map(|degree| u32::from(*degree >= half));
    let pairs: Vec<(u32, u32)> = (0..).zip(classes).collect();
    dataset.node_labels = Some(Labels::from_pairs(degrees.len() as u32, 2, &pairs).unwrap());
    Arc::new(dataset)
}

fn scores(outcome: &Outcome) -> [f64; 2] {
    ["test_accuracy", "test_accuracy@majority_class"].map(|name| number(outcome, name))
}

/// Three classes of graphs, two of nodes: what is learned decides how wide embeddings are, not what
/// graphs are told apart by.
#[test]
fn nodes_labels_are_learned_in_a_set_of_graphs() {
    let dataset = with_nodes(1.0);
    let outcome = play(
        &params("target: NodeLabels, scale: Standardised, model: (encoder: Sage)"),
        &dataset,
    );
    let [accuracy, majority] = scores(&outcome);
    assert!(accuracy > majority + 0.15, "{accuracy} {majority}");
    let facts = |settings: &str| {
        let partition = iid(&dataset);
        let facts = params(settings).facts(&Source::new(&dataset, &partition, Streams::new(5)));
        facts.unwrap().network
    };
    let (nodes, classes) = (facts("target: NodeLabels"), facts("target: Classes"));
    assert_eq!((nodes.n_classes, nodes.classifies_graphs), (2, false));
    assert_eq!((classes.n_classes, classes.classifies_graphs), (3, true));
    // Twelve graphs test, by their own class.
    let right = number(&outcome, "knn5_accuracy") * 12.0;
    assert!((right - right.round()).abs() < 1e-9 && right > 0.0, "{right} of 12");
    // Batches are of graphs there, too.
    let in_batches = "target: NodeLabels, scale: Standardised, model: (encoder: Sage, dropout: 0.1, hidden: 32)";
    let mut batched = params(in_batches);
    batched.training.batch_size = Some(2);
    let [accuracy, majority] = scores(&play(&batched, &dataset));
    assert!(accuracy > majority + 0.15, "{accuracy} {majority}");
}

#[test]
fn nodes_without_labels_cannot_be_learned() {
    let (dataset, partition) = (graphs(), iid(&graphs()));
    let settings = params("target: NodeLabels, inputs: Degree(most: 8)");
    let prepared = settings.prepare(&Source::new(&dataset, &partition, Streams::new(5)));
    let said = "GwLdp: the data set has not one class for each node; set target: Classes";
    assert_eq!(prepared.map(|_| ()).unwrap_err(), StrategyError(said.to_owned()));
}

/// In units a thousand times as small the same is learned, bit for bit; without scaling it is not.
#[test]
fn standardised_inputs_have_no_unit() {
    let (metres, millimetres) = (with_nodes(1.0), with_nodes(1024.0));
    let played = |dataset, scale: &str| all_of(&play(&params(&format!("scale: {scale}")), dataset));
    assert_eq!(played(&metres, "Standardised"), played(&millimetres, "Standardised"));
    assert_eq!(played(&metres, "Federated"), played(&millimetres, "Federated"));
    assert_ne!(played(&metres, "Raw"), played(&millimetres, "Raw"));
    assert_ne!(played(&metres, "Raw"), played(&metres, "Standardised"));
}

/// What a run sent of each kind in a round: how many messages, and bytes.
fn sent(outcome: &Outcome, name: &str, of: u32) -> (u64, u64) {
    let cells = outcome
        .ledger
        .rows()
        .filter(|(kind, round, ..)| kind.name == name && round.0 == of);
    cells
        .map(|(.., cell)| (cell.sent, cell.payload_bytes))
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

/// Two numbers a node: 16 bytes for each and 8 more from a client, 8 for each with every model.
#[test]
fn statistics_are_asked_for_once_and_charged() {
    let dataset = with_nodes(1.0);
    let federated = play(&params("scale: Federated"), &dataset);
    assert_eq!(sent(&federated, "opening", 0), (6, 0));
    assert_eq!(sent(&federated, "statistics", 0), (6, 6 * 40));
    assert_eq!(sent(&federated, "model", 0), (0, 0));
    let raw = play(&params("scale: Raw"), &dataset);
    let (n, bytes) = sent(&raw, "model", 1);
    assert_eq!(sent(&federated, "model", 1), (n, bytes + 6 * 16));
    assert_eq!(sent(&federated, "update", 1), sent(&raw, "update", 1));
    let charged = federated.tables.privacy.last().unwrap();
    assert_eq!((charged.mechanism.as_str(), charged.releases), ("none: statistics", 6));
    assert_eq!(charged.epsilon_max_client, f64::INFINITY);
    assert_eq!(raw.tables.privacy.len() + 1, federated.tables.privacy.len());
}

/// One client has nobody to pool with, so its own scale is that of all, and a round less is
/// trained.
#[test]
fn alone_the_scale_of_all_is_ones_own() {
    let dataset = with_nodes(1024.0);
    let partition = super::divide(&dataset, &folkmoot_graphs::partition::Iid { n_clients: 1 });
    let played = |scale: &str, rounds| {
        let mut params = params(&format!("scale: {scale}, target: NodeLabels, model: (encoder: Sage)"));
        params.protocol.rounds = rounds;
        super::try_play(
            &params,
            &dataset,
            &partition,
            &World::ideal(),
            super::Options::default(),
        )
    };
    let (own, federated) = (played("Standardised", 40), played("Federated", 41));
    let [accuracy, majority] = scores(&own);
    assert!(accuracy > majority + 0.15, "{accuracy} {majority}");
    assert!(
        (scores(&federated)[0] - accuracy).abs() < 0.02,
        "{accuracy} {:?}",
        scores(&federated)
    );
}

#[test]
fn masked_statistics_come_to_the_same_scale() {
    let dataset = with_nodes(1.0);
    let played = |secure: &str| {
        let mut params = params("scale: Federated, target: NodeLabels, model: (encoder: Sage)");
        params.protocol.secure = ron::from_str(secure).unwrap();
        play(&params, &dataset)
    };
    let (plain, masked) = (played("Off"), played("Pairwise(threshold: 0.67)"));
    assert_eq!(sent(&masked, "statistics", 0), (0, 0));
    assert_eq!(sent(&masked, "masked_update", 0), (6, 6 * 6 * 8));
    let charged = masked.tables.privacy.last().unwrap();
    assert_eq!(
        (charged.mechanism.as_str(), charged.releases),
        ("none: sum of statistics", 6)
    );
    let [accuracy, majority] = scores(&plain);
    assert!(accuracy > majority + 0.15, "{accuracy} {majority}");
    assert!(
        (scores(&masked)[0] - accuracy).abs() < 0.03,
        "{accuracy} {:?}",
        scores(&masked)
    );
}

/// Where a round cannot be given to statistics, or nobody gives any, that is said.
#[test]
fn a_scale_that_nobody_can_have_is_refused() {
    let broken = |settings: &str| {
        let settings = format!("(scale: Federated, {settings})");
        let error = folkmoot_gw_ldp::only().settings::<Params>(&settings).unwrap_err();
        error.to_string()
    };
    let said = broken("protocol: (rounds: 1)");
    assert!(said.contains("protocol.rounds: must be at least 2"), "{said}");
    let said = broken("protocol: (aggregation: Buffered(size: 2)), collect: Every(1)");
    assert!(said.contains("protocol.aggregation: must be Synchronous"), "{said}");
    let world = World {
        availability: Box::new(folkmoot_engine::world::availability::Bernoulli { online_prob: 0.0 }),
        ..World::ideal()
    };
    let dataset = with_nodes(1.0);
    let params = params("scale: Federated");
    let prepared = params
        .prepare(&Source::new(&dataset, &iid(&dataset), Streams::new(5)))
        .unwrap();
    let ended = run(prepared.system(), &world, 5, super::Options::default(), &mut Unobserved);
    let said = ended.err().unwrap().to_string();
    assert!(said.contains("no client gave the statistics"), "{said}");
}
