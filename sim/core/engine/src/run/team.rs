//! Ranks in step: what they tell each other after every window, and what each gives the first at
//! the end.

use super::letters;
use super::{Pause, Run, RunError};
use crate::agenda::Stop;
use crate::event::Outgoing;
use crate::part::ClientPart;
use crate::part_state::{Account, Core, Releases};
use crate::privacy::{Prices, Spent};
use crate::queue::EventKey;
use crate::ranks::Ranks;
use crate::shared::{Contents, Table};
use crate::stall_limit::Progress;
use crate::strategy::Strategy;
use folkmoot_metrics::ledger::Cell;
use folkmoot_metrics::{ByRound, ClientId, Ledger, Party, Round, SimTime};
use folkmoot_privacy::Law;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// How a rank stands after a window; of all together, how the run does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Status {
    /// When the next event is due.
    pub(super) next_at: SimTime,
    /// Its key and its rank, where events are handled one at a time.
    pub(super) turn: Option<(EventKey, usize)>,
    pub(super) n_pending: usize,
    /// Notes that wait to be told.
    pub(super) n_noted: usize,
    /// The time of the last event taken.
    pub(super) now: SimTime,
    pub(super) progress: Progress,
    pub(super) stop: Option<Stop>,
    /// What whoever runs wants.
    pub(super) pause: Pause,
    pub(super) server: ServerStatus,
}

/// What all know of the server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerStatus {
    pub(super) finished_at: Option<SimTime>,
    /// How much it has caused, and its round.
    pub(super) caused: (u32, Round),
    /// The same when it was last told that all is quiet.
    pub(super) caused_before: Option<(u32, Round)>,
    pub(super) n_rounds: usize,
}

impl Status {
    /// Adds another rank's; the first rank's comes first.
    fn add(&mut self, other: Status) {
        self.next_at = self.next_at.min(other.next_at);
        self.turn = self.turn.into_iter().chain(other.turn).min();
        self.n_pending += other.n_pending;
        self.n_noted += other.n_noted;
        self.now = self.now.max(other.now);
        self.progress = self.progress.with(other.progress);
        self.pause = self.pause.max(other.pause);
        let stops = [self.stop.take(), other.stop].into_iter().flatten();
        self.stop = stops.min_by_key(|(key, ..)| *key);
    }
}

/// Content that has gone to a rank and come from it.
#[derive(Default)]
pub(super) struct Link {
    sent: Table,
    heard: Table,
    /// What was sent before is to be forgotten.
    afresh: bool,
}

/// What a link holds at most, on either side.
const LINK_BYTES: usize = 256 << 20;

impl Link {
    /// Lets go of content that nobody may want any more; the other side does when it hears.
    pub(super) fn forget(&mut self) {
        (self.sent, self.afresh) = (Table::default(), true);
    }
}

/// What goes before the events.
#[derive(Serialize, Deserialize)]
struct Heading {
    status: Status,
    afresh: bool,
    contents: Contents,
    n_events: u32,
}

/// By round: cells of the ledger, counters, releases; and how many events were handled.
pub(super) type Counted = (ByRound<Vec<Cell>>, ByRound<Vec<u64>>, ByRound<Vec<Releases>>, u64);

/// What a rank's clients have come to.
#[derive(Default, Serialize, Deserialize)]
struct Ended {
    accounts: Vec<Account>,
    spent: Vec<Spent>,
    prices: Vec<(usize, Law)>,
    /// One after the other, where they are wanted.
    states: ByteBuf,
    contents: Contents,
}

/// All ranks of a run, as one of them sees them.
#[derive(Clone, Copy)]
pub(super) struct Team<'a>(pub(super) &'a dyn Ranks);

/// The last byte of a letter: what it is.
const FINE: u8 = 0;
const FAILED: u8 = 1;

