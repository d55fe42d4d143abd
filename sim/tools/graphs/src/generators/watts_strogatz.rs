//! Watts–Strogatz graphs: a ring lattice some of whose edges are rewired.
//!
//! D. J. Watts, S. H. Strogatz. Collective Dynamics of 'Small-World' Networks. Nature 393 (1998). A
//! node keeps its end of the `neighbours / 2` edges it owns, so no degree falls below that.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;

use super::{Generator, assemble, key, most_neighbours, node};
use crate::{DataError, Dataset};

/// Small-world graph: a rewired ring (Watts & Strogatz 1998); the minimum degree is
/// `neighbours / 2`.
#[component(name = "WattsStrogatz", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WattsStrogatz {
    /// Number of nodes.
    #[component(default = 1_000, in = 3..=67_108_864)]
    pub n_nodes: u32,
    /// Number of neighbours on the ring, even, 2..=1024 and below `n_nodes`.
    #[component(default = 10)]
    pub neighbours: u32,
    /// Probability that an edge is rewired.
    #[component(default = 0.1, in = 0..=1)]
    pub rewire_prob: f64,
}

impl WattsStrogatz {
    fn rules(&self, rules: &mut Rules) {
        let (n_nodes, got) = (self.n_nodes, self.neighbours);
        if !rules.is_broken("n_nodes") {
            let most = most_neighbours(n_nodes);
            let rule = format!("must be even and lie in 2..={most} with {n_nodes} nodes, got {got}");
            rules.require(got.is_multiple_of(2) && (2..=most).contains(&got), "neighbours", rule);
        }
    }
}

impl Generator for WattsStrogatz {
    const ENTRY: [&'static str; 2] = ["WattsStrogatz()", "generated: small world, a rewired ring"];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        self.neighbours.into()
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let edges = watts_strogatz(self.n_nodes, self.neighbours, self.rewire_prob, rng);
        assemble(Self::NAME, self.n_nodes, edges, None, (0, 0))
    }
}

/// Attempts to draw a new neighbour before the next free id is taken instead.
const MAX_ATTEMPTS: u32 = 64;

/// Draws the edges; needs an even `neighbours` with `2 <= neighbours < n_nodes`, and `rewire_prob`
/// in 0..=1.
///
/// # Determinism
/// Draws one value for each edge, and one for each attempt to rewire it; at most 64.
pub(crate) fn watts_strogatz(n_nodes: u32, neighbours: u32, rewire_prob: f64, rng: &mut SimRng) -> Vec<u64> {
    let reach = neighbours / 2;
    let mut adjacent: Vec<Vec<u32>> = (0..n_nodes)
        .map(|u| {
            (1..=reach)
                .flat_map(|step| [(u + step) % n_nodes, (u + n_nodes - step) % n_nodes])
                .collect()
        })
        .collect();
    for step in 1..=reach {
        for u in 0..n_nodes {
            let old = (u + step) % n_nodes;
            // A node that knows all others has nowhere to go.
            if rng.random::<f64>() >= rewire_prob || adjacent[u as usize].len() as u32 >= n_nodes - 1 {
                continue;
            }
            let mut new = u;
            for _ in 0..MAX_ATTEMPTS {
                new = node(n_nodes, rng);
                if new != u && !adjacent[u as usize].contains(&new) {
                    break;
                }
            }
            while new == u || adjacent[u as usize].contains(&new) {
                new = (new + 1) % n_nodes;
            }
            adjacent[u as usize].retain(|&other| other != old);
            adjacent[old as usize].retain(|&other| other != u);
            adjacent[u as usize].push(new);
            adjacent[new as usize].push(u);
        }
    }
    let each = |(u, others): (usize, &Vec<u32>)| {
        let u = u as u32;
        others
            .iter()
            .filter(|&&v| v > u)
            .map(|&v| key(u, v))
            .collect::<Vec<_>>()
    };
    adjacent.iter().enumerate().flat_map(each).collect()
}
