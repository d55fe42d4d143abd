//! What a federated system implements to be simulated.

use crate::context::{ClientContext, ServerContext};
use crate::evaluator::Evaluator;
pub use crate::fault::StrategyError;
use crate::job::JobContext;
pub use crate::privacy::{MechanismInfo, Together};
use crate::wire::{Wire, in_order};
use crate::world::{ClientSelection, World};
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_metrics::{ClientId, DropReason, Kind, SimSpan};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a checkpoint can hold. Of an `Arc` in it, [`shared`](crate::shared) says how it is written
/// once for all who hold it.
pub trait State: Send + Serialize + DeserializeOwned + 'static {}

impl<T: Send + Serialize + DeserializeOwned + 'static> State for T {}

/// One federated algorithm: its settings and the facts that everybody knows, such as the number of
/// clients.
///
/// What a party knows is what its handler is given. A client's handler gets that client's
/// [`Shard`](Self::Shard), its own state and what it was sent; the server's gets no shard. A
/// strategy is made before anybody has seen data and borrows nothing, so there is no way from a
/// handler to the data set or to another client's shard:
///
/// ```compile_fail
/// use folkmoot_engine::prelude::*;
///
/// struct Nosy;
/// impl Strategy for Nosy {
///     type Down = Never;
///     type Up = Never;
///     type Peer = Never;
///     type Shard<'a> = &'a [u32];
///     type Work = ();
///     type Done = ();
///     type Server = ();
///     type Client = ();
///     type Sight = ();
///     fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> { Ok(()) }
///     fn client(&self, _: &[u32], _: &Setup<'_>) -> Result<(), StrategyError> { Ok(()) }
///     fn on_server(&self, _: &mut (), _: ServerEvent<Self>, _: &mut ServerContext<'_, Self>) -> Result<(), StrategyError> { Ok(()) }
///     fn on_client(&self, _: &[u32], _: &mut (), _: ClientEvent<Self>, cx: &mut ClientContext<'_, Self>) -> Result<(), StrategyError> {
///         cx.shard(ClientId(7)); // the engine knows it; a handler cannot ask
///         Ok(())
///     }
///     fn perform(&self, _: Option<&[u32]>, _: &(), _: &JobContext) {}
/// }
/// ```
pub trait Strategy: Send + Sync + Sized + 'static {
    /// What the server sends to clients.
    type Down: Wire;
    /// What clients send to the server.
    type Up: Wire;
    /// What clients send each other; [`Never`](crate::wire::Never) where they do not.
    type Peer: Wire;
    /// All that one client holds: a view made by [`Shards::shard`].
    type Shard<'a>: Copy + Send + Sync;
    /// Heavy, pure work described as data, so that a checkpoint can hold it.
    type Work: State + Sync;
    /// What such work returns.
    type Done: Send;
    type Server: State + Sync;
    type Client: State + Sync;
    /// What a handler shows to whoever watches the run from above; `()` if nothing. Nothing comes
    /// back.
    type Sight;

    /// Names of the integer counters that handlers may raise with `count`, and evaluators with what
    /// they are shown.
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
    fn client(&self, shard: Self::Shard<'_>, setup: &Setup<'_>) -> Result<Self::Client, StrategyError>;

    /// Handles an event of the server's.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn on_server(
        &self,
        server: &mut Self::Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError>;

    /// Handles an event of a client's.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn on_client(
        &self,
        shard: Self::Shard<'_>,
        client: &mut Self::Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError>;

    /// Does heavy work: a client's on its shard, the server's without one. Pure: called on any
    /// thread, once or more often per work.
    fn perform(&self, shard: Option<Self::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done;

    /// The result of `work` in a dry run: the messages that follow from it are those of the real
    /// run, and as large. It skips learning, and does what messages depend on; it books the
    /// releases of the real work. Default: the work is done.
    fn placeholder(&self, shard: Option<Self::Shard<'_>>, work: &Self::Work, cx: &JobContext) -> Self::Done {
        self.perform(shard, work, cx)
    }

    /// The names of messages whose encoded size depends on values that a
    /// [`placeholder`](Self::placeholder) lacks: a dry run warns that it does not have their sizes.
    /// Default: none.
    fn sized_by_values(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The kinds of its messages in the ledger, by their places. Default: as its messages declare
    /// them; a strategy whose messages a user declares has others.
    fn kinds(&self) -> Vec<Kind> {
        in_order([Self::Down::KINDS, Self::Up::KINDS, Self::Peer::KINDS])
    }

    /// An estimate of the bytes that the states of `n_here` clients and of the server point to at
    /// most, with messages on their way and jobs under way. Default: none.
    fn heap_bytes(&self, _n_here: u32, _setup: &Setup<'_>) -> u64 {
        0
    }

    /// What becomes of `message` when its receiver is absent. Default: it waits.
    fn absence(&self, _message: &Letter<Self>) -> Absence {
        Absence::Wait
    }

    /// Whether every client gets [`ClientEvent::Start`] at time zero; the server always gets its
    /// own. Default: no.
    fn starts_clients(&self) -> bool {
        false
    }

    /// The strategy's own client selection, instead of the card's `cohort`. Default: none.
    fn selection(&self) -> Option<&dyn ClientSelection> {
        None
    }

    /// The mechanisms whose releases handlers report.
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        Vec::new()
    }

    /// What releases by several mechanisms, or of several clients, tell of one thing together,
    /// where a row of the ledger each is not all that it costs. Default: nothing.
    fn together(&self) -> Vec<Together> {
        Vec::new()
    }
}

