//! Optimisers: settings, and the moments that they keep from step to step.
//!
//! They act on flat slices: what [`Tape::parameters_mut`](crate::Tape::parameters_mut) gives, or
//! any other parameters and their gradient. Moments below 1e-30 become 0; subnormal numbers would
//! otherwise slow every step of a parameter whose gradient is 0.

use crate::kernels::moments;
use serde::{Deserialize, Serialize};

/// How parameters follow their gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimiser {
    Sgd(Sgd),
    /// Adam, AdamW among it.
    Adam(Adam),
}

/// `b ← momentum b + g + weight_decay p`, `p ← p − rate b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate, finite and above 0. Default: 0.01.
    pub learning_rate: f32,
    /// In `0..1`; at 0 nothing is kept from step to step. Default: 0.
    pub momentum: f32,
    /// Finite and at least 0. Default: 0.
    pub weight_decay: f32,
}

/// Adam (D. Kingma and J. Ba 2015, algorithm 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate, finite and above 0. Default: 0.001.
    pub learning_rate: f32,
    /// The decay of the gradient's mean, in `0..1`. Default: 0.9.
    pub beta1: f32,
    /// The decay of the squared gradient's mean, in `0..1`. Default: 0.999.
    pub beta2: f32,
    /// Added to the root, finite and above 0. Default: 1e-8.
    pub epsilon: f32,
    pub decay: Decay,
}

/// How weights are pulled towards 0; the strength is finite and at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    None,
    /// `strength · p` is added to the gradient, so it passes through the moments.
    L2(f32),
    /// `p` is multiplied by `1 − rate · strength` before its step: AdamW (I. Loshchilov and F.
    /// Hutter 2019, algorithm 2).
    Decoupled(f32),
}

impl Default for Sgd {
    fn default() -> Sgd {
        Sgd {
            learning_rate: 0.01,
            momentum: 0.0,
            weight_decay: 0.0,
        }
    }
}

impl Default for Adam {
    fn default() -> Adam {
        Adam {
            learning_rate: 0.001,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            decay: Decay::None,
        }
    }
}

/// What an optimiser keeps of the steps before. It may serve one model after another and keeps its
/// memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    first: Vec<f32>,
    second: Vec<f32>,
    /// `β1^t` and `β2^t` after `t` steps.
    powers: [f64; 2],
}

impl Default for Moments {
    fn default() -> Moments {
        Moments::new()
    }
}

impl Moments {
    /// Moments before the first step of any model.
    pub fn new() -> Moments {
        Moments {
            first: Vec::new(),
            second: Vec::new(),
            powers: [1.0; 2],
        }
    }

    pub fn reset(&mut self) {
        self.first.clear();
        self.second.clear();
        self.powers = [1.0; 2];
    }

    /// Whether each number is one that a next step can use.
    pub fn is_finite(&self) -> bool {
        [&self.first, &self.second]
            .iter()
            .all(|list| list.iter().all(|x| x.is_finite()))
    }

    fn fit(&mut self, n: usize, with_second: bool) {
        let lists = [Some(&mut self.first), with_second.then_some(&mut self.second)];
        for list in lists.into_iter().flatten() {
            assert!(
                list.is_empty() || list.len() == n,
                "moments of another model: reset them"
            );
            list.resize(n, 0.0);
        }
    }
}

impl Optimiser {
    /// Moves `parameters` by one step against `gradient`.
    ///
    /// # Panics
    /// If the lengths differ, or `moments` are those of a model of another length.
    ///
    /// # Determinism
    /// Element by element; no draws.
    pub fn step(&self, moments: &mut Moments, parameters: &mut [f32], gradient: &[f32]) {
        assert_eq!(parameters.len(), gradient.len(), "each parameter has a gradient");
        match self {
            Optimiser::Sgd(sgd) if sgd.momentum == 0.0 => {
                moments::descend(sgd.learning_rate, sgd.weight_decay, parameters, gradient);
            }
            Optimiser::Sgd(sgd) => {
                moments.fit(parameters.len(), false);
                let velocity = &mut moments.first;
                moments::descend_with_momentum(
                    sgd.learning_rate,
                    sgd.momentum,
                    sgd.weight_decay,
                    parameters,
                    gradient,
                    velocity,
                );
            }
            Optimiser::Adam(adam) => adam.step(moments, parameters, gradient),
        }
    }
}

