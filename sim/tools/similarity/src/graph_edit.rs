//! Exact edit distance between tiny graphs.
//!
//! Every insertion and deletion of a node or an edge costs 1; labels and weights are not looked at,
//! so substitutions are free. It is the reference value of graph-similarity data sets, which keep
//! to graphs of ten nodes because the problem is NP-hard. Left out: labels, other costs, and bounds
//! for larger graphs.

use folkmoot_graphs::Graph;
use thiserror::Error;

/// The most nodes a graph may have: the worst case is a search of 10! assignments, below a second.
pub const MAX_NODES: usize = 10;

/// Why an edit distance was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GraphEditError {
    /// A graph has more than [`MAX_NODES`] nodes.
    #[error("the exact edit distance is for graphs of at most {MAX_NODES} nodes, got one of {n_nodes}")]
    TooLarge {
        /// How many it has.
        n_nodes: usize,
    },
    /// A graph is directed.
    #[error("the edit distance is for undirected graphs; forget the directions first (Graph::undirected)")]
    Directed,
}

/// The smallest number of node and edge insertions and deletions that turns `g` into `h`.
///
/// A node that is deleted while another is inserted may as well be replaced, which saves 2 and
/// costs no edge. So some best edit maps every node of the smaller graph to a node of the larger,
/// and the distance is `|n_g - n_h| + e_g + e_h - 2 × (edges in common under the best such map)`. A
/// self loop is an edge like any other.
///
/// # Errors
///
/// [`GraphEditError::TooLarge`] and [`GraphEditError::Directed`].
///
/// # Determinism
///
/// The value does not depend on the order of nodes.
///
/// # Complexity
///
/// At most `n! / (n - m)!` assignments for graphs of `m <= n <= 10` nodes; branches that cannot win
/// are not entered.
///
/// ```
/// use folkmoot_graphs::Graph;
/// let path = Graph::from_edges(3, &[(0, 1), (1, 2)], false)?;
/// let triangle = Graph::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false)?;
/// assert_eq!(folkmoot_similarity::graph_edit::distance(&path, &triangle)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn distance(g: &Graph, h: &Graph) -> Result<u32, GraphEditError> {
    for graph in [g, h] {
        if graph.is_directed() {
            return Err(GraphEditError::Directed);
        }
        if graph.n_nodes() > MAX_NODES {
            return Err(GraphEditError::TooLarge {
                n_nodes: graph.n_nodes(),
            });
        }
    }
    let (small, large) = if g.n_nodes() <= h.n_nodes() { (g, h) } else { (h, g) };
    let mut search = Search::new(small, large);
    search.assign(0, 0, 0, large.n_edges() as u32);
    let nodes = (large.n_nodes() - small.n_nodes()) as u32;
    Ok(nodes + (small.n_edges() + large.n_edges()) as u32 - 2 * search.best)
}

/// A set of nodes, one bit each.
type NodeSet = u16;

/// The depth-first search for the map with most common edges.
struct Search {
    /// Neighbours of each node of the smaller graph among those assigned before it, as positions in
    /// the order of assignment.
    earlier: Vec<NodeSet>,
    /// Whether the node has a self loop.
    looped: Vec<bool>,
    /// Edges of the smaller graph that are not settled before each step.
    left: Vec<u32>,
    /// Neighbours of each node of the larger graph, itself included if it has a self loop.
    rows: Vec<NodeSet>,
    /// The node of the larger graph given to each position.
    image: Vec<usize>,
    /// The most common edges found.
    best: u32,
}

