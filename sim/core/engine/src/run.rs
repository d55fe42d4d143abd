//! The run: windows of events handled in parallel, and what comes of them.
//!
//! A window reaches from the earliest pending event to just before anything it causes elsewhere can
//! arrive: the network's least latency. Within it the parts of the population cannot influence each
//! other, so they run in parallel; with windows off, one event is handled at a time in key order,
//! and every result must be the same.

mod checkpoint;
mod error;
mod letters;
mod memory;
mod observer;
mod options;
mod outcome;
mod team;
mod threads;
mod tracing;

pub use checkpoint::{Pause, Saved};
pub use error::RunError;
pub use observer::{Observer, Unobserved};
pub use options::Options;

use crate::client_blocks::Shares;
use crate::dry_run::CountsOnly;
use crate::evaluator::Evaluator;
use crate::event::{Content, Entry, Outgoing};
use crate::job::Helpers;
use crate::part::{ClientPart, Help, ServerPart};
use crate::part_state::Core;
use crate::queue::EventKey;
use crate::ranks::{Alone, Ranks};
use crate::run_context::{Env, Ground};
use crate::stall_limit::Progress;
use crate::strategy::{Strategy, StrategyError, System};
use crate::trace::Notes;
use crate::world::World;
use folkmoot_draws::Streams;
use folkmoot_metrics::run_dir::Artifact;
use folkmoot_metrics::trace::Followed;
use folkmoot_metrics::{ClientId, Ledger, Party, Round, SimSpan, SimTime, Tables, Term, Unit};
use std::collections::BTreeMap;
use team::{Link, Status, Team};
use threads::Task;

pub struct Outcome {
    pub ledger: Ledger,
    /// The rows of the run's tables, without those that say how it was run: the partition,
    /// observations and times. Scores during the run come before the final ones.
    pub tables: Tables,
    /// Scores of the time before the run ended: where the result hash has the readings.
    pub readings_after: u64,
    pub summary: Vec<(String, f64)>,
    /// What these and the scores are measured in, by name, where they are no plain numbers.
    pub units: BTreeMap<String, Unit>,
    /// What metrics mean that only the run itself knows.
    pub terms: Vec<Term>,
    /// What a reader of the results must know.
    pub warnings: Vec<String>,
    /// The same of the world; no result, as it follows from the others.
    pub doubts: Vec<String>,
    /// Whether the world's [`Stop`](crate::world::Stop) has ended it.
    pub stopped_early: bool,
    /// The strategy's files for `artifacts/`.
    pub artifacts: Vec<Artifact>,
    /// The strategy's counters by round: name, then one number per round.
    pub counters: Vec<(&'static str, Vec<u64>)>,
    /// Virtual time at the end.
    pub end: SimTime,
    pub handled: u64,
    /// Bytes that the engine held at the first rank, by use; no result.
    pub memory: Vec<(&'static str, u64)>,
}

/// Parts per thread: enough to even out a busy share of the clients.
const PARTS_PER_THREAD: usize = 4;
/// With fewer pending events, handing them to other threads costs more than it saves.
const PARALLEL_FROM: usize = 512;

/// Runs a system until the server finishes, no event is left, or the world's horizon is reached.
///
/// # Errors
///
/// See [`RunError`].
///
/// # Determinism
///
/// The outcome depends on the system, the world and the seed; not on `options`.
pub fn run<S: Strategy>(
    system: System<'_, S>,
    world: &World,
    seed: u64,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    run_among(&Alone, system, world, seed, (options, None), observer).map(only)
}

/// Goes on with a run of the same system, world and seed from a checkpoint, with whatever options.
///
/// # Errors
///
/// As [`run`], and [`RunError::Checkpoint`] where the checkpoint is that of another run.
///
/// # Determinism
///
/// The outcome is that of the run that was never interrupted.
pub fn resume<S: Strategy>(
    system: System<'_, S>,
    world: &World,
    seed: u64,
    options: Options,
    saved: &Saved,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    run_among(&Alone, system, world, seed, (options, Some(saved)), observer).map(only)
}

fn only(outcome: Option<Outcome>) -> Outcome {
    outcome.expect("a single rank is the first")
}

/// Runs a system together with other ranks, each of which calls this with the same system, world,
/// seed and checkpoint, on however many threads. The first has the outcome, and its observer is
/// told of everything. The others' are told of stages, and may ask for a pause.
///
/// # Errors
///
/// As [`run`] and [`resume`], at every rank.
///
/// # Determinism
///
/// The outcome is that of one process.
pub fn run_among<S: Strategy>(
    ranks: &dyn Ranks,
    system: System<'_, S>,
    world: &World,
    seed: u64,
    (options, saved): (Options, Option<&Saved>),
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, RunError> {
    /// A rank that panics ends the others, who would wait for it.
    struct Alarm<'a>(&'a dyn Ranks);
    impl Drop for Alarm<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.abort();
            }
        }
    }
    let _alarm = Alarm(ranks);
    let team = Team(ranks);
    let n_pools = if options.threads > 1 { 2 } else { 1 };
    let pools = (0..n_pools).map(|_| threads::pool(options.threads)).collect();
    let pools: Vec<_> = team.agree(pools)?;
    let n_parts = match options.threads {
        0 | 1 => 1,
        n => n * PARTS_PER_THREAD,
    };
    let place = (ranks.rank(), ranks.size());
    let shares = Shares::new(system.shards.n_clients(), n_parts as u32, place);
    let followed = match saved {
        Some(saved) => team.agree(checkpoint::followed(saved))?,
        None => options.trace.map(|n| Followed::new(shares.n_clients(), n)),
    };
    let counts_only = CountsOnly(system.evaluator);
    let evaluators: [&dyn Evaluator<S>; 2] = [system.evaluator, &counts_only];
    let evaluator = evaluators[usize::from(options.dry_run)];
    let system = System { evaluator, ..system };
    let mechanisms = system.strategy.mechanisms();
    assert!(mechanisms.len() <= 32, "a strategy has at most 32 mechanisms");
    let env = Env {
        ground: Ground::new(system, Streams::new(seed), options.dry_run),
        world,
        mechanisms: &mechanisms,
        shares,
        lookahead: world.network.lookahead().max(SimSpan(1)),
        transport: world.network.transport(),
        server_rates: world.network.access(Party::Server, Streams::new(seed)),
        wire_check: options.wire_check,
        followed,
        has_helpers: options.threads > 1,
    };
    team.agree(observer.needs(memory::needed(&env)).map_err(RunError::Memory))?;
    let [pool, of_helpers @ ..] = pools.as_slice() else {
        unreachable!("there is one at least")
    };
    let Some(of_helpers) = of_helpers.first() else {
        return play(pool, (&env, None), team, saved, options, observer);
    };
    // Jobs have threads of their own: a parallel one is never under a part that waits for another.
    of_helpers.in_place_scope(|scope| {
        let helpers = Helpers::new(scope, options.threads);
        play(pool, (&env, Some(&helpers)), team, saved, options, observer)
    })
}

