//! What vectors of nodes are good for: their labels, their neighbours' labels, and links.
//!
//! - [`NodeClassification`]: one-vs-rest logistic regression on part of the nodes, F1 on the rest,
//!   over shuffles; by default the protocol of DeepWalk (Perozzi et al. 2014), which knows how many
//!   labels a node has and takes as many top scores.
//! - [`LogisticRegression`]: its solver. [`knn_precomputed`] and [`knn_cosine`]: the class of the
//!   nearest nodes.
//! - [`hold_out_links`], [`UnitVectors`] and [`link_auc`]: whether linked nodes lie closer than
//!   others.
//!
//! Vectors are taken as they are, neither centred nor scaled, as DeepWalk's own script does. That
//! script fits with liblinear, which also penalises the intercept; ours follows scikit-learn's
//! convention, which does not. F1 is that of scikit-learn: a label that nobody has and nobody
//! predicts scores 0 in the macro mean.

mod knn;
mod links;
mod logistic;
mod protocol;

use folkmoot_parts::{Broken, Value};
use thiserror::Error;

pub use knn::{knn_cosine, knn_precomputed};
pub use links::{LinkSplit, UnitVectors, hold_out_links, link_auc};
pub use logistic::{Logistic, LogisticRegression};
pub use protocol::{Decision, NodeClassification, RatioScores};

/// Why there is no score. Nothing was changed; the caller may try again with other input.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvaluationError {
    /// A field or parameter that breaks its rule.
    #[error("{field}: {rule}")]
    Setting {
        field: &'static str,
        /// The rule, and what it got.
        rule: String,
    },
    /// Settings with the rules that they break.
    #[error("{}", Broken::list(.0, "", "; "))]
    Algorithm(Vec<Broken>),
    /// Two inputs that describe the same items have different lengths.
    #[error("{input}: must have {expected} items, got {got}")]
    Length {
        /// The input that does not fit, by its parameter's name.
        input: &'static str,
        /// How many items it must have.
        expected: usize,
        /// How many it has.
        got: usize,
    },
    /// A value is not finite.
    #[error("{input}[{index}]: must be finite")]
    NotFinite {
        /// The input, by its parameter's name.
        input: &'static str,
        /// The position in it.
        index: usize,
    },
    /// A vertex id is not below the number of vectors.
    #[error("vertex ids must lie below {n_vertices}, got {vertex}")]
    Vertex {
        vertex: u32,
        /// How many vectors there are.
        n_vertices: usize,
    },
}

/// Refuses settings with every rule that they break.
pub(crate) fn legal(settings: &impl Value) -> Result<(), EvaluationError> {
    match settings.broken() {
        broken if broken.is_empty() => Ok(()),
        broken => Err(EvaluationError::Algorithm(broken)),
    }
}

pub(crate) fn require(holds: bool, field: &'static str, rule: impl FnOnce() -> String) -> Result<(), EvaluationError> {
    if holds {
        Ok(())
    } else {
        Err(EvaluationError::Setting { field, rule: rule() })
    }
}

pub(crate) fn same_length(input: &'static str, expected: usize, got: usize) -> Result<(), EvaluationError> {
    if expected == got {
        Ok(())
    } else {
        Err(EvaluationError::Length { input, expected, got })
    }
}

fn finite(input: &'static str, values: &[f32]) -> Result<(), EvaluationError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(EvaluationError::NotFinite { input, index }),
    }
}
