//! Projected gradient ascent.

use crate::plan::Plan;
use crate::{Local, ServerState, UnlearningMethod};
use folkmoot_classifiers::classifier::Shard;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_rounds::OwnModel;
use std::collections::BTreeMap;

/// Projected gradient ascent: the client that is to be forgotten raises its loss from the mean
/// `w` of the other clients' last models, within a ball around `w`. Then the others train for some
/// rounds. The server stores the updates of the last round.
///
/// A. Halimi, S. Kadhe, A. Rawat, N. Baracaldo. Federated Unlearning: How to Efficiently Erase a
/// Client in FL? 2022, equations 3 and 4 and algorithm 1. <https://arxiv.org/abs/2207.05521>
///
/// Deviations from the paper: an epoch is one step along the gradient over all items, the radius is
/// a fraction of the length of `w` instead of the distance to random models, and the ascent stops
/// at the loss of a uniform guess instead of a threshold of accuracy. Of several clients, the
/// ascended models are averaged. Where only items are to be forgotten, the ascent is on these.
#[component(
    name = "Ascent",
    about = "projected gradient ascent on the data, then training without them (Halimi et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Ascent {
    /// Radius of the ball, divided by the length of `w`.
    #[component(default = 0.3, above = 0)]
    pub bound: f64,
    /// Epochs of ascent, at most.
    #[component(default = 20, in = 1..=100_000)]
    pub epochs: u32,
    /// Learning rate of the ascent.
    #[component(default = 0.05, above = 0)]
    pub learning_rate: f64,
    /// Rounds of training by the other clients that follow.
    #[component(default = 2, in = 0..=1_000_000)]
    pub rounds: u32,
}

impl UnlearningMethod for Ascent {
    fn n_rounds(&self, _: u32) -> u32 {
        1 + self.rounds
    }

    fn stores(&self, round: u32, trained: u32) -> bool {
        round + 1 == trained
    }

    fn takes_part(&self, round: u32, client: u32, plan: &Plan) -> bool {
        if round == 0 {
            plan.is_affected(client)
        } else {
            plan.stays(client)
        }
    }

    fn begin(
        &self,
        plan: &Plan,
        (state, model): (&ServerState, &[f32]),
        _: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        let none = "method: Ascent has no stored update of the last round by an unaffected client; set method: Retrain(), or let updates arrive";
        let last = plan.trained() - 1;
        let all = state.mean_change(last, |_| true);
        let others = state.mean_change(last, |client| !plan.is_affected(client));
        let (Some(all), Some(others)) = (all, others) else {
            return Err(StrategyError(none.to_owned()));
        };
        // The model is that of all clients: theirs is taken off, and that of the others put on.
        let changes = others.iter().zip(&all).map(|(others, all)| others - all);
        Ok(Some(model.iter().zip(changes).map(|(x, change)| x + change).collect()))
    }

    fn shard<'s>(&self, round: u32, shard: &'s Shard) -> &'s Shard {
        if round == 0 { shard.gone() } else { shard.remaining() }
    }

    /// A step, and a forward pass for the loss, which is a third of it.
    fn passes(&self, round: u32, epochs: f64) -> f64 {
        if round == 0 {
            f64::from(self.epochs) * 4.0 / 3.0
        } else {
            epochs
        }
    }

    fn train(&self, local: Local<'_>) -> Vec<f32> {
        if local.round > 0 {
            return local.classifier.train(local.shard, local.parameters, local.rng);
        }
        let (classifier, start) = (local.classifier, local.parameters);
        let guess = libm::log(classifier.network().n_classes() as f64);
        let radius = self.bound * length(start.iter().copied());
        let mut model = start.to_vec();
        for _ in 0..self.epochs {
            if classifier.training_loss(local.shard, &model) >= guess {
                break;
            }
            let gradient = classifier.loss_gradient(local.shard, &model, local.rng);
            for (x, slope) in model.iter_mut().zip(gradient) {
                *x += self.learning_rate as f32 * slope;
            }
            project(&mut model, start, radius);
        }
        model
    }
}

fn length(numbers: impl Iterator<Item = f32>) -> f64 {
    numbers.map(|x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

/// Moves a model to the nearest point within `radius` of `centre`.
pub(crate) fn project(model: &mut [f32], centre: &[f32], radius: f64) {
    let distance = length(model.iter().zip(centre).map(|(x, c)| x - c));
    if distance <= radius {
        return;
    }
    for (x, c) in model.iter_mut().zip(centre) {
        let c = f64::from(*c);
        *x = (c + (f64::from(*x) - c) * radius / distance) as f32;
    }
}
