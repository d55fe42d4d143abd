//! The settings of rounds, as a card writes them.

use super::private::Private;
use super::{Rule, ServerOptimiser};
use crate::packed;
use folkmoot_codecs::Codec;
use folkmoot_draws::{SimRng, index, unit};
use folkmoot_parts::{Broken, Chosen, Rules, component};

/// How rounds go; a strategy's parameters hold it as `protocol`.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Number of rounds (aggregations at the server).
    #[component(default = 100, in = 1..=1_000_000)]
    pub rounds: u32,
    /// Weight of each update.
    pub weighting: Weighting,
    /// Aggregation rule: mean, or a robust one.
    #[component(alias = "rule")]
    pub aggregator: Chosen<dyn Rule>,
    /// Server optimizer.
    #[component(alias = "server")]
    pub server_optimizer: Chosen<dyn ServerOptimiser>,
    /// Synchronous or asynchronous aggregation.
    pub aggregation: Aggregation,
    /// With fewer updates than this at the end of a round, the model is not changed; at most the
    /// cohort size.
    #[component(default = 1, at_least = 1)]
    pub min_updates: u32,
    /// Messages to offline clients: dropped, or delivered later.
    pub absent: Absent,
    /// Clients that do only part of their work.
    pub completeness: Completeness,
    /// Secure aggregation: whether the server sees single updates.
    pub secure: Secure,
    /// Differential privacy of training: for clients or examples.
    pub private: Private,
    /// Compression of the model sent to clients.
    #[component(alias = "down")]
    pub downlink_codec: Chosen<dyn Codec>,
    /// Compression of a client's update.
    #[component(alias = "up")]
    pub uplink_codec: Chosen<dyn Codec>,
    /// Rounds between evaluations; the last round is always evaluated.
    #[component(default = 1, at_least = 1)]
    pub evaluate_every: u32,
}

/// How much an update counts in the mean.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// As much as the samples it was learned from (McMahan et al. 2017).
    #[default]
    Samples,
    /// As much as any other; one learned from no sample counts nothing.
    Uniform,
}

/// When the server takes in updates.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// When the cohort of a round has answered, or the deadline has come. What comes later is
    /// dropped.
    #[default]
    Synchronous,
    /// As soon as `size` updates have come, of whatever age (FedBuff: Nguyen et al. 2022, algorithm
    /// 1). The cohort is how many train at a time: for each that answers, one that is idle is drawn
    /// and asked.
    Buffered {
        /// Updates taken in at once, K in the paper.
        #[component(default = 10, at_least = 1)]
        size: u32,
        /// How much a stale update counts.
        discount: Discount,
    },
    /// As soon as one update has come, of whatever age: it is mixed into the model,
    /// `x ← (1 − a) x + a y` with `a` the share times the discount (FedAsync: Xie et al. 2019,
    /// algorithm 1; its pull to the model that was sent is `training.fedprox_mu`). Clients are
    /// asked as with `Buffered`; of that with size 1, which adds a stale update's change to the
    /// present model, this is the other form. A packed change is added to the model that its client
    /// was sent, which the server keeps until then.
    Mixed {
        /// The share of a fresh update in the next model, alpha in the paper.
        #[component(default = 0.6, above = 0, at_most = 1)]
        share: f64,
        /// How much smaller the share of a stale one is.
        discount: Discount,
    },
}

/// How much an update counts that was learned from a model `s` rounds old.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discount {
    /// `1 / sqrt(1 + s)`, as in FedBuff.
    #[default]
    InverseRoot,
    /// `(1 + s)^−exponent` (FedAsync: Xie et al. 2019, section 5.2).
    Polynomial {
        /// The exponent.
        #[component(required, at_least = 0)]
        exponent: f64,
    },
    /// 1 up to `after` rounds, and from there on `1 / (slope (s − after) + 1)` (FedAsync: Xie et
    /// al. 2019, section 5.2).
    Hinge {
        /// As many rounds later an update still counts in full, b in the paper.
        #[component(default = 4)]
        after: u32,
        /// How fast it counts less from there on, a in the paper.
        #[component(default = 10.0, at_least = 0)]
        slope: f64,
    },
    /// As much as a fresh one.
    None,
}

