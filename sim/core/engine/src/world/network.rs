//! The network: how long a message takes, and whether it arrives.

use super::tcp::{Connection, Framing, Sharing, SlowStart, Transport};
use super::{Dist, Rate};
use folkmoot_draws::{Purpose, StreamName, Streams, unit};
use folkmoot_metrics::{Bytes, Direction, Party, Round, SimSpan};
use folkmoot_parts::component;

/// The two ends of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub from: Party,
    pub to: Party,
}

/// What becomes of a message, decided when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Transmissions, the first included.
    pub attempts: u32,
    /// Whether the last of them succeeds; else all were lost.
    pub arrives: bool,
    /// When that one reaches the receiver's access link, or else the sender gives up, counted from
    /// the end of the transmissions by the sender.
    pub after: SimSpan,
}

/// What a party's access link carries, each way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRates {
    pub up: Rate,
    pub down: Rate,
}

pub trait Network: Send + Sync {
    /// The fate of a message of `size` bytes. Draws come from `name` alone: the sender and its
    /// message counter.
    fn verdict(&self, link: Link, size: Bytes, name: StreamName) -> Verdict;

    /// The rates of a party's access link; the same party always gets the same. Messages queue
    /// there, first in, first out.
    fn access(&self, party: Party, streams: Streams) -> AccessRates;

    /// Nothing arrives sooner after it was sent; one nanosecond at least, so that a cause comes
    /// before its effect. It is the length of the windows that are handled in parallel.
    fn lookahead(&self) -> SimSpan;

    /// How messages are carried; default: whole, at once at the full rate, one after the other.
    fn transport(&self) -> Transport {
        Transport::default()
    }

    /// The settings of the card by which messages are lost for good; default: none.
    fn lossy_settings(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Settings of one link class: uplink, downlink or peer.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkClass {
    /// One-way latency.
    #[component(default = Dist::Constant(20.0), in = 0..=1e9, unit = "ms")]
    pub latency_ms: Dist,
    /// Probability that a transmission is lost.
    #[component(default = 0.0, in = 0..=1)]
    pub loss_prob: f64,
}

const LEAST: SimSpan = SimSpan(1);

/// Ideal network: no loss, and a latency of one nanosecond, the minimum.
#[component(name = "Ideal", about = "no loss, and a latency of one nanosecond")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ideal {}

impl Network for Ideal {
    fn verdict(&self, _: Link, _: Bytes, _: StreamName) -> Verdict {
        Verdict {
            attempts: 1,
            arrives: true,
            after: LEAST,
        }
    }

    fn access(&self, _: Party, _: Streams) -> AccessRates {
        AccessRates::default()
    }

    fn lookahead(&self) -> SimSpan {
        LEAST
    }
}

/// Links with latency, bandwidth and loss.
#[component(
    name = "Links",
    about = "latency, loss and retransmissions per link class, and access links of limited rate"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Client to server.
    pub uplink: LinkClass,
    /// Server to client.
    pub downlink: LinkClass,
    /// Client to client.
    pub peer: LinkClass,
    /// Uplink rate of a client's access link, drawn once per client; unlimited by default.
    #[component(in = 1..=1e15, unit = "bytes/s")]
    pub up_bytes_per_s: Option<Dist>,
    /// Downlink rate of the access link; unlimited by default.
    #[component(in = 1..=1e15, unit = "bytes/s")]
    pub down_bytes_per_s: Option<Dist>,
    /// Uplink rate of the server's access link, shared by everything it sends in sequence;
    /// unlimited by default.
    #[component(in = 1..=1e15, unit = "bytes/s")]
    pub server_up_bytes_per_s: Option<f64>,
    /// Downlink rate of the access link; unlimited by default.
    #[component(in = 1..=1e15, unit = "bytes/s")]
    pub server_down_bytes_per_s: Option<f64>,
    /// Maximum number of retransmissions of a lost message.
    #[component(default = 3, in = 0..=100)]
    pub max_retries: u32,
    /// Time after which the sender takes a transmission for lost. It repeats it then or, after the
    /// last one, gives up.
    #[component(default = 200.0, in = 0..=1e9, unit = "ms")]
    pub retry_after_ms: f64,
    /// Headers of the frames of each transmission, beyond `header_bytes`; by default none.
    pub framing: Option<Framing>,
    /// TCP's slow start between the server and each client, which delays messages on links with
    /// latency; by default none.
    pub slow_start: Option<SlowStart>,
    /// How messages share the server's access link. The computing time of `Fair` grows faster than
    /// the number of concurrent messages; beyond a thousand it dominates.
    pub server_sharing: Sharing,
}

impl Links {
    fn class(&self, link: Link) -> &LinkClass {
        match Direction::between(link.from, link.to) {
            Direction::Uplink => &self.uplink,
            Direction::Downlink => &self.downlink,
            Direction::Peer => &self.peer,
        }
    }
}

impl Network for Links {
    fn verdict(&self, link: Link, _: Bytes, name: StreamName) -> Verdict {
        let class = self.class(link);
        let mut rng = name.open();
        // Latency first, so that adding loss moves no latency of a first attempt.
        let latency = class.latency_ms.draw(&mut rng);
        let mut n_lost = 0;
        if class.loss_prob > 0.0 {
            while n_lost <= self.max_retries && unit(&mut rng) < class.loss_prob {
                n_lost += 1;
            }
        }
        let arrives = n_lost <= self.max_retries;
        let waited = SimSpan::from_millis(self.retry_after_ms) * u64::from(n_lost);
        let last = SimSpan::from_millis(latency).max(LEAST);
        Verdict {
            attempts: n_lost + u32::from(arrives),
            arrives,
            after: if arrives { waited + last } else { waited },
        }
    }

