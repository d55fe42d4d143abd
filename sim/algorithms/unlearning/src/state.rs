//! What the server keeps for a request to forget.

use folkmoot_engine::prelude::*;
use folkmoot_learning::Average;
use serde::{Deserialize, Serialize};

/// Bytes of a number.
const NUMBER: u64 = 4;

/// What the server keeps, in checkpoints too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    /// The initial model. The seed determines it, so it is no storage of a method.
    pub initial: Vec<f32>,
    /// Updates of training rounds, by ascending round and client.
    pub stored: Vec<Stored>,
    /// The method of the request, once that has come.
    pub method: Option<String>,
}

/// An update that the server has stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    pub round: u32,
    pub client: u32,
    pub weight: f64,
    /// The model of the client minus the one that it was sent.
    pub change: Vec<f32>,
}

impl ServerState {
    /// What bytes hold; of none the state before the first round.
    ///
    /// # Errors
    ///
    /// When they hold none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, StrategyError> {
        if bytes.is_empty() {
            return Ok(ServerState::default());
        }
        postcard::from_bytes(bytes).map_err(|error| {
            StrategyError(format!(
                "the state of the server for unlearning cannot be read: {error}"
            ))
        })
    }

    pub(crate) fn written(&self) -> Result<Vec<u8>, StrategyError> {
        postcard::to_allocvec(self).map_err(|error| {
            StrategyError(format!(
                "the state of the server for unlearning cannot be written: {error}"
            ))
        })
    }

    /// Bytes of the stored updates: their numbers, and a client and a weight of 4 bytes each.
    pub fn stored_bytes(&self) -> u64 {
        self.stored
            .iter()
            .map(|stored| NUMBER * (stored.change.len() as u64 + 2))
            .sum()
    }

    /// The weighted mean of the stored changes of a round, of clients that `counts` admits; `None`
    /// without any.
    pub(crate) fn mean_change(&self, round: u32, counts: impl Fn(u32) -> bool) -> Option<Vec<f32>> {
        let of_round = self.stored.iter().filter(|stored| stored.round == round);
        let of_round = of_round.filter(|stored| counts(stored.client));
        let changes: Vec<(&[f32], f64)> = of_round.map(|stored| (&stored.change[..], stored.weight)).collect();
        let mut mean = Average::new();
        mean.add_all(&changes);
        mean.mean()
    }
}
