//! Dropout in mid-round: a client that has joined a round leaves it, and comes back with a later one.

use super::{Breach, Dist};
use folkmoot_draws::{Purpose, Streams, unit};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan, SimTime};
use serde::{Deserialize, Serialize};

/// The card's `dropout`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropoutSpec {
    /// Probability that a client leaves a round it has joined, in 0..=1. Default 0.
    pub prob: f64,
    /// How long after joining it leaves, milliseconds. Default uniform in 0..1000.
    pub after_ms: Dist,
}

impl Default for DropoutSpec {
    fn default() -> Self {
        DropoutSpec {
            prob: 0.0,
            after_ms: Dist::Uniform { low: 0.0, high: 1000.0 },
        }
    }
}

impl DropoutSpec {
    /// Every rule it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = self.after_ms.check("after_ms", 0.0, 1e12);
        if !(0.0..=1.0).contains(&self.prob) {
            breaches.push(("prob".to_owned(), format!("must lie in 0..=1, got {}", self.prob)));
        }
        breaches
    }

    /// When `client`, which joined `round` at `joined`, leaves it; [`SimTime::NEVER`] if it stays.
    pub fn leaves_at(&self, client: ClientId, round: Round, joined: SimTime, streams: Streams) -> SimTime {
        if self.prob <= 0.0 {
            return SimTime::NEVER;
        }
        let mut rng = streams.party(Purpose(*b"dropout "), Party::Client(client), round);
        match unit(&mut rng) < self.prob {
            true => joined + SimSpan::from_millis(self.after_ms.draw(&mut rng)),
            false => SimTime::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_share_leaves_within_the_stated_time() {
        let spec = DropoutSpec {
            prob: 0.1,
            after_ms: Dist::Uniform { low: 10.0, high: 20.0 },
        };
        let left: Vec<u64> = (0..10_000)
            .map(|c| spec.leaves_at(ClientId(c), Round(3), SimTime(5), Streams::new(2)).0)
            .filter(|&at| at != u64::MAX)
            .collect();
        assert!((880..1_120).contains(&left.len()), "{}", left.len());
        assert!(left.iter().all(|at| (10_000_005..20_000_005).contains(at)));
    }
}
