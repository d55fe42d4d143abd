//! A classifier as what is trained in rounds.

use super::data::Shard;
use super::{Accuracy, Classifier, Handed, Held};
use crate::attacks::RoundVictim;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use folkmoot_rounds::{HiddenItems, Items, Protocol, Reports, Rounds, SidePayload, Statistics, Task, Trained, Trainer};
use folkmoot_scenarios::algorithm::{Shared, Source};
use std::marker::PhantomData;
use std::sync::Arc;

/// Local training of a classifier; a client keeps a `K` from one training to the next.
pub struct Classified<K = ()> {
    classifier: Classifier,
    /// Passes that a round costs, where that is not the number of epochs.
    passes: Option<f64>,
    kept: PhantomData<fn() -> K>,
}

impl<K: State + Sync + Clone> Classified<K> {
    /// Training that costs as many passes over the training items as it makes.
    pub fn new(classifier: Classifier) -> Self {
        Classified {
            classifier,
            passes: None,
            kept: PhantomData,
        }
    }

    /// The same at the cost of so many passes in a round.
    pub fn costing(self, passes: f64) -> Self {
        Classified {
            passes: Some(passes),
            ..self
        }
    }

    pub fn rounds(self, protocol: &Protocol) -> Rounds<Self> {
        let this = Classified {
            classifier: self.classifier.under(protocol),
            ..self
        };
        let alone = this.classifier.sends_model_alone();
        rounds(this, protocol)
            .with_reports(Reports {
                // The loss takes a forward pass on the training items: a third of an epoch.
                cost: |_, metric| (metric == "loss").then_some(1.0 / 3.0),
                metric: |this, shard, parameters, _| this.classifier.training_loss(shard, parameters) as f32,
            })
            .sending_model_alone(alone)
    }
}

/// Rounds with what each classifier adds to them: statistics for a common scale of inputs, and items
/// for adversaries and for a server's own data set.
pub fn rounds<R>(trainer: R, protocol: &Protocol) -> Rounds<R>
where
    R: for<'a> Trainer<Shard<'a> = &'a Shard> + AsRef<Classifier>,
{
    let n_fixed = trainer.as_ref().n_fixed();
    Rounds::new(trainer, protocol.clone())
        .with_statistics(Statistics {
            n_fixed,
            of: |trainer, shard| trainer.as_ref().statistics(shard),
            fixed: |trainer, sums| trainer.as_ref().fixed(sums),
        })
        .with_items(Arc::new(OfShards))
}

/// The training items in shards.
struct OfShards;

impl<R> Items<R> for OfShards
where
    R: for<'a> Trainer<Shard<'a> = &'a Shard> + AsRef<Classifier>,
{
    fn poisoned<'a>(&self, shard: R::Shard<'a>) -> R::Shard<'a> {
        shard.poisoned()
    }

    fn trusted(&self, trainer: &R, parameters: &[f32], rng: &mut SimRng) -> Vec<f32> {
        trainer.as_ref().train_trusted(parameters, rng)
    }
}

impl<K> AsRef<Classifier> for Classified<K> {
    fn as_ref(&self) -> &Classifier {
        &self.classifier
    }
}

impl<K: State + Sync + Clone> Classified<K> {
    /// Training by gradients that are clipped and noisy, as `hidden` says; in a dry run, without
    /// `rng`, the model as it came at the same privacy charge.
    fn train_hidden(&self, task: &Task<'_, '_, Self>, hidden: HiddenItems, rng: Option<&mut SimRng>) -> Trained<K> {
        let mut releases = task.releases_of_items();
        let from = (task.shard, task.parameters, task.passes);
        let parameters = self.classifier.train_hidden(from, hidden, rng, &mut releases);
        Trained {
            receipt: releases.receipt(),
            ..Trained::model(parameters)
        }
    }
}

impl<K: State + Sync + Clone> Trainer for Classified<K> {
    type Shard<'a> = &'a Shard;
    type ClientState = K;

    fn layout(&self) -> &Layout {
        self.classifier.network().layout()
    }

    fn n_samples(&self, shard: &Shard) -> u32 {
        shard.n_train() as u32
    }

    fn cost(&self, shard: &Shard, _: Round) -> f64 {
        let cost = self.classifier.cost(shard);
        let epochs = f64::from(self.classifier.epochs());
        self.passes.map_or(cost, |passes| cost * passes / epochs)
    }

    fn passes(&self) -> u32 {
        self.classifier.epochs()
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained<K> {
        let rng = &mut task.rng();
        match task.hidden_items {
            Some(hidden) => self.train_hidden(&task, hidden, Some(rng)),
            None => Trained::model(
                self.classifier
                    .train_passes(task.shard, task.parameters, task.passes, rng),
            ),
        }
    }

    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<K> {
        match task.hidden_items {
            Some(hidden) => self.train_hidden(&task, hidden, None),
            None => Trained::model(task.parameters.to_vec()),
        }
    }
}

impl<K: State + Sync + Clone, P: SidePayload<Self>> RoundVictim<P> for Classified<K> {
    fn shared(&self, held: &Arc<Held>, _: &Source<'_>) -> Result<Shared<Rounds<Self, P>>, StrategyError> {
        Ok(Handed::watched(held, Accuracy(Arc::clone(held))))
    }
}
