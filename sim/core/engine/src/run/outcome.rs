//! The end of a run: its parts' accounts put together, in ascending order of the clients.

use super::{Observer, Outcome, Run, RunError};
use crate::client_blocks::Shares;
use crate::evaluator::{Clients, End};
use crate::event::Content;
use crate::fault::{Fault, StrategyError};
use crate::part::SERVER_IS_HERE;
use crate::part_state::{Account, Core, EPSILON_UNITS, Releases};
use crate::privacy;
use crate::queue::QueuedEvent;
use crate::run_context::Ground;
use crate::strategy::{MechanismInfo, Setup, Strategy};
use crate::world::{Presence, PresenceCursor, World};
use folkmoot_draws::Streams;
use folkmoot_metrics::trace::Fate;
use folkmoot_metrics::{
    AbsenceRow, ByRound, ClientId, ClientRow, Direction, Ledger, MessageRow, Party, ReadingRow, Round, SimTime, Tables,
    has_durations,
};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// The absences of so many clients are shown at most, and so many of all of them.
const MOST_CLIENTS: u32 = 200;
const MOST_ABSENCES: usize = 20_000;

impl<S: Strategy> Run<'_, '_, S> {
    /// Counts what is left in flight at `end` and sums up, at the first rank.
    pub(super) fn finish(mut self, end: SimTime, observer: &mut dyn Observer) -> Result<Option<Outcome>, RunError> {
        // What could not have known of the end has still happened.
        let over = end.max(self.status.now);
        self.tell_notes(over.0.checked_add(1).map(SimTime), observer)?;
        self.count_in_flight(over);
        self.note_end(end, over);
        self.tell_notes(None, observer)?;
        self.tell_absences(end, observer)?;
        self.gather_counts()?;
        let memory = self.memory();
        if !self.unite()? {
            return Ok(None);
        }
        let ledger = self.server.core.ledger.clone();
        if let Some((kind, round, _)) = ledger.unbalanced() {
            return Err(RunError::Unbalanced {
                kind: format!("{}/{}", kind.phase, kind.name),
                round,
            });
        }
        let mut sheet = std::mem::take(&mut self.server.sheet);
        let mut scores = sheet.take_scores();
        let (ground, numbers) = (self.env.ground, self.numbers());
        let counters = numbers.counters(S::COUNTERS);
        let readings_after = scores.len() as u64;
        let readings = [numbers.presence(), numbers.privacy()].concat();
        let parts = self.parts.iter().map(|part| (&part.core.prices, part.spent.as_slice()));
        let privacy = privacy::rows(
            (self.env.mechanisms, &ground.strategy.together()),
            (self.env.shares.n_clients(), self.env.world.delta),
            &self.server.record.charged,
            parts,
        );
        let at_end = End {
            strategy: ground.strategy,
            server: self.server.state.as_ref().expect(SERVER_IS_HERE),
            clients: Clients {
                parts: self.parts.iter().map(|part| part.states.as_slice()).collect(),
                shares: self.env.shares,
            },
            setup: self.env.setup(),
            ledger: &ledger,
            privacy: &privacy,
            rounds: &self.server.record.rounds,
            counters: counters.iter().map(|(_, by_round)| by_round.iter().sum()).collect(),
            by_round: &counters,
            streams: ground.streams,
        };
        sheet.stands_at(self.server.record.round.0, end.as_secs());
        ground.evaluator.controls(ground.strategy, &mut sheet);
        ground.evaluator.at_end(&at_end, &mut sheet);
        ground.evaluator.scores(&at_end, &mut sheet);
        let client_rows = numbers.client_rows(end, &|id| ground.shards.size(id));
        let doubts = [numbers.doubts(end, &client_rows), sheet.take_doubts()].concat();
        if let Some(why) = sheet.failure() {
            return Err(RunError::Handler {
                at: end,
                party: Party::Server,
                fault: Fault::Strategy(StrategyError(why.to_owned())),
            });
        }
        scores.extend(sheet.take_scores());
        let rounds = &self.server.record.rounds;
        observer.progressed(&rounds[self.rounds_seen..], &scores[self.scores_seen..]);
        Ok(Some(Outcome {
            tables: Tables {
                rounds: self.server.record.rounds.clone(),
                messages: self.message_rows(&ledger),
                scores,
                readings,
                privacy,
                clients: client_rows,
                absences: numbers.absence_rows(end),
                client_scores: sheet.take_client_scores(),
                controls: sheet.take_controls(),
                ..Tables::default()
            },
            ledger,
            counters,
            handled: self.cores().map(|core| core.handled).sum(),
            readings_after,
            summary: sheet.take_summary(),
            units: sheet.take_units(),
            terms: sheet.take_terms(),
            warnings: sheet.take_warnings(),
            doubts,
            stopped_early: self.server.record.stopped_early,
            artifacts: sheet.take_artifacts(),
            end,
            memory,
        }))
    }

