//! Why a run fails.

use crate::fault::{Fault, StrategyError};
use folkmoot_metrics::{Party, Round, SimTime};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum RunError {
    /// The strategy cannot start.
    #[error("{party} cannot start: {error}")]
    Setup {
        party: Party,
        /// Why.
        error: StrategyError,
    },
    #[error("at {} s of virtual time, {party}: {fault}", .at.as_secs())]
    Handler {
        at: SimTime,
        party: Party,
        /// Why.
        fault: Fault,
    },
    /// Nothing more happens, and the server waits for something.
    #[error("the run stalls in round {} at {} s of virtual time: {}", .round.0, .at.as_secs(), waiting(*.never_due, .remedy))]
    Stalled {
        at: SimTime,
        round: Round,
        /// How many events are due only at the end of time.
        never_due: usize,
        /// What can be done about lost and late messages, by
        /// [`World::remedy`](crate::World::remedy).
        remedy: String,
    },
    /// Events go on, and nothing comes of them.
    #[error("the run stalls in round {}: between {} s and {} s of virtual time no message was delivered, no work was \
         finished and no round ended; {remedy}", .round.0, .since.as_secs(), .until.as_secs())]
    Idle {
        /// When there was progress for the last time.
        since: SimTime,
        /// How long it was waited for.
        until: SimTime,
        round: Round,
        /// As of [`Stalled`](Self::Stalled).
        remedy: String,
    },
    /// Clients come and go too often to be followed this far.
    #[error("clients come and go too often to be followed past {} s of virtual time, which round {} reaches; \
         raise {}, or end the run before with horizon_s", .until.as_secs(), .round.0, .settings.join(" or "))]
    Unaffordable {
        /// How far they can be followed.
        until: SimTime,
        round: Round,
        /// The settings of the card by which it is no farther.
        settings: Vec<String>,
    },
    /// There is not so much memory.
    #[error("{0}")]
    Memory(String),
    /// The observer gave up.
    #[error("{0}")]
    Observer(String),
    /// The observer wanted no more, and has been given a checkpoint.
    #[error("stopped as asked at {} s of virtual time, in round {}", .at.as_secs(), .round.0)]
    Stopped { at: SimTime, round: Round },
    /// A checkpoint cannot be written or gone on with.
    #[error("{0}")]
    Checkpoint(String),
    /// A row of the ledger does not balance: a bug of the engine.
    #[error("the ledger loses messages of kind {kind} in round {}: a bug of the engine", .round.0)]
    Unbalanced { kind: String, round: Round },
    /// Another rank cannot go on.
    #[error("rank {rank}: {why}")]
    Elsewhere {
        rank: usize,
        /// Why.
        why: String,
    },
    /// Another rank has sent something that this one cannot read: a bug of the engine, or ranks of
    /// different programs.
    #[error("what rank {from} has sent cannot be read: {why}; all ranks must be the same program")]
    Unread {
        /// Who has sent it.
        from: usize,
        /// Why.
        why: String,
    },
    /// The thread pool could not be made.
    #[error("cannot start the threads: {0}")]
    Threads(String),
}

/// Why a server that is told of nothing more goes on waiting.
fn waiting(never_due: usize, remedy: &str) -> String {
    match never_due {
        0 => format!("nothing is under way, and the server goes on waiting; {remedy}"),
        n => format!(
            "what is under way ({n} in number) would take longer than virtual time lasts, 584 years; lower the latencies and \
             spans of the card, raise its rates and speeds, or end the run before with horizon_s"
        ),
    }
}
