//! State of a part of the population: its pending events, a ledger, and outboxes to the others.
//!
//! A part is the server or a share of the clients ([`Shares`]). Parts run in parallel within a
//! window and hand over what they sent when it ends. Event keys name the sender and its own
//! counter, so the way clients are shared out changes nothing.

use crate::agenda::Agendas;
use crate::client_blocks::Shares;
use crate::evaluator::Heard;
use crate::event::{Content, Entry, Envelope, Outgoing};
use crate::fault::Fault;
use crate::job::{Helpers, Job, JobContext, SharedJob};
use crate::link::Tcp;
use crate::privacy::Prices;
use crate::queue::{EventKey, QueuedEvent};
use crate::run_context::Env;
use crate::shared::{Form, Table};
use crate::stall_limit::Progress;
use crate::strategy::{Absence, Letter, Strategy};
use crate::trace::Notes;
use crate::world::{AccessRates, Link, Sharing};
use folkmoot_draws::{Purpose, StreamName};
use folkmoot_metrics::trace::{Fate, Message, What};
use folkmoot_metrics::{ByRound, Bytes, Direction, DropReason, Ledger, Party, Round, SimSpan, SimTime};
use serde::{Deserialize, Serialize};

/// The engine's own account of one party.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// Events caused so far: the next sequence number.
    pub(crate) seq: u32,
    /// The mechanisms, a bit each, whose releases that are made once have been.
    pub(crate) has_kept: u32,
    /// Events handled so far: the counter of its random streams.
    pub(crate) handled: u64,
    /// When its access link is free again, each way.
    pub(crate) up_free: SimTime,
    pub(crate) down_free: SimTime,
    /// When its processor is free again.
    pub(crate) cpu_free: SimTime,
    /// The world's, whatever checkpoint the account comes from.
    #[serde(skip)]
    pub(crate) rates: AccessRates,
    /// Connections and shared links, if the network has such.
    pub(crate) tcp: Option<Box<Tcp>>,
    pub(crate) uplink_bytes: u64,
    pub(crate) downlink_bytes: u64,
    pub(crate) peer_bytes: u64,
    pub(crate) compute: SimSpan,
    pub(crate) rounds_joined: u64,
    /// Rounds in which something found it dropped out.
    pub(crate) rounds_left: u64,
}

/// One mechanism's releases in one round.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Releases {
    pub(crate) n: u64,
    /// What they cost by their finite epsilons, in units of 2^-32: integers, so that no sum depends
    /// on its order.
    pub(crate) epsilon: u128,
}

/// The unit of [`Releases::epsilon`] is one over this.
pub(crate) const EPSILON_UNITS: f64 = 4_294_967_296.0;

pub(crate) struct Core<S: Strategy> {
    /// Which part this is: 0 is the server's.
    index: usize,
    shares: Shares,
    pub(crate) agendas: Agendas<S>,
    pub(crate) ledger: Ledger,
    /// What was sent to each part in this window.
    pub(crate) outboxes: Vec<Vec<Outgoing<S>>>,
    /// What was sent to other ranks in this window.
    pub(crate) abroad: Vec<Outgoing<S>>,
    /// By round, then counter.
    pub(crate) counters: ByRound<Vec<u64>>,
    /// By round, then mechanism.
    pub(crate) releases: ByRound<Vec<Releases>>,
    n_mechanisms: usize,
    pub(crate) prices: Prices,
    pub(crate) handled: u64,
    /// In which block and where the jobs wait that nobody else knows of; some of these slots may
    /// hold other things by now.
    kept_jobs: Vec<(usize, u32)>,
    pub(crate) progress: Progress,
    /// What happens, where the run is traced.
    pub(crate) notes: Option<Box<Notes>>,
    encoded: Vec<u8>,
    /// Under `--wire-check`: content that many receivers get, of this round.
    carried: Table,
}

impl<S: Strategy> Core<S> {
    pub(crate) fn new(env: &Env<'_, S>, index: usize, n_clients: usize, n_mechanisms: usize) -> Self {
        let shares = env.shares;
        Core {
            index,
            shares,
            agendas: Agendas::new(Shares::blocks(n_clients)),
            ledger: Ledger::new(env.ground.strategy.kinds()),
            outboxes: (0..=shares.n_parts()).map(|_| Vec::new()).collect(),
            abroad: Vec::new(),
            counters: ByRound::default(),
            releases: ByRound::default(),
            n_mechanisms,
            prices: Prices::default(),
            handled: 0,
            kept_jobs: Vec::new(),
            progress: Progress::default(),
            notes: None,
            encoded: Vec::new(),
            carried: Table::new(Form::Wire),
        }
    }

