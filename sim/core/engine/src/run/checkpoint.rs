//! The state of a run between two windows as bytes, and a run that goes on from them.
//!
//! Clients are written by their ids, events by their keys and shared content by its name, never by
//! part or rank, so that any number of threads and ranks can go on, and any number has written the
//! same bytes. Jobs are written as the work they are and done again. What parts count apart is
//! written as one sum, which the server's part has afterwards. Streams need nothing: they are names
//! and counters.

use super::team::{Counted, Team, unwritten};
use super::{Run, RunError, letters};
use crate::context::Record;
use crate::part::{Attendance, ClientPart, Help, ServerPart};
use crate::part_state::{Account, Core};
use crate::privacy::{Prices, Spent};
use crate::run_context::Env;
use crate::shared::{Contents, Table};
use crate::stall_limit::Progress;
use crate::strategy::Strategy;
use crate::trace::Note;
use folkmoot_metrics::trace::Followed;
use folkmoot_metrics::{ClientId, Ledger, Party, Round, Sheet, SimTime};
use folkmoot_privacy::Law;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The state of a run between two windows: sections with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved(pub Vec<(String, Vec<u8>)>);

const SERVER: &str = "server";
const CLIENTS: &str = "clients";
const EVENTS: &str = "events";
const COUNTS: &str = "counts";
const CONTENTS: &str = "contents";
/// Of a traced run alone: who is followed, and what waits to be told.
const TRACE: &str = "trace";

/// What an observer wants after a window. Of several, the last of these that any wants is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pause {
    #[default]
    GoOn,
    Save,
    /// A checkpoint, and the end.
    Stop,
}

/// The server and what the engine knows of it: its state, account and record, the stage, its sheet,
/// the time of the last event taken, the run's progress, and what the server had caused when it was
/// last told that all is quiet.
type ServerState<T> = (
    T,
    Account,
    Record,
    Option<String>,
    Sheet,
    (SimTime, Progress),
    Option<(u32, Round)>,
);

/// A client and what the engine knows of it.
type ClientState<T> = (T, Account, Attendance, Spent);

/// What one rank writes of a state.
#[derive(Default, Serialize, Deserialize)]
struct Piece {
    /// Its clients, one after the other.
    clients: ByteBuf,
    n_events: u64,
    /// Its events, in the order of their keys.
    events: ByteBuf,
    contents: Contents,
}

fn damaged(section: &str, why: &str) -> RunError {
    RunError::Checkpoint(format!("the checkpoint does not hold this run: {section}: {why}"))
}

