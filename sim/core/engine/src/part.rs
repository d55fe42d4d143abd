//! The parts of the population: the server, and shares of the clients.

use crate::context::{ClientContext, Handling, Noise, Record, ServerContext};
use crate::evaluator::Ended;
use crate::event::{Content, Entry, Envelope};
use crate::fault::{Fault, StrategyError};
use crate::job::Helpers;
use crate::part_state::{Account, Core};
use crate::privacy::{Prices, Spent};
use crate::queue::{EventKey, QueuedEvent};
use crate::run_context::{Env, Ground};
use crate::strategy::{ClientEvent, Letter, ServerEvent, Strategy};
use crate::world::{Presence, PresenceCursor};
use folkmoot_metrics::trace::What;
use folkmoot_metrics::{ClientId, DropReason, Party, Round, Sheet, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) struct ServerPart<S: Strategy> {
    pub(crate) core: Core<S>,
    /// None at ranks other than the first, where no event is for the server.
    pub(crate) state: Option<S::Server>,
    pub(crate) account: Account,
    pub(crate) record: Record,
    /// What the evaluator writes after rounds.
    pub(crate) sheet: Sheet,
}

/// What the first rank is sure of.
pub(crate) const SERVER_IS_HERE: &str = "the server is at the first rank, and its events are there";

/// Whoever helps with jobs.
pub(crate) type Help<'a, 'scope> = Option<&'a Helpers<'a, 'scope>>;

impl<S: Strategy> ServerPart<S> {
    pub(crate) fn new(env: &Env<'_, S>, n_mechanisms: usize, state: Option<S::Server>) -> Self {
        ServerPart {
            core: Core::new(env, 0, 1, n_mechanisms),
            state,
            account: Account {
                rates: env.rates(Party::Server),
                ..Account::default()
            },
            record: Record::default(),
            sheet: Sheet::new(),
        }
    }

