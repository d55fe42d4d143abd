//! What is to happen in one part: an agenda for each of its blocks, which are gone through one
//! after the other in a window.
//!
//! What one block's clients cause at another's comes after the window, so neither order nor number
//! of the blocks changes anything.

use crate::event::Entry;
use crate::fault::Fault;
use crate::queue::{EventKey, Queue, QueuedEvent};
use crate::strategy::Strategy;
use folkmoot_metrics::{Party, SimTime};
use slab::Slab;

/// What stopped a block: the key of what failed or was reached before it, whose it was, and why.
pub(crate) type Stop = (EventKey, Party, Fault);

/// What is to happen in a block.
struct Agenda<S: Strategy> {
    queue: Queue,
    /// What the queue's events carry, so that its own records stay small.
    store: Slab<Entry<S>>,
    /// The largest key of an event taken so far. What happens at one instant happens in the order
    /// of these, in whatever blocks: an event that another one causes at its own instant may have a
    /// smaller key, but comes after it.
    reached: EventKey,
    stop: Option<Stop>,
}

/// The agendas of a part.
pub(crate) struct Agendas<S: Strategy> {
    all: Vec<Agenda<S>>,
    /// By block: the time of the next event.
    due: Vec<SimTime>,
    n_pending: usize,
}

impl<S: Strategy> Agendas<S> {
    pub(crate) fn new(n_blocks: usize) -> Self {
        let agenda = || Agenda {
            queue: Queue::new(),
            store: Slab::new(),
            reached: EventKey::new(SimTime::ZERO, 0, 0),
            stop: None,
        };
        Agendas {
            all: std::iter::repeat_with(agenda).take(n_blocks).collect(),
            due: vec![SimTime::NEVER; n_blocks],
            n_pending: 0,
        }
    }

    /// How many events are pending.
    pub(crate) fn n_pending(&self) -> usize {
        self.n_pending
    }

    /// When the next event is due.
    pub(crate) fn next_at(&self) -> SimTime {
        self.due.iter().copied().fold(SimTime::NEVER, SimTime::min)
    }

    /// The next event's key, and its block.
    pub(crate) fn next(&mut self) -> Option<(EventKey, usize)> {
        let at = self.next_at();
        let due = self.due.iter().zip(&mut self.all).enumerate();
        due.filter(|(_, (due, _))| **due == at)
            .filter_map(|(block, (_, agenda))| Some((agenda.queue.next_key()?, block)))
            .min()
    }

    /// The time of the last event taken.
    pub(crate) fn now(&self) -> SimTime {
        let times = self.all.iter().map(|agenda| agenda.queue.now());
        times.fold(SimTime::ZERO, SimTime::max)
    }

    /// The next block from `from` on that has an event before `end`.
    #[inline]
    pub(crate) fn busy(&self, from: usize, end: SimTime) -> Option<usize> {
        let due = self.due[from..].iter().position(|due| *due < end);
        due.map(|block| from + block)
    }

    /// Adds an event to a block's.
    #[inline]
    pub(crate) fn push(&mut self, block: usize, event: QueuedEvent) {
        self.n_pending += 1;
        self.due[block] = self.due[block].min(event.key.at);
        self.all[block].queue.push(event);
    }

    /// Takes a block's next event if it is due before `end` and nothing has failed there.
    #[inline]
    pub(crate) fn next_before(&mut self, block: usize, end: SimTime) -> Option<QueuedEvent> {
        let agenda = &mut self.all[block];
        if agenda.stop.is_some() {
            return None;
        }
        let event = agenda.queue.pop_before(end)?;
        agenda.reached = agenda.reached.max(event.key);
        self.n_pending -= 1;
        Some(event)
    }

    /// Takes a block's next event, even one that is never due.
    pub(crate) fn pop(&mut self, block: usize) -> Option<QueuedEvent> {
        let event = self.all[block].queue.pop()?;
        self.n_pending -= 1;
        Some(event)
    }

    /// Notes when a block's next event is due, after some were taken.
    #[inline]
    pub(crate) fn settle(&mut self, block: usize) {
        self.due[block] = self.all[block].queue.next_at();
    }

    /// Adds an event to a block's, and returns where what it carries waits.
    #[inline]
    pub(crate) fn schedule(&mut self, block: usize, key: EventKey, to: Party, entry: Entry<S>) -> u32 {
        let slot = self.keep(block, entry);
        let to = to.index();
        self.push(block, QueuedEvent { key, to, slot });
        slot
    }

    /// Keeps what an event of a block carries, and returns where.
    ///
    /// # Panics
    ///
    /// With more than 2^32 events at once, which need hundreds of gigabytes.
    #[inline]
    pub(crate) fn keep(&mut self, block: usize, entry: Entry<S>) -> u32 {
        let slot = self.all[block].store.insert(entry);
        u32::try_from(slot).expect("fewer than 2^32 events are pending")
    }

    /// What an event of a block carries, which is taken once.
    #[inline]
    pub(crate) fn take(&mut self, block: usize, slot: u32) -> Option<Entry<S>> {
        self.all[block].store.try_remove(slot as usize)
    }

    /// What an event of a block carries.
    pub(crate) fn entry(&mut self, block: usize, slot: u32) -> Option<&mut Entry<S>> {
        self.all[block].store.get_mut(slot as usize)
    }

    /// What an event of a block carries, to be looked at.
    pub(crate) fn peek(&self, block: usize, slot: u32) -> Option<&Entry<S>> {
        self.all[block].store.get(slot as usize)
    }

    /// All pending events with what they carry, in no order that means anything.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (QueuedEvent, &Entry<S>)> {
        self.all.iter().flat_map(|agenda| {
            let carried = move |event: &QueuedEvent| Some((*event, agenda.store.get(event.slot as usize)?));
            agenda.queue.iter().filter_map(carried)
        })
    }

    /// Keeps a block's first fault.
    pub(crate) fn fail(&mut self, block: usize, key: EventKey, party: Party, fault: Fault) {
        let agenda = &mut self.all[block];
        if agenda.stop.is_none() {
            agenda.stop = Some((agenda.reached.max(key), party, fault));
        }
    }

    /// The first fault of all blocks.
    pub(crate) fn stop(&self) -> Option<&Stop> {
        let stops = self.all.iter().filter_map(|agenda| agenda.stop.as_ref());
        stops.min_by_key(|(key, ..)| *key)
    }

    /// What the queues take of memory.
    pub(crate) fn queue_bytes(&self) -> usize {
        let room: usize = self.all.iter().map(|agenda| agenda.queue.room()).sum();
        self.all.len() * (size_of::<Agenda<S>>() + size_of::<SimTime>()) + room * size_of::<QueuedEvent>()
    }

    /// What the contents of their events take, without what they point to.
    pub(crate) fn store_bytes(&self) -> usize {
        let room: usize = self.all.iter().map(|agenda| agenda.store.capacity()).sum();
        room * size_of::<Entry<S>>()
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.all.len()
    }
}
