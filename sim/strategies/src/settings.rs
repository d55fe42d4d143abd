//! What makes a strategy known to cards.

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_parts::Part;
use serde::Serialize;
use std::sync::Arc;

/// A strategy's parameters as a card writes them: `strategy: Name(field: value)`.
///
/// Every field has a default, so that `Name()` is a whole strategy.
pub trait Settings: Part + Default {
    /// What everybody knows of the data before the run, such as the number of classes. `manifest.json` lists it.
    type Facts: Serialize + 'static;
    /// The system these parameters make.
    type Strategy: Strategy;

    /// How many rounds a run has, if that is known before; for progress only. Default: unknown.
    fn rounds(&self) -> Option<u32> {
        None
    }

    /// What everybody knows of the data.
    ///
    /// # Errors
    ///
    /// When the data do not suit the system.
    fn facts(&self, source: &Source<'_>) -> Result<Self::Facts, StrategyError>;

    /// The system: made of its parameters and of what everybody knows, so that no handler has a way to the data.
    ///
    /// # Errors
    ///
    /// When the parameters do not suit the facts.
    fn strategy(&self, facts: &Self::Facts) -> Result<Self::Strategy, StrategyError>;

    /// Shares the data out: the one function that sees all of them before the run has ended.
    ///
    /// # Errors
    ///
    /// When the data do not suit the system.
    fn share(&self, strategy: &Self::Strategy, source: &Source<'_>) -> Result<Shared<Self::Strategy>, StrategyError>;

    /// All of it, in the one order there is.
    ///
    /// # Errors
    ///
    /// As its steps; the message begins with the system's name.
    fn prepare(&self, source: &Source<'_>) -> Result<Prepared<Self>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("{}: {why}", Self::NAME));
        let facts = self.facts(source).map_err(named)?;
        let strategy = self.strategy(&facts).map_err(named)?;
        let shared = self.share(&strategy, source).map_err(named)?;
        Ok(Prepared {
            facts,
            strategy,
            shared,
        })
    }
}

/// A system that can run.
pub struct Prepared<P: Settings> {
    /// What everybody knows.
    pub facts: P::Facts,
    /// The strategy.
    pub strategy: P::Strategy,
    /// Its data.
    pub shared: Shared<P::Strategy>,
}

impl<P: Settings> Prepared<P> {
    /// As the engine takes it.
    pub fn system(&self) -> System<'_, P::Strategy> {
        System {
            strategy: &self.strategy,
            shards: self.shared.shards.as_ref(),
            study: self.shared.study.as_ref(),
        }
    }
}

/// The data of a run.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// All of them.
    pub dataset: &'a Arc<Dataset>,
    /// Who holds what.
    pub partition: &'a Arc<Partition>,
    /// The streams of the run, for what is drawn beforehand, such as who trains and who tests.
    pub streams: Streams,
}

impl<'a> Source<'a> {
    /// A data set, who holds what, and the streams of the run.
    pub fn new(dataset: &'a Arc<Dataset>, partition: &'a Arc<Partition>, streams: Streams) -> Self {
        Source {
            dataset,
            partition,
            streams,
        }
    }

    /// The number of clients.
    pub fn n_clients(&self) -> u32 {
        self.partition.n_clients() as u32
    }

    /// How many items each client holds.
    pub fn sizes(&self) -> Vec<u64> {
        let size = |client| self.partition.shard(client).len() as u64;
        (0..self.partition.n_clients()).map(size).collect()
    }
}

/// Data that have been shared out: what each client gets, and what is seen from above.
pub struct Shared<S: Strategy> {
    /// What each client holds.
    pub shards: Box<dyn Shards<S>>,
    /// Scores, attacks and theory.
    pub study: Box<dyn Study<S>>,
}
