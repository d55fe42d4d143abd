//! A link that transmissions share: all pass at the same time, at max-min fair rates.
//!
//! Bytes and rates are integers, so that no end depends on the order of a sum. A transmission's
//! event is due at the next end on the link, of whichever transmission; there it ends or is put off
//! to the next one. Others that begin meanwhile only make it later.

use folkmoot_metrics::{Bytes, SimSpan, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NS_PER_S: u128 = 1_000_000_000;
/// A rate without a limit.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The index of the client at the other end, and the message's sequence number.
pub(crate) type FlowId = (u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flow {
    /// Rate of the client's link, in bytes/s.
    most: u64,
    /// In bytes times nanoseconds per second; 0 once it has passed.
    left: u128,
    /// At present.
    rate: u64,
}

/// One direction of a link, and what passes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FairLink {
    /// What has passed is known until then.
    now: SimTime,
    /// The next end of any.
    next: SimTime,
    flows: BTreeMap<FlowId, Flow>,
}

impl FairLink {
    /// Whether it has passed by `now`; if not, the time at which to ask again. Begins if it is not
    /// under way, on a link of `most` bytes/s of its client. One that has passed is gone.
    pub(crate) fn passed(
        &mut self,
        id: FlowId,
        now: SimTime,
        (capacity, most): (u64, impl FnOnce() -> u64),
        size: Bytes,
    ) -> Result<(), SimTime> {
        let begins = !self.flows.contains_key(&id);
        if begins || now >= self.next {
            self.advance(now, capacity);
        }
        if begins {
            let left = u128::from(size.0) * NS_PER_S;
            let (most, rate) = (most(), 0);
            self.flows.insert(id, Flow { most, left, rate });
            self.share(capacity);
        }
        match self.flows.get(&id) {
            Some(flow) if flow.left > 0 => Err(self.next),
            _ => {
                self.flows.remove(&id);
                Ok(())
            }
        }
    }

    fn advance(&mut self, now: SimTime, capacity: u64) {
        while self.now < now {
            let until = self.next.max(self.now).min(now);
            let ns = u128::from((until - self.now).0);
            for flow in self.flows.values_mut() {
                flow.left = flow.left.saturating_sub(u128::from(flow.rate) * ns);
            }
            self.now = until;
            if self.next <= until {
                self.share(capacity);
            }
        }
    }

    /// Gives each client's first transmission its rate, from the slowest link to the fastest.
    fn share(&mut self, capacity: u64) {
        let mut last = None;
        let mut active: Vec<(u64, FlowId)> = Vec::new();
        for (id, flow) in &mut self.flows {
            flow.rate = 0;
            if flow.left > 0 && last.replace(id.0) != Some(id.0) {
                active.push((flow.most, *id));
            }
        }
        active.sort_unstable();
        let (mut free, mut n) = (capacity, active.len() as u64);
        self.next = SimTime::NEVER;
        for (most, id) in active {
            let rate = if capacity == UNLIMITED {
                most
            } else {
                most.min(free / n)
            }
            .max(1);
            (free, n) = (free.saturating_sub(rate), n - 1);
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.rate = rate;
                let ns = u64::try_from(flow.left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX);
                self.next = self.next.min(self.now + SimSpan(ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Asks as the engine does; the ends in milliseconds, by client.
    fn ends(capacity: u64, flows: &[(u32, f64, u64, u64)]) -> Vec<u64> {
        let mut link = FairLink::default();
        let mut due: Vec<(SimTime, usize)> = Vec::new();
        for (i, (_, begins, ..)) in flows.iter().enumerate() {
            due.push((SimTime((begins * 1e9) as u64), i));
        }
        let mut ends = vec![0; flows.len()];
        while let Some(at) = (0..due.len()).min_by_key(|i| due[*i]) {
            let (now, i) = due.swap_remove(at);
            let (client, _, most, size) = flows[i];
            match link.passed((client, i as u32), now, (capacity, || most), Bytes(size)) {
                Ok(()) => ends[i] = now.0 / 1_000_000,
                Err(next) => due.push((next, i)),
            }
        }
        assert!(link.flows.is_empty());
        ends
    }

    #[test]
    fn equal_transmissions_end_together_and_one_that_comes_later_slows_the_others() {
        assert_eq!(
            ends(100, &[(1, 0.0, UNLIMITED, 100), (2, 0.0, UNLIMITED, 100)]),
            [2000, 2000]
        );
        // Alone for 0.5 s, then half of the link until 1.5 s; the other has it alone from there.
        assert_eq!(
            ends(100, &[(1, 0.0, UNLIMITED, 100), (2, 0.5, UNLIMITED, 100)]),
            [1500, 2000]
        );
        assert_eq!(ends(UNLIMITED, &[(1, 0.0, 50, 100), (2, 0.0, 100, 100)]), [2000, 1000]);
    }

    /// A link of 30 beside two fast ones: 30, 35, 35 of 100; the fast ones then have 60 each of what
    /// they can use.
    #[test]
    fn slow_links_leave_their_share_to_the_others() {
        let flows = [(1, 0.0, 30, 90), (2, 0.0, 60, 70), (3, 0.0, 60, 130)];
        assert_eq!(ends(100, &flows), [3000, 2000, 3000]);
    }

    #[test]
    fn transmissions_of_one_client_follow_each_other() {
        assert_eq!(ends(100, &[(1, 0.0, 50, 100), (1, 0.0, 50, 100)]), [2000, 4000]);
    }

    /// The link is never idle while something waits, whatever comes when.
    #[test]
    fn a_busy_link_carries_its_capacity() {
        let flows: Vec<_> = (0..40u32)
            .map(|i| (i, f64::from(i * i % 17) / 16.0, UNLIMITED, 100 + u64::from(i * 37 % 91)))
            .collect();
        let bytes: u64 = flows.iter().map(|flow| flow.3).sum();
        let last = ends(100, &flows).into_iter().max();
        assert_eq!(last, Some(bytes * S / 100 / 1_000_000));
    }
}
