//! Learning on graphs: skip-gram, its losses, and what its vectors are good for.
//!
//! - [`skip_gram`]: trains [`Embeddings`] from walks.
//! - [`evaluation`]: what the vectors know: labels of nodes by logistic regression and by nearest neighbours, and links.
//! - [`classical`]: support vector machines, clusters and maps, from distances, kernels and vectors.
//! - [`losses`]: what it minimises, as plain functions with gradients.
//!
//! This crate knows nothing of the engine: a strategy calls it from its handlers and jobs.

pub mod classical;
mod embeddings;
pub mod evaluation;
mod kernels;
pub mod losses;
pub mod skip_gram;

pub use embeddings::Embeddings;
