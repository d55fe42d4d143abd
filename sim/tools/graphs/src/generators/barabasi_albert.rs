//! Barabási–Albert graphs: each new node links to old ones in proportion to their degrees.
//!
//! A.-L. Barabási, R. Albert. Emergence of Scaling in Random Networks. Science 286 (1999). The
//! first `edges_per_node + 1` nodes form a clique, so no node has a degree below `edges_per_node`.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;

use super::{Generator, assemble, key, most_neighbours};
use crate::{DataError, Dataset};

/// Preferential attachment (Barabási & Albert 1999); the minimum degree is `edges_per_node`.
#[component(name = "BarabasiAlbert", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarabasiAlbert {
    /// Number of nodes.
    #[component(default = 1_000, in = 2..=67_108_864)]
    pub n_nodes: u32,
    /// Number of edges of each new node, 1..=1024 and below `n_nodes`.
    #[component(default = 5)]
    pub edges_per_node: u32,
}

impl BarabasiAlbert {
    fn rules(&self, rules: &mut Rules) {
        let (n_nodes, got) = (self.n_nodes, self.edges_per_node);
        if !rules.is_broken("n_nodes") {
            let most = most_neighbours(n_nodes);
            let rule = format!("must lie in 1..={most} with {n_nodes} nodes, got {got}");
            rules.require((1..=most).contains(&got), "edges_per_node", rule);
        }
    }
}

impl Generator for BarabasiAlbert {
    const ENTRY: [&'static str; 2] = ["BarabasiAlbert()", "generated: preferential attachment"];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        2.0 * f64::from(self.edges_per_node)
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let edges = barabasi_albert(self.n_nodes, self.edges_per_node, rng);
        assemble(Self::NAME, self.n_nodes, edges, None, (0, 0))
    }
}

/// Attempts to draw a new target before the next free id is taken instead.
const MAX_ATTEMPTS: u32 = 64;

/// Draws the edges; needs `1 <= edges_per_node < n_nodes`.
///
/// # Determinism
/// Draws one value for each attempt; at most 64 for each edge.
pub(crate) fn barabasi_albert(n_nodes: u32, edges_per_node: u32, rng: &mut SimRng) -> Vec<u64> {
    let n_edges = edges_per_node as usize * n_nodes as usize;
    let mut edges = Vec::with_capacity(n_edges);
    // Every edge puts both its ends here, so a uniform draw is a draw in proportion to degree.
    let mut ends: Vec<u32> = Vec::with_capacity(2 * n_edges);
    for v in 1..=edges_per_node {
        for u in 0..v {
            edges.push(key(u, v));
            ends.extend([u, v]);
        }
    }
    let mut targets: Vec<u32> = Vec::new();
    for new in edges_per_node + 1..n_nodes {
        targets.clear();
        let n_ends = ends.len() as u64;
        while targets.len() < edges_per_node as usize {
            let mut target = 0;
            for _ in 0..MAX_ATTEMPTS {
                target = ends[rng.random_range(0..n_ends) as usize];
                if !targets.contains(&target) {
                    break;
                }
            }
            // Fewer targets are taken than there are old nodes, so this walk ends.
            while targets.contains(&target) {
                target = (target + 1) % new;
            }
            targets.push(target);
        }
        for &target in &targets {
            edges.push(key(target, new));
            ends.extend([target, new]);
        }
    }
    edges
}