fn play<'scope, S: Strategy>(
    pool: &rayon::ThreadPool,
    parties: (&Env<'scope, S>, Help<'_, 'scope>),
    team: Team<'_>,
    saved: Option<&Saved>,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, RunError> {
    let mut outcome = None;
    let mut play = || {
        let made = match saved {
            Some(saved) => Run::restore(parties, team, saved),
            None => Run::new(parties, team),
        };
        let mut run = team.agree(made)?;
        run.windows = options.windows;
        observer.stage_done("clients");
        if saved.is_none() {
            run.start();
        }
        let end = run.drive(observer)?;
        observer.stage_done(&run.stage());
        run.finish(end, observer)
    };
    threads::within(pool, Box::new(|| outcome = Some(play())));
    outcome.expect("the pool has run it")
}

/// What one part is sent in a window: a box from each part.
type Inbox<S> = Vec<Vec<Outgoing<S>>>;

struct Run<'a, 'scope, S: Strategy> {
    env: &'a Env<'scope, S>,
    helpers: Help<'a, 'scope>,
    team: Team<'a>,
    links: Vec<Link>,
    windows: bool,
    /// The server's part, which has nothing to do but at the first rank.
    server: ServerPart<S>,
    parts: Vec<ClientPart<S>>,
    status: Status,
    /// Why this rank cannot go on, until the others have heard of it.
    failed: Option<RunError>,
    rounds_seen: usize,
    scores_seen: usize,
    n_windows: u64,
    stage: Option<&'static str>,
    /// What the server had caused, and in which round, when it was last told that all is quiet.
    caused_before: Option<(u32, Round)>,
    /// The time of the last event taken before this run went on from a checkpoint.
    began_at: SimTime,
    /// The progress up to then.
    progress_before: Progress,
}

impl<'a, 'scope, S: Strategy> Run<'a, 'scope, S> {
    fn new((env, helpers): (&'a Env<'scope, S>, Help<'a, 'scope>), team: Team<'a>) -> Result<Self, RunError> {
        let (setup, Ground { strategy, shards, .. }) = (env.setup(), env.ground);
        let mut state = None;
        if team.is_first() {
            let made = strategy.server(&setup).map_err(|error| RunError::Setup {
                party: Party::Server,
                error,
            });
            env.ground.prepare(state.insert(made?), &setup);
        }
        let n_mechanisms = env.mechanisms.len();
        let shares = env.shares;
        let part = |part: u32| -> Result<ClientPart<S>, (ClientId, StrategyError)> {
            let mut states = Vec::with_capacity(shares.clients(part).count());
            for id in shares.clients(part) {
                let state = strategy.client(shards.shard(id), &setup);
                states.push(state.map_err(|error| (id, error))?);
            }
            Ok(ClientPart::new(env, part, n_mechanisms, states))
        };
        let mut made: Vec<Option<Result<_, _>>> = (0..shares.n_parts()).map(|_| None).collect();
        let part = &part;
        let tasks = made.iter_mut().zip(0..);
        threads::each(
            tasks
                .map(|(made, i)| Box::new(move || *made = Some(part(i))) as Task<'_>)
                .collect(),
        );
        // Of several clients who cannot start, the first is told of, however they are shared out.
        let (mut parts, mut failed) = (Vec::with_capacity(made.len()), None);
        for made in made.into_iter().flatten() {
            match made {
                Ok(part) => parts.push(part),
                Err((id, error)) if failed.as_ref().is_none_or(|(first, _)| id < *first) => failed = Some((id, error)),
                Err(_) => {}
            }
        }
        if let Some((id, error)) = failed {
            let party = Party::Client(id);
            return Err(RunError::Setup { party, error });
        }
        let server = ServerPart::new(env, n_mechanisms, state);
        Ok(Run::of((env, helpers), team, server, parts))
    }

    /// A run of these parts that has not begun.
    fn of(
        (env, helpers): (&'a Env<'scope, S>, Help<'a, 'scope>),
        team: Team<'a>,
        server: ServerPart<S>,
        parts: Vec<ClientPart<S>>,
    ) -> Self {
        let mut run = Run {
            env,
            helpers,
            team,
            links: (0..team.0.size()).map(|_| Link::default()).collect(),
            windows: true,
            server,
            parts,
            status: Status::default(),
            failed: None,
            rounds_seen: 0,
            scores_seen: 0,
            n_windows: 0,
            stage: None,
            caused_before: None,
            began_at: SimTime::ZERO,
            progress_before: Progress::default(),
        };
        let notes = || env.followed.map(Notes::new).map(Box::new);
        run.cores_mut().for_each(|core| core.notes = notes());
        run
    }

    fn start(&mut self) {
        if self.team.is_first() {
            let key = EventKey::new(SimTime::ZERO, 0, self.server.account.seq);
            self.server.account.seq += 1;
            let entry = Entry {
                round: Round(0),
                content: Content::Start,
            };
            self.server.core.schedule(key, Party::Server, entry);
        }
        if self.env.ground.strategy.starts_clients() {
            self.parts.iter_mut().for_each(|part| part.start(self.env));
        }
    }

    /// Handles windows until the server finished or the horizon; alike at all ranks.
    fn drive(&mut self, observer: &mut dyn Observer) -> Result<SimTime, RunError> {
        let horizon = SimTime::ZERO + self.env.world.horizon;
        let affordable = self.env.world.availability.affordable(self.env.shares.n_clients());
        self.exchange(Pause::GoOn)?;
        (self.rounds_seen, self.caused_before) = (self.status.server.n_rounds, self.status.server.caused_before);
        self.scores_seen = self.server.sheet.scores().len();
        loop {
            let Status {
                next_at: next,
                n_pending: never_due,
                now: at,
                progress,
                ref server,
                ..
            } = self.status;
            // Within one latency of the server's end nobody knows of it, so events still happen.
            let (finished_at, caused @ (_, round)) = (server.finished_at, server.caused);
            let stop = finished_at.map_or(SimTime::NEVER, |at| at + self.env.lookahead);
            if next >= stop.min(horizon) {
                // What is due at the end of time, as after a saturated latency, never comes.
                let is_quiet = next == SimTime::NEVER && (never_due == 0 || horizon == SimTime::NEVER);
                match finished_at {
                    Some(end) => return Ok(end),
                    None if !is_quiet => return Ok(horizon),
                    None => {}
                }
                if self.caused_before.replace(caused) == Some(caused) || never_due > 0 {
                    return Err(RunError::Stalled {
                        at,
                        round,
                        never_due,
                        remedy: self.env.world.remedy(),
                    });
                }
                // What the server does now happens at the time of the last of all that.
                self.tell_notes(None, observer)?;
                if self.team.is_first() {
                    self.server.quiet(self.env, at);
                }
                self.after_window(at, observer)?;
                continue;
            }
            progress.ends(next, round, self.env.world)?;
            if next >= affordable.until {
                let settings = affordable.settings.iter().map(|setting| (*setting).to_owned());
                return Err(RunError::Unaffordable {
                    until: affordable.until,
                    round,
                    settings: settings.collect(),
                });
            }
            let limit = horizon.min(affordable.until).min(progress.until());
            let end = (next + self.env.lookahead).min(stop).min(limit);
            match self.status.turn {
                None => self.window(end),
                Some((_, rank)) if rank == self.team.0.rank() => self.one_event(),
                Some(_) => {}
            }
            self.after_window(next, observer)?;
        }
    }

    fn window(&mut self, end: SimTime) {
        let (env, helpers) = (self.env, self.helpers);
        let pending: usize = self.parts.iter().map(|part| part.core.agendas.n_pending()).sum();
        if !env.has_helpers || pending < PARALLEL_FROM {
            self.server.run_until(env, helpers, end, usize::MAX);
            if let Some(helpers) = helpers {
                // Jobs of all parts are known before the first is needed.
                self.parts
                    .iter_mut()
                    .for_each(|part| part.run_to_jobs(env, Some(helpers), end));
                let cores = self.parts.iter_mut().map(|part| &mut part.core);
                let jobs: Vec<_> = cores.flat_map(Core::share_jobs).collect();
                helpers.offer(env.ground, &jobs);
            }
            self.parts.iter_mut().for_each(|part| part.run_until(env, helpers, end));
        } else {
            let (server, parts) = (&mut self.server, &mut self.parts);
            helpers.inspect(|helpers| helpers.expect_parts(parts.len()));
            let play = |part: &mut ClientPart<S>| {
                helpers.inspect(|helpers| helpers.part_begins());
                part.run_until(env, helpers, end);
            };
            let play = &play;
            let parts = parts.iter_mut().map(|part| Box::new(move || play(part)) as Task<'_>);
            let parts = parts.collect();
            threads::both(
                Box::new(|| server.run_until(env, helpers, end, usize::MAX)),
                Box::new(|| threads::each(parts)),
            );
        }
    }

    /// The smallest key of all events, and where the event is: 0 at the server, or after the number
    /// of its part, with its block.
    fn turn(&mut self) -> Option<(EventKey, (usize, usize))> {
        let server = match self.server.record.finished_at {
            None => self.server.core.agendas.next(),
            Some(_) => None,
        };
        let server = server.map(|(key, block)| (key, (0, block)));
        let parts = self.parts.iter_mut().zip(1..);
        let parts = parts.filter_map(|(part, i)| part.core.agendas.next().map(|(key, block)| (key, (i, block))));
        parts.chain(server).min()
    }

    /// Handles the one event with the smallest key.
    fn one_event(&mut self) {
        match self.turn() {
            Some((_, (0, _))) => self.server.run_until(self.env, self.helpers, SimTime::NEVER, 1),
            Some((_, (i, block))) => self.parts[i - 1].run_one(self.env, self.helpers, block),
            None => {}
        }
    }

    /// Hands over what the parts sent each other.
    fn hand_over(&mut self) {
        let n = self.parts.len() + 1;
        let mut inboxes: Vec<Inbox<S>> = (0..n).map(|_| Vec::with_capacity(n)).collect();
        let mut total = 0;
        for core in self.cores_mut() {
            for (inbox, outbox) in inboxes.iter_mut().zip(&mut core.outboxes) {
                total += outbox.len();
                inbox.push(std::mem::take(outbox));
            }
        }
        let take = |(core, inbox): (&mut Core<S>, &mut Inbox<S>)| {
            core.receive(inbox.iter_mut().flat_map(|letters| letters.drain(..)));
        };
        if total < PARALLEL_FROM {
            self.cores_mut().zip(&mut inboxes).for_each(take);
        } else {
            let (server, clients) = inboxes.split_at_mut(1);
            take((&mut self.server.core, &mut server[0]));
            let cores = self.parts.iter_mut().map(|part| &mut part.core).zip(clients);
            threads::each(cores.map(|both| Box::new(move || take(both)) as Task<'_>).collect());
        }
        // The emptied boxes go back to be filled again.
        for (to, inbox) in inboxes.into_iter().enumerate() {
            for (core, empty) in self.cores_mut().zip(inbox) {
                core.outboxes[to] = empty;
            }
        }
    }

    fn cores(&self) -> impl Iterator<Item = &Core<S>> {
        std::iter::once(&self.server.core).chain(self.parts.iter().map(|part| &part.core))
    }

    fn cores_mut(&mut self) -> impl Iterator<Item = &mut Core<S>> {
        std::iter::once(&mut self.server.core).chain(self.parts.iter_mut().map(|part| &mut part.core))
    }

    /// What is due after a window that began at `at`.
    fn after_window(&mut self, at: SimTime, observer: &mut dyn Observer) -> Result<(), RunError> {
        let n_rounds = self.server.record.rounds.len();
        self.exchange(observer.pause(at, n_rounds))?;
        if let Some((key, party, fault)) = self.status.stop.take() {
            return Err(RunError::Handler {
                at: key.at,
                party,
                fault,
            });
        }
        let next = self.server.record.stage;
        if self.n_windows == 0 || next != self.stage {
            observer.stage_done(&self.stage());
            self.stage = next;
        }
        self.n_windows += 1;
        let (pause, n_rounds) = (self.status.pause, self.status.server.n_rounds);
        if n_rounds > self.rounds_seen || pause != Pause::GoOn || self.has_much_to_tell() {
            self.tell_notes(Some(self.settled_until()), observer)?;
        }
        if n_rounds > self.rounds_seen {
            let (rounds_seen, scores_seen) = (self.rounds_seen, self.scores_seen);
            (self.rounds_seen, self.scores_seen) = (n_rounds, self.server.sheet.scores().len());
            self.gather_counts()?;
            if self.team.is_first() {
                let this = &*self;
                let (rounds, scores) = (&this.server.record.rounds, this.server.sheet.scores());
                observer.progressed(&rounds[rounds_seen..], &scores[scores_seen..]);
                let told = observer.rounds_done(rounds, &mut || this.message_rows(&this.server.core.ledger));
                self.told(told)?;
            }
        }
        if pause != Pause::GoOn {
            let saved = self.save()?;
            if let Some(saved) = saved {
                let told = observer.checkpoint(saved, pause);
                self.told(told)?;
            }
        }
        match pause {
            // Nothing is asked of anybody any more, so all hear first whether the first could save.
            Pause::Stop => self
                .team
                .agree(self.failed.take().map_or(Ok(()), Err))
                .and(Err(RunError::Stopped {
                    at,
                    round: self.status.server.caused.1,
                })),
            Pause::GoOn | Pause::Save => Ok(()),
        }
    }

    /// An observer that gives up ends the run: here at once, among ranks when all hear of it.
    fn told(&mut self, told: Result<(), String>) -> Result<(), RunError> {
        match told.map_err(RunError::Observer) {
            Err(error) if self.team.is_alone() => Err(error),
            Err(error) => {
                self.failed.get_or_insert(error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn stage(&self) -> String {
        match (self.n_windows, self.stage) {
            (0, _) => "first window".to_owned(),
            (_, None) => "simulate".to_owned(),
            (_, Some(stage)) => format!("simulate: {stage}"),
        }
    }

    /// Gives the server's part what all have counted, so that no other keeps anything of every
    /// round, and lets go of content that went by.
    fn gather_counts(&mut self) -> Result<(), RunError> {
        for part in &mut self.parts {
            self.server.core.take_counts(&mut part.core);
        }
        self.cores_mut().for_each(Core::forget_carried);
        self.links.iter_mut().for_each(Link::forget);
        match self.team.is_alone() {
            true => Ok(()),
            false => self.gather_ranks_counts(),
        }
    }
}