/// Appends a value to what is being written.
fn put<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), RunError> {
    *out = postcard::to_extend(value, std::mem::take(out)).map_err(unwritten)?;
    Ok(())
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

/// Whose life is followed, if the run that was saved is traced.
pub(super) fn followed(saved: &Saved) -> Result<Option<Followed>, RunError> {
    match saved.0.iter().any(|(name, _)| name == TRACE) {
        true => Reader::new(saved, TRACE)?.take().map(Some),
        false => Ok(None),
    }
}

impl<S: Strategy> Run<'_, '_, S> {
    /// The whole state, where no window is under way. The first rank gets it.
    pub(super) fn save(&mut self) -> Result<Option<Saved>, RunError> {
        self.gather_counts()?;
        let prices = self.all_prices()?;
        let mut table = Table::default();
        let own = table.within(|| Ok((self.save_server()?, self.save_piece(&prices)?)));
        let own = own.map_err(unwritten).and_then(|own| own);
        let (server, piece) = match own {
            Ok((server, piece)) => (server, Ok(piece)),
            Err(error) => (Vec::new(), Err(error)),
        };
        let contents = table.take_written();
        let pieces = self.gather(piece.map(|piece| Piece { contents, ..piece }))?;
        let waiting = match self.env.followed {
            Some(followed) => Some((followed, self.gather_waiting()?)),
            None => None,
        };
        if !self.team.is_first() {
            return Ok(None);
        }
        let mut saved = self.put_together(server, pieces, &prices)?;
        if let Some(waiting) = waiting {
            let mut section = Vec::new();
            put(&waiting, &mut section)?;
            saved.0.push((TRACE.to_owned(), section));
        }
        Ok(Some(saved))
    }

    /// The prices that any rank has paid, numbered alike at all.
    fn all_prices(&mut self) -> Result<Prices, RunError> {
        let parts = self.parts.iter().flat_map(|part| part.core.prices.all());
        let own: Vec<(usize, Law)> = Prices::together(parts.copied()).all().to_vec();
        let all = self.share(Ok(own))?;
        Ok(Prices::together(all.into_iter().flatten()))
    }

    fn save_server(&self) -> Result<Vec<u8>, RunError> {
        let ServerPart {
            state,
            account,
            record,
            sheet,
            ..
        } = &self.server;
        let mut section = Vec::new();
        if let Some(state) = state {
            let server = (
                state,
                account,
                record,
                record.stage,
                sheet,
                (self.status.now, self.status.progress),
                self.caused_before,
            );
            put(&server, &mut section)?;
        }
        Ok(section)
    }

    fn save_piece(&self, prices: &Prices) -> Result<Piece, RunError> {
        let mut clients = Vec::new();
        let (shares, mut numbers) = (self.env.shares, prices.clone());
        for id in shares.block(self.team.rank()) {
            let (part, place) = shares.find(ClientId(id));
            let part = &self.parts[part];
            let spent = part.spent[place].renumbered(&part.core.prices, &mut numbers);
            let (state, account) = (&part.states[place], &part.accounts[place]);
            put(&(state, account, &part.attendance[place], spent), &mut clients)?;
        }
        let pending = self.cores().flat_map(|core| core.agendas.pending());
        let held = self.parts.iter().flat_map(|part| part.held());
        let pending = pending.map(|(event, entry)| (event, false, entry));
        let mut all: Vec<_> = pending.chain(held.map(|(event, entry)| (event, true, entry))).collect();
        all.sort_unstable_by_key(|(event, ..)| (event.key, event.to));
        let events = all.iter().try_fold(Vec::new(), |out, (event, is_held, entry)| {
            letters::write((event.key, event.to, *is_held), entry, out)
        });
        Ok(Piece {
            clients: clients.into(),
            n_events: all.len() as u64,
            events: events.map_err(unwritten)?.into(),
            contents: Contents::new(),
        })
    }

    /// The sections, of what all ranks have written.
    fn put_together(&self, server: Vec<u8>, pieces: Vec<Piece>, prices: &Prices) -> Result<Saved, RunError> {
        let (mut clients, mut contents) = (Vec::new(), Contents::new());
        put(&self.env.shares.n_clients(), &mut clients)?;
        let (mut events, mut of_ranks) = (Vec::new(), Vec::new());
        put(&pieces.iter().map(|piece| piece.n_events).sum::<u64>(), &mut events)?;
        for piece in pieces {
            clients.extend_from_slice(&piece.clients);
            contents.extend(piece.contents);
            of_ranks.push(piece.events);
        }
        merge(of_ranks.iter().map(|events| events.as_slice()).collect(), &mut events)?;
        let mut counts = Vec::new();
        let Core {
            ledger,
            counters,
            releases,
            handled,
            ..
        } = &self.server.core;
        put(&(ledger.cells(), counters, releases, handled), &mut counts)?;
        put(&prices.all(), &mut counts)?;
        let mut named = Vec::new();
        put(&contents, &mut named)?;
        let sections = [
            (SERVER, server),
            (CLIENTS, clients),
            (EVENTS, events),
            (COUNTS, counts),
            (CONTENTS, named),
        ];
        Ok(Saved(sections.map(|(name, bytes)| (name.to_owned(), bytes)).into()))
    }
}

/// Writes the events of all lists in one, in the order of their keys, which each list has.
fn merge(mut lists: Vec<&[u8]>, out: &mut Vec<u8>) -> Result<(), RunError> {
    if let [only] = lists.as_slice() {
        out.extend_from_slice(only);
        return Ok(());
    }
    let read = |list: &mut &[u8]| -> Result<Option<_>, RunError> {
        if list.is_empty() {
            return Ok(None);
        }
        let (event, rest) = postcard::take_from_bytes::<letters::Event<'_>>(list).map_err(unwritten)?;
        let whole = &list[..list.len() - rest.len()];
        *list = rest;
        Ok(Some(((event.key, event.to), whole.to_vec())))
    };
    let mut next = lists.iter_mut().map(read).collect::<Result<Vec<_>, _>>()?;
    while let Some((_, i)) = next
        .iter()
        .enumerate()
        .filter_map(|(i, event)| event.as_ref().map(|(key, _)| (*key, i)))
        .min()
    {
        let after = read(&mut lists[i])?;
        if let Some((_, whole)) = std::mem::replace(&mut next[i], after) {
            out.extend_from_slice(&whole);
        }
    }
    Ok(())
}

impl<'a, 'scope, S: Strategy> Run<'a, 'scope, S> {
    /// The run that was saved, with as many threads and ranks as there are now.
    pub(super) fn restore(
        (env, helpers): (&'a Env<'scope, S>, Help<'a, 'scope>),
        team: Team<'a>,
        saved: &Saved,
    ) -> Result<Self, RunError> {
        let mut section = Reader::new(saved, CONTENTS)?;
        let mut table = Table::default();
        table.learn(section.take()?);
        section.finish()?;
        let restored = table.within(|| {
            let mut server = ServerPart::new(env, env.mechanisms.len(), None);
            let mut known = (None, None, SimTime::ZERO, Progress::default());
            if team.is_first() {
                let mut section = Reader::new(saved, SERVER)?;
                let (state, account, record, stage, sheet, (now, progress), caused_before): ServerState<S::Server> =
                    section.take()?;
                section.finish()?;
                // One name a run: its stages are names in the program's text otherwise.
                let stage: Option<&'static str> = stage.map(|stage| &*stage.leak());
                (server.state, server.sheet) = (Some(state), sheet);
                let rates = server.account.rates;
                server.account = Account { rates, ..account };
                server.record = Record { stage, ..record };
                known = (stage, caused_before, now, progress);
            }
            let parts = Self::restore_clients(env, team, saved)?;
            let mut run = Run::of((env, helpers), team, server, parts);
            (run.stage, run.caused_before, run.began_at, run.progress_before) = known;
            // The first window is over, or there would be nothing to go on with.
            run.n_windows = 1;
            run.restore_events(saved)?;
            run.restore_counts(saved)?;
            run.restore_notes(saved)?;
            Ok(run)
        });
        restored.map_err(|why| damaged(CONTENTS, &why))?
    }

    fn restore_clients(env: &'a Env<'scope, S>, team: Team<'_>, saved: &Saved) -> Result<Vec<ClientPart<S>>, RunError> {
        let shares = env.shares;
        let mut section = Reader::new(saved, CLIENTS)?;
        let n_clients: u32 = section.take()?;
        if n_clients != shares.n_clients() {
            let why = format!("it has {n_clients} clients, and this run {}", shares.n_clients());
            return Err(damaged(CLIENTS, &why));
        }
        let mut states: Vec<Vec<S::Client>> = (0..shares.n_parts()).map(|_| Vec::new()).collect();
        let mut known: Vec<Vec<(Account, Attendance, Spent)>> = (0..shares.n_parts()).map(|_| Vec::new()).collect();
        let here = shares.block(team.rank());
        // A part's clients come in the order of their places there.
        for id in 0..n_clients {
            let (state, account, attendance, spent): ClientState<S::Client> = section.take()?;
            if here.contains(&id) {
                let (part, _) = shares.find(ClientId(id));
                states[part].push(state);
                known[part].push((account, attendance, spent));
            }
        }
        section.finish()?;
        let mut parts = Vec::with_capacity(known.len());
        for (part, (states, known)) in (0..).zip(states.into_iter().zip(known)) {
            let mut part = ClientPart::new(env, part, env.mechanisms.len(), states);
            for (place, (account, attendance, spent)) in known.into_iter().enumerate() {
                let rates = part.accounts[place].rates.clone();
                part.accounts[place] = Account { rates, ..account };
                part.attendance[place] = attendance;
                part.spent[place] = spent;
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn restore_events(&mut self, saved: &Saved) -> Result<(), RunError> {
        let env = self.env;
        let mut section = Reader::new(saved, EVENTS)?;
        for _ in 0..section.take::<u64>()? {
            let event: letters::Event<'_> = section.take()?;
            if event.to > env.shares.n_clients() {
                return Err(damaged(EVENTS, "one is for nobody"));
            }
            let (key, to) = (event.key, Party::from_index(event.to));
            if !env.shares.is_here(to) {
                continue;
            }
            let entry = event.entry(env).map_err(|why| damaged(EVENTS, &why))?;
            match to {
                Party::Client(id) if event.is_held => self.parts[env.shares.of(to).0 - 1].hold(key, id, entry),
                _ => self.core_of(to).schedule_entry(env, key, to, entry),
            }
        }
        section.finish()
    }

    fn restore_notes(&mut self, saved: &Saved) -> Result<(), RunError> {
        if let Some(notes) = &mut self.server.core.notes {
            let mut section = Reader::new(saved, TRACE)?;
            let (_, waiting): (Followed, Vec<Note>) = section.take()?;
            section.finish()?;
            if self.team.is_first() {
                notes.put_back(waiting);
            }
        }
        Ok(())
    }

    fn restore_counts(&mut self, saved: &Saved) -> Result<(), RunError> {
        let mut section = Reader::new(saved, COUNTS)?;
        let (cells, counters, releases, handled): Counted = section.take()?;
        let prices: Vec<(usize, Law)> = section.take()?;
        section.finish()?;
        let prices: Prices = prices.into_iter().collect();
        self.parts.iter_mut().for_each(|part| part.core.prices = prices.clone());
        if self.team.is_first() {
            let core = &mut self.server.core;
            core.ledger = Ledger::with_cells(core.ledger.kinds(), cells)
                .ok_or_else(|| damaged(COUNTS, "its ledger counts other kinds of messages"))?;
            (core.counters, core.releases, core.handled) = (counters, releases, handled);
        }
        Ok(())
    }
}
