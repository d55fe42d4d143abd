//! TCP on the links between the server and its clients: frames, slow start, and fair sharing.
//!
//! Without these, a message takes its latency and its bytes divided by the rate of each link in
//! turn. `tests/fidelity` compares both with real processes.

use super::Rate;
use folkmoot_metrics::{Bytes, SimSpan, SimTime};
use folkmoot_parts::component;
use serde::{Deserialize, Serialize};

/// Bytes of a full frame of Ethernet.
const FRAME: u64 = 1514;
/// HyStart sees a train of acknowledgements, one for two frames, if their gaps are at most this.
const TRAIN_GAP: SimSpan = SimSpan(2_000_000);

/// How a network carries messages, beyond latency, loss and rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transport {
    pub framing: Option<Framing>,
    pub slow_start: Option<Connection>,
    pub sharing: Sharing,
}

impl Transport {
    /// Whether a message may wait at its receiver, whatever the rate of the receiver's link.
    pub(crate) fn delays(&self) -> bool {
        self.slow_start.is_some() || self.sharing == Sharing::Fair
    }
}

/// Headers of each segment of a transmission.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes of a message in each segment; by default of TCP with timestamps in a frame of 1514
    /// bytes.
    #[component(default = 1448, in = 1..=1_000_000, unit = "bytes")]
    pub segment_bytes: u32,
    /// Headers of each segment; by default Ethernet 14, IPv4 20, TCP 32 bytes.
    #[component(default = 66, in = 0..=65535, unit = "bytes")]
    pub header_bytes: u32,
}

impl Framing {
    /// Headers of a transmission of `size` bytes.
    pub fn headers(&self, size: u64) -> u64 {
        size.div_ceil(u64::from(self.segment_bytes)) * u64::from(self.header_bytes)
    }
}

/// Slow start of the two directions of a connection between a client and the server.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    /// First congestion window, headers included; by default ten frames of 1514 bytes, as in Linux.
    #[component(default = 15_140, in = 1..=1_000_000_000, unit = "bytes")]
    pub window_bytes: u32,
    /// Least time that a retransmission timeout adds to the round trip.
    #[component(default = 200.0, in = 0..=1e9, unit = "ms")]
    pub min_timeout_ms: f64,
}

/// Sharing of the server's access link.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One message after the other, each at the full rate. A message passes the links of sender and
    /// receiver in turn.
    #[default]
    InSequence,
    /// All messages at the same time, as concurrent TCP connections. Rates are max-min fair: each
    /// message is limited by its client's link, and the rest is shared equally. It passes both
    /// links at the same time.
    Fair,
}

/// Slow start and the round trip on which it depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    pub start: SlowStart,
    pub round_trip: SimSpan,
}

/// The congestion window of one direction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// 0 before the first transmission.
    bytes: u64,
    used_at: SimTime,
}

