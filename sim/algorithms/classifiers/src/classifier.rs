//! Prediction for graphs, or for the nodes of one graph, by a graph network: what the strategies
//! that train one share. The data set decides on the [`Task`]: one class, several labels, or
//! numbers per item.
//!
//! [`Network`] is the model that [`Model`] describes; a [`Classifier`] trains it on a [`Shard`],
//! and scores it on all that is [`Held`].
//!
//! - **Splits.** Each client's items are divided into training, validation and test once, by a
//!   stream of its own ([`Split`]).
//! - **Edges of a shard.** A client that holds nodes knows the edges between them and no others.
//! - **A shard without training items** leaves a model as it came. Items without a class are in no
//!   split.
//! - **A graph without nodes** is read out as 0, so its class follows from the biases of the head.
//! - **One class only** in a validation or test part: there is no area under the curve, and its
//!   score is left out.
//! - **Labels and numbers** that are unknown are in no loss and no score.
//!
//! Training allocates nothing from the second step on, but for what a small batch of nodes reads of
//! its graph: each thread keeps a tape and a batch, and no result depends on them.

mod brought;
mod controls;
mod data;
mod divided;
mod extended;
mod forgotten;
pub mod graph_layers;
mod hidden;
#[cfg(test)]
mod hidden_tests;
mod items;
mod last;
pub mod loss;
mod measures;
mod narrow;
#[cfg(test)]
mod near_tests;
mod network;
mod nodes;
mod parts;
mod poison;
mod rows;
mod scale;
mod scores;
mod settings;
mod soft_label_gradient;
mod task;
mod terms;
mod together;
mod train;
mod trained;
mod whole;

pub use brought::Brought;
pub use data::starts;
pub use data::{Part, Shard};
pub use divided::{Parts, Query};
pub use extended::Brings;
pub use forgotten::Forgotten;
pub(crate) use last::LastLayer;
pub use network::Network;
pub use nodes::Nodes;
pub use parts::split_shuffled;
pub use poison::{Changes, KnownItems, OTHER_TASK, Poisoning, WITHOUT_TRIGGER, honest_scores};
pub use rows::{GraphRows, NodeRows};
pub use scores::{Accuracy, Score};
pub use settings::{
    Inputs, LocalOptimiser, Model, Pooling, Scale, Split, Target, Training, hides_items, sends_model_alone, trains,
};
pub(crate) use soft_label_gradient::TrainingView;
pub use task::{TargetScale, Task};
pub use terms::{FARING, TERMS};
pub use train::{Contrast, Course};
pub use trained::{Classified, rounds};
pub use whole::Whole;

use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Csr, Optimiser};
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Exchange, Malicious, RoundEvaluator, Rounds, SidePayload, Trainer, Watched};
use folkmoot_scenarios::algorithm::{Shared, Source};
use graph_layers::GraphLayers;
use poison::Tried;
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use std::sync::{Arc, OnceLock};

/// What everybody knows of the data: how long a row of a node is, what is to be learned, and
/// whether of graphs or of nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The number of clients.
    pub n_clients: u32,
    /// Numbers that a node brings.
    pub n_features: u32,
    /// Outputs of the network: classes, labels or numbers.
    pub n_classes: u32,
    /// Items are whole graphs; otherwise nodes.
    pub classifies_graphs: bool,
    /// What is learned.
    #[serde(skip_serializing_if = "Task::is_classes")]
    pub task: Task,
    /// Mean and deviation of the numbers to predict; empty for other tasks.
    #[serde(skip_serializing_if = "<[TargetScale]>::is_empty", serialize_with = "listed")]
    pub targets: Arc<[TargetScale]>,
    /// What a node brings, where the card lets the data decide.
    #[serde(skip)]
    pub(crate) inputs: Inputs,
    #[serde(skip)]
    pub(crate) inputs_reveal_edges: bool,
    #[serde(skip)]
    scale: Scale,
    #[serde(skip)]
    target: Target,
}

fn listed<S: Serializer>(targets: &Arc<[TargetScale]>, serializer: S) -> Result<S::Ok, S::Error> {
    targets.as_ref().serialize(serializer)
}

