//! Support vector classification with a precomputed kernel, by sequential minimal optimisation.
//!
//! C.-C. Chang and C.-J. Lin. LIBSVM: A Library for Support Vector Machines. 2011, Sec. 4; R.-E.
//! Fan, P.-H. Chen and C.-J. Lin. Working Set Selection Using Second Order Information for Training
//! SVM. JMLR 2005, Algorithm 2.
//!
//! A pair of classes minimises `0.5 α'Qα − Σα` over `0 <= α <= C`, `y'α = 0`, with
//! `Q_ij = y_i y_j K_ij`. Each step changes the two variables that promise the largest decrease.
//! Along a direction without positive curvature, which an indefinite kernel may have, the curvature
//! is taken as [`TAU`]: such a step goes to the bounds, the objective still falls at every step,
//! and the end is a stationary point instead of the minimum (H.-T. Lin and C.-J. Lin 2003). Left
//! out: shrinking and caches, because the kernel is in memory, and class weights.

mod smo;

use serde::{Deserialize, Serialize};

use super::finite;
use crate::evaluation::{EvaluationError, require, same_length};

/// The curvature of a direction that has none, as in LIBSVM.
const TAU: f64 = 1e-12;

/// The settings of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Svm {
    /// The bound `C` of every variable, finite and above 0: the weight of errors against the
    /// margin. Default: 1.
    pub c: f64,
    /// Stops when the gradients of no two variables that may grow and fall together differ by more;
    /// above 0. Default: 1e-3.
    pub tolerance: f64,
    /// Steps at most for each pair of classes. Default: 10 000 000.
    pub max_steps: u64,
}

impl Default for Svm {
    fn default() -> Svm {
        Svm {
            c: 1.0,
            tolerance: 1e-3,
            max_steps: 10_000_000,
        }
    }
}

/// What was found for two classes: the decision value of an item is `Σ coef × kernel − rho`.
#[derive(Clone, Debug, PartialEq)]
pub struct PairModel {
    /// The class of positive decision values, the smaller one.
    pub positive: u32,
    /// The class of all others.
    pub negative: u32,
    /// The training items with a coefficient that is not 0.
    pub support: Vec<u32>,
    /// `y α` of each: positive for items of the class `positive`, at most `C` in size.
    pub coef: Vec<f64>,
    pub rho: f64,
    /// `0.5 α'Qα − Σα`.
    pub dual_objective: f64,
    /// How many steps were taken.
    pub n_steps: u64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// A fitted classifier: one model for every two classes, and a vote among them.
#[derive(Clone, Debug, PartialEq)]
pub struct SvmModel {
    pub classes: Vec<u32>,
    /// The models of (first, second), (first, third), …, (second, third), … class.
    pub pairs: Vec<PairModel>,
    n_train: usize,
}

impl Svm {
    /// Fits one model for every two classes of `y`; `kernel` is symmetric, of shape
    /// `(y.len(), y.len())`.
    ///
    /// With a single class there is no pair, and that class is always predicted. Symmetry is not
    /// checked: item `i` is known by its row.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, no items, a shape that does not fit and values
    /// that are not finite.
    ///
    /// # Determinism
    /// No draws. Of equal candidates the later one is taken, with the items of the smaller class
    /// before those of the larger one.
    ///
    /// # Complexity
    /// O(n) a step, and `8 n²` bytes for each pair of `n` items.
    pub fn fit(&self, kernel: &[f64], y: &[u32]) -> Result<SvmModel, EvaluationError> {
        self.check()?;
        require(!y.is_empty(), "y", || "must have an item or more, got 0".to_string())?;
        same_length("kernel", y.len() * y.len(), kernel.len())?;
        finite("kernel", kernel)?;
        let all: Vec<u32> = (0..y.len() as u32).collect();
        Ok(self.fit_items(kernel, y.len(), y, &all))
    }

    pub(super) fn check(&self) -> Result<(), EvaluationError> {
        for (field, value) in [("c", self.c), ("tolerance", self.tolerance)] {
            require(value.is_finite() && value > 0.0, field, || {
                format!("must be finite and greater than 0, got {value}")
            })?;
        }
        require(self.max_steps > 0, "max_steps", || {
            "must be at least 1, got 0".to_string()
        })
    }

