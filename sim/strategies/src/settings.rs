//! What makes a strategy known to cards.

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::Breach;
use folkmoot_graphs::{Dataset, Partition};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A strategy's parameters as a card writes them: `strategy: Name(field: value)`.
///
/// Every field has a default, so that `Name()` is a whole strategy.
pub trait Settings: Serialize + DeserializeOwned + Default + Send + Sync + 'static {
    /// The name in cards.
    const NAME: &'static str;
    /// What it is, in one line, for `folkmoot list`.
    const ABOUT: &'static str;
    /// The system these parameters make.
    type Strategy: Strategy;

    /// Every rule that the parameters break: the field, and the rule with the way out.
    fn check(&self) -> Vec<Breach>;

    /// How many rounds a run has, if that is known before; for progress only. Default: unknown.
    fn rounds(&self) -> Option<u32> {
        None
    }

    /// The system on these data, with the streams of the run for what it draws beforehand.
    ///
    /// # Errors
    ///
    /// When the data do not suit it.
    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Self::Strategy, StrategyError>;
}
