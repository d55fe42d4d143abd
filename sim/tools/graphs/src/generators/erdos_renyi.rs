//! Erdős–Rényi graphs G(n, p): every pair is an edge with the same probability, independently.

use folkmoot_draws::SimRng;
use rand::RngExt;

use super::key;

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
