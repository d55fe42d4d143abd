//! R-MAT graphs: the adjacency matrix is quartered again and again, and an edge falls into the
//! quarters unequally.
//!
//! D. Chakrabarti, Y. Zhan, C. Faloutsos. R-MAT: A Recursive Model for Graph Mining. SDM 2004. Node
//! ids are shuffled afterwards, because the model gives small ids large degrees.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{
    Generator, assemble, check_mean_degree, check_min_degree, distinct_edges, half, key, lift, n_edges, node,
    note_missing, pair,
};
use crate::{DataError, Dataset};

/// R-MAT, recursive matrix model (Chakrabarti, Zhan & Faloutsos 2004), for graphs of a million
/// nodes; any number of nodes.
#[component(name = "Rmat", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmat {
    /// Number of nodes.
    #[component(default = 1_048_576, in = 2..=67_108_864)]
    pub n_nodes: u32,
    /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
    #[component(default = 16.0)]
    pub mean_degree: f64,
    /// Probability of the first quadrant.
    #[component(default = 0.57, in = 0..=1)]
    pub a: f64,
    /// Probability of the second quadrant.
    #[component(default = 0.19, in = 0..=1)]
    pub b: f64,
    /// Probability of the third quadrant; the fourth has the rest.
    #[component(default = 0.19, in = 0..=1)]
    pub c: f64,
    /// Minimum degree, at most 64.
    #[component(default = 1)]
    pub min_degree: u32,
}

impl Rmat {
    fn rules(&self, rules: &mut Rules) {
        if rules.is_broken("n_nodes") {
            return;
        }
        check_mean_degree(self.mean_degree, self.n_nodes, half(self.n_nodes), rules);
        check_min_degree(self.min_degree, self.n_nodes, rules);
        // Rounding may carry shares that add up to 1 in decimals a little beyond it.
        let sum = self.a + self.b + self.c;
        let rule = format!("with a and b must add up to at most 1, got {sum}");
        rules.require(sum.is_nan() || sum <= 1.0 + 1e-12, "c", rule);
    }
}

impl Generator for Rmat {
    const ENTRY: [&'static str; 2] = ["Rmat()", "generated: recursive model, for a million nodes"];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        self.mean_degree
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let (n_nodes, min_degree) = (self.n_nodes, self.min_degree);
        let mut edges = rmat(self, rng);
        let missing = n_edges(n_nodes, self.mean_degree) - edges.len();
        // An end of an edge drawn uniformly: nodes in proportion to their degrees, as the model
        // would.
        let ends = edges.clone();
        let added = lift(n_nodes, &mut edges, min_degree, rng, |_, rng| {
            if ends.is_empty() {
                return node(n_nodes, rng);
            }
            let edge = ends[rng.random_range(0..ends.len() as u64) as usize];
            (edge >> (32 * rng.random_range(0..2_u32))) as u32
        });
        drop(ends);
        let mut dataset = assemble(Self::NAME, n_nodes, edges, None, (added, min_degree))?;
        note_missing(&mut dataset, missing);
        Ok(dataset)
    }
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
    let mut edges = distinct_edges(n_edges(n_nodes, parameters.mean_degree), rng, |rng| {
        for _ in 0..MAX_ATTEMPTS {
            let (u, v) = cell(rng);
            if u < n_nodes && v < n_nodes {
                return (u, v);
            }
        }
        (node(n_nodes, rng), node(n_nodes, rng))
    });
    let mut ids: Vec<u32> = (0..n_nodes).collect();
    ids.shuffle(rng);
    for edge in &mut edges {
        let (u, v) = pair(*edge);
        *edge = key(ids[u as usize], ids[v as usize]);
    }
    edges
}
