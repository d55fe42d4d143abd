//! The end of a run: its parts' accounts put together, in ascending order of the clients.

use super::{Outcome, Run, RunError, merged_ledger};
use crate::context::Spent;
use crate::core::{Account, Content, Core};
use crate::queue::QueuedEvent;
use crate::rng::Purpose;
use crate::strategy::{Clients, MechanismInfo, Report, Scores, Strategy};
use crate::wire::Wire;
use folkmoot_metrics::{ClientId, ClientRow, Direction, Ledger, Party, PrivacyRow, Round, SimTime};
use rayon::prelude::*;

impl<S: Strategy> Run<'_, '_, '_, S> {
    /// Counts what is left in flight and sums up.
    pub(super) fn finish(mut self) -> Result<Outcome, RunError> {
        let end = self.server.record.finished_at.unwrap_or(self.now);
        self.count_in_flight();
        let ledger = merged_ledger(&self.server, &self.parts);
        if let Some((kind, round, _)) = ledger.unbalanced() {
            return Err(RunError::Unbalanced {
                kind: format!("{}/{}", kind.phase, kind.name),
                round,
            });
        }
        let counters = self.counters(self.server.record.round.0 as usize + 1);
        let Scores { rows, summary } = {
            let clients = Clients {
                parts: self.parts.iter().map(|part| part.states.as_slice()).collect(),
                len: self.env.n_clients,
            };
            let mut rng = self.env.streams.global(Purpose(*b"evaluate"));
            let report = Report {
                setup: self.env.setup(),
                ledger: &ledger,
                rounds: &self.server.record.rounds,
                counters: counters.iter().map(|(_, by_round)| by_round.iter().sum()).collect(),
            };
            self.env
                .strategy
                .evaluate(&self.server.state, &clients, &report, &mut rng)
        };
        let mut scores = std::mem::take(&mut self.server.record.scores);
        scores.extend(rows);
        Ok(Outcome {
            ledger,
            privacy: self.privacy_rows(),
            clients: self.client_rows(end),
            counters,
            handled: self.server.core.handled + self.parts.iter().map(|part| part.core.handled).sum::<u64>(),
            rounds: std::mem::take(&mut self.server.record.rounds),
            scores,
            summary,
            end,
        })
    }

    /// Empties the queues, counting the messages in them and those held for absent clients.
    fn count_in_flight(&mut self) {
        for part in &mut self.parts {
            let held: Vec<(QueuedEvent, Round, usize)> = part
                .held()
                .filter_map(|(event, entry)| match &entry.content {
                    Content::Message(envelope) => Some((*event, entry.round, envelope.message.kind())),
                    _ => None,
                })
                .collect();
            held.into_iter()
                .for_each(|(event, round, kind)| note_in_flight(&mut part.core.ledger, event, round, kind));
            drain_in_flight(&mut part.core);
        }
        drain_in_flight(&mut self.server.core);
    }

    fn counters(&self, n_rounds: usize) -> Vec<(&'static str, Vec<u64>)> {
        let cores = || std::iter::once(&self.server.core).chain(self.parts.iter().map(|part| &part.core));
        S::COUNTERS
            .iter()
            .enumerate()
            .map(|(i, &name)| {
                let of_round = |round: usize| cores().filter_map(|core| Some(core.counters.get(round)?[i])).sum();
                (name, (0..n_rounds).map(of_round).collect())
            })
            .collect()
    }

    /// What each client spent on each mechanism, in ascending order of the clients.
    fn privacy_rows(&self) -> Vec<PrivacyRow> {
        let mechanisms = self.env.strategy.mechanisms();
        let n = mechanisms.len();
        let row = |(i, info): (usize, MechanismInfo)| {
            let spent =
                |id: u32| self.parts[(id % self.env.n_parts) as usize].spent[(id / self.env.n_parts) as usize * n + i];
            let (mut total, mut worst) = (Spent::default(), 0.0f64);
            for spent in (0..self.env.n_clients).map(spent) {
                total.releases += spent.releases;
                total.epsilon += spent.epsilon;
                worst = worst.max(spent.epsilon);
            }
            PrivacyRow {
                mechanism: info.mechanism,
                unit: info.unit,
                releases: total.releases,
                epsilon_per_release: if total.releases == 0 {
                    0.0
                } else {
                    total.epsilon / total.releases as f64
                },
                delta_per_release: info.delta,
                epsilon_worst_client: worst,
                epsilon_mean_client: total.epsilon / f64::from(self.env.n_clients.max(1)),
                composition: info.composition,
                epsilon_claimed: info.claimed,
            }
        };
        mechanisms.into_iter().enumerate().map(row).collect()
    }

    fn client_rows(&self, end: SimTime) -> Vec<ClientRow> {
        let mut rounds = self.server.record.round_ends.clone();
        rounds.push((self.server.record.round, end));
        let env = self.env;
        let accounts: Vec<&[Account]> = self.parts.iter().map(|part| part.accounts.as_slice()).collect();
        (0..env.n_clients)
            .into_par_iter()
            .map(|id| {
                let account = &accounts[(id % env.n_parts) as usize][(id / env.n_parts) as usize];
                ClientRow {
                    client: id,
                    shard_size: 0,
                    rounds: account.rounds_joined,
                    uplink_bytes: account.uplink_bytes,
                    downlink_bytes: account.downlink_bytes,
                    peer_bytes: account.peer_bytes,
                    compute_s: account.compute.as_secs(),
                    online_s: env
                        .world
                        .availability
                        .online(ClientId(id), &rounds, env.streams)
                        .as_secs(),
                }
            })
            .collect()
    }
}

fn drain_in_flight<S: Strategy>(core: &mut Core<S>) {
    while let Some(event) = core.queue.pop() {
        if let Some(entry) = core.store.take(event.slot)
            && let Content::Message(envelope) = entry.content
        {
            note_in_flight(&mut core.ledger, event, entry.round, envelope.message.kind());
        }
    }
}

fn note_in_flight(ledger: &mut Ledger, event: QueuedEvent, round: Round, kind: usize) {
    let direction = Direction::between(Party::from_index(event.key.origin()), Party::from_index(event.to));
    ledger.cell(round, kind, direction).in_flight += 1;
}
