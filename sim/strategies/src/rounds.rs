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
pub mod message;
mod private;
#[cfg(test)]
mod private_tests;
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
pub use rule::{Krum, Mean, Median, NormClip, Rule, TrimmedMean, Update, Updates};
pub use server::{Seen, SeenUpdate, Server};
pub use server_optimiser::{Adam, Average, Momentum, ServerMoments, ServerOptimiser, Yogi};
pub use settings::{Absent, Aggregation, Completeness, Discount, Protocol, Secure, Weighting};
pub(crate) use study::is_evaluated;
pub use study::{RoundEnd, RoundStudy, Watched};
pub use task::{Read, Task, Trained};
pub use terms::TERMS;
pub use trains::{NO_ITEMS, NOT_SAID, STATISTICS, Trains};

use crate::packed;
use folkmoot_codecs::Shape;
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::CohortSpec;
use folkmoot_learning::Layout;
use folkmoot_parts::{Rules, Value};
use job::Duties;
use message::{Down, Peer, Up};
use std::sync::Arc;

/// What is trained in rounds: made of settings and public facts, as any [`Strategy`].
pub trait RoundStrategy: Send + Sync + Sized + 'static {
    /// All that one client holds.
    type Shard<'a>: Copy + Send + Sync;
    /// What the server asks of its clients besides training, sent with the model; `()` if nothing.
    type Order: Order;
    /// What a client sends beside its update, a message of its own; `()` if nothing.
    type Extra: Extra;
    /// What clients and the server tell each other before any training, where it [`exchanges`](Self::exchanges); `()` if nothing.
    type Told: Extra;
    /// What the server keeps of the extras.
    type Collected: State + Sync + Default;
    /// What a client keeps of its training, for the next one or for whoever studies the run; it is never sent. `()` if nothing.
    type Kept: State + Sync + Clone;

    /// Whether training reads what the client has kept. Default: no.
    const READS_KEPT: bool = false;
    /// The counters of its runs: those of rounds, [`COUNTERS`], and its own behind them, which [`Trained::counts`] raises. Default: none of
    /// its own.
    const COUNTERS: &'static [&'static str] = COUNTERS;

    /// The matrices of the model: its length, which of its numbers learn and how it starts follow from it.
    fn layout(&self) -> &Layout;

    /// Numbers of the model, those that do not learn included. Default: those of the layout.
    fn n_parameters(&self) -> usize {
        self.layout().len()
    }

    /// Numbers of an update. Default: as many as the model's that do not come from statistics. One of another length needs a
    /// [`combine`](Self::combine) that makes the model's of them, and neither buffered rounds nor masks.
    fn n_update(&self) -> usize {
        self.n_parameters() - self.n_fixed()
    }

    /// So many of the first numbers learn; the others, such as running statistics, are averaged whatever the server's
    /// optimiser. Default: as the layout says.
    fn n_trainable(&self) -> usize {
        self.layout().n_trainable()
    }

    /// Rows and columns of the matrices that the numbers that learn stand in, one after the other, for codecs that look at matrices. Default: as
    /// the layout says.
    fn shapes(&self) -> Vec<Shape> {
        self.layout().shapes()
    }

    /// The same of an update, whose first numbers these are. Default: as of the model.
    fn update_shapes(&self) -> Vec<Shape> {
        self.shapes()
    }

    /// Where in the model that a client was sent the numbers begin from which those of its update that learn have come; `others` stand behind these in
    /// the update. Default: they are the first.
    fn begins(&self, _others: &[f32]) -> usize {
        0
    }

    /// So many of the last numbers of the model say how clients read what they hold. They come from [`statistics`](Self::statistics) by
    /// [`fixed`](Self::fixed). Default: none, and the first round trains.
    fn n_fixed(&self) -> usize {
        0
    }

    /// What a client tells of its data in the first round; the server learns the sums over clients. Default: nothing.
    fn statistics(&self, _shard: Self::Shard<'_>) -> Vec<f64> {
        Vec::new()
    }

    /// The model's last numbers, from these sums. Default: none.
    fn fixed(&self, _sums: &[f64]) -> Vec<f32> {
        Vec::new()
    }

    /// Whether clients and the server tell each other something before any training, in a first round that trains nothing; `exchange` says how it goes. A
    /// task has this or [`n_fixed`](Self::n_fixed). Default: no.
    fn exchanges(&self) -> bool {
        false
    }

    /// What a client says in the exchange when it hears this, knowing what it has kept. Default: that it needs nothing.
    fn tell(
        &self,
        _shard: Self::Shard<'_>,
        _kept: Option<&Self::Kept>,
        _heard: Heard<Self::Told>,
    ) -> Says<Self::Told, Self::Kept> {
        Says::ready()
    }

    /// Operations that it takes a client to find out what it says on hearing this: its device takes this over its speed, and
    /// [`prepare`](Self::prepare) says it. What it hears meanwhile waits. Default: 0, and [`tell`](Self::tell) says it at once.
    fn effort(&self, _shard: Self::Shard<'_>, _kept: Option<&Self::Kept>, _heard: &Heard<Self::Told>) -> f64 {
        0.0
    }

    /// As [`tell`](Self::tell), where it takes [`effort`](Self::effort). Pure: on any thread, once or more often. Default: that it needs nothing.
    fn prepare(&self, _preparation: Preparation<'_, '_, Self>) -> Says<Self::Told, Self::Kept> {
        Says::ready()
    }

    /// What a client says in a dry run where it takes effort, as [`Strategy::placeholder`]. Default: what it [`prepare`](Self::prepare)s.
    fn prepare_placeholder(&self, preparation: Preparation<'_, '_, Self>) -> Says<Self::Told, Self::Kept> {
        self.prepare(preparation)
    }

    /// What the server answers in the exchange, to whom, once it has heard this of all. Default: nothing.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn answer(
        &self,
        _collected: &mut Self::Collected,
        _gathered: Gathered<Self::Told>,
    ) -> Result<Vec<(ClientId, Self::Told)>, StrategyError> {
        Ok(Vec::new())
    }

    /// The model before the first round. Default: drawn as the layout says.
    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.layout().initialise(rng)
    }

    /// How many samples a client learns from. One without any answers with the model as it came, which counts nothing.
    fn n_samples(&self, shard: Self::Shard<'_>) -> u32;

    /// Operations of a client's training in one round: its device takes this over its speed.
    fn cost(&self, shard: Self::Shard<'_>) -> f64;

    /// Passes over its data that a client makes in one round, of the same cost; whoever does part of its work makes some of them
    /// ([`Task::passes`]). Default: the training is one whole, and a card that wants parts of it is refused.
    fn passes(&self) -> u32 {
        1
    }

    /// What the server asks for in `round`, knowing what it has collected.
    fn order(&self, round: Round, collected: &Self::Collected) -> Self::Order;

    /// Whether answers of `round` bring an extra: the round then waits for both. Default: no.
    fn brings_extra(&self, _round: Round) -> bool {
        false
    }

    /// A client's part of a round. Pure: on any thread, once or more often per task.
    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Self::Extra, Self::Kept>;

    /// A client's part of a dry run's round, as [`Strategy::placeholder`]. Default: the model that was sent; a task with an extra or
    /// releases adds its own of the right size.
    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Self::Extra, Self::Kept> {
        Trained::model(task.parameters.to_vec())
    }

    /// Its own messages whose size depends on values, as [`Strategy::sized_by_values`]. Default: none.
    fn sized_by_values(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Puts right what a client is to keep of its training by what the server reads of it, where that is not what was learned: behind a codec, or a
    /// clip. Pure, as training is. Default: nothing.
    fn is_read(&self, _kept: &mut Option<Self::Kept>, _read: Read<'_, Self::Extra>) {}

    /// What a client keeps after it has kept `before`. Default: `now` in its place.
    fn keep(_before: Self::Kept, now: Self::Kept) -> Self::Kept {
        now
    }

    /// What a client keeps once it learns that an extra of its own was lost on the way; where [`RoundStrategy::READS_KEPT`], it is told
    /// so. Default: what it has.
    fn lost(kept: Self::Kept, _extra: Self::Extra) -> Self::Kept {
        kept
    }

    /// Takes an extra in, however late it comes. Default: it is forgotten.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn collect(
        &self,
        _collected: &mut Self::Collected,
        _client: ClientId,
        _round: Round,
        _extra: Self::Extra,
    ) -> Result<(), StrategyError> {
        Ok(())
    }

    /// Looks at the updates of a round before they are combined, where the server sees them one by one. Default: nothing.
    fn look(&self, _collected: &mut Self::Collected, _updates: &Updates<'_>) {}

    /// The model that the server has for a client, where that is not the one for all. It changes with the round alone. Default: none.
    fn own_model(&self, _collected: &Self::Collected, _client: ClientId) -> Option<Arc<[f32]>> {
        None
    }

    /// What the updates of a round come to, where the server sees them one by one. Default: what the card's rule makes of them.
    fn combine(&self, rule: &dyn Rule, updates: &Updates<'_>) -> Vec<f64> {
        rule.combine(updates)
    }

    /// What the server makes of that, or of a sum of masked updates over their weights, before its optimiser: `weight` is that of all
    /// updates together, `model` the present one. Default: it is taken as it is.
    fn settle(&self, _collected: &mut Self::Collected, _model: &[f32], mean: Vec<f64>, _weight: f64) -> Vec<f64> {
        mean
    }

    /// Whether all that clients tell of what they hold is the change of one model for all, so that a bound of its length bounds all; else what they tell
    /// besides. What a client keeps may go into its change, which is cut all the same. Default: it is not said, and clients cannot be hidden.
    ///
    /// # Errors
    ///
    /// What else they tell, with the way out.
    fn tells_model_alone(&self) -> Result<(), &'static str> {
        Err(NOT_SAID)
    }

    /// Whether training can take the gradient of each item by itself, cut it and hide it in noise, where [`Task::hidden_items`] asks for it; else why
    /// not. Default: it cannot.
    ///
    /// # Errors
    ///
    /// The reason, with the way out.
    fn hides_items(&self) -> Result<(), &'static str> {
        Err(NO_ITEMS)
    }

    /// The mechanisms that [`Task::releases`] numbers; the protocol's own, that weights are sent as they are, comes before.
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        Vec::new()
    }
}

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