    pub(super) fn message_rows(&self, ledger: &Ledger) -> Vec<MessageRow> {
        let (
            setup,
            Ground {
                strategy, evaluator, ..
            },
        ) = (self.env.setup(), self.env.ground);
        ledger.message_rows(|kind, round, way| evaluator.expected_messages(strategy, &setup, kind, round, way))
    }

    /// Empties the queues, counting the messages in them and those held for absent clients, when
    /// the run is over.
    fn count_in_flight(&mut self, over: SimTime) {
        for part in &mut self.parts {
            for event in part.take_held() {
                let block = part.core.block(Party::from_index(event.to));
                note_in_flight(&mut part.core, block, event, over);
            }
            drain_in_flight(&mut part.core, over);
        }
        drain_in_flight(&mut self.server.core, over);
    }

    /// The numbers that the tables below are made of.
    fn numbers(&self) -> Numbers<'_> {
        let Setup {
            n_clients,
            world,
            streams,
            ..
        } = self.env.setup();
        Numbers {
            world,
            streams,
            n_clients,
            mechanisms: self.env.mechanisms,
            round: self.server.record.round,
            ends: &self.server.record.round_ends,
            counters: &self.server.core.counters,
            releases: &self.server.core.releases,
            shares: self.env.shares,
            accounts: self.parts.iter().map(|part| part.accounts.as_slice()).collect(),
        }
    }
}

/// What is counted of a run, whatever the strategy: so its tables are compiled once.
struct Numbers<'a> {
    world: &'a World,
    streams: Streams,
    n_clients: u32,
    mechanisms: &'a [MechanismInfo],
    /// The round that the server has come to.
    round: Round,
    /// When each finished round ended.
    ends: &'a [(Round, SimTime)],
    counters: &'a ByRound<Vec<u64>>,
    releases: &'a ByRound<Vec<Releases>>,
    shares: Shares,
    /// By part of the clients.
    accounts: Vec<&'a [Account]>,
}

