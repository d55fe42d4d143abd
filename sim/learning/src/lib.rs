//! Learning on graphs: a reverse-mode tape; skip-gram, its losses, and what its vectors are good for.
//!
//! - [`Layout`] says what a model's flat vector of numbers means, [`Tape`] computes with it and differentiates, [`Csr`] is what
//!   graph layers propagate with.
//! - [`skip_gram`]: trains [`Embeddings`] from walks.
//! - [`evaluation`]: what the vectors know: labels of nodes by logistic regression and by nearest neighbours, and links.
//! - [`classical`]: support vector machines, clusters and maps, from distances, kernels and vectors.
//! - [`losses`]: what skip-gram minimises, as plain functions with gradients.
//!
//! This crate knows nothing of the engine: a strategy calls it from its handlers and jobs.

pub mod classical;
mod csr;
mod embeddings;
pub mod evaluation;
mod init;
mod kernels;
mod layout;
pub mod losses;
pub mod skip_gram;
pub mod tape;

pub use csr::{Csr, CsrError, DegreeRule};
pub use embeddings::Embeddings;
pub use init::Init;
pub use layout::{Layout, Parameter, Slot};
pub use tape::{Adjacency, Tape, Var};
