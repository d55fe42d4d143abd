//! What the server does with the mean of the updates.
//!
//! S. Reddi et al. Adaptive Federated Optimization. ICLR 2021, algorithm 2 (FedAdam, FedYogi). <https://arxiv.org/abs/2003.00295>
//! T.-M. H. Hsu, H. Qi, M. Brown. Measuring the Effects of Non-Identical Data Distribution for Federated Visual
//! Classification. 2019, section 4.1 (server momentum). <https://arxiv.org/abs/1909.06335>

use folkmoot_parts::part;
use serde::{Deserialize, Serialize};

/// The server's step from the mean change `Δ` of the weights; all in double precision, the weights rounded to `f32` at the end.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerOptimiser {
    /// `w ← w + rate Δ`: at the rate 1, FedAvg.
    #[default]
    Average {
        /// The rate.
        #[part(default = 1.0, above = 0)]
        rate: f64,
    },
    /// `v ← beta v + Δ`, `w ← w + rate v`: server momentum, FedAvgM.
    Momentum {
        /// The rate.
        #[part(default = 1.0, above = 0)]
        rate: f64,
        /// The share of the last step that is kept.
        #[part(default = 0.9, in = 0..1)]
        beta: f64,
    },
    /// `m ← beta1 m + (1 − beta1) Δ`, `v ← beta2 v + (1 − beta2) Δ²`, `w ← w + rate m / (sqrt(v) + tau)`, from `m = 0` and
    /// `v = tau²`, without bias correction: FedAdam.
    Adam {
        /// The rate.
        #[part(default = 0.01, above = 0)]
        rate: f64,
        /// The decay of the first moment.
        #[part(default = 0.9, in = 0..1)]
        beta1: f64,
        /// The decay of the second moment.
        #[part(default = 0.99, in = 0..1)]
        beta2: f64,
        /// The degree of adaptivity.
        #[part(default = 0.001, above = 0)]
        tau: f64,
    },
    /// As `Adam`, but `v ← v − (1 − beta2) Δ² sign(v − Δ²)`: FedYogi.
    Yogi {
        /// The rate.
        #[part(default = 0.01, above = 0)]
        rate: f64,
        /// The decay of the first moment.
        #[part(default = 0.9, in = 0..1)]
        beta1: f64,
        /// The decay of the second moment.
        #[part(default = 0.99, in = 0..1)]
        beta2: f64,
        /// As for `Adam`.
        #[part(default = 0.001, above = 0)]
        tau: f64,
    },
}

/// What the server's optimiser keeps from round to round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerMoments {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl ServerOptimiser {
    /// Moves `weights` by the mean `change`, element by element.
    ///
    /// # Panics
    ///
    /// If the lengths differ, or those of an earlier call.
    pub fn step(&self, moments: &mut ServerMoments, weights: &mut [f32], change: &[f64]) {
        assert_eq!(weights.len(), change.len(), "each weight has a change");
        let mut add = |i: usize, step: f64| weights[i] = (f64::from(weights[i]) + step) as f32;
        match *self {
            ServerOptimiser::Average { rate } => (0..change.len()).for_each(|i| add(i, rate * change[i])),
            ServerOptimiser::Momentum { rate, beta } => {
                moments.first.resize(change.len(), 0.0);
                for (i, v) in moments.first.iter_mut().enumerate() {
                    *v = flush(beta * *v + change[i]);
                    add(i, rate * *v);
                }
            }
            ServerOptimiser::Adam {
                rate,
                beta1,
                beta2,
                tau,
            }
            | ServerOptimiser::Yogi {
                rate,
                beta1,
                beta2,
                tau,
            } => {
                moments.first.resize(change.len(), 0.0);
                moments.second.resize(change.len(), tau * tau);
                let yogi = matches!(self, ServerOptimiser::Yogi { .. });
                for (i, (m, v)) in moments.first.iter_mut().zip(&mut moments.second).enumerate() {
                    let square = change[i] * change[i];
                    *m = flush(beta1 * *m + (1.0 - beta1) * change[i]);
                    *v = flush(match yogi {
                        false => beta2 * *v + (1.0 - beta2) * square,
                        true if *v > square => *v - (1.0 - beta2) * square,
                        true if *v < square => *v + (1.0 - beta2) * square,
                        true => *v,
                    });
                    add(i, rate * *m / (v.sqrt() + tau));
                }
            }
        }
    }
}

/// Moments that have all but vanished are 0: subnormal numbers are slow.
fn flush(x: f64) -> f64 {
    if x.abs() < 1e-300 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps by hand, the change 2 and then −1.
    fn two_steps(optimiser: ServerOptimiser) -> f64 {
        let (mut moments, mut weights) = (ServerMoments::default(), [10.0]);
        optimiser.step(&mut moments, &mut weights, &[2.0]);
        optimiser.step(&mut moments, &mut weights, &[-1.0]);
        f64::from(weights[0])
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }

    #[test]
    fn steps_are_those_of_the_papers() {
        near(two_steps(ServerOptimiser::Average { rate: 0.5 }), 10.5);
        // v = 2, then 0.5 · 2 − 1 = 0.
        near(two_steps(ServerOptimiser::Momentum { rate: 1.0, beta: 0.5 }), 12.0);
        let (rate, beta1, beta2, tau) = (1.0, 0.5, 0.75, 1.0);
        let adam = ServerOptimiser::Adam {
            rate,
            beta1,
            beta2,
            tau,
        };
        // m = 1, v = 0.75 + 1; then m = 0, v = 1.3125 + 0.25.
        near(two_steps(adam), 10.0 + 1.0 / (1.75f64.sqrt() + 1.0));
        let yogi = ServerOptimiser::Yogi {
            rate,
            beta1,
            beta2,
            tau,
        };
        // m = 1, v = 1 + 0.25 · 4 = 2; then m = 0.
        near(two_steps(yogi), 10.0 + 1.0 / (2.0f64.sqrt() + 1.0));
    }

    /// Where changes vanish, Yogi's second moment falls more slowly than Adam's.
    #[test]
    fn yogi_forgets_more_slowly() {
        let moments = |optimiser: ServerOptimiser| {
            let mut moments = ServerMoments::default();
            for change in [4.0, 0.1, 0.1] {
                optimiser.step(&mut moments, &mut [0.0], &[change]);
            }
            moments.second[0]
        };
        let (rate, beta1, beta2, tau) = (0.1, 0.9, 0.9, 0.01);
        let adam = moments(ServerOptimiser::Adam {
            rate,
            beta1,
            beta2,
            tau,
        });
        let yogi = moments(ServerOptimiser::Yogi {
            rate,
            beta1,
            beta2,
            tau,
        });
        assert!(yogi > 1.2 * adam, "{yogi} and {adam}");
    }
}
