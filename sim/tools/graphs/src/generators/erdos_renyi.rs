//! Erdős–Rényi graphs G(n, p): every pair is an edge with the same probability, independently.

use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Rules, component};
use rand::RngExt;

use super::{Generator, assemble, check_mean_degree, check_min_degree, key, lift, node};
use crate::{DataError, Dataset};

/// G(n, p) with p = mean_degree / (n_nodes − 1).
#[component(name = "ErdosRenyi", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErdosRenyi {
    /// Number of nodes.
    #[component(default = 1_000, in = 2..=67_108_864)]
    pub n_nodes: u32,
    /// Expected degree, in 0..=n_nodes − 1.
    #[component(default = 10.0)]
    pub mean_degree: f64,
    /// Minimum degree, at most 64.
    #[component(default = 1)]
    pub min_degree: u32,
}

impl ErdosRenyi {
    fn rules(&self, rules: &mut Rules) {
        if !rules.is_broken("n_nodes") {
            check_mean_degree(self.mean_degree, self.n_nodes, f64::from(self.n_nodes) - 1.0, rules);
            check_min_degree(self.min_degree, self.n_nodes, rules);
        }
    }
}

impl Generator for ErdosRenyi {
    const ENTRY: [&'static str; 2] = ["ErdosRenyi()", "generated: independent edges"];

    fn n_nodes(&self) -> u64 {
        self.n_nodes.into()
    }

    fn mean_degree(&self) -> f64 {
        self.mean_degree
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let (n_nodes, min_degree) = (self.n_nodes, self.min_degree);
        let mut edges = erdos_renyi(n_nodes, self.mean_degree, rng);
        let added = lift(n_nodes, &mut edges, min_degree, rng, |_, rng| node(n_nodes, rng));
        assemble(Self::NAME, n_nodes, edges, None, (added, min_degree))
    }
}

/// Draws the edges of G(n, p) with p = mean_degree / (n − 1), as sorted keys.
///
/// Skips straight to the next edge by a geometric draw (V. Batagelj, U. Brandes. Efficient
/// Generation of Large Random Networks. Phys. Rev. E 71 (2005)), so the cost is that of the edges,
/// not of the pairs.
///
/// # Determinism
/// Draws one value for each edge and one more; none if p is 0 or 1.
pub(crate) fn erdos_renyi(n_nodes: u32, mean_degree: f64, rng: &mut SimRng) -> Vec<u64> {
    let p = mean_degree / (f64::from(n_nodes) - 1.0);
    let n_pairs = u64::from(n_nodes) * (u64::from(n_nodes) - 1) / 2;
    let mut edges = Vec::new();
    if p <= 0.0 {
        return edges;
    }
    // Pairs are counted (1, 0), (2, 0), (2, 1), (3, 0) and so on; `row` has `row` pairs, from
    // `row_start` on.
    let (mut at, mut row, mut row_start) = (0_u64, 1_u64, 0_u64);
    let log_no_edge = libm::log1p(-p);
    loop {
        if p < 1.0 {
            // 1 - u lies in (0, 1]. A skip beyond all pairs ends the graph; the cast saturates.
            let skip = libm::floor(libm::log(1.0 - rng.random::<f64>()) / log_no_edge) as u64;
            at = at.saturating_add(skip);
        }
        if at >= n_pairs {
            break;
        }
        while at - row_start >= row {
            row_start += row;
            row += 1;
        }
        edges.push(key((at - row_start) as u32, row as u32));
        at += 1;
    }
    edges.sort_unstable();
    edges
}
