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

    /// What to say of a run in which clients joined a round so many times, and dropped out of one
    /// before they were done with it fewer times than [`prob`](Self::prob) says, by more than
    /// chance explains.
    pub(crate) fn warning(&self, joined: u64, left: u64) -> Option<String> {
        let expected = self.prob * joined as f64;
        let deviation = (expected * (1.0 - self.prob)).sqrt();
        (expected - left as f64 > 3.0 * deviation + 0.5).then(|| {
            format!(
                "dropout.prob is {}, but clients dropped out of {left} of the {joined} rounds that they joined: the others were \
                 done before the time in dropout.after_ms; help: lower dropout.after_ms",
                self.prob
            )
        })
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

    #[test]
    fn fewer_than_stated_are_warned_of() {
        let warning = |prob, joined, left| {
            let spec = DropoutSpec {
                prob,
                ..DropoutSpec::default()
            };
            spec.warning(joined, left)
        };
        let none = warning(0.9, 300, 0).unwrap();
        assert!(
            none.starts_with("dropout.prob is 0.9, but clients dropped out of 0 of the 300 rounds"),
            "{none}"
        );
        assert!(warning(0.1, 1_000, 50).is_some());
        for (prob, joined, left) in [
            (0.0, 100, 0),
            (0.1, 1_000, 75),
            (1.0, 10, 10),
            (0.9, 0, 0),
            (0.01, 30, 0),
        ] {
            assert_eq!(warning(prob, joined, left), None, "{prob} {joined} {left}");
        }
    }
}