impl Numbers<'_> {
    fn counters(&self, names: &[&'static str]) -> Vec<(&'static str, Vec<u64>)> {
        let n_rounds = self.round.0 + 1;
        let by_round = |(i, &name): (usize, &&'static str)| {
            let of_round = |round| self.counters.get(Round(round)).map_or(0, |counts| counts[i]);
            (name, (0..n_rounds).map(of_round).collect())
        };
        names.iter().enumerate().map(by_round).collect()
    }

    /// How often clients joined a round, and how often something found one dropped out.
    fn attended(&self) -> (u64, u64) {
        let accounts = self.accounts.iter().copied().flatten();
        accounts.fold((0, 0), |(joined, left), account| {
            (joined + account.rounds_joined, left + account.rounds_left)
        })
    }

    /// What the card asks of its world, and this run did not have.
    fn doubts(&self, end: SimTime, clients: &[ClientRow]) -> Vec<String> {
        let (joined, left) = self.attended();
        let unfinished = (self.ends.is_empty() && end == SimTime::ZERO + self.world.horizon).then(|| {
            format!(
                "no round was finished before horizon_s = {}, when the run ended; help: raise horizon_s",
                end.as_secs()
            )
        });
        let dropout = self.world.dropout.warning(joined, left);
        dropout
            .into_iter()
            .chain(unfinished)
            .chain(self.unchanged(end, clients))
            .collect()
    }

    /// What to say of clients that are not always online, of whom none came or went during several
    /// rounds.
    fn unchanged(&self, end: SimTime, clients: &[ClientRow]) -> Option<String> {
        if self.world.availability.is_perfect() || self.ends.len() < 2 {
            return None;
        }
        let n_away = clients.iter().filter(|client| client.online_s == 0.0).count();
        let stayed = |client: &ClientRow| client.online_s == 0.0 || client.online_s >= end.as_secs();
        let who = match n_away {
            0 => "all clients were online during the whole run".to_owned(),
            n => format!(
                "{n} of {} clients were offline during the whole run, and no other was",
                self.n_clients
            ),
        };
        let settings = self.world.availability.settings().join(" and ");
        let time = match has_durations(end.as_secs()) {
            true => format!("{} s of virtual time", end.as_secs()),
            false => "a run that takes no time".to_owned(),
        };
        clients.iter().all(stayed).then(|| {
            format!(
                "{who}: {settings} changed nothing in {time}; help: state a network and devices that take time, or shorten the \
                 times of {settings}"
            )
        })
    }

    /// The share of clients online at the end of each round, unless all always are.
    fn presence(&self) -> Vec<ReadingRow> {
        let availability = &self.world.availability;
        if availability.is_perfect() || self.n_clients == 0 {
            return Vec::new();
        }
        let no_one = || vec![0u64; self.ends.len()];
        let count = |mut online: Vec<u64>, id: u32| {
            let mut cursor = PresenceCursor::default();
            for (n, &(round, at)) in online.iter_mut().zip(self.ends) {
                let presence = availability.presence(ClientId(id), round, at, &mut cursor, self.streams);
                *n += u64::from(presence == Presence::Online);
            }
            online
        };
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let online = (0..self.n_clients)
            .into_par_iter()
            .fold(no_one, count)
            .reduce(no_one, add);
        let n_clients = u64::from(self.n_clients);
        let share = |n: u64| n as f64 / n_clients as f64;
        let row =
            |(&(round, at), n): (&(Round, SimTime), u64)| reading(round, at, ReadingRow::ONLINE, share(n), n_clients);
        self.ends.iter().zip(online).map(row).collect()
    }

    /// The mean epsilon that clients have spent by the end of each round, for each mechanism with a
    /// finite one.
    fn privacy(&self) -> Vec<ReadingRow> {
        let mut rows = Vec::new();
        for (i, info) in self.mechanisms.iter().enumerate() {
            let mechanism = info.mechanism.replace(|c: char| !c.is_alphanumeric(), "_");
            let metric = format!("{}{mechanism}", ReadingRow::EPSILON);
            let (mut n, mut epsilon) = (0, 0);
            for &(round, at) in self.ends {
                if let Some(releases) = self.releases.get(round) {
                    n += releases[i].n;
                    epsilon += releases[i].epsilon;
                }
                let mean = epsilon as f64 / EPSILON_UNITS / f64::from(self.n_clients.max(1));
                if epsilon > 0 {
                    rows.push(reading(round, at, &metric, mean, n));
                }
            }
        }
        rows
    }

    /// When clients were away: all of them, or so many spread evenly. Those whose absences do not
    /// fit any more are left out.
    fn absence_rows(&self, end: SimTime) -> Vec<AbsenceRow> {
        let availability = &self.world.availability;
        if availability.is_perfect() {
            return Vec::new();
        }
        let rounds = [self.ends, &[(self.round, end)]].concat();
        let shown = self.n_clients.min(MOST_CLIENTS);
        let mut rows = Vec::new();
        for i in 0..u64::from(shown) {
            let client = (i * u64::from(self.n_clients) / u64::from(shown)) as u32;
            let before = rows.len();
            let mut tell = |from: SimTime, until: SimTime| {
                if from < until {
                    let (from_s, until_s) = (from.as_secs(), until.as_secs());
                    rows.push(AbsenceRow {
                        client,
                        from_s,
                        until_s,
                    });
                }
                match rows.len() > MOST_ABSENCES {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            availability.absences(ClientId(client), &rounds, self.streams, &mut tell);
            if rows.len() > MOST_ABSENCES {
                rows.truncate(before);
                break;
            }
            if rows.len() == before {
                let (from_s, until_s) = (0.0, 0.0);
                rows.push(AbsenceRow {
                    client,
                    from_s,
                    until_s,
                });
            }
        }
        rows
    }

    fn client_rows(&self, end: SimTime, shard_size: &(dyn Fn(ClientId) -> u64 + Sync)) -> Vec<ClientRow> {
        let rounds = [self.ends, &[(self.round, end)]].concat();
        (0..self.n_clients)
            .into_par_iter()
            .map(|id| {
                let (part, place) = self.shares.find(ClientId(id));
                let account = &self.accounts[part][place];
                let online = self.world.availability.online(ClientId(id), &rounds, self.streams);
                ClientRow {
                    client: id,
                    shard_size: shard_size(ClientId(id)),
                    rounds: account.rounds_joined,
                    uplink_bytes: account.uplink_bytes,
                    downlink_bytes: account.downlink_bytes,
                    peer_bytes: account.peer_bytes,
                    compute_s: account.compute.as_secs(),
                    online_s: online.as_secs(),
                }
            })
            .collect()
    }
}

fn reading(round: Round, at: SimTime, metric: &str, value: f64, n: u64) -> ReadingRow {
    ReadingRow {
        round: round.0,
        virtual_s: at.as_secs(),
        metric: metric.to_owned(),
        value,
        n,
    }
}

fn drain_in_flight<S: Strategy>(core: &mut Core<S>, over: SimTime) {
    for block in 0..core.agendas.n_blocks() {
        while let Some(event) = core.agendas.pop(block) {
            note_in_flight(core, block, event, over);
        }
    }
}

fn note_in_flight<S: Strategy>(core: &mut Core<S>, block: usize, event: QueuedEvent, over: SimTime) {
    let Some(entry) = core.agendas.take(block, event.slot) else {
        return;
    };
    let under_way = match entry.content {
        Content::Message(envelope) => Some((envelope, Party::from_index(event.to))),
        Content::Leaving { to, envelope, .. } => Some((envelope, to)),
        _ => None,
    };
    if let Some((envelope, to)) = under_way {
        let kind = envelope.letter.kind();
        let direction = Direction::between(Party::from_index(event.key.origin()), to);
        core.ledger.cell(entry.round, kind, direction).in_flight += 1;
        core.note_fate(event.key, over, to, kind, Fate::InFlight);
    }
}
