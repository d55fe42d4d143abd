//! Communities of a graph by greedy modularity (Blondel, Guillaume, Lambiotte & Lefebvre 2008),
//! without a random number.
//!
//! Gains are whole numbers, so that no comparison depends on rounding: joining community `c`
//! changes the modularity by `2m · k(v, c) − γ · tot(c) · deg(v)` over `2m²`, and the resolution
//! `γ` is a fraction of thousandths.

use folkmoot_draws::{SimRng, shuffle};

use super::level::{Level, Links, members};
use crate::Graph;

/// What a resolution is counted in.
const PARTS: f64 = 1000.0;

/// The communities of `graph`, by their smallest nodes, each ascending; edges count 1, directions
/// and weights ignored.
///
/// On every level each node is asked whether it is better off in the community of a neighbour, in
/// ascending order, or with `rng` in an order drawn for each level, until a pass over all moves
/// none; a tie leaves it where it is, or goes to the lowest community. Then communities become
/// nodes. Each move raises the modularity by a whole number of its smallest steps, so that it ends.
pub(super) fn communities(graph: &Graph, resolution: f64, rng: Option<&mut SimRng>) -> Vec<Vec<u32>> {
    match levels(graph, resolution, rng).pop() {
        Some((group_of, n_groups)) => members(&group_of, n_groups),
        None => (0..graph.n_nodes() as u32).map(|node| vec![node]).collect(),
    }
}

/// The community of each node, and how many there are, after each level that moved any.
pub(super) fn levels(graph: &Graph, resolution: f64, mut rng: Option<&mut SimRng>) -> Vec<(Vec<u32>, usize)> {
    let mut level = Level::of(graph);
    let mut group_of: Vec<u32> = (0..graph.n_nodes() as u32).collect();
    let resolution = libm::round(resolution * PARTS) as i128;
    let mut found = Vec::new();
    loop {
        let mut order: Vec<u32> = (0..level.n_nodes() as u32).collect();
        if let Some(rng) = &mut rng {
            shuffle(rng, &mut order);
        }
        let (joined, n_groups) = numbered(&join(&level, resolution, &order));
        if n_groups == level.n_nodes() {
            return found;
        }
        group_of.iter_mut().for_each(|group| *group = joined[*group as usize]);
        level = level.contract(&joined, n_groups);
        found.push((group_of.clone(), n_groups));
    }
}

/// The community of each node of a level, named by one of its nodes.
fn join(level: &Level, resolution: i128, order: &[u32]) -> Vec<u32> {
    let n_nodes = level.n_nodes();
    let degrees: Vec<u64> = (0..n_nodes).map(|node| level.degree(node)).collect();
    let ends: u64 = degrees.iter().sum();
    let mut group_of: Vec<u32> = (0..n_nodes as u32).collect();
    let mut totals = degrees.clone();
    let mut links = Links::new(n_nodes);
    loop {
        let mut is_moved = false;
        for &node in order {
            let node = node as usize;
            let (old, degree) = (group_of[node], degrees[node]);
            totals[old as usize] -= degree;
            for (other, weight) in level.row(node) {
                links.add(group_of[other as usize], weight);
            }
            let gain = |group: u32, weight: u64| {
                let expected = i128::from(totals[group as usize]) * i128::from(degree);
                PARTS as i128 * i128::from(ends) * i128::from(weight) - resolution * expected
            };
            let mut best = (gain(old, links.of(old)), old);
            links.take(|group, weight| {
                let gain = gain(group, weight);
                if gain > best.0 || gain == best.0 && best.1 != old && group < best.1 {
                    best = (gain, group);
                }
            });
            group_of[node] = best.1;
            totals[best.1 as usize] += degree;
            is_moved |= best.1 != old;
        }
        if !is_moved {
            return group_of;
        }
    }
}

/// The same groups, numbered by their first members, and how many there are.
fn numbered(group_of: &[u32]) -> (Vec<u32>, usize) {
    let mut number = vec![u32::MAX; group_of.len()];
    let mut n_groups = 0;
    let numbers = group_of.iter().map(|&group| {
        let number = &mut number[group as usize];
        if *number == u32::MAX {
            *number = n_groups;
            n_groups += 1;
        }
        *number
    });
    (numbers.collect(), n_groups as usize)
}
