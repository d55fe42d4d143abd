//! All that handlers may touch: one context for clients, one for the server.

use crate::event::{Content, Entry};
use crate::fault::{Fault, StrategyError};
use crate::job::{Asked, JobContext};
use crate::part_state::{Account, Core, next_seq};
use crate::privacy::Spent;
use crate::queue::EventKey;
use crate::release::{Channel, Charge, Receipt};
use crate::run_context::Env;
use crate::strategy::{Letter, Strategy, TimerId};
use crate::world::{ClientSelection, Memory, Presence, PresenceCursor};
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_metrics::trace::What;
use folkmoot_metrics::{ClientId, Party, Round, RoundRow, SimSpan, SimTime};
use folkmoot_privacy::{Law, Mechanism, NoiseForm, ReleaseError};
use serde::{Deserialize, Serialize};

/// What both contexts are made of.
pub(crate) struct Handling<'a, S: Strategy> {
    pub(crate) env: &'a Env<'a, S>,
    pub(crate) core: &'a mut Core<S>,
    pub(crate) account: &'a mut Account,
    pub(crate) me: Party,
    pub(crate) now: SimTime,
    pub(crate) round: Round,
    /// The round of the event itself.
    pub(crate) event_round: Round,
    pub(crate) fault: Option<Fault>,
}

impl<S: Strategy> Handling<'_, S> {
    fn unreleased(&self, channel: Channel, error: &ReleaseError) -> StrategyError {
        let name = &self.env.mechanisms[channel.mechanism].mechanism;
        StrategyError(format!("{name}: cannot release: {error}"))
    }

    fn rng(&self, purpose: Purpose) -> SimRng {
        self.env
            .ground
            .streams
            .counted(purpose, self.me, self.round, self.account.handled)
    }

    fn send(&mut self, to: Party, letter: Letter<S>, note: u32) {
        let from = (self.me, self.now, self.round);
        let sent = self.core.send(self.env, self.account, from, to, (letter, note));
        self.note(sent);
    }

    fn compute(&mut self, work: S::Work, span: SimSpan) -> SimTime {
        let begins = self.now.max(self.account.cpu_free);
        let due = begins + span;
        self.account.cpu_free = due;
        self.core.progress.waits(self.now, due);
        self.account.compute += span;
        let seq = next_seq(self.account);
        if let Ok(seq) = seq {
            let (party, round) = (self.me, self.round);
            if let Some(notes) = &mut self.core.notes
                && (party == Party::Server || notes.followed.has_either(party, party))
            {
                notes.add(What::Job {
                    party,
                    round,
                    begins,
                    span,
                });
            }
            let asked = Asked {
                by: self.me,
                round,
                counter: self.account.handled,
                at: self.now,
            };
            let job = JobContext::new(self.env.ground.streams, self.env.world.noise, asked);
            let key = EventKey::new(due, self.me.index(), seq);
            self.core.schedule_job(self.env, key, self.me, round, (work, job));
        }
        self.note(seq);
        due
    }

    fn timer(&mut self, after: SimSpan, id: TimerId) {
        let seq = next_seq(self.account);
        if let Ok(seq) = seq {
            let at = self.now + after;
            self.core.progress.waits(self.now, at);
            let key = EventKey::new(at, self.me.index(), seq);
            let entry = Entry {
                round: self.round,
                content: Content::Timer(id),
            };
            self.core.schedule(key, self.me, entry);
        }
        self.note(seq);
    }

    fn show(&mut self, sight: S::Sight) {
        let (core, round) = (&mut *self.core, self.round);
        self.env
            .ground
            .evaluator
            .see(sight, &mut |counter, n| core.count(round, counter, n));
    }

    fn note<T>(&mut self, result: Result<T, Fault>) {
        if let Err(fault) = result {
            self.fault.get_or_insert(fault);
        }
    }
}

