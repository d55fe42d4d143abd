//! Lifting small degrees: a client without a neighbour cannot take part in a protocol on a graph.

use std::collections::BTreeSet;

use folkmoot_draws::SimRng;

use super::key;

/// Adds edges until every node has at least `min_degree` (or all others as neighbours), and returns
/// how many it added.
///
/// Nodes are visited in ascending order. Each missing edge goes to a partner that `propose` draws;
/// a proposal that is the node itself or already a neighbour moves on to the next id, cyclically,
/// so the walk ends after at most `min_degree + 1` steps.
///
/// # Determinism
/// Calls `propose` once for each edge added.
pub(crate) fn lift(
    n_nodes: u32,
    edges: &mut Vec<u64>,
    min_degree: u32,
    rng: &mut SimRng,
    mut propose: impl FnMut(u32, &mut SimRng) -> u32,
) -> usize {
    let mut degrees = vec![0_u32; n_nodes as usize];
    for &edge in edges.iter() {
        let (u, v) = super::pair(edge);
        degrees[u as usize] += 1;
        degrees[v as usize] += 1;
    }
    let wanted = min_degree.min(n_nodes.saturating_sub(1));
    if degrees.iter().all(|&degree| degree >= wanted) {
        return 0;
    }
    edges.sort();
    let mut added = BTreeSet::new();
    for node in 0..n_nodes {
        while degrees[node as usize] < wanted {
            let mut partner = propose(node, rng);
            // The node has fewer than `wanted` neighbours, so one of the next `wanted + 1` ids is
            // free.
            while partner == node
                || added.contains(&key(node, partner))
                || edges.binary_search(&key(node, partner)).is_ok()
            {
                partner = (partner + 1) % n_nodes;
            }
            added.insert(key(node, partner));
            degrees[node as usize] += 1;
            degrees[partner as usize] += 1;
        }
    }
    edges.extend(&added);
    added.len()
}
