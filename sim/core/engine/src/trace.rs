//! What parts note for a trace of the run, where somebody wants one.
//!
//! A note is made where and when something happens, under the key of the event that is handled. Put
//! in the order of these keys, the notes of all parts and ranks are the same for any number of
//! them.

use crate::queue::EventKey;
use folkmoot_metrics::SimTime;
use folkmoot_metrics::trace::{Event, Followed, What};
use serde::{Deserialize, Serialize};

/// Something that happened in the handling of the event of this key, or at its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) key: EventKey,
    what: What,
}

impl Note {
    pub(crate) fn event(&self) -> Event {
        Event {
            at: self.key.at,
            what: self.what,
        }
    }
}

/// What one part has noted.
pub(crate) struct Notes {
    pub(crate) followed: Followed,
    /// Of the event being handled.
    pub(crate) key: EventKey,
    all: Vec<Note>,
}

impl Notes {
    pub(crate) fn new(followed: Followed) -> Self {
        Notes {
            followed,
            key: EventKey::new(SimTime::ZERO, 0, 0),
            all: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, what: What) {
        self.add_under(self.key, what);
    }

    pub(crate) fn add_under(&mut self, key: EventKey, what: What) {
        self.all.push(Note { key, what });
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Takes the notes of before `until`, or all without it. Those of one event are in the order in
    /// which they were made.
    pub(crate) fn take(&mut self, until: Option<SimTime>) -> impl Iterator<Item = Note> {
        let is_due = move |note: &mut Note| until.is_none_or(|until| note.key.at < until);
        self.all.extract_if(.., is_due)
    }

    /// What would have come later ends with the run.
    pub(crate) fn end(&mut self, over: SimTime) {
        for note in &mut self.all {
            note.key.at = note.key.at.min(over);
        }
    }

    /// Notes that wait to be told.
    pub(crate) fn waiting(&self) -> &[Note] {
        &self.all
    }

    /// Has notes wait that a checkpoint held.
    pub(crate) fn put_back(&mut self, notes: Vec<Note>) {
        self.all = notes;
    }
}
