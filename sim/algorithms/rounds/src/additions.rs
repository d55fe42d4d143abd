//! What only some algorithms add to training in rounds. Each is a value given to [`Rounds`].

use crate::{Aggregator, Opening, Personalisation, Rounds, Trainer};
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::ClientSelection;
use std::sync::Arc;

/// What clients report of their data in the first round, which then trains nothing, and what the
/// sums over clients become. Given to [`Rounds::with_statistics`].
pub struct Statistics<R: Trainer> {
    /// So many of the model's last numbers come from the statistics, and never come back.
    pub n_fixed: usize,
    /// What a client reports; the server learns the sums over clients.
    pub of: fn(&R, R::Shard<'_>) -> Vec<f64>,
    /// The model's last numbers from these sums.
    pub fixed: fn(&R, &[f64]) -> Vec<f32>,
}

/// Metrics that clients report where a client selection or an aggregator asks for them, such as
/// `loss`. Given to [`Rounds::with_reports`].
pub struct Reports<R: Trainer> {
    /// The cost of a metric, as a fraction of the operations of one of [`Trainer::passes`]; `None`
    /// for a metric that is not reported.
    pub cost: fn(&R, &str) -> Option<f64>,
    /// The metric of the model that a client received. Called where
    /// [`Trained::metrics`](crate::Trained::metrics) is empty.
    pub metric: fn(&R, R::Shard<'_>, &[f32], &str) -> f32,
}

/// Training items that can be changed by malicious clients and drawn for the server's own data set.
/// Given to [`Rounds::with_items`].
pub trait Items<R: Trainer>: Send + Sync {
    /// The data that a malicious client trains on, where its adversary changes training items.
    fn poisoned<'a>(&self, shard: R::Shard<'a>) -> R::Shard<'a>;

    /// The model after a training on the server's own data set.
    fn trusted(&self, trainer: &R, parameters: &[f32], rng: &mut SimRng) -> Vec<f32>;
}

/// Returns the model that a round begins with, where that is not the present one.
pub(crate) type BeforeRound = dyn Fn(Opening<'_>) -> Result<Option<Vec<f32>>, StrategyError> + Send + Sync;

/// All of them; by default none.
pub(crate) struct Additions<R: Trainer> {
    pub(crate) statistics: Option<Statistics<R>>,
    pub(crate) method: Option<Arc<dyn Personalisation<R>>>,
    pub(crate) selection: Option<Arc<dyn ClientSelection>>,
    pub(crate) aggregator: Option<Arc<dyn Aggregator>>,
    pub(crate) before_round: Option<Arc<BeforeRound>>,
    pub(crate) reports: Option<Reports<R>>,
    pub(crate) items: Option<Arc<dyn Items<R>>>,
}

impl<R: Trainer> Default for Additions<R> {
    fn default() -> Self {
        Additions {
            statistics: None,
            method: None,
            selection: None,
            aggregator: None,
            before_round: None,
            reports: None,
            items: None,
        }
    }
}

impl<R: Trainer, P, X> Rounds<R, P, X> {
    /// The same with statistics in the first round, which then trains nothing; without any numbers
    /// that they fix, the same.
    pub fn with_statistics(mut self, statistics: Statistics<R>) -> Self {
        self.added.statistics = (statistics.n_fixed > 0).then_some(statistics);
        self
    }

    /// The same with models that differ between the server and its clients.
    pub fn personalised(mut self, method: Arc<dyn Personalisation<R>>) -> Self {
        self.travels = method.travels(&self.trainer);
        self.added.method = Some(method);
        self
    }

    /// The same with a client selection of the algorithm's own, instead of the card's `cohort`.
    pub fn selecting(mut self, selection: Option<Arc<dyn ClientSelection>>) -> Self {
        self.added.selection = selection;
        self
    }

    /// The same with an aggregator of the algorithm's own, instead of the card's.
    pub fn aggregating(mut self, aggregator: Option<Arc<dyn Aggregator>>) -> Self {
        self.added.aggregator = aggregator;
        self
    }

    /// The same with a function that is called before the server sends the models of a synchronous
    /// round without secure aggregation. It returns the model that the round begins with, where
    /// that is not the present one; an error ends the run.
    pub fn before_rounds<F>(mut self, before_round: F) -> Self
    where
        F: Fn(Opening<'_>) -> Result<Option<Vec<f32>>, StrategyError> + Send + Sync + 'static,
    {
        self.added.before_round = Some(Arc::new(before_round));
        self
    }

    /// The same with metrics that clients can report. Without any, a selection or an aggregator that
    /// asks for one is rejected.
    pub fn with_reports(mut self, reports: Reports<R>) -> Self {
        self.added.reports = Some(reports);
        self
    }

    /// The same with training items that can be changed and drawn. Without them, adversaries that
    /// change items and a server's own data set are rejected.
    pub fn with_items(mut self, items: Arc<dyn Items<R>>) -> Self {
        self.added.items = Some(items);
        self
    }

    /// The cost of a metric that a client reports, as [`Reports::cost`]; `None` if it does not.
    pub(crate) fn cost_of_report(&self, metric: &str) -> Option<f64> {
        let reports = self.added.reports.as_ref()?;
        (reports.cost)(&self.trainer, metric)
    }

    /// The algorithm's own aggregator.
    pub(crate) fn aggregator(&self) -> Option<&dyn Aggregator> {
        self.added.aggregator.as_deref()
    }
}
