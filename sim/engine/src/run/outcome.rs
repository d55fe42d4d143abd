//! The end of a run: its parts' accounts put together, in ascending order of the clients.

use super::{Outcome, Run, RunError};
use crate::core::{Account, Content, Core, EPSILON_UNITS};
use crate::privacy;
use crate::queue::QueuedEvent;
use crate::strategy::Strategy;
use crate::study::{Clients, End};
use crate::world::{Presence, PresenceCursor};
use folkmoot_metrics::{ClientId, ClientRow, Direction, Ledger, Party, Round, ScoreRow, SimTime};
use rayon::prelude::*;

impl<S: Strategy> Run<'_, '_, S> {
    /// Counts what is left in flight at `end` and sums up.
    pub(super) fn finish(mut self, end: SimTime) -> Result<Outcome, RunError> {
        self.count_in_flight();
        let ledger = self.ledger();
        if let Some((kind, round, _)) = ledger.unbalanced() {
            return Err(RunError::Unbalanced {
                kind: format!("{}/{}", kind.phase, kind.name),
                round,
            });
        }
        let counters = self.counters(self.server.record.round.0 as usize + 1);
        let mut sheet = std::mem::take(&mut self.server.sheet);
        let mut scores = sheet.take_scores();
        scores.extend(self.presence_scores());
        scores.extend(self.privacy_scores());
        let ground = self.env.ground;
        let parts = self.parts.iter().map(|part| (&part.core.prices, part.spent.as_slice()));
        let privacy = privacy::rows(self.env.mechanisms, self.env.n_clients, parts);
        let at_end = End {
            strategy: ground.strategy,
            server: &self.server.state,
            clients: Clients {
                parts: self.parts.iter().map(|part| part.states.as_slice()).collect(),
                len: self.env.n_clients,
            },
            setup: self.env.setup(),
            ledger: &ledger,
            privacy: &privacy,
            rounds: &self.server.record.rounds,
            counters: counters.iter().map(|(_, by_round)| by_round.iter().sum()).collect(),
            streams: ground.streams,
        };
        sheet.stands_at(self.server.record.round.0, end.as_secs());
        ground.study.at_end(&at_end, &mut sheet);
        scores.extend(sheet.take_scores());
        Ok(Outcome {
            messages: self.message_rows(&ledger),
            ledger,
            privacy,
            clients: self.client_rows(end),
            counters,
            handled: self.server.core.handled + self.parts.iter().map(|part| part.core.handled).sum::<u64>(),
            rounds: std::mem::take(&mut self.server.record.rounds),
            scores,
            summary: sheet.take_summary(),
            units: sheet.take_units(),
            artifacts: sheet.take_artifacts(),
            end,
        })
    }

    /// Empties the queues, counting the messages in them and those held for absent clients.
    fn count_in_flight(&mut self) {
        for part in &mut self.parts {
            let held: Vec<(QueuedEvent, Round, usize)> = part
                .held()
                .filter_map(|(event, entry)| match &entry.content {
                    Content::Message(envelope) => Some((*event, entry.round, envelope.letter.kind())),
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

    /// The share of clients online at the end of each round, unless all always are.
    fn presence_scores(&self) -> Vec<ScoreRow> {
        let (env, ends) = (self.env, &self.server.record.round_ends);
        if env.world.availability.is_perfect() || env.n_clients == 0 {
            return Vec::new();
        }
        let no_one = || vec![0u64; ends.len()];
        let count = |mut online: Vec<u64>, id: u32| {
            let mut cursor = PresenceCursor::default();
            for (n, &(round, at)) in online.iter_mut().zip(ends) {
                let presence =
                    env.world
                        .availability
                        .presence(ClientId(id), round, at, &mut cursor, env.ground.streams);
                *n += u64::from(presence == Presence::Online);
            }
            online
        };
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let online = (0..env.n_clients)
            .into_par_iter()
            .fold(no_one, count)
            .reduce(no_one, add);
        let n_clients = u64::from(env.n_clients);
        let share = |n: u64| n as f64 / n_clients as f64;
        let row = |(&(round, at), n): (&(Round, SimTime), u64)| {
            score(round, at, "clients", "online_share".to_owned(), share(n), n_clients)
        };
        ends.iter().zip(online).map(row).collect()
    }

    /// The mean epsilon that clients have spent by the end of each round, for each mechanism with a finite one.
    fn privacy_scores(&self) -> Vec<ScoreRow> {
        let mut rows = Vec::new();
        for (i, info) in self.env.mechanisms.iter().enumerate() {
            let metric = format!(
                "epsilon_mean_{}",
                info.mechanism.replace(|c: char| !c.is_alphanumeric(), "_")
            );
            let (mut n, mut epsilon) = (0, 0);
            for &(round, at) in &self.server.record.round_ends {
                for part in &self.parts {
                    if let Some(releases) = part.core.releases.get(round.0 as usize) {
                        n += releases[i].n;
                        epsilon += releases[i].epsilon;
                    }
                }
                let mean = epsilon as f64 / EPSILON_UNITS / f64::from(self.env.n_clients.max(1));
                if epsilon > 0 {
                    rows.push(score(round, at, "privacy", metric.clone(), mean, n));
                }
            }
        }
        rows
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
                    shard_size: env.ground.shards.size(ClientId(id)),
                    rounds: account.rounds_joined,
                    uplink_bytes: account.uplink_bytes,
                    downlink_bytes: account.downlink_bytes,
                    peer_bytes: account.peer_bytes,
                    compute_s: account.compute.as_secs(),
                    online_s: env
                        .world
                        .availability
                        .online(ClientId(id), &rounds, env.ground.streams)
                        .as_secs(),
                }
            })
            .collect()
    }
}

fn score(round: Round, at: SimTime, split: &str, metric: String, value: f64, n: u64) -> ScoreRow {
    ScoreRow {
        round: round.0,
        virtual_s: at.as_secs(),
        split: split.to_owned(),
        metric,
        value,
        n,
    }
}

fn drain_in_flight<S: Strategy>(core: &mut Core<S>) {
    while let Some(event) = core.queue.pop() {
        if let Some(entry) = core.take(event)
            && let Content::Message(envelope) = entry.content
        {
            note_in_flight(&mut core.ledger, event, entry.round, envelope.letter.kind());
        }
    }
}

fn note_in_flight(ledger: &mut Ledger, event: QueuedEvent, round: Round, kind: usize) {
    let direction = Direction::between(Party::from_index(event.key.origin()), Party::from_index(event.to));
    ledger.cell(round, kind, direction).in_flight += 1;
}
