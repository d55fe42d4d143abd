//! The server's side of rounds: the model, and one of three state machines that decide when the
//! model is updated.

mod buffered;
mod detection;
mod model;
mod secure;
mod seen;
mod synchronous;

use super::message::{Extra, Up};
use super::{Exchange, Memory, Protocol, Rounds, Secure, SidePayload, Trainer};
use buffered::Buffered;
pub(crate) use detection::Detection;
use folkmoot_engine::prelude::*;
pub(super) use model::Turn;
use model::{Global, unread};
use secure::SecureAggregation;
pub use seen::{Seen, SeenUpdate};
use serde::{Deserialize, Serialize};
use synchronous::Synchronous;

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "C: State, M: State, T: State")]
pub struct Server<C, M = (), T = ()> {
    global: Global<C, M>,
    mode: Mode<T>,
}

/// State machine that decides when the model is updated.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: State")]
enum Mode<T> {
    Synchronous(Synchronous<T>),
    Buffered(Buffered),
    Secure(SecureAggregation<T>),
}

impl<C: State + Default, M: State + Default, T: Extra> Server<C, M, T> {
    pub(super) fn new(parameters: Vec<f32>, protocol: &Protocol) -> Self {
        Server {
            global: Global::new(parameters),
            mode: match (protocol.buffer(), protocol.secure) {
                (Some(size), _) => Mode::Buffered(Buffered::new(size)),
                (None, Secure::Pairwise { .. }) => Mode::Secure(SecureAggregation::default()),
                (None, Secure::Off) => Mode::Synchronous(Synchronous::default()),
            },
        }
    }
}

impl<C: State, M: State, T: Extra> Server<C, M, T> {
    pub fn parameters(&self) -> &[f32] {
        &self.global.parameters
    }

    /// Number of rounds up to now in which every received update was rejected.
    pub(super) fn rounds_without_accepted_update(&self) -> u32 {
        self.global.rounds_without_accepted_update()
    }

    /// Updates of the last rounds that are kept, the oldest first.
    pub(super) fn seen(&self) -> &[Seen] {
        &self.global.seen
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.global.memory
    }

    /// The trainer's state at the server, as [`Opening::state`](crate::Opening::state).
    pub(super) fn state(&self) -> &[u8] {
        &self.global.aggregated
    }

    /// The server's state of side payloads.
    pub fn collected(&self) -> &C {
        &self.global.collected
    }

    /// How often the aggregator excluded the right clients.
    pub(super) fn detection(&self) -> Detection {
        self.global.detection
    }

    /// As [`Global::beyond_range`].
    pub(super) fn beyond_range(&self) -> (usize, f32) {
        self.global.beyond_range()
    }

    /// `refused_updates.csv`, if any update was rejected.
    pub(super) fn refusals(&self) -> Option<String> {
        self.global.refusals()
    }

    pub(super) fn handle<
        R: Trainer,
        P: SidePayload<R, ServerState = C>,
        X: Exchange<R, Message = T, ServerState = M>,
    >(
        &mut self,
        rounds: &Rounds<R, P, X>,
        event: ServerEvent<Rounds<R, P, X>>,
        cx: &mut ServerContext<'_, Rounds<R, P, X>>,
    ) -> Result<(), StrategyError> {
        let turn = &mut Turn {
            global: &mut self.global,
            rounds,
            cx,
            reported_metrics: Vec::new(),
        };
        let event = match event {
            ServerEvent::Message {
                from,
                message: Up::PackedExtra(packed),
            } => ServerEvent::Message {
                from,
                message: Up::Extra(rounds.open_extra(&packed).map_err(|damaged| unread(from, damaged))?),
            },
            ServerEvent::Message { from, message } => {
                let (message, report) = message.take_report();
                if let Some((n_samples, metrics)) = report {
                    let n = turn.cx.selection().metrics().len();
                    let of_selection = metrics.iter().copied().take(n).collect();
                    turn.cx.answered(from, n_samples, of_selection);
                    turn.reported_metrics = metrics;
                }
                ServerEvent::Message { from, message }
            }
            event => event,
        };
        if let ServerEvent::Message {
            from,
            message: Up::Extra(extra),
        } = event
        {
            let (round, collected) = (turn.cx.event_round(), &mut turn.global.collected);
            rounds.payload.collect(collected, from, round, extra)?;
            // The payload is stored; the mode only needs to know that it arrived.
            return match &mut self.mode {
                Mode::Synchronous(mode) => mode.extra_came(turn),
                Mode::Secure(mode) => mode.extra_came(turn),
                Mode::Buffered(_) => Ok(()),
            };
        }
        match &mut self.mode {
            Mode::Synchronous(mode) => mode.handle(event, turn),
            Mode::Buffered(mode) => mode.handle(event, turn),
            Mode::Secure(mode) => mode.handle(event, turn),
        }
    }
}
