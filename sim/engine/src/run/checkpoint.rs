//! The state of a run between two windows as bytes, and a run that goes on from them.
//!
//! Clients are written by their ids and events by their keys, never by part, so that any number of threads can go on. Jobs are written
//! as the work they are and done again. What parts count apart is written as one sum, which the server's part has afterwards. Streams
//! need nothing: they are names and counters.

use super::{Run, RunError};
use crate::context::{JobContext, Record};
use crate::core::{Account, Content, Core, Entry, Env, Envelope, Releases};
use crate::job::Job;
use crate::part::{Attendance, ClientPart, Help, ServerPart};
use crate::privacy::{Prices, Spent};
use crate::queue::EventKey;
use crate::shared;
use crate::strategy::{Letter, Strategy, TimerId};
use folkmoot_metrics::ledger::Cell;
use folkmoot_metrics::{ByRound, ClientId, Direction, DropReason, Ledger, Party, Round, Sheet, SimTime};
use folkmoot_privacy::Law;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a run between two windows: sections with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved(pub Vec<(String, Vec<u8>)>);

const SERVER: &str = "server";
const CLIENTS: &str = "clients";
const EVENTS: &str = "events";
const COUNTS: &str = "counts";

/// What an observer wants after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing.
    GoOn,
    /// A checkpoint.
    Save,
    /// A checkpoint, and the end.
    Stop,
}

/// The server and what the engine knows of it: its state, account and record, the stage, its sheet, the time of the last event taken, and
/// what it had caused when it was last told that all is quiet.
type ServerState<T> = (T, Account, Record, Option<String>, Sheet, SimTime, Option<(u32, Round)>);

/// A client and what the engine knows of it.
type ClientState<T> = (T, Account, Attendance, Spent);

/// By round: cells of the ledger, counters, releases. Then prices by their numbers, and how many events were handled.
type Counts = (
    ByRound<Vec<Cell>>,
    ByRound<Vec<u64>>,
    ByRound<Vec<Releases>>,
    Vec<(usize, Law)>,
    u64,
);

/// An event under way, with work `W`.
#[derive(Serialize, Deserialize)]
struct Event<W> {
    at: SimTime,
    origin: u32,
    seq: u32,
    to: u32,
    /// It waits for a client that is away until a later round reaches it.
    is_held: bool,
    round: Round,
    carried: Carried<W>,
}

/// What it carries.
#[derive(Serialize, Deserialize)]
enum Carried<W> {
    Start,
    Message {
        sent_at: SimTime,
        linked: bool,
        note: u32,
        letter: Written,
    },
    Done {
        work: W,
        asked_by: (Party, Round, u64),
    },
    Timer(TimerId),
    Undelivered {
        to: Party,
        letter: Written,
        note: u32,
        why: DropReason,
    },
}

/// A letter in its encoding.
#[derive(Serialize, Deserialize)]
struct Written {
    direction: Direction,
    kind: u32,
    /// What the ledger counts of it, which need not all travel.
    counted: u64,
    /// The number of its content among those that many letters have.
    number: Option<u32>,
    /// None where a letter before has the same.
    payload: Option<Vec<u8>>,
}

/// Letters that were written: the number of what they share, by direction, kind and key.
type Numbers = BTreeMap<(Direction, usize, usize), u32>;

fn write_letter<S: Strategy>(letter: &Letter<S>, numbers: &mut Numbers) -> Written {
    let (direction, kind) = (letter.direction(), letter.kind());
    let next = numbers.len() as u32;
    let number = letter
        .shared_key()
        .map(|key| *numbers.entry((direction, kind, key)).or_insert(next));
    let payload = number.is_none_or(|number| number == next).then(|| {
        let mut payload = Vec::new();
        letter.encode(&mut payload);
        payload
    });
    Written {
        direction,
        kind: kind as u32,
        counted: letter.payload_len(),
        number,
        payload,
    }
}

