//! The settings of rounds, as a card writes them.

use super::ServerOptimiser;
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// How rounds go; a strategy's parameters hold it as `protocol`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Rounds, 1..=1000000: how often the server takes in updates. Default 50.
    pub rounds: u32,
    /// How much each update counts. Default `Samples`.
    pub weighting: Weighting,
    /// What the server does with the mean of the updates. Default `Average()`.
    pub server: ServerOptimiser,
    /// When it does so. Default `Synchronous`.
    pub aggregation: Aggregation,
    /// With fewer updates than this when a round ends, the model stays as it is; 1..=4294967295, at most the number of
    /// clients asked. Default 1.
    pub min_updates: u32,
    /// What becomes of a model whose receiver is away. Default `GiveUp`.
    pub absent: Absent,
    /// Whether the server may see single updates. Default `Off`.
    pub secure: Secure,
    /// The model is scored after every so many rounds, at least 1, and after the last. Default 1.
    pub evaluate_every: u32,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol {
            rounds: 50,
            weighting: Weighting::default(),
            server: ServerOptimiser::default(),
            aggregation: Aggregation::default(),
            min_updates: 1,
            absent: Absent::default(),
            secure: Secure::default(),
            evaluate_every: 1,
        }
    }
}

/// How much an update counts in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weighting {
    /// As much as the samples it was learned from (McMahan et al. 2017).
    #[default]
    Samples,
    /// As much as any other; one learned from no sample counts nothing.
    Uniform,
}

/// When the server takes in updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Aggregation {
    /// When the cohort of a round has answered, or the deadline has come. What comes later is dropped.
    #[default]
    Synchronous,
    /// As soon as `size` updates have come, of whatever age (FedBuff: Nguyen et al. 2022, algorithm 1). The cohort is how many
    /// train at a time: for each that answers, one that is idle is drawn and asked.
    Buffered {
        /// Updates taken in at once, K in the paper; 1..=4294967295. Default 10.
        #[serde(default = "ten")]
        size: u32,
        /// How much a stale update counts. Default `InverseRoot`.
        #[serde(default)]
        discount: Discount,
    },
}

/// How much an update counts that was learned from a model `s` rounds old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Discount {
    /// `1 / sqrt(1 + s)`, as in FedBuff.
    #[default]
    InverseRoot,
    /// `(1 + s)^−exponent` (FedAsync: Xie et al. 2019, section 5.2).
    Polynomial {
        /// Finite and at least 0.
        exponent: f64,
    },
    /// As much as a fresh one.
    None,
}

/// Secure aggregation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Secure {
    /// Updates are sent as they are.
    #[default]
    Off,
    /// Updates are masked in pairs, and the server learns their sum alone (Bonawitz et al. 2017). Needs synchronous rounds, which
    /// then wait for all they asked, over-selected clients among them; the deadline holds for each of the four stages. Sums are in
    /// fixed point with 24 bits behind the point.
    Pairwise {
        /// So large a share of the clients that sent keys must stay to the end, above 0.5 and at most 1. Default 0.67.
        #[serde(default = "two_thirds")]
        threshold: f64,
    },
}

fn two_thirds() -> f64 {
    0.67
}

/// What becomes of a model whose receiver is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Absent {
    /// The server learns of it and expects no answer.
    #[default]
    GiveUp,
    /// It is held until the client is back, who then answers, perhaps too late.
    Wait,
}

fn ten() -> u32 {
    10
}

impl Discount {
    /// The factor at `staleness` rounds; 1 at 0.
    pub fn factor(self, staleness: u32) -> f64 {
        let age = 1.0 + f64::from(staleness);
        match self {
            Discount::InverseRoot => 1.0 / age.sqrt(),
            Discount::Polynomial { exponent } => libm::pow(age, -exponent),
            Discount::None => 1.0,
        }
    }
}

impl Protocol {
    /// How much an update counts that was learned from so many samples.
    pub(super) fn weight(&self, n_samples: u32) -> f64 {
        match self.weighting {
            Weighting::Samples => f64::from(n_samples),
            Weighting::Uniform => f64::from(n_samples.min(1)),
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
            Aggregation::Synchronous => 1.0,
            Aggregation::Buffered { discount, .. } => discount.factor(staleness),
        }
    }

    /// Every rule that the settings break: the field below `protocol`, and the rule with the way out.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut require = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((field.to_owned(), rule));
            }
        };
        let rounds = self.rounds;
        require(
            (1..=1_000_000).contains(&rounds),
            "rounds",
            format!("must lie in 1..=1000000, got {rounds}"),
        );
        require(
            self.min_updates >= 1,
            "min_updates",
            "must be at least 1, got 0".to_owned(),
        );
        require(
            self.evaluate_every >= 1,
            "evaluate_every",
            "must be at least 1, got 0".to_owned(),
        );
        if let Aggregation::Buffered { size, discount } = self.aggregation {
            require(size >= 1, "aggregation.size", "must be at least 1, got 0".to_owned());
            require(
                self.min_updates <= size.max(1),
                "min_updates",
                format!("must be at most {size} (aggregation.size), got {}", self.min_updates),
            );
            if let Discount::Polynomial { exponent } = discount {
                let rule = format!("must be finite and at least 0, got {exponent}");
                require(
                    exponent.is_finite() && exponent >= 0.0,
                    "aggregation.discount.exponent",
                    rule,
                );
            }
        }
        if let Secure::Pairwise { threshold } = self.secure {
            let rule = format!("must be greater than 0.5 and at most 1, got {threshold}");
            require(threshold > 0.5 && threshold <= 1.0, "secure.threshold", rule);
            require(
                self.aggregation == Aggregation::Synchronous,
                "secure",
                "needs aggregation: Synchronous; masks cancel only among clients of one round".to_owned(),
            );
        }
        for (field, rule) in self.server.check() {
            require(false, &format!("server.{field}"), rule);
        }
        breaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discounts_are_those_of_the_papers() {
        assert_eq!(
            [0, 3, 8].map(|s| Discount::InverseRoot.factor(s)),
            [1.0, 0.5, 1.0 / 3.0]
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
            server: ServerOptimiser::Momentum { rate: 0.0, beta: 1.0 },
            ..Protocol::default()
        };
        let fields: Vec<String> = protocol.check().into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            fields,
            [
                "rounds",
                "min_updates",
                "aggregation.discount.exponent",
                "server.rate",
                "server.beta"
            ]
        );
        assert!(Protocol::default().check().is_empty());
    }
}
