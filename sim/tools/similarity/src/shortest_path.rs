//! The shortest-path kernel: graphs are alike if they have as many pairs of nodes at the same
//! distances.
//!
//! K. M. Borgwardt and H.-P. Kriegel. Shortest-Path Kernels on Graphs. ICDM 2005.
//!
//! A graph becomes its [`PathCounts`] once; the kernel of two graphs is the inner product of their
//! counts, an integer. Edges have length 1: weights are not looked at.

use folkmoot_graphs::Graph;
use folkmoot_graphs::measures::{UNREACHABLE, hops_from};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a graph has no path counts, or a kernel matrix no normal form.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ShortestPathError {
    /// The graph is directed.
    #[error("the shortest-path kernel is for undirected graphs; forget the directions first (Graph::undirected)")]
    Directed,
    /// There is not one label for each node.
    #[error("labels: must have one for each of {n_nodes} nodes, got {n_labels}")]
    Labels {
        /// How many nodes there are.
        n_nodes: usize,
        /// How many labels were given.
        n_labels: usize,
    },
    /// The kernel matrix is not square.
    #[error("kernel: must be a square matrix of {n_graphs} graphs, got {got} values")]
    Shape {
        /// How many graphs there are.
        n_graphs: usize,
        /// How many values the matrix has.
        got: usize,
    },
    /// A graph's kernel with itself is negative or not finite.
    #[error("kernel: the diagonal must be finite and not negative, got {value} for graph {graph}")]
    Diagonal { graph: usize, value: f64 },
}

/// How many unordered pairs of distinct, connected nodes lie at each distance; with labels, for
/// each pair of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCounts {
    /// `((smaller label, larger label, length), pairs)`, ascending; without labels both are 0.
    counts: Vec<((u32, u32, u32), u64)>,
}

impl PathCounts {
    /// The counts of `graph`; `labels`, if given, has shape `(n_nodes,)`.
    ///
    /// # Errors
    ///
    /// [`ShortestPathError::Directed`] and [`ShortestPathError::Labels`].
    ///
    /// # Complexity
    ///
    /// O(n_nodes × (n_nodes + n_edges)) time up to the look-up of a count, O(n_nodes) space beside
    /// the counts.
    pub fn of(graph: &Graph, labels: Option<&[u32]>) -> Result<PathCounts, ShortestPathError> {
        if graph.is_directed() {
            return Err(ShortestPathError::Directed);
        }
        if let Some(labels) = labels.filter(|labels| labels.len() != graph.n_nodes()) {
            return Err(ShortestPathError::Labels {
                n_nodes: graph.n_nodes(),
                n_labels: labels.len(),
            });
        }
        let label = |node: usize| labels.map_or(0, |labels| labels[node]);
        let mut counts = BTreeMap::new();
        for source in 0..graph.n_nodes() {
            let hops = hops_from(graph, source as u32);
            for (target, &length) in hops.iter().enumerate().skip(source + 1) {
                if length != UNREACHABLE {
                    let (a, b) = (label(source), label(target));
                    *counts.entry((a.min(b), a.max(b), length)).or_insert(0) += 1;
                }
            }
        }
        Ok(PathCounts {
            counts: counts.into_iter().collect(),
        })
    }

    /// The kernel of two graphs: the sum over lengths (and pairs of labels) of the product of their
    /// counts.
    ///
    /// The sum is over integers and rounded once. Counts with labels and counts without are not
    /// comparable.
    pub fn kernel(&self, other: &PathCounts) -> f64 {
        let mut theirs = other.counts.iter().peekable();
        let mut sum = 0u128;
        for (key, mine) in &self.counts {
            while theirs.next_if(|(their_key, _)| their_key < key).is_some() {}
            if let Some((_, count)) = theirs.next_if(|(their_key, _)| their_key == key) {
                sum += u128::from(*mine) * u128::from(*count);
            }
        }
        sum as f64
    }
}

/// The kernel of two graphs without labels.
///
/// # Errors
///
/// [`ShortestPathError::Directed`].
pub fn kernel(g: &Graph, h: &Graph) -> Result<f64, ShortestPathError> {
    Ok(PathCounts::of(g, None)?.kernel(&PathCounts::of(h, None)?))
}

/// The kernel of all pairs, row-major, shape `(n_graphs, n_graphs)`, symmetric.
///
/// # Complexity
///
/// Every pair once: O(n_graphs² × distinct counts) time.
pub fn kernel_matrix(graphs: &[PathCounts]) -> Vec<f64> {
    let n_graphs = graphs.len();
    let mut matrix = vec![0.0; n_graphs * n_graphs];
    for (row, g) in graphs.iter().enumerate() {
        for (column, h) in graphs.iter().enumerate().skip(row) {
            let value = g.kernel(h);
            matrix[row * n_graphs + column] = value;
            matrix[column * n_graphs + row] = value;
        }
    }
    matrix
}

