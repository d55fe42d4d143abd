//! DeepWalk as a run: what it sends, what it learns, and that nothing else decides.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::availability;
use folkmoot_graphs::{Dataset, Graph, Labels, Partition};
use folkmoot_learning::skip_gram::SkipGram;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_walks::deep_walk::Params;
use folkmoot_walks::node_embedding::{Embedding, Facts};
use std::sync::Arc;

/// Ten cliques of ten, joined in a ring, each clique a class.
fn cliques() -> Arc<Dataset> {
    let clique = |c: u32| (0..10).flat_map(move |i| (0..i).map(move |j| (10 * c + i, 10 * c + j)));
    let mut edges: Vec<(u32, u32)> = (0..10).flat_map(clique).collect();
    edges.extend((0..10).map(|c| (10 * c, (10 * c + 10) % 100)));
    let classes: Vec<Option<u32>> = (0..100).map(|v| Some(v / 10)).collect();
    let mut dataset = Dataset::of_graph("cliques", Graph::from_edges(100, &edges, false).unwrap());
    dataset.node_labels = Some(Labels::from_single(10, &classes).unwrap());
    Arc::new(dataset)
}

fn params() -> Params {
    Params {
        walks_per_node: 20,
        walk_length: 20,
        embedding: Embedding::SkipGram(SkipGram {
            dim: 32,
            window: 5,
            epochs: 4,
            ..SkipGram::default()
        }),
        ..Params::default()
    }
}

fn play(dataset: &Arc<Dataset>, params: Params, world: &World, options: Options) -> Result<Outcome, RunError> {
    let partition = Arc::new(Partition::one_item_each(dataset.n_nodes() as u32));
    let system = params
        .prepare(&Source::new(dataset, &partition, Streams::new(3)))
        .unwrap();
    run(system.system(), world, 3, options, &mut Unobserved)
}

fn number(outcome: &Outcome, name: &str) -> Option<f64> {
    Some(outcome.summary.iter().find(|(key, _)| key == name)?.1)
}

#[test]
fn it_sends_every_edge_twice_and_learns_the_classes() {
    let dataset = cliques();
    let outcome = play(&dataset, params(), &World::ideal(), Options::default()).unwrap();
    let total = outcome.ledger.total();
    assert_eq!((total.sent, total.delivered), (100, 100));
    assert_eq!(total.payload_bytes, 8 * dataset.graph().n_edges() as u64);
    assert!(number(&outcome, "micro_f1[train_ratio=0.5]").unwrap() > 0.9);
    assert_eq!(outcome.tables.privacy[0].epsilon_max_client, f64::INFINITY);
    assert_eq!(outcome.artifacts[0].path, "embeddings.npy");
}

#[test]
fn threads_windows_and_encoding_do_not_matter() {
    let print = |options| {
        let outcome = play(&cliques(), params(), &World::ideal(), options).unwrap();
        format!(
            "{:?} {:?} {:?}",
            outcome.tables.scores, outcome.summary, outcome.artifacts
        )
    };
    let first = print(Options::default());
    for (threads, windows, wire_check) in [(2, true, true), (1, false, false), (8, true, false)] {
        let options = Options {
            threads,
            windows,
            wire_check,
            ..Options::default()
        };
        assert!(print(options) == first, "{options:?}");
    }
}

#[test]
fn an_absent_device_is_known_by_its_neighbours() {
    let world = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.8 }),
        deadline: Some(SimSpan::from_secs(1.0)),
        ..World::ideal()
    };
    let outcome = play(&cliques(), params(), &world, Options::default()).unwrap();
    let round = &outcome.tables.rounds[0];
    assert!(round.dropped > 0 && round.completed + round.dropped == 100, "{round:?}");
    assert!(number(&outcome, "micro_f1[train_ratio=0.5]").unwrap() > 0.8);
}

#[test]
fn nothing_to_learn_from_is_an_error_and_nothing_to_learn_is_none() {
    let lonely = Arc::new(Dataset::of_graph("lonely", Graph::from_edges(3, &[], false).unwrap()));
    let error = play(&lonely, params(), &World::ideal(), Options::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains("set embedding: Off"), "{error}");
    let off = Params {
        embedding: Embedding::Off,
        ..params()
    };
    let outcome = play(&lonely, off, &World::ideal(), Options::default()).unwrap();
    assert!(outcome.artifacts.is_empty());
    let directed = Arc::new(Dataset::of_graph(
        "arcs",
        Graph::from_edges(3, &[(0, 1)], true).unwrap(),
    ));
    let partition = Arc::new(Partition::one_item_each(3));
    let source = Source::new(&directed, &partition, Streams::new(1));
    assert!(params().prepare(&source).is_err());
}

/// The frontier's two ends: at a large epsilon the server has the graph, at a small one a coin, and
/// the vectors follow.
#[test]
fn at_equal_epsilon_the_server_knows_what_randomised_response_leaves() {
    let dataset = cliques();
    let at = |epsilon| {
        let params = Params {
            epsilon: Some(epsilon),
            ..params()
        };
        let outcome = play(&dataset, params, &World::ideal(), Options::default()).unwrap();
        let row = &outcome.tables.privacy[0];
        assert_eq!(
            (row.releases, row.epsilon_max_client, row.epsilon_claimed),
            (100, epsilon, Some(epsilon))
        );
        let named = |name: &str| number(&outcome, name).unwrap();
        let f1 = named("micro_f1[train_ratio=0.5]");
        let told = ["recall", "precision", "auc"].map(|name| named(&format!("told_edges_{name}")));
        let n_told = outcome.ledger.total().payload_bytes / 4;
        (told, f1, named("vector_edge_auc"), n_told)
    };
    let (open, f1, edges, n_told) = at(20.0);
    assert_eq!((open, n_told), ([1.0; 3], dataset.graph().n_edges() as u64));
    assert!(f1 > 0.9 && edges > 0.8, "{f1} {edges}");

    let ([recall, precision, auc], f1, edges, n_told) = at(1e-3);
    // 460 edges among 4 950 pairs, of which half are told of.
    assert!((recall - 0.5).abs() < 4.0 * (0.25_f64 / 460.0).sqrt(), "{recall}");
    assert!(
        (precision - 460.0 / 4950.0).abs() < 0.03 && (auc - 0.5).abs() < 0.1,
        "{precision} {auc}"
    );
    assert!(
        (n_told as f64 - 2475.0).abs() < 4.0 * (4950.0_f64 / 4.0).sqrt(),
        "{n_told}"
    );
    assert!(f1 < 0.3 && (edges - 0.5).abs() < 0.1, "{f1} {edges}");
}

#[test]
fn an_epsilon_that_would_fill_the_graph_is_refused() {
    let params = Params {
        epsilon: Some(2.0),
        ..params()
    };
    let at = |n_nodes| params.build(&Facts { n_nodes }).map(|_| ()).map_err(|error| error.0);
    assert_eq!(at(10_312), Ok(()));
    let refused = at(80_513).unwrap_err();
    assert!(
        refused.starts_with(
            "epsilon: must leave at most 50000000 false edges among the 3241131328 pairs of vertices, got 386"
        ),
        "{refused}"
    );
    assert!(refused.ends_with("expected at 2; take 4.16 or more"), "{refused}");
}
