//! Randomised response: a value that is kept with a known probability and otherwise replaced by any
//! other.
//!
//! S. L. Warner. Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias. JASA
//! 1965 (two values); P. Kairouz, S. Oh and P. Viswanath. Extremal Mechanisms for Local
//! Differential Privacy. NeurIPS 2014, Sec. 4 (k values: the mechanism that keeps most of the data
//! at a given epsilon when epsilon is large).
//!
//! Of `n` values, the true one is released with probability `e^ε / (e^ε + n - 1)` and each other
//! one with `1 / (e^ε + n - 1)`; the log ratio of two inputs for one release is therefore ε, or 0.

use folkmoot_draws::{SimRng, bernoulli, index};

use crate::law::Law;
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive};
use crate::noise::NoiseForm;

/// Randomised response over the values `0..n_values`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisedResponse {
    epsilon: f64,
    n_values: u32,
    unit: &'static str,
}

impl RandomisedResponse {
    /// The mechanism that releases one of `n_values` values, `epsilon`-private for inputs one
    /// `unit` apart.
    ///
    /// # Errors
    ///
    /// When `epsilon` is not finite and positive, or there are fewer than two values: one alone
    /// tells nothing and needs no mechanism.
    pub fn new(epsilon: f64, n_values: u32, unit: &'static str) -> Result<Self, ParameterError> {
        positive("epsilon", epsilon)?;
        match n_values >= 2 {
            true => Ok(RandomisedResponse {
                epsilon,
                n_values,
                unit,
            }),
            false => Err(ParameterError {
                name: "n_values",
                rule: "at least 2",
                got: f64::from(n_values),
            }),
        }
    }

    /// The probability that the value is released unchanged, `e^ε / (e^ε + n - 1)`.
    pub fn keep_probability(&self) -> f64 {
        // Divided by e^ε, so that no ε overflows; where e^-ε is 0, so is the chance of another
        // value.
        1.0 / (1.0 + self.n_others() * libm::exp(-self.epsilon))
    }

    /// The probability that the value is released as one given other value, `1 / (e^ε + n - 1)`.
    ///
    /// At least the smallest positive number up to ε = 745, beyond which it is 0 and every value is
    /// kept.
    pub fn other_probability(&self) -> f64 {
        let inverse = libm::exp(-self.epsilon);
        inverse / (1.0 + self.n_others() * inverse)
    }

    /// How many values a replacement is drawn from.
    fn n_others(&self) -> f64 {
        f64::from(self.n_values - 1)
    }
}

impl Mechanism for RandomisedResponse {
    /// A value below `n_values`.
    type Input = u32;
    /// A value below `n_values`.
    type Release = u32;