/// Scales a kernel matrix to unit diagonal, in place: `K[i][j] / sqrt(K[i][i] K[j][j])`.
///
/// `kernel` has shape `(n_graphs, n_graphs)`. A graph without any path has the kernel 0 with every
/// graph, itself included; its row and column stay 0 but for the 1 on the diagonal, which keeps the
/// matrix positive semidefinite.
///
/// # Errors
///
/// [`ShortestPathError::Shape`] and [`ShortestPathError::Diagonal`]; the matrix is then unchanged.
pub fn normalise(kernel: &mut [f64], n_graphs: usize) -> Result<(), ShortestPathError> {
    if n_graphs.checked_mul(n_graphs) != Some(kernel.len()) {
        return Err(ShortestPathError::Shape {
            n_graphs,
            got: kernel.len(),
        });
    }
    let diagonal: Vec<f64> = (0..n_graphs).map(|graph| kernel[graph * n_graphs + graph]).collect();
    if let Some(graph) = diagonal.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
        return Err(ShortestPathError::Diagonal {
            graph,
            value: diagonal[graph],
        });
    }
    let roots: Vec<f64> = diagonal.iter().map(|value| value.sqrt()).collect();
    for row in 0..n_graphs {
        for column in 0..n_graphs {
            let value = &mut kernel[row * n_graphs + column];
            *value = if row == column {
                1.0
            } else if roots[row] == 0.0 || roots[column] == 0.0 {
                0.0
            } else {
                *value / roots[row] / roots[column]
            };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n_nodes: u32, edges: &[(u32, u32)]) -> Graph {
        Graph::from_edges(n_nodes, edges, false).unwrap()
    }

    /// A path of three has 2 pairs at distance 1 and 1 at distance 2; a triangle 3 at distance 1.
    #[test]
    fn counts_are_multiplied_by_length() {
        let (path, triangle) = (graph(3, &[(0, 1), (1, 2)]), graph(4, &[(0, 1), (1, 2), (0, 2)]));
        assert_eq!(kernel(&path, &path), Ok(5.0));
        assert_eq!(kernel(&path, &triangle), Ok(6.0));
        assert_eq!(kernel(&path, &graph(2, &[])), Ok(0.0));
    }

    #[test]
    fn labels_separate_pairs_whatever_their_order() {
        let path = graph(3, &[(0, 1), (1, 2)]);
        let counts = |labels: &[u32]| PathCounts::of(&path, Some(labels)).unwrap();
        assert_eq!(
            counts(&[1, 0, 0]).counts,
            [((0, 0, 1), 1), ((0, 1, 1), 1), ((0, 1, 2), 1)]
        );
        assert_eq!(counts(&[1, 0, 0]), counts(&[0, 0, 1]));
        assert_eq!(counts(&[1, 0, 0]).kernel(&counts(&[1, 0, 1])), 2.0);
        assert_eq!(counts(&[5, 5, 5]).kernel(&counts(&[5, 5, 5])), 5.0);
        assert_eq!(
            PathCounts::of(&path, Some(&[1])),
            Err(ShortestPathError::Labels {
                n_nodes: 3,
                n_labels: 1
            })
        );
    }

    #[test]
    fn a_normalised_matrix_has_a_unit_diagonal() {
        let graphs = [
            graph(3, &[(0, 1), (1, 2)]),
            graph(3, &[(0, 1), (1, 2), (0, 2)]),
            graph(2, &[]),
        ];
        let counts = graphs.map(|graph| PathCounts::of(&graph, None).unwrap());
        let mut matrix = kernel_matrix(&counts);
        assert_eq!(matrix, [5.0, 6.0, 0.0, 6.0, 9.0, 0.0, 0.0, 0.0, 0.0]);
        normalise(&mut matrix, 3).unwrap();
        let cosine = 6.0 / 5f64.sqrt() / 3.0;
        assert_eq!(matrix, [1.0, cosine, 0.0, cosine, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        assert!(matches!(
            normalise(&mut [1.0; 3], 2),
            Err(ShortestPathError::Shape { .. })
        ));
        let error = normalise(&mut [1.0, 0.0, 0.0, -1.0], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel: the diagonal must be finite and not negative, got -1 for graph 1"
        );
        let arc = Graph::from_edges(2, &[(0, 1)], true).unwrap();
        assert_eq!(kernel(&arc, &arc), Err(ShortestPathError::Directed));
    }
}
