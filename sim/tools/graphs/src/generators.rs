//! Random graphs, simple and undirected but for control flow, drawn on one thread, the same for the
//! same stream.
//!
//! Each generator is one function of its checked parameters and a stream. Degrees that a model
//! leaves at 0 can be lifted to `min_degree` afterwards ([`Lift`]); every repair has a bound, and
//! what it added is noted in the data set.

mod barabasi_albert;
mod control_flow;
mod dc_sbm;
mod erdos_renyi;
mod graph_classes;
mod lift;
mod marks;
mod rmat;
mod watts_strogatz;

use folkmoot_draws::SimRng;
use rand::RngExt;

pub(crate) use barabasi_albert::barabasi_albert;
pub(crate) use control_flow::{ControlFlow, N_COUNTS, control_flow};
pub(crate) use dc_sbm::{DcSbm, dc_sbm};
pub(crate) use erdos_renyi::erdos_renyi;
pub(crate) use graph_classes::{N_MODELS, graph_of_class, n_nodes_between};
pub(crate) use lift::lift;
pub(crate) use marks::marks;
pub(crate) use rmat::{Rmat, rmat};
pub(crate) use watts_strogatz::watts_strogatz;

/// A node drawn uniformly from `0..n_nodes`.
fn node(n_nodes: u32, rng: &mut SimRng) -> u32 {
    rng.random_range(0..n_nodes)
}

/// An undirected edge as one sortable number, smaller id first.
fn key(u: u32, v: u32) -> u64 {
    u64::from(u.min(v)) << 32 | u64::from(u.max(v))
}

/// The edge that [`key`] stands for.
pub(crate) fn pair(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// After this many rounds [`distinct_edges`] is content with fewer edges: a model that keeps
/// drawing the same ones has no more.
const MAX_ROUNDS: u32 = 24;

/// Draws edges until `n_edges` distinct ones without self loops are there, or [`MAX_ROUNDS`] rounds
/// have passed.
///
/// Each round draws as many candidates as are missing, so the edges kept follow the law of `draw`
/// given that they differ. Returned sorted, 8 bytes an edge.
fn distinct_edges(n_edges: usize, rng: &mut SimRng, mut draw: impl FnMut(&mut SimRng) -> (u32, u32)) -> Vec<u64> {
    let mut edges: Vec<u64> = Vec::with_capacity(n_edges);
    for _ in 0..MAX_ROUNDS {
        for _ in 0..n_edges - edges.len() {
            let (u, v) = draw(rng);
            if u != v {
                edges.push(key(u, v));
            }
        }
        // The stable sort recognises the long sorted run left by the round before.
        edges.sort();
        edges.dedup();
        if edges.len() == n_edges {
            break;
        }
    }
    edges
}

#[cfg(test)]
mod tests;