/// The shards of all clients. Whoever makes it sees the data set and the partition, and is the only
/// one who does so before a run has ended.
pub trait Shards<S: Strategy>: Send + Sync {
    /// The number of clients.
    fn n_clients(&self) -> u32;

    /// All that `client` holds. Cheap: called at every event.
    fn shard(&self, client: ClientId) -> S::Shard<'_>;

    /// How many items that are, for `clients.csv`.
    fn size(&self, client: ClientId) -> u64;

    /// What a trusted party who sees all data does before the run, in a few words; `manifest.json`
    /// names it. Default: nothing.
    fn trusted(&self) -> Option<&'static str> {
        None
    }

    /// Does it, and leaves the outcome with the server. Default: nothing.
    fn prepare(&self, _strategy: &S, _server: &mut S::Server, _setup: &Setup<'_>) {}

    /// The same in a dry run, as [`Strategy::placeholder`]. Default: it is done.
    fn placeholder(&self, strategy: &S, server: &mut S::Server, setup: &Setup<'_>) {
        self.prepare(strategy, server, setup);
    }
}

/// So many clients who hold nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoData(pub u32);

impl<S: for<'a> Strategy<Shard<'a> = ()>> Shards<S> for NoData {
    fn n_clients(&self) -> u32 {
        self.0
    }

    fn shard(&self, _: ClientId) {}

    fn size(&self, _: ClientId) -> u64 {
        0
    }
}

/// A strategy with the data it runs on and those who watch.
pub struct System<'a, S: Strategy> {
    pub strategy: &'a S,
    /// What each client holds.
    pub shards: &'a dyn Shards<S>,
    /// What is seen from above.
    pub evaluator: &'a dyn Evaluator<S>,
}

impl<S: Strategy> Clone for System<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Strategy> Copy for System<'_, S> {}

/// What a strategy may know when it sets up.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The number of clients.
    pub n_clients: u32,
    pub world: &'a World,
    pub(crate) selection: &'a dyn ClientSelection,
    pub(crate) streams: Streams,
}

impl<'a> Setup<'a> {
    /// How clients are selected: as the strategy does, or else as the card says.
    pub fn selection(&self) -> &'a dyn ClientSelection {
        self.selection
    }

    /// The stream of the whole run for `purpose`.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        self.streams.global(purpose)
    }
}

/// A message with the way it goes.
pub enum Letter<S: Strategy> {
    /// From the server to a client.
    Down(S::Down),
    /// From a client to the server.
    Up(S::Up),
    Peer(S::Peer),
}

impl<S: Strategy> Clone for Letter<S> {
    fn clone(&self) -> Self {
        match self {
            Letter::Down(message) => Letter::Down(message.clone()),
            Letter::Up(message) => Letter::Up(message.clone()),
            Letter::Peer(message) => Letter::Peer(message.clone()),
        }
    }
}

/// What the server handles.
pub enum ServerEvent<S: Strategy> {
    Start,
    Message {
        from: ClientId,
        message: S::Up,
    },
    /// Work that the server started is finished.
    Done(S::Done),
    /// A timer that the server set has run out.
    Timer(TimerId),
    /// A message of the server's did not arrive, and its policy is to tell.
    Undelivered {
        /// Whom it was for.
        to: ClientId,
        message: S::Down,
        /// Why.
        why: DropReason,
    },
    /// Nothing is under way any more, so no round can end by waiting. It comes again whenever what
    /// the server does then is lost; a server that does nothing has stalled.
    Quiet,
}

/// What a client handles.
pub enum ClientEvent<S: Strategy> {
    Start,
    /// A message of the server's arrived.
    Message(S::Down),
    /// A message of another client's arrived, or of its own to itself.
    Peer {
        from: ClientId,
        message: S::Peer,
    },
    /// Work that this client started is finished.
    Done(S::Done),
    /// A timer that this client set has run out.
    Timer(TimerId),
    /// A message of this client's to the server did not arrive, and its policy is to tell.
    Undelivered {
        message: S::Up,
        /// Why.
        why: DropReason,
    },
    /// A message of this client's to another did not arrive, and its policy is to tell.
    UndeliveredPeer {
        /// Whom it was for.
        to: ClientId,
        message: S::Peer,
        /// What this client noted beside it.
        note: u32,
        /// Why.
        why: DropReason,
    },
}

/// A strategy's name for one of its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct TimerId(pub u32);

/// The policy for a message whose receiver is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It is held until the receiver is back.
    Wait,
    /// It is dropped, and the sender is told so by an event (`Undelivered`) this long after it was
    /// sent, or as soon as the network could tell it.
    Tell { after: SimSpan },
    /// It is dropped, and nobody is told.
    GiveUp,
}
