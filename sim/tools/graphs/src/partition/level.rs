//! A graph whose nodes stand for groups of nodes: what algorithms over levels of coarser and
//! coarser graphs work on. All numbers are whole.

use crate::Graph;

/// An undirected graph with whole weights, in compressed rows. Rows name no loops; those are in
/// `inner`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<u64>,
    /// Edges inside each node.
    inner: Vec<u64>,
    /// Nodes of the finest level that each node stands for.
    sizes: Vec<u32>,
}

impl Level {
    /// The finest level: every edge weighs 1 and every node is one, directions and weights of
    /// `graph` ignored.
    pub(super) fn of(graph: &Graph) -> Level {
        let graph = graph.undirected();
        let n_nodes = graph.n_nodes();
        let mut level = Level {
            offsets: vec![0],
            targets: Vec::with_capacity(graph.n_arcs()),
            weights: Vec::new(),
            inner: vec![0; n_nodes],
            sizes: vec![1; n_nodes],
        };
        for node in 0..n_nodes as u32 {
            let others = graph.neighbours(node).iter().copied();
            level.targets.extend(others.filter(|&other| other != node));
            level.inner[node as usize] = u64::from(graph.has_edge(node, node));
            level.offsets.push(level.targets.len() as u32);
        }
        level.weights = vec![1; level.targets.len()];
        level
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.sizes.len()
    }

    /// The neighbours of `node` and how many edges lead to each.
    pub(super) fn row(&self, node: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.offsets[node] as usize..self.offsets[node + 1] as usize;
        let weights = self.weights[range.clone()].iter().copied();
        self.targets[range].iter().copied().zip(weights)
    }

    /// The nodes of the finest level that `node` stands for.
    pub(super) fn size(&self, node: usize) -> u32 {
        self.sizes[node]
    }

    /// Ends of edges at `node`; an edge inside has two.
    pub(super) fn degree(&self, node: usize) -> u64 {
        2 * self.inner[node] + self.row(node).map(|(_, weight)| weight).sum::<u64>()
    }

    /// The graph of groups: `group_of` names the group of each node, below `n_groups`.
    pub(super) fn contract(&self, group_of: &[u32], n_groups: usize) -> Level {
        let members = members(group_of, n_groups);
        let mut coarse = Level {
            offsets: vec![0],
            targets: Vec::new(),
            weights: Vec::new(),
            inner: vec![0; n_groups],
            sizes: vec![0; n_groups],
        };
        let mut links = Links::new(n_groups);
        for (group, nodes) in members.iter().enumerate() {
            let mut twice_inside = 0;
            for &node in nodes {
                coarse.sizes[group] += self.sizes[node as usize];
                coarse.inner[group] += self.inner[node as usize];
                for (other, weight) in self.row(node as usize) {
                    match group_of[other as usize] {
                        other if other as usize == group => twice_inside += weight,
                        other => links.add(other, weight),
                    }
                }
            }
            coarse.inner[group] += twice_inside / 2;
            links.take_sorted(|other, weight| {
                coarse.targets.push(other);
                coarse.weights.push(weight);
            });
            coarse.offsets.push(coarse.targets.len() as u32);
        }
        coarse
    }
}

/// The members of each group, ascending.
pub(super) fn members(group_of: &[u32], n_groups: usize) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); n_groups];
    for (node, &group) in (0..).zip(group_of) {
        members[group as usize].push(node);
    }
    members
}

/// Sums by group, of the groups met alone.
#[derive(Clone, Debug)]
pub(super) struct Links {
    sums: Vec<u64>,
    met: Vec<u32>,
}

impl Links {
    pub(super) fn new(n_groups: usize) -> Links {
        Links {
            sums: vec![0; n_groups],
            met: Vec::new(),
        }
    }

    /// Adds `weight`, which is not 0.
    pub(super) fn add(&mut self, group: u32, weight: u64) {
        let sum = &mut self.sums[group as usize];
        if *sum == 0 {
            self.met.push(group);
        }
        *sum += weight;
    }

    pub(super) fn of(&self, group: u32) -> u64 {
        self.sums[group as usize]
    }

    /// Tells all sums in the order in which their groups were met, and forgets them.
    pub(super) fn take(&mut self, mut tell: impl FnMut(u32, u64)) {
        for group in self.met.drain(..) {
            tell(group, std::mem::take(&mut self.sums[group as usize]));
        }
    }

    /// As [`take`](Self::take), by ascending group.
    pub(super) fn take_sorted(&mut self, tell: impl FnMut(u32, u64)) {
        self.met.sort_unstable();
        self.take(tell);
    }
}