impl Team<'_> {
    pub(super) fn is_alone(self) -> bool {
        self.0.size() == 1
    }

    pub(super) fn rank(self) -> usize {
        self.0.rank()
    }

    pub(super) fn is_first(self) -> bool {
        self.rank() == 0
    }

    /// Gives each rank its letter, and returns those of all. One that has failed fails all: the
    /// first one's error is everybody's.
    pub(super) fn exchange(self, letters: Result<Vec<Vec<u8>>, RunError>) -> Result<Vec<Vec<u8>>, RunError> {
        if self.is_alone() {
            return letters;
        }
        let letters = match letters {
            Ok(mut letters) => {
                letters.iter_mut().for_each(|letter| letter.push(FINE));
                letters
            }
            Err(error) => {
                let mut text = postcard::to_allocvec(&error).unwrap_or_default();
                text.push(FAILED);
                vec![text; self.0.size()]
            }
        };
        let open = |(from, mut letter): (usize, Vec<u8>)| match letter.pop() {
            Some(FINE) => Ok(letter),
            Some(FAILED) => Err(read(from, &letter).unwrap_or_else(|error| error)),
            _ => Err(unread(from, "it is empty")),
        };
        let came: Vec<_> = self.0.exchange(letters).into_iter().enumerate().map(open).collect();
        came.into_iter().collect()
    }

    /// What this rank has come to, where no other has failed.
    pub(super) fn agree<T>(self, mine: Result<T, RunError>) -> Result<T, RunError> {
        let (mine, said) = match mine {
            Ok(mine) => (Some(mine), Ok(vec![Vec::new(); self.0.size()])),
            Err(error) => (None, Err(error)),
        };
        self.exchange(said)?;
        Ok(mine.expect("who has failed has left"))
    }
}

fn unread(from: usize, why: impl ToString) -> RunError {
    RunError::Unread {
        from,
        why: why.to_string(),
    }
}

/// What a rank has sent.
fn read<T: DeserializeOwned>(from: usize, letter: &[u8]) -> Result<T, RunError> {
    postcard::from_bytes(letter).map_err(|error| unread(from, error))
}

pub(super) fn unwritten(why: impl ToString) -> RunError {
    RunError::Checkpoint(format!("a state cannot be written: {}", why.to_string()))
}

impl<S: Strategy> Run<'_, '_, S> {
    /// Hands over what the parts and ranks have sent each other, and finds out how the run stands.
    pub(super) fn exchange(&mut self, pause: Pause) -> Result<(), RunError> {
        self.hand_over();
        let mut abroad = Vec::new();
        self.cores_mut().for_each(|core| abroad.append(&mut core.abroad));
        let mut status = self.status(pause);
        status.n_pending += abroad.len();
        for Outgoing { key, to, .. } in &abroad {
            status.next_at = status.next_at.min(key.at);
            if !self.windows {
                status.turn = status.turn.into_iter().chain([(*key, self.env.shares.rank(*to))]).min();
            }
        }
        if self.team.is_alone() {
            self.status = status;
            return Ok(());
        }
        let letters = self.write_abroad(&status, &abroad);
        let letters = self.failed.take().map_or(letters, Err);
        let came = self.team.exchange(letters)?;
        let own = self.team.rank();
        let mut statuses = Vec::with_capacity(came.len());
        for (from, letter) in came.iter().enumerate() {
            statuses.push(match from == own {
                true => status.clone(),
                false => self.read_abroad(from, letter).unwrap_or_else(|| status.clone()),
            });
        }
        let mut statuses = statuses.into_iter();
        let mut all = statuses.next().expect("there is a first rank");
        statuses.for_each(|status| all.add(status));
        self.status = all;
        Ok(())
    }

    /// The time of the last event taken by any part, however windows lie.
    fn now(&self) -> SimTime {
        let times = self.cores().map(|core| core.agendas.now());
        times.fold(self.began_at, SimTime::max)
    }

    /// How this rank stands.
    fn status(&mut self, pause: Pause) -> Status {
        let record = &self.server.record;
        let server_next = match record.finished_at {
            None => self.server.core.agendas.next_at(),
            Some(_) => SimTime::NEVER,
        };
        let parts = self.parts.iter().map(|part| part.core.agendas.next_at());
        let next_at = parts.fold(server_next, SimTime::min);
        let stops = self.cores().filter_map(|core| core.agendas.stop());
        Status {
            next_at,
            n_pending: self.cores().map(|core| core.agendas.n_pending()).sum(),
            n_noted: self
                .cores()
                .filter_map(|core| core.notes.as_ref())
                .map(|notes| notes.len())
                .sum(),
            now: self.now(),
            progress: self
                .cores()
                .fold(self.progress_before, |all, core| all.with(core.progress)),
            stop: stops.min_by_key(|(key, ..)| *key).cloned(),
            server: ServerStatus {
                finished_at: record.finished_at,
                caused: (self.server.account.seq, record.round),
                caused_before: self.caused_before,
                n_rounds: record.rounds.len(),
            },
            pause,
            turn: match self.windows {
                true => None,
                false => self.turn().map(|(key, _)| (key, self.team.rank())),
            },
        }
    }