/// Who does only part of its work in a round, as on devices that are too slow (FedProx: Li et al.
/// 2020, section 5.2). Such a client stops after some of its passes over its data, 1 to all of
/// them, each number as likely, and sends what it has; its device takes so much less time. Needs a
/// system that trains in several passes, such as FedAvg with `training.epochs`.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completeness {
    /// The probability that a client does so, drawn for each client and round.
    #[component(default = 0.0, in = 0..=1)]
    pub partial_prob: f64,
}

impl Completeness {
    /// How many of `passes` a client does, by a stream of its own for the round; without any that
    /// does part of its work, nothing is drawn.
    pub(super) fn passes(self, passes: u32, rng: impl FnOnce() -> SimRng) -> u32 {
        if self.partial_prob <= 0.0 {
            return passes;
        }
        let mut rng = rng();
        match unit(&mut rng) < self.partial_prob {
            true => 1 + index(&mut rng, passes.max(1) as usize) as u32,
            false => passes,
        }
    }
}

/// Secure aggregation.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Secure {
    /// Updates are sent as they are.
    #[default]
    Off,
    /// Updates are masked in pairs, and the server learns their sum alone (Bonawitz et al. 2017).
    /// Needs synchronous rounds, which then wait for all they asked, over-selected clients among
    /// them; the deadline holds for each of the four stages. Sums are in fixed point with 24 bits
    /// behind the point.
    Pairwise {
        /// So large a share of the clients that sent keys must stay to the end.
        #[component(default = 0.67, above = 0.5, at_most = 1)]
        threshold: f64,
    },
}

/// What becomes of a model whose receiver is away.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The server learns of it and expects no answer.
    #[default]
    GiveUp,
    /// It is held until the client is back, who then answers, perhaps too late.
    Wait,
}

impl Discount {
    /// The factor at `staleness` rounds; 1 at 0.
    pub fn factor(self, staleness: u32) -> f64 {
        let age = 1.0 + f64::from(staleness);
        match self {
            Discount::InverseRoot => 1.0 / age.sqrt(),
            Discount::Polynomial { exponent } => libm::pow(age, -exponent),
            Discount::Hinge { after, slope } => 1.0 / (slope * f64::from(staleness.saturating_sub(after)) + 1.0),
            Discount::None => 1.0,
        }
    }
}

impl Protocol {
    /// How much an update counts that was learned from so many samples.
    pub(super) fn weight(&self, n_samples: u32) -> f64 {
        match self.weighting {
            // Who has no sample makes no change, and nobody is to learn that.
            _ if self.private.hides_clients() => 1.0,
            Weighting::Samples => f64::from(n_samples),
            Weighting::Uniform => f64::from(n_samples.min(1)),
        }
    }

    /// Whether rounds may begin with one that asks for statistics; otherwise the field that does
    /// not allow it, and the rule.
    pub(crate) fn opens(&self) -> Result<(), (&'static str, &'static str)> {
        match (self.rounds, self.aggregation) {
            (_, Aggregation::Buffered { .. } | Aggregation::Mixed { .. }) => Err((
                "aggregation",
                "must be Synchronous where the first round asks for statistics or exchanges",
            )),
            (0 | 1, _) => Err((
                "rounds",
                "must be at least 2 where the first asks for statistics or exchanges, and trains nothing",
            )),
            _ => Ok(()),
        }
    }

    /// How many of `n` clients it takes to reconstruct a secret; 0 without secure aggregation.
    pub(super) fn threshold(&self, n: usize) -> usize {
        match self.secure {
            Secure::Off => 0,
            Secure::Pairwise { threshold } => (threshold * n as f64).ceil().max(1.0) as usize,
        }
    }

    /// How much an update counts that is so stale.
    pub(super) fn discount(&self, staleness: u32) -> f64 {
        match self.aggregation {
            Aggregation::Synchronous | Aggregation::Mixed { .. } => 1.0,
            Aggregation::Buffered { discount, .. } => discount.factor(staleness),
        }
    }

    /// What is doubtful about rounds of a model whose hidden layers have so many columns.
    pub fn lints(&self, hidden: u32) -> Vec<Broken> {
        packed::lints("protocol.downlink_codec", &*self.downlink_codec, hidden, false)
    }

