//! Distances and kernels between vectors and graphs.

pub mod vector;
