//! Distances and kernels between graphs.
