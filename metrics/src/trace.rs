//! What happened in a run, event by event in virtual time, as a file that <https://ui.perfetto.dev>
//! opens as it is.
//!
//! ```text
//! {"displayTimeUnit":"ns","otherData":{…},"traceEvents":[
//! {…}          an event of Chrome's trace format in each line, those after the first with a comma before them
//! ]}
//! ```
//!
//! [`LINES`] says what the events are. `ts` and `dur` are microseconds, in decimals that are exact
//! to the nanosecond. Events stand in the order in which they happened, jobs where they were asked
//! for and slices of other kinds where they ended; absences come last, client by client. An event
//! of the phase `M` named `end` closes the file and counts the others.
//!
//! While the run goes on, the file grows in the folder of the checkpoint; at the end gzip
//! compresses it. It is no part of a result: its text is the same for equal runs, its compressed
//! bytes may differ between builds and CPUs.

mod read;
mod write;

use crate::ids::{ClientId, Party, Round, SimSpan, SimTime};
use crate::ledger::DropReason;
pub use read::{Shown, Slice, TraceReader, first_difference};
use serde::{Deserialize, Serialize};
pub(crate) use write::{Mark, TraceFile};

/// The file's name in a run directory.
pub const TRACE: &str = "trace.json.gz";

/// What stands in a trace, and how.
pub const LINES: &[(&str, &str)] = &[
    (
        "message",
        "begins (b) and ends (e) under its id: phase, kind, from, to, way, round, bytes of an attempt, attempts; its fate",
    ),
    (
        "job",
        "a slice (X) of whoever does it, from when its processor is free: round",
    ),
    (
        "result lost",
        "an instant (i): the client had left the round before its job was done",
    ),
    (
        "round",
        "a slice of the server's track rounds: cohort, results completed and dropped",
    ),
    (
        "left",
        "a slice of a client's own track: from when it left a round until another reached it",
    ),
    ("away", "a slice of a client's own track: it could not be reached"),
];

/// A trace has so many events at most; what happens after the last of them is counted and left out.
pub const MOST_EVENTS: u64 = if cfg!(test) { 20_000 } else { 2_000_000 };

/// Which clients a trace follows: all, or so many of them that lie evenly among all. They are the
/// same for every seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Followed {
    /// How many clients there are.
    pub n_clients: u32,
    /// How many of them are followed, at most all.
    pub n_followed: u32,
}

impl Followed {
    /// At most so many of the clients.
    pub fn new(n_clients: u32, at_most: u32) -> Self {
        let n_followed = at_most.min(n_clients);
        Followed { n_clients, n_followed }
    }

    /// Whether this client's life is in the trace: its jobs and absences, and its messages with
    /// whomever.
    #[inline]
    pub fn has(self, client: ClientId) -> bool {
        let n_before = |id: u64| id * u64::from(self.n_followed) / u64::from(self.n_clients.max(1));
        let id = u64::from(client.0);
        n_before(id + 1) > n_before(id)
    }

    /// Whether a message between these parties is in the trace.
    #[inline]
    pub fn has_either(self, a: Party, b: Party) -> bool {
        [a, b].into_iter().any(|party| match party {
            Party::Server => false,
            Party::Client(id) => self.has(id),
        })
    }

    pub fn clients(self) -> impl Iterator<Item = ClientId> {
        (0..self.n_clients).map(ClientId).filter(move |id| self.has(*id))
    }
}

/// A message, by who sent it as which of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub from: Party,
    /// The sender's own counter.
    pub seq: u32,
    pub to: Party,
    /// The index of its kind.
    pub kind: u32,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    Delivered,
    Dropped(DropReason),
    /// The run ends before.
    InFlight,
}

impl Fate {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Delivered => "delivered",
            Fate::Dropped(DropReason::Loss) => "lost on the way",
            Fate::Dropped(DropReason::Absent) => "dropped: the receiver is away",
            Fate::Dropped(DropReason::Dropout) => "dropped: the receiver has left the round",
            Fate::InFlight => "in flight at the end",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub at: SimTime,
    pub what: What,
}

/// What happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A message is sent.
    Sent {
        message: Message,
        /// What it counts for.
        round: Round,
        /// What one attempt puts on the wire.
        bytes: u64,
        /// How often it is sent until it arrives or is given up.
        attempts: u64,
    },
    /// A message is under way no longer.
    Ended { message: Message, fate: Fate },
    /// A party asks for a job of its own.
    Job {
        party: Party,
        /// What it counts for.
        round: Round,
        /// When its processor is free for it.
        begins: SimTime,
        /// How long it takes.
        span: SimSpan,
    },
    /// The result of a job is lost, since its client has left the round.
    Lost {
        client: ClientId,
        /// What it was to count for.
        round: Round,
    },
    /// A client that has left a round is back, or the run is over.
    Left {
        client: ClientId,
        /// Which it has left.
        round: Round,
        since: SimTime,
    },
    Round {
        round: Round,
        /// When the one before ended.
        since: SimTime,
        /// Clients asked, results in time, results given up.
        counts: [u64; 3],
    },
    /// A client goes away.
    Away {
        client: ClientId,
        /// When it comes back, or the run ends.
        until: SimTime,
    },
}

/// What a trace says of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    pub version: String,
    pub scenario: String,
    pub seed: u64,
    /// Which clients are followed.
    pub clients: Followed,
}

#[cfg(test)]
mod tests;
