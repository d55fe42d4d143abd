//! One vector per vertex.

use serde::{Deserialize, Serialize};

/// A row-major matrix of shape `(n_vertices, dim)`: row `v` is the vector of vertex `v`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embeddings {
    dim: usize,
    values: Vec<f32>,
}

impl Embeddings {
    /// Wraps `values` of shape `(n_vertices, dim)`.
    ///
    /// # Panics
    /// If `dim` is 0 or does not divide the number of values.
    pub fn new(dim: usize, values: Vec<f32>) -> Embeddings {
        assert!(
            dim > 0 && values.len().is_multiple_of(dim),
            "{} values are not rows of {dim}",
            values.len()
        );
        Embeddings { dim, values }
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many vertices have a vector.
    pub fn n_vertices(&self) -> usize {
        self.values.len() / self.dim
    }

    /// The vector of `vertex`.
    ///
    /// # Panics
    /// If `vertex` is not below [`n_vertices`](Self::n_vertices).
    pub fn of(&self, vertex: u32) -> &[f32] {
        &self.values[vertex as usize * self.dim..][..self.dim]
    }

    /// All vectors, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}
