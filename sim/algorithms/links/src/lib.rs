//! Federated link prediction: clients hold parts of one graph, and together they train a graph
//! encoder and a decoder that scores pairs of nodes.
//!
//! - [`Params`]: the algorithm `FedLinks`. Its encoders are those of the classifiers; its rounds
//!   are those of [`folkmoot_rounds`].
//! - [`EdgeScore`]: decoders, a component type: [`Dot`], [`Bilinear`], [`Mlp`].
//! - [`Division`]: training, validation and test edges. Held-out edges are in no message graph, and
//!   no client trains on them.
//! - [`ItemsAndUsers`]: a generated bipartite graph whose best possible scores are known.
//! - [`Shard`]: the data of a client. [`Predictor`]: encoder and decoder as one model.
//!
//! The loss is the binary cross entropy of training edges and negative samples (Kipf & Welling
//! 2016, without the variational part). The evaluator embeds each node at its own client and scores
//! all held-out edges, also those between clients.
//!
//! T. N. Kipf and M. Welling. Variational Graph Auto-Encoders. 2016.
//! <https://arxiv.org/abs/1611.07308>

mod attacks;
mod compared;
mod controls;
mod data;
mod division;
mod edge_score;
mod evaluator;
mod items;
mod measures;
mod pairs;
mod predictor;
mod settings;
mod terms;
#[cfg(test)]
mod tests;
mod train;

pub use data::{Held, Shard};
pub use division::{Division, Part};
pub use edge_score::{Bilinear, Dot, EdgeScore, Mlp, Scorer};
pub use items::ItemsAndUsers;
pub use predictor::Predictor;
pub use settings::{Comparison, CrossEdges, Encoder, Negatives, Params, Split, Supervision};
pub use train::LinkTrainer;

use folkmoot_classifiers::classifier::Brought;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Rounds, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of, without_weights};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use serde::Serialize;
use std::sync::Arc;

/// Public facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    pub n_clients: u32,
    /// Numbers per node.
    pub n_features: u32,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<LinkTrainer>;

    fn about(&self) -> About {
        let hidden = self.model.hidden.max(self.model.outputs);
        About {
            rounds: Some(self.protocol.rounds),
            lints: [self.training.lints(), self.protocol.lints(hidden)].concat(),
            terms: [folkmoot_rounds::TERMS, terms::TERMS].concat(),
            split: Some(split_of(&self.split, "the edges of the graph")),
            headline: &["test_auc", "test_average_precision", "payload_bytes"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let dataset = source.dataset;
        without_weights(dataset)?;
        if dataset.is_graph_level() {
            return refuse(
                "the data set has many graphs, and links are predicted within one; choose a data set of nodes",
            );
        }
        if dataset.graph().is_directed() {
            return refuse(
                "the edges of the data set have directions, and decoders score pairs without one; choose an undirected data set",
            );
        }
        let inputs = self.inputs.resolved(dataset.features.is_some());
        Ok(Facts {
            n_clients: source.n_clients(),
            n_features: Brought::new(inputs, dataset)?.n_features() as u32,
        })
    }

    fn build(&self, facts: &Facts) -> Result<Self::Strategy, StrategyError> {
        let trainer = LinkTrainer::new(self, facts.n_features as usize);
        Rounds::new(trainer, self.protocol.clone())
            .sending_model_alone(self.sends_model_alone())
            .checked()
    }

    fn share(
        &self,
        _: &Facts,
        _: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError> {
        let held = Arc::new(Held::new(self, source)?);
        Ok(Shared {
            evaluator: Box::new(Watched(evaluator::Scores::new(self, &held, source)?)),
            shards: Box::new(data::Handed(held)),
        })
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, StrategyError> {
    Err(StrategyError(why.into()))
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_folder("links");
    registry.add_artifact_tables(&[evaluator::CLIENT_AUC]);
    registry.add::<Params>()?;
    registry.add_dataset::<ItemsAndUsers>()?;
    registry.add_component::<dyn EdgeScore, Dot>()?;
    registry.add_component::<dyn EdgeScore, Bilinear>()?;
    registry.add_component::<dyn EdgeScore, Mlp>()
}

/// A registry with this crate and those that it builds on, for tests.
pub fn only() -> Registry {
    Registry::with(&[folkmoot_rounds::register, folkmoot_classifiers::register, register])
}
