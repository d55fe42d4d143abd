//! Distributions of positive quantities: latencies, rates, speeds, delays.

use folkmoot_draws::{SimRng, exponential, normal_by_exponential, unit};
use folkmoot_parts::{Bounded, Range, Rules, component};

/// A distribution of a positive quantity; its unit is that of the field that holds it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist {
    /// Constant value.
    Constant(#[component(required)] f64),
    /// Uniform in `[low, high)`.
    Uniform {
        /// Minimum.
        #[component(required)]
        low: f64,
        /// Upper bound, exclusive.
        #[component(required)]
        high: f64,
    },
    /// `min` plus an exponential distribution with mean `mean - min`.
    Exponential {
        /// Mean, including `min`.
        #[component(required)]
        mean: f64,
        /// Minimum.
        min: f64,
    },
    /// Log-normal `exp(N(ln median, sigma²))`; values below `min` are raised to `min`.
    LogNormal {
        /// Median.
        #[component(required)]
        median: f64,
        /// Standard deviation of the logarithm.
        #[component(required, in = 0..=10)]
        sigma: f64,
        /// Minimum.
        min: f64,
    },
}

impl Dist {
    /// A draw. Takes 0, 1, 1 or 2 numbers from `rng`, by variant.
    pub fn draw(&self, rng: &mut SimRng) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform { low, high } => low + (high - low) * unit(rng),
            Dist::Exponential { mean, min } => min + (mean - min) * exponential(rng),
            Dist::LogNormal { median, sigma, min } => (median * libm::exp(sigma * normal_by_exponential(rng))).max(min),
        }
    }

    /// The mean of draws; of a log-normal one, that without a minimum.
    pub fn mean(&self) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform { low, high } => f64::midpoint(low, high),
            Dist::Exponential { mean, .. } => mean,
            Dist::LogNormal { median, sigma, .. } => median * libm::exp(sigma * sigma / 2.0),
        }
    }

    /// No draw is smaller.
    pub fn min(&self) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform { low, .. } => low,
            Dist::Exponential { min, .. } | Dist::LogNormal { min, .. } => min,
        }
    }
}

/// The range is that of the values it draws, as far as its settings bound them.
impl Bounded for Dist {
    fn keep(&self, range: &Range, rules: &mut Rules) {
        let most = range.most.0;
        let mut need = |holds: bool, field: &str, rule: String| rules.require(holds, field, rule);
        let up_to_most = |value: f64| format!("must be greater than 0 and at most {most}, got {value}");
        match *self {
            Dist::Constant(value) => range.keep(value, value, rules),
            Dist::Uniform { low, high } => {
                let rule = format!("must be greater than low and at most {most}, got {high}");
                need(range.holds(high) && high > low, "high", rule);
                rules.at("low", |rules| range.keep(low, low, rules));
            }
            Dist::Exponential { mean, min } => {
                need(range.holds(mean) && mean > 0.0, "mean", up_to_most(mean));
                let rule = format!("must lie in 0..=mean, got {min}");
                need((0.0..=mean).contains(&min), "min", rule);
            }
            Dist::LogNormal { median, min, .. } => {
                need(range.holds(median) && median > 0.0, "median", up_to_most(median));
                let rule = format!("must lie in 0..=median, got {min}");
                need((0.0..=median).contains(&min), "min", rule);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::network::LinkClass;
    use folkmoot_draws::{Purpose, Streams};
    use folkmoot_parts::Value;

    #[test]
    fn draws_stay_above_the_minimum_and_keep_their_mean() {
        let mut rng = Streams::new(3).global(Purpose(*b"testdist"));
        let dists = [
            (Dist::Uniform { low: 2.0, high: 4.0 }, 3.0, 1.0 / 3.0),
            (Dist::Exponential { mean: 5.0, min: 1.0 }, 5.0, 16.0),
            (
                Dist::LogNormal {
                    median: 1.0,
                    sigma: 0.5,
                    min: 0.0,
                },
                libm::exp(0.125),
                0.3647,
            ),
        ];
        for (dist, mean, variance) in dists {
            assert!((dist.mean() - mean).abs() < 1e-12, "{dist:?}");
            let draws: Vec<f64> = (0..40_000).map(|_| dist.draw(&mut rng)).collect();
            let got = draws.iter().sum::<f64>() / 40_000.0;
            assert!(
                (got - mean).abs() < 4.0 * (variance / 40_000.0f64).sqrt(),
                "{dist:?}: {got} against {mean}"
            );
            assert!(draws.iter().all(|&x| x >= dist.min()));
        }
    }

    #[test]
    fn every_broken_rule_is_named() {
        let broken = |latency_ms: Dist| {
            let class = LinkClass {
                latency_ms,
                loss_prob: 0.0,
            };
            class
                .broken()
                .into_iter()
                .map(|broken| broken.path)
                .collect::<Vec<String>>()
        };
        let (median, sigma, min) = (10.0, -1.0, 20.0);
        let dist = Dist::LogNormal { median, sigma, min };
        assert_eq!(broken(dist), ["latency_ms.min", "latency_ms.sigma"]);
        assert_eq!(broken(Dist::Constant(f64::NAN)), ["latency_ms"]);
        let dist = Dist::Uniform { low: -1.0, high: -2.0 };
        assert_eq!(broken(dist), ["latency_ms.high", "latency_ms.low"]);
    }

    /// Each rule at its own edge: where it just holds, and where it just does not.
    #[test]
    fn every_rule_breaks_where_it_says() {
        let most = 1e9;
        let class = |latency_ms| LinkClass {
            latency_ms,
            loss_prob: 0.0,
        };
        let broken = |dist| {
            class(dist)
                .broken()
                .into_iter()
                .map(|broken| broken.path)
                .collect::<Vec<String>>()
        };
        let above = |value: f64| f64::from_bits(value.to_bits() + 1);
        let uniform = |low, high| Dist::Uniform { low, high };
        let exponential = |mean, min| Dist::Exponential { mean, min };
        let log_normal = |median, min| Dist::LogNormal {
            median,
            sigma: 0.0,
            min,
        };
        assert!(
            broken(Dist::Constant(most)).is_empty(),
            "the bound of this test is that of latencies"
        );
        assert_eq!(broken(Dist::Constant(above(most))), ["latency_ms"]);
        assert!(broken(uniform(0.0, most)).is_empty());
        assert_eq!(broken(uniform(0.0, above(most))), ["latency_ms.high"]);
        assert_eq!(broken(uniform(1.0, 1.0)), ["latency_ms.high"]);
        for of in [&exponential as &dyn Fn(f64, f64) -> Dist, &log_normal] {
            assert!(broken(of(most, 0.0)).is_empty() && broken(of(1.0, 1.0)).is_empty());
            for (value, min) in [(above(most), 0.0), (0.0, 0.0), (-1.0, 0.0)] {
                assert!(!broken(of(value, min)).is_empty(), "{value}");
            }
            assert_eq!(broken(of(1.0, above(1.0))), ["latency_ms.min"]);
        }
    }
}
