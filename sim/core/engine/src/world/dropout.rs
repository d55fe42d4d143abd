//! Dropout in mid-round: a client that has joined a round leaves it, and comes back with a later
//! one.

use super::Dist;
use folkmoot_draws::{Purpose, Streams, unit};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan, SimTime};
use folkmoot_parts::component;

/// Dropout of clients during a round.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutSpec {
    /// Probability that a client drops out of a round it has joined.
    #[component(default = 0.0, in = 0..=1)]
    pub prob: f64,
    /// Time from joining a round to dropping out.
    #[component(default = Dist::Uniform { low: 0.0, high: 1000.0 }, in = 0..=1e12, unit = "ms")]
    pub after_ms: Dist,
}

impl DropoutSpec {
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
