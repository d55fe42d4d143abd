//! The exponential mechanism: a candidate is chosen with probability proportional to
//! `exp(scale × score)`.
//!
//! F. McSherry and K. Talwar. Mechanism Design via Differential Privacy. FOCS 2007.
//!
//! For scores that change by at most the sensitivity Δ between neighbouring inputs, the log of a
//! probability changes by at most `2 × scale × Δ`. Calibrated, the scale is `ε / 2Δ`. FedWalk
//! prints the scale ε instead ([`Exponential::as_printed`]): its cost is then `2 ε Δ`, whatever it
//! is called. Base measure: uniform.

use folkmoot_draws::{SimRng, unit};

use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive};
use crate::noise::NoiseForm;

/// The exponential mechanism over the indices of a list of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    scale: f64,
    sensitivity: f64,
    unit: &'static str,
}

impl Exponential {
    /// The mechanism with a given scale, for scores of the given sensitivity between inputs one
    /// `unit` apart.
    ///
    /// # Errors
    ///
    /// When a parameter is not finite and positive.
    pub fn new(scale: f64, sensitivity: f64, unit: &'static str) -> Result<Self, ParameterError> {
        Ok(Exponential {
            scale: positive("scale", scale)?,
            sensitivity: positive("sensitivity", sensitivity)?,
            unit,
        })
    }

    /// The scale as FedWalk prints it: `epsilon` itself.
    ///
    /// # Errors
    ///
    /// As [`Exponential::new`].
    pub fn as_printed(epsilon: f64, sensitivity: f64, unit: &'static str) -> Result<Self, ParameterError> {
        Exponential::new(positive("epsilon", epsilon)?, sensitivity, unit)
    }

    /// The scale that makes a release `epsilon`-private: `epsilon / (2 × sensitivity)`.
    ///
    /// # Errors
    ///
    /// As [`Exponential::new`].
    pub fn calibrated(epsilon: f64, sensitivity: f64, unit: &'static str) -> Result<Self, ParameterError> {
        positive("epsilon", epsilon)?;
        positive("sensitivity", sensitivity)?;
        Exponential::new(epsilon / (2.0 * sensitivity), sensitivity, unit)
    }

    /// The factor before the score.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The log of the probability of each candidate, shape `(n,)`:
    /// `scale × score - log sum exp(scale × score)`.
    ///
    /// The largest exponent is taken out of the sum, so no score is too large. A score may be minus
    /// infinity: such a candidate is never chosen.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Empty`] without candidates, or when every score is minus infinity;
    /// [`ReleaseError::Value`] for a score that is NaN or infinite, or whose product with the scale
    /// is.
    pub fn log_probabilities(&self, scores: &[f64]) -> Result<Vec<f64>, ReleaseError> {
        let mut logs = self.exponents(scores)?;
        let sum: f64 = logs.iter().map(|&log| libm::exp(log)).sum();
        let log_sum = libm::log(sum);
        logs.iter_mut().for_each(|log| *log -= log_sum);
        Ok(logs)
    }

    /// The probability of each candidate, shape `(n,)`.
    ///
    /// # Errors
    ///
    /// As [`Exponential::log_probabilities`].
    pub fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>, ReleaseError> {
        let logs = self.log_probabilities(scores)?;
        Ok(logs.into_iter().map(libm::exp).collect())
    }

    /// The largest log ratio of the probabilities of one candidate under two inputs: the epsilon
    /// that is really spent.
    ///
    /// `scores` has shape `(n_inputs, n_candidates)`. Infinite if a candidate is possible under one
    /// input only.
    ///
    /// # Errors
    ///
    /// As [`Exponential::log_probabilities`], with the index within `scores`;
    /// [`ReleaseError::Length`] if the last row is not complete.
    pub fn worst_log_ratio(&self, scores: &[f64], n_candidates: usize) -> Result<f64, ReleaseError> {
        if n_candidates == 0 || scores.is_empty() {
            return Err(ReleaseError::Empty);
        }
        if !scores.len().is_multiple_of(n_candidates) {
            let expected = scores.len().div_ceil(n_candidates).saturating_mul(n_candidates);
            let got = scores.len();
            return Err(ReleaseError::Length { expected, got });
        }
        let mut least = vec![f64::INFINITY; n_candidates];
        let mut most = vec![f64::NEG_INFINITY; n_candidates];
        for (row, scores) in scores.chunks(n_candidates).enumerate() {
            let logs = self.log_probabilities(scores).map_err(|error| match error {
                ReleaseError::Value { index, value } => ReleaseError::Value {
                    index: row * n_candidates + index,
                    value,
                },
                other => other,
            })?;
            for ((least, most), log) in least.iter_mut().zip(&mut most).zip(logs) {
                *least = least.min(log);
                *most = most.max(log);
            }
        }
        // A candidate that is impossible under every input tells nothing; its difference would be
        // NaN.
        let possible = least.iter().zip(&most).filter(|(_, most)| **most > f64::NEG_INFINITY);
        Ok(possible.map(|(least, most)| most - least).fold(0.0, f64::max))
    }