    /// Handles the events before `end`, at most `limit` of them.
    pub(crate) fn run_until<'scope>(
        &mut self,
        env: &Env<'scope, S>,
        helpers: Help<'_, 'scope>,
        end: SimTime,
        limit: usize,
    ) {
        let _busy = helpers.map(Helpers::begin);
        self.handle_until(env, helpers, end, limit);
        self.core.offer_jobs(env, helpers);
    }

    fn handle_until<'scope>(&mut self, env: &Env<'scope, S>, helpers: Help<'_, 'scope>, end: SimTime, limit: usize) {
        let stage = self.record.stage;
        for _ in 0..limit {
            // A stage begins with a window, whose length is nobody's business but the engine's.
            if self.record.finished_at.is_some() || self.record.stage != stage {
                break;
            }
            let Some(event) = self.core.agendas.next_before(0, end) else {
                break;
            };
            let Some(entry) = self.core.agendas.take(0, event.slot) else {
                continue;
            };
            self.handle(env, helpers, event.key, entry);
        }
        self.core.agendas.settle(0);
    }

    fn handle<'scope>(&mut self, env: &Env<'scope, S>, helpers: Help<'_, 'scope>, key: EventKey, entry: Entry<S>) {
        self.core.handles(key);
        let round = entry.round;
        let event = match entry.content {
            Content::Start => ServerEvent::Start,
            Content::Timer(id) => ServerEvent::Timer(id),
            Content::Done(job) => {
                self.core.progress.made(key.at);
                ServerEvent::Done(self.core.finish_job(env, helpers, job))
            }
            Content::GivenUp => return,
            Content::Leaving { to, after, envelope } => {
                return self
                    .core
                    .leave(env, &mut self.account, (key, to, round), after, envelope);
            }
            Content::Undelivered { to, letter, why, .. } => match (to, letter) {
                (Party::Client(to), Letter::Down(message)) => ServerEvent::Undelivered { to, message, why },
                _ => unreachable!("what the server sends goes down"),
            },
            Content::Message(envelope) => {
                let from = Party::from_index(key.origin());
                let way = (key, Party::Server, round);
                let Some(Envelope { letter, .. }) = self.core.linked(env, &mut self.account, way, envelope) else {
                    return;
                };
                let delivered = self.core.deliver(env, way, letter);
                match (from, delivered) {
                    (Party::Client(from), Ok(Letter::Up(message))) => ServerEvent::Message { from, message },
                    (_, Ok(_)) => unreachable!("what reaches the server goes up"),
                    (_, Err(fault)) => return self.core.fail(key, Party::Server, fault),
                }
            }
        };
        self.dispatch(env, key, round, event);
    }

    /// Tells the server that nothing is under way any more.
    pub(crate) fn quiet(&mut self, env: &Env<'_, S>, at: SimTime) {
        let (key, round) = (EventKey::new(at, 0, self.account.seq), self.record.round);
        self.core.handles(key);
        self.dispatch(env, key, round, ServerEvent::Quiet);
    }

    fn dispatch(&mut self, env: &Env<'_, S>, key: EventKey, event_round: Round, event: ServerEvent<S>) {
        self.core.handled += 1;
        let n_rounds = self.record.rounds.len();
        let mut cx = ServerContext {
            handling: Handling {
                env,
                core: &mut self.core,
                account: &mut self.account,
                me: Party::Server,
                now: key.at,
                round: self.record.round,
                event_round,
                fault: None,
            },
            record: &mut self.record,
            noise: Noise::default(),
        };
        let strategy = env.ground.strategy;
        let state = self.state.as_mut().expect(SERVER_IS_HERE);
        let result = strategy.on_server(state, event, &mut cx);
        let fault = cx.handling.fault.take();
        self.account.handled += 1;
        if let Some(fault) = fault.or(result.err().map(Fault::Strategy)) {
            self.core.fail(key, Party::Server, fault);
        }
        if self.record.rounds.len() > n_rounds {
            self.core.progress.made(key.at);
        }
        for (i, row) in self.record.rounds.iter().enumerate().skip(n_rounds) {
            if let Some(notes) = &mut self.core.notes {
                let before = i.checked_sub(1).map(|i| self.record.round_ends[i].1);
                notes.add(What::Round {
                    round: Round(row.round),
                    since: before.unwrap_or(SimTime::ZERO),
                    counts: [row.cohort, row.completed, row.dropped],
                });
            }
            let ended = Ended {
                round: Round(row.round),
                strategy,
                server: self.state.as_ref().expect(SERVER_IS_HERE),
                setup: env.setup(),
            };
            self.sheet.stands_at(row.round, row.virtual_s);
            env.ground.evaluator.after_round(&ended, &mut self.sheet);
            if let Some(why) = self.sheet.failure() {
                let fault = Fault::Strategy(StrategyError(why.to_owned()));
                self.core.fail(key, Party::Server, fault);
            }
            let stop = &env.world.stop;
            if self.sheet.reaches(&stop.at) || stop.diverged && self.sheet.has_diverged() {
                self.record.stopped_early |= self.record.finished_at.is_none();
                self.record.finished_at.get_or_insert(key.at);
            }
        }
    }
}

/// What the engine knows of a client's presence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attendance {
    /// No part of a checkpoint: it can be found again, in whatever world.
    #[serde(skip)]
    cursor: PresenceCursor,
    /// The latest round that has reached it, and whether any has.
    round: Round,
    joined: bool,
    /// When it leaves that round, and whether anything has found it gone.
    leaves_at: SimTime,
    was_missed: bool,
}

/// A share of the clients.
pub(crate) struct ClientPart<S: Strategy> {
    pub(crate) core: Core<S>,
    /// Which of those of the clients.
    part: u32,
    pub(crate) states: Vec<S::Client>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) attendance: Vec<Attendance>,
    pub(crate) spent: Vec<Spent>,
    /// Events held for clients that are away until a later round reaches them.
    held: BTreeMap<u32, Vec<QueuedEvent>>,
}

