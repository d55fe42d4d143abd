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
//! A client's samples are the graphs it holds, or the labelled nodes of its part of one graph, less those that validate and
//! test. The relatives of FedAvg are settings: FedProx (`training.proximal`), server momentum, FedAdam and FedYogi
//! (`protocol.server`), FedBuff (`protocol.aggregation`), secure aggregation (`protocol.secure`).
//!
//! Deviations from the paper: late updates are dropped, not waited for. Not modelled: compression.

use crate::classifier::{Classifier, Inputs, Model, Split, Training};
use crate::rounds::{End, Protocol, RoundStrategy, Rounds, Score, Task, Trained};
use crate::settings::Settings;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_parts::part;
use std::sync::Arc;

/// The parameters of [`FedAvg`].
#[part(
    name = "FedAvg",
    about = "federated averaging of graph networks, and its relatives (AISTATS 2017)"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The network.
    pub model: Model,
    /// A client's training in one round.
    pub training: Training,
    /// What nodes bring with them.
    pub inputs: Inputs,
    /// Who trains, validates and tests.
    pub split: Split,
    /// How rounds go.
    pub protocol: Protocol,
}

impl Settings for Params {
    type Strategy = Rounds<FedAvg>;

    fn rounds(&self) -> Option<u32> {
        Some(self.protocol.rounds)
    }

    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Rounds<FedAvg>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("FedAvg: {why}"));
        let network = (&self.model, &self.training);
        let classifier = Classifier::new(network, (self.inputs, self.split), dataset, partition, streams);
        let task = FedAvg(classifier.map_err(named)?);
        Rounds::new(task, self.protocol.clone(), streams).map_err(named)
    }
}

/// What FedAvg trains: a classifier of graphs or nodes.
pub struct FedAvg(Classifier);

impl FedAvg {
    /// The classifier and the shards.
    pub fn classifier(&self) -> &Classifier {
        &self.0
    }
}

impl RoundStrategy for FedAvg {
    type Order = ();
    type Extra = ();
    type Collected = ();
    type Kept = ();

    fn n_parameters(&self) -> usize {
        self.0.network().layout().len()
    }

    fn n_trainable(&self) -> usize {
        self.0.network().layout().n_trainable()
    }

    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.0.network().layout().initialise(rng)
    }

    fn n_clients(&self) -> u32 {
        self.0.n_clients()
    }

    fn n_samples(&self, client: ClientId) -> u32 {
        self.0.n_samples(client)
    }

    fn cost(&self, client: ClientId) -> f64 {
        self.0.cost(client)
    }

    fn order(&self, _: Round) {}

    fn train(&self, mut task: Task<'_, Self>) -> Trained<()> {
        Trained::model(match task.dry_run {
            true => task.parameters.to_vec(),
            false => self.0.train(task.client, task.parameters, &mut task.rng),
        })
    }

    fn evaluate(&self, _: Round, parameters: &[f32]) -> Vec<Score> {
        self.0.evaluate(parameters)
    }

    fn conclude(&self, end: End<'_, Self>, report: &Report<'_>, _: &mut SimRng) -> Scores {
        let mut scores = Scores::default();
        if report.setup.dry_run {
            return scores;
        }
        for Score {
            split, metric, value, ..
        } in self.0.evaluate(end.parameters)
        {
            scores.summary.push((format!("{split}_{metric}"), value));
        }
        if let Some(accuracy) = self.0.majority_accuracy() {
            scores
                .summary
                .push(("test_accuracy@majority_class".to_owned(), accuracy));
        }
        scores
    }
}