    /// `scale × score` less the largest of them: all at most 0, one of them 0.
    fn exponents(&self, scores: &[f64]) -> Result<Vec<f64>, ReleaseError> {
        let mut exponents: Vec<f64> = scores.iter().map(|score| self.scale * score).collect();
        let legal = |at: &usize| scores[*at] == f64::NEG_INFINITY || exponents[*at].is_finite();
        if let Some(index) = (0..scores.len()).find(|at| !legal(at)) {
            return Err(ReleaseError::Value {
                index,
                value: scores[index],
            });
        }
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return Err(ReleaseError::Empty);
        }
        exponents.iter_mut().for_each(|exponent| *exponent -= largest);
        Ok(exponents)
    }
}

impl Mechanism for Exponential {
    /// The score of each candidate.
    type Input = [f64];
    /// The index of the chosen candidate.
    type Release = usize;

    /// Draws one `u64`; candidates fill the unit interval in index order.
    fn release_in(&self, _: NoiseForm, scores: &[f64], rng: &mut SimRng) -> Result<usize, ReleaseError> {
        let weights: Vec<f64> = self.exponents(scores)?.into_iter().map(libm::exp).collect();
        let at = unit(rng) * weights.iter().sum::<f64>();
        Ok(pick(&weights, at))
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost {
            epsilon: 2.0 * self.scale * self.sensitivity,
            delta: 0.0,
            unit: self.unit,
        }
    }
}