    /// [`fit`](Self::fit) for some of `width` items whose kernel and classes were checked. The
    /// models' items are positions in `items`.
    pub(super) fn fit_items(&self, kernel: &[f64], width: usize, y: &[u32], items: &[u32]) -> SvmModel {
        let mut classes: Vec<u32> = items.iter().map(|&item| y[item as usize]).collect();
        classes.sort_unstable();
        classes.dedup();
        let members = |class| (0..items.len() as u32).filter(move |&at| y[items[at as usize] as usize] == class);
        let mut pairs = Vec::new();
        for (rank, &positive) in classes.iter().enumerate() {
            for &negative in &classes[rank + 1..] {
                let mut at: Vec<u32> = members(positive).collect();
                let n_positive = at.len();
                at.extend(members(negative));
                let chosen: Vec<u32> = at.iter().map(|&at| items[at as usize]).collect();
                let mut own = Vec::with_capacity(chosen.len() * chosen.len());
                for &row in &chosen {
                    let row = &kernel[row as usize * width..][..width];
                    own.extend(chosen.iter().map(|&column| row[column as usize]));
                }
                let solved = smo::solve(&own, n_positive, self);
                let (support, coef) = std::iter::zip(at, solved.coef).filter(|(_, coef)| *coef != 0.0).unzip();
                pairs.push(PairModel {
                    positive,
                    negative,
                    support,
                    coef,
                    rho: solved.rho,
                    dual_objective: solved.objective,
                    n_steps: solved.n_steps,
                    converged: solved.converged,
                });
            }
        }
        SvmModel {
            classes,
            pairs,
            n_train: items.len(),
        }
    }
}

impl PairModel {
    /// The decision value of an item from its kernel with every training item.
    fn decision(&self, kernel: impl Fn(u32) -> f64) -> f64 {
        let products = self.support.iter().zip(&self.coef).map(|(&at, coef)| coef * kernel(at));
        products.sum::<f64>() - self.rho
    }
}

impl SvmModel {
    /// The decision values of every pair, of shape `(n_test, n_pairs)`; `kernel` has shape
    /// `(n_test, n_train)`.
    ///
    /// # Errors
    /// [`EvaluationError`] if the kernel is no whole number of rows, or holds what is not finite.
    pub fn decisions(&self, kernel: &[f64]) -> Result<Vec<f64>, EvaluationError> {
        let rows = self.rows(kernel)?;
        Ok(rows
            .flat_map(|row| self.pairs.iter().map(|pair| pair.decision(|at| row[at as usize])))
            .collect())
    }

    /// The class of each test item: the one most pairs decide for, of equal ones the smallest;
    /// `kernel` has shape `(n_test, n_train)`.
    ///
    /// # Errors
    /// As [`decisions`](Self::decisions).
    pub fn predict(&self, kernel: &[f64]) -> Result<Vec<u32>, EvaluationError> {
        let rows = self.rows(kernel)?;
        Ok(rows.map(|row| self.vote(|at| row[at as usize])).collect())
    }

    /// Whether every pair reached the tolerance.
    pub fn converged(&self) -> bool {
        self.pairs.iter().all(|pair| pair.converged)
    }

    fn rows<'a>(&self, kernel: &'a [f64]) -> Result<impl Iterator<Item = &'a [f64]>, EvaluationError> {
        same_length("kernel", kernel.len().next_multiple_of(self.n_train), kernel.len())?;
        finite("kernel", kernel)?;
        Ok(kernel.chunks_exact(self.n_train))
    }

    /// The class of an item from its kernel with every training item.
    pub(super) fn vote(&self, kernel: impl Fn(u32) -> f64) -> u32 {
        let mut votes = vec![0u32; self.classes.len()];
        let mut pairs = self.pairs.iter();
        for first in 0..votes.len() {
            for (second, pair) in (first + 1..votes.len()).zip(&mut pairs) {
                let winner = if pair.decision(&kernel) > 0.0 { first } else { second };
                votes[winner] += 1;
            }
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        let winner = votes.iter().position(|&n| n == most);
        self.classes[winner.expect("a fit has a class, and one of the counts is the largest")]
    }
}

#[cfg(test)]
mod tests;
