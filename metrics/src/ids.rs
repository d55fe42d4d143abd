//! Ids and units: who, when, how much.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A client, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u32);

/// One end of a message: the server or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Party {
    Server,
    Client(ClientId),
}

impl Party {
    /// The party as a number: the server is 0, client `c` is `c + 1`. The order is that of [`Ord`].
    pub fn index(self) -> u32 {
        match self {
            Party::Server => 0,
            Party::Client(id) => id.0 + 1,
        }
    }

    /// The inverse of [`Party::index`].
    pub fn from_index(index: u32) -> Self {
        match index {
            0 => Party::Server,
            n => Party::Client(ClientId(n - 1)),
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Server => f.write_str("server"),
            Party::Client(id) => write!(f, "client {}", id.0),
        }
    }
}

/// A round of the protocol, numbered from 0; what round 0 holds is the strategy's to say (FedWalk:
/// the set-up).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round(pub u32);

impl Round {
    /// The round after this one.
    pub fn next(self) -> Self {
        Round(self.0 + 1)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

/// An instant of virtual time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SimTime(pub u64);

/// A length of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SimSpan(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than every event.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// Seconds since the start, for tables and figures.
    pub fn as_secs(self) -> f64 {
        SimSpan(self.0).as_secs()
    }
}

impl SimSpan {
    /// No time at all.
    pub const ZERO: SimSpan = SimSpan(0);
    /// Longer than every run.
    pub const FOREVER: SimSpan = SimSpan(u64::MAX);

    /// The span of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero, too
    /// large gives [`SimSpan::FOREVER`].
    pub fn from_secs(s: f64) -> Self {
        SimSpan((s * 1e9).round() as u64)
    }

    /// The span of `ms` milliseconds, as [`SimSpan::from_secs`].
    pub fn from_millis(ms: f64) -> Self {
        SimSpan((ms * 1e6).round() as u64)
    }

    /// Seconds, for tables and figures.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<SimSpan> for SimTime {
    type Output = SimTime;

    /// Saturates at [`SimTime::NEVER`].
    fn add(self, span: SimSpan) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl Sub for SimTime {
    type Output = SimSpan;

    /// Zero when `earlier` is not earlier.
    fn sub(self, earlier: SimTime) -> SimSpan {
        SimSpan(self.0.saturating_sub(earlier.0))
    }
}

impl Add for SimSpan {
    type Output = SimSpan;

    fn add(self, other: SimSpan) -> SimSpan {
        SimSpan(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimSpan {
    fn add_assign(&mut self, other: SimSpan) {
        *self = *self + other;
    }
}

impl Mul<u64> for SimSpan {
    type Output = SimSpan;

    fn mul(self, n: u64) -> SimSpan {
        SimSpan(self.0.saturating_mul(n))
    }
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From a client to the server.
    Uplink,
    /// From the server to a client.
    Downlink,
    /// From a client to a client.
    Peer,
}

impl Direction {
    /// All directions, in the order of the ledger's rows.
    pub const ALL: [Direction; 3] = [Direction::Uplink, Direction::Downlink, Direction::Peer];

    /// The direction of a message between two parties; the server's messages to itself count as
    /// downlink.
    pub fn between(from: Party, to: Party) -> Self {
        match (from, to) {
            (Party::Server, _) => Direction::Downlink,
            (Party::Client(_), Party::Server) => Direction::Uplink,
            (Party::Client(_), Party::Client(_)) => Direction::Peer,
        }
    }

    /// The word used in `messages.csv`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Direction::Uplink => "uplink",
            Direction::Downlink => "downlink",
            Direction::Peer => "peer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn party_index_round_trips_and_keeps_the_order() {
        let parties = [Party::Server, Party::Client(ClientId(0)), Party::Client(ClientId(7))];
        for pair in parties.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].index() < pair[1].index());
        }
        for party in parties {
            assert_eq!(Party::from_index(party.index()), party);
        }
    }

    #[test]
    fn a_second_is_a_thousand_million_nanoseconds_both_ways() {
        assert_eq!(SimSpan::from_secs(1.5), SimSpan(1_500_000_000));
        assert_eq!(SimSpan(2_500_000_000).as_secs(), 2.5);
        assert_eq!(SimTime(2_500_000_000).as_secs(), 2.5);
        assert_eq!(SimSpan::from_secs(-1.0), SimSpan::ZERO);
        assert_eq!(Round(4).next(), Round(5));
    }

    #[test]
    fn a_way_has_the_word_that_tables_have() {
        let ways = [
            (Party::Client(ClientId(3)), Party::Server, "uplink"),
            (Party::Server, Party::Client(ClientId(3)), "downlink"),
            (Party::Client(ClientId(3)), Party::Client(ClientId(3)), "peer"),
        ];
        for ((from, to, word), way) in ways.into_iter().zip(Direction::ALL) {
            assert_eq!((Direction::between(from, to), way.as_str()), (way, word));
            assert_eq!(serde_json::to_string(&way).unwrap(), format!("\"{word}\""));
        }
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(SimTime::NEVER + SimSpan(5), SimTime::NEVER);
        assert_eq!(SimTime(3) - SimTime(5), SimSpan::ZERO);
        assert_eq!(SimSpan::from_secs(f64::INFINITY), SimSpan::FOREVER);
        assert_eq!(SimSpan::from_millis(-1.0), SimSpan::ZERO);
        assert_eq!(SimSpan::from_millis(1.5), SimSpan(1_500_000));
    }

    #[test]
    fn time_adds_up_and_stops_at_its_ends() {
        let (at, span) = (SimTime(10), SimSpan(4));
        assert_eq!(
            (at + span, at - SimTime(3), SimTime(3) - at),
            (SimTime(14), SimSpan(7), SimSpan::ZERO)
        );
        assert_eq!((span + SimSpan(5), span * 3), (SimSpan(9), SimSpan(12)));
        let mut sum = span;
        sum += SimSpan(1);
        assert_eq!(sum, SimSpan(5));
        assert_eq!(
            (SimTime::NEVER + span, SimSpan(u64::MAX) * 2),
            (SimTime::NEVER, SimSpan(u64::MAX))
        );
        let names = [Party::Server, Party::Client(ClientId(3))].map(|party| party.to_string());
        assert_eq!(names, ["server", "client 3"]);
    }
}
