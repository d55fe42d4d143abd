//! Why a run ends early, by a strategy's doing.

use crate::wire::DecodeError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Why a strategy cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{0}")]
pub struct StrategyError(pub String);

/// Why a run ended early. Told by another rank, it is its text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The strategy gave up.
    #[error("{0}")]
    Strategy(StrategyError),
    /// A message did not survive its encoding: a bug of the strategy, found by `--wire-check`.
    #[error("message {kind} does not survive its encoding: {error}")]
    Wire { kind: &'static str, error: DecodeError },
    /// One party caused 2^32 events.
    #[error("one party caused 2^32 events; split the run into smaller ones")]
    TooManyEvents,
}

impl Serialize for Fault {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|told| Fault::Strategy(StrategyError(told)))
    }
}
