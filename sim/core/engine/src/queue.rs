//! The event queue: pops in the order of `(at, origin, seq)`.
//!
//! A radix heap over `at`, which a simulation only ever moves forward, with a sorted front: the
//! lowest bucket is sorted once when it is small or a single instant, and popped from its end.
//! Chosen by measurement (`benches/queue.rs`): with a million pending events a binary heap spends
//! its time in cache misses. A digit of several bits moves an event less often than single bits do:
//! each move settles a whole digit.
//!
//! Promises: exact key order, ties included; pushing at or after the last popped time is always
//! legal.

use folkmoot_metrics::SimTime;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The total order of events: time, then the origin's index, then the origin's own counter. It
/// never depends on threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventKey {
    /// When the event is due.
    pub at: SimTime,
    /// The index of the party that caused it in the upper half, that party's counter in the lower.
    origin_seq: u64,
}

impl EventKey {
    /// A key from its three parts.
    pub fn new(at: SimTime, origin: u32, seq: u32) -> Self {
        EventKey {
            at,
            origin_seq: u64::from(origin) << 32 | u64::from(seq),
        }
    }

    /// The index of the party that caused the event.
    pub fn origin(self) -> u32 {
        (self.origin_seq >> 32) as u32
    }

    pub fn seq(self) -> u32 {
        self.origin_seq as u32
    }
}

/// An event in the queue: 24 bytes. What it carries waits in a store, at `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuedEvent {
    /// Its place in the order.
    pub key: EventKey,
    /// The index of the party it is for.
    pub to: u32,
    /// Where its content waits.
    pub slot: u32,
}

/// A bucket of at most this many events is sorted rather than spread over finer buckets.
const SORT_BELOW: usize = 96;
/// When this many events have come for the front's range after it was sorted, the range was too
/// wide: it is cut.
const LATE_AT_MOST: usize = 4 * SORT_BELOW;
/// Bits of a digit of the time.
const DIGIT_BITS: u32 = 4;
/// Values of a digit.
const DIGITS: usize = 1 << DIGIT_BITS;
const N_LEVELS: usize = 64_usize.div_ceil(DIGIT_BITS as usize);

/// A monotone priority queue of events.
#[derive(Debug)]
pub struct Queue {
    /// The events before `front_end` in descending key order, so that the next one is at the end.
    front: Vec<QueuedEvent>,
    /// Events that came for the front's time range after it was sorted.
    late: BinaryHeap<Reverse<QueuedEvent>>,
    /// First instant that does not belong to the front.
    front_end: u64,
    /// `buckets[level][digit]` holds events whose time differs from `base` first, from the top, in
    /// the digit of that level, and there is `digit`; and `buckets[0]` also those at `base` itself.
    buckets: [[Vec<QueuedEvent>; DIGITS]; N_LEVELS],
    /// Bit `digit` is set when `buckets[level][digit]` is not empty.
    occupied: [u16; N_LEVELS],
    /// Bit `level` is set when any bucket of that level is not empty.
    levels: u32,
    /// No bucketed event is earlier, and the last popped one is not before it.
    base: u64,
    /// The time of the last popped event.
    now: u64,
    /// The earliest bucketed key, once somebody asked for it while the front was empty.
    bucket_min: Option<EventKey>,
    len: usize,
    /// Empty vectors with room, for buckets that get their first event: so there are no more than
    /// were ever filled at once.
    spares: Vec<Vec<QueuedEvent>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Queue {
            front: Vec::new(),
            late: BinaryHeap::new(),
            front_end: 0,
            buckets: [const { [const { Vec::new() }; DIGITS] }; N_LEVELS],
            occupied: [0; N_LEVELS],
            levels: 0,
            base: 0,
            now: 0,
            bucket_min: None,
            len: 0,
            spares: Vec::new(),
        }
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// For how many events there is room, which is never given back.
    pub fn room(&self) -> usize {
        let vectors = self.buckets.iter().flatten().chain(&self.spares);
        self.front.capacity() + self.late.capacity() + vectors.map(Vec::capacity).sum::<usize>()
    }

