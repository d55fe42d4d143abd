//! What waits in the queues: events with what they carry.

use crate::job::Job;
use crate::queue::EventKey;
use crate::strategy::{Letter, Strategy, TimerId};
use folkmoot_metrics::{DropReason, Party, Round, SimSpan, SimTime};

/// A message under way.
pub(crate) struct Envelope<S: Strategy> {
    pub(crate) sent_at: SimTime,
    /// It has passed the receiver's access link.
    pub(crate) linked: bool,
    /// What the sender noted beside it.
    pub(crate) note: u32,
    pub(crate) letter: Letter<S>,
}

/// What an event carries.
pub(crate) enum Content<S: Strategy> {
    Start,
    Message(Envelope<S>),
    Done(Job<S>),
    Timer(TimerId),
    Undelivered {
        to: Party,
        letter: Letter<S>,
        note: u32,
        why: DropReason,
    },
    /// A message of the server passes its access link, which others share.
    Leaving {
        to: Party,
        /// How long it takes from there.
        after: SimSpan,
        envelope: Envelope<S>,
    },
    /// A sender gives a lost message up, and has nothing to do about it.
    GivenUp,
}

/// An event's content and the round of what caused it.
pub(crate) struct Entry<S: Strategy> {
    pub(crate) round: Round,
    pub(crate) content: Content<S>,
}

/// An event for another part.
pub(crate) struct Outgoing<S: Strategy> {
    pub(crate) key: EventKey,
    pub(crate) to: Party,
    pub(crate) entry: Entry<S>,
}
