//! The point with the least sum of distances to the updates.

use super::context::{norm, weighted_mean};
use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// The point `v` with the least weighted sum of distances `Σ w ‖v − x‖` to the changes, by the
/// smoothed algorithm of Weiszfeld from their weighted mean: each iteration is a mean with weights
/// `w / max(smoothing, ‖v − x‖)`.
///
/// The distance is over all numbers that learn; the others are a mean with the last weights.
///
/// K. Pillutla, S. M. Kakade, Z. Harchaoui. Robust Aggregation for Federated Learning. IEEE
/// Transactions on Signal Processing 70, 2022, algorithm 2.
#[component(
    name = "GeometricMedian",
    about = "geometric median of the updates: RFA (Pillutla et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct GeometricMedian {
    /// Iterations of Weiszfeld's algorithm.
    #[component(default = 3, in = 1..=1000)]
    pub iterations: u32,
    /// Smallest distance that an update is taken to have.
    #[component(default = 1e-6, above = 0)]
    pub smoothing: f64,
}

impl Rule for GeometricMedian {
    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let changes = updates.changes();
        let weights: Vec<f64> = updates.all.iter().map(|update| update.weight).collect();
        let (mut middle, mut last) = (weighted_mean(&changes, &weights), weights.clone());
        for _ in 0..self.iterations {
            let distance = |change: &Vec<f64>| {
                let apart: Vec<f64> = change.iter().zip(&middle).map(|(x, v)| x - v).collect();
                norm(&apart).max(self.smoothing)
            };
            last = changes.iter().zip(&weights).map(|(x, w)| w / distance(x)).collect();
            middle = weighted_mean(&changes, &last);
        }
        updates.moved(&middle, &last)
    }

    fn keeps_agreement(&self) -> bool {
        true
    }
}
