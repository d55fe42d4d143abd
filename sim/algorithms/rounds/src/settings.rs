//! The settings of rounds, as a card writes them.

use super::adversary::Malicious;
use super::private::Private;
use super::{Rule, ServerOptimiser};
use crate::packed;
use folkmoot_codecs::Codec;
use folkmoot_draws::{SimRng, index, unit};
use folkmoot_parts::{Broken, Chosen, Rules, component};

/// Settings of federated rounds. An algorithm's parameters hold them as `protocol`.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Number of rounds (aggregations at the server).
    #[component(default = 100, in = 1..=1_000_000)]
    pub rounds: u32,
    /// Weight of each update in the aggregate.
    pub weighting: Weighting,
    /// Aggregation rule: mean, or a robust one.
    #[component(alias = "rule")]
    pub aggregator: Chosen<dyn Rule>,
    /// Server optimizer.
    #[component(alias = "server")]
    pub server_optimizer: Chosen<dyn ServerOptimiser>,
    /// Synchronous or asynchronous aggregation.
    pub aggregation: Aggregation,
    /// Minimum number of updates per round; with fewer, the model stays unchanged. At most the
    /// cohort size.
    #[component(default = 1, at_least = 1)]
    pub min_updates: u32,
    /// Handling of a model sent to an offline client: dropped, or delivered later.
    pub absent: Absent,
    /// Partial local work, as by stragglers.
    pub completeness: Completeness,
    /// Secure aggregation: the server sees only the sum of the updates.
    pub secure: Secure,
    /// Differential privacy of training, at client or example level.
    pub private: Private,
    /// Malicious clients: which, when, and what they send.
    pub malicious: Malicious,
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

/// Weight of an update in the mean.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Proportional to the number of training samples of the client (McMahan et al. 2017).
    #[default]
    Samples,
    /// Equal for all clients; 0 for a client without training samples.
    Uniform,
}

/// When the server aggregates updates.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// Aggregates when all updates of the round's cohort have arrived, or at the deadline. Later
    /// updates are dropped.
    #[default]
    Synchronous,
    /// Aggregates as soon as `size` updates have arrived, however stale (FedBuff: Nguyen et al.
    /// 2022, algorithm 1). The cohort size is the number of clients that train concurrently. Each
    /// update that arrives triggers the selection of one idle client.
    Buffered {
        /// Buffer size: updates per aggregation, K in the paper.
        #[component(default = 10, at_least = 1)]
        size: u32,
        /// Staleness discount: factor on the weight of a stale update.
        discount: Discount,
    },
    /// Asynchronously, one update at a time: `x ← (1 − a) x + a y`, where `a` is `share` times the
    /// discount (FedAsync: Xie et al. 2019, algorithm 1). The paper's proximal term is
    /// `training.fedprox_mu`. Clients are selected as in `Buffered`. `y` is the client's model; with
    /// a compressed uplink it is the model that the client received, which the server keeps, plus
    /// the decoded change. `Buffered` with size 1 is another method: it adds the change to the
    /// current model.
    Mixed {
        /// Mixing weight of a fresh update, alpha in the paper.
        #[component(default = 0.6, above = 0, at_most = 1)]
        share: f64,
        /// Staleness discount: factor on the mixing weight of a stale update.
        discount: Discount,
    },
}

/// Weight factor of an update computed from a model that is `s` rounds old.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discount {
    /// `1 / sqrt(1 + s)`, as in FedBuff.
    #[default]
    InverseRoot,
    /// `(1 + s)^−exponent` (FedAsync: Xie et al. 2019, section 5.2).
    Polynomial {
        /// Exponent of the polynomial decay.
        #[component(required, at_least = 0)]
        exponent: f64,
    },
    /// 1 up to a staleness of `after` rounds, then `1 / (slope (s − after) + 1)` (FedAsync: Xie et
    /// al. 2019, section 5.2).
    Hinge {
        /// Staleness up to which the discount is 1, in rounds; b in the paper.
        #[component(default = 4)]
        after: u32,
        /// Slope of the decay beyond `after`; a in the paper.
        #[component(default = 10.0, at_least = 0)]
        slope: f64,
    },
    /// No discount: the factor is 1.
    None,
}

