//! Events as bytes: in checkpoints, and between ranks.

use crate::event::{Content, Entry, Envelope};
use crate::job::{Asked, Job, JobContext};
use crate::queue::EventKey;
use crate::run_context::Env;
use crate::strategy::{Letter, Strategy, TimerId};
use folkmoot_metrics::{Direction, DropReason, Party, Round, SimSpan, SimTime};
use serde::{Deserialize, Serialize};

/// An event under way.
#[derive(Serialize, Deserialize)]
pub(super) struct Event<'a> {
    pub(super) key: EventKey,
    /// The index of the party it is for.
    pub(super) to: u32,
    /// It waits for a client that is away until a later round reaches it.
    pub(super) is_held: bool,
    round: Round,
    #[serde(borrow, with = "serde_bytes")]
    carried: &'a [u8],
}

/// What it carries, with work `W`.
#[derive(Serialize, Deserialize)]
enum Carried<W> {
    Start,
    Message {
        sent_at: SimTime,
        linked: bool,
        note: u32,
        letter: Written,
    },
    Done {
        work: W,
        asked: Asked,
    },
    Timer(TimerId),
    Undelivered {
        to: Party,
        letter: Written,
        note: u32,
        why: DropReason,
    },
    GivenUp,
    Leaving {
        to: Party,
        after: SimSpan,
        sent_at: SimTime,
        note: u32,
        letter: Written,
    },
}

/// A letter in its encoding.
#[derive(Serialize, Deserialize)]
struct Written {
    direction: Direction,
    kind: u32,
    /// What the ledger counts of it, which need not all travel.
    counted: u64,
    #[serde(with = "serde_bytes")]
    payload: Vec<u8>,
}

/// Appends an event to what is being written.
pub(super) fn write<S: Strategy>(
    (key, to, is_held): (EventKey, u32, bool),
    entry: &Entry<S>,
    out: Vec<u8>,
) -> postcard::Result<Vec<u8>> {
    let carried = postcard::to_allocvec(&carried(entry))?;
    let event = Event {
        key,
        to,
        is_held,
        round: entry.round,
        carried: &carried,
    };
    postcard::to_extend(&event, out)
}

fn carried<S: Strategy>(entry: &Entry<S>) -> Carried<&S::Work> {
    match &entry.content {
        Content::Start => Carried::Start,
        Content::Message(Envelope {
            sent_at,
            linked,
            note,
            letter,
        }) => Carried::Message {
            sent_at: *sent_at,
            linked: *linked,
            note: *note,
            letter: write_letter(letter),
        },
        Content::Done(job) => {
            let (work, cx) = job.work();
            Carried::Done {
                work,
                asked: cx.asked(),
            }
        }
        Content::Timer(id) => Carried::Timer(*id),
        Content::GivenUp => Carried::GivenUp,
        Content::Leaving { to, after, envelope } => Carried::Leaving {
            to: *to,
            after: *after,
            sent_at: envelope.sent_at,
            note: envelope.note,
            letter: write_letter(&envelope.letter),
        },
        Content::Undelivered { to, letter, note, why } => Carried::Undelivered {
            to: *to,
            letter: write_letter(letter),
            note: *note,
            why: *why,
        },
    }
}

fn write_letter<S: Strategy>(letter: &Letter<S>) -> Written {
    let mut payload = Vec::new();
    letter.encode(&mut payload);
    Written {
        direction: letter.direction(),
        kind: letter.kind() as u32,
        counted: letter.payload_len(),
        payload,
    }
}

impl Event<'_> {
    /// What it carries, again, or why that cannot be read.
    pub(super) fn entry<S: Strategy>(&self, env: &Env<'_, S>) -> Result<Entry<S>, String> {
        let carried: Carried<S::Work> = postcard::from_bytes(self.carried).map_err(|error| error.to_string())?;
        let content = match carried {
            Carried::Start => Content::Start,
            Carried::Message {
                sent_at,
                linked,
                note,
                letter,
            } => Content::Message(Envelope {
                sent_at,
                linked,
                note,
                letter: read_letter(&letter)?,
            }),
            Carried::Done { work, asked } => Content::Done(Job::Kept((
                work,
                JobContext::new(env.ground.streams, env.world.noise, asked),
            ))),
            Carried::Timer(id) => Content::Timer(id),
            Carried::GivenUp => Content::GivenUp,
            Carried::Leaving {
                to,
                after,
                sent_at,
                note,
                letter,
            } => Content::Leaving {
                to,
                after,
                envelope: Envelope {
                    sent_at,
                    linked: false,
                    note,
                    letter: read_letter(&letter)?,
                },
            },
            Carried::Undelivered { to, letter, note, why } => Content::Undelivered {
                to,
                letter: read_letter(&letter)?,
                note,
                why,
            },
        };
        Ok(Entry {
            round: self.round,
            content,
        })
    }
}

fn read_letter<S: Strategy>(written: &Written) -> Result<Letter<S>, String> {
    let letter = Letter::<S>::decode(written.direction, written.kind as usize, &written.payload);
    let mut letter = letter.map_err(|error| error.to_string())?;
    letter.set_counted(0);
    letter.set_counted(written.counted.saturating_sub(letter.payload_len()));
    match letter.payload_len() == written.counted {
        true => Ok(letter),
        false => Err("a letter has another size than it had".to_owned()),
    }
}
