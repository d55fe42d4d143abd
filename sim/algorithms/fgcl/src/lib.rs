//! FGCL: contrastive learning of graph classifiers in federated clients, on views with edge-level
//! noise.
//!
//! H. Yang, X. Zhao, M. Li, H. Chen, G. Xu. Federated Graph Contrastive Learning. 2022.
//! <https://arxiv.org/abs/2207.11836>
//!
//! | exchange | direction | payload                                 | bytes            |
//! |----------|-----------|-----------------------------------------|------------------|
//! | `model`  | downlink  | weights, dense `f32`                    | 4 × n_params     |
//! | `update` | uplink    | training graphs as `u32`, then weights  | 4 × n_params + 4 |
//!
//! A client makes two noisy views of a graph: Laplace noise on its table of pairs, so that each is
//! a complete graph with real weights, many of them negative. It encodes both, and views of earlier
//! graphs with other labels from a queue; the loss is that of the labels and, times lambda, InfoNCE
//! between the two views against the others. `model` and `update` are those of [`folkmoot_rounds`].
//!
//! The paper leaves open, and here is so by default: a pair has one draw, mirrored; a node whose
//! degree is not positive takes no part in propagation; views are drawn at every use, those with
//! which the queue begins among them, and all are charged; gradients flow through the negatives;
//! both views feed the classifier; validation and test graphs are seen through one view of the
//! first budget, drawn once for the run, and charged to the client that holds them when it trains;
//! updates are weighted by samples; the queue begins with the last graphs of the shard and is kept
//! from round to round.
//!
//! - **Budget.** The paper states that of one view. `privacy.csv` has the sum over all views of the
//!   graph that is used most. Features that are made of edges, as most of an atom's are, have a row
//!   of their own, without bound: they are trained on as they are. `inputs: Intrinsic` leaves them
//!   out.
//! - **Split.** Shares of the whole set are drawn before clients get theirs, so all settings and
//!   partitions of one seed are tested on the same graphs.
//! - **Several tasks.** The loss is logistic, over the labels that are known; graphs differ if some
//!   task tells them apart.
//! - **A shard without training graphs** leaves a model as it came and weighs nothing.
//! - **Repeated negatives** are encoded once in a step, with one dropout mask.

mod data;
mod evaluator;
pub mod guesses;
mod leaks;
mod network;
mod noise;
mod options;
mod params;
mod privacy;
mod queue;
mod scores;
mod step;
mod terms;
#[cfg(test)]
mod tests;
mod train;

pub use data::{ClientData, Facts};
pub use network::Network;
pub use noise::propagation_matrix;
pub use options::{
    Contrast, DegreeRule, Draws, Model, NodeOrder, Order, Setting, Supervised, Training, Variant, Views,
};
pub use params::Params;
pub use step::{add_contrast, contrastive_loss};
pub use train::Past;

use data::Data;
use evaluator::Audit;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Layout, Optimiser};
use folkmoot_rounds::{Rounds, Task, Trained, Trainer, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use noise::Noise;
use std::sync::Arc;

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Fgcl>;

    fn about(&self) -> About {
        About {
            rounds: Some(self.protocol.rounds),
            lints: self.protocol.without_effect(),
            terms: [terms::TERMS, folkmoot_rounds::TERMS].concat(),
            split: Some(split_of(&self.split, "the whole set")),
            headline: &["test_roc_auc", "epsilon_all_rounds"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(self, source)
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<Fgcl>, StrategyError> {
        let fgcl = Fgcl::new(self.clone(), facts);
        let mechanisms = fgcl.mechanisms();
        Rounds::new(fgcl, self.protocol.clone())
            .with_mechanisms(mechanisms)
            .sending_model_alone(Err(params::TOLD))
            .checked()
    }

    fn share(&self, _: &Facts, _: &Rounds<Fgcl>, source: &Source<'_>) -> Result<Shared<Rounds<Fgcl>>, StrategyError> {
        let data = Arc::new(Data::new(self, source)?);
        let shards = Owners {
            clients: data.client_data(),
            sizes: source.sizes(),
            is_central: self.setting == Setting::Centralised,
        };
        Ok(Shared {
            shards: Box::new(shards),
            evaluator: Box::new(Watched(Audit::new(data, source.streams))),
        })
    }
}

/// What FGCL trains: an encoder of graphs and a classifier.
pub struct Fgcl {
    params: Params,
    network: Network,
    optimiser: Optimiser,
    /// How views are made, if they are not the graphs as they are.
    noise: Option<Noise>,
    is_contrastive: bool,
    /// Whether there is noise on edges and what nodes bring tells them all the same.
    tells_edges: bool,
}

impl Fgcl {
    /// The network that `params` describe, for data of which everybody knows `facts`.
    pub fn new(params: Params, facts: &Facts) -> Fgcl {
        let epsilons = params.setting.epsilons();
        Fgcl {
            network: Network::new(&params.model, facts.n_features as usize, facts.n_outputs as usize),
            optimiser: params.training.plain().build(),
            noise: Noise::new(&params),
            is_contrastive: params.setting.is_contrastive(),
            tells_edges: !epsilons.is_empty() && facts.inputs_reveal_edges,
            params,
        }
    }

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

/// The training graphs of every client.
struct Owners {
    clients: Vec<ClientData>,
    sizes: Vec<u64>,
    is_central: bool,
}

impl Shards<Rounds<Fgcl>> for Owners {
    fn n_clients(&self) -> u32 {
        self.clients.len() as u32
    }

    fn shard(&self, client: ClientId) -> &ClientData {
        &self.clients[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.sizes[client.0 as usize]
    }

    fn trusted(&self) -> Option<&'static str> {
        self.is_central
            .then_some("hands the training graphs of all clients to the first")
    }
}

impl Fgcl {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let Some(claimed) = self.params.claimed() else {
            return Vec::new();
        };
        let mut names = vec!["laplace: noisy views", "laplace: views at inference"];
        names.extend(self.tells_edges.then_some("none: features made of edges"));
        let info = |name: &str| MechanismInfo {
            mechanism: name.to_owned(),
            unit: "one edge of one graph".to_owned(),
            claimed: Some(claimed),
        };
        names.into_iter().map(info).collect()
    }
}

impl Trainer for Fgcl {
    type Shard<'a> = &'a ClientData;
    type ClientState = Past;

    fn layout(&self) -> &Layout {
        self.network.layout()
    }

    fn n_samples(&self, own: &ClientData) -> u32 {
        own.len() as u32
    }

    /// For each graph that is encoded 6 operations a weight and node, 2 forward and 4 backward, and
    /// for its propagation the same a weighted pair, hidden column and layer.
    fn cost(&self, own: &ClientData, _: Round) -> f64 {
        let width = f64::from(self.params.model.hidden) * f64::from(self.params.model.layers);
        let of = |graph: &data::Item| {
            let n_arcs = match self.noise.is_some() {
                true => graph.n_nodes * graph.n_nodes,
                false => graph.matrix.n_entries(),
            };
            6.0 * (self.network.layout().len() * graph.n_nodes) as f64 + 6.0 * width * n_arcs as f64
        };
        let pass: f64 = own.graphs().map(of).sum();
        pass * self.n_encoded() * f64::from(self.params.training.epochs)
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Past> {
        self.train_client(&task)
    }

    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Past> {
        self.charged(&task)
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("fgcl");
    registry.add::<Params>()
}

/// A registry with this crate and what it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
