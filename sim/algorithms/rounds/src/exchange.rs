//! An exchange before training: clients and the server tell each other what training needs, once,
//! in a first round that trains nothing.
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `opening` | downlink, to all clients | nothing | 0 |
//! | [`Message`](Exchange::Message), by its name | uplink, downlink, peer | what the task makes of it | its own |
//! | `ready` | uplink | nothing: the client has all that it needs | 0 |
//!
//! A client owes the server one message for the opening and one for each answer of the server's:
//! what it tells, or that it is ready. What comes from other clients it is not asked for by the
//! server, and it may come before the opening does; a client that waits for others says that it is
//! ready when they have told it all. Once everybody has spoken, or the deadline has come, or
//! nothing is under way any more, the server answers those whom the task names, and gathers again;
//! when nobody has told it anything more, the round ends. A client that hears of it later keeps
//! what it has, which may be nothing: what it trains on then is the task's to say.
//!
//! What a client says takes no time on its device, or as much as the task's
//! [`effort`](Exchange::effort) on hearing what it heard: then it is work like a training, and what
//! the client hears meanwhile waits until it has said what comes of that.
//!
//! Under secure aggregation the statistics of the clients are added up first, masked as an update
//! is, and the server answers knowing the sums; without it a task that exchanges is asked for no
//! statistics.

use super::server::Turn;
use super::{Extra, SidePayload, Trainer};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};

/// What clients and the server exchange before any training. Given to
/// [`Rounds::with_exchange`](crate::Rounds::with_exchange).
pub trait Exchange<R: Trainer>: Send + Sync + 'static {
    /// What they send each other.
    type Message: Extra;
    /// What the server makes of it.
    type ServerState: State + Sync + Default;

    /// Numbers of a client that the server learns the sums of under secure aggregation. Default:
    /// none.
    fn statistics(&self, _trainer: &R, _shard: R::Shard<'_>) -> Vec<f64> {
        Vec::new()
    }

    /// Operations that a client needs to find its answer to what it hears: its device takes this
    /// over its speed, and [`prepare`](Self::prepare) answers. What it hears meanwhile waits.
    /// Default: 0, and [`tell`](Self::tell) answers at once.
    fn effort(
        &self,
        _trainer: &R,
        _shard: R::Shard<'_>,
        _kept: Option<&R::ClientState>,
        _heard: &Heard<Self::Message>,
    ) -> f64 {
        0.0
    }

    /// A client's answer to what it hears. Default: that it needs nothing.
    fn tell(
        &self,
        _trainer: &R,
        _shard: R::Shard<'_>,
        _kept: Option<&R::ClientState>,
        _heard: Heard<Self::Message>,
    ) -> Says<Self::Message, R::ClientState> {
        Says::ready()
    }

    /// As [`tell`](Self::tell), where it takes [`effort`](Self::effort); in a dry run a placeholder
    /// of the right size. Pure: on any thread, once or more often. Default: that it needs nothing.
    fn prepare(
        &self,
        _trainer: &R,
        _preparation: Preparation<'_, '_, R, Self::Message>,
        _is_dry: bool,
    ) -> Says<Self::Message, R::ClientState> {
        Says::ready()
    }

    /// The server's answers, and to whom, once it has heard from all.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn answer(
        &self,
        trainer: &R,
        state: &mut Self::ServerState,
        gathered: Gathered<Self::Message>,
    ) -> Result<Vec<(ClientId, Self::Message)>, StrategyError>;
}

impl<R: Trainer> Exchange<R> for () {
    type Message = ();
    type ServerState = ();

    fn answer(&self, _: &R, (): &mut (), _: Gathered<()>) -> Result<Vec<(ClientId, ())>, StrategyError> {
        Ok(Vec::new())
    }
}

/// What a client hears in an exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Heard<T> {
    Opening,
    /// An answer of the server's.
    Server(T),
    /// What another client tells.
    Client(ClientId, T),
}

/// A client's work in an exchange, for what it says then.
pub struct Preparation<'s, 'a, R: Trainer, T> {
    /// All that it holds.
    pub shard: R::Shard<'s>,
    /// What it has kept.
    pub kept: Option<&'a R::ClientState>,
    /// What it has heard.
    pub heard: &'a Heard<T>,
    cx: &'a JobContext,
}

impl<'s, 'a, R: Trainer, T> Preparation<'s, 'a, R, T> {
    /// What a client that holds this has at hand, in the round of `cx`.
    pub fn new(shard: R::Shard<'s>, kept: Option<&'a R::ClientState>, heard: &'a Heard<T>, cx: &'a JobContext) -> Self {
        Preparation { shard, kept, heard, cx }
    }

    /// The stream of this client in an exchange for `purpose`, whatever it has heard before.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        self.cx.round_rng(purpose)
    }

    /// The stream of a single `item` of an exchange, whichever client works on it.
    pub fn item_rng(&self, purpose: Purpose, item: u32) -> SimRng {
        self.cx.item_rng(purpose, item)
    }
}

/// What a client says then.
#[derive(Clone, Debug)]
pub struct Says<T, K> {
    /// What it keeps from now on; with `None` what it has.
    pub kept: Option<K>,
    pub to_clients: Vec<(ClientId, T)>,
    pub to_server: Option<T>,
    /// Whether it has all that it needs; it says so once.
    pub is_ready: bool,
}

impl<T, K> Says<T, K> {
    pub fn nothing() -> Self {
        Says {
            kept: None,
            to_clients: Vec::new(),
            to_server: None,
            is_ready: false,
        }
    }

    /// That it needs nothing more.
    pub fn ready() -> Self {
        Says {
            is_ready: true,
            ..Says::nothing()
        }
    }
}

/// What the server has heard when it answers.
#[derive(Clone, Debug)]
pub enum Gathered<T> {
    /// What clients have told since it last answered, in their ascending order.
    Each(Vec<(ClientId, T)>),
    /// Under secure aggregation, what their statistics come to.
    Sums(Vec<f64>),
}

/// What has come of an exchange so far.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Gathering<T> {
    told: Vec<(ClientId, T)>,
    n_ready: u64,
}

impl<T> Default for Gathering<T> {
    fn default() -> Self {
        Gathering {
            told: Vec::new(),
            n_ready: 0,
        }
    }
}

impl<T> Gathering<T> {
    pub(super) fn told(&mut self, client: ClientId, told: T) {
        self.told.push((client, told));
    }

    pub(super) fn ready(&mut self) {
        self.n_ready += 1;
    }

    /// How many clients have all that they need.
    pub(super) fn n_ready(&self) -> u64 {
        self.n_ready
    }

    /// Answers what was told; so many are due then, if any.
    pub(super) fn answer<R: Trainer, P: SidePayload<R>, X: Exchange<R, Message = T>>(
        &mut self,
        turn: &mut Turn<'_, '_, R, P, X>,
    ) -> Result<Option<u64>, StrategyError> {
        if self.told.is_empty() {
            return Ok(None);
        }
        let mut told = std::mem::take(&mut self.told);
        told.sort_by_key(|(client, _)| *client);
        let n = turn.answer(Gathered::Each(told))?;
        Ok((n > 0).then_some(n))
    }
}
