//! Retraining with a preconditioner.

use crate::plan::Plan;
use crate::{Local, ServerState, UnlearningMethod};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_rounds::OwnModel;
use std::collections::BTreeMap;

/// Rapid retraining: training from the initial model without the data, by steps that the diagonal
/// of the empirical Fisher information scales. With the mean `g` of the gradients of single items
/// and the mean `F` of their squares, per parameter: `m ← β₁ m + (1 − β₁) g`,
/// `v ← β₂ v + (1 − β₂) F²`, and `w ← w − rate m̂ / (√v̂ + damping)`, with `m̂` and `v̂` corrected
/// for their start at 0. Few rounds are to be enough.
///
/// Y. Liu, L. Xu, X. Yuan, C. Wang, B. Li. The Right to be Forgotten in Federated Learning: An
/// Efficient Realization with Rapid Retraining. INFOCOM 2022. <https://arxiv.org/abs/2203.07320>
///
/// Deviations from the paper: an epoch is one step over all items, and a client's moments start
/// afresh in each round. Encoders that normalise over a batch are rejected.
#[component(
    name = "RapidRetrain",
    about = "training from the initial model, preconditioned by the Fisher information (Liu et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct RapidRetrain {
    /// Rounds of retraining.
    #[component(default = 5, in = 1..=1_000_000)]
    pub rounds: u32,
    /// Steps of a client in a round.
    #[component(default = 10, in = 1..=100_000)]
    pub steps: u32,
    /// Learning rate.
    #[component(default = 0.01, above = 0)]
    pub learning_rate: f64,
    /// Decay of the mean gradient.
    #[component(default = 0.9, in = 0..1)]
    pub beta1: f64,
    /// Decay of the mean squared Fisher information.
    #[component(default = 0.99, in = 0..1)]
    pub beta2: f64,
    /// Added to the Fisher information of each parameter.
    #[component(default = 0.001, above = 0)]
    pub damping: f64,
}

impl UnlearningMethod for RapidRetrain {
    fn n_rounds(&self, _: u32) -> u32 {
        self.rounds
    }

    fn begin(
        &self,
        _: &Plan,
        (state, _): (&ServerState, &[f32]),
        _: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        Ok(Some(state.initial.clone()))
    }

    fn passes(&self, _: u32, _: f64) -> f64 {
        f64::from(self.steps)
    }

    fn train(&self, local: Local<'_>) -> Vec<f32> {
        let mut model = local.parameters.to_vec();
        if local.shard.n_train() == 0 {
            return model;
        }
        let n = local.classifier.network().layout().n_trainable();
        let mut moments = Moments::new(n);
        for _ in 0..self.steps {
            let (mut sums, mut squares, mut items) = (vec![0.0; n], vec![0.0; n], 0.0);
            let mut add = |gradient: &[f32]| {
                items += 1.0;
                for ((sum, square), g) in sums.iter_mut().zip(&mut squares).zip(gradient) {
                    let g = f64::from(*g);
                    *sum += g;
                    *square += g * g;
                }
            };
            local
                .classifier
                .item_gradients(local.shard, &model, local.rng, &mut add);
            sums.iter_mut().chain(&mut squares).for_each(|sum| *sum /= items);
            moments.step(self, &mut model, &sums, &squares);
        }
        model
    }
}

/// The two means of a client, and how many steps they are of.
pub(crate) struct Moments {
    gradient: Vec<f64>,
    fisher: Vec<f64>,
    /// Powers of the decays.
    left: [f64; 2],
}

impl Moments {
    pub(crate) fn new(n: usize) -> Self {
        Moments {
            gradient: vec![0.0; n],
            fisher: vec![0.0; n],
            left: [1.0; 2],
        }
    }

    /// A step of the first numbers of a model, given the mean of the gradients and of their squares.
    pub(crate) fn step(&mut self, of: &RapidRetrain, model: &mut [f32], gradient: &[f64], fisher: &[f64]) {
        self.left = [self.left[0] * of.beta1, self.left[1] * of.beta2];
        let [first, second] = self.left.map(|left| 1.0 - left);
        let means = self.gradient.iter_mut().zip(&mut self.fisher);
        for ((x, (m, v)), (g, f)) in model.iter_mut().zip(means).zip(gradient.iter().zip(fisher)) {
            *m = of.beta1 * *m + (1.0 - of.beta1) * g;
            *v = of.beta2 * *v + (1.0 - of.beta2) * f * f;
            let step = of.learning_rate * (*m / first) / ((*v / second).sqrt() + of.damping);
            *x = (f64::from(*x) - step) as f32;
        }
    }
}
