//! A client's part of a round: what it has at hand, and what comes of it.

use super::{HiddenItems, LOCAL, RoundStrategy, WEIGHTS};
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_engine::prelude::*;

/// A client's part of a round.
pub struct Task<'s, 'a, R: RoundStrategy> {
    /// All that it holds.
    pub shard: R::Shard<'s>,
    /// What the server asks for besides.
    pub order: &'a R::Order,
    /// The model that was sent.
    pub parameters: &'a [f32],
    /// What the client has kept, where [`RoundStrategy::READS_KEPT`].
    pub kept: Option<&'a R::Kept>,
    /// How many of its [`RoundStrategy::passes`] the client makes; all of them where it is left open.
    pub passes: Option<u32>,
    /// How its training hides single items, if it is to; only where [`RoundStrategy::hides_items`].
    pub hidden_items: Option<HiddenItems>,
    pub(super) cx: &'a JobContext,
}

impl<'s, 'a, R: RoundStrategy> Task<'s, 'a, R> {
    /// A client's part of the round of `cx`, on what it holds, from a model that was sent.
    pub fn new(shard: R::Shard<'s>, order: &'a R::Order, parameters: &'a [f32], cx: &'a JobContext) -> Self {
        Task {
            shard,
            order,
            parameters,
            kept: None,
            passes: None,
            hidden_items: None,
            cx,
        }
    }

    /// The round of the model.
    pub fn round(&self) -> Round {
        self.cx.round()
    }

    /// The stream of this client's training in this round.
    pub fn rng(&self) -> SimRng {
        self.cx.round_rng(LOCAL)
    }

    /// The stream of this client in this round for something else.
    pub fn rng_for(&self, purpose: Purpose) -> SimRng {
        self.cx.round_rng(purpose)
    }

    /// Releases of sums in which items are hidden, as the mechanism that stands in the place of the weights: the first.
    pub fn releases_of_items(&self) -> Releases<'_> {
        self.cx.releases(WEIGHTS)
    }

    /// Releases by the task's own mechanisms.
    pub fn releases(&self) -> Releases<'a> {
        self.cx.releases(WEIGHTS + 1)
    }
}

/// What the server reads of a training, once it is sent.
pub struct Read<'a, E> {
    /// The extra.
    pub extra: Option<&'a E>,
    /// The change of the numbers that learn; `None` where it is refused.
    pub change: &'a dyn Fn() -> Option<Vec<f32>>,
}

/// What came of it.
#[derive(Debug)]
pub struct Trained<E, K = ()> {
    /// The client's model.
    pub parameters: Vec<f32>,
    /// What it sends besides.
    pub extra: Option<E>,
    /// What releases of private values that went into the model or the extra cost; settled when they are sent.
    pub receipt: Receipt,
    /// What it keeps, by [`RoundStrategy::keep`], once that is sent; with `None` it keeps what it has.
    pub kept: Option<K>,
    /// By how much it raises the first counters of the strategy's own, in their order: numbers for whoever studies the run, never sent.
    pub counts: Vec<u64>,
}

impl<E, K> Trained<E, K> {
    /// A model and nothing else.
    pub fn model(parameters: Vec<f32>) -> Self {
        Trained {
            parameters,
            extra: None,
            receipt: Receipt::default(),
            kept: None,
            counts: Vec::new(),
        }
    }
}
