//! A deterministic discrete-event engine for federated systems.
//!
//! A [`Strategy`] handles the events of the server and the clients. [`run`](run::run) executes it
//! on a virtual clock in a [`World`] of networks, devices and availability. It counts every message
//! and byte.
//!
//! Promises:
//! - The outcome depends only on the strategy, the environment and the seed: not on threads, windows
//!   or the host's speed.
//! - Events are ordered by `(at, origin, seq)`; `seq` is the origin's own counter.
//! - For every row of the ledger, sent = delivered + dropped + in flight; a run that breaks this
//!   fails.
//! - Random streams are derived by name, so a new consumer does not change other draws.
//!
//! A client that counts pings, and a server that sends one to each client:
//!
//! ```
//! use folkmoot_engine::prelude::*;
//!
//! struct Hello;
//! messages! {
//!     /// What the server says.
//!     pub enum Down {
//!         /// A ping.
//!         0, "hello", "ping" => Ping,
//!     }
//! }
//! impl Strategy for Hello {
//!     type Down = Down;
//!     type Up = Never;
//!     type Peer = Never;
//!     type Shard<'a> = ();
//!     type Work = ();
//!     type Done = ();
//!     type Server = ();
//!     type Client = u32;
//!     type Sight = ();
//!     fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> { Ok(()) }
//!     fn client(&self, (): (), _: &Setup<'_>) -> Result<u32, StrategyError> { Ok(0) }
//!     fn on_server(&self, _: &mut (), event: ServerEvent<Self>, cx: &mut ServerContext<'_, Self>) -> Result<(), StrategyError> {
//!         match event {
//!             ServerEvent::Start => (0..cx.n_clients()).for_each(|id| cx.send(ClientId(id), Down::Ping)),
//!             _ => cx.finish(), // nothing is under way any more
//!         }
//!         Ok(())
//!     }
//!     fn on_client(&self, (): (), pings: &mut u32, _: ClientEvent<Self>, _: &mut ClientContext<'_, Self>) -> Result<(), StrategyError> {
//!         *pings += 1;
//!         Ok(())
//!     }
//!     fn perform(&self, _: Option<()>, (): &(), _: &JobContext) {}
//! }
//!
//! let system = System { strategy: &Hello, shards: &NoData(5), evaluator: &NoEvaluator };
//! let outcome = run(system, &World::ideal(), 1, Options::default(), &mut Unobserved)?;
//! assert_eq!(outcome.ledger.total().delivered, 5);
//! # Ok::<(), RunError>(())
//! ```

mod agenda;
mod client_blocks;
mod context;
mod dry_run;
pub mod evaluator;
mod event;
mod fault;
pub mod gather;
mod job;
mod link;
mod max_min_fair;
mod message_access;
mod part;
mod part_state;
mod privacy;
pub mod queue;
pub mod ranks;
pub mod release;
pub mod run;
mod run_context;
pub mod shared;
mod stall_limit;
pub mod strategy;
mod trace;
pub mod wire;
pub mod world;

pub use context::{ClientContext, RoundReport, ServerContext};
pub use evaluator::Evaluator;
pub use fault::Fault;
pub use gather::Gather;
pub use job::JobContext;
pub use release::{Channel, Receipt, Releases};
pub use strategy::{Absence, ClientEvent, ServerEvent, Strategy};
pub use world::World;

/// Imports for implementing a `Strategy`.
pub mod prelude {
    pub use crate::context::{ClientContext, RoundReport, ServerContext};
    pub use crate::evaluator::{Clients, End, Ended, Evaluator, Heard, NoEvaluator};
    pub use crate::gather::Gather;
    pub use crate::job::JobContext;
    pub use crate::messages;
    pub use crate::release::{Channel, Receipt, Releases};
    pub use crate::run::{Options, RunError, Unobserved, run};
    pub use crate::shared;
    pub use crate::strategy::{
        Absence, ClientEvent, Letter, MechanismInfo, NoData, ServerEvent, Setup, Shards, State, Strategy,
        StrategyError, System, TimerId, Together,
    };
    pub use crate::wire::{Counted, Declared, DecodeError, Never, Payload, Wire, WireReader, put_f32s, put_u32s};
    pub use crate::world::World;
    pub use folkmoot_draws::{Purpose, SimRng, Streams};
    pub use folkmoot_metrics::run_dir::Artifact;
    pub use folkmoot_metrics::{
        Bytes, ClientId, Direction, DropReason, Kind, Ledger, Party, Round, ScoreRow, Sheet, SimSpan, SimTime, Term,
        Unit, terms,
    };
}