    /// One `u64` decides whether the value is kept and, if it is not, a second one which other
    /// takes its place. Either takes a further `u64` where the first leaves the decision open,
    /// which is rarer than once in 2^32.
    fn release_in(&self, _: NoiseForm, &value: &u32, rng: &mut SimRng) -> Result<u32, ReleaseError> {
        if value >= self.n_values {
            return Err(ReleaseError::Value {
                index: 0,
                value: f64::from(value),
            });
        }
        if !bernoulli(rng, self.n_others() * self.other_probability()) {
            return Ok(value);
        }
        let other = index(rng, self.n_values as usize - 1) as u32;
        Ok(if other < value { other } else { other + 1 })
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: self.unit,
        }
    }

    fn law(&self) -> Law {
        Law::Response {
            epsilon: self.epsilon,
            n_values: self.n_values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    fn response(epsilon: f64, n_values: u32) -> RandomisedResponse {
        RandomisedResponse::new(epsilon, n_values, "one label").unwrap()
    }

    #[test]
    fn value_stability() {
        let mechanism = response(1.0, 5);
        let mut rng = SimRng::seed_from_u64(7);
        let draws: Vec<u32> = (0..12).map(|_| mechanism.release(&2, &mut rng).unwrap()).collect();
        assert_eq!(draws, STABLE);
    }

    const STABLE: [u32; 12] = [0, 2, 2, 2, 0, 2, 4, 1, 1, 3, 0, 0];

    /// Warner's question: of two answers, the true one with probability e^ε / (e^ε + 1).
    #[test]
    fn two_values_are_warners_coin() {
        let mechanism = response(libm::log(3.0), 2);
        assert!((mechanism.keep_probability() - 0.75).abs() < 1e-15);
        assert!((mechanism.other_probability() - 0.25).abs() < 1e-15);
    }

    /// Every released value of every input within 4 standard errors of its probability.
    #[test]
    fn draws_follow_the_probabilities() {
        for (epsilon, n_values) in [(0.2, 2), (1.0, 5), (3.0, 3)] {
            let mechanism = response(epsilon, n_values);
            for value in 0..n_values {
                let mut rng = SimRng::seed_from_u64(u64::from(value));
                let n = 50_000;
                let mut counts = vec![0u32; n_values as usize];
                for _ in 0..n {
                    counts[mechanism.release(&value, &mut rng).unwrap() as usize] += 1;
                }
                for (released, count) in counts.into_iter().enumerate() {
                    let p = match released == value as usize {
                        true => mechanism.keep_probability(),
                        false => mechanism.other_probability(),
                    };
                    let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                    assert!(
                        (f64::from(count) / f64::from(n) - p).abs() < 4.0 * error,
                        "{epsilon} {value}"
                    );
                }
            }
        }
    }

    /// Two inputs differ most where one of them is released: by the stated cost, neither more nor
    /// less.
    #[test]
    fn the_worst_log_ratio_is_the_stated_cost() {
        for n_values in [2, 7, u32::MAX] {
            for epsilon in [1e-9, 0.1, 1.0, 10.0, 40.0, 700.0] {
                let mechanism = response(epsilon, n_values);
                let (keep, other) = (mechanism.keep_probability(), mechanism.other_probability());
                let worst = libm::log(keep) - libm::log(other);
                let error = (worst - mechanism.cost().epsilon).abs();
                assert!(error < 1e-14 * (40.0 + epsilon), "{n_values} {epsilon} {worst}");
                let total = keep + other * f64::from(n_values - 1);
                assert!((total - 1.0).abs() < 1e-15, "{n_values} {epsilon}");
            }
        }
    }

    #[test]
    fn huge_parameters_neither_overflow_nor_vanish() {
        let mut rng = SimRng::seed_from_u64(1);
        let certain = response(1e300, u32::MAX);
        assert_eq!((certain.keep_probability(), certain.other_probability()), (1.0, 0.0));
        assert_eq!(certain.release(&(u32::MAX - 1), &mut rng), Ok(u32::MAX - 1));
        // At ε = 5 a value among 2^32 - 1 is kept once in 2.9e7: practically every release is
        // another value.
        let lost = response(5.0, u32::MAX);
        let draws: Vec<u32> = (0..50).map(|_| lost.release(&9, &mut rng).unwrap()).collect();
        assert!(draws.iter().all(|&draw| draw != 9 && draw < u32::MAX));
        let mean = draws.iter().map(|&draw| f64::from(draw)).sum::<f64>() / 50.0 / f64::from(u32::MAX);
        assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / 50.0).sqrt(), "{mean}");
    }

    #[test]
    fn parameters_and_inputs_are_checked() {
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RandomisedResponse::new(epsilon, 3, "").is_err());
        }
        let error = RandomisedResponse::new(1.0, 1, "").unwrap_err();
        assert_eq!(error.to_string(), "n_values: must be at least 2, got 1");
        let error = response(1.0, 3).release(&3, &mut SimRng::seed_from_u64(1));
        assert_eq!(error, Err(ReleaseError::Value { index: 0, value: 3.0 }));
    }

    proptest! {
        #[test]
        fn a_release_is_a_value(epsilon in 1e-6f64..50.0, n_values in 2u32.., at in 0.0f64..1.0, seed: u64) {
            let value = (at * f64::from(n_values)) as u32;
            let release = response(epsilon, n_values).release(&value, &mut SimRng::seed_from_u64(seed)).unwrap();
            prop_assert!(release < n_values);
        }
    }
}
