//! What a method of unlearning is: what it stores, who trains after the request, how, and what the
//! server makes of it.

use crate::plan::Plan;
use crate::{Params, Retrain, ServerState};
use folkmoot_classifiers::classifier::{Classifier, Shard};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Rules, component_type};
use folkmoot_rounds::{ClientUpdate, OwnModel};
use std::collections::BTreeMap;

/// A method of federated unlearning: a component that a card names as `method`. Rounds after the
/// request are numbered from 0. The defaults are those of federated averaging by the clients that
/// stay, on data without those to be forgotten.
pub trait UnlearningMethod: Send + Sync {
    /// Rounds after the request, which comes after `trained` rounds.
    fn n_rounds(&self, trained: u32) -> u32;

    /// Whether the server stores the updates of a round before the request. Default: no.
    fn stores(&self, _round: u32, _trained: u32) -> bool {
        false
    }

    /// Groups of clients that have a model each, before the request and after it; client `k` is in
    /// group `k` modulo their number. Default: one model for all.
    fn n_models(&self) -> u32 {
        1
    }

    /// Whether a client trains in a round after the request. Default: if it stays.
    fn takes_part(&self, _round: u32, client: u32, plan: &Plan) -> bool {
        plan.stays(client)
    }

    /// The model that the rounds after the request begin with, where that is not `model`, the present
    /// one; `own` has the models of single clients, where these are in groups. Default: it is.
    ///
    /// # Errors
    ///
    /// When what it needs is not stored.
    fn begin(
        &self,
        _plan: &Plan,
        (_state, _model): (&ServerState, &[f32]),
        _own: &mut BTreeMap<u32, OwnModel>,
    ) -> Result<Option<Vec<f32>>, StrategyError> {
        Ok(None)
    }

    /// What a client trains on in a round. Default: what it keeps.
    fn shard<'s>(&self, _round: u32, shard: &'s Shard) -> &'s Shard {
        shard.remaining()
    }

    /// Passes over these items, where a plain training makes `epochs`, for the time that a device
    /// takes. Default: as many.
    fn passes(&self, _round: u32, epochs: f64) -> f64 {
        epochs
    }

    /// A client's training in a round. Pure. Default: the card's.
    fn train(&self, local: Local<'_>) -> Vec<f32> {
        local.classifier.train(local.shard, local.parameters, local.rng)
    }

    /// The new model of a round, of updates with a weight each; of numbers that learn the first
    /// `n_learning` of each. Default: `None` for their weighted mean.
    fn aggregate(
        &self,
        _round: u32,
        _state: &ServerState,
        _of: (&[f32], &[ClientUpdate]),
        _n_learning: usize,
    ) -> Option<Vec<f32>> {
        None
    }

    /// What it asks of the settings. Default: nothing.
    fn rules(&self, _params: &Params, _rules: &mut Rules) {}
}

component_type!(UnlearningMethod, "unlearning method", Retrain {});

/// A client's training after the request.
pub struct Local<'a> {
    /// The round after the request.
    pub round: u32,
    pub classifier: &'a Classifier,
    /// The items to train on.
    pub shard: &'a Shard,
    /// The model that was sent.
    pub parameters: &'a [f32],
    /// The stream of the client in this round.
    pub rng: &'a mut SimRng,
}
