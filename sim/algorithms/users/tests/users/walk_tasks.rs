//! A walk that learns numbers of nodes.

use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph, Partitioner, SparseRows, Targets, partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_users::walk_sgd::Params;
use std::sync::Arc;

/// Numbers are three apart by the one feature of a node, in a ring.
#[test]
fn a_walk_learns_numbers() {
    let n = 120;
    let edges: Vec<(u32, u32)> = (0..n).map(|v| (v, (v + 1) % n)).collect();
    let rows: Vec<[(u32, f32); 1]> = (0..n).map(|v| [(v % 3, 1.0)]).collect();
    let values = (0..n).map(|v| 40.0 + 3.0 * (v % 3) as f32).collect();
    let dataset = Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        targets: Some(Targets::new(vec!["x".to_owned()], values, false).unwrap()),
        ..Dataset::of_graph("ring", Graph::from_edges(n, &edges, false).unwrap())
    });
    let spec = partition::Iid { n_clients: 4 };
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let partition = Arc::new(spec.divide(&dataset, &mut rng).unwrap());
    let card = "(model: (encoder: Mlp), steps: 800, report_every: 200, topology: Ring(), learning_rate: 0.1)";
    let params: Params = folkmoot_users::only().settings(card).unwrap();
    let prepared = params
        .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
        .unwrap();
    let options = Options::default();
    let outcome = run(prepared.system(), &World::ideal(), 7, options, &mut Unobserved).unwrap();
    let number = |name: &str| {
        let found = outcome.summary.iter().find(|(key, _)| key == name);
        found.unwrap_or_else(|| panic!("{name}: {:?}", outcome.summary)).1
    };
    assert!(
        number("test_r2") > 0.8 && number("test_r2@training_mean") <= 0.0,
        "{:?}",
        outcome.summary
    );
    assert!(number("test_mae") < 1.2, "{:?}", outcome.summary);
}
