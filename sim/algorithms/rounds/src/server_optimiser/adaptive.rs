//! Adaptive steps.
//!
//! S. Reddi et al. Adaptive Federated Optimization. ICLR 2021, algorithm 2 (FedAdam, FedYogi).
//! <https://arxiv.org/abs/2003.00295>

use super::{ServerMoments, ServerOptimiser, add, flush};
use folkmoot_parts::component;

/// `m ← beta1 m + (1 − beta1) Δ`, `v ← beta2 v + (1 − beta2) Δ²`,
/// `w ← w + rate m / (sqrt(v) + tau)`, from `m = 0` and `v = tau²`, without bias correction:
/// FedAdam.
#[component(name = "Adam", about = "adaptive server optimizer: FedAdam (Reddi et al. 2021)")]
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// Server learning rate.
    #[component(default = 0.01, above = 0, alias = "rate")]
    pub learning_rate: f64,
    /// Decay rate of the first moment.
    #[component(default = 0.9, in = 0..1)]
    pub beta1: f64,
    /// Decay rate of the second moment.
    #[component(default = 0.99, in = 0..1)]
    pub beta2: f64,
    /// Degree of adaptivity: constant added to the denominator.
    #[component(default = 0.001, above = 0)]
    pub tau: f64,
}

/// As [`Adam`], but `v ← v − (1 − beta2) Δ² sign(v − Δ²)`: FedYogi.
#[component(
    name = "Yogi",
    about = "adaptive server optimizer with Yogi's second moment: FedYogi (Reddi et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Yogi {
    /// Server learning rate.
    #[component(default = 0.01, above = 0, alias = "rate")]
    pub learning_rate: f64,
    /// Decay rate of the first moment.
    #[component(default = 0.9, in = 0..1)]
    pub beta1: f64,
    /// Decay rate of the second moment.
    #[component(default = 0.99, in = 0..1)]
    pub beta2: f64,
    /// Degree of adaptivity: constant added to the denominator.
    #[component(default = 0.001, above = 0)]
    pub tau: f64,
}

impl ServerOptimiser for Adam {
    fn step(&self, moments: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        let &Adam {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        } = self;
        let second = |v: f64, square: f64| beta2 * v + (1.0 - beta2) * square;
        adapt(moments, weights, change, (rate, beta1, tau), second);
    }
}

impl ServerOptimiser for Yogi {
    fn step(&self, moments: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        let &Yogi {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        } = self;
        let second = |v: f64, square: f64| match () {
            () if v > square => v - (1.0 - beta2) * square,
            () if v < square => v + (1.0 - beta2) * square,
            () => v,
        };
        adapt(moments, weights, change, (rate, beta1, tau), second);
    }
}

/// A step of either, which differ in the second moment that follows from the last and the square of
/// the change.
fn adapt(
    moments: &mut ServerMoments,
    weights: &mut [f32],
    change: &[f64],
    (rate, beta1, tau): (f64, f64, f64),
    second: impl Fn(f64, f64) -> f64,
) {
    let [first, seconds] = moments.rows(change.len(), [0.0, tau * tau]);
    for (i, (m, v)) in first.iter_mut().zip(seconds).enumerate() {
        *m = flush(beta1 * *m + (1.0 - beta1) * change[i]);
        *v = flush(second(*v, change[i] * change[i]));
        add(&mut weights[i], rate * *m / (v.sqrt() + tau));
    }
}
