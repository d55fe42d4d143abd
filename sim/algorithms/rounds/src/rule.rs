//! How the updates of a round become one: a part that a card names as `protocol.aggregator`.

mod bulyan;
mod centred_clipping;
mod context;
mod fl_trust;
mod flame;
mod fools_gold;
mod geometric_median;
mod krum;
mod mean;
mod median;
mod norm_clip;
mod trimmed_mean;

pub use bulyan::Bulyan;
pub use centred_clipping::CentredClipping;
pub use context::{RuleContext, RuleMemory};
pub use fl_trust::FlTrust;
pub use flame::Flame;
pub use fools_gold::FoolsGold;
pub use geometric_median::GeometricMedian;
pub use krum::Krum;
pub use mean::Mean;
pub use median::Median;
pub use norm_clip::NormClip;
pub use trimmed_mean::TrimmedMean;

use folkmoot_engine::prelude::ClientId;
use folkmoot_parts::component_type;

/// A way to make one update of those that have come.
///
/// Updates are models in synchronous rounds and changes of a model in buffered aggregation, and the
/// rule gives the like. One that moves along when all updates move by the same amount, as a mean or
/// a median does, need not ask which; for any other, such as one that looks at lengths, what counts
/// is the change, which is the update less [`Updates::base`].
///
/// The numbers beyond [`Updates::n_trainable`], such as running statistics, do not learn: the
/// server's optimiser passes them over.
pub trait Rule: Send + Sync {
    /// One number for each of the updates', in double precision.
    ///
    /// There are at least [`fewest`](Rule::fewest) updates, each finite and with a weight above 0,
    /// in ascending order of their clients; in buffered aggregation one client may have sent
    /// several, which then stand in the order in which they came.
    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64>;

    /// With fewer updates the model stays as it is. Default: 1.
    fn fewest(&self) -> u32 {
        1
    }

    /// Whether it leaves [`Update::weight`] out of account, so that the card's `weighting` has no
    /// effect. Default: no.
    fn ignores_weights(&self) -> bool {
        false
    }

    /// Whether it keeps something in [`RuleContext::memory`] from round to round, so that it cannot
    /// combine several groups of updates in one round. Default: no.
    fn remembers(&self) -> bool {
        false
    }

    /// Whether it names clients whose updates it leaves out as malicious
    /// ([`RuleContext::exclude`]), so that a run reports how often it is right. Default: no.
    fn accuses(&self) -> bool {
        false
    }

    /// Whether equal updates have themselves as aggregate. Random tests try it. Default: not stated.
    fn keeps_agreement(&self) -> bool {
        false
    }

    /// The number of items of the server's own data set, with which it trains in each round
    /// ([`RuleContext::trusted`]). Default: it has none.
    fn trusted_items(&self) -> Option<u32> {
        None
    }

    /// Whether the weighted sum of all updates is enough, so that the server need not see single
    /// ones, and the rule is never asked where updates are secret. True of the mean alone. Default:
    /// no.
    fn is_mean(&self) -> bool {
        false
    }
}

component_type!(Rule, "aggregation rule", Mean {});

/// What a rule combines.
pub struct Updates<'a> {
    /// In ascending order of their clients.
    pub all: Vec<Update<'a>>,
    /// The present model if updates are models, and empty if they are changes.
    pub model: &'a [f32],
    /// So many of the first numbers learn.
    pub n_trainable: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    pub client: ClientId,
    /// How much it counts by the card's `weighting`: above 0, and in the client's own words where
    /// that is by samples.
    pub weight: f64,
    /// By how much staleness has shrunk it: 1 for a fresh one, and always in synchronous rounds.
    pub discount: f64,
    /// Its numbers, as they came.
    pub values: &'a [f32],
}

impl Update<'_> {
    /// The number at `i`, times the discount.
    pub fn value(&self, i: usize) -> f64 {
        self.discount * f64::from(self.values[i])
    }
}

impl<'a> Updates<'a> {
    /// The same updates, of each the first `n` numbers, or all if it has no more.
    pub fn first(&self, n: usize) -> Updates<'a> {
        let first = |update: &Update<'a>| Update {
            values: &update.values[..n.min(update.values.len())],
            ..*update
        };
        Updates {
            all: self.all.iter().map(first).collect(),
            ..*self
        }
    }

    /// What the number at `i` of an update is a change of: the present model's, or 0 where updates
    /// are changes.
    pub fn base(&self, i: usize) -> f64 {
        self.model.get(i).map_or(0.0, |x| f64::from(*x))
    }

    /// The changes that updates are, each times its discount: of each the numbers that learn.
    pub fn changes(&self) -> Vec<Vec<f64>> {
        let change = |update: &Update<'a>| {
            let learning = self.n_trainable.min(update.values.len());
            let change = |i: usize| update.discount * (f64::from(update.values[i]) - self.base(i));
            (0..learning).map(change).collect()
        };
        self.all.iter().map(change).collect()
    }

    /// What moves the model by this change of the numbers that learn, in the form of the updates;
    /// the other numbers are the weighted mean of theirs, with these weights of updates.
    pub fn moved(&self, change: &[f64], weights: &[f64]) -> Vec<f64> {
        let total: f64 = weights.iter().sum();
        let mean = |i: usize| {
            let sum: f64 = (self.all.iter().zip(weights))
                .map(|(update, weight)| weight * (update.value(i) - self.base(i)))
                .sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        let of = |i: usize| self.base(i) + change.get(i).copied().unwrap_or_else(|| mean(i));
        (0..self.n_values()).map(of).collect()
    }

    /// How many numbers each update has.
    pub fn n_values(&self) -> usize {
        self.all.first().map_or(0, |update| update.values.len())
    }
}

#[cfg(test)]
mod defence_tests;
#[cfg(test)]
mod tests;
