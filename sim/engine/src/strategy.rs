//! What a federated system implements to be simulated.

use crate::context::{Context, ServerContext};
use crate::wire::Wire;
use crate::world::World;
use folkmoot_draws::{SimRng, Streams};
use folkmoot_metrics::run_dir::Artifact;
use folkmoot_metrics::{ClientId, Direction, DropReason, Kind, Ledger, Party, Round, RoundRow, ScoreRow, SimSpan};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// What a checkpoint can hold.
pub trait State: Send + Serialize + DeserializeOwned {}

impl<T: Send + Serialize + DeserializeOwned> State for T {}

/// One federated algorithm. Its parameters are its fields; what changes during a run is in `Server` and `Client`.
///
/// A handler sees its own party's state, the event and a [`Context`], and nothing else: what a client knows is its own
/// shard and what it was sent.
pub trait Strategy: Send + Sync + Sized {
    /// Everything that can travel, as one enum.
    type Message: Wire;
    /// Heavy, pure work described as data, so that a checkpoint can hold it.
    type Work: State + Sync;
    /// What such work returns.
    type Done: Send;
    /// The server's state.
    type Server: State + Sync;
    /// A client's state.
    type Client: State + Sync;

    /// Names of the integer counters that handlers may raise with [`Context::count`].
    const COUNTERS: &'static [&'static str] = &[];

    /// The server's state at the start.
    ///
    /// # Errors
    ///
    /// When the strategy cannot run in this world.
    fn server(&self, setup: &Setup<'_>) -> Result<Self::Server, StrategyError>;

    /// A client's state at the start. Called once per client, in parallel.
    ///
    /// # Errors
    ///
    /// When the client's data do not suit the strategy.
    fn client(&self, client: ClientId, setup: &Setup<'_>) -> Result<Self::Client, StrategyError>;

    /// Handles an event of the server's.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn on_server(
        &self,
        server: &mut Self::Server,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError>;

    /// Handles an event of a client's.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn on_client(
        &self,
        client: &mut Self::Client,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError>;

    /// Does heavy work. Pure: no context, no shared state; called on any thread, once or more often per work.
    fn perform(&self, work: &Self::Work) -> Self::Done;

    /// What becomes of `message` when its receiver is absent. Default: it waits.
    fn absence(&self, _message: &Self::Message) -> Absence {
        Absence::Wait
    }

    /// Whether every client gets [`Event::Start`] at time zero; the server always does. Default: no.
    fn starts_clients(&self) -> bool {
        false
    }

    /// The mechanisms whose releases handlers report with [`Context::spend`].
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        Vec::new()
    }

    /// How many messages theory predicts for a row of the ledger, where it does.
    fn expected_messages(&self, _setup: &Setup<'_>, _kind: Kind, _round: Round, _direction: Direction) -> Option<f64> {
        None
    }

    /// Final scores. The one all-seeing view: read-only, outside virtual time, on its own stream.
    fn evaluate(
        &self,
        _server: &Self::Server,
        _clients: &Clients<'_, Self::Client>,
        _report: &Report<'_>,
        _rng: &mut SimRng,
    ) -> Scores {
        Scores::default()
    }
}

/// What `evaluate` returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Rows for `scores.csv`.
    pub rows: Vec<ScoreRow>,
    /// Numbers for `summary.json`; a name `metric@label` is a reference value for `metric`, and
    /// `metric[parameter=value]` a point of a curve over a parameter that one run has several values of.
    pub summary: Vec<(String, f64)>,
    /// Files for `artifacts/`.
    pub artifacts: Vec<Artifact>,
}

/// What a strategy may know when it sets up.
pub struct Setup<'a> {
    /// The number of clients.
    pub n_clients: u32,
    /// The streams of the run.
    pub streams: Streams,
    /// The world.
    pub world: &'a World,
    /// Every message is wanted, and no learning.
    pub dry_run: bool,
}

/// What a run has come to when [`Strategy::evaluate`] is asked.
pub struct Report<'a> {
    /// What the strategy knew at the start.
    pub setup: Setup<'a>,
    /// Every message and byte.
    pub ledger: &'a Ledger,
    /// The finished rounds.
    pub rounds: &'a [RoundRow],
    /// The strategy's counters over all rounds, in the order of [`Strategy::COUNTERS`].
    pub counters: Vec<u64>,
}

/// What a handler handles.
pub enum Event<S: Strategy> {
    /// The run begins.
    Start,
    /// A message arrived.
    Message {
        /// Its sender.
        from: Party,
        /// The message.
        message: S::Message,
    },
    /// Work that this party started is finished.
    Done(S::Done),
    /// A timer that this party set has run out.
    Timer(TimerId),
    /// A message of this party's did not arrive, and its policy is to tell.
    Undelivered {
        /// Whom it was for.
        to: Party,
        /// The message.
        message: S::Message,
        /// Why.
        why: DropReason,
    },
    /// To the server only: nothing is under way any more, so no round can end by waiting. It comes again whenever what the
    /// server does then is lost; a server that does nothing has stalled.
    Quiet,
}

/// A strategy's name for one of its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct TimerId(pub u32);

/// The policy for a message whose receiver is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It is held until the receiver is back.
    Wait,
    /// It is dropped, and the sender gets [`Event::Undelivered`] this long after it was sent, or as soon as the network
    /// could tell it.
    Tell {
        /// The time-out.
        after: SimSpan,
    },
    /// It is dropped, and nobody is told.
    GiveUp,
}

/// One mechanism of the privacy ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismInfo {
    /// Its name, or `none` where nothing protects a message.
    pub mechanism: String,
    /// What one release protects.
    pub unit: String,
    /// The delta of one release.
    pub delta: f64,
    /// How totals are composed.
    pub composition: String,
    /// What the paper claims for the whole.
    pub claimed: Option<f64>,
}

/// All clients' states, for [`Strategy::evaluate`].
pub struct Clients<'a, C> {
    pub(crate) parts: Vec<&'a [C]>,
    pub(crate) len: u32,
}

impl<C> Clients<'_, C> {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The state of one client.
    pub fn get(&self, client: ClientId) -> Option<&C> {
        let n = self.parts.len().max(1) as u32;
        self.parts.get((client.0 % n) as usize)?.get((client.0 / n) as usize)
    }

    /// All states, in ascending order of the clients.
    pub fn iter(&self) -> impl Iterator<Item = (ClientId, &C)> {
        (0..self.len).map(ClientId).filter_map(|id| Some((id, self.get(id)?)))
    }
}

/// Why a strategy cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyError(pub String);

impl fmt::Display for StrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StrategyError {}