/// What clients and the server can do alike.
macro_rules! alike {
    ($context:ident) => {
        impl<S: Strategy> $context<'_, S> {
            /// The present instant.
            pub fn now(&self) -> SimTime {
                self.handling.now
            }

            /// The round that what is done here counts for: at a client that of the event, at the
            /// server the current one.
            pub fn round(&self) -> Round {
                self.handling.round
            }

            /// The round of the event being handled: that of whatever caused it.
            pub fn event_round(&self) -> Round {
                self.handling.event_round
            }

            /// The number of clients.
            pub fn n_clients(&self) -> u32 {
                self.handling.env.shares.n_clients()
            }

            /// The number of items of a client.
            pub fn size_of(&self, client: ClientId) -> u64 {
                self.handling.env.ground.shards.size(client)
            }

            /// What can be done about lost and late messages, for the text of an error:
            /// [`World::remedy`](crate::World::remedy).
            pub fn remedy(&self) -> String {
                self.handling.env.world.remedy()
            }

            /// How clients are selected.
            pub fn selection(&self) -> &dyn ClientSelection {
                self.handling.env.selection()
            }

            /// The stream for `purpose` in this event: the same each time it is asked for here,
            /// another one in every other event.
            pub fn rng(&self, purpose: Purpose) -> SimRng {
                self.handling.rng(purpose)
            }

            /// The stream for `purpose` of this party in this round, whatever came before in it: a
            /// job's, too, has it by that name.
            pub fn round_rng(&self, purpose: Purpose) -> SimRng {
                let handling = &self.handling;
                handling
                    .env
                    .ground
                    .streams
                    .party(purpose, handling.me, handling.round)
            }

            /// The stream of the whole run for `purpose`: the same for all participants.
            pub fn run_rng(&self, purpose: Purpose) -> SimRng {
                self.handling.env.ground.streams.global(purpose)
            }

            /// Sets a timer: it runs out `after` from now.
            pub fn timer(&mut self, after: SimSpan, id: TimerId) {
                self.handling.timer(after, id);
            }

            /// Raises the strategy's counter number `counter` by `n`, in this round.
            ///
            /// # Panics
            ///
            /// When there is no such counter: the strategy's bug.
            pub fn count(&mut self, counter: usize, n: u64) {
                self.handling.core.count(self.handling.round, counter, n);
            }

            /// Shows something to the evaluator that watches the run. Nothing comes back, so
            /// nothing depends on it.
            pub fn show(&mut self, sight: S::Sight) {
                self.handling.show(sight);
            }
        }
    };
}

alike!(ClientContext);
alike!(ServerContext);

/// A client's handler's view of the run.
pub struct ClientContext<'a, S: Strategy> {
    pub(crate) handling: Handling<'a, S>,
    pub(crate) spent: &'a mut Spent,
    pub(crate) me: ClientId,
    pub(crate) noise: Noise,
}

/// The streams of an event's releases, which go on from one to the next. Most events need one,
/// which costs no allocation.
#[derive(Default)]
pub(crate) struct Noise {
    first: Option<(Purpose, SimRng)>,
    more: Vec<(Purpose, SimRng)>,
}

impl Noise {
    fn stream(&mut self, purpose: Purpose, open: impl FnOnce() -> SimRng) -> &mut SimRng {
        if self.first.as_ref().is_none_or(|(first, _)| *first == purpose) {
            return &mut self.first.get_or_insert_with(|| (purpose, open())).1;
        }
        let at = self.more.iter().position(|(known, _)| *known == purpose);
        let at = at.unwrap_or_else(|| {
            self.more.push((purpose, open()));
            self.more.len() - 1
        });
        &mut self.more[at].1
    }
}

