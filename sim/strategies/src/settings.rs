//! What makes a strategy known to cards.

use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_parts::Part;
use std::sync::Arc;

/// A strategy's parameters as a card writes them: `strategy: Name(field: value)`.
///
/// Every field has a default, so that `Name()` is a whole strategy.
pub trait Settings: Part + Default {
    /// The system these parameters make.
    type Strategy: Strategy;

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
