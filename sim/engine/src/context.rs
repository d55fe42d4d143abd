//! All that a handler may touch.

use crate::core::{Account, Content, Core, Entry, Env, Fault, next_seq};
use crate::queue::EventKey;
use crate::strategy::{Strategy, TimerId};
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_metrics::{ClientId, Party, Round, RoundRow, ScoreRow, SimSpan, SimTime};
use std::ops::{Deref, DerefMut};

/// One mechanism's releases by one client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// How many.
    pub releases: u64,
    /// The sum of their epsilons.
    pub epsilon: f64,
    /// What they cost together: less than the sum where some are of separate things.
    pub total: f64,
}

/// A client's handler's view of the run.
pub struct Context<'a, 'scope, S: Strategy> {
    pub(crate) env: &'a Env<'a, 'scope, S>,
    pub(crate) core: &'a mut Core<S>,
    pub(crate) account: &'a mut Account,
    pub(crate) spent: &'a mut [Spent],
    pub(crate) me: Party,
    pub(crate) now: SimTime,
    pub(crate) round: Round,
    /// The round of the event itself.
    pub(crate) event_round: Round,
    pub(crate) fault: Option<Fault>,
}

impl<'scope, S: Strategy> Context<'_, 'scope, S> {
    /// The present instant.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Whose handler this is.
    pub fn me(&self) -> Party {
        self.me
    }

    /// The round that what is done here counts for: at a client that of the event, at the server the current one.
    pub fn round(&self) -> Round {
        self.round
    }

    /// The round of the event being handled: that of whatever caused it.
    pub fn event_round(&self) -> Round {
        self.event_round
    }

    /// What is done from here on counts for `round`: for work that waited at this client for what another round brought.
    pub fn continue_round(&mut self, round: Round) {
        self.round = round;
    }

    /// The number of clients.
    pub fn n_clients(&self) -> u32 {
        self.env.n_clients
    }

    /// Every message is wanted, and no learning.
    pub fn dry_run(&self) -> bool {
        self.env.dry_run
    }

    /// The stream for `purpose` in this event: the same each time it is asked for here, another one in every other event.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        self.env
            .streams
            .counted(purpose, self.me, self.round, self.account.handled)
    }

    /// Sends a message. It arrives no sooner than the network's least latency.
    pub fn send(&mut self, to: Party, message: S::Message) {
        let sent = self
            .core
            .send(self.env, self.account, (self.me, self.now, self.round), to, message);
        self.note(sent);
    }

    /// Starts work of `cost` operations on this party's processor; its result comes as [`crate::Event::Done`] when the
    /// device would have finished it. It is done in the background meanwhile. The server computes in no time.
    pub fn compute(&mut self, work: S::Work, cost: f64) {
        let span = match self.me {
            Party::Server => SimSpan::ZERO,
            Party::Client(id) => self.env.world.devices.span(id, cost, self.env.streams),
        };
        let due = self.now.max(self.account.cpu_free) + span;
        self.account.cpu_free = due;
        self.account.compute += span;
        let seq = next_seq(self.account);
        if let Ok(seq) = seq {
            let (to, round) = (self.me.index(), self.round);
            self.core
                .schedule_job(self.env, EventKey::new(due, to, seq), to, round, work);
        }
        self.note(seq);
    }

    /// Sets a timer: [`crate::Event::Timer`] comes `after` from now.
    pub fn timer(&mut self, after: SimSpan, id: TimerId) {
        self.own_event(self.now + after, Content::Timer(id));
    }

    /// Reports a release of the strategy's mechanism number `mechanism` by this client.
    ///
    /// # Panics
    ///
    /// When there is no such mechanism: the strategy's bug.
    pub fn spend(&mut self, mechanism: usize, epsilon: f64) {
        self.spend_in_parallel(mechanism, 1, epsilon);
    }

    /// Reports `n` releases of `epsilon` each by this client, every one of something else, such as of graphs that share no
    /// edge: together they cost `epsilon` (parallel composition; McSherry 2009, theorem 4).
    ///
    /// # Panics
    ///
    /// When there is no such mechanism: the strategy's bug.
    pub fn spend_in_parallel(&mut self, mechanism: usize, n: u64, epsilon: f64) {
        if n == 0 {
            return;
        }
        let spent = &mut self.spent[mechanism];
        spent.releases += n;
        spent.epsilon += n as f64 * epsilon;
        spent.total += epsilon;
        self.core.release(self.round, mechanism, n, epsilon);
    }

    /// Raises the strategy's counter number `counter` by `n`, in this round.
    ///
    /// # Panics
    ///
    /// When there is no such counter: the strategy's bug.
    pub fn count(&mut self, counter: usize, n: u64) {
        self.core.count(self.round, counter, n);
    }

    fn own_event(&mut self, at: SimTime, content: Content<S>) {
        let seq = next_seq(self.account);
        if let Ok(seq) = seq {
            let key = EventKey::new(at, self.me.index(), seq);
            self.core.schedule(
                key,
                self.me.index(),
                Entry {
                    round: self.round,
                    content,
                },
            );
        }
        self.note(seq);
    }

    fn note<T>(&mut self, result: Result<T, Fault>) {
        if let Err(fault) = result {
            self.fault.get_or_insert(fault);
        }
    }
}

