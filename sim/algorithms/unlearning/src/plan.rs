//! Which rounds train and which forget, and who takes part.

use crate::trainer::Unlearning;
use crate::{ServerState, Stored, UnlearningMethod};
use folkmoot_classifiers::classifier::Forgotten;
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::{Candidates, ClientSelection};
use folkmoot_learning::Average;
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Aggregating, Aggregator, Answers, Opening, Personalisation};

const NAME: &str = "Unlearn";

/// The rounds of a run: first those of training, then those of a method.
#[derive(Clone)]
pub struct Plan {
    pub(crate) method: Chosen<dyn UnlearningMethod>,
    pub(crate) forgotten: Forgotten,
    pub(crate) trained: u32,
    pub(crate) n_clients: u32,
    /// Of the numbers of a model, how many learn.
    pub(crate) n_learning: usize,
    /// The data were never there, and rounds before the request train nothing.
    pub(crate) is_reference: bool,
}

impl Plan {
    /// Rounds before the request.
    pub fn trained(&self) -> u32 {
        self.trained
    }

    pub fn n_clients(&self) -> u32 {
        self.n_clients
    }

    /// The round after the request, from 0; `None` before it.
    pub fn after(&self, round: Round) -> Option<u32> {
        round.0.checked_sub(self.trained)
    }

    /// Whether data of a client are to be forgotten.
    pub fn is_affected(&self, client: u32) -> bool {
        self.forgotten.clients().binary_search(&client).is_ok()
    }

    /// Whether a client takes part after the request: it has something left.
    pub fn stays(&self, client: u32) -> bool {
        !(self.is_affected(client) && self.forgotten.is_of_clients())
    }

    /// The group of a client.
    pub fn group(&self, client: u32) -> u32 {
        client % self.method.n_models()
    }

    /// Whether some client of a client's group is affected.
    pub fn is_group_affected(&self, client: u32) -> bool {
        let groups = self.forgotten.clients().iter().map(|affected| self.group(*affected));
        groups.into_iter().any(|group| group == self.group(client))
    }

    pub(crate) fn is_in_groups(&self) -> bool {
        self.method.n_models() > 1
    }

    fn takes_part(&self, round: Round, client: u32) -> bool {
        match self.after(round) {
            _ if self.is_reference => self.stays(client),
            None => true,
            Some(after) => self.method.takes_part(after, client, self),
        }
    }

    /// What a round begins with.
    pub(crate) fn open(&self, opening: Opening<'_>) -> Result<Option<Vec<f32>>, StrategyError> {
        let mut state = ServerState::read(opening.state)?;
        if opening.round == Round(0) {
            state.initial = opening.model.to_vec();
            *opening.state = state.written()?;
        } else if self.is_in_groups() == opening.own.is_empty() {
            return refuse("the rounds before were trained by a method with another number of models".to_owned());
        }
        let Some(after) = self.after(opening.round) else {
            return Ok(None);
        };
        let name = self.method.text().to_owned();
        match &state.method {
            _ if after == 0 => {
                state.method = Some(name);
                *opening.state = state.written()?;
                self.method.begin(self, (&state, opening.model), opening.own)
            }
            Some(before) if *before == name => Ok(None),
            before => refuse(format!(
                "the request was answered by {}, not by {name}; fork a checkpoint from before the request",
                before.as_deref().unwrap_or("no method")
            )),
        }
    }
}

fn refuse<T>(why: String) -> Result<T, StrategyError> {
    Err(StrategyError(format!("method: {why}")))
}

impl ClientSelection for Plan {
    fn name(&self) -> &str {
        NAME
    }

    fn select(&self, clients: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        let round = clients.round;
        let all = (0..clients.n_clients).filter(|client| self.takes_part(round, *client));
        Ok(all.map(ClientId).collect())
    }

    fn asked(&self, n_clients: u32) -> u32 {
        n_clients
    }

    fn remembers(&self) -> bool {
        false
    }
}

impl Aggregator for Plan {
    fn name(&self) -> &str {
        NAME
    }

    fn metrics(&self) -> &[String] {
        &[]
    }

    fn aggregate(&self, of: Aggregating<'_>, state: &mut Vec<u8>) -> Result<Vec<f32>, StrategyError> {
        let after = self.after(of.round);
        if after.is_none() && self.method.stores(of.round.0, self.trained) {
            let mut kept = ServerState::read(state)?;
            let change = |values: &[f32]| values.iter().zip(of.model).map(|(y, x)| y - x).collect();
            kept.stored.extend(of.updates.iter().map(|update| Stored {
                round: of.round.0,
                client: update.client.0,
                weight: update.weight,
                change: change(&update.values),
            }));
            *state = kept.written()?;
        }
        if let Some(after) = after {
            let kept = ServerState::read(state)?;
            let of = (of.model, &of.updates[..]);
            if let Some(model) = self.method.aggregate(after, &kept, of, self.n_learning) {
                return Ok(model);
            }
        }
        let mut mean = Average::new();
        let all: Vec<(&[f32], f64)> = of
            .updates
            .iter()
            .map(|update| (&update.values[..], update.weight))
            .collect();
        mean.add_all(&all);
        Ok(mean.mean().unwrap_or_else(|| of.model.to_vec()))
    }
}

/// Of groups with a model each: a client is sent that of its group.
impl Personalisation<Unlearning> for Plan {
    fn rows(&self, _: &Unlearning, _: &mut Vec<f64>, answers: &Answers<'_>) -> Option<Vec<(ClientId, Vec<f64>)>> {
        let updates = &answers.updates.all;
        let row = |client: u32| -> Vec<f64> {
            let weight = |of: u32, weight: f64| {
                if self.group(of) == self.group(client) {
                    weight
                } else {
                    0.0
                }
            };
            updates
                .iter()
                .map(|update| weight(update.client.0, update.weight))
                .collect()
        };
        let rows = (0..self.n_clients).map(|client| (ClientId(client), row(client)));
        Some(rows.filter(|(_, row)| row.iter().any(|weight| *weight > 0.0)).collect())
    }
}