/// Partial local work, as on slow devices (FedProx: Li et al. 2020, section 5.2). Such a client
/// trains for a uniformly drawn number of its local epochs, at least 1, and sends the result. Its
/// simulated training time shrinks accordingly. Needs an algorithm with several local epochs, such
/// as FedAvg with `training.epochs`.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completeness {
    /// Probability that a client does partial work, drawn per client and round.
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
    /// No secure aggregation: the server sees each update.
    #[default]
    Off,
    /// Pairwise masking: the server learns only the sum of the updates (Bonawitz et al. 2017).
    /// Needs synchronous rounds. A round waits for all selected clients, including over-selected
    /// ones. The deadline applies to each of the four stages. Sums are in fixed point with 24
    /// fractional bits. An update is refused if one of its numbers, times the client's weight, is
    /// beyond 2^23.
    Pairwise {
        /// Fraction of the clients that sent keys who must stay to the end of the round.
        #[component(default = 0.67, above = 0.5, at_most = 1)]
        threshold: f64,
    },
}

/// Handling of a model sent to an offline client.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Dropped: the server is notified and expects no update.
    #[default]
    GiveUp,
    /// Delivered once the client is online again; its update may then be late.
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
                "must be Synchronous when the first round collects statistics or exchanges data",
            )),
            (0 | 1, _) => Err((
                "rounds",
                "must be at least 2 when the first round collects statistics or exchanges data: that round does not train",
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
        let packed = packed::lints("protocol.downlink_codec", &*self.downlink_codec, hidden, false);
        packed.into_iter().chain(self.without_effect()).collect()
    }

    /// Settings that have no effect with the others.
    pub fn without_effect(&self) -> Vec<Broken> {
        let (malicious, mut found) = (&self.malicious, Vec::new());
        let mut doubt = |path: &str, rule: String| {
            let path = format!("protocol.{path}");
            found.push(Broken { path, rule });
        };
        if !malicious.clients.is_none() && malicious.from_round >= self.rounds {
            let rule = format!(
                "no client attacks: the run ends with round {}, and the attack begins with round {}; lower it",
                self.rounds.saturating_sub(1),
                malicious.from_round
            );
            doubt("malicious.from_round", rule);
        }
        if malicious.clients.is_none() && *malicious != Malicious::default() {
            doubt(
                "malicious",
                "has no effect without malicious clients; state clients: Fraction(0.1)".to_owned(),
            );
        }
        let idle = match self.aggregation {
            Aggregation::Mixed { .. } => Some("Mixed aggregation, which takes one update at a time".to_owned()),
            _ if self.aggregator.ignores_weights() => {
                Some(format!("{}, which weighs all updates alike", self.aggregator.text()))
            }
            _ => None,
        };
        if let Some(with) = idle.filter(|_| self.weighting != Weighting::default()) {
            doubt("weighting", format!("has no effect with {with}; leave it out"));
        }
        found
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
            let rule = "must be Plain, Half, Bfloat, Uniform, Qsgd or another codec that sends every value: the receiver may have no earlier model";
            rules.require(self.downlink_codec.suits_models(), "downlink_codec", rule);
        }
        Private::rules(self, rules);
        Malicious::rules(self, rules);
        if self.secure != Secure::Off {
            if !rules.is_broken("uplink_codec") {
                let adds_up = self.uplink_codec.is_plain() || self.uplink_codec.common(1, 0).is_some();
                let rule = "must be Plain or RandomK with secure aggregation: masked updates of any other codec cannot be summed";
                rules.require(adds_up, "uplink_codec", rule);
            }
            let rule = "needs aggregation: Synchronous; masks cancel only among the clients of one round";
            rules.require(self.aggregation == Aggregation::Synchronous, "secure", rule);
            let rule = "must be Mean with secure aggregation: other rules need individual updates; set secure: Off to use them";
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
            [
                "aggregator: must be Mean with secure aggregation: other rules need individual updates; set secure: Off to use them"
            ]
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
