//! Classical heads: what needs no gradient tape, on distances, kernels and plain vectors.
//!
//! - [`Svm`]: support vector classification with a kernel given as a matrix, which need not be
//!   positive semi-definite; [`SvmGrid`] chooses its `C` and the width of `exp(-gamma × distance)`
//!   by cross-validation.
//! - [`stratified_folds`]: folds in which every class keeps its share.
//! - [`spectrum`]: the eigenvalues of a symmetric matrix; [`clip_negative`]: a kernel without its
//!   negative ones.
//! - [`KMeans`]: Lloyd's algorithm from given centres or from those of k-means++.
//! - [`Tsne`]: a map in the plane, from squared distances or from points.
//!
//! Matrices are row-major slices of `f64`. The neighbours' vote and logistic regression, which
//! embeddings share, are in [`evaluation`](crate::evaluation), whose [`EvaluationError`] says what
//! is wrong with an input.

mod folds;
mod kmeans;
mod spectrum;
mod svm;
mod svm_grid;
mod tsne;

pub use folds::{Split, splits, stratified_folds};
pub use kmeans::{Clusters, KMeans};
pub use spectrum::{Spectrum, clip_negative, spectrum};
pub use svm::{PairModel, Svm, SvmModel};
pub use svm_grid::{Comparison, CrossValidated, GridChoice, SvmGrid, Tested};
pub use tsne::{Tsne, TsneMap, joint_probabilities, map_divergence};

use crate::evaluation::EvaluationError;

/// Checks that every value is finite.
fn finite(input: &'static str, values: &[f64]) -> Result<(), EvaluationError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(EvaluationError::NotFinite { input, index }),
    }
}