    /// The letters to all ranks.
    fn write_abroad(&mut self, status: &Status, abroad: &[Outgoing<S>]) -> Result<Vec<Vec<u8>>, RunError> {
        let (shares, own) = (self.env.shares, self.team.rank());
        let mut by_rank: Vec<Vec<&Outgoing<S>>> = (0..self.links.len()).map(|_| Vec::new()).collect();
        abroad
            .iter()
            .for_each(|letter| by_rank[shares.rank(letter.to)].push(letter));
        let mut letters = Vec::with_capacity(by_rank.len());
        for (rank, (link, events)) in self.links.iter_mut().zip(by_rank).enumerate() {
            if rank == own {
                letters.push(Vec::new());
                continue;
            }
            if link.sent.n_written() > LINK_BYTES {
                link.forget();
            }
            let write = || {
                events.iter().try_fold(Vec::new(), |out, Outgoing { key, to, entry }| {
                    letters::write((*key, to.index(), false), entry, out)
                })
            };
            let body = link.sent.within(write).map_err(unwritten)?.map_err(unwritten)?;
            let heading = Heading {
                status: status.clone(),
                afresh: std::mem::take(&mut link.afresh),
                contents: link.sent.take_written(),
                n_events: events.len() as u32,
            };
            let mut letter = postcard::to_allocvec(&heading).map_err(unwritten)?;
            letter.extend_from_slice(&body);
            letters.push(letter);
        }
        Ok(letters)
    }

    /// Takes over a rank's events, and returns how it stands. What cannot be read, the others hear
    /// of in the next exchange.
    fn read_abroad(&mut self, from: usize, letter: &[u8]) -> Option<Status> {
        let (heading, mut body) = match postcard::take_from_bytes::<Heading>(letter) {
            Ok(read) => read,
            Err(error) => {
                self.failed.get_or_insert(unread(from, error));
                return None;
            }
        };
        let mut link = std::mem::take(&mut self.links[from]);
        if heading.afresh {
            link.heard = Table::default();
        }
        link.heard.learn(heading.contents);
        let read = || -> Result<(), String> {
            for _ in 0..heading.n_events {
                let event = postcard::take_from_bytes::<letters::Event<'_>>(body);
                let (event, rest) = event.map_err(|error| error.to_string())?;
                body = rest;
                let (to, entry) = (Party::from_index(event.to), event.entry(self.env)?);
                if !self.env.shares.is_here(to) {
                    return Err("an event is for another rank".to_owned());
                }
                self.core_of(to).schedule(event.key, to, entry);
            }
            Ok(())
        };
        if let Err(why) = link.heard.within(read).and_then(|done| done) {
            self.failed.get_or_insert(unread(from, why));
        }
        self.links[from] = link;
        Some(heading.status)
    }

    /// Gives the first rank what each has, and returns that in their order; nothing at the others.
    pub(super) fn gather<T: Serialize + DeserializeOwned>(
        &mut self,
        mine: Result<T, RunError>,
    ) -> Result<Vec<T>, RunError> {
        self.tell(mine, |rank| rank == 0)
    }

    /// What each has, in their order.
    pub(super) fn share<T: Serialize + DeserializeOwned>(
        &mut self,
        mine: Result<T, RunError>,
    ) -> Result<Vec<T>, RunError> {
        self.tell(mine, |_| true)
    }

    fn tell<T: Serialize + DeserializeOwned>(
        &mut self,
        mine: Result<T, RunError>,
        hears: fn(usize) -> bool,
    ) -> Result<Vec<T>, RunError> {
        let mine = self.failed.take().map_or(mine, Err);
        if self.team.is_alone() {
            return mine.map(|mine| vec![mine]);
        }
        let letters = mine.and_then(|mine| {
            let letter = postcard::to_allocvec(&mine).map_err(unwritten)?;
            let to = |rank| if hears(rank) { letter.clone() } else { Vec::new() };
            Ok((0..self.team.0.size()).map(to).collect())
        });
        let came = self.team.exchange(letters)?;
        match hears(self.team.rank()) {
            true => came
                .iter()
                .enumerate()
                .map(|(from, letter)| read(from, letter))
                .collect(),
            false => Ok(Vec::new()),
        }
    }

