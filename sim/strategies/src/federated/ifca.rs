//! IFCA: several models, each trained by the clients that it fits best.

use super::method::sees_updates;
use super::{Common, Learned, Local, Method, Params};
use crate::rounds::{Rule, Update, Updates};
use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, part};

/// IFCA: several models, and each client trains the one that fits its data best.
///
/// A. Ghosh, J. Chung, D. Yin, K. Ramchandran. An Efficient Framework for Clustered Federated Learning. NeurIPS 2020, algorithm 1, with
/// averaged models. <https://arxiv.org/abs/2006.04088>
///
/// | exchange | direction | payload                                                      | bytes                   |
/// |----------|-----------|--------------------------------------------------------------|-------------------------|
/// | `model`  | downlink  | the weights of all `k` models                                | 4 × k × n_params        |
/// | `update` | uplink    | training samples as `u32`, weights, which model, as an `f32` | 4 × n_params + 8        |
///
/// A client takes the model with the least mean cross entropy over its training items (of equals the first; one that is no number is the
/// worst), trains it, and says which it was. Each model becomes what `protocol.rule` makes of its members' updates, and stays where there
/// are none, or fewer than the rule needs. Models begin apart, each drawn by itself. A client answers with the model that fits its training items best.
/// Choosing takes a third of a pass for each model.
#[part(
    name = "Ifca",
    about = "several models, each trained by the clients that it fits best (NeurIPS 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Ifca {
    /// Models, k in the paper.
    #[part(default = 2, in = 1..=1_000)]
    pub clusters: u32,
}

impl Ifca {
    /// Which model fits best, and its weights.
    fn choice<'a>(&self, local: &Local<'a>) -> (usize, &'a [f32]) {
        let n = local.common.n_parameters();
        let models = local.parameters.chunks_exact(n).enumerate();
        let by_loss = models.map(|(at, model)| (local.classifier().training_loss(local.shard, model), at, model));
        // Of equals the first.
        let best = by_loss.reduce(|best, other| if other.0 < best.0 { other } else { best });
        let (_, at, model) = best.expect("there is at least one model");
        (at, model)
    }
}

impl Method for Ifca {
    fn tells_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of Ifca also tell which model they chose; use Global")
    }

    fn n_down(&self, common: &Common) -> usize {
        self.clusters as usize * common.n_parameters()
    }

    fn n_up(&self, common: &Common) -> usize {
        common.n_parameters() + 1
    }

    fn initial(&self, common: &Common, rng: &mut SimRng) -> Vec<f32> {
        let layout = common.classifier.network().layout();
        (0..self.clusters).flat_map(|_| layout.initialise(rng)).collect()
    }

    fn passes(&self, epochs: f64) -> f64 {
        epochs + f64::from(self.clusters) / 3.0
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let (at, model) = self.choice(local);
        let mut sent = local.train(model);
        sent.push(at as f32);
        Learned::sent(sent)
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        self.choice(local).1.to_vec()
    }

    fn global(&self, parameters: &[f32]) -> Option<Vec<f32>> {
        (self.clusters == 1).then(|| parameters.to_vec())
    }

    fn combine(&self, common: &Common, rule: &dyn Rule, updates: &Updates<'_>) -> Vec<f64> {
        let n = common.n_parameters();
        let cluster = |(at, model): (usize, &[f32])| -> Vec<f64> {
            let is_member = |update: &&Update<'_>| update.values[n] == at as f32;
            let members = updates.all.iter().filter(is_member).map(|update| Update {
                values: &update.values[..n],
                ..*update
            });
            let all: Vec<Update<'_>> = members.collect();
            if all.len() < rule.fewest().max(1) as usize {
                return model.iter().map(|x| f64::from(*x)).collect();
            }
            rule.combine(&Updates {
                all,
                model,
                n_trainable: updates.n_trainable,
            })
        };
        updates.model.chunks_exact(n).enumerate().flat_map(cluster).collect()
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let why = "a change says nothing of which model it is of";
        sees_updates(params, rules, "Ifca", why);
    }
}
