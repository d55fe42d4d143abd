//! A deterministic discrete-event engine for federated systems.
//!
//! A [`Strategy`] says what the server and the clients do with events; [`run`](run::run) plays it on a virtual clock in a
//! [`World`] of networks, devices and absences, and counts every message and byte.
//!
//! Promises:
//! - The outcome depends on the strategy, the world and the seed alone: not on threads, windows or the host's speed.
//! - Events are ordered by `(at, origin, seq)`; `seq` is the origin's own counter.
//! - For every row of the ledger, sent = delivered + dropped + in flight; a run that breaks this fails.
//! - Random streams are derived by name, so adding a consumer moves nobody else's draws.
//!
//! A client that counts pings, and a server that sends one to each client:
//!
//! ```
//! use folkmoot_engine::prelude::*;
//!
//! struct Hello;
//! #[derive(Clone)]
//! struct Ping;
//! impl Wire for Ping {
//!     const KINDS: &'static [Kind] = &[Kind { phase: "hello", name: "ping" }];
//!     fn kind(&self) -> usize { 0 }
//!     fn encoded_len(&self) -> usize { 0 }
//!     fn encode(&self, _: &mut Vec<u8>) {}
//!     fn decode(_: usize, _: &[u8]) -> Result<Self, DecodeError> { Ok(Ping) }
//! }
//! impl Strategy for Hello {
//!     type Message = Ping;
//!     type Work = ();
//!     type Done = ();
//!     type Server = ();
//!     type Client = u32;
//!     fn server(&self, _: &Setup<'_>) -> Result<(), StrategyError> { Ok(()) }
//!     fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<u32, StrategyError> { Ok(0) }
//!     fn on_server(&self, _: &mut (), event: Event<Self>, cx: &mut ServerContext<'_, '_, Self>) -> Result<(), StrategyError> {
//!         match event {
//!             Event::Start => (0..cx.n_clients()).for_each(|id| cx.send(Party::Client(ClientId(id)), Ping)),
//!             _ => cx.finish(), // nothing is under way any more
//!         }
//!         Ok(())
//!     }
//!     fn on_client(&self, pings: &mut u32, _: Event<Self>, _: &mut Context<'_, '_, Self>) -> Result<(), StrategyError> {
//!         *pings += 1;
//!         Ok(())
//!     }
//!     fn perform(&self, _: &()) {}
//! }
//!
//! let outcome = run(&Hello, 5, &World::ideal(), 1, Options::default(), &mut Unobserved)?;
//! assert_eq!(outcome.ledger.total().delivered, 5);
//! # Ok::<(), RunError>(())
//! ```

mod context;
mod core;
mod job;
mod part;
pub mod queue;
pub mod run;
mod store;
pub mod strategy;
pub mod wire;
pub mod world;

pub use context::{Context, RoundReport, ServerContext, Spent};
pub use core::Fault;
pub use strategy::{Absence, Event, Strategy};
pub use world::World;

/// What an implementation of a strategy needs.
pub mod prelude {
    pub use crate::context::{Context, RoundReport, ServerContext};
    pub use crate::run::{Options, RunError, Unobserved, run};
    pub use crate::strategy::{
        Absence, Clients, Event, MechanismInfo, Report, Scores, Setup, State, Strategy, StrategyError, TimerId,
    };
    pub use crate::wire::{DecodeError, Wire, WireReader, put_f32s, put_u32s};
    pub use crate::world::World;
    pub use folkmoot_metrics::run_dir::Artifact;
    pub use folkmoot_metrics::{
        Bytes, ClientId, Direction, DropReason, Kind, Ledger, Party, Round, ScoreRow, SimSpan, SimTime,
    };
}
