//! Federated averaging: clients train locally, the server averages by shard size.
//!
//! H. B. McMahan et al. Communication-Efficient Learning of Deep Networks from Decentralized Data.
//! AISTATS 2017, algorithm 1. <https://arxiv.org/abs/1602.05629>
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights, dense `f32`                    | 4 × n_params     |
//! | `update` | uplink    | training samples as `u32`, then weights | 4 × n_params + 4 |
//!
//! With `scale: Federated` the first round asks for statistics of inputs instead: 8 + 16 ×
//! n_features bytes per client. Every model is then 8 × n_features bytes longer. The relatives of
//! FedAvg are settings: FedProx (`training.fedprox_mu`), server momentum, FedAdam and FedYogi
//! (`protocol.server_optimizer`), FedBuff (`protocol.aggregation`), secure aggregation,
//! compression.
//!
//! Deviation from the paper: late updates are dropped, not waited for.

use crate::attacks::{self, Attack};
use crate::classifier::{self, Classified, Classifier, Facts, Inputs, Model, Scale, Split, Target, Training};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Rounds, Trains};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};

/// Settings of FedAvg.
#[component(
    name = "FedAvg",
    about = "federated averaging of graph neural networks, with FedProx, FedOpt, FedBuff and others as settings (AISTATS 2017)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of node features.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Attacks on the trained model, after the run.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let trains = Trains {
            hides_items: classifier::hides_items(&*self.model.encoder, self.scale),
            ..classifier::trains(&self.model, &self.training, self.scale)
        };
        self.protocol.suits(&trains, rules);
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Classified>;

    fn about(&self) -> About {
        let headline = &["test_accuracy", "payload_bytes", "virtual_s"];
        let about = crate::about((&self.model, &self.training, &self.protocol), &self.split, &[]);
        About { headline, ..about }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Ok(Facts::new(self.inputs, self.split, source)?.with(Target::Classes, self.scale, source))
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let classifier = Classifier::new(&self.model, &self.training, facts)?;
        let hides_items = classifier.hides_items();
        let rounds = Classified::new(classifier).rounds(&self.protocol);
        let n_seen = attacks::n_rounds(&self.attacks);
        rounds.hiding_items(hides_items).keeping(n_seen).checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        attacks::share(rounds, &self.attacks, facts, (self.split, source))
    }
}
