//! What the server was sent in its last rounds, kept for whoever asks what it could learn of that.

use super::super::{Exchange, SidePayload, Trainer};
use super::model::{Received, Turn};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the server took in at the end of a round.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    pub round: Round,
    /// The model that this moved.
    #[serde(with = "shared")]
    pub model: Arc<[f32]>,
    /// What came, ascending by client; of masked updates their mean alone.
    pub updates: Vec<SeenUpdate>,
}

/// An update as it came.
#[derive(Debug, Serialize, Deserialize)]
pub struct SeenUpdate {
    /// Whose it is; several clients' where only their mean was seen.
    pub clients: Vec<ClientId>,
    /// How many rounds older its model was.
    pub staleness: u32,
    /// What was sent less the model that it was learned from, in the order of the model's numbers.
    pub change: Vec<f64>,
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> Turn<'_, '_, R, P, X> {
    /// Keeps what came, where that is wanted. A model that was learned from an older one is left
    /// out: its change is not known any more.
    pub(super) fn see_each(&mut self, updates: &[Received]) {
        if self.rounds.keeps == 0 {
            return;
        }
        let sends_changes = self.rounds.sends_changes();
        let is_known = |received: &&Received| received.n_samples > 0 && (sends_changes || received.staleness == 0);
        let model = &self.global.parameters;
        let update = |received: &Received| {
            let values = received.weights.iter().map(|x| f64::from(*x));
            SeenUpdate {
                clients: vec![received.client],
                staleness: received.staleness,
                change: match sends_changes {
                    true => values.collect(),
                    false => less(values, model),
                },
            }
        };
        let updates = updates.iter().filter(is_known).map(update).collect();
        self.see(updates);
    }

    /// The same of the mean of masked updates.
    pub(super) fn see_mean(&mut self, clients: &[u32], mean: &[f64]) {
        if self.rounds.keeps == 0 {
            return;
        }
        let update = SeenUpdate {
            clients: clients.iter().map(|id| ClientId(*id)).collect(),
            staleness: 0,
            change: less(mean.iter().copied(), &self.global.parameters),
        };
        self.see(vec![update]);
    }

    fn see(&mut self, updates: Vec<SeenUpdate>) {
        let seen = &mut self.global.seen;
        if seen.len() == self.rounds.keeps as usize {
            seen.remove(0);
        }
        seen.push(Seen {
            round: self.cx.round(),
            model: Arc::clone(&self.global.parameters),
            updates,
        });
    }
}

fn less(values: impl Iterator<Item = f64>, model: &[f32]) -> Vec<f64> {
    values.zip(model).map(|(x, before)| x - f64::from(*before)).collect()
}
