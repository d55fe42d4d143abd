//! Local training before and after the request.

use crate::evaluator::Forgetting;
use crate::plan::Plan;
use crate::{Local, Retrain};
use folkmoot_classifiers::attacks::{Models, RoundVictim};
use folkmoot_classifiers::classifier::{Classifier, Handed, Held, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use folkmoot_learning::Layout;
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Protocol, RoundEnd, Rounds, Task, Trained, Trainer};
use folkmoot_scenarios::algorithm::{Shared, Source};
use std::borrow::Cow;
use std::sync::Arc;

/// Training of a classifier, of which something is to be forgotten.
pub struct Unlearning {
    pub(crate) classifier: Arc<Classifier>,
    pub(crate) plan: Arc<Plan>,
}

impl Unlearning {
    /// As a strategy, with the rounds of the method behind those of `protocol`.
    pub(crate) fn rounds(self, protocol: &Protocol) -> Rounds<Self> {
        let n_rounds = self.plan.trained + self.plan.method.n_rounds(self.plan.trained);
        let protocol = Protocol {
            rounds: n_rounds,
            ..protocol.clone()
        };
        let plan = Arc::clone(&self.plan);
        let opens = Arc::clone(&plan);
        let rounds = Rounds::new(self, protocol)
            .selecting(Some(Arc::clone(&plan) as Arc<dyn ClientSelection>))
            .before_rounds(move |opening| opens.open(opening));
        match plan.is_in_groups() {
            true => rounds.personalised(plan),
            false => rounds.aggregating(Some(plan)),
        }
    }

    /// Exact retraining in the rounds in which [`Retrain`] does it, on clients that never had the
    /// data. The rounds before train nothing.
    pub(crate) fn reference(&self, protocol: &Protocol) -> Rounds<Self> {
        let plan = Plan {
            method: Chosen::new(Retrain {}),
            is_reference: true,
            ..(*self.plan).clone()
        };
        let reference = Unlearning {
            classifier: Arc::clone(&self.classifier),
            plan: Arc::new(plan),
        };
        reference.rounds(protocol)
    }

    /// The models of the groups.
    pub(crate) fn models_of_groups(&self, end: &RoundEnd<'_, Self>) -> Vec<Vec<f32>> {
        let of_group = |group: u32| match end.memory.own_model(ClientId(group)) {
            Some(model) => model.to_vec(),
            None => end.first_model(),
        };
        (0..self.plan.method.n_models()).map(of_group).collect()
    }

    /// What answers when a run is over: a model, or those of the groups.
    pub(crate) fn last(&self, end: &RoundEnd<'_, Self>) -> Models {
        match self.plan.is_in_groups() {
            true => Models::Together(self.models_of_groups(end)),
            false => Models::One(end.parameters.to_vec()),
        }
    }
}

impl AsRef<Classifier> for Unlearning {
    fn as_ref(&self) -> &Classifier {
        &self.classifier
    }
}

impl Trainer for Unlearning {
    type Shard<'a> = &'a Shard;
    type ClientState = ();

    fn layout(&self) -> &Layout {
        self.classifier.network().layout()
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train() as u32
    }

    fn cost(&self, shard: &Shard, round: Round) -> f64 {
        let Some(after) = self.plan.after(round) else {
            return self.classifier.cost(shard);
        };
        let (method, epochs) = (&self.plan.method, f64::from(self.classifier.epochs()));
        let passes = method.passes(after, epochs) / epochs;
        self.classifier.cost(method.shard(after, shard)) * passes
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained {
        let rng = &mut task.rng();
        let Some(round) = self.plan.after(task.round()) else {
            return match self.plan.is_reference {
                true => self.placeholder(task),
                false => Trained::model(self.classifier.train(task.shard, task.parameters, rng)),
            };
        };
        let local = Local {
            round,
            classifier: &self.classifier,
            shard: self.plan.method.shard(round, task.shard),
            parameters: task.parameters,
            rng,
        };
        Trained {
            n_samples: Some(local.shard.n_train() as u32),
            ..Trained::model(self.plan.method.train(local))
        }
    }

    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained {
        let after = self.plan.after(task.round());
        let n_samples = after.map(|round| self.plan.method.shard(round, task.shard).n_train() as u32);
        Trained {
            n_samples,
            ..Trained::model(task.parameters.to_vec())
        }
    }
}

impl RoundVictim for Unlearning {
    fn shared(&self, held: &Arc<Held>, source: &Source<'_>) -> Result<Shared<Rounds<Self>>, StrategyError> {
        let evaluator = Forgetting::new(held, &self.plan, source);
        Ok(Handed::watched(held, evaluator))
    }

    fn model<'p>(&self, parameters: &'p [f32]) -> Option<Cow<'p, [f32]>> {
        (!self.plan.is_in_groups()).then_some(Cow::Borrowed(parameters))
    }

    fn asked(&self, end: &RoundEnd<'_, Self>, _: &Held) -> Option<Models> {
        Some(self.last(end))
    }

    fn untrained(&self, end: &RoundEnd<'_, Self>) -> Option<Models> {
        Some(Models::One(end.first_model()))
    }

    fn own_models(&self, end: &RoundEnd<'_, Self>, known: &Held) -> Option<Vec<Vec<f32>>> {
        let models = self.plan.is_in_groups().then(|| self.models_of_groups(end))?;
        let of_client = |client: usize| models[client % models.len()].clone();
        Some((0..known.shards().len()).map(of_client).collect())
    }
}
