//! Classification of graphs, or of the nodes of one graph, by a graph network: what the strategies that train one share.
//!
//! [`Network`] is the model that [`Model`] describes; a [`Classifier`] holds it beside the shards of all clients, trains on one
//! shard and scores a model on all.
//!
//! - **Splits.** Each client's items are divided into training, validation and test once, by a stream of its own ([`Split`]).
//! - **Edges of a shard.** A client that holds nodes knows the edges between them and no others.
//! - **A shard without training items** leaves a model as it came. Items without a class are in no split.
//! - **A graph without nodes** is read out as 0, so its class follows from the biases of the head.
//! - **One class only** in a validation or test part: there is no area under the curve, and its score is left out.
//!
//! Training allocates nothing from the second step on: each thread keeps a tape and a batch, and no result depends on them.

mod conv;
mod data;
mod network;
mod rows;
mod scores;
mod settings;
mod train;

pub(crate) use conv::Conv;
pub use data::Part;
pub(crate) use data::{features, n_features, starts};
pub use network::Network;
pub use rows::{GraphRows, NodeRows};
pub use settings::{Encoder, Inputs, LocalOptimiser, Model, Pooling, Split, Training};

use data::Shard;
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_learning::Optimiser;
use rayon::prelude::*;

/// A network and the shards that it learns from and is scored on.
pub struct Classifier {
    network: Network,
    encoder: Encoder,
    inputs: Inputs,
    training: Training,
    optimiser: Optimiser,
    shards: Vec<Shard>,
}

impl Classifier {
    /// The network that `model` describes, on the shards of `partition`. Each client's split is drawn from its stream.
    ///
    /// # Errors
    ///
    /// When the data set has no classes, features that `inputs` asks for are missing, do not fit or are not finite, a class is out
    /// of range, an item is in several shards, or the settings do not suit each other.
    pub fn new(
        (model, training): (&Model, &Training),
        (inputs, split): (Inputs, Split),
        dataset: &Dataset,
        partition: &Partition,
        streams: Streams,
    ) -> Result<Self, StrategyError> {
        let inputs = inputs.resolved(dataset.features.is_some());
        let n_features = data::n_features(inputs, dataset)?;
        let is_graph_level = dataset.is_graph_level();
        let network = Network::new(model, n_features, dataset.n_classes, is_graph_level);
        let mut shards = data::shards((inputs, split), model.encoder, dataset, partition, streams)?;
        if shards.iter().all(|shard| shard.n_train() == 0) {
            return Err(StrategyError(
                "no client has anything to train on; raise split.train or label the data".to_owned(),
            ));
        }
        if network.begins_with_sums() {
            shards.par_iter_mut().for_each(Shard::keep_neighbour_sums);
        }
        Ok(Classifier {
            network,
            encoder: model.encoder,
            inputs,
            optimiser: training.build(),
            training: training.clone(),
            shards,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The number of shards.
    pub fn n_clients(&self) -> u32 {
        self.shards.len() as u32
    }

    /// Items that `client` trains on.
    pub fn n_samples(&self, client: ClientId) -> u32 {
        self.shards[client.0 as usize].n_train() as u32
    }

    /// Operations of one training: for each weight, node and epoch 2 forward and 4 backward.
    pub fn cost(&self, client: ClientId) -> f64 {
        let n_nodes = self.shards[client.0 as usize].n_train_nodes() as f64;
        6.0 * self.network.layout().len() as f64 * n_nodes * f64::from(self.training.epochs)
    }
}
