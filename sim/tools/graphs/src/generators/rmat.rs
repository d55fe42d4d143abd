//! R-MAT graphs: the adjacency matrix is quartered again and again, and an edge falls into the
//! quarters unequally.
//!
//! D. Chakrabarti, Y. Zhan, C. Faloutsos. R-MAT: A Recursive Model for Graph Mining. SDM 2004. Node
//! ids are shuffled afterwards, because the model gives small ids large degrees.

use folkmoot_draws::SimRng;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{distinct_edges, key, pair};

/// Checked parameters: the probabilities of the quarters are `a`, `b`, `c` and `1 - a - b - c`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rmat {
    pub(crate) n_nodes: u32,
    pub(crate) mean_degree: f64,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: f64,
}

/// Attempts to draw an edge within `n_nodes` if that is no power of two, before a uniform one is
/// taken instead.
const MAX_ATTEMPTS: u32 = 64;

/// Draws `n_nodes × mean_degree / 2` distinct edges, as far as the model yields them.
///
/// # Complexity
/// O(n_edges log n_nodes) time, 8 bytes an edge and 4 a node.
pub(crate) fn rmat(parameters: &Rmat, rng: &mut SimRng) -> Vec<u64> {
    let n_nodes = parameters.n_nodes;
    let levels = n_nodes.next_power_of_two().trailing_zeros();
    // One 32-bit draw decides a level; quarters are compared as integers.
    let scale = |share: f64| (share * f64::from(u32::MAX)) as u32;
    let to_a = scale(parameters.a);
    let to_b = scale(parameters.a + parameters.b);
    let to_c = scale(parameters.a + parameters.b + parameters.c);
    let cell = |rng: &mut SimRng| {
        let (mut row, mut column) = (0_u32, 0_u32);
        for _ in 0..levels {
            let draw = rng.random::<u32>();
            row = row << 1 | u32::from(draw >= to_b);
            column = column << 1 | u32::from((draw >= to_a && draw < to_b) || draw >= to_c);
        }
        (row, column)
    };
    let n_edges = (f64::from(n_nodes) * parameters.mean_degree / 2.0) as usize;
    let mut edges = distinct_edges(n_edges, rng, |rng| {
        for _ in 0..MAX_ATTEMPTS {
            let (u, v) = cell(rng);
            if u < n_nodes && v < n_nodes {
                return (u, v);
            }
        }
        (super::node(n_nodes, rng), super::node(n_nodes, rng))
    });
    let mut ids: Vec<u32> = (0..n_nodes).collect();
    ids.shuffle(rng);
    for edge in &mut edges {
        let (u, v) = pair(*edge);
        *edge = key(ids[u as usize], ids[v as usize]);
    }
    edges
}
