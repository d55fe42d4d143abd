//! Gromov-Wasserstein discrepancies: how far two graphs are from having the same distances between
//! their nodes.
//!
//! F. Mémoli. Gromov-Wasserstein Distances and the Metric Approach to Object Matching. Found.
//! Comput. Math. 11 (2011); G. Peyré, M. Cuturi and J. Solomon. Gromov-Wasserstein Averaging of
//! Kernel and Distance Matrices. ICML 2016; T. Vayer et al. Optimal Transport for Structured Data
//! with Application on Graphs. ICML 2019 (the fused form).
//!
//! For two [`Space`]s, symmetric matrices `C` and `D` with weights `p` and `q`,
//!
//! `GW = min_T Σ_ijkl (C_ik − D_jl)² T_ij T_kl`, over plans `T ≥ 0`, `T 1 = p`, `T' 1 = q`.
//!
//! The value is this sum itself: squared, not halved, no root taken. Its root is a metric between
//! spaces. The fused form is `(1 − α) <M, T> + α Σ …` with a cost `M` between nodes ([`Fused`],
//! [`feature_cost`]).
//!
//! - [`gw`], [`fused_gw`]: one pair; [`Solver`] for many, with its memory kept and its plans given
//!   out.
//! - [`all_pairs`], [`fused_all_pairs`], [`between`]: many pairs, in parallel.
//! - [`objective`], [`gradient`]: at any plan.
//! - [`entropic_gw`]: with an entropy, by scaling, or by the proximal-point method; with either
//!   [`Loss`].
//! - [`barycentre`], [`update`], [`resized`]: the mean of several spaces; [`k_means`]: clusters of
//!   spaces about their means.
//!
//! Promises: no value depends on the number of threads or on the pairs solved before; exchanging
//! the two spaces does not move a bit. The problem is not convex: what is found is a local optimum,
//! whose value bounds the least from above.
//!
//! ```
//! use folkmoot_similarity::gw::{Options, Space, gw};
//! let path = Space::uniform(vec![0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0])?;
//! let triangle = Space::uniform(vec![0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])?;
//! // One distance differs by 1, seen from both ends, each pair of nodes weighing 1/9.
//! assert!((gw(&path, &triangle, &Options::default())? - 2.0 / 9.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use thiserror::Error;

mod barycentre;
mod descent;
mod entropic;
mod exchange;
mod k_means;
mod kernels;
mod objective;
mod pairs;
mod solver;
mod space;
mod start;
#[cfg(test)]
mod tests;

pub use barycentre::{Alternation, Barycentre, barycentre, resized, update};
pub use entropic::{Entropic, EntropicCoupling, Loss, entropic_gw};
pub use k_means::{Clusters, KMeans, k_means};
pub use objective::{feature_cost, fused_objective, gradient, objective};
pub use pairs::{all_pairs, between, fused_all_pairs};
pub use solver::{Coupling, Solver, fused_gw, gw};
pub use space::{Space, SpaceError};

/// How the conditional gradient starts and when it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Stops when a step lowers the value by no more than this part of it; at least 0. The default
    /// is 1e-9.
    pub relative_tolerance: f64,
    /// Stops when a step lowers the value by no more than this; at least 0. The default is 1e-9.
    pub absolute_tolerance: f64,
    /// Stops after this many steps; at least 1. The default is 10 000.
    pub max_steps: u32,
    /// Where no step improves a vertex, try all exchanges of two flows, and go on from there if one
    /// helps. Off, this is the plain conditional gradient. The default is on.
    pub exchange: bool,
    /// The start `p q'` is disturbed: each value is multiplied by `1 + start_jitter × u`, `u`
    /// uniform in `[−1, 1)`, and the sums are restored. In `[0, 1)`; the default, 0, leaves it
    /// alone.
    ///
    /// A graph with a symmetry gives `p q'` a gradient with ties, which the order of its nodes then
    /// breaks; jitter breaks them at random.
    pub start_jitter: f64,
    /// Two starts more follow the first: the plans that sort both spaces from end to end, one way
    /// and the other. The lower of the two is refined like the first; then the best of the three is
    /// mixed with either of the others, and a mixture that leads lower is refined too. The best is
    /// kept, so they never worsen a value. The default is off.
    ///
    /// What a single start misses most is the way in which one space lies along the other. For hop
    /// counts of molecules these starts find lower values than as many disturbed ones, in less
    /// time.
    pub end_starts: bool,
    /// How many disturbed starts follow a first, undisturbed one; the best is kept, so they never
    /// worsen a value. 0, the default, makes the one start, disturbed if `start_jitter` is not 0.
    /// Others need a `start_jitter` above 0.
    pub restarts: u32,
    /// The seed of the disturbances. Every pair gets the same draws, so its value does not depend
    /// on its company.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            relative_tolerance: 1e-9,
            absolute_tolerance: 1e-9,
            max_steps: 10_000,
            exchange: true,
            start_jitter: 0.0,
            end_starts: false,
            restarts: 0,
            seed: 0,
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), GwError> {
        let tolerances = [
            ("relative_tolerance", self.relative_tolerance),
            ("absolute_tolerance", self.absolute_tolerance),
        ];
        for (name, value) in tolerances {
            if !(value.is_finite() && value >= 0.0) {
                return Err(GwError::parameter(name, "finite and at least 0", value));
            }
        }
        if self.max_steps == 0 {
            return Err(GwError::parameter("max_steps", "at least 1", 0.0));
        }
        if !(0.0..1.0).contains(&self.start_jitter) {
            let rule = "at least 0 and less than 1";
            return Err(GwError::parameter("start_jitter", rule, self.start_jitter));
        }
        if self.restarts > 0 && self.start_jitter == 0.0 {
            let rule = "0 without a start_jitter, or all starts are the same";
            return Err(GwError::parameter("restarts", rule, f64::from(self.restarts)));
        }
        Ok(())
    }
}

/// The part of the features in a fused problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fused<'a> {
    /// The share of the distances, in `0..=1`; the features have the rest.
    pub alpha: f64,
    /// What it costs to match a node of the first space with one of the second, row-major of shape
    /// `(n, m)`.
    pub cost: &'a [f64],
}

/// Why a Gromov-Wasserstein problem was refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GwError {
    /// A parameter is out of range.
    #[error("{name}: must be {rule}, got {value}")]
    Parameter {
        name: &'static str,
        /// What it must be.
        rule: &'static str,
        value: f64,
    },
    /// An array has a length that does not fit the spaces.
    #[error("{name}: must have {expected} values, got {got}")]
    Shape {
        name: &'static str,
        /// How many values it must have.
        expected: usize,
        /// How many it has.
        got: usize,
    },
    /// An array has a value that is not finite.
    #[error("{name}: must be finite, got {value} at position {index}")]
    Value {
        name: &'static str,
        index: usize,
        value: f64,
    },
}

impl GwError {
    fn parameter(name: &'static str, rule: &'static str, value: f64) -> GwError {
        GwError::Parameter { name, rule, value }
    }

    fn check_shape(name: &'static str, expected: usize, got: usize) -> Result<(), GwError> {
        match expected == got {
            true => Ok(()),
            false => Err(GwError::Shape { name, expected, got }),
        }
    }

    fn check_finite(name: &'static str, values: &[f64]) -> Result<(), GwError> {
        match values.iter().position(|value| !value.is_finite()) {
            Some(index) => Err(GwError::Value {
                name,
                index,
                value: values[index],
            }),
            None => Ok(()),
        }
    }
}
