//! Randomised response on each of many bits of which few are set.
//!
//! S. L. Warner. Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias. JASA
//! 1965, for every bit alone: each is flipped with probability `1 / (e^ε + 1)`. Bits that are not
//! set are not gone through: how many stay before the next flipped one follows the geometric law.

use crate::law::Law;
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError};
use crate::noise::NoiseForm;
use crate::randomised_response::RandomisedResponse;
use folkmoot_draws::{SimRng, bernoulli, unit};

/// Randomised response on each of the bits `0..n_bits`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseBits {
    response: RandomisedResponse,
    n_bits: u32,
}

impl SparseBits {
    /// The mechanism on `n_bits` bits, each `epsilon`-private; `unit` is what one bit says.
    ///
    /// # Errors
    ///
    /// When `epsilon` is not finite and positive.
    pub fn new(epsilon: f64, n_bits: u32, unit: &'static str) -> Result<Self, ParameterError> {
        let response = RandomisedResponse::new(epsilon, 2, unit)?;
        Ok(SparseBits { response, n_bits })
    }

    /// The probability that a bit is flipped, `1 / (e^ε + 1)`.
    pub fn flip_probability(&self) -> f64 {
        self.response.other_probability()
    }
}

impl Mechanism for SparseBits {
    /// The places of the bits that are set, ascending, each once.
    type Input = [u32];
    /// The places of the bits that are set then, ascending.
    type Release = Vec<u32>;

    /// For each bit that is set whether it is flipped, by [`bernoulli`]; then one `u64` for each
    /// flipped place and one that leads beyond the last. A place that was set before is passed
    /// over. Where the probability is 0, nothing is drawn.
    ///
    /// # Complexity
    ///
    /// O((set + flipped) log) time.
    fn release_in(&self, _: NoiseForm, set: &[u32], rng: &mut SimRng) -> Result<Vec<u32>, ReleaseError> {
        let is_wrong = |at: &usize| set[*at] >= self.n_bits || (*at > 0 && set[*at - 1] >= set[*at]);
        if let Some(index) = (0..set.len()).find(is_wrong) {
            return Err(ReleaseError::Value {
                index,
                value: f64::from(set[index]),
            });
        }
        let flip = self.flip_probability();
        if flip == 0.0 {
            return Ok(set.to_vec());
        }
        let mut released: Vec<u32> = set.iter().copied().filter(|_| !bernoulli(rng, flip)).collect();
        let log_stay = libm::log1p(-flip);
        let mut at = 0_u64;
        loop {
            let n_staying = libm::log1p(-unit(rng)) / log_stay;
            // The cast of a number that is too large gives the largest.
            at = at.saturating_add(n_staying as u64);
            let place = match u32::try_from(at) {
                Ok(place) if place < self.n_bits => place,
                _ => break,
            };
            if set.binary_search(&place).is_err() {
                released.push(place);
            }
            at += 1;
        }
        released.sort_unstable();
        Ok(released)
    }

    fn cost(&self) -> PrivacyCost {
        self.response.cost()
    }

    fn law(&self) -> Law {
        self.response.law()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    fn bits(epsilon: f64, n_bits: u32) -> SparseBits {
        SparseBits::new(epsilon, n_bits, "one edge").unwrap()
    }

    #[test]
    fn value_stability() {
        let mut rng = SimRng::seed_from_u64(7);
        let draws: Vec<Vec<u32>> = (0..4)
            .map(|_| bits(1.0, 8).release(&[2, 5], &mut rng).unwrap())
            .collect();
        assert_eq!(draws, STABLE);
    }

    const STABLE: [&[u32]; 4] = [&[3], &[0, 2, 5, 7], &[1, 2, 4, 7], &[1, 2, 4]];

    /// Every bit, set or not, within 4 standard errors of its probability, and neighbouring ones
    /// independent.
    #[test]
    fn each_bit_is_flipped_by_itself() {
        for epsilon in [1e-3, 1.0, 3.0] {
            let (mechanism, n) = (bits(epsilon, 6), 40_000);
            let mut rng = SimRng::seed_from_u64(3);
            let (mut counts, mut both) = ([0u32; 6], 0u32);
            for _ in 0..n {
                let released = mechanism.release(&[1, 4], &mut rng).unwrap();
                released.iter().for_each(|&at| counts[at as usize] += 1);
                both += u32::from(released.contains(&2) && released.contains(&3));
            }
            let flip = mechanism.flip_probability();
            let near = |count: u32, p: f64| {
                let error = (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!(
                    (f64::from(count) / f64::from(n) - p).abs() < 4.0 * error,
                    "{epsilon}: {count} against {p}"
                );
            };
            for (at, count) in counts.into_iter().enumerate() {
                near(count, if [1, 4].contains(&at) { 1.0 - flip } else { flip });
            }
            near(both, flip * flip);
        }
    }

    /// The ratio of the two laws of one bit is the stated cost, neither more nor less.
    #[test]
    fn a_bit_costs_what_is_stated() {
        for epsilon in [1e-6, 1.0, 40.0] {
            let flip = bits(epsilon, 1).flip_probability();
            let worst = libm::log((1.0 - flip) / flip);
            assert!((worst - epsilon).abs() < 1e-9 * (1.0 + epsilon), "{worst} {epsilon}");
            assert_eq!(bits(epsilon, 1).cost().epsilon, epsilon);
        }
        assert!(SparseBits::new(0.0, 5, "").is_err());
    }

    #[test]
    fn no_bits_and_certain_ones_and_wrong_ones() {
        let mut rng = SimRng::seed_from_u64(1);
        assert_eq!(bits(1.0, 0).release(&[], &mut rng), Ok(vec![]));
        assert_eq!(bits(1e5, u32::MAX).release(&[0, 7], &mut rng), Ok(vec![0, 7]));
        assert_eq!(bits(60.0, u32::MAX).release(&[9], &mut rng), Ok(vec![9]));
        for (wrong, index) in [(&[8, 8][..], 1), (&[8, 3], 1), (&[3, 9], 1)] {
            let value = f64::from(wrong[index]);
            assert_eq!(
                bits(1.0, 9).release(wrong, &mut rng),
                Err(ReleaseError::Value { index, value })
            );
        }
    }
}