    /// With so many updates a buffer is full; `None` in synchronous rounds.
    pub(super) fn buffer(&self) -> Option<u32> {
        match self.aggregation {
            Aggregation::Synchronous => None,
            Aggregation::Buffered { size, .. } => Some(size),
            Aggregation::Mixed { .. } => Some(1),
        }
    }

    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        if let Some(size) = self.buffer() {
            let rule = format!("must be at most {size} (aggregation.size), got {}", self.min_updates);
            rules.require(self.min_updates <= size.max(1), "min_updates", rule);
            if !rules.is_broken("aggregator") {
                let fewest = self.aggregator.fewest();
                let rule = format!("needs at least {fewest} updates, got {size} (aggregation.size)");
                rules.require(fewest <= size.max(1), "aggregator", rule);
            }
        }
        if !rules.is_broken("downlink_codec") {
            let rule = "must be Plain, Half, Bfloat, Uniform, Qsgd or another that sends every number: a model is sent to who may have none before";
            rules.require(self.downlink_codec.suits_models(), "downlink_codec", rule);
        }
        Private::rules(self, rules);
        if self.secure != Secure::Off {
            if !rules.is_broken("uplink_codec") {
                let adds_up = self.uplink_codec.is_plain() || self.uplink_codec.common(1, 0).is_some();
                let rule = "must be Plain or RandomK where updates are masked: of any other, what several clients send cannot be added up unread";
                rules.require(adds_up, "uplink_codec", rule);
            }
            let rule = "needs aggregation: Synchronous; masks cancel only among clients of one round";
            rules.require(self.aggregation == Aggregation::Synchronous, "secure", rule);
            let rule = "must be Mean where updates are masked: any other needs them one by one, and so secure: Off";
            rules.require(
                rules.is_broken("aggregator") || self.aggregator.is_mean(),
                "aggregator",
                rule,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Momentum, NormClip, TrimmedMean};
    use folkmoot_parts::Value;

    #[test]
    fn discounts_are_those_of_the_papers() {
        assert_eq!(
            [0, 3, 8].map(|s| Discount::InverseRoot.factor(s)),
            [1.0, 0.5, 1.0 / 3.0]
        );
        let hinge = Discount::Hinge { after: 4, slope: 10.0 };
        assert_eq!(
            [0, 4, 5, 6].map(|s| hinge.factor(s)),
            [1.0, 1.0, 1.0 / 11.0, 1.0 / 21.0]
        );
        let inverse = Discount::Polynomial { exponent: 1.0 };
        assert_eq!([0, 1, 3].map(|s| inverse.factor(s)), [1.0, 0.5, 0.25]);
        assert_eq!(Discount::None.factor(7), 1.0);
    }

    #[test]
    fn every_broken_rule_is_named() {
        let protocol = Protocol {
            rounds: 0,
            min_updates: 3,
            aggregation: Aggregation::Buffered {
                size: 2,
                discount: Discount::Polynomial { exponent: -1.0 },
            },
            aggregator: Chosen::new(TrimmedMean { share: 0.5 }),
            server_optimizer: Chosen::new(Momentum {
                learning_rate: 0.0,
                beta: 1.0,
            }),
            ..Protocol::default()
        };
        let paths: Vec<String> = protocol.broken().into_iter().map(|broken| broken.path).collect();
        let expected = [
            "rounds",
            "aggregator.share",
            "server_optimizer.learning_rate",
            "server_optimizer.beta",
            "aggregation.discount.exponent",
            "min_updates",
        ];
        assert_eq!(paths, expected);
        assert!(Protocol::default().broken().is_empty());
    }

    #[test]
    fn a_rule_must_suit_what_the_server_sees() {
        let broken = |protocol: Protocol| protocol.broken().iter().map(ToString::to_string).collect::<Vec<_>>();
        let masked = Protocol {
            aggregator: Chosen::new(NormClip { bound: 1.0 }),
            secure: Secure::Pairwise { threshold: 0.67 },
            ..Protocol::default()
        };
        assert_eq!(
            broken(masked),
            ["aggregator: must be Mean where updates are masked: any other needs them one by one, and so secure: Off"]
        );
        let two_of = |share: f64| Protocol {
            aggregator: Chosen::new(TrimmedMean { share }),
            aggregation: Aggregation::Buffered {
                size: 2,
                discount: Discount::None,
            },
            ..Protocol::default()
        };
        assert_eq!(
            broken(two_of(0.1)),
            ["aggregator: needs at least 3 updates, got 2 (aggregation.size)"]
        );
        assert!(broken(two_of(0.0)).is_empty());
    }
}
