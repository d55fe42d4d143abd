//! Distances and kernels between vectors and graphs.
//!
//! - [`vector`]: distances between vectors.
//! - [`graph_edit`]: the exact edit distance of tiny graphs.
//! - [`shortest_path`]: a kernel that counts pairs of nodes by distance.
//!
//! Promises: counts are added as integers and floats in ascending index, so no value depends on the machine; what a
//! function cannot do exactly it refuses by a typed error.

pub mod graph_edit;
pub mod shortest_path;
pub mod vector;