    /// Notes what happens from here on under this event's key.
    #[inline]
    pub(crate) fn handles(&mut self, key: EventKey) {
        if let Some(notes) = &mut self.notes {
            notes.key = key;
        }
    }

    /// Notes what becomes of the message that the event of this key has brought. Cold: the others
    /// are the runs whose speed counts.
    #[cold]
    pub(crate) fn note_fate(&mut self, key: EventKey, at: SimTime, to: Party, kind: usize, fate: Fate) {
        if let Some(notes) = &mut self.notes {
            let from = Party::from_index(key.origin());
            if notes.followed.has_either(from, to) {
                let (seq, kind) = (key.seq(), kind as u32);
                let message = Message { from, seq, to, kind };
                let key = EventKey::new(at, key.origin(), seq);
                notes.add_under(key, What::Ended { message, fate });
            }
        }
    }

    #[cold]
    fn note_sent(
        &mut self,
        message: Message,
        round: Round,
        (Bytes(bytes), attempts): (Bytes, u64),
        gives_up: Option<SimTime>,
    ) {
        if let Some(notes) = &mut self.notes
            && notes.followed.has_either(message.from, message.to)
        {
            notes.add(What::Sent {
                message,
                round,
                bytes,
                attempts,
            });
            if let Some(at) = gives_up {
                let fate = Fate::Dropped(DropReason::Loss);
                let key = EventKey::new(at, message.from.index(), message.seq);
                notes.add_under(key, What::Ended { message, fate });
            }
        }
    }

    /// The block of a party of this part.
    #[inline]
    pub(crate) fn block(&self, party: Party) -> usize {
        self.shares.of(party).1
    }

    /// Queues an event of a party of this part, and returns its block and where what it carries
    /// waits.
    #[inline]
    pub(crate) fn schedule(&mut self, key: EventKey, to: Party, entry: Entry<S>) -> (usize, u32) {
        let block = self.block(to);
        (block, self.agendas.schedule(block, key, to, entry))
    }

    /// Queues a job's result, and keeps the job until it is due or somebody is free to do it.
    pub(crate) fn schedule_job(
        &mut self,
        env: &Env<'_, S>,
        key: EventKey,
        me: Party,
        round: Round,
        work: (S::Work, JobContext),
    ) {
        let content = Content::Done(Job::Kept(work));
        self.schedule_entry(env, key, me, Entry { round, content });
    }

    /// Queues an event, and notes where it waits if it is a job's result that somebody could work
    /// on before.
    pub(crate) fn schedule_entry(&mut self, env: &Env<'_, S>, key: EventKey, to: Party, entry: Entry<S>) {
        let is_job = env.has_helpers && matches!(entry.content, Content::Done(_));
        let place = self.schedule(key, to, entry);
        if is_job {
            self.kept_jobs.push(place);
        }
    }

