//! Learning on graphs: skip-gram pairs.
//!
//! - [`skip_gram`]: the pairs that a skip-gram model learns from.
//!
//! This crate knows nothing of the engine: a strategy calls it from its handlers and jobs.

pub mod skip_gram;