/// The letter again; `known` are those with shared content that came before.
fn read_letter<S: Strategy>(written: Written, known: &mut Vec<Letter<S>>) -> Result<Letter<S>, RunError> {
    let refused = |why: String| damaged(EVENTS, &why);
    let mut letter = match (written.payload, written.number) {
        (Some(payload), number) => {
            let letter = Letter::<S>::decode(written.direction, written.kind as usize, &payload);
            let letter = letter.map_err(|error| refused(error.to_string()))?;
            if number.is_some() {
                known.push(letter.clone());
            }
            letter
        }
        (None, number) => {
            let before = number.and_then(|number| known.get(number as usize));
            before
                .cloned()
                .ok_or_else(|| refused("a letter's content is missing".to_owned()))?
        }
    };
    letter.set_counted(0);
    letter.set_counted(written.counted.saturating_sub(letter.payload_len()));
    match letter.payload_len() == written.counted {
        true => Ok(letter),
        false => Err(refused("a letter has another size than it had".to_owned())),
    }
}

fn write_entry<'a, S: Strategy>(entry: &'a Entry<S>, numbers: &mut Numbers) -> Carried<&'a S::Work> {
    match &entry.content {
        Content::Start => Carried::Start,
        Content::Message(Envelope {
            sent_at,
            linked,
            note,
            letter,
        }) => Carried::Message {
            sent_at: *sent_at,
            linked: *linked,
            note: *note,
            letter: write_letter(letter, numbers),
        },
        Content::Done(job) => {
            let (work, cx) = job.work();
            Carried::Done {
                work,
                asked_by: cx.asked_by(),
            }
        }
        Content::Timer(id) => Carried::Timer(*id),
        Content::Undelivered { to, letter, note, why } => Carried::Undelivered {
            to: *to,
            letter: write_letter(letter, numbers),
            note: *note,
            why: *why,
        },
    }
}

fn read_content<S: Strategy>(
    env: &Env<'_, S>,
    carried: Carried<S::Work>,
    known: &mut Vec<Letter<S>>,
) -> Result<Content<S>, RunError> {
    Ok(match carried {
        Carried::Start => Content::Start,
        Carried::Message {
            sent_at,
            linked,
            note,
            letter,
        } => Content::Message(Envelope {
            sent_at,
            linked,
            note,
            letter: read_letter(letter, known)?,
        }),
        Carried::Done { work, asked_by } => Content::Done(Job::Kept((work, JobContext::new(&env.ground, asked_by)))),
        Carried::Timer(id) => Content::Timer(id),
        Carried::Undelivered { to, letter, note, why } => Content::Undelivered {
            to,
            letter: read_letter(letter, known)?,
            note,
            why,
        },
    })
}

fn damaged(section: &str, why: &str) -> RunError {
    RunError::Checkpoint(format!("the checkpoint does not hold this run: {section}: {why}"))
}

/// A section being written.
struct Writer(&'static str, Vec<u8>);

impl Writer {
    fn put<T: Serialize>(&mut self, value: &T) -> Result<(), RunError> {
        let bytes = postcard::to_extend(value, std::mem::take(&mut self.1));
        self.1 =
            bytes.map_err(|error| RunError::Checkpoint(format!("cannot write a checkpoint: {}: {error}", self.0)))?;
        Ok(())
    }

    fn section(self) -> (String, Vec<u8>) {
        (self.0.to_owned(), self.1)
    }
}

/// A section being read.
struct Reader<'a>(&'static str, &'a [u8]);

impl<'a> Reader<'a> {
    fn new(saved: &'a Saved, name: &'static str) -> Result<Self, RunError> {
        let section = saved.0.iter().find(|(known, _)| known == name);
        let (_, bytes) = section.ok_or_else(|| damaged(name, "it is missing"))?;
        Ok(Reader(name, bytes))
    }

    fn take<T: Deserialize<'a>>(&mut self) -> Result<T, RunError> {
        let taken = postcard::take_from_bytes(self.1);
        let (value, rest) = taken.map_err(|error| damaged(self.0, &error.to_string()))?;
        self.1 = rest;
        Ok(value)
    }

    fn finish(self) -> Result<(), RunError> {
        match self.1.len() {
            0 => Ok(()),
            n => Err(damaged(self.0, &format!("{n} bytes are left over"))),
        }
    }
}

