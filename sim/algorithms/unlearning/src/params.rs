//! The settings, as a card writes them.

use crate::plan::Plan;
use crate::terms::TERMS;
use crate::{Unlearning, UnlearningMethod};
use folkmoot_classifiers::attacks::{self, Attack};
use folkmoot_classifiers::classifier::{Classifier, Facts, Forgotten, Inputs, Model, Scale, Split, Target, Training};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Aggregation, Private, Protocol, Rounds, Secure, Trains};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use std::sync::Arc;

/// Settings of federated unlearning.
#[component(
    name = "Unlearn",
    about = "federated averaging, then a request to forget clients or items, answered by a chosen method",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The data to forget.
    pub forget: Forget,
    /// Unlearning method. A fork may change it.
    pub method: Chosen<dyn UnlearningMethod>,
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of node features. `Federated` is rejected: the statistics would include the data to
    /// forget.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds before the request, with their aggregation and codecs. The rounds of the method
    /// follow.
    pub protocol: Protocol,
    /// Attacks on the last model: membership of the forgotten items against items of the same
    /// clients on which no model was trained.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// The data to forget.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Forget {
    /// Clients whose data are to be forgotten, by their numbers, from 0; at least one client stays
    /// unaffected.
    #[component(default = vec![0])]
    pub clients: Vec<u32>,
    /// Probability that an item of theirs is to be forgotten. Marked graphs no longer train; marked
    /// nodes, whether they train or not, leave the client's graph with their edges. With 1 the clients
    /// leave.
    #[component(default = 1.0, above = 0, at_most = 1)]
    pub share: f64,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let rule = "must name at least one client";
        rules.require(!self.forget.clients.is_empty(), "forget.clients", rule);
        let rule = "must be Raw or Standardised: a common scale would include the data to forget";
        rules.require(self.scale != Scale::Federated, "scale", rule);
        let protocol = &self.protocol;
        let rule = "must be Synchronous: the request comes between two rounds";
        let is_synchronous = protocol.aggregation == Aggregation::Synchronous;
        rules.require(is_synchronous, "protocol.aggregation", rule);
        let rule = "must be Off: the server sees single updates";
        rules.require(protocol.secure == Secure::Off, "protocol.secure", rule);
        rules.require(protocol.private == Private::Off, "protocol.private", rule);
        if !rules.is_broken("protocol.aggregator") {
            let rule = "must be Mean: the unlearning methods average updates";
            rules.require(protocol.aggregator.is_mean(), "protocol.aggregator", rule);
        }
        if !rules.is_broken("protocol.server_optimizer") {
            let rule = "must be Average: moments of another server optimizer would include the data to forget";
            let is_free = protocol.server_optimizer.takes_mean();
            rules.require(is_free, "protocol.server_optimizer", rule);
        }
        if !rules.is_broken("protocol.uplink_codec") {
            let rule = "must be a codec without error feedback: its residual would include the data to forget";
            rules.require(!protocol.uplink_codec.feeds_back(), "protocol.uplink_codec", rule);
        }
        protocol.suits(&Trains::default(), rules);
        if !rules.is_broken("method") {
            self.method.rules(self, rules);
        }
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Unlearning>;

    fn about(&self) -> About {
        let about = folkmoot_classifiers::about((&self.model, &self.training, &self.protocol), &self.split, TERMS);
        let trained = self.protocol.rounds;
        About {
            rounds: Some(trained.saturating_add(self.method.n_rounds(trained))),
            headline: &[
                "test_retained_accuracy",
                "loss_membership_auc",
                "model_distance",
                "unlearning_bytes",
                "unlearning_s",
            ],
            forkable: &["method"],
            ..about
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let facts = Facts::new(self.inputs, self.split, source)?.of_classes(source)?;
        Ok(facts.with(Target::Classes, self.scale, source))
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<Unlearning>, StrategyError> {
        let forgotten = Forgotten::new(self.forget.clients.clone(), self.forget.share);
        let n = facts.n_clients;
        if let Some(client) = forgotten.clients().iter().find(|client| **client >= n) {
            return Err(StrategyError(format!(
                "forget.clients: there is no client {client}; there are {n}, from 0"
            )));
        }
        if forgotten.clients().len() as u32 == n {
            return Err(StrategyError(format!(
                "forget.clients: all {n} clients are named, and none stays; name fewer"
            )));
        }
        let classifier = Classifier::new(&self.model, &self.training, facts)?.forgetting(forgotten.clone());
        let plan = Plan {
            method: self.method.clone(),
            forgotten,
            trained: self.protocol.rounds,
            n_clients: n,
            n_learning: classifier.network().layout().n_trainable(),
            is_reference: false,
        };
        let is_left = |group: u32| (0..n).any(|client| plan.group(client) == group && plan.stays(client));
        if let Some(group) = (0..plan.method.n_models()).find(|group| !is_left(*group)) {
            return Err(StrategyError(format!(
                "method: no client of group {group} stays, and its model would be untrained; use fewer groups"
            )));
        }
        let unlearning = Unlearning {
            classifier: Arc::new(classifier),
            plan: Arc::new(plan),
        };
        unlearning
            .rounds(&self.protocol)
            .keeping(attacks::n_rounds(&self.attacks))
            .checked()
    }

    fn share(
        &self,
        facts: &Facts,
        rounds: &Rounds<Unlearning>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<Unlearning>>, StrategyError> {
        attacks::share(rounds, &self.attacks, facts, (self.split, source))
    }
}
