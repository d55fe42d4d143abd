//! What the order of nodes tells, and whom.

use super::{graphs, number, params, play_on};
use folkmoot_classifiers::classifier::Inputs;
use folkmoot_engine::prelude::*;
use folkmoot_fgcl::{NodeOrder, Setting};
use folkmoot_graphs::{Features, GraphBuilder, SparseRows};

/// Networks see no order: the same is learned but for the order of sums, from features that differ
/// from node to node.
#[test]
fn networks_do_not_see_the_order_of_nodes() {
    let losses = |node_order| {
        let mut params = params(Setting::Federated);
        params.inputs = Inputs::Features;
        params.model.dropout = 0.0;
        params.node_order = node_order;
        let mut dataset = graphs();
        let rows: Vec<[(u32, f32); 1]> = (0..dataset.n_nodes() as u32).map(|node| [(node % 5, 1.0)]).collect();
        dataset.features = Some(Features::Sparse(SparseRows::from_rows(5, &rows).unwrap()));
        let outcome = play_on(dataset, &params, Options::default());
        outcome
            .tables
            .scores
            .iter()
            .filter(|row| row.metric == "loss")
            .map(|row| row.value)
            .collect::<Vec<f64>>()
    };
    let (read, shuffled) = (losses(NodeOrder::AsRead), losses(NodeOrder::Shuffled));
    assert_eq!(read.len(), shuffled.len());
    assert!(read.len() > 2);
    for (one, other) in read.iter().zip(&shuffled) {
        assert!((one - other).abs() < 1e-4 * one.abs(), "{read:?} {shuffled:?}");
    }
}

/// Rings whose neighbours stand beside each other: their places tell every edge but one, and in
/// another order none.
#[test]
fn a_shuffled_order_tells_no_edge() {
    let at = |node_order| {
        let mut params = params(Setting::Noise { epsilon: 1e-6 });
        params.protocol.rounds = 1;
        params.node_order = node_order;
        let mut dataset = graphs();
        let ring = |n: u32| (0..n).map(move |u| (u, (u + 1) % n)).collect::<Vec<_>>();
        let graph = || GraphBuilder::new(12).build(&ring(12)).unwrap().0;
        dataset.graphs.iter_mut().for_each(|one| *one = graph());
        play_on(dataset, &params, Options::default())
    };
    let (read, shuffled) = (at(NodeOrder::AsRead), at(NodeOrder::Shuffled));
    assert!(number(&read, "edge_guess_auc@prior") > 0.99);
    // Thirty graphs and more of 12 edges and 54 other pairs: a deviation of 0.02.
    let auc = number(&shuffled, "edge_guess_auc@prior");
    assert!((auc - 0.5).abs() < 0.08, "{auc}");
}
