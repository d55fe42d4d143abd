//! Measures of a graph's shape: hop distances, neighbourhoods, components, degrees, modularity.
//!
//! All follow arcs as stored. Components ignore direction (they are the weakly connected ones).

use petgraph::unionfind::UnionFind;

use crate::Graph;

/// The hop distance of a node that cannot be reached, in [`hops_from`].
pub const UNREACHABLE: u32 = u32::MAX;

/// The number of arcs on a shortest path from `source` to every node, shape `(n_nodes,)`;
/// [`UNREACHABLE`] where there is none.
///
/// # Panics
/// If `source` is not below `n_nodes`.
///
/// # Complexity
/// O(n_nodes + n_arcs): breadth-first search.
pub fn hops_from(graph: &Graph, source: u32) -> Vec<u32> {
    let mut hops = vec![UNREACHABLE; graph.n_nodes()];
    let mut queue = Vec::with_capacity(graph.n_nodes());
    queue.push(source);
    hops[source as usize] = 0;
    let mut head = 0;
    while head < queue.len() {
        let node = queue[head];
        head += 1;
        for &next in graph.neighbours(node) {
            if hops[next as usize] == UNREACHABLE {
                hops[next as usize] = hops[node as usize] + 1;
                queue.push(next);
            }
        }
    }
    hops
}

/// The modularity of a division into groups (Newman & Girvan 2004): of all edges the share inside
/// groups, less what degrees alone would give. `group_of` names the group of each node; directions
/// and weights are ignored, and a graph without edges has 0.
///
/// # Panics
/// If `group_of` is not as long as there are nodes.
///
/// # Numerics
/// Whole numbers up to one division.
pub fn modularity(graph: &Graph, group_of: &[u32]) -> f64 {
    assert_eq!(group_of.len(), graph.n_nodes(), "every node has one group");
    let graph = graph.undirected();
    let n_groups = group_of.iter().max().map_or(0, |&most| most as usize + 1);
    // Ends of edges in each group; a loop has two there.
    let mut ends = vec![0_u64; n_groups];
    let mut inside = 0_u64;
    for (u, v) in graph.edges() {
        let (u, v) = (group_of[u as usize], group_of[v as usize]);
        ends[u as usize] += 1;
        ends[v as usize] += 1;
        inside += u64::from(u == v);
    }
    let all = 2 * graph.n_edges() as i128;
    let expected: i128 = ends.iter().map(|&ends| i128::from(ends) * i128::from(ends)).sum();
    match all {
        0 => 0.0,
        _ => (2 * i128::from(inside) * all - expected) as f64 / (all * all) as f64,
    }
}

/// The nodes within `hops` arcs of `centre`, the centre included, ascending.
///
/// # Panics
/// If `centre` is not below `n_nodes`.
pub fn ego(graph: &Graph, centre: u32, hops: u32) -> Vec<u32> {
    let mut nodes = Vec::new();
    EgoSearch::new(graph.n_nodes()).search(graph, centre, hops, &mut nodes);
    nodes
}

/// Finds the neighbourhoods of many centres with one array of marks: each search costs what it
/// visits, not `n_nodes`.
#[derive(Clone, Debug)]
pub struct EgoSearch {
    /// The number of the last search that met each node.
    met: Vec<u32>,
    n_searches: u32,
}

impl EgoSearch {
    /// Room for searches in graphs of up to `n_nodes` nodes.
    pub fn new(n_nodes: usize) -> EgoSearch {
        EgoSearch {
            met: vec![0; n_nodes],
            n_searches: 0,
        }
    }

    /// Replaces `nodes` by the nodes within `hops` arcs of `centre`, ascending.
    ///
    /// # Panics
    /// If `centre` is not below the graph's `n_nodes`, or the graph is larger than promised to
    /// [`new`](Self::new).
    pub fn search(&mut self, graph: &Graph, centre: u32, hops: u32, nodes: &mut Vec<u32>) {
        if self.n_searches == u32::MAX {
            self.met.fill(0);
            self.n_searches = 0;
        }
        self.n_searches += 1;
        nodes.clear();
        nodes.push(centre);
        self.met[centre as usize] = self.n_searches;
        let mut ring = 0..1;
        for _ in 0..hops {
            for at in ring.clone() {
                for &next in graph.neighbours(nodes[at]) {
                    if self.met[next as usize] != self.n_searches {
                        self.met[next as usize] = self.n_searches;
                        nodes.push(next);
                    }
                }
            }
            ring = ring.end..nodes.len();
            if ring.is_empty() {
                break;
            }
        }
        nodes.sort_unstable();
    }
}

