//! What vectors and predictions are worth: scores, and the classical heads that read vectors,
//! distances and kernels.
//!
//! - [`auc`], [`masked_auc`], [`auc_one_vs_rest`]: the area under the ROC curve, from ranks;
//!   [`true_positive_rate`]: one point of the curve; [`masked_average_precision`].
//! - [`accuracy`], [`f1_multi_label`], [`masked_f1`], [`f1_multi_class`]: agreement of predicted
//!   and actual labels; [`number_errors`]: of predicted and actual numbers.
//! - [`adjusted_rand`], [`normalised_mutual_info`], [`silhouette`]: agreement and quality of
//!   clusterings.
//! - [`trustworthiness`]: how many neighbours of an embedding are neighbours of the data.
//! - [`spearman`], [`kendall`], [`precision_at`]: how far two orders of the same items agree.
//! - [`evaluation`]: what vectors of nodes know: labels by logistic regression and by nearest
//!   neighbours, and links.
//! - [`classical`]: support vector machines, clusters and maps.
//! - [`inference`]: attackers who guess a property from rows of numbers.
//!
//! Matrices are row-major slices. Counts stay integers until the last division and floats are added
//! in ascending index, so a score has the same bits everywhere. Conventions are those of
//! scikit-learn; a score that its definition leaves open (one class only, nothing to compare) is a
//! [`ScoreError`], never a number that looks like one. Left out: reading predictions from anywhere,
//! thresholds, and intervals over seeds.

use thiserror::Error;

mod auc;
mod classes;
pub mod classical;
mod clustering;
pub mod evaluation;
pub mod inference;
mod kernels;
mod labels;
mod neighbours;
mod numbers;
mod ranking;

pub use auc::{PerTask, auc, auc_of_groups, auc_one_vs_rest, masked_auc, masked_average_precision, true_positive_rate};
pub use clustering::{adjusted_rand, normalised_mutual_info, silhouette};
pub use labels::{F1, MaskedF1, accuracy, f1_multi_class, f1_multi_label, masked_f1};
pub use neighbours::trustworthiness;
pub use numbers::{NumberErrors, number_errors};
pub use ranking::{Ties, kendall, precision_at, spearman};

/// Why a score does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ScoreError {
    /// There is nothing to score.
    #[error("there is nothing to score")]
    Empty,
    /// Two inputs that describe the same items have different lengths.
    #[error("{input}: must have {expected} values, got {got}")]
    Length {
        /// The input that does not fit, by its parameter's name.
        input: &'static str,
        /// How many values it must have.
        expected: usize,
        /// How many it has.
        got: usize,
    },
    /// A value is not a number, is infinite where a finite one is needed, or is a negative
    /// distance.
    #[error("{input}[{index}]: {value} is not a legal value")]
    Value {
        /// The input, by its parameter's name.
        input: &'static str,
        /// The position in it.
        index: usize,
        value: f64,
    },
    /// A class id is not below the number of classes.
    #[error("actual[{index}]: must lie below {n_classes} (n_classes), got {class}")]
    Class {
        index: usize,
        class: u32,
        /// How many classes there are.
        n_classes: usize,
    },
    /// All items are positive, or none is: the area under the curve is not defined.
    #[error("task {task}: the area under the curve needs a positive and a negative item")]
    OneClass {
        /// The task or class; 0 for a single task.
        task: usize,
    },
    /// A silhouette needs at least 2 clusters and fewer clusters than items.
    #[error("a silhouette needs 2 clusters or more and fewer than items, got {n_clusters} of {n_items} items")]
    Clusters {
        /// How many clusters there are.
        n_clusters: usize,
        /// How many items there are.
        n_items: usize,
    },
    /// The number of neighbours must lie in 1..n/2.
    #[error("k: must be at least 1 and less than half of the {n_items} items, got {k}")]
    Neighbours {
        /// The number asked for.
        k: usize,
        /// How many items there are.
        n_items: usize,
    },
}

/// Checks that `input` has `expected` values.
fn same_length(input: &'static str, expected: usize, got: usize) -> Result<(), ScoreError> {
    match expected == got {
        true => Ok(()),
        false => Err(ScoreError::Length { input, expected, got }),
    }
}

/// Checks the shape `(n_rows, width)` of a row-major matrix of `got` values; a product beyond
/// `usize` fits none.
fn shape(input: &'static str, n_rows: usize, width: usize, got: usize) -> Result<(), ScoreError> {
    same_length(input, n_rows.saturating_mul(width), got)
}

/// Checks every value of `input`.
fn legal(input: &'static str, values: &[f64], rule: impl Fn(f64) -> bool) -> Result<(), ScoreError> {
    match values.iter().position(|&value| !rule(value)) {
        None => Ok(()),
        Some(index) => Err(ScoreError::Value {
            input,
            index,
            value: values[index],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_input_and_the_rule() {
        let cases = [
            (accuracy(&[1], &[]).unwrap_err(), "predicted: must have 1 values, got 0"),
            (
                auc(&[true, false], &[0.0, f64::NAN]).unwrap_err(),
                "scores[1]: NaN is not a legal value",
            ),
            (
                auc(&[true], &[0.5]).unwrap_err(),
                "task 0: the area under the curve needs a positive and a negative item",
            ),
            (
                auc_one_vs_rest(&[2], &[0.5, 0.5], 2).unwrap_err(),
                "actual[0]: must lie below 2 (n_classes), got 2",
            ),
            (
                silhouette(&[0.0], &[0]).unwrap_err(),
                "a silhouette needs 2 clusters or more and fewer than items, got 1 of 1 items",
            ),
            (
                trustworthiness(&[0.0, 1.0], 1, &[0.0, 1.0], 1, 1).unwrap_err(),
                "k: must be at least 1 and less than half of the 2 items, got 1",
            ),
            (adjusted_rand(&[], &[]).unwrap_err(), "there is nothing to score"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