impl Window {
    /// How much longer than at the full rate of `links` a transmission takes that begins now.
    ///
    /// Without a transmission, the window halves after every retransmission timeout (RFC 2861).
    /// The sender pauses after each window until the first acknowledgement, and then has twice the
    /// window. At the end, the window has grown by what was sent, to at most twice that. On a link
    /// on which HyStart (Ha and Rhee 2011) sees trains of acknowledgements, it ends at 1.5 times
    /// what is under way in a round trip.
    pub(crate) fn pauses(&mut self, connection: &Connection, links: [&Rate; 2], now: SimTime, size: Bytes) -> SimSpan {
        let first = u64::from(connection.start.window_bytes);
        let round_trip = connection.round_trip;
        let span = |bytes| {
            let ends = links.map(|rate| rate.through(now, Bytes(bytes)));
            ends[0].max(ends[1]) - now
        };
        if self.bytes == 0 {
            self.bytes = first;
        } else {
            // A round trip with the first window, and four times its deviation, which the first
            // measurement takes for half of it (RFC 6298, section 2.2).
            let measured = round_trip + span(first.min(size.0));
            let timeout = measured + SimSpan::from_millis(connection.start.min_timeout_ms).max(measured * 2);
            let timeouts = (now - self.used_at).0 / timeout.0.max(1);
            let halved = self.bytes >> timeouts.min(63);
            self.bytes = halved.max(first.min(self.bytes));
        }
        let (mut window, mut sent, mut pauses) = (self.bytes, 0_u64, SimSpan::ZERO);
        while sent.saturating_add(window) < size.0 && span(window) < round_trip {
            pauses += SimSpan(round_trip.0 - span(window).0);
            sent += window;
            window = window.saturating_mul(2);
        }
        let whole = span(size.0);
        let has_trains = whole > SimSpan::ZERO && span(2 * FRAME) <= TRAIN_GAP;
        let most = match has_trains {
            true => {
                let under_way = u128::from(size.0) * u128::from(round_trip.0) / u128::from(whole.0);
                u64::try_from(under_way * 3 / 2).unwrap_or(u64::MAX).max(2 * first)
            }
            false => u64::MAX,
        };
        let grown = self.bytes.saturating_add(size.0);
        let grown = grown.min(size.0.saturating_mul(2)).min(most);
        self.bytes = self.bytes.max(grown);
        self.used_at = now + pauses + whole;
        pauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn connection(round_trip_ms: u64) -> Connection {
        Connection {
            start: SlowStart::default(),
            round_trip: SimSpan(round_trip_ms * MS),
        }
    }

    #[test]
    fn every_segment_has_headers() {
        let headers = |size| Framing::default().headers(size);
        assert_eq!([0, 1, 1448, 1449].map(headers), [0, 66, 66, 132]);
    }

    /// At 757 bytes in a ms, ten frames take 20 ms of a round trip of 80: a pause of 60 ms, then one
    /// of 40 ms after 20 frames. The third window lasts a whole round trip.
    #[test]
    fn a_first_message_pauses_until_its_window_fills_the_link() {
        let (slow, rest) = (Rate::Constant(757_000), Rate::Unlimited);
        let pauses = |rate, frames: u64| {
            let size = Bytes(frames * FRAME);
            let pauses = Window::default().pauses(&connection(80), [rate, &rest], SimTime::ZERO, size);
            pauses.0 / MS
        };
        let on_slow_link = [1, 10, 11, 30, 31, 1000].map(|frames| pauses(&slow, frames));
        assert_eq!(on_slow_link, [0, 0, 60, 60, 100, 100]);
        assert_eq!(pauses(&rest, 71), 3 * 80, "10, 20 and 40 frames, and one more");
    }

    /// The first measurement is 100 ms, the timeout 300 ms. After two, 27.5 of 110 frames are left,
    /// which take 55 ms.
    #[test]
    fn a_window_stays_while_it_is_used_and_halves_with_every_timeout() {
        let (rate, rest) = (Rate::Constant(757_000), Rate::Unlimited);
        let (links, size) = ([&rate, &rest], Bytes(100 * FRAME));
        let mut window = Window::default();
        window.pauses(&connection(80), links, SimTime::ZERO, size);
        assert_eq!((window.bytes, window.used_at), (110 * FRAME, SimTime(300 * MS)));
        let after = |ms: u64| {
            let at = SimTime((300 + ms) * MS);
            window.clone().pauses(&connection(80), links, at, size).0 / MS
        };
        assert_eq!([299, 599, 600, 900, 100_000].map(after), [0, 0, 25, 77, 100]);
    }

    #[test]
    fn trains_of_acknowledgements_limit_the_window_of_a_fast_link() {
        let (rate, rest) = (Rate::Constant(15_140_000), Rate::Unlimited);
        let mut window = Window::default();
        window.pauses(&connection(40), [&rate, &rest], SimTime::ZERO, Bytes(1000 * FRAME));
        assert_eq!(window.bytes, 600 * FRAME, "400 frames take a round trip");
    }
}
