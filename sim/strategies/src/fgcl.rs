//! FGCL: contrastive learning of graph classifiers in federated clients, on views with edge-level noise.
//!
//! H. Yang, X. Zhao, M. Li, H. Chen, G. Xu. Federated Graph Contrastive Learning. 2022. <https://arxiv.org/abs/2207.11836>
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights, dense `f32`                    | 4 × n_params     |
//! | `update` | uplink    | training graphs as `u32`, then weights  | 4 × n_params + 4 |
//!
//! A client makes two noisy views of a graph: Laplace noise on its table of pairs, so that each is a complete graph with real
//! weights, many of them negative. It encodes both, and views of earlier graphs with other labels from a queue; the loss is that
//! of the labels and, times lambda, InfoNCE between the two views against the others. `model` and `update` are those of
//! [`rounds`](crate::rounds).
//!
//! The paper leaves open, and here is so by default: a pair has one draw, mirrored; a node whose degree is not positive takes no
//! part in propagation; views are drawn at every use, those with which the queue begins among them, and all are charged;
//! gradients flow through the negatives; both views feed the classifier; validation and test graphs are seen through one view of the
//! first budget, drawn once for the run; updates are weighted by samples; the queue begins anew in each round, with the last
//! graphs of the shard.
//!
//! - **Budget.** The paper states that of one view. `privacy.csv` has the sum over all views of the graph that is used most.
//! - **Split.** Shares of the whole set are drawn before clients get theirs, so all settings and partitions of one seed are
//!   tested on the same graphs.
//! - **Several tasks.** The loss is logistic, over the labels that are known; graphs differ if some task tells them apart.
//! - **A shard without training graphs** leaves a model as it came and weighs nothing.
//! - **Repeated negatives** are encoded once in a step, with one dropout mask.

mod data;
mod network;
mod noise;
mod options;
mod params;
mod privacy;
mod queue;
mod scores;
mod step;
#[cfg(test)]
mod tests;
mod train;

pub use network::Network;
pub use noise::propagation_matrix;
pub use options::{Contrast, DegreeRule, Draws, Model, Order, Setting, Supervised, Training, Variant, Views};
pub use params::Params;
pub use step::{add_contrast, contrastive_loss};

use crate::rounds::{End, RoundStrategy, Rounds, Score, Task, Trained};
use crate::settings::Settings;
use data::Data;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_learning::Optimiser;
use noise::Noise;
use std::sync::Arc;

impl Settings for Params {
    type Strategy = Rounds<Fgcl>;

    fn rounds(&self) -> Option<u32> {
        Some(self.protocol.rounds)
    }

    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Rounds<Fgcl>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("FGCL: {why}"));
        let task = Fgcl::new(self.clone(), dataset, partition, streams).map_err(named)?;
        Rounds::new(task, self.protocol.clone(), streams).map_err(named)
    }
}

/// What FGCL trains: an encoder of graphs and a classifier.
pub struct Fgcl {
    params: Params,
    network: Network,
    optimiser: Optimiser,
    data: Data,
    /// How views are made, if there is noise.
    noise: Option<Noise>,
    is_contrastive: bool,
    streams: Streams,
}

impl Fgcl {
    /// The network that `params` describe, on the graphs of `dataset`, trained by the clients of `partition`.
    ///
    /// # Errors
    ///
    /// When the set has no labelled graphs, features that `inputs` asks for are missing or not finite, noise meets directed or
    /// weighted graphs, or nobody has anything to train on.
    pub fn new(
        params: Params,
        dataset: &Dataset,
        partition: &Partition,
        streams: Streams,
    ) -> Result<Fgcl, StrategyError> {
        let mut data = Data::new(&params, dataset, partition, streams)?;
        if params.setting == Setting::Centralised {
            data.centralise();
        }
        if data.shards.iter().all(Vec::is_empty) {
            return Err(StrategyError(
                "no client has anything to train on; raise split.train or label the data".to_owned(),
            ));
        }
        let epsilons = params.setting.epsilons();
        Ok(Fgcl {
            network: Network::new(&params.model, data.n_features, data.labels.n_outputs()),
            optimiser: params.training.plain().build(),
            noise: Noise::new(&epsilons, params.draws, params.degree_rule, params.model.encoder),
            is_contrastive: params.setting.is_contrastive(),
            data,
            params,
            streams,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Graphs that are encoded for one target: its views, and negatives.
    fn n_encoded(&self) -> f64 {
        match self.is_contrastive {
            true => 2.0 + f64::from(self.params.contrast.negatives),
            false => 1.0,
        }
    }
}

impl RoundStrategy for Fgcl {
    type Order = ();
    type Extra = ();
    type Kept = ();
    type Collected = ();

    fn n_parameters(&self) -> usize {
        self.network.layout().len()
    }

    fn n_trainable(&self) -> usize {
        self.network.layout().n_trainable()
    }

    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.network.layout().initialise(rng)
    }

    fn n_clients(&self) -> u32 {
        self.data.shards.len() as u32
    }

    fn n_samples(&self, client: ClientId) -> u32 {
        self.data.shards[client.0 as usize].len() as u32
    }

    /// For each graph that is encoded 6 operations a weight and node, 2 forward and 4 backward, and for its propagation the same a
    /// weighted pair, hidden column and layer.
    fn cost(&self, client: ClientId) -> f64 {
        let width = f64::from(self.params.model.hidden) * f64::from(self.params.model.layers);
        let of = |item: &u32| {
            let graph = &self.data.items[*item as usize];
            let n_arcs = match self.noise.is_some() {
                true => graph.n_nodes * graph.n_nodes,
                false => graph.matrix.n_entries(),
            };
            6.0 * (self.network.layout().len() * graph.n_nodes) as f64 + 6.0 * width * n_arcs as f64
        };
        let pass: f64 = self.data.shards[client.0 as usize].iter().map(of).sum();
        pass * self.n_encoded() * f64::from(self.params.training.epochs)
    }

    fn order(&self, _: Round) {}

    fn train(&self, task: Task<'_, Self>) -> Trained<()> {
        let n_graphs = self.data.shards[task.client.0 as usize].len();
        let parameters = match task.dry_run {
            true => task.parameters.to_vec(),
            false => self.train_client(task.client, task.round, task.parameters, task.rng),
        };
        Trained {
            parameters,
            extra: None,
            spent: self.releases(n_graphs),
            kept: None,
        }
    }

    fn evaluate(&self, _: Round, parameters: &[f32]) -> Vec<Score> {
        self.scores(parameters)
    }

    fn conclude(&self, end: End<'_, Self>, report: &Report<'_>, _: &mut SimRng) -> Scores {
        let n_rounds = report.rounds.len() as u64;
        let mut summary = self.totals(n_rounds);
        if !report.setup.dry_run {
            for score in self.scores(end.parameters) {
                summary.push((format!("{}_{}", score.split, score.metric), score.value));
            }
            if self.params.attacks {
                summary.extend(self.attacks(n_rounds));
            }
        }
        Scores {
            summary,
            ..Scores::default()
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let views = self.params.claimed().map(|claimed| MechanismInfo {
            mechanism: "laplace: noisy views".to_owned(),
            unit: "one edge of one graph".to_owned(),
            delta: 0.0,
            composition: "basic".to_owned(),
            claimed: Some(claimed),
        });
        views.into_iter().collect()
    }
}
