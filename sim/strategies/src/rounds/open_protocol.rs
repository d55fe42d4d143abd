//! A protocol as a card writes it where the weighting of updates depends on other settings of the strategy.

use super::{Absent, Aggregation, Protocol, Secure, ServerOptimiser, Weighting};
use serde::{Deserialize, Serialize};

/// A [`Protocol`] that may leave its weighting open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Protocol")]
pub struct OpenProtocol {
    rounds: u32,
    weighting: Option<Weighting>,
    server: ServerOptimiser,
    aggregation: Aggregation,
    min_updates: u32,
    absent: Absent,
    secure: Secure,
    evaluate_every: u32,
}

impl OpenProtocol {
    /// The protocol, weighted as written, or else as `weighting` says.
    pub fn with_default(self, weighting: Weighting) -> Protocol {
        Protocol {
            rounds: self.rounds,
            weighting: self.weighting.unwrap_or(weighting),
            server: self.server,
            aggregation: self.aggregation,
            min_updates: self.min_updates,
            absent: self.absent,
            secure: self.secure,
            evaluate_every: self.evaluate_every,
        }
    }
}

impl From<Protocol> for OpenProtocol {
    fn from(protocol: Protocol) -> Self {
        OpenProtocol {
            rounds: protocol.rounds,
            weighting: Some(protocol.weighting),
            server: protocol.server,
            aggregation: protocol.aggregation,
            min_updates: protocol.min_updates,
            absent: protocol.absent,
            secure: protocol.secure,
            evaluate_every: protocol.evaluate_every,
        }
    }
}

impl Default for OpenProtocol {
    fn default() -> Self {
        let mut open = OpenProtocol::from(Protocol::default());
        open.weighting = None;
        open
    }
}
