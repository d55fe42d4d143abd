//! Training in rounds: what all federated strategies of that family share.
//!
//! A [`RoundStrategy`] says what is trained: how the model starts, what a client makes of it, what it is worth. [`Rounds`] turns
//! it into a [`Strategy`]: it draws cohorts, sends the model, waits for a number of answers, a deadline or the end of all
//! traffic, takes in the updates and begins the next round. [`Protocol`] holds the settings; `message` has the message table.
//!
//! - **Sums** over clients are in double precision, in ascending order of the clients.
//! - **Ties**: where a round needs fewer updates than it asks for, the first count; of those that come at the same instant a
//!   named stream draws.
//! - **Refused**: an update with a number that is not finite takes no part; `artifacts/refused_updates.csv` names its client and
//!   round, and the counter `refused_updates` counts it.
//! - **Rules**: a [`Rule`] makes one update of those that have come, a [`ServerOptimiser`] a step of that; both are parts of any crate.
//! - **No update** in a round, fewer than `min_updates` or than the rule needs, or none with any weight: the model and the server's moments stay as they
//!   are, and `rounds_without_update` counts the round. One update is a mean like any other.
//! - **Mixed** rounds are FedAsync's: each update that comes is mixed into the model by a share that shrinks with its age.
//! - **Late** updates of synchronous rounds are counted and dropped. In buffered aggregation no update is late, only stale.
//! - **Jobs**: training is a job of the engine and overlaps across windows; nothing of it depends on the threads.
//!
//! - **Opening**: a task may need to know something of all clients' data before it trains, such as the scale of their inputs
//!   ([`RoundStrategy::n_fixed`]). Then the first round asks for statistics, adds them up, under secure aggregation if that is on, and
//!   trains nothing. What they come to is sent with every model, so that whoever joins later has it, and never comes back. Adding up
//!   what a client holds takes no time on its device.
//! - **Exchange**: a task whose clients need more of each other than sums, such as rows of their neighbours, has them tell the server or each other in the
//!   first round ([`RoundStrategy::exchanges`]); `exchange` has its way. It asks all clients, not a cohort.
//! - **Private** rounds bound what one client can do to the model and add noise; `private` says who is protected from whom.
//! - **Secure aggregation** hides single updates from the server; `secure` has its messages and what is real about it.
//!
//! What a client trains depends on the model it was sent, its shard, and the stream named by client and round alone.
//!
//! J. Nguyen et al. Federated Learning with Buffered Asynchronous Aggregation. AISTATS 2022. <https://arxiv.org/abs/2106.06639>
//!
//! Deviation from FedBuff: a client that does not answer is replaced when the deadline of a round comes, or when nothing is
//! under way any more; the paper does not say what becomes of it.

#[cfg(test)]
mod buffered_tests;
mod client;
mod coding;
#[cfg(test)]
mod coding_tests;
mod exchange;
#[cfg(test)]
mod exchange_tests;
mod job;
pub mod known;
pub mod message;
pub mod packed;
mod private;
#[cfg(test)]
mod private_tests;
mod round_strategy;
mod rule;
#[cfg(test)]
mod rule_tests;
mod secure;
#[cfg(test)]
mod secure_tests;
mod server;
mod server_optimiser;
mod settings;
mod study;
mod task;
mod terms;
#[cfg(test)]
mod tests;
mod trains;

pub use client::Client;
pub use exchange::{Gathered, Heard, Preparation, Says};
pub use job::{Done, Work};
pub use message::{Extra, Order};
pub use private::{HiddenItems, NoiseAt, Private};
pub use round_strategy::RoundStrategy;
pub use rule::{Krum, Mean, Median, NormClip, Rule, TrimmedMean, Update, Updates};
pub use server::{Seen, SeenUpdate, Server};
pub use server_optimiser::{Adam, Average, Momentum, ServerMoments, ServerOptimiser, Yogi};
pub use settings::{Absent, Aggregation, Completeness, Discount, Protocol, Secure, Weighting};
pub use study::is_evaluated;
pub use study::{RoundEnd, RoundStudy, Watched};
pub use task::{Read, Task, Trained};
pub use terms::TERMS;
pub use trains::{NO_ITEMS, NOT_SAID, STATISTICS, Trains};

use folkmoot_draws::{Purpose, SimRng};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::CohortSpec;
use folkmoot_parts::{Rules, Value};
use folkmoot_scenarios::axis::DuplicateName;
use folkmoot_scenarios::registry::Registry;
use job::Duties;
use message::{Down, Peer, Up};

/// The counters of every strategy that trains in rounds.
pub const COUNTERS: &[&str] = &[
    "refused_updates",
    "late_updates",
    "lost_models",
    "rounds_without_update",
];

const INITIAL: Purpose = Purpose(*b"rd-start");
const PARTIAL: Purpose = Purpose(*b"rd-parts");
const LOCAL: Purpose = Purpose(*b"rd-local");

