//! Federated averaging: clients train locally, the server averages by shard size.
//!
//! H. B. McMahan et al. Communication-Efficient Learning of Deep Networks from Decentralized Data. AISTATS 2017, algorithm 1.
//! <https://arxiv.org/abs/1602.05629>
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights, dense `f32`                    | 4 × n_params     |
//! | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
//!
//! With `scale: Federated` the first round asks for statistics of inputs instead, 8 + 16 × n_features bytes a client, and 8 × n_features bytes more go with
//! every model.
//!
//! A client's samples are the graphs it holds, or the labelled nodes of its part of one graph, less those that validate and
//! test. The relatives of FedAvg are settings: FedProx (`training.proximal`), server momentum, FedAdam and FedYogi
//! (`protocol.server`), FedBuff (`protocol.aggregation`), secure aggregation (`protocol.secure`), compression (`protocol.up`,
//! `protocol.down`).
//!
//! Deviations from the paper: late updates are dropped, not waited for.

use crate::attacks::{self, Attack, RoundVictim};
use crate::classifier::{
    self, Accuracy, Classifier, Facts, Handed, Held, Inputs, Model, Scale, Shard, Split, Target, Training,
};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use folkmoot_parts::{Chosen, Rules, part};
use folkmoot_rounds::{HiddenItems, Protocol, RoundStrategy, Rounds, Task, Trained, Trains};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use std::sync::Arc;

/// The parameters of [`FedAvg`].
#[part(
    name = "FedAvg",
    about = "federated averaging of graph networks, and its relatives (AISTATS 2017)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The network.
    pub model: Model,
    /// A client's training in one round.
    pub training: Training,
    /// What nodes bring with them.
    pub inputs: Inputs,
    /// How these are scaled.
    pub scale: Scale,
    /// Who trains, validates and tests.
    pub split: Split,
    /// How rounds go.
    pub protocol: Protocol,
    /// Who asks, when the run is over, what it has given away.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let trains = Trains {
            hides_items: classifier::hides_items(self.model.encoder, self.scale),
            ..classifier::trains(&self.model, &self.training, self.scale)
        };
        self.protocol.suits(&trains, rules);
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<FedAvg>;

    fn about(&self) -> About {
        About {
            headline: &["test_accuracy", "payload_bytes", "virtual_s"],
            ..crate::about((&self.model, &self.training, &self.protocol), &self.split, &[])
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts::new(self.inputs, source)?.with(Target::Classes, self.scale, source))
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<FedAvg>, StrategyError> {
        let task = FedAvg(Classifier::new(&self.model, &self.training, facts));
        let rounds = Rounds::new(task, self.protocol.clone())?;
        Ok(rounds.keeping(attacks::n_rounds(&self.attacks)))
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Rounds<FedAvg>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<FedAvg>>, StrategyError> {
        attacks::share(rounds, &self.attacks, facts, (self.split, source))
    }
}

/// What FedAvg trains: a classifier of graphs or nodes.
pub struct FedAvg(Classifier);

impl AsRef<Classifier> for FedAvg {
    fn as_ref(&self) -> &Classifier {
        &self.0
    }
}

impl FedAvg {
    /// A training that hides items; without a stream the model as it came, charged as for one.
    fn train_hidden(&self, task: &Task<'_, '_, Self>, hidden: HiddenItems, rng: Option<&mut SimRng>) -> Trained<()> {
        let mut releases = task.releases_of_items();
        let from = (task.shard, task.parameters, task.passes);
        let parameters = self.0.train_hidden(from, hidden, rng, &mut releases);
        Trained {
            receipt: releases.receipt(),
            ..Trained::model(parameters)
        }
    }
}

impl RoundVictim for FedAvg {
    fn shared(&self, held: &Arc<Held>, _: &Source<'_>) -> Result<Shared<Rounds<FedAvg>>, StrategyError> {
        Ok(Handed::watched(held, Accuracy(Arc::clone(held))))
    }
}

impl RoundStrategy for FedAvg {
    type Shard<'a> = &'a Shard;
    type Order = ();
    type Extra = ();
    type Told = ();
    type Collected = ();
    type Kept = ();

    fn layout(&self) -> &Layout {
        self.0.network().layout()
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train() as u32
    }

    fn cost(&self, shard: &Shard) -> f64 {
        self.0.cost(shard)
    }

    fn passes(&self) -> u32 {
        self.0.epochs()
    }

    fn order(&self, _: Round, (): &()) {}

    fn n_fixed(&self) -> usize {
        self.0.n_fixed()
    }

    fn statistics(&self, shard: &Shard) -> Vec<f64> {
        self.0.statistics(shard)
    }

    fn fixed(&self, sums: &[f64]) -> Vec<f32> {
        self.0.fixed(sums)
    }

    fn tells_model_alone(&self) -> Result<(), &'static str> {
        self.0.tells_model_alone()
    }

    fn hides_items(&self) -> Result<(), &'static str> {
        self.0.hides_items()
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<()> {
        match task.hidden_items {
            Some(hidden) => self.train_hidden(&task, hidden, Some(&mut task.rng())),
            None => Trained::model(
                self.0
                    .train_passes(task.shard, task.parameters, task.passes, &mut task.rng()),
            ),
        }
    }

    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<()> {
        match task.hidden_items {
            Some(hidden) => self.train_hidden(&task, hidden, None),
            None => Trained::model(task.parameters.to_vec()),
        }
    }
}
