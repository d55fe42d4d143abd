//! A set of labelled graphs, one random model for each class: something to learn without any file.
//!
//! All models have a mean degree near 4, so that a classifier must look at how degrees are spread
//! and where edges lead.

use folkmoot_draws::SimRng;
use rand::RngExt;

use super::{barabasi_albert, erdos_renyi, watts_strogatz};

/// How many models there are.
pub(crate) const N_MODELS: u32 = 3;

/// Draws the edges of one graph of `class`, with 4 nodes or more: 0 a ring of 4 neighbours each
/// with a tenth of its edges rewired, 1 preferential attachment of 2 edges a node, 2 independent
/// edges.
///
/// # Determinism
/// As the models draw.
pub(crate) fn graph_of_class(class: u32, n_nodes: u32, rng: &mut SimRng) -> Vec<u64> {
    match class {
        0 => watts_strogatz(n_nodes, 4, 0.1, rng),
        1 => barabasi_albert(n_nodes, 2, rng),
        _ => erdos_renyi(n_nodes, 4.0, rng),
    }
}

/// The number of nodes of one graph.
pub(crate) fn n_nodes_between(least: u32, most: u32, rng: &mut SimRng) -> u32 {
    rng.random_range(least..=most)
}