impl Facts {
    /// What a network that reads `inputs` may know, with the items divided by `split`.
    ///
    /// # Errors
    ///
    /// When the data set has not what `inputs` asks for, a number to predict is infinite or missing
    /// for every training item, or it cannot be divided so.
    pub fn new(inputs: Inputs, split: Split, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let dataset = source.dataset;
        let inputs = inputs.resolved(dataset.features.is_some());
        let task = Task::of(dataset, Target::Classes);
        Ok(Facts {
            n_clients: source.n_clients(),
            n_features: Brought::new(inputs, dataset)?.n_features() as u32,
            n_classes: task.n_outputs(dataset) as u32,
            classifies_graphs: dataset.is_graph_level(),
            task,
            targets: TargetScale::of_training(task, split, source)?.into(),
            inputs,
            inputs_reveal_edges: inputs.reveal_edges(dataset),
            scale: Scale::Raw,
            target: Target::Classes,
        })
    }

    /// The same for another target and scale.
    pub fn with(self, target: Target, scale: Scale, source: &Source<'_>) -> Facts {
        let task = Task::of(source.dataset, target);
        Facts {
            n_classes: data::n_outputs(task, target, source.dataset) as u32,
            classifies_graphs: self.classifies_graphs && target == Target::Classes,
            scale,
            target,
            task,
            ..self
        }
    }

    /// The same, for what learns nothing but one class per item.
    ///
    /// # Errors
    ///
    /// When the data set has something else to learn.
    pub fn of_classes(self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        match self.task {
            Task::Classes => Ok(self),
            Task::Labels | Task::Numbers => Err(StrategyError(source.dataset.no_classes())),
        }
    }
}

/// A network and how it is trained.
pub struct Classifier {
    network: Network,
    encoder: Chosen<dyn GraphLayers>,
    inputs: Inputs,
    scale: Scale,
    target: Target,
    task: Task,
    targets: Arc<[TargetScale]>,
    training: Training,
    optimiser: Optimiser,
    /// The malicious clients of a training under a protocol.
    malicious: Malicious,
    /// Items of the server's own data set, which it has once data are shared out.
    trusted_items: Option<u32>,
    trusted: OnceLock<Shard>,
    forgotten: Option<Forgotten>,
}