impl<S: Strategy> ClientPart<S> {
    pub(crate) fn new(env: &Env<'_, S>, part: u32, n_mechanisms: usize, states: Vec<S::Client>) -> Self {
        let n = states.len();
        let mut accounts = vec![Account::default(); n];
        for (id, account) in env.shares.clients(part).zip(&mut accounts) {
            account.rates = env.rates(Party::Client(id));
        }
        let attendance = Attendance {
            cursor: PresenceCursor::default(),
            round: Round(0),
            joined: false,
            leaves_at: SimTime::NEVER,
            was_missed: false,
        };
        ClientPart {
            core: Core::new(env, 1 + part as usize, n, n_mechanisms),
            part,
            states,
            accounts,
            attendance: vec![attendance; n],
            spent: vec![Spent::default(); n],
            held: BTreeMap::new(),
        }
    }

    /// What the clients of another rank have come to, whose states are there or not.
    pub(crate) fn ended(
        env: &Env<'_, S>,
        states: Vec<S::Client>,
        accounts: Vec<Account>,
        spent: Vec<Spent>,
        prices: Prices,
    ) -> Self {
        let mut core = Core::new(env, usize::MAX, 0, 0);
        core.prices = prices;
        ClientPart {
            core,
            part: u32::MAX,
            states,
            accounts,
            attendance: Vec::new(),
            spent,
            held: BTreeMap::new(),
        }
    }

    /// Schedules [`Event::Start`] for every client.
    pub(crate) fn start(&mut self, env: &Env<'_, S>) {
        for (party, account) in env.shares.clients(self.part).map(Party::Client).zip(&mut self.accounts) {
            let key = EventKey::new(SimTime::ZERO, party.index(), account.seq);
            account.seq += 1;
            let entry = Entry {
                round: Round(0),
                content: Content::Start,
            };
            self.core.schedule(key, party, entry);
        }
    }

    /// The events held for absent clients, with what they carry.
    pub(crate) fn held(&self) -> impl Iterator<Item = (QueuedEvent, &Entry<S>)> {
        self.held.values().flatten().filter_map(|event| {
            let block = self.core.block(Party::from_index(event.to));
            Some((*event, self.core.agendas.peek(block, event.slot)?))
        })
    }

    /// Holds an event for a client that is away until a later round reaches it.
    pub(crate) fn hold(&mut self, key: EventKey, client: ClientId, entry: Entry<S>) {
        let me = Party::Client(client);
        let slot = self.core.agendas.keep(self.core.block(me), entry);
        let event = QueuedEvent {
            key,
            to: me.index(),
            slot,
        };
        self.held.entry(client.0).or_default().push(event);
    }

    /// The events held for absent clients, which are held no longer.
    pub(crate) fn take_held(&mut self) -> Vec<QueuedEvent> {
        std::mem::take(&mut self.held).into_values().flatten().collect()
    }

