//! Pairs of nodes that are scored: held-out edges, and pairs without an edge.

use crate::division::Part;
use folkmoot_draws::{SimRng, draw_first, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PAIRS: Purpose = Purpose(*b"lk-pairs");
const OWN_PAIRS: Purpose = Purpose(*b"lk-own  ");
const RANKED: Purpose = Purpose(*b"lk-rank ");

/// Pairs, edges first, and which of them are edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<(u32, u32)>,
    pub(crate) is_edge: Vec<bool>,
}

impl Pairs {
    pub(crate) fn new(edges: Vec<(u32, u32)>, others: Vec<(u32, u32)>) -> Pairs {
        let is_edge = (0..edges.len() + others.len()).map(|at| at < edges.len()).collect();
        let mut pairs = edges;
        pairs.extend(others);
        Pairs { pairs, is_edge }
    }

    pub(crate) fn n_edges(&self) -> usize {
        self.is_edge.iter().filter(|is_edge| **is_edge).count()
    }
}

/// The pairs of one part of the edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evaluated {
    /// Its edges at nodes that clients hold, and as many pairs without an edge.
    pub(crate) all: Pairs,
    /// Nodes without an edge to the first end of each of these edges.
    pub(crate) ranked: Vec<Vec<u32>>,
    /// For each client, the edges within it and as many pairs of its nodes without an edge.
    pub(crate) own: Vec<Pairs>,
}

/// A graph in which only some pairs may have an edge.
#[derive(Clone, Copy)]
pub(crate) struct Plane<'a> {
    pub(crate) graph: &'a Graph,
    /// The side of each node of a bipartite graph, whose edges join different sides; else empty.
    pub(crate) sides: &'a [u32],
}

impl Plane<'_> {
    /// Whether two nodes may have an edge, and have none.
    fn is_free(self, u: u32, v: u32) -> bool {
        u != v && !self.graph.has_edge(u, v) && may_join(self.sides, u, v)
    }
}

/// Whether two nodes may have an edge by their sides.
pub(crate) fn may_join(sides: &[u32], u: u32, v: u32) -> bool {
    sides.is_empty() || sides[u as usize] != sides[v as usize]
}

/// Draws the pairs of validation and test edges.
pub(crate) fn evaluated(
    plane: Plane<'_>,
    edges: &[((u32, u32), Part)],
    (owners, shards): (&[u32], &[&[u32]]),
    (n_ranked, streams): (usize, Streams),
) -> [Evaluated; 2] {
    let is_held = |(u, v): &(u32, u32)| owners[*u as usize] != u32::MAX && owners[*v as usize] != u32::MAX;
    let nodes: Vec<u32> = (0..plane.graph.n_nodes() as u32).collect();
    [Part::Validation, Part::Test].map(|part| {
        let of_part = edges.iter().filter(|(_, of)| *of == part).map(|(edge, _)| *edge);
        let of_part: Vec<(u32, u32)> = of_part.filter(|edge| is_held(edge)).collect();
        let round = Round(part as u32);
        let rng = &mut streams.party(PAIRS, Party::Server, round);
        let others = non_edges(plane, &nodes, of_part.len(), rng);
        let of_edge = |(at, (u, _)): (usize, &(u32, u32))| {
            let rng = &mut streams.counted(RANKED, Party::Server, round, at as u64);
            let mut nodes = strangers(plane, *u, n_ranked, rng);
            nodes.retain(|node| owners[*node as usize] != u32::MAX);
            nodes
        };
        let own = |(client, shard): (usize, &&[u32])| {
            let is_own = |(u, v): &&(u32, u32)| [u, v].iter().all(|node| owners[**node as usize] == client as u32);
            let edges: Vec<(u32, u32)> = of_part.iter().filter(is_own).copied().collect();
            let rng = &mut streams.party(OWN_PAIRS, Party::Client(ClientId(client as u32)), round);
            let others = non_edges(plane, shard, edges.len(), rng);
            Pairs::new(edges, others)
        };
        Evaluated {
            ranked: of_part.par_iter().enumerate().map(of_edge).collect(),
            own: shards.par_iter().enumerate().map(own).collect(),
            all: Pairs::new(of_part.clone(), others.into_iter().filter(is_held).collect()),
        }
    })
}

/// Up to `wanted` different pairs among `nodes` (ascending) that may have an edge and have none,
/// ascending.
pub(crate) fn non_edges(plane: Plane<'_>, nodes: &[u32], wanted: usize, rng: &mut SimRng) -> Vec<(u32, u32)> {
    let wanted = match wanted {
        0 => 0,
        _ => wanted.min(usize::try_from(n_free(plane, nodes)).unwrap_or(usize::MAX)),
    };
    let mut drawn = BTreeSet::new();
    while drawn.len() < wanted {
        let [u, v] = [(); 2].map(|()| nodes[index(rng, nodes.len())]);
        if plane.is_free(u, v) {
            drawn.insert((u.min(v), u.max(v)));
        }
    }
    drawn.into_iter().collect()
}

/// How many pairs among `nodes` (ascending) may have an edge and have none.
fn n_free(plane: Plane<'_>, nodes: &[u32]) -> u64 {
    let pairs = |n: u64| n * n.saturating_sub(1) / 2;
    let mut of_sides: BTreeMap<u32, u64> = BTreeMap::new();
    for node in nodes {
        *of_sides
            .entry(plane.sides.get(*node as usize).copied().unwrap_or(0))
            .or_default() += 1;
    }
    let within: u64 = of_sides.values().map(|n| pairs(*n)).sum();
    let n_pairs = pairs(nodes.len() as u64) - if plane.sides.is_empty() { 0 } else { within };
    let joined = |u: &u32| {
        let near = plane.graph.neighbours(*u).iter();
        let is_counted = |v: &&u32| *v > u && may_join(plane.sides, *u, **v) && nodes.binary_search(v).is_ok();
        near.filter(is_counted).count() as u64
    };
    n_pairs - nodes.iter().map(joined).sum::<u64>()
}

/// Up to `wanted` different nodes that may have an edge with `node` and have none, ascending.
fn strangers(plane: Plane<'_>, node: u32, wanted: usize, rng: &mut SimRng) -> Vec<u32> {
    let n = plane.graph.n_nodes();
    let free = || (0..n as u32).filter(|other| plane.is_free(node, *other));
    let is_scarce = free().take(2 * wanted + 1).count() <= 2 * wanted;
    if is_scarce {
        let mut all: Vec<u32> = free().collect();
        let wanted = wanted.min(all.len());
        draw_first(rng, &mut all, wanted);
        all.truncate(wanted);
        all.sort_unstable();
        return all;
    }
    let mut drawn = BTreeSet::new();
    while drawn.len() < wanted {
        let other = index(rng, n) as u32;
        if plane.is_free(node, other) {
            drawn.insert(other);
        }
    }
    drawn.into_iter().collect()
}
