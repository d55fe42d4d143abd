//! What the network learns and how its inputs are scaled.

use super::{all_of, graphs, iid, number, play};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, Labels, SparseRows};
use folkmoot_scenarios::registry::Registry;
use folkmoot_strategies::gw_ldp::Params;
use folkmoot_strategies::settings::{Settings, Source};
use std::sync::Arc;

fn params(settings: &str) -> Params {
    let settings = format!(
        "({settings}, release: Plain, training: (optimiser: Sgd(), rate: 0.1), \
          protocol: (rounds: 40, server: Adam(rate: 0.03, tau: 1e-6)), evaluation: (metrics: [Released], svm: Off))"
    );
    Registry::shipped().settings(&settings).unwrap()
}

/// The generated graphs; their nodes bring a 1 and their degree, times `unit`, and the better connected half of them has a class of its own.
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

/// Three classes of graphs, two of nodes: what is learned decides how wide embeddings are, not what graphs are told apart by.
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
    assert_ne!(played(&metres, "Raw"), played(&millimetres, "Raw"));
    assert_ne!(played(&metres, "Raw"), played(&metres, "Standardised"));
}