    /// The result of a job that is due. The other jobs are offered to whoever is idle.
    pub(crate) fn finish_job<'scope>(
        &mut self,
        env: &Env<'scope, S>,
        helpers: Option<&Helpers<'_, 'scope>>,
        job: Job<S>,
    ) -> S::Done {
        if !self.kept_jobs.is_empty() && helpers.is_some_and(Helpers::is_one_idle) {
            self.offer_jobs(env, helpers);
        }
        job.take(&env.ground)
    }

    /// Offers all jobs to the helpers.
    pub(crate) fn offer_jobs<'scope>(&mut self, env: &Env<'scope, S>, helpers: Option<&Helpers<'_, 'scope>>) {
        if let Some(helpers) = helpers.filter(|_| !self.kept_jobs.is_empty()) {
            let jobs: Vec<SharedJob<S>> = self.share_jobs().collect();
            helpers.offer(env.ground, &jobs);
        }
    }

    /// All jobs that nobody else knows of, for others to do.
    pub(crate) fn share_jobs(&mut self) -> impl Iterator<Item = SharedJob<S>> {
        let agendas = &mut self.agendas;
        self.kept_jobs
            .drain(..)
            .filter_map(|(block, slot)| match &mut agendas.entry(block, slot)?.content {
                Content::Done(job) => job.share(),
                _ => None,
            })
    }

    /// Whether an event is the result of a job that nobody has been offered.
    pub(crate) fn is_kept_job(&mut self, block: usize, event: QueuedEvent) -> bool {
        let entry = self.agendas.entry(block, event.slot);
        entry.is_some_and(|entry| matches!(entry.content, Content::Done(Job::Kept(_))))
    }

    /// Queues an event wherever its party is.
    #[inline]
    pub(crate) fn post(&mut self, key: EventKey, to: Party, entry: Entry<S>) {
        if !self.shares.is_here(to) {
            self.abroad.push(Outgoing { key, to, entry });
            return;
        }
        let (part, block) = self.shares.of(to);
        if part == self.index {
            self.agendas.schedule(block, key, to, entry);
        } else {
            self.outboxes[part].push(Outgoing { key, to, entry });
        }
    }

    /// What the outboxes take of memory.
    pub(crate) fn outbox_bytes(&self) -> usize {
        let room: usize = self.outboxes.iter().map(Vec::capacity).sum();
        room * size_of::<Outgoing<S>>()
    }

    /// Queues what other parts sent.
    pub(crate) fn receive(&mut self, sent: impl Iterator<Item = Outgoing<S>>) {
        for Outgoing { key, to, entry } in sent {
            self.schedule(key, to, entry);
        }
    }

    /// Sends a message: counts it, asks the network for its fate and posts what follows.
    pub(crate) fn send(
        &mut self,
        env: &Env<'_, S>,
        account: &mut Account,
        (from, now, round): (Party, SimTime, Round),
        to: Party,
        (letter, note): (Letter<S>, u32),
    ) -> Result<(), Fault> {
        if env.wire_check {
            env.ground.evaluator.overhear(&Heard {
                at: now,
                arrives: false,
                from,
                to,
                round,
                letter: &letter,
            });
        }
        let (seq, kind) = (next_seq(account)?, letter.kind());
        let payload = letter.payload_len();
        let header = env.header(payload);
        let size = Bytes(payload + header);
        let name = StreamName::new(env.ground.streams, Purpose(*b"network "), from, round, u64::from(seq));
        let verdict = env.world.network.verdict(Link { from, to }, size, name);
        let attempts = u64::from(verdict.attempts);

        let direction = Direction::between(from, to);
        let cell = self.ledger.cell(round, kind, direction);
        cell.sent += 1;
        cell.retried += attempts - 1;
        cell.payload_bytes += payload * attempts;
        cell.header_bytes += header * attempts;
        match direction {
            Direction::Uplink => account.uplink_bytes += size.0 * attempts,
            Direction::Peer => account.peer_bytes += size.0 * attempts,
            Direction::Downlink => {}
        }

        // Every transmission occupies the sender's access link; repetitions are taken to follow at
        // once.
        let occupying = Bytes(size.0.saturating_mul(attempts));
        let is_shared = env.transport.sharing == Sharing::Fair && direction != Direction::Peer && verdict.arrives;
        let departs = match is_shared {
            true => now,
            false => account.rates.up.through(now.max(account.up_free), occupying),
        };
        account.up_free = departs.max(account.up_free);
        let mut after = verdict.after;
        if direction == Direction::Uplink && verdict.arrives {
            after += account.pauses(env, direction, now, size);
        }
        let due = departs + after;
        if self.notes.is_some() {
            let kind = kind as u32;
            let message = Message { from, seq, to, kind };
            self.note_sent(message, round, (size, attempts), (!verdict.arrives).then_some(due));
        }
        match verdict.arrives {
            true => {
                let envelope = Envelope {
                    sent_at: now,
                    linked: false,
                    note,
                    letter,
                };
                if is_shared && from == Party::Server {
                    self.leave(
                        env,
                        account,
                        (EventKey::new(now, from.index(), seq), to, round),
                        after,
                        envelope,
                    );
                    return Ok(());
                }
                let arrives = due.max(now + env.lookahead);
                self.progress.waits(now, arrives);
                let entry = Entry {
                    round,
                    content: Content::Message(envelope),
                };
                self.post(EventKey::new(arrives, from.index(), seq), to, entry);
            }
            false => {
                cell_dropped(&mut self.ledger, round, kind, direction, DropReason::Loss);
                let why = DropReason::Loss;
                let (at, content) = match env.ground.strategy.absence(&letter) {
                    Absence::Tell { after } => (due.max(now + after), Content::Undelivered { to, letter, note, why }),
                    Absence::Wait | Absence::GiveUp => (due, Content::GivenUp),
                };
                self.progress.waits(now, at);
                self.schedule(EventKey::new(at, from.index(), seq), from, Entry { round, content });
            }
        }
        Ok(())
    }

    /// Applies the strategy's policy to a message that found `to` absent. Returns the entry if it
    /// is to be held.
    pub(crate) fn absent(
        &mut self,
        env: &Env<'_, S>,
        account: &mut Account,
        event: QueuedEvent,
        entry: Entry<S>,
        why: DropReason,
    ) -> Result<Option<Entry<S>>, Fault> {
        let Entry {
            round,
            content: Content::Message(envelope),
        } = entry
        else {
            return Ok(Some(entry));
        };
        let policy = env.ground.strategy.absence(&envelope.letter);
        if policy == Absence::Wait {
            let envelope = Envelope {
                linked: false,
                ..envelope
            };
            return Ok(Some(Entry {
                round,
                content: Content::Message(envelope),
            }));
        }
        let (from, to) = (Party::from_index(event.key.origin()), Party::from_index(event.to));
        let kind = envelope.letter.kind();
        cell_dropped(&mut self.ledger, round, kind, Direction::between(from, to), why);
        self.note_fate(event.key, event.key.at, to, kind, Fate::Dropped(why));
        if let Absence::Tell { after } = policy {
            // The sender learns of it by its time-out, and in any case no sooner than anything can
            // reach it.
            let at = (envelope.sent_at + after).max(event.key.at + env.lookahead);
            self.progress.waits(event.key.at, at);
            let key = EventKey::new(at, event.to, next_seq(account)?);
            let content = Content::Undelivered {
                to,
                letter: envelope.letter,
                note: envelope.note,
                why,
            };
            self.post(key, from, Entry { round, content });
        }
        Ok(None)
    }

    /// Counts a message as delivered and, under `--wire-check`, puts it through its encoding.
    pub(crate) fn deliver(
        &mut self,
        env: &Env<'_, S>,
        (key, to, round): (EventKey, Party, Round),
        letter: Letter<S>,
    ) -> Result<Letter<S>, Fault> {
        let (kind, from, at) = (letter.kind(), Party::from_index(key.origin()), key.at);
        self.progress.made(at);
        if self.notes.is_some() {
            self.note_fate(key, at, to, kind, Fate::Delivered);
        }
        self.ledger.cell(round, kind, Direction::between(from, to)).delivered += 1;
        if !env.wire_check {
            return Ok(letter);
        }
        env.ground.evaluator.overhear(&Heard {
            at,
            arrives: true,
            from,
            to,
            round,
            letter: &letter,
        });
        let arrived = letter.recoded(&mut self.carried, &mut self.encoded);
        arrived.map_err(|error| Fault::Wire {
            kind: self.ledger.kinds()[kind].name,
            error,
        })
    }

    pub(crate) fn count(&mut self, round: Round, counter: usize, n: u64) {
        self.counters.at(round, || vec![0; S::COUNTERS.len()])[counter] += n;
    }

    /// Forgets what was carried by name, so that nothing is held for ever.
    pub(crate) fn forget_carried(&mut self) {
        self.carried = Table::new(Form::Wire);
    }

    /// Takes over what another part has counted: every sum is one of integers, so it has no order.
    pub(crate) fn take_counts(&mut self, other: &mut Core<S>) {
        self.ledger.take(&mut other.ledger);
        self.handled += std::mem::take(&mut other.handled);
        self.add_counts(&mut other.counters, &mut other.releases);
    }

    /// Adds counters and releases, which are gone then.
    pub(crate) fn add_counts(&mut self, counters: &mut ByRound<Vec<u64>>, releases: &mut ByRound<Vec<Releases>>) {
        for (round, counts) in counters.drain() {
            let mine = self.counters.at(round, || vec![0; S::COUNTERS.len()]);
            mine.iter_mut().zip(counts).for_each(|(mine, n)| *mine += n);
        }
        for (round, releases) in releases.drain() {
            let mine = self.releases.at(round, || vec![Releases::default(); self.n_mechanisms]);
            for (mine, releases) in mine.iter_mut().zip(releases) {
                mine.n += releases.n;
                mine.epsilon += releases.epsilon;
            }
        }
    }

    /// Notes releases that cost `epsilon` together.
    pub(crate) fn release(&mut self, round: Round, mechanism: usize, n: u64, epsilon: f64) {
        let blank = || vec![Releases::default(); self.n_mechanisms];
        let releases = &mut self.releases.at(round, blank)[mechanism];
        releases.n += n;
        if epsilon.is_finite() {
            releases.epsilon += (epsilon * EPSILON_UNITS).round() as u128;
        }
    }

    /// Keeps the first fault.
    pub(crate) fn fail(&mut self, key: EventKey, party: Party, fault: Fault) {
        self.agendas.fail(self.block(party), key, party, fault);
    }
}

pub(crate) fn next_seq(account: &mut Account) -> Result<u32, Fault> {
    let seq = account.seq;
    account.seq = seq.checked_add(1).ok_or(Fault::TooManyEvents)?;
    Ok(seq)
}

fn cell_dropped(ledger: &mut Ledger, round: Round, kind: usize, direction: Direction, why: DropReason) {
    ledger.cell(round, kind, direction).dropped[why as usize] += 1;
}