impl<S: Strategy> Run<'_, '_, S> {
    /// The whole state, where no window is under way.
    pub(super) fn save(&mut self) -> Result<Saved, RunError> {
        self.gather_counts();
        shared::in_one_table(|| {
            let mut prices = Prices::default();
            let server = self.save_server()?;
            let clients = self.save_clients(&mut prices)?;
            let events = self.save_events()?;
            Ok(Saved(vec![server, clients, events, self.save_counts(&prices)?]))
        })
    }

    fn save_server(&self) -> Result<(String, Vec<u8>), RunError> {
        let ServerPart {
            state,
            account,
            record,
            sheet,
            ..
        } = &self.server;
        let mut section = Writer(SERVER, Vec::new());
        section.put(&(
            state,
            account,
            record,
            record.stage,
            sheet,
            self.now(),
            self.caused_before,
        ))?;
        Ok(section.section())
    }

    fn save_clients(&self, prices: &mut Prices) -> Result<(String, Vec<u8>), RunError> {
        let mut section = Writer(CLIENTS, Vec::new());
        let shares = self.env.shares;
        section.put(&shares.n_clients())?;
        for id in 0..shares.n_clients() {
            let (part, place) = shares.find(ClientId(id));
            let part = &self.parts[part];
            let spent = part.spent[place].renumbered(&part.core.prices, prices);
            let (state, account) = (&part.states[place], &part.accounts[place]);
            section.put(&(state, account, &part.attendance[place], spent))?;
        }
        Ok(section.section())
    }

    fn save_events(&self) -> Result<(String, Vec<u8>), RunError> {
        let pending = self.cores().flat_map(|core| core.agendas.pending());
        let held = self.parts.iter().flat_map(|part| part.held());
        let pending = pending.map(|(event, entry)| (event, false, entry));
        let mut all: Vec<_> = pending.chain(held.map(|(event, entry)| (event, true, entry))).collect();
        all.sort_unstable_by_key(|(event, ..)| (event.key, event.to));
        let mut section = Writer(EVENTS, Vec::new());
        section.put(&(all.len() as u64))?;
        let mut numbers = Numbers::new();
        for (event, is_held, entry) in all {
            section.put(&Event {
                at: event.key.at,
                origin: event.key.origin(),
                seq: event.key.seq(),
                to: event.to,
                is_held,
                round: entry.round,
                carried: write_entry(entry, &mut numbers),
            })?;
        }
        Ok(section.section())
    }

    fn save_counts(&self, prices: &Prices) -> Result<(String, Vec<u8>), RunError> {
        let handled: u64 = self.cores().map(|core| core.handled).sum();
        let mut section = Writer(COUNTS, Vec::new());
        let Core {
            ledger,
            counters,
            releases,
            ..
        } = &self.server.core;
        section.put(&(ledger.cells(), counters, releases, prices.all(), handled))?;
        Ok(section.section())
    }
}

