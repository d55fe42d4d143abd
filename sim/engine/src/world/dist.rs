//! Distributions of positive quantities: latencies, rates, speeds, delays.

use super::Breach;
use folkmoot_draws::{SimRng, exponential, normal_by_exponential, unit};
use serde::{Deserialize, Serialize};

/// A distribution of a positive quantity; its unit is that of the field that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Dist {
    /// Always this value.
    Constant(f64),
    /// Uniform in `[low, high)`.
    Uniform {
        /// The least value.
        low: f64,
        /// The bound above.
        high: f64,
    },
    /// `min` plus an exponential law whose mean is `mean - min`.
    Exponential {
        /// The mean.
        mean: f64,
        /// The least value.
        #[serde(default)]
        min: f64,
    },
    /// `exp(N(ln median, sigma²))`, values below `min` raised to it.
    LogNormal {
        /// The median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The least value.
        #[serde(default)]
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

    /// No draw is smaller.
    pub fn min(&self) -> f64 {
        match *self {
            Dist::Constant(value) => value,
            Dist::Uniform { low, .. } => low,
            Dist::Exponential { min, .. } | Dist::LogNormal { min, .. } => min,
        }
    }

    /// Every rule it breaks, with the field below `path`; values must lie in `least..=most`.
    pub fn check(&self, path: &str, least: f64, most: f64) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                let path = if field.is_empty() {
                    path.to_owned()
                } else {
                    format!("{path}.{field}")
                };
                breaches.push((path, rule));
            }
        };
        let inside = |value: f64| (least..=most).contains(&value);
        let range = |value: f64| format!("must lie in {least}..={most}, got {value}");
        match *self {
            Dist::Constant(value) => need(inside(value), "", range(value)),
            Dist::Uniform { low, high } => {
                need(inside(low), "low", range(low));
                need(
                    inside(high) && high > low,
                    "high",
                    format!("must be greater than low and at most {most}, got {high}"),
                );
            }
            Dist::Exponential { mean, min } => {
                need(
                    inside(mean) && mean > 0.0,
                    "mean",
                    format!("must be greater than 0 and at most {most}, got {mean}"),
                );
                need(
                    (0.0..=mean).contains(&min),
                    "min",
                    format!("must lie in 0..=mean, got {min}"),
                );
            }
            Dist::LogNormal { median, sigma, min } => {
                need(
                    inside(median) && median > 0.0,
                    "median",
                    format!("must be greater than 0 and at most {most}, got {median}"),
                );
                need(
                    (0.0..=10.0).contains(&sigma),
                    "sigma",
                    format!("must lie in 0..=10, got {sigma}"),
                );
                need(
                    (0.0..=median).contains(&min),
                    "min",
                    format!("must lie in 0..=median, got {min}"),
                );
            }
        }
        breaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams};

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
        let breaches = Dist::LogNormal {
            median: 10.0,
            sigma: -1.0,
            min: 20.0,
        }
        .check("latency_ms", 0.0, 1e6);
        let fields: Vec<&str> = breaches.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(fields, ["latency_ms.sigma", "latency_ms.min"]);
        assert_eq!(Dist::Constant(f64::NAN).check("x", 0.0, 1.0).len(), 1);
    }
}