    fn access(&self, party: Party, streams: Streams) -> AccessRates {
        let rate = |rate: Option<f64>| rate.map_or(Rate::Unlimited, |rate| Rate::Constant((rate as u64).max(1)));
        let draw = |dist: Option<Dist>, purpose| {
            rate(dist.map(|dist| dist.draw(&mut streams.party(purpose, party, Round(0)))))
        };
        match party {
            Party::Server => AccessRates {
                up: rate(self.server_up_bytes_per_s),
                down: rate(self.server_down_bytes_per_s),
            },
            Party::Client(_) => AccessRates {
                up: draw(self.up_bytes_per_s, Purpose(*b"rate-up ")),
                down: draw(self.down_bytes_per_s, Purpose(*b"rate-dwn")),
            },
        }
    }

    fn transport(&self) -> Transport {
        let round_trip_ms = self.uplink.latency_ms.mean() + self.downlink.latency_ms.mean();
        let round_trip = SimSpan::from_millis(round_trip_ms);
        Transport {
            framing: self.framing,
            slow_start: self.slow_start.map(|start| Connection { start, round_trip }),
            sharing: self.server_sharing,
        }
    }

    fn lossy_settings(&self) -> Vec<&'static str> {
        let classes = [
            (self.uplink, "network.uplink.loss_prob"),
            (self.downlink, "network.downlink.loss_prob"),
            (self.peer, "network.peer.loss_prob"),
        ];
        let lossy = classes.into_iter().filter(|(class, _)| class.loss_prob > 0.0);
        lossy.map(|(_, setting)| setting).collect()
    }

    fn lookahead(&self) -> SimSpan {
        let classes = [self.uplink, self.downlink, self.peer];
        let least = classes
            .iter()
            .map(|class| SimSpan::from_millis(class.latency_ms.min()))
            .min();
        least.unwrap_or(LEAST).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::ClientId;

    fn verdicts(network: Links, n: u64) -> Vec<Verdict> {
        let link = Link {
            from: Party::Client(ClientId(1)),
            to: Party::Client(ClientId(2)),
        };
        (0..n)
            .map(|i| {
                let name = StreamName::new(Streams::new(1), Purpose(*b"network "), link.from, Round(0), i);
                network.verdict(link, Bytes(10), name)
            })
            .collect()
    }

    #[test]
    fn retries_and_final_losses_follow_the_geometric_law() {
        let peer = LinkClass {
            loss_prob: 0.5,
            ..LinkClass::default()
        };
        let all = verdicts(
            Links {
                peer,
                max_retries: 2,
                ..Links::default()
            },
            40_000,
        );
        let lost = all.iter().filter(|verdict| !verdict.arrives).count() as f64 / 40_000.0;
        assert!(
            (lost - 0.125).abs() < 4.0 * (0.125f64 * 0.875 / 40_000.0).sqrt(),
            "{lost}"
        );
        assert!(all.iter().all(|verdict| (1..=3).contains(&verdict.attempts)));
        let after = |attempts, arrives| {
            let of = |verdict: &&Verdict| (verdict.attempts, verdict.arrives) == (attempts, arrives);
            all.iter().find(of).map(|verdict| verdict.after)
        };
        assert_eq!(after(2, true), Some(SimSpan::from_millis(220.0)));
        assert_eq!(
            after(3, false),
            Some(SimSpan::from_millis(600.0)),
            "the sender waits after the last, too"
        );
    }

    #[test]
    fn adding_loss_moves_no_latency_of_a_first_attempt() {
        let jitter = Dist::LogNormal {
            median: 40.0,
            sigma: 0.5,
            min: 5.0,
        };
        let calm = LinkClass {
            latency_ms: jitter,
            loss_prob: 0.0,
        };
        let lossy = LinkClass {
            latency_ms: jitter,
            loss_prob: 0.3,
        };
        let calm = verdicts(
            Links {
                peer: calm,
                ..Links::default()
            },
            200,
        );
        let lossy = verdicts(
            Links {
                peer: lossy,
                ..Links::default()
            },
            200,
        );
        for (calm, lossy) in calm.iter().zip(&lossy).filter(|(_, lossy)| lossy.attempts == 1) {
            assert_eq!(calm, lossy);
        }
    }

    #[test]
    fn the_lookahead_is_the_least_latency_of_all_classes() {
        let peer = LinkClass {
            latency_ms: Dist::Exponential { mean: 9.0, min: 2.0 },
            loss_prob: 0.0,
        };
        let network = Links {
            peer,
            ..Links::default()
        };
        assert_eq!(network.lookahead(), SimSpan::from_millis(2.0));
        assert_eq!(Ideal {}.lookahead(), SimSpan(1));
    }
}