    /// All pending events, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &QueuedEvent> {
        let late = self.late.iter().map(|Reverse(event)| event);
        self.front
            .iter()
            .chain(late)
            .chain(self.buckets.iter().flatten().flatten())
    }

    /// Adds an event. Its time must not be before the last popped one's.
    #[inline]
    pub fn push(&mut self, event: QueuedEvent) {
        debug_assert!(event.key.at.0 >= self.now, "an event before the last popped one");
        self.len += 1;
        if event.key.at.0 < self.front_end {
            self.late.push(Reverse(event));
            if self.late.len() > LATE_AT_MOST {
                self.cut_front();
            }
        } else {
            self.bucket_min = self.bucket_min.map(|min| min.min(event.key));
            self.push_bucket(event);
        }
    }

    #[inline]
    fn push_bucket(&mut self, event: QueuedEvent) {
        let at = event.key.at.0;
        let level = ((at ^ self.base) | 1).ilog2() / DIGIT_BITS;
        let digit = (at >> (level * DIGIT_BITS)) as usize % DIGITS;
        let bucket = &mut self.buckets[level as usize][digit];
        if bucket.is_empty() {
            *bucket = self.spares.pop().unwrap_or_default();
            self.occupied[level as usize] |= 1 << digit;
            self.levels |= 1 << level;
        }
        bucket.push(event);
    }

    /// The bucket of the earliest events that are not in the front.
    fn lowest(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        (level < N_LEVELS).then(|| (level, self.occupied[level].trailing_zeros() as usize))
    }

    /// Takes a bucket's events.
    fn empty(&mut self, level: usize, digit: usize) -> Vec<QueuedEvent> {
        self.occupied[level] &= !(1 << digit);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        std::mem::take(&mut self.buckets[level][digit])
    }

    /// The time of the next event, or [`SimTime::NEVER`] when there is none.
    #[inline]
    pub fn next_at(&mut self) -> SimTime {
        self.next_key().map_or(SimTime::NEVER, |key| key.at)
    }

    /// The key of the next event. Looking does not move the front, so earlier events may still come
    /// cheaply.
    #[inline]
    pub fn next_key(&mut self) -> Option<EventKey> {
        match (self.front.last(), self.late.peek()) {
            (Some(front), Some(Reverse(late))) => Some(front.key.min(late.key)),
            (Some(front), None) => Some(front.key),
            (None, Some(Reverse(late))) => Some(late.key),
            (None, None) => {
                if self.bucket_min.is_none()
                    && let Some((level, digit)) = self.lowest()
                {
                    self.bucket_min = self.buckets[level][digit].iter().map(|event| event.key).min();
                }
                self.bucket_min
            }
        }
    }

    /// Takes the next event if it is due before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<QueuedEvent> {
        let next = self.next_key().filter(|next| next.at < end)?;
        self.take(next)
    }

    /// Takes the next event, even one at [`SimTime::NEVER`].
    #[inline]
    pub fn pop(&mut self) -> Option<QueuedEvent> {
        let next = self.next_key()?;
        self.take(next)
    }

    /// The time of the last event taken; the start before there is one.
    pub fn now(&self) -> SimTime {
        SimTime(self.now)
    }

    /// Takes the event of the key `next`, which is the next one.
    #[inline]
    fn take(&mut self, next: EventKey) -> Option<QueuedEvent> {
        if self.front.is_empty() && self.late.is_empty() {
            self.refill();
        }
        self.len -= 1;
        self.now = next.at.0;
        match self.late.peek() {
            Some(Reverse(late)) if late.key == next => self.late.pop().map(|Reverse(event)| event),
            _ => self.front.pop(),
        }
    }

    /// Moves the earliest events into the empty front, sorted.
    fn refill(&mut self) {
        self.bucket_min = None;
        while let Some((level, digit)) = self.lowest() {
            if level == 0 || self.buckets[level][digit].len() <= SORT_BELOW {
                self.sort_into_front(level, digit);
                return;
            }
            self.spread(level, digit);
        }
    }

    /// Makes a bucket the front. Its range starts at `base` with its digit in the place of that
    /// one's and 0 below.
    fn sort_into_front(&mut self, level: usize, digit: usize) {
        let events = self.empty(level, digit);
        self.spares.push(std::mem::replace(&mut self.front, events));
        let low = level as u32 * DIGIT_BITS;
        let above = (self.base >> low) & !(DIGITS as u64 - 1);
        self.base = (above | digit as u64) << low;
        self.front_end = self.base.saturating_add(1 << low);
        if level > 0 {
            self.front.sort_unstable_by_key(|event| Reverse(event.key));
        } else {
            // One instant, as in a network without jitter: the comparison of times can be spared.
            self.front.sort_unstable_by_key(|event| Reverse(event.key.origin_seq));
        }
    }

    /// Moves `base` to the earliest time in a bucket and spreads the bucket over the levels below
    /// its own.
    fn spread(&mut self, level: usize, digit: usize) {
        let mut events = self.empty(level, digit);
        self.base = events.iter().map(|event| event.key.at.0).min().unwrap_or(self.base);
        for event in events.drain(..) {
            self.push_bucket(event);
        }
        self.spares.push(events);
    }

    /// Ends the front after the present instant and gives its later events back to the buckets.
    /// `now` lies in the front's range, so every bucket keeps its meaning when it becomes the base.
    #[cold]
    fn cut_front(&mut self) {
        let cut = self.now.saturating_add(1);
        if cut >= self.front_end {
            return; // One crowded instant: it can't be cut, and the heap is the right place for it.
        }
        self.base = self.now;
        self.front_end = cut;
        let keep = self.front.partition_point(|event| event.key.at.0 >= cut);
        let later: Vec<QueuedEvent> = self.front.drain(..keep).collect();
        let late = std::mem::take(&mut self.late);
        for event in later.into_iter().chain(late.into_iter().map(|Reverse(event)| event)) {
            if event.key.at.0 < cut {
                self.late.push(Reverse(event));
            } else {
                self.push_bucket(event);
            }
        }
        // What somebody was told before these came back may be later than they are.
        self.bucket_min = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(at: u64, origin: u32, seq: u32) -> QueuedEvent {
        QueuedEvent {
            key: EventKey::new(SimTime(at), origin, seq),
            to: 0,
            slot: seq,
        }
    }

    #[test]
    fn an_event_takes_24_bytes() {
        assert_eq!(size_of::<QueuedEvent>(), 24);
    }

    /// The next event was asked for while all that were pending lay far ahead. Then so many came
    /// for the front's range that it was cut.
    #[test]
    fn an_earlier_event_is_next_though_it_came_after_the_question_and_the_front_was_cut() {
        let mut queue = Queue::new();
        queue.push(event(1_000, 0, 0));
        queue.push(event(100_000, 0, 1));
        assert_eq!(queue.pop(), Some(event(1_000, 0, 0)));
        assert_eq!(queue.next_at(), SimTime(100_000));
        let n = LATE_AT_MOST as u32 + 1;
        for i in 0..n {
            queue.push(event(1_001 + u64::from(i) % 20, 1, i));
        }
        assert!(queue.late.is_empty(), "the front was cut");
        assert_eq!(queue.next_key(), Some(event(1_001, 1, 0).key));
        let times: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.key.at.0).collect();
        assert!(times.is_sorted() && times.len() as u32 == n + 1);
    }

    #[test]
    fn many_events_of_one_instant_come_in_origin_order() {
        let mut queue = Queue::new();
        for i in (0..1000).rev() {
            queue.push(event(7, i, 0));
        }
        let origins: Vec<u32> = std::iter::from_fn(|| queue.pop())
            .map(|event| event.key.origin())
            .collect();
        assert_eq!(origins, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn an_event_for_the_current_instant_is_taken_in_key_order() {
        let mut queue = Queue::new();
        queue.push(event(5, 2, 0));
        queue.push(event(5, 9, 0));
        assert_eq!(queue.pop(), Some(event(5, 2, 0)));
        queue.push(event(5, 3, 1));
        assert_eq!(queue.pop(), Some(event(5, 3, 1)));
        assert_eq!(queue.pop_before(SimTime(5)), None);
        assert_eq!(queue.pop_before(SimTime(6)), Some(event(5, 9, 0)));
        assert!(queue.is_empty());
    }

    #[test]
    fn an_event_at_the_end_of_time_is_never_due_and_can_be_taken() {
        let mut queue = Queue::new();
        let never = [event(u64::MAX, 1, 0), event(u64::MAX, 2, 1)];
        never.into_iter().for_each(|event| queue.push(event));
        queue.push(event(3, 0, 0));
        assert_eq!(queue.pop_before(SimTime::NEVER), Some(event(3, 0, 0)));
        assert_eq!((queue.pop_before(SimTime::NEVER), queue.len()), (None, 2));
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(never[0]), Some(never[1]), None]
        );
    }

    proptest! {
        #[test]
        fn pops_in_key_order_whatever_is_pushed_in_between(
            steps in prop::collection::vec((0u64..1 << 40, 0u32..4, 0usize..3, any::<bool>()), 1..2000)
        ) {
            let mut queue = Queue::new();
            let mut model = std::collections::BTreeSet::new();
            let mut now = 0;
            for (i, (delay, origin, pops, near)) in steps.into_iter().enumerate() {
                let delay = if near { delay % 3 } else { delay };
                if i == 1 {
                    let far = event(1 << 50, 0, u32::MAX); // one far event makes the front's range wide
                    queue.push(far);
                    model.insert(far);
                    prop_assert_eq!(queue.next_key(), model.first().map(|event| event.key));
                }
                let new = event(now + delay, origin, i as u32);
                queue.push(new);
                model.insert(new);
                for _ in 0..pops {
                    let expected = model.pop_first();
                    let popped = queue.pop();
                    prop_assert_eq!(popped, expected);
                    now = popped.map_or(now, |event| event.key.at.0);
                }
                prop_assert_eq!(queue.len(), model.len());
            }
            while let Some(expected) = model.pop_first() {
                prop_assert_eq!(queue.pop(), Some(expected));
            }
            prop_assert_eq!(queue.next_at(), SimTime::NEVER);
        }
    }
}