/// The connected components of a graph, numbered by their smallest node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The component of each node, shape `(n_nodes,)`.
    pub of_node: Vec<u32>,
    /// The number of nodes of each component.
    pub sizes: Vec<u32>,
}

/// Finds the connected components; direction is ignored.
pub fn components(graph: &Graph) -> Components {
    let mut sets = UnionFind::<u32>::new(graph.n_nodes());
    for (u, v) in graph.edges() {
        sets.union(u, v);
    }
    const UNNUMBERED: u32 = u32::MAX;
    let roots = sets.into_labeling();
    let mut number_of_root = vec![UNNUMBERED; roots.len()];
    let mut found = Components {
        of_node: Vec::with_capacity(roots.len()),
        sizes: Vec::new(),
    };
    for root in roots {
        let number = &mut number_of_root[root as usize];
        if *number == UNNUMBERED {
            *number = found.sizes.len() as u32;
            found.sizes.push(0);
        }
        found.sizes[*number as usize] += 1;
        found.of_node.push(*number);
    }
    found
}

/// The nodes of the largest component, ascending; of several equally large ones, the one with the
/// smallest node.
pub fn largest_component(graph: &Graph) -> Vec<u32> {
    let found = components(graph);
    let Some(most) = found.sizes.iter().max() else {
        return Vec::new();
    };
    let winner = found
        .sizes
        .iter()
        .position(|size| size == most)
        .map_or(0, |at| at as u32);
    (0..graph.n_nodes() as u32)
        .filter(|&node| found.of_node[node as usize] == winner)
        .collect()
}

/// How the degrees of a graph are spread; all zero for a graph without nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DegreeStats {
    pub min: usize,
    pub max: usize,
    pub mean: f64,
    /// The lower median.
    pub median: usize,
    /// Nodes without any arc, incoming ones included.
    pub isolated: usize,
}

/// Degree statistics of out-degrees (of degrees, for an undirected graph).
pub fn degree_stats(graph: &Graph) -> DegreeStats {
    let n_nodes = graph.n_nodes();
    if n_nodes == 0 {
        return DegreeStats::default();
    }
    let mut degrees: Vec<usize> = (0..n_nodes as u32).map(|u| graph.degree(u)).collect();
    let isolated = isolated_nodes(graph).len();
    degrees.sort_unstable();
    DegreeStats {
        min: degrees[0],
        max: degrees[n_nodes - 1],
        mean: graph.n_arcs() as f64 / n_nodes as f64,
        median: degrees[(n_nodes - 1) / 2],
        isolated,
    }
}

/// The nodes without any arc, neither out nor in, ascending. A node whose only arc is a kept self
/// loop is not isolated.
pub fn isolated_nodes(graph: &Graph) -> Vec<u32> {
    let mut touched: Vec<bool> = (0..graph.n_nodes() as u32).map(|u| graph.degree(u) > 0).collect();
    for &v in graph.targets() {
        touched[v as usize] = true;
    }
    (0..graph.n_nodes() as u32).filter(|&u| !touched[u as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle 0 1 2 with a tail 2 3, and apart from it the edge 4 5.
    fn example() -> Graph {
        Graph::from_edges(6, &[(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)], false).unwrap()
    }

    #[test]
    fn hops_are_counted_by_hand_and_end_at_the_component() {
        assert_eq!(hops_from(&example(), 3), [2, 2, 1, 0, UNREACHABLE, UNREACHABLE]);
    }

    #[test]
    fn ego_holds_the_centre_and_everything_within_reach() {
        assert_eq!(ego(&example(), 0, 0), [0]);
        assert_eq!(ego(&example(), 0, 1), [0, 1, 2]);
        assert_eq!(ego(&example(), 0, 2), [0, 1, 2, 3]);
        assert_eq!(ego(&example(), 5, 9), [4, 5]);
    }

    #[test]
    fn largest_component_wins_and_ties_go_to_the_smallest_node() {
        assert_eq!(components(&example()).sizes, [4, 2]);
        assert_eq!(largest_component(&example()), [0, 1, 2, 3]);
        let tie = Graph::from_edges(5, &[(3, 4), (0, 2)], true).unwrap();
        assert_eq!(largest_component(&tie), [0, 2]);
        assert!(largest_component(&Graph::from_edges(0, &[], false).unwrap()).is_empty());
    }

    #[test]
    fn degrees_and_isolated_nodes_are_counted() {
        let graph = Graph::from_edges(4, &[(0, 1), (0, 2)], true).unwrap();
        let stats = degree_stats(&graph);
        assert_eq!((stats.min, stats.max, stats.median, stats.isolated), (0, 2, 0, 1));
        assert_eq!(isolated_nodes(&graph), [3]);
    }
}
