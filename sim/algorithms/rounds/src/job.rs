//! What clients work on: their training, and what they prepare in an exchange.

use super::coding::{Beside, Learned};
use super::exchange::{Heard, Preparation, Says};
use super::message::Ordered;
use super::{Exchange, PARTIAL, Rounds, SidePayload, Task, Trainer};
use crate::packed::Sent;
use folkmoot_codecs::remember;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A client's work, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "O: State, K: State + Sync, T: State")]
pub enum Work<O, K, T> {
    /// Its training in a round.
    Training(Training<O, K>),
    /// What it says in an exchange on hearing this, where that takes effort.
    Preparation {
        heard: Heard<T>,
        /// What it has kept.
        #[serde(with = "shared")]
        kept: Option<Arc<K>>,
    },
}

/// A client's training, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "O: State, K: State + Sync")]
pub struct Training<O, K> {
    pub(super) order: Ordered<O>,
    pub(super) model: Sent,
    #[serde(with = "shared")]
    pub(super) kept: Option<Arc<K>>,
    /// What codecs have left out of earlier updates, where that is kept.
    #[serde(with = "shared")]
    pub(super) memory: Arc<[f32]>,
    /// What its update reports, for the client selection.
    pub(super) metrics: Vec<String>,
    /// It is malicious, and attacks in this round.
    pub(super) attacks: bool,
}

/// What comes of work.
#[derive(Debug)]
pub enum Done<E, K, T> {
    Trained(Box<Trained<E, K>>),
    /// Of what was prepared in an exchange.
    Prepared(Says<T, K>),
}

/// What comes of a training: [`rounds::Trained`](super::Trained), with the model as it is sent.
#[derive(Debug)]
pub struct Trained<E, K> {
    pub(super) learned: Learned,
    pub(super) n_samples: Option<u32>,
    pub(super) failed: Option<StrategyError>,
    pub(super) extra: Option<Beside<E>>,
    pub(super) receipt: Receipt,
    pub(super) left: Left<K>,
    pub(super) metrics: Vec<f32>,
    pub(super) counts: Vec<u64>,
}

/// What a client keeps once an update is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Left<K> {
    pub(super) kept: Option<K>,
    pub(super) memory: Memory,
    /// What of a masked change is sent, where a codec feeds back.
    pub(super) masked: Vec<f32>,
}

/// What codecs have left out of a client's updates, before this one and with it; nothing where that
/// is not kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    #[serde(with = "shared")]
    pub(super) before: Arc<[f32]>,
    pub(super) after: Vec<f32>,
}

impl Memory {
    /// What a client keeps that has `now`. Of two trainings that overlap neither knew what the
    /// other leaves: what each has changed counts.
    pub(super) fn onto(self, now: &Arc<[f32]>) -> Arc<[f32]> {
        let Memory { before, mut after } = self;
        if after.is_empty() {
            return Arc::clone(now);
        }
        if *now != before {
            remember(&mut after, &before, -1.0);
            remember(&mut after, now, 1.0);
        }
        after.into()
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Rounds<R, P, X> {
    /// A client's work, or its placeholder in a dry run.
    pub(super) fn work(
        &self,
        shard: R::Shard<'_>,
        work: &Work<P::Order, R::ClientState, X::Message>,
        cx: &JobContext,
        is_dry: bool,
    ) -> Done<P::Extra, R::ClientState, X::Message> {
        match work {
            Work::Training(training) => Done::Trained(Box::new(self.train(shard, training, cx, is_dry))),
            Work::Preparation { heard, kept } => {
                let preparation = Preparation::new(shard, kept.as_deref(), heard, cx);
                Done::Prepared(self.exchange().prepare(&self.trainer, preparation, is_dry))
            }
        }
    }

    fn train(
        &self,
        shard: R::Shard<'_>,
        training: &Training<P::Order, R::ClientState>,
        cx: &JobContext,
        is_dry: bool,
    ) -> Trained<P::Extra, R::ClientState> {
        let poisons = training.attacks && self.protocol.malicious.adversary.poison().is_some();
        let items = self.added.items.as_ref().filter(|_| poisons);
        let shard = items.map_or(shard, |items| items.poisoned(shard));
        let model = self.open_model(&training.model);
        let order = self.open_order(&training.order);
        let task = Task {
            kept: training.kept.as_deref(),
            passes: Some(self.passes(|| cx.round_rng(PARTIAL))),
            hidden_items: self.protocol.private.items(),
            metrics: &training.metrics,
            ..Task::new(shard, &model, cx)
        };
        let trains = !training.attacks || self.protocol.malicious.adversary.trains();
        let (mut trained, extra) = match is_dry || !trains {
            false => self.payload.train(&self.trainer, task, &order),
            true => self.payload.placeholder(&self.trainer, task, &order),
        };
        let n_update = self.n_update();
        assert!(
            trained.parameters.len() == n_update || trained.parameters.len() == model.len(),
            "a trained model has the parameters it came with, or those of an update"
        );
        trained.parameters.truncate(n_update);
        if training.attacks && !is_dry {
            self.craft(&model, &mut trained.parameters, cx);
        }
        let reports = self.added.reports.as_ref().filter(|_| !is_dry);
        let metric =
            |name: &String| reports.map_or(f32::NAN, |reports| (reports.metric)(&self.trainer, shard, &model, name));
        let metrics = match trained.metrics.is_empty() {
            false => trained.metrics,
            true => training.metrics.iter().map(metric).collect(),
        };
        let mut memory = training.memory.to_vec();
        let learned = self.learned(&model, trained.parameters, &mut memory, cx);
        let packed = extra.as_ref().and_then(|extra| self.pack_extra(extra, cx));
        let read = packed.as_ref().map(|(_, read)| read).or(extra.as_ref());
        self.payload.is_read(&mut trained.kept, read);
        if let Some(method) = &self.added.method {
            method.is_read(&mut trained.kept, &|| self.read_change(&learned, &model, cx.round()));
        }
        Trained {
            learned,
            n_samples: trained.n_samples,
            failed: trained.failed,
            extra: match packed {
                Some((packed, _)) => Some(Beside::Packed(packed)),
                None => extra.map(Beside::Plain),
            },
            receipt: trained.receipt,
            left: Left {
                kept: trained.kept,
                memory: Memory {
                    before: Arc::clone(&training.memory),
                    after: memory,
                },
                masked: Vec::new(),
            },
            metrics,
            counts: trained.counts,
        }
    }
}
