//! A client's part of a round: what it has at hand, and what comes of it.

use super::{HiddenItems, LOCAL, Trainer, WEIGHTS};
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_engine::prelude::*;

/// A client's part of a round.
pub struct Task<'s, 'a, R: Trainer> {
    /// All that it holds.
    pub shard: R::Shard<'s>,
    /// The model that was sent.
    pub parameters: &'a [f32],
    /// What the client has kept, if anything.
    pub kept: Option<&'a R::ClientState>,
    /// How many of its [`Trainer::passes`] the client makes; all of them where it is left open.
    pub passes: Option<u32>,
    /// How its training hides single items, if it is to; only after
    /// [`Rounds::hiding_items`](crate::Rounds::hiding_items).
    pub hidden_items: Option<HiddenItems>,
    /// The metrics to return in [`Trained::metrics`], of those in [`Reports`](crate::Reports).
    pub metrics: &'a [String],
    pub(super) cx: &'a JobContext,
}

impl<'s, 'a, R: Trainer> Task<'s, 'a, R> {
    /// A client's part of the round of `cx`, on what it holds, from a model that was sent.
    pub fn new(shard: R::Shard<'s>, parameters: &'a [f32], cx: &'a JobContext) -> Self {
        Task {
            shard,
            parameters,
            kept: None,
            passes: None,
            hidden_items: None,
            metrics: &[],
            cx,
        }
    }

    /// The round of the model.
    pub fn round(&self) -> Round {
        self.cx.round()
    }

    /// When the client got to it, in virtual time.
    pub fn now(&self) -> SimTime {
        self.cx.now()
    }

    /// The stream of this client's training in this round.
    pub fn rng(&self) -> SimRng {
        self.cx.round_rng(LOCAL)
    }

    /// The stream of this client in this round for something else.
    pub fn rng_for(&self, purpose: Purpose) -> SimRng {
        self.cx.round_rng(purpose)
    }

    /// Releases of sums in which items are hidden, as the mechanism that stands in the place of the
    /// weights: the first.
    pub fn releases_of_items(&self) -> Releases<'_> {
        self.cx.releases(WEIGHTS)
    }

    /// Releases by the task's own mechanisms.
    pub fn releases(&self) -> Releases<'a> {
        self.cx.releases(WEIGHTS + 1)
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Trained<K = ()> {
    pub parameters: Vec<f32>,
    /// Samples that it trained on, where that is not [`Trainer::n_samples`].
    pub n_samples: Option<u32>,
    /// Why there is no result, if the training failed: it ends the run when its result is due,
    /// which is the same on any number of threads.
    pub failed: Option<StrategyError>,
    /// What releases of private values that went into the model or the extra cost; settled when
    /// they are sent.
    pub receipt: Receipt,
    /// What it keeps once that is sent, by [`SidePayload::keep`](crate::SidePayload::keep); with
    /// `None` it keeps what it has.
    pub kept: Option<K>,
    /// The values of [`Task::metrics`], in their order, which are sent with the update; empty where
    /// [`Reports`](crate::Reports) has them.
    pub metrics: Vec<f32>,
    /// By how much it raises the first counters of the strategy's own, in their order: numbers for
    /// whoever evaluates the run, never sent.
    pub counts: Vec<u64>,
}

impl<K> Trained<K> {
    /// A model and nothing else.
    pub fn model(parameters: Vec<f32>) -> Self {
        Trained {
            parameters,
            n_samples: None,
            failed: None,
            receipt: Receipt::default(),
            kept: None,
            metrics: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// A training that failed. `parameters` are those that it was sent.
    pub fn failed(parameters: &[f32], why: StrategyError) -> Self {
        Trained {
            failed: Some(why),
            ..Trained::model(parameters.to_vec())
        }
    }
}