impl<S: Strategy> ClientContext<'_, S> {
    /// Whose handler this is.
    pub fn me(&self) -> ClientId {
        self.me
    }

    /// What is done from here on counts for `round`: for work that waited at this client for what
    /// another round brought.
    pub fn continue_round(&mut self, round: Round) {
        self.handling.round = round;
    }

    /// Sends a message to the server. It arrives no sooner than the network's least latency.
    pub fn send(&mut self, message: S::Up) {
        self.handling.send(Party::Server, Letter::Up(message), 0);
    }

    /// Sends a message to a client. It arrives no sooner than the network's least latency.
    pub fn send_peer(&mut self, to: ClientId, message: S::Peer) {
        self.send_peer_noted(to, message, 0);
    }

    /// The same, with a note of one's own, such as how often it was tried: it does not travel, and
    /// comes back if the message does.
    pub fn send_peer_noted(&mut self, to: ClientId, message: S::Peer, note: u32) {
        self.handling.send(Party::Client(to), Letter::Peer(message), note);
    }

    /// Starts work of `cost` operations on this client's processor; its result comes as
    /// [`Done`](crate::ClientEvent::Done) when that would have finished it. It is done in the
    /// background meanwhile.
    pub fn compute(&mut self, work: S::Work, cost: f64) {
        self.compute_until(work, cost);
    }

    /// The same; returns when the result comes.
    pub fn compute_until(&mut self, work: S::Work, cost: f64) -> SimTime {
        let env = self.handling.env;
        let span = env.world.devices.span(self.me, cost, env.ground.streams);
        self.handling.compute(work, span)
    }

    /// Releases what `mechanism` makes of `input`: draws the noise, charges this client and returns
    /// the noisy value.
    ///
    /// # Errors
    ///
    /// When the input lies outside the mechanism's domain. Nothing is charged then, and the run
    /// cannot go on: what was to be sent is private.
    pub fn release<M: Mechanism + ?Sized>(
        &mut self,
        channel: Channel,
        mechanism: &M,
        input: &M::Input,
    ) -> Result<M::Release, StrategyError> {
        let Handling { env, account, .. } = &self.handling;
        let stream = self.noise.stream(channel.purpose, || {
            // By the event's own round, whatever round is continued in it.
            let (me, round) = (Party::Client(self.me), self.handling.event_round);
            let streams = env.ground.streams;
            streams.counted(channel.purpose, me, round, account.handled)
        });
        let release = mechanism.release_in(env.world.noise, input, stream);
        let release = release.map_err(|error| self.handling.unreleased(channel, &error))?;
        self.charge(channel.mechanism, 1, mechanism.law());
        Ok(release)
    }

    /// The form of Laplace and Gaussian noise in this run, for noise that imitates a release.
    pub fn noise_form(&self) -> NoiseForm {
        self.handling.env.world.noise
    }

    /// Passes on a private value as it is, and charges this client without limit.
    pub fn unprotected<T>(&mut self, channel: Channel, value: T) -> T {
        self.charge(channel.mechanism, 1, Law::UNPROTECTED);
        value
    }

    /// Charges what a job has released, as what was made of it leaves this client.
    pub fn settle(&mut self, receipt: Receipt) {
        let mut firsts = 0;
        for Charge {
            mechanism,
            n,
            law,
            once,
        } in receipt.0
        {
            let flag = 1_u32 << mechanism;
            if !(once && self.handling.account.has_kept & flag != 0) {
                self.charge(mechanism, n, law);
            }
            firsts |= u32::from(once) * flag;
        }
        self.handling.account.has_kept |= firsts;
    }

    /// `n` releases by one law, every one of something else: together they cost what one does.
    fn charge(&mut self, mechanism: usize, n: u64, law: Law) {
        let handling = &mut self.handling;
        let price = handling.core.prices.number(mechanism, law);
        self.spent.add(price, n);
        handling.core.release(handling.round, mechanism, n, law.epsilon());
    }
}

/// What the server says of a round that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundReport {
    /// Clients asked to take part.
    pub cohort: u64,
    pub completed: u64,
    pub dropped: u64,
    /// Mean staleness of what was aggregated, in rounds.
    pub staleness_mean: f64,
}

/// What the server has recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) round: Round,
    pub(crate) rounds: Vec<RoundRow>,
    pub(crate) round_ends: Vec<(Round, SimTime)>,
    pub(crate) finished_at: Option<SimTime>,
    /// Whether it was finished by what its rounds are worth.
    pub(crate) stopped_early: bool,
    /// What the server says it is about, where it does. A checkpoint keeps it beside the record.
    #[serde(skip)]
    pub(crate) stage: Option<&'static str>,
    /// What the server has released of everybody: the mechanism, the law, and how often.
    pub(crate) charged: Vec<(usize, Law, u64)>,
    /// For client selection.
    pub(crate) memory: Memory,
}

/// The server's handler's view of the run.
pub struct ServerContext<'a, S: Strategy> {
    pub(crate) handling: Handling<'a, S>,
    pub(crate) record: &'a mut Record,
    pub(crate) noise: Noise,
}

