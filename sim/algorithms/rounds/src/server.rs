//! The server's side of rounds: the model, and one of three state machines that say when it moves.

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
use secure::Masked;
pub use seen::{Seen, SeenUpdate};
use serde::{Deserialize, Serialize};
use synchronous::Synchronous;

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "C: State, M: State, T: State")]
pub struct Server<C, M = (), T = ()> {
    global: Global<C, M>,
    mode: Mode<T>,
}

/// When the model moves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: State")]
enum Mode<T> {
    Synchronous(Synchronous<T>),
    Buffered(Buffered),
    Secure(Masked<T>),
}

impl<C: State + Default, M: State + Default, T: Extra> Server<C, M, T> {
    pub(super) fn new(parameters: Vec<f32>, protocol: &Protocol) -> Self {
        Server {
            global: Global::new(parameters),
            mode: match (protocol.buffer(), protocol.secure) {
                (Some(size), _) => Mode::Buffered(Buffered::new(size)),
                (None, Secure::Pairwise { .. }) => Mode::Secure(Masked::default()),
                (None, Secure::Off) => Mode::Synchronous(Synchronous::default()),
            },
        }
    }
}

impl<C: State, M: State, T: Extra> Server<C, M, T> {
    pub fn parameters(&self) -> &[f32] {
        &self.global.parameters
    }

    /// For how many rounds now all updates that came were refused.
    pub(super) fn barren(&self) -> u32 {
        self.global.barren()
    }

    /// What was sent in the last rounds, as far as that is kept: the oldest first.
    pub(super) fn seen(&self) -> &[Seen] {
        &self.global.seen
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.global.memory
    }

    /// What the trainer keeps at the server: as [`Opening::state`](crate::Opening::state).
    pub(super) fn state(&self) -> &[u8] {
        &self.global.aggregated
    }

    /// What was kept of the extras.
    pub fn collected(&self) -> &C {
        &self.global.collected
    }

    /// How often the card's rule was right about whom it excluded.
    pub(super) fn detection(&self) -> Detection {
        self.global.detection
    }

    /// As [`Global::beyond_range`].
    pub(super) fn beyond_range(&self) -> (usize, f32) {
        self.global.beyond_range()
    }

    /// `refused_updates.csv`, if any was refused.
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
            reported: Vec::new(),
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
                let (message, told) = message.told();
                if let Some((n_samples, metrics)) = told {
                    let n = turn.cx.selection().metrics().len();
                    let of_selection = metrics.iter().copied().take(n).collect();
                    turn.cx.answered(from, n_samples, of_selection);
                    turn.reported = metrics;
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
            // What is left of it is that it came.
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