impl Classifier {
    /// The network that `model` describes.
    ///
    /// # Errors
    ///
    /// When the loss is not defined for what the data set has to learn.
    pub fn new(model: &Model, training: &Training, facts: &Facts) -> Result<Self, StrategyError> {
        if !training.loss.suits(facts.task) {
            let learned = match facts.task {
                Task::Classes => "classes",
                Task::Labels => "several labels per item",
                Task::Numbers => "numbers",
            };
            let loss = training.loss.text();
            return Err(StrategyError(format!(
                "the loss {loss} is not defined for {learned}, which the data set has to learn; set training.loss: OfTask()"
            )));
        }
        let (n_features, n_classes) = (facts.n_features as usize, facts.n_classes as usize);
        let network = Network::new(model, n_features, n_classes, facts.classifies_graphs);
        Ok(Classifier {
            network: match facts.scale {
                Scale::Federated => network.with_scale(),
                Scale::Raw | Scale::Standardised => network,
            },
            encoder: model.encoder.clone(),
            inputs: facts.inputs,
            scale: facts.scale,
            target: facts.target,
            task: facts.task,
            targets: Arc::clone(&facts.targets),
            optimiser: training.build(),
            training: training.clone(),
            malicious: Malicious::default(),
            trusted_items: None,
            trusted: OnceLock::new(),
            forgotten: None,
        })
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What it learns.
    pub fn task(&self) -> Task {
        self.task
    }

    /// How it is trained.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// A graph as the network reads it: its adjacency, and features of shape
    /// `(n_nodes, n_features)`, row-major.
    pub(crate) fn batch(&self, adjacency: &Csr, features: &[f32]) -> Batch {
        let mut batch = Batch::new(self.network.n_features());
        batch.push(&self.encoder.propagation().matrix(adjacency), features);
        batch
    }

    fn reading(&self, split: Split) -> data::Reading {
        data::Reading {
            task: self.task,
            scales: Arc::clone(&self.targets),
            inputs: self.inputs,
            scale: self.scale,
            target: self.target,
            split,
            encoder: self.encoder.clone(),
        }
    }

    /// Passes of one training over its items.
    pub fn epochs(&self) -> u32 {
        self.training.epochs
    }

    /// Operations of one training: for each weight, node and epoch 2 forward and 4 backward.
    pub fn cost(&self, shard: &Shard) -> f64 {
        let n_nodes = shard.n_train_nodes() as f64;
        6.0 * self.network.layout().len() as f64 * n_nodes * f64::from(self.training.epochs)
    }

    /// The same of a single step on one batch.
    pub fn step_cost(&self, shard: &Shard) -> f64 {
        let batch = self.training.batch_size.map_or(f64::INFINITY, f64::from);
        let share = (batch / (shard.n_items() as f64).max(1.0)).min(1.0);
        self.cost(shard) / f64::from(self.training.epochs) * share
    }

    /// Shares the data out as this network reads them; what clients hold that are not needed here
    /// stays where it is.
    ///
    /// # Errors
    ///
    /// When the data set has nothing to learn, features are not finite, a class is out of range, an
    /// item is in several shards, or no client has a training item.
    pub fn share(&self, split: Split, source: &Source<'_>) -> Result<Arc<Held>, StrategyError> {
        let mut shards = data::shards(self.reading(split), source)?;
        let tried = self.poison(&mut shards, split, source)?;
        self.draw_trusted(split, source)?;
        self.forget(&mut shards, (split, None), source)?;
        self.hold(shards, tried, source)
    }

    /// What clients hold together, ready for this network.
    fn hold(
        &self,
        mut shards: Vec<Shard>,
        mut tried: Option<Tried>,
        source: &Source<'_>,
    ) -> Result<Arc<Held>, StrategyError> {
        let all_are_here = source.needed.len() == shards.len();
        if all_are_here && shards.iter().all(|shard| shard.n_train() == 0) {
            return Err(StrategyError(
                "no client has anything to train on; label more of the data, raise split.train, or, if the published split has \
                 no labelled training item, state split: Shares()"
                    .to_owned(),
            ));
        }
        let sums = self.network.begins_with_sums();
        shards.par_iter_mut().for_each(|shard| shard.make_ready(sums));
        let tries = tried.iter_mut().flat_map(Tried::shards_mut);
        tries.for_each(|shard| shard.make_ready(sums));
        Ok(Arc::new(Held {
            shards,
            sizes: source.sizes(),
            tried,
            has_trusted: self.trusted_items.is_some(),
        }))
    }
}

/// What all clients hold.
pub struct Held {
    shards: Vec<Shard>,
    sizes: Vec<u64>,
    /// What a model is tried with that malicious clients have trained.
    tried: Option<Tried>,
    /// The server trains on items of clients.
    has_trusted: bool,
}

impl Held {
    /// What clients hold who hold this, with the number of items of each.
    pub fn new(shards: Vec<Shard>, sizes: Vec<u64>) -> Arc<Held> {
        Arc::new(Held {
            shards,
            sizes,
            tried: None,
            has_trusted: false,
        })
    }

    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }
}

/// What each client is given of it.
pub struct Handed(pub Arc<Held>);

impl Handed {
    /// The same with what watches a training in rounds on it.
    pub fn watched<R, P, X>(
        held: &Arc<Held>,
        evaluator: impl RoundEvaluator<R, P, X> + 'static,
    ) -> Shared<Rounds<R, P, X>>
    where
        R: for<'a> Trainer<Shard<'a> = &'a Shard>,
        P: SidePayload<R>,
        X: Exchange<R>,
    {
        Shared {
            shards: Box::new(Handed(Arc::clone(held))),
            evaluator: Box::new(Watched(evaluator)),
        }
    }
}

impl<S: for<'a> Strategy<Shard<'a> = &'a Shard>> Shards<S> for Handed {
    fn n_clients(&self) -> u32 {
        self.0.shards.len() as u32
    }

    fn shard(&self, client: ClientId) -> &Shard {
        &self.0.shards[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.0.sizes[client.0 as usize]
    }

    fn trusted(&self) -> Option<&'static str> {
        let server = "the server trains on items that it draws from the training items of all clients";
        self.0.has_trusted.then_some(server)
    }
}
