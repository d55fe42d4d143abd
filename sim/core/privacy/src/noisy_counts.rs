//! Counts with Laplace noise (Dwork et al. 2006): what a FedWalk device says of its neighbours per
//! bin.

use folkmoot_draws::SimRng;

use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive};
use crate::noise::{Noise, NoiseForm, Values};
use crate::{Laplace, Law};

/// Adds independent Laplace noise of scale `sensitivity / epsilon` to every count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyCounts {
    noise: Laplace,
    epsilon: f64,
    sensitivity: f64,
    are_whole: bool,
    unit: &'static str,
}

impl NoisyCounts {
    /// The mechanism that is `epsilon`-private for counts that change by at most `sensitivity` in
    /// all (L1) when the data change by one `unit`.
    ///
    /// One neighbour more or less moves one count: 1. One neighbour replaced moves two: 2.
    ///
    /// # Errors
    ///
    /// When a parameter, or their quotient, is not finite and positive.
    pub fn new(epsilon: f64, sensitivity: f64, unit: &'static str) -> Result<Self, ParameterError> {
        positive("epsilon", epsilon)?;
        positive("sensitivity", sensitivity)?;
        let noise = Laplace::for_epsilon(epsilon, sensitivity).map_err(|_| ParameterError {
            name: "sensitivity / epsilon",
            rule: "finite and greater than 0",
            got: sensitivity / epsilon,
        })?;
        Ok(NoisyCounts {
            noise,
            epsilon,
            sensitivity,
            are_whole: false,
            unit,
        })
    }

    /// The same for whole numbers, which discrete noise need not round. With it a release of a
    /// fraction is an error.
    pub fn of_whole_numbers(self) -> Self {
        NoisyCounts {
            are_whole: true,
            ..self
        }
    }

    pub fn noise(&self) -> Laplace {
        self.noise
    }

    /// The noise of a release of `n` counts.
    ///
    /// # Errors
    ///
    /// As [`Laplace::noise`].
    pub fn noise_on(&self, form: NoiseForm, n: usize) -> Result<Noise, ReleaseError> {
        let sensitivity = self.sensitivity;
        let values = match self.are_whole {
            true => Values::Whole,
            false => Values::Real { n, sensitivity },
        };
        self.noise.noise(form, values)
    }
}

impl Mechanism for NoisyCounts {
    type Input = [f64];
    /// Real numbers, possibly negative.
    type Release = Vec<f64>;

    /// Draws for each count in index order; in floating point one `u64`. Counts must be finite.
    fn release_in(&self, form: NoiseForm, counts: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        self.noise_on(form, counts.len())?.add_to(counts, rng)
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: self.unit,
        }
    }

    /// That of the whole sensitivity in one count, where it is widest: the divergence is convex in
    /// the shift.
    fn law(&self) -> Law {
        Law::Laplace { epsilon: self.epsilon }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    #[test]
    fn value_stability() {
        let mechanism = NoisyCounts::new(2.0, 1.0, "one neighbour").unwrap();
        let mut rng = SimRng::seed_from_u64(7);
        let release = mechanism.release_in(NoiseForm::Float, &[3.0, 0.0], &mut rng).unwrap();
        assert_eq!(release.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), STABLE);
    }

    const STABLE: [u64; 2] = [4611858898551480494, 4606208986540058766];

    /// Mean and variance of the release of a fixed vector, within 4 standard errors.
    #[test]
    fn releases_spread_around_the_counts() {
        let mechanism = NoisyCounts::new(0.5, 1.0, "one neighbour").unwrap();
        let mut rng = SimRng::seed_from_u64(2);
        let n = 50_000;
        let mut sums = [0.0; 4];
        for _ in 0..n {
            let release = mechanism.release(&[3.0, 0.0], &mut rng).unwrap();
            for (at, true_count) in [3.0, 0.0].iter().enumerate() {
                let noise = release[at] - true_count;
                sums[at] += noise;
                sums[at + 2] += noise * noise;
            }
        }
        let (variance, n) = (mechanism.noise().variance(), f64::from(n));
        for at in 0..2 {
            assert!((sums[at] / n).abs() < 4.0 * (variance / n).sqrt());
            // The fourth moment is 24 b⁴, that is 6 times the variance squared.
            let error = 4.0 * (5.0 * variance * variance / n).sqrt();
            assert!((sums[at + 2] / n - variance).abs() < error);
        }
    }

    /// Two counts that differ by 1 in one bin: the log ratio is epsilon at worst. By 1 in two bins:
    /// twice that.
    #[test]
    fn the_worst_log_ratio_is_epsilon_per_unit_of_sensitivity() {
        let mechanism = NoisyCounts::new(2.0, 1.0, "one neighbour").unwrap();
        let law = mechanism.noise();
        let log_ratio = |x: f64| libm::log(law.pdf(x) / law.pdf(x - 1.0));
        let worst = (-300..300)
            .map(|i| log_ratio(f64::from(i) / 50.0).abs())
            .fold(0.0, f64::max);
        assert!((worst - mechanism.cost().epsilon).abs() < 1e-12);
        // The bins are independent, so ratios of both add up.
        let replaced = NoisyCounts::new(2.0, 2.0, "one neighbour replaced").unwrap();
        let both = 2.0 * libm::log(replaced.noise().pdf(-1.0) / replaced.noise().pdf(-2.0));
        assert!((both - replaced.cost().epsilon).abs() < 1e-12);
    }

    #[test]
    fn parameters_and_counts_are_checked() {
        let error = NoisyCounts::new(0.0, 1.0, "").unwrap_err();
        assert_eq!(error.to_string(), "epsilon: must be finite and greater than 0, got 0");
        assert!(NoisyCounts::new(1e-300, 1e300, "").is_err());
        let mechanism = NoisyCounts::new(1.0, 1.0, "").unwrap();
        let error = mechanism
            .release(&[1.0, f64::NAN], &mut SimRng::seed_from_u64(1))
            .unwrap_err();
        assert!(matches!(error, ReleaseError::Value { index: 1, .. }));
    }
}
