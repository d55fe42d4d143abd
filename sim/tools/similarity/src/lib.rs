//! Distances and kernels between vectors, sequences and graphs, and trees that cluster them.
//!
//! - [`dissimilarity`]: dissimilarities of all pairs of sequences or vectors.
//! - [`dtw`]: dynamic time warping of row sequences.
//! - [`graph_edit`]: the exact edit distance of tiny graphs.
//! - [`gw`]: Gromov-Wasserstein discrepancies between graphs, their means and clusters.
//! - [`linkage`]: agglomerative clustering.
//! - [`minimum_cut`]: the lightest way to part a graph in two.
//! - [`shortest_path`]: a kernel that counts pairs of nodes by distance.
//! - [`transport`]: optimal plans between two weighted sets of points.
//! - [`tree`]: binary trees of vertices: leaves under common ancestors, nearest vertices.
//! - [`vector`]: distances between vectors.
//!
//! Promises: counts are added as integers and floats in ascending index, so no value depends on the
//! machine or the number of threads; what a function cannot do exactly it refuses by a typed error.

pub mod dissimilarity;
pub mod dtw;
pub mod graph_edit;
pub mod gw;
pub mod linkage;
pub mod minimum_cut;
pub mod shortest_path;
pub mod transport;
pub mod tree;
pub mod vector;