    /// Gives the first rank's server what the others have counted. Its own counts stay where they
    /// are: they are of all rounds so far.
    pub(super) fn gather_ranks_counts(&mut self) -> Result<(), RunError> {
        let core = &mut self.server.core;
        let kinds = core.ledger.kinds().to_vec();
        let counted = match self.team.is_first() {
            true => Counted::default(),
            false => (
                std::mem::replace(&mut core.ledger, Ledger::new(kinds.clone())).into_cells(),
                std::mem::take(&mut core.counters),
                std::mem::take(&mut core.releases),
                std::mem::take(&mut core.handled),
            ),
        };
        for (from, counted) in self.gather(Ok(counted))?.into_iter().enumerate() {
            let (cells, mut counters, mut releases, handled) = counted;
            let core = &mut self.server.core;
            let ledger = Ledger::with_cells(kinds.clone(), cells);
            core.ledger
                .take(&mut ledger.ok_or_else(|| unread(from, "it counts other kinds of messages"))?);
            core.add_counts(&mut counters, &mut releases);
            core.handled += handled;
        }
        Ok(())
    }

    /// Adds the clients of the other ranks to the parts of the first, with what each has come to,
    /// and with their states where the evaluator reads them. False at the others, which have
    /// nothing more to do.
    pub(super) fn unite(&mut self) -> Result<bool, RunError> {
        if self.team.is_alone() {
            return Ok(true);
        }
        let ground = self.env.ground;
        let wants_states = ground.evaluator.reads_clients(ground.strategy);
        let own = match self.team.is_first() {
            true => Ok(Ended::default()),
            false => self.ended(wants_states),
        };
        let all = self.gather(own)?;
        for (from, ended) in all.into_iter().enumerate().skip(1) {
            self.take_clients(from, ended, wants_states)?;
        }
        Ok(self.team.is_first())
    }

    /// What this rank's clients have come to.
    fn ended(&self, wants_states: bool) -> Result<Ended, RunError> {
        let (shares, mut ended) = (self.env.shares, Ended::default());
        let prices = self.parts.iter().flat_map(|part| part.core.prices.all());
        let mut prices = Prices::together(prices.copied());
        let mut table = Table::default();
        let write = || -> Result<(), RunError> {
            let mut states = Vec::new();
            for id in shares.block(self.team.rank()) {
                let (part, place) = shares.find(ClientId(id));
                let part = &self.parts[part];
                ended.accounts.push(part.accounts[place].clone());
                let spent = part.spent[place].renumbered(&part.core.prices, &mut prices);
                ended.spent.push(spent);
                if wants_states {
                    states = postcard::to_extend(&part.states[place], states).map_err(unwritten)?;
                }
            }
            ended.states = states.into();
            Ok(())
        };
        table.within(write).map_err(unwritten)??;
        ended.contents = table.take_written();
        ended.prices = prices.all().to_vec();
        Ok(ended)
    }

    fn take_clients(&mut self, from: usize, ended: Ended, wants_states: bool) -> Result<(), RunError> {
        let Ended {
            accounts,
            spent,
            prices,
            states,
            contents,
        } = ended;
        let mut table = Table::default();
        table.learn(contents);
        let read = || -> postcard::Result<Vec<S::Client>> {
            let (mut all, mut rest) = (Vec::new(), states.as_slice());
            let n_states = if wants_states { accounts.len() } else { 0 };
            for _ in 0..n_states {
                let (state, after) = postcard::take_from_bytes(rest)?;
                (rest, _) = (after, all.push(state));
            }
            Ok(all)
        };
        let states = table
            .within(read)
            .map_err(unwritten)?
            .map_err(|error| unread(from, error))?;
        let prices = prices.into_iter().collect();
        self.parts
            .push(ClientPart::ended(self.env, states, accounts, spent, prices));
        Ok(())
    }

    /// The part of a party of this rank.
    pub(super) fn core_of(&mut self, party: Party) -> &mut Core<S> {
        match self.env.shares.of(party).0 {
            0 => &mut self.server.core,
            part => &mut self.parts[part - 1].core,
        }
    }
}