/// The place of the protocol's own mechanism, that weights are sent as they are.
const WEIGHTS: usize = 0;

/// A strategy that trains in rounds.
pub struct Rounds<R> {
    task: R,
    protocol: Protocol,
    /// Of so many of the last rounds the server keeps what it was sent.
    keeps: u32,
}

impl<R: RoundStrategy> Rounds<R> {
    /// What is trained, and how rounds go.
    ///
    /// # Errors
    ///
    /// The first rule that the settings break.
    pub fn new(task: R, protocol: Protocol) -> Result<Self, StrategyError> {
        if let Some(broken) = protocol.broken().first() {
            return Err(StrategyError(format!("protocol.{broken}")));
        }
        assert!(
            task.n_fixed() == 0 || !task.exchanges(),
            "a first round asks for statistics or exchanges"
        );
        let mut rules = Rules::default();
        protocol.suits(&Trains::of(&task), &mut rules);
        if let Some(broken) = rules.into_broken().first() {
            return Err(StrategyError(broken.to_string()));
        }
        Ok(Rounds {
            task,
            protocol,
            keeps: 0,
        })
    }

    /// The same with a server that keeps what it was sent in so many of the last rounds, for whoever studies what that tells
    /// ([`RoundEnd::seen`]); nothing else changes.
    pub fn keeping(self, n_rounds: u32) -> Self {
        Rounds {
            keeps: n_rounds,
            ..self
        }
    }

    /// What is trained.
    pub fn task(&self) -> &R {
        &self.task
    }

    /// How rounds go.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// How many passes a client makes in a round; `rng` is its own stream for that, in which event or job ever.
    fn passes(&self, rng: impl FnOnce() -> SimRng) -> u32 {
        self.protocol.completeness.passes(self.task.passes(), rng)
    }

    fn is_secure(&self) -> bool {
        self.protocol.secure != Secure::Off
    }

    /// Whether updates are taken in as they come, of whatever age.
    fn is_buffered(&self) -> bool {
        self.protocol.buffer().is_some()
    }

    /// Whether updates are changes of the model that was sent, and not models.
    fn sends_changes(&self) -> bool {
        matches!(self.protocol.aggregation, Aggregation::Buffered { .. })
    }

    /// Whether `round` asks for statistics or exchanges, and trains nothing.
    fn is_opening(&self, round: Round) -> bool {
        round.0 == 0 && (self.task.n_fixed() > 0 || self.task.exchanges())
    }

    /// Whether in `round` clients and the server tell each other what is needed before any training.
    fn is_exchange(&self, round: Round) -> bool {
        round.0 == 0 && self.task.exchanges()
    }

    fn brings_extra(&self, round: Round) -> bool {
        !self.is_opening(round) && self.task.brings_extra(round)
    }

    /// Messages that answer a model of `round`.
    fn owed(&self, round: Round) -> u64 {
        1 + u64::from(self.brings_extra(round))
    }

    /// Statistics, or what is told in an exchange, as they are, so that nothing is drawn; behind the task's own mechanisms.
    fn opening(&self) -> Channel {
        Channel::new(WEIGHTS + 1 + self.task.mechanisms().len(), Purpose(*b"rd-stats"))
    }
}

impl<R: RoundStrategy> Strategy for Rounds<R> {
    type Down = Down<R::Order, R::Told>;
    type Up = Up<R::Extra, R::Told>;
    type Peer = Peer<R::Told>;
    type Shard<'a> = R::Shard<'a>;
    type Work = Work<R::Order, R::Kept, R::Told>;
    type Done = Done<R::Extra, R::Kept, R::Told>;
    type Server = Server<R::Collected, R::Told>;
    type Client = Client<R::Extra, R::Kept, R::Told>;
    type Sight = ();