/// What the server says of a round that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundReport {
    /// Clients asked to take part.
    pub cohort: u64,
    /// Results in time.
    pub completed: u64,
    /// Results given up.
    pub dropped: u64,
    /// Mean staleness of what was aggregated, in rounds.
    pub staleness_mean: f64,
}

/// What the server has recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) round: Round,
    pub(crate) rounds: Vec<RoundRow>,
    pub(crate) scores: Vec<ScoreRow>,
    pub(crate) round_ends: Vec<(Round, SimTime)>,
    pub(crate) finished_at: Option<SimTime>,
}

/// The server's handler's view of the run: a [`Context`] that can also end rounds and the run.
pub struct ServerContext<'a, 'scope, S: Strategy> {
    pub(crate) cx: Context<'a, 'scope, S>,
    pub(crate) record: &'a mut Record,
}

impl<'a, 'scope, S: Strategy> Deref for ServerContext<'a, 'scope, S> {
    type Target = Context<'a, 'scope, S>;

    fn deref(&self) -> &Self::Target {
        &self.cx
    }
}

impl<S: Strategy> DerefMut for ServerContext<'_, '_, S> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cx
    }
}

impl<S: Strategy> ServerContext<'_, '_, S> {
    /// The clients to ask in this round, ascending.
    pub fn cohort(&self) -> Vec<ClientId> {
        self.cx
            .env
            .world
            .cohort
            .sample(self.cx.env.n_clients, self.cx.round, self.cx.env.streams)
    }

    /// How many clients are asked in a round.
    pub fn asked(&self) -> u32 {
        self.cx.env.world.cohort.asked(self.cx.env.n_clients)
    }

    /// With how many results the round is complete.
    pub fn needed(&self) -> u32 {
        self.cx.env.world.cohort.needed(self.cx.env.n_clients)
    }

    /// How long the round may take.
    pub fn deadline(&self) -> Option<SimSpan> {
        self.cx.env.world.deadline
    }

    /// Ends the round. What is sent from now on belongs to the next one.
    pub fn round_done(&mut self, report: RoundReport) {
        self.record.rounds.push(RoundRow {
            round: self.cx.round.0,
            virtual_s: self.cx.now.as_secs(),
            cohort: report.cohort,
            completed: report.completed,
            dropped: report.dropped,
            late: 0,
            staleness_mean: report.staleness_mean,
        });
        self.record.round_ends.push((self.cx.round, self.cx.now));
        self.record.round = self.cx.round.next();
        self.cx.round = self.record.round;
    }

    /// Counts a result of an earlier round that came after its end: one fewer dropped, one more late.
    pub fn late(&mut self, round: Round) {
        if let Some(row) = self.record.rounds.get_mut(round.0 as usize) {
            row.late += 1;
            row.dropped = row.dropped.saturating_sub(1);
        }
    }

    /// Records a score of this round.
    pub fn score(&mut self, split: &str, metric: &str, value: f64, n: u64) {
        self.record.scores.push(ScoreRow {
            round: self.cx.round.0,
            virtual_s: self.cx.now.as_secs(),
            split: split.to_owned(),
            metric: metric.to_owned(),
            value,
            n,
        });
    }

    /// Ends the run: the server handles nothing more, and what is under way stays so.
    pub fn finish(&mut self) {
        self.record.finished_at.get_or_insert(self.cx.now);
    }
}