impl Adam {
    fn step(&self, moments: &mut Moments, parameters: &mut [f32], gradient: &[f32]) {
        moments.fit(parameters.len(), true);
        let [power1, power2] = &mut moments.powers;
        *power1 *= f64::from(self.beta1);
        *power2 *= f64::from(self.beta2);
        let rate = f64::from(self.learning_rate);
        let (l2, shrink) = match self.decay {
            Decay::None => (0.0, 1.0),
            Decay::L2(strength) => (strength, 1.0),
            Decay::Decoupled(strength) => (0.0, (1.0 - rate * f64::from(strength)) as f32),
        };
        let step = moments::AdamStep {
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            rate: (rate / (1.0 - *power1)) as f32,
            correction: (1.0 / (1.0 - *power2).sqrt()) as f32,
            l2,
            shrink,
        };
        moments::adam(&step, parameters, gradient, &mut moments.first, &mut moments.second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_of_adam_is_the_rate_against_the_sign() {
        for decay in [Decay::None, Decay::L2(0.0), Decay::Decoupled(0.0)] {
            let adam = Optimiser::Adam(Adam {
                learning_rate: 0.5,
                decay,
                ..Adam::default()
            });
            let mut parameters = [1.0, 1.0, 1.0];
            adam.step(&mut Moments::new(), &mut parameters, &[0.3, -20.0, 0.0]);
            assert_eq!(parameters.map(|p| (p * 1e4).round()), [5e3, 15e3, 1e4]);
        }
    }

    /// Without a gradient AdamW only shrinks, and Adam with L2 moves by its whole rate.
    #[test]
    fn the_two_decays_differ() {
        let after = |decay| {
            let mut parameters = [2.0];
            let adam = Optimiser::Adam(Adam {
                learning_rate: 0.1,
                decay,
                ..Adam::default()
            });
            adam.step(&mut Moments::new(), &mut parameters, &[0.0]);
            (parameters[0] * 1e5).round()
        };
        assert_eq!(after(Decay::Decoupled(0.5)), 1.9e5);
        assert_eq!(after(Decay::L2(1e-3)), 1.9e5);
        assert_eq!(after(Decay::Decoupled(1e-3)), 1.9998e5);
    }

    #[test]
    fn moments_never_become_subnormal() {
        let adam = Optimiser::Adam(Adam {
            beta2: 0.5,
            ..Adam::default()
        });
        let sgd = Optimiser::Sgd(Sgd {
            momentum: 0.5,
            ..Sgd::default()
        });
        for optimiser in [adam, sgd] {
            let (mut moments, mut parameters) = (Moments::new(), [1.0; 40]);
            optimiser.step(&mut moments, &mut parameters, &[1e-3; 40]);
            for _ in 0..2000 {
                optimiser.step(&mut moments, &mut parameters, &[0.0; 40]);
                let all = moments.first.iter().chain(&moments.second);
                assert!(all.into_iter().all(|m| *m == 0.0 || m.is_normal()));
            }
            assert!(moments.first.iter().all(|m| *m == 0.0));
        }
    }

    #[test]
    #[should_panic(expected = "moments of another model")]
    fn moments_belong_to_one_model() {
        let (mut moments, adam) = (Moments::new(), Optimiser::Adam(Adam::default()));
        adam.step(&mut moments, &mut [0.0; 2], &[0.0; 2]);
        adam.step(&mut moments, &mut [0.0; 3], &[0.0; 3]);
    }
}
