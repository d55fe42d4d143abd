//! What the server knows of clients, for client selection.

use super::ClientSelection;
use crate::fault::StrategyError;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_metrics::{ClientId, Party, Round, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the server knows of a client that it has selected before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Rounds that selected it.
    pub n_selected: u32,
    /// Answers that came.
    pub n_answers: u32,
    /// The round of the last one that came.
    pub answered: Option<Round>,
    /// Training samples by its own word.
    pub n_samples: Option<u32>,
    /// From its selection to its last answer, in virtual seconds.
    pub seconds: Option<f64>,
    /// Its last values of [`ClientSelection::metrics`], in that order; empty before any came.
    pub metrics: Vec<f32>,
    /// When it was last selected.
    pub selected_at: SimTime,
}

/// What the server knows of all clients, with what a selection keeps itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    clients: BTreeMap<ClientId, Known>,
    /// The name of the selection that keeps the state.
    owner: String,
    #[serde(with = "serde_bytes")]
    state: Vec<u8>,
}

impl Memory {
    /// The clients of a round, ascending.
    pub(crate) fn select(
        &mut self,
        selection: &dyn ClientSelection,
        (n_clients, round, now): (u32, Round, SimTime),
        streams: Streams,
    ) -> Result<Vec<ClientId>, StrategyError> {
        // In a run that was forked, another one may go on.
        if selection.remembers() && self.owner != selection.name() {
            selection.name().clone_into(&mut self.owner);
            self.state.clear();
            self.clients.values_mut().for_each(|known| known.metrics.clear());
        }
        let mut candidates = Candidates {
            round,
            n_clients,
            state: std::mem::take(&mut self.state),
            known: &self.clients,
        };
        let selected = candidates.select(selection, streams);
        self.state = candidates.state;
        let selected = selected?;
        if selection.remembers() {
            for id in &selected {
                let known = self.clients.entry(*id).or_default();
                known.n_selected += 1;
                known.selected_at = now;
            }
        }
        Ok(selected)
    }

    /// An answer of a client to `round`.
    pub(crate) fn answered(
        &mut self,
        client: ClientId,
        (round, now): (Round, SimTime),
        (n_samples, metrics): (Option<u32>, Vec<f32>),
    ) {
        let known = self.clients.entry(client).or_default();
        known.n_answers += 1;
        known.answered = Some(round);
        known.n_samples = n_samples.or(known.n_samples);
        known.seconds = Some((now - known.selected_at).as_secs());
        if !metrics.is_empty() {
            known.metrics = metrics;
        }
    }
}

/// What a selection chooses from.
pub struct Candidates<'a> {
    /// The round to select for.
    pub round: Round,
    /// Clients are numbered from 0.
    pub n_clients: u32,
    /// What the selection keeps from round to round; checkpoints hold it. Empty at first.
    pub state: Vec<u8>,
    known: &'a BTreeMap<ClientId, Known>,
}

impl<'a> Candidates<'a> {
    /// Of a population of which nothing is known.
    pub fn of_none(n_clients: u32, round: Round) -> Candidates<'static> {
        static NOBODY: BTreeMap<ClientId, Known> = BTreeMap::new();
        Candidates {
            round,
            n_clients,
            state: Vec::new(),
            known: &NOBODY,
        }
    }

    /// The same with what is known.
    pub fn knowing(self, known: &BTreeMap<ClientId, Known>) -> Candidates<'_> {
        Candidates {
            round: self.round,
            n_clients: self.n_clients,
            state: self.state,
            known,
        }
    }

    /// What is known of a client; `None` if it was never selected.
    pub fn known(&self, client: ClientId) -> Option<&'a Known> {
        self.known.get(&client)
    }

    /// All of whom something is known, ascending.
    pub fn all_known(&self) -> impl Iterator<Item = (ClientId, &'a Known)> {
        self.known.iter().map(|(id, known)| (*id, known))
    }

    /// What a selection makes of them, ascending.
    ///
    /// # Errors
    ///
    /// When it fails, or selects a client twice or one that does not exist.
    pub fn select(
        &mut self,
        selection: &dyn ClientSelection,
        streams: Streams,
    ) -> Result<Vec<ClientId>, StrategyError> {
        let (round, n_clients) = (self.round, self.n_clients);
        let mut selected = selection.select(self, streams.party(Purpose(*b"cohort  "), Party::Server, round))?;
        selected.sort_unstable();
        let wrong = |what: String| {
            let name = selection.name();
            StrategyError(format!("cohort: {name} selects {what} in round {}", round.0))
        };
        if let Some(client) = selected.last().filter(|client| client.0 >= n_clients) {
            let most = n_clients.saturating_sub(1);
            return Err(wrong(format!("client {}; clients are 0 to {most}", client.0)));
        }
        match selected.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong(format!("client {} twice", pair[0].0))),
            None => Ok(selected),
        }
    }
}