impl<'a, 'scope, S: Strategy> Run<'a, 'scope, S> {
    /// The run that was saved, with as many threads as there are now.
    pub(super) fn restore(env: &'a Env<'scope, S>, helpers: Help<'a, 'scope>, saved: &Saved) -> Result<Self, RunError> {
        shared::in_one_table(|| {
            let mut section = Reader::new(saved, SERVER)?;
            let (state, account, mut record, stage, sheet, now, caused_before): ServerState<S::Server> =
                section.take()?;
            section.finish()?;
            // One name a run: its stages are names in the program's text otherwise.
            let stage: Option<&'static str> = stage.map(|stage| &*stage.leak());
            record.stage = stage;
            let parts = Self::restore_clients(env, saved)?;
            let mut run = Run {
                env,
                helpers,
                rounds_seen: record.rounds.len(),
                server: ServerPart {
                    core: Core::new(0, env.shares, 1, env.mechanisms.len()),
                    state,
                    account,
                    record,
                    sheet,
                },
                parts,
                // The first window is over, or there would be nothing to go on with.
                n_windows: 1,
                stage,
                caused_before,
                began_at: now,
            };
            run.restore_events(saved)?;
            run.restore_counts(saved)?;
            Ok(run)
        })
    }

    fn restore_clients(env: &'a Env<'scope, S>, saved: &Saved) -> Result<Vec<ClientPart<S>>, RunError> {
        let shares = env.shares;
        let mut section = Reader::new(saved, CLIENTS)?;
        let n_clients: u32 = section.take()?;
        if n_clients != shares.n_clients() {
            let why = format!("it has {n_clients} clients, and this run {}", shares.n_clients());
            return Err(damaged(CLIENTS, &why));
        }
        let mut states: Vec<Vec<S::Client>> = (0..shares.n_parts()).map(|_| Vec::new()).collect();
        let mut known: Vec<Vec<(Account, Attendance, Spent)>> = (0..shares.n_parts()).map(|_| Vec::new()).collect();
        // A part's clients come in the order of their places there.
        for id in 0..n_clients {
            let (state, account, attendance, spent): ClientState<S::Client> = section.take()?;
            let (part, _) = shares.find(ClientId(id));
            states[part].push(state);
            known[part].push((account, attendance, spent));
        }
        section.finish()?;
        let mut parts = Vec::with_capacity(known.len());
        for (part, (states, known)) in (0..).zip(states.into_iter().zip(known)) {
            let mut part = ClientPart::new(env, part, env.mechanisms.len(), states);
            for (place, (account, attendance, spent)) in known.into_iter().enumerate() {
                let rates = part.accounts[place].rates;
                part.accounts[place] = Account { rates, ..account };
                part.attendance[place] = attendance;
                part.spent[place] = spent;
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn restore_events(&mut self, saved: &Saved) -> Result<(), RunError> {
        let (env, mut letters) = (self.env, Vec::new());
        let mut section = Reader::new(saved, EVENTS)?;
        for _ in 0..section.take::<u64>()? {
            let event: Event<S::Work> = section.take()?;
            if event.to > env.shares.n_clients() {
                return Err(damaged(EVENTS, "one is for nobody"));
            }
            let (key, to) = (
                EventKey::new(event.at, event.origin, event.seq),
                Party::from_index(event.to),
            );
            let entry = Entry {
                round: event.round,
                content: read_content(env, event.carried, &mut letters)?,
            };
            match (to, env.shares.of(to).0) {
                (Party::Client(id), part) if event.is_held => self.parts[part - 1].hold(key, id, entry),
                (Party::Client(_), part) => self.parts[part - 1].core.schedule_entry(env, key, to, entry),
                (Party::Server, _) => self.server.core.schedule_entry(env, key, to, entry),
            }
        }
        section.finish()
    }

    fn restore_counts(&mut self, saved: &Saved) -> Result<(), RunError> {
        let mut section = Reader::new(saved, COUNTS)?;
        let (cells, counters, releases, prices, handled): Counts = section.take()?;
        section.finish()?;
        let prices: Prices = prices.into_iter().collect();
        self.parts.iter_mut().for_each(|part| part.core.prices = prices.clone());
        let core = &mut self.server.core;
        core.ledger = Ledger::with_cells(core.ledger.kinds(), cells)
            .ok_or_else(|| damaged(COUNTS, "its ledger counts other kinds of messages"))?;
        (core.counters, core.releases, core.handled) = (counters, releases, handled);
        Ok(())
    }
}