/// The candidate at `left` on a line of which each takes as much as its weight. Rounding may leave
/// a rest after the last one that has any weight, which then keeps it.
fn pick(weights: &[f64], mut left: f64) -> usize {
    let mut chosen = 0;
    for (index, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        chosen = index;
        if left < weight {
            break;
        }
        left -= weight;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    fn calibrated(epsilon: f64, sensitivity: f64) -> Exponential {
        Exponential::calibrated(epsilon, sensitivity, "one input").unwrap()
    }

    #[test]
    fn value_stability() {
        let mut rng = SimRng::seed_from_u64(7);
        let mechanism = Exponential::new(1.0, 1.0, "one input").unwrap();
        let scores = [0.0, -0.5, f64::NEG_INFINITY, -1.0, 0.3];
        let draws: Vec<usize> = (0..12).map(|_| mechanism.release(&scores, &mut rng).unwrap()).collect();
        assert_eq!(draws, STABLE);
    }

    const STABLE: [usize; 12] = [0, 0, 4, 4, 4, 1, 0, 4, 1, 4, 0, 1];

    #[test]
    fn a_candidate_without_weight_is_not_chosen_even_by_rounding() {
        let picks = [0.0, 0.99, 1.0, 1.49, 1.5].map(|left| pick(&[0.0, 1.0, 0.0, 0.5, 0.0], left));
        assert_eq!(picks, [1, 1, 3, 3, 3]);
    }

    /// Every frequency within 4 standard errors of its probability.
    #[test]
    fn draws_follow_the_probabilities() {
        let mechanism = Exponential::new(0.7, 1.0, "one input").unwrap();
        let scores = [0.0, -3.0, 1.5, f64::NEG_INFINITY, 0.2];
        let probabilities = mechanism.probabilities(&scores).unwrap();
        let mut rng = SimRng::seed_from_u64(3);
        let n = 100_000;
        let mut counts = [0u32; 5];
        for _ in 0..n {
            counts[mechanism.release(&scores, &mut rng).unwrap()] += 1;
        }
        for (count, p) in counts.into_iter().zip(probabilities) {
            let error = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((f64::from(count) / f64::from(n) - p).abs() <= 4.0 * error, "{counts:?}");
        }
    }

    /// One candidate's score falls by Δ while all others rise by Δ: with many others the log ratio
    /// nears 2 × scale × Δ.
    #[test]
    fn the_worst_log_ratio_nears_the_cost_and_never_exceeds_it() {
        let mechanism = calibrated(2.0, 0.5);
        let n = 100_000;
        let (mut first, mut second) = (vec![0.0; n], vec![0.5; n]);
        (first[0], second[0]) = (0.5, 0.0);
        let worst = mechanism.worst_log_ratio(&[first, second].concat(), n).unwrap();
        assert_eq!(mechanism.cost().epsilon, 2.0);
        assert!(worst <= 2.0 && worst > 1.9999, "{worst}");
    }

    /// FedWalk's own use: the score is minus a distance, and as published the true ratio is far
    /// above epsilon.
    #[test]
    fn the_printed_scale_spends_more_than_it_says() {
        let scores = [0.0, -8.0, -8.0, 0.0];
        let printed = Exponential::as_printed(2.0, 8.0, "one vertex").unwrap();
        let worst = printed.worst_log_ratio(&scores, 2).unwrap();
        assert!((worst - 16.0).abs() < 1e-9 && worst <= printed.cost().epsilon);
        assert!(calibrated(2.0, 8.0).worst_log_ratio(&scores, 2).unwrap() <= 2.0);
        assert_eq!((printed.scale(), calibrated(2.0, 8.0).scale()), (2.0, 0.125));
        assert_eq!(printed.worst_log_ratio(&[1.0], 0), Err(ReleaseError::Empty));
        assert_eq!(printed.worst_log_ratio(&[], 2), Err(ReleaseError::Empty));
    }

    #[test]
    fn huge_scores_neither_overflow_nor_vanish() {
        let printed = Exponential::as_printed(2.0, 1e8, "one vertex").unwrap();
        assert_eq!(printed.probabilities(&[-1e8, 0.0, -1e8]).unwrap(), [0.0, 1.0, 0.0]);
        assert_eq!(printed.probabilities(&[1e300, 1e300]).unwrap(), [0.5, 0.5]);
        assert_eq!(printed.worst_log_ratio(&[0.0, -6.7e7, -6.7e7, 0.0], 2).unwrap(), 1.34e8);
        assert_eq!(printed.worst_log_ratio(&[0.0, f64::NEG_INFINITY], 2).unwrap(), 0.0);
        assert_eq!(
            printed.worst_log_ratio(&[0.0, f64::NEG_INFINITY, 0.0, 0.0], 2).unwrap(),
            f64::INFINITY
        );
    }

    #[test]
    fn scores_outside_the_domain_are_refused() {
        let mechanism = calibrated(1.0, 1.0);
        let mut rng = SimRng::seed_from_u64(1);
        assert_eq!(mechanism.release(&[], &mut rng), Err(ReleaseError::Empty));
        assert_eq!(
            mechanism.release(&[f64::NEG_INFINITY], &mut rng),
            Err(ReleaseError::Empty)
        );
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(matches!(
                mechanism.release(&[0.0, bad], &mut rng),
                Err(ReleaseError::Value { index: 1, .. })
            ));
        }
        let ragged = mechanism.worst_log_ratio(&[0.0; 5], 3).unwrap_err();
        assert_eq!(ragged, ReleaseError::Length { expected: 6, got: 5 });
        let nested = mechanism.worst_log_ratio(&[0.0, 0.0, 0.0, f64::NAN], 2).unwrap_err();
        assert!(matches!(nested, ReleaseError::Value { index: 3, .. }));
        assert!(Exponential::calibrated(-1.0, 1.0, "").is_err() && Exponential::as_printed(1.0, f64::NAN, "").is_err());
    }

    proptest! {
        #[test]
        fn a_release_is_a_possible_candidate(scores in proptest::collection::vec(-50.0f64..50.0, 1..20), seed: u64) {
            let mechanism = calibrated(40.0, 1.0);
            let chosen = mechanism.release(&scores, &mut SimRng::seed_from_u64(seed)).unwrap();
            prop_assert!(mechanism.log_probabilities(&scores).unwrap()[chosen] > -800.0);
        }
    }
}
