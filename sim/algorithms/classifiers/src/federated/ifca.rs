//! IFCA: several models, each trained by the clients that it fits best.

use super::method::sees_updates;
use super::{Common, Federated, Learned, Local, Method, Params};
use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Personalisation, Rule, RuleContext, Travels, Update, Updates};

/// IFCA: several models, and each client trains the one that fits its data best.
///
/// A. Ghosh, J. Chung, D. Yin, K. Ramchandran. An Efficient Framework for Clustered Federated
/// Learning. NeurIPS 2020, algorithm 1, with averaged models. <https://arxiv.org/abs/2006.04088>
///
/// | exchange | direction | payload                                                      | bytes                   |
/// |----------|-----------|--------------------------------------------------------------|-------------------------|
/// | `model`  | downlink  | the weights of all `k` models, and then what of these does not learn | 4 × k × n_params |
/// | `update` | uplink    | training samples as `u32`, weights, which model, as an `f32` | 4 × n_params + 8        |
///
/// A client takes the model with the least mean cross entropy over its training items (of equals
/// the first; one that is no number is the worst), trains it, and says which it was. Each model
/// becomes what `protocol.aggregator` makes of its members' updates, and stays where there are
/// none, or fewer than the rule needs. Models begin apart, each drawn by itself. A client answers
/// with the model that fits its training items best. Choosing takes a third of a pass for each
/// model.
#[component(
    name = "Ifca",
    about = "IFCA: clustered federated learning, each model trained by the clients with the lowest loss on it (NeurIPS 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Ifca {
    /// Number of clusters (models), k in the paper.
    #[component(default = 2, in = 1..=1_000)]
    pub clusters: u32,
}

/// How many numbers of a model learn.
fn n_learning(common: &Common) -> usize {
    common.classifier.network().layout().n_trainable()
}

impl Ifca {
    /// One of the server's models.
    fn model<T: Copy>(&self, common: &Common, numbers: &[T], at: usize) -> Vec<T> {
        let (n, n_others) = (n_learning(common), common.n_parameters() - n_learning(common));
        let (learning, others) = numbers.split_at(self.clusters as usize * n);
        [&learning[at * n..][..n], &others[at * n_others..][..n_others]].concat()
    }

    /// The server's numbers, of its models: what learns of all, so that a codec finds it in one
    /// place, and then the rest.
    fn join<T: Copy>(common: &Common, models: &[Vec<T>]) -> Vec<T> {
        let n = n_learning(common);
        let learning = models.iter().flat_map(|model| &model[..n]);
        let others = models.iter().flat_map(|model| &model[n..]);
        learning.chain(others).copied().collect()
    }

    /// Which model fits best, and its weights.
    fn choice(&self, local: &Local<'_>) -> (usize, Vec<f32>) {
        let models = (0..self.clusters as usize).map(|at| (at, self.model(local.common, local.parameters, at)));
        let by_loss = models.map(|(at, model)| (local.classifier().training_loss(local.shard, &model), at, model));
        // Of equals the first.
        let best = by_loss.reduce(|best, other| if other.0 < best.0 { other } else { best });
        let (_, at, model) = best.expect("there is at least one model");
        (at, model)
    }
}

impl Method for Ifca {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("clients of Ifca also tell which model they chose; use Global")
    }

    fn passes(&self, epochs: f64) -> f64 {
        epochs + f64::from(self.clusters) / 3.0
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let (at, model) = self.choice(local);
        let mut sent = local.train(&model);
        sent.push(at as f32);
        Learned::sent(sent)
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        self.choice(local).1
    }

    fn global(&self, parameters: &[f32]) -> Option<Vec<f32>> {
        (self.clusters == 1).then(|| parameters.to_vec())
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        let why = "an update does not identify its model";
        sees_updates(params, rules, "Ifca", why);
        let rule = "keeps something of one model from round to round, and Ifca has several; use another aggregator";
        rules.require(!params.protocol.aggregator.remembers(), "protocol.aggregator", rule);
    }
}

impl Personalisation<Federated> for Ifca {
    fn travels(&self, federated: &Federated) -> Travels {
        let one = Travels::whole(federated);
        let clusters = self.clusters as usize;
        Travels {
            n_down: clusters * one.n_down,
            shapes: one.shapes.repeat(clusters),
            ..one.and(1)
        }
    }

    /// Where the model begins of which the update says it is.
    fn begins(&self, federated: &Federated, others: &[f32]) -> usize {
        let at = others.last().map_or(0, |at| *at as usize);
        at.min((self.clusters as usize).saturating_sub(1)) * n_learning(&federated.common)
    }

    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        let common = &federated.common;
        let layout = common.classifier.network().layout();
        let models: Vec<Vec<f32>> = (0..self.clusters).map(|_| layout.initialise(rng)).collect();
        Ifca::join(common, &models)
    }

    fn combine(
        &self,
        federated: &Federated,
        rule: &dyn Rule,
        updates: &Updates<'_>,
        context: &mut RuleContext<'_>,
    ) -> Vec<f64> {
        let common = &federated.common;
        let n = common.n_parameters();
        let mut cluster = |at: usize| -> Vec<f64> {
            let model = self.model(common, updates.model, at);
            let is_member = |update: &&Update<'_>| update.values[n] == at as f32;
            let members = updates.all.iter().filter(is_member).map(|update| Update {
                values: &update.values[..n],
                ..*update
            });
            let all: Vec<Update<'_>> = members.collect();
            if all.len() < rule.fewest().max(1) as usize {
                return model.iter().map(|x| f64::from(*x)).collect();
            }
            let members = Updates {
                all,
                model: &model,
                n_trainable: updates.n_trainable,
            };
            rule.combine(&members, context)
        };
        let models: Vec<Vec<f64>> = (0..self.clusters as usize).map(&mut cluster).collect();
        Ifca::join(common, &models)
    }
}