    const COUNTERS: &'static [&'static str] = R::COUNTERS;

    fn server(&self, setup: &Setup<'_>) -> Result<Self::Server, StrategyError> {
        if setup.n_clients == 0 {
            return Err(StrategyError(
                "there is nobody to train; use a partition with clients".to_owned(),
            ));
        }
        let n_clients = setup.n_clients;
        let asked = setup.world.cohort.asked(n_clients);
        if self.protocol.min_updates > asked && !self.is_buffered() {
            return Err(StrategyError(format!(
                "protocol.min_updates: must be at most {asked} (clients asked in a round), got {}",
                self.protocol.min_updates
            )));
        }
        let fewest = self.protocol.rule.fewest();
        let needed = setup.world.cohort.needed(n_clients);
        if fewest > needed && !self.is_buffered() {
            return Err(StrategyError(format!(
                "protocol.rule: needs at least {fewest} updates, and a round takes at most {needed}; ask more clients with cohort"
            )));
        }
        if let Aggregation::Buffered { size, .. } = self.protocol.aggregation
            && size > n_clients
        {
            return Err(StrategyError(format!(
                "protocol.aggregation.size: must be at most {n_clients} (clients), got {size}"
            )));
        }
        let is_drawn = matches!(setup.world.cohort, CohortSpec::Poisson { .. });
        if is_drawn && self.is_buffered() {
            return Err(StrategyError(
                "cohort: must be All, Size or Fraction with protocol.aggregation: Buffered or Mixed, where as many train at a time".to_owned(),
            ));
        }
        if self.protocol.private.hides_clients() && needed < asked {
            return Err(StrategyError(
                "cohort.over_select: must be 1 with protocol.private; whom one client is faster than would depend on it".to_owned(),
            ));
        }
        if self.is_secure() && asked > secure::MAX_CLIENTS {
            return Err(StrategyError(format!(
                "protocol.secure: takes at most {} clients a round, got {asked}; ask fewer with cohort",
                secure::MAX_CLIENTS
            )));
        }
        let model = self.task.initial(&mut setup.rng(INITIAL));
        assert_eq!(model.len(), self.task.n_parameters(), "a model has its parameters");
        Ok(Server::new(model, &self.protocol))
    }

    fn client(&self, _: R::Shard<'_>, _: &Setup<'_>) -> Result<Self::Client, StrategyError> {
        Ok(Client::new())
    }

    fn on_server(
        &self,
        server: &mut Self::Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        shard: R::Shard<'_>,
        client: &mut Self::Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, shard, event, cx);
        Ok(())
    }

    fn perform(&self, shard: Option<R::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done {
        self.work(shard.expect("clients train"), work, cx, Duties::REAL)
    }

    fn placeholder(&self, shard: Option<R::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done {
        self.work(shard.expect("clients train"), work, cx, Duties::PLACEHOLDERS)
    }

    fn sized_by_values(&self) -> Vec<&'static str> {
        let Protocol { down, up, .. } = &self.protocol;
        let (down, up) = (
            packed::sized_by_values(&**down, &["packed_model"]),
            packed::sized_by_values(&**up, &["packed_update", R::Extra::PACKED]),
        );
        [down, up, self.task.sized_by_values()].concat()
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        let is_given_up = match message {
            Letter::Down(_) => true,
            // What is kept of a training may rest on the server having its extra, so its sender is to know.
            Letter::Up(Up::Extra(_) | Up::PackedExtra(_)) if R::READS_KEPT => {
                return Absence::Tell { after: SimSpan::ZERO };
            }
            // What it has said is to be said again.
            Letter::Up(Up::PackedUpdate(..) | Up::Masked(_)) if self.protocol.up.feeds_back() => {
                return Absence::Tell { after: SimSpan::ZERO };
            }
            Letter::Up(up) => !matches!(
                up,
                Up::Update(..)
                    | Up::PackedUpdate(..)
                    | Up::Extra(_)
                    | Up::PackedExtra(_)
                    | Up::Statistics(_)
                    | Up::Told(_)
                    | Up::Ready
            ),
            Letter::Peer(_) => false,
        };
        match self.protocol.absent {
            Absent::GiveUp if is_given_up => Absence::Tell { after: SimSpan::ZERO },
            _ => Absence::Wait,
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let in_training = self.protocol.private.is_charged_in_training();
        let weights = MechanismInfo {
            mechanism: match self.protocol.secure {
                _ if in_training => "normal noise: sums of gradients",
                _ if self.protocol.private.has_shares() => "normal noise: shares, on the sum of changes",
                Secure::Off => "none: weights",
                Secure::Pairwise { .. } => "none: sum of weights",
            }
            .to_owned(),
            unit: if in_training { "one graph" } else { "one shard" }.to_owned(),
            claimed: None,
        };
        let opening = match (self.task.exchanges(), self.task.n_fixed() > 0, self.protocol.secure) {
            (true, ..) => Some(format!("none: {}", R::Told::NAME)),
            (false, true, Secure::Off) => Some("none: statistics".to_owned()),
            (false, true, Secure::Pairwise { .. }) => Some("none: sum of statistics".to_owned()),
            (false, false, _) => None,
        };
        let statistics = opening.map(|mechanism| MechanismInfo {
            mechanism,
            unit: "one shard".to_owned(),
            claimed: None,
        });
        let all = std::iter::once(weights).chain(self.task.mechanisms());
        all.chain(statistics).chain(self.protocol.private.mechanism()).collect()
    }
}

/// Adds what this crate has to what cards may name.
///
/// # Errors
///
/// When a name is taken.
pub fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_part::<dyn Rule, Mean>()?;
    registry.add_part::<dyn Rule, TrimmedMean>()?;
    registry.add_part::<dyn Rule, NormClip>()?;
    registry.add_part::<dyn Rule, Median>()?;
    registry.add_part::<dyn Rule, Krum>()?;
    registry.add_part::<dyn ServerOptimiser, Average>()?;
    registry.add_part::<dyn ServerOptimiser, Momentum>()?;
    registry.add_part::<dyn ServerOptimiser, Adam>()?;
    registry.add_part::<dyn ServerOptimiser, Yogi>()
}