impl Search {
    /// Orders the smaller graph's nodes by falling degree: many edges settle early, and hopeless
    /// branches end early.
    fn new(small: &Graph, large: &Graph) -> Search {
        let mut order: Vec<u32> = (0..small.n_nodes() as u32).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(small.degree(node)));
        let bits = |row: &[u32]| row.iter().fold(0, |set: NodeSet, &node| set | 1 << node);
        let earlier: Vec<NodeSet> = (0..order.len())
            .map(|at| {
                let known = (0..at).filter(|&before| small.has_edge(order[at], order[before]));
                known.fold(0, |set, before| set | 1 << before)
            })
            .collect();
        let looped: Vec<bool> = order.iter().map(|&node| small.has_edge(node, node)).collect();
        let mut left = vec![0; order.len() + 1];
        for at in (0..order.len()).rev() {
            left[at] = left[at + 1] + earlier[at].count_ones() + u32::from(looped[at]);
        }
        Search {
            image: vec![0; order.len()],
            earlier,
            looped,
            left,
            rows: (0..large.n_nodes() as u32).map(|u| bits(large.neighbours(u))).collect(),
            best: 0,
        }
    }

    /// Assigns the node at position `at`, with the larger graph's nodes in `used` taken, `common`
    /// edges in common so far and `free` edges of the larger graph not yet between used nodes.
    fn assign(&mut self, at: usize, used: NodeSet, common: u32, free: u32) {
        self.best = self.best.max(common);
        for node in 0..self.rows.len() {
            if common + self.left[at].min(free) <= self.best {
                return;
            }
            if used & 1 << node != 0 {
                continue;
            }
            let row = self.rows[node];
            let looped = row & 1 << node != 0;
            let mut wanted: NodeSet = 0;
            let mut earlier = self.earlier[at];
            while earlier != 0 {
                wanted |= 1 << self.image[earlier.trailing_zeros() as usize];
                earlier &= earlier - 1;
            }
            let gained = (wanted & row).count_ones() + u32::from(looped && self.looped[at]);
            let settled = (used & row).count_ones() + u32::from(looped);
            self.image[at] = node;
            self.assign(at + 1, used | 1 << node, common + gained, free - settled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::GraphBuilder;

    fn graph(n_nodes: u32, edges: &[(u32, u32)]) -> Graph {
        Graph::from_edges(n_nodes, edges, false).unwrap()
    }

    #[test]
    fn small_distances_by_hand() {
        let empty = graph(0, &[]);
        let path = graph(3, &[(0, 1), (1, 2)]);
        let star = graph(4, &[(2, 0), (2, 1), (2, 3)]);
        let square = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(distance(&empty, &empty), Ok(0));
        assert_eq!(distance(&empty, &path), Ok(5));
        assert_eq!(distance(&path, &star), Ok(2));
        assert_eq!(distance(&star, &path), Ok(2));
        // The square loses one edge for a path of four, whose other end moves to the middle: one
        // more deletion and insertion.
        assert_eq!(distance(&star, &square), Ok(3));
        assert_eq!(distance(&square, &graph(4, &[(0, 2), (2, 1), (1, 3), (3, 0)])), Ok(0));
    }

    #[test]
    fn a_self_loop_is_an_edge() {
        let keep = |edges: &[(u32, u32)]| GraphBuilder::new(2).keep_self_loops(true).build(edges).unwrap().0;
        assert_eq!(distance(&keep(&[(0, 0), (0, 1)]), &keep(&[(0, 1)])), Ok(1));
        assert_eq!(distance(&keep(&[(0, 0), (0, 1)]), &keep(&[(1, 1), (0, 1)])), Ok(0));
        assert_eq!(distance(&keep(&[(0, 0)]), &keep(&[(0, 1)])), Ok(2));
    }

    /// Against the definition: the best of all bijections after both graphs are padded to equal
    /// size with absent nodes.
    #[test]
    fn agrees_with_all_permutations_of_padded_graphs() {
        let mut state = 7u64;
        let mut random = |n: u32| {
            let mut edges = Vec::new();
            for pair in (0..n).flat_map(|u| (0..u).map(move |v| (u, v))) {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                if state >> 62 < 2 {
                    edges.push(pair);
                }
            }
            graph(n, &edges)
        };
        for (n, m) in [(1, 3), (3, 3), (2, 4), (4, 3)].repeat(6) {
            let (g, h) = (random(n), random(m));
            assert_eq!(distance(&g, &h).unwrap(), padded(&g, &h));
        }
    }

    fn padded(g: &Graph, h: &Graph) -> u32 {
        let (n, m) = (g.n_nodes(), h.n_nodes());
        let mut order: Vec<usize> = (0..n + m).collect();
        let mut best = u32::MAX;
        permute(&mut order, 0, &mut |order| {
            let nodes = (0..n + m).filter(|&u| (u < n) != (order[u] < m)).count();
            let edges = (0..n + m).flat_map(|u| (0..u).map(move |v| (u, v)));
            let has =
                |graph: &Graph, u: usize, v: usize| u.max(v) < graph.n_nodes() && graph.has_edge(u as u32, v as u32);
            let edges = edges
                .filter(|&(u, v)| has(g, u, v) != has(h, order[u], order[v]))
                .count();
            best = best.min((nodes + edges) as u32);
        });
        best
    }

    fn permute(order: &mut [usize], at: usize, visit: &mut dyn FnMut(&[usize])) {
        if at == order.len() {
            return visit(order);
        }
        for other in at..order.len() {
            order.swap(at, other);
            permute(order, at + 1, visit);
            order.swap(at, other);
        }
    }

    /// The Petersen graph against the five-sided prism: all degrees are 3, so there is little to
    /// prune by. They have at most 11 of 15 edges in common.
    #[test]
    fn the_largest_allowed_size_is_searched_in_full() {
        let ring = |i: u32| (i, (i + 1) % 5);
        let spokes = (0..5).map(|i| (i, i + 5));
        let outer = (0..5).map(ring);
        let inner = (0..5).map(|i| (5 + i, 5 + (i + 2) % 5));
        let petersen = graph(
            10,
            &outer.clone().chain(spokes.clone()).chain(inner).collect::<Vec<_>>(),
        );
        let prism: Vec<(u32, u32)> = outer
            .chain(spokes)
            .chain((0..5).map(|i| (5 + i, 5 + (i + 1) % 5)))
            .collect();
        assert_eq!(distance(&petersen, &graph(10, &prism)), Ok(8));
        assert_eq!(distance(&petersen, &petersen), Ok(0));
    }

    #[test]
    fn large_and_directed_graphs_are_refused() {
        let error = distance(&graph(11, &[]), &graph(2, &[])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the exact edit distance is for graphs of at most 10 nodes, got one of 11"
        );
        let arc = Graph::from_edges(2, &[(0, 1)], true).unwrap();
        assert_eq!(distance(&arc, &arc), Err(GraphEditError::Directed));
    }
}
