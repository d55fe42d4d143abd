//! Steps along the mean change, with and without momentum.

use super::{ServerMoments, ServerOptimiser, add, flush};
use folkmoot_parts::component;

/// `w ← w + rate Δ`: at the rate 1, FedAvg.
#[component(
    name = "Average",
    about = "server SGD: adds the mean update times the learning rate; with learning rate 1, FedAvg"
)]
#[derive(Clone, Copy, Debug)]
pub struct Average {
    /// Server learning rate.
    #[component(default = 1.0, above = 0, alias = "rate")]
    pub learning_rate: f64,
}

/// `v ← beta v + Δ`, `w ← w + rate v`: server momentum, FedAvgM.
///
/// T.-M. H. Hsu, H. Qi, M. Brown. Measuring the Effects of Non-Identical Data Distribution for
/// Federated Visual Classification. 2019, section 4.1. <https://arxiv.org/abs/1909.06335>
#[component(name = "Momentum", about = "server SGD with momentum: FedAvgM (Hsu et al. 2019)")]
#[derive(Clone, Copy, Debug)]
pub struct Momentum {
    /// Server learning rate.
    #[component(default = 1.0, above = 0, alias = "rate")]
    pub learning_rate: f64,
    /// Momentum coefficient.
    #[component(default = 0.9, in = 0..1)]
    pub beta: f64,
}

impl ServerOptimiser for Average {
    fn step(&self, _: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        for (w, delta) in weights.iter_mut().zip(change) {
            add(w, self.learning_rate * delta);
        }
    }

    fn takes_mean(&self) -> bool {
        self.learning_rate == 1.0
    }
}

impl ServerOptimiser for Momentum {
    fn step(&self, moments: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        let [last] = moments.rows(change.len(), [0.0]);
        for ((w, v), delta) in weights.iter_mut().zip(last).zip(change) {
            *v = flush(self.beta * *v + delta);
            add(w, self.learning_rate * *v);
        }
    }
}