    /// Handles the events before `end`.
    pub(crate) fn run_until<'scope>(&mut self, env: &Env<'scope, S>, helpers: Help<'_, 'scope>, end: SimTime) {
        let _busy = helpers.map(Helpers::begin);
        self.each_block(
            end,
            |part, block| while part.handle_next(env, helpers, block, end, false) {},
        );
        self.core.offer_jobs(env, helpers);
    }

    /// Handles one event of a block.
    pub(crate) fn run_one<'scope>(&mut self, env: &Env<'scope, S>, helpers: Help<'_, 'scope>, block: usize) {
        let _busy = helpers.map(Helpers::begin);
        self.handle_next(env, helpers, block, SimTime::NEVER, false);
        self.core.agendas.settle(block);
        self.core.offer_jobs(env, helpers);
    }

    /// Handles the events before `end`, in each block up to the first result of a job that is still
    /// to be done.
    pub(crate) fn run_to_jobs<'scope>(&mut self, env: &Env<'scope, S>, helpers: Help<'_, 'scope>, end: SimTime) {
        self.each_block(
            end,
            |part, block| while part.handle_next(env, helpers, block, end, true) {},
        );
    }

    /// Goes through the blocks that have an event before `end`.
    fn each_block(&mut self, end: SimTime, mut play: impl FnMut(&mut Self, usize)) {
        let mut from = 0;
        while let Some(block) = self.core.agendas.busy(from, end) {
            play(self, block);
            self.core.agendas.settle(block);
            from = block + 1;
        }
    }

    /// Handles the next event of a block if it is due before `end`, and no job that is still to be
    /// done where `is_before_jobs`. False if there is none, or something has failed.
    #[inline]
    fn handle_next<'scope>(
        &mut self,
        env: &Env<'scope, S>,
        helpers: Help<'_, 'scope>,
        block: usize,
        end: SimTime,
        is_before_jobs: bool,
    ) -> bool {
        let Some(event) = self.core.agendas.next_before(block, end) else {
            return false;
        };
        if is_before_jobs && self.core.is_kept_job(block, event) {
            self.core.agendas.push(block, event);
            return false;
        }
        if let Some(entry) = self.core.agendas.take(block, event.slot)
            && let Err(fault) = self.handle(env, helpers, event, entry)
        {
            self.core.fail(event.key, Party::from_index(event.to), fault);
        }
        true
    }

    fn handle<'scope>(
        &mut self,
        env: &Env<'scope, S>,
        helpers: Help<'_, 'scope>,
        event: QueuedEvent,
        entry: Entry<S>,
    ) -> Result<(), Fault> {
        if matches!(entry.content, Content::GivenUp) {
            return Ok(());
        }
        self.core.handles(event.key);
        let id = ClientId(event.to - 1);
        let (_, local) = env.shares.find(id);
        let newly_joined = self.join(env, id, local, event.key.at, entry.round);
        let attendance = &mut self.attendance[local];
        let dropped_out = event.key.at >= attendance.leaves_at;
        let presence = match dropped_out {
            true => Presence::Away(None),
            false => env.world.availability.presence(
                id,
                attendance.round,
                event.key.at,
                &mut attendance.cursor,
                env.ground.streams,
            ),
        };
        if let Presence::Away(until) = presence {
            return self.away(env, event, entry, until, dropped_out);
        }
        if newly_joined && let Some(held) = self.held.remove(&id.0) {
            for mut waiting in held {
                waiting.key = EventKey::new(event.key.at, waiting.key.origin(), waiting.key.seq());
                self.core.agendas.push(self.core.block(Party::Client(id)), waiting);
            }
        }
        self.present(env, helpers, event, entry, local)
    }

    /// Notes that an event of `round` has reached the client. True if that round is new to it.
    fn join(&mut self, env: &Env<'_, S>, id: ClientId, local: usize, at: SimTime, round: Round) -> bool {
        let attendance = &mut self.attendance[local];
        if attendance.joined && round <= attendance.round {
            return false;
        }
        self.note_return(id, local, at);
        let attendance = &mut self.attendance[local];
        attendance.joined = true;
        attendance.was_missed = false;
        attendance.round = round;
        self.accounts[local].rounds_joined += 1;
        attendance.leaves_at = env.world.dropout.leaves_at(id, round, at, env.ground.streams);
        true
    }

    /// Notes that a client which had left a round is back, or the run over.
    pub(crate) fn note_return(&mut self, client: ClientId, local: usize, at: SimTime) {
        let attendance = &self.attendance[local];
        if let Some(notes) = &mut self.core.notes
            && attendance.leaves_at < at
            && notes.followed.has(client)
        {
            notes.add(What::Left {
                client,
                round: attendance.round,
                since: attendance.leaves_at,
            });
        }
    }

    /// An event finds its client away: messages go by the strategy's policy, a client's own events
    /// wait for it, and what a client that left in mid-round had begun is lost.
    fn away(
        &mut self,
        env: &Env<'_, S>,
        event: QueuedEvent,
        entry: Entry<S>,
        until: Option<SimTime>,
        dropped_out: bool,
    ) -> Result<(), Fault> {
        let me = Party::from_index(event.to);
        let local = env.shares.find(ClientId(event.to - 1)).1;
        if dropped_out && !std::mem::replace(&mut self.attendance[local].was_missed, true) {
            self.accounts[local].rounds_left += 1;
        }
        if dropped_out && !matches!(entry.content, Content::Message(_)) {
            let (client, round) = (ClientId(event.to - 1), entry.round);
            if let Some(notes) = &mut self.core.notes
                && matches!(entry.content, Content::Done(_))
                && notes.followed.has(client)
            {
                notes.add(What::Lost { client, round });
            }
            return Ok(());
        }
        let why = if dropped_out {
            DropReason::Dropout
        } else {
            DropReason::Absent
        };
        let held = self.core.absent(env, &mut self.accounts[local], event, entry, why)?;
        if let Some(entry) = held {
            match until {
                Some(until) => {
                    self.core.progress.waits(event.key.at, until);
                    let key = EventKey::new(until, event.key.origin(), event.key.seq());
                    self.core.schedule(key, me, entry);
                }
                None => self.hold(event.key, ClientId(event.to - 1), entry),
            }
        }
        Ok(())
    }

    fn present<'scope>(
        &mut self,
        env: &Env<'scope, S>,
        helpers: Help<'_, 'scope>,
        event: QueuedEvent,
        entry: Entry<S>,
        local: usize,
    ) -> Result<(), Fault> {
        let (key, me, round) = (event.key, ClientId(event.to - 1), entry.round);
        let account = &mut self.accounts[local];
        let event = match entry.content {
            Content::GivenUp => return Ok(()),
            Content::Leaving { .. } => unreachable!("the server's link is the only one that is shared"),
            Content::Start => ClientEvent::Start,
            Content::Timer(id) => ClientEvent::Timer(id),
            Content::Done(job) => {
                self.core.progress.made(key.at);
                ClientEvent::Done(self.core.finish_job(env, helpers, job))
            }
            Content::Undelivered { to, letter, note, why } => match (to, letter) {
                (_, Letter::Up(message)) => ClientEvent::Undelivered { message, why },
                (Party::Client(to), Letter::Peer(message)) => ClientEvent::UndeliveredPeer { to, message, note, why },
                _ => unreachable!("what a client sends goes up or to a client"),
            },
            Content::Message(envelope) => {
                let way = (key, Party::Client(me), round);
                let Some(envelope) = self.core.linked(env, account, way, envelope) else {
                    return Ok(());
                };
                let from = Party::from_index(key.origin());
                if from == Party::Server {
                    let payload = envelope.letter.payload_len();
                    account.downlink_bytes += payload + env.header(payload);
                }
                match (from, self.core.deliver(env, way, envelope.letter)?) {
                    (_, Letter::Down(message)) => ClientEvent::Message(message),
                    (Party::Client(from), Letter::Peer(message)) => ClientEvent::Peer { from, message },
                    _ => unreachable!("what reaches a client comes down or from a client"),
                }
            }
        };
        self.core.handled += 1;
        let mut cx = ClientContext {
            handling: Handling {
                env,
                core: &mut self.core,
                account,
                me: Party::Client(me),
                now: key.at,
                round,
                event_round: round,
                fault: None,
            },
            spent: &mut self.spent[local],
            me,
            noise: Noise::default(),
        };
        let Ground { strategy, shards, .. } = env.ground;
        let result = strategy.on_client(shards.shard(me), &mut self.states[local], event, &mut cx);
        let fault = cx.handling.fault.take();
        account.handled += 1;
        match fault {
            Some(fault) => Err(fault),
            None => result.map_err(Fault::Strategy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_client_costs_at_most_256_bytes() {
        let per_client = size_of::<Account>() + size_of::<Attendance>();
        let per_mechanism = size_of::<Spent>();
        assert!(
            per_client + 4 * per_mechanism <= 256,
            "{per_client} and {per_mechanism} a mechanism"
        );
    }
}