impl<S: Strategy> ServerContext<'_, S> {
    /// Sends a message to a client. It arrives no sooner than the network's least latency.
    pub fn send(&mut self, to: ClientId, message: S::Down) {
        self.handling.send(Party::Client(to), Letter::Down(message), 0);
    }

    /// Starts work; the server computes in no time, and its result comes as
    /// [`Done`](crate::ServerEvent::Done) at this instant.
    pub fn compute(&mut self, work: S::Work) {
        self.handling.compute(work, SimSpan::ZERO);
    }

    /// Releases what `mechanism` makes of something of all clients, such as a sum over a cohort:
    /// draws the noise, charges every client, asked or not, and returns the noisy value.
    ///
    /// # Errors
    ///
    /// As [`ClientContext::release`].
    pub fn release<M: Mechanism + ?Sized>(
        &mut self,
        channel: Channel,
        mechanism: &M,
        input: &M::Input,
    ) -> Result<M::Release, StrategyError> {
        let handling = &mut self.handling;
        let stream = self.noise.stream(channel.purpose, || handling.rng(channel.purpose));
        let release = mechanism.release_in(handling.env.world.noise, input, stream);
        let release = release.map_err(|error| handling.unreleased(channel, &error))?;
        let law = mechanism.law();
        let paid = |(of, other, _): &(usize, Law, u64)| (*of, *other) == (channel.mechanism, law);
        match self.record.charged.iter().position(paid) {
            Some(at) => self.record.charged[at].2 += 1,
            None => self.record.charged.push((channel.mechanism, law, 1)),
        }
        let n_clients = u64::from(handling.env.shares.n_clients());
        let epsilon = law.epsilon() * n_clients as f64;
        handling
            .core
            .release(handling.round, channel.mechanism, n_clients, epsilon);
        Ok(release)
    }

    /// The clients that are online now, ascending. Those that have left a round count as online.
    pub fn online(&self) -> Vec<ClientId> {
        let Handling { env, now, round, .. } = &self.handling;
        let availability = &env.world.availability;
        let is_online = |id: &ClientId| {
            let cursor = &mut PresenceCursor::default();
            availability.presence(*id, *round, *now, cursor, env.ground.streams) == Presence::Online
        };
        let all = (0..env.shares.n_clients()).map(ClientId);
        all.filter(|id| availability.is_perfect() || is_online(id)).collect()
    }

    /// The clients to ask in this round, ascending. A selection that keeps a state moves it by each
    /// call.
    ///
    /// # Errors
    ///
    /// As [`Candidates::select`](crate::world::Candidates::select).
    pub fn cohort(&mut self) -> Result<Vec<ClientId>, StrategyError> {
        let Handling { env, round, now, .. } = self.handling;
        let at = (env.shares.n_clients(), round, now);
        self.record.memory.select(env.selection(), at, env.ground.streams)
    }

    /// Notes for later selections that a client has answered in the event being handled: its
    /// training samples by its own word, and the metrics that the selection asks for, in its order.
    pub fn answered(&mut self, client: ClientId, n_samples: Option<u32>, metrics: Vec<f32>) {
        let Handling {
            env, event_round, now, ..
        } = self.handling;
        if env.selection().remembers() {
            let of = (n_samples, metrics);
            self.record.memory.answered(client, (event_round, now), of);
        }
    }

    /// How many clients are asked in a round, at most.
    pub fn asked(&self) -> u32 {
        self.selection().asked(self.n_clients())
    }

    /// With how many results the round is complete.
    pub fn needed(&self) -> u32 {
        self.selection().needed(self.n_clients())
    }

    /// How long the round may take.
    pub fn deadline(&self) -> Option<SimSpan> {
        self.handling.env.world.deadline
    }

    /// Ends the round. What is sent from now on belongs to the next one.
    pub fn round_done(&mut self, report: RoundReport) {
        let (round, now) = (self.handling.round, self.handling.now);
        self.record.rounds.push(RoundRow {
            round: round.0,
            virtual_s: now.as_secs(),
            cohort: report.cohort,
            completed: report.completed,
            dropped: report.dropped,
            late: 0,
            staleness_mean: report.staleness_mean,
        });
        self.record.round_ends.push((round, now));
        self.record.round = round.next();
        self.handling.round = self.record.round;
    }

    /// Counts a result of an earlier round that came after its end: one fewer dropped, one more
    /// late.
    pub fn late(&mut self, round: Round) {
        if let Some(row) = self.record.rounds.get_mut(round.0 as usize) {
            row.late += 1;
            row.dropped = row.dropped.saturating_sub(1);
        }
    }

    /// Names what the system is about from here on, in a word or two, for whoever measures how long
    /// stages take: the stage begins with the server's next event. Nothing else comes of it.
    pub fn stage(&mut self, name: &'static str) {
        self.record.stage = Some(name);
    }

    /// Ends the run: the server handles nothing more, and what is under way stays so.
    pub fn finish(&mut self) {
        self.record.finished_at.get_or_insert(self.handling.now);
    }
}
