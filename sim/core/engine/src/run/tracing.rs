//! Telling the observer what was noted, in an order that no split of the clients and no window
//! changes.

use super::{Observer, Run, RunError};
use crate::queue::EventKey;
use crate::strategy::Strategy;
use crate::trace::Note;
use folkmoot_metrics::trace::{Event, MOST_EVENTS, What};
use folkmoot_metrics::{Party, Round, SimSpan, SimTime};
use std::ops::ControlFlow;

/// So many notes are told of before the round is over. Few where assertions are checked, so that
/// tests come to it.
const MANY: usize = if cfg!(debug_assertions) { 16 } else { 1 << 16 };

impl<S: Strategy> Run<'_, '_, S> {
    /// Whether there are so many notes that somebody should be told.
    pub(super) fn has_much_to_tell(&self) -> bool {
        self.status.n_noted >= MANY
    }

    /// Notes of before then stay as they are: no event comes before the next one, and the end cuts
    /// off what comes after it, such as the last wait for a lost message.
    pub(super) fn settled_until(&self) -> SimTime {
        let finished_at = self.status.server.finished_at;
        let end = finished_at.map_or(SimTime::NEVER, |at| at + SimSpan(1));
        let horizon = SimTime::ZERO + self.env.world.horizon;
        self.status.next_at.min(end).min(horizon)
    }

    /// Tells the observer what all ranks noted of before `until`, or ever without it. Whatever
    /// comes later must happen no sooner.
    pub(super) fn tell_notes(&mut self, until: Option<SimTime>, observer: &mut dyn Observer) -> Result<(), RunError> {
        if self.env.followed.is_none() {
            return Ok(());
        }
        let notes = self.cores_mut().filter_map(|core| core.notes.as_mut());
        let notes: Vec<Note> = notes.flat_map(|notes| notes.take(until)).collect();
        let mut notes: Vec<Note> = self.gather(Ok(notes))?.into_iter().flatten().collect();
        // Stable: the notes of one event are all of one part.
        notes.sort_by_key(|note| note.key);
        match self.team.is_first() {
            true => self.tell_events(notes.iter().map(Note::event).collect(), observer),
            false => Ok(()),
        }
    }

    fn tell_events(&mut self, events: Vec<Event>, observer: &mut dyn Observer) -> Result<(), RunError> {
        let told = observer.traced(events, self.server.core.ledger.kinds());
        self.told(told)
    }

    /// What waits to be told at all ranks, for a checkpoint.
    pub(super) fn gather_waiting(&mut self) -> Result<Vec<Note>, RunError> {
        let notes = self.cores().filter_map(|core| core.notes.as_ref());
        let waiting: Vec<Note> = notes.flat_map(|notes| notes.waiting()).cloned().collect();
        let mut all: Vec<Note> = self.gather(Ok(waiting))?.into_iter().flatten().collect();
        all.sort_by_key(|note| note.key);
        Ok(all)
    }

    /// Notes what the end of the run cuts off, when it is over: the round, and who has left one.
    pub(super) fn note_end(&mut self, end: SimTime, over: SimTime) {
        let Some(followed) = self.env.followed else {
            return;
        };
        let notes = self.cores_mut().filter_map(|core| core.notes.as_mut());
        notes.for_each(|notes| notes.end(over));
        for id in followed.clients() {
            if self.env.shares.is_here(Party::Client(id)) {
                let (part, place) = self.env.shares.find(id);
                let part = &mut self.parts[part];
                part.core
                    .handles(EventKey::new(over, Party::Client(id).index(), u32::MAX));
                part.note_return(id, place, over);
            }
        }
        let record = &self.server.record;
        let since = record.round_ends.last().map_or(SimTime::ZERO, |(_, at)| *at);
        if since < end
            && self.team.is_first()
            && let Some(notes) = &mut self.server.core.notes
        {
            let round = What::Round {
                round: record.round,
                since,
                counts: [0; 3],
            };
            notes.add_under(EventKey::new(over, 0, u32::MAX), round);
        }
    }

    /// Tells of all absences of those followed, client by client, at the first rank: they follow
    /// from the world alone. It ends with one absence more than a trace has place for: short ones of
    /// a long run would be billions.
    pub(super) fn tell_absences(&mut self, end: SimTime, observer: &mut dyn Observer) -> Result<(), RunError> {
        let world = self.env.world;
        let followed = self.env.followed;
        let Some(followed) = followed.filter(|_| self.team.is_first() && !world.availability.is_perfect()) else {
            return Ok(());
        };
        let rounds: Vec<(Round, SimTime)> = {
            let record = &self.server.record;
            record.round_ends.iter().copied().chain([(record.round, end)]).collect()
        };
        let (mut events, mut n_told) = (Vec::new(), 0);
        for client in followed.clients() {
            if n_told > MOST_EVENTS {
                break;
            }
            let mut tell = |at: SimTime, until: SimTime| {
                if at < until {
                    let what = What::Away { client, until };
                    events.push(Event { at, what });
                    n_told += 1;
                }
                match n_told > MOST_EVENTS {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            world
                .availability
                .absences(client, &rounds, self.env.ground.streams, &mut tell);
            if events.len() >= MANY {
                self.tell_events(std::mem::take(&mut events), observer)?;
            }
        }
        self.tell_events(events, observer)
    }
}
