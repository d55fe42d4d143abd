//! Gaussian noise: calibrated exactly, or with the standard deviation somebody chose.
//!
//! B. Balle and Y.-X. Wang. Improving the Gaussian Mechanism for Differential Privacy: Analytical
//! Calibration and Optimal Denoising. ICML 2018. The textbook's
//! `sqrt(2 ln(1.25 / delta)) / epsilon` is wrong above epsilon 1 and wasteful below.
//!
//! GW-LDP's released code adds noise of standard deviation epsilon to embeddings of unlimited size
//! ([`Gaussian::as_released`]): without a sensitivity there is no guarantee, whatever the number is
//! called.

use folkmoot_draws::SimRng;

use crate::law::Law;
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive, share};
use crate::noise::{Kind, Noise, NoiseForm, Values};
use crate::normal;

/// Adds independent Gaussian noise to every value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    std: f64,
    /// Infinite where nothing limits how far an input moves the values.
    sensitivity: f64,
    /// Of the grid of discrete noise.
    least_step: f64,
    cost: PrivacyCost,
}

impl Gaussian {
    /// The least noise that makes a release (`epsilon`, `delta`)-private for values that move by at
    /// most `sensitivity` in Euclidean length (L2) when the data change by one `unit` (Balle & Wang
    /// 2018, Algorithm 1).
    ///
    /// # Errors
    ///
    /// When a parameter is not finite and positive, `delta` is not less than 1, or the standard
    /// deviation would overflow.
    pub fn calibrated(epsilon: f64, delta: f64, sensitivity: f64, unit: &'static str) -> Result<Self, ParameterError> {
        positive("epsilon", epsilon)?;
        share("delta", delta)?;
        positive("sensitivity", sensitivity)?;
        let std = sensitivity / normal::largest_shift(epsilon, delta);
        let cost = PrivacyCost { epsilon, delta, unit };
        Ok(Gaussian {
            std: positive("sensitivity / shift", std)?,
            sensitivity,
            least_step: 0.0,
            cost,
        })
    }

    /// Noise of a given standard deviation, and what it costs at `delta`: the least epsilon that is
    /// true.
    ///
    /// # Errors
    ///
    /// When a parameter is not finite and positive, `delta` is not less than 1, or epsilon would
    /// overflow.
    pub fn new(std: f64, sensitivity: f64, delta: f64, unit: &'static str) -> Result<Self, ParameterError> {
        positive("std", std)?;
        positive("sensitivity", sensitivity)?;
        share("delta", delta)?;
        let shift = sensitivity / std;
        // Beyond, the square that Rényi divergences need overflows.
        let legal = (1e-150..1e150).contains(&shift);
        if !legal {
            return Err(ParameterError {
                name: "sensitivity / std",
                rule: "at least 1e-150 and less than 1e150",
                got: shift,
            });
        }
        let epsilon = normal::least_epsilon(shift, delta);
        let cost = PrivacyCost { epsilon, delta, unit };
        Ok(Gaussian {
            std,
            sensitivity,
            least_step: 0.0,
            cost,
        })
    }

    /// Noise of standard deviation `epsilon`, as GW-LDP's code has it: larger is noisier, and
    /// nothing is guaranteed.
    ///
    /// # Errors
    ///
    /// When `epsilon` is not finite and positive.
    pub fn as_released(epsilon: f64) -> Result<Self, ParameterError> {
        Ok(Gaussian {
            std: positive("epsilon", epsilon)?,
            sensitivity: f64::INFINITY,
            least_step: 0.0,
            cost: PrivacyCost::UNPROTECTED,
        })
    }

    /// The same with a grid of discrete noise whose step is at least `step`, a power of two: for
    /// releases that are sent in fixed point, which must not round them again.
    pub fn on_grid_of(self, step: f64) -> Self {
        Gaussian {
            least_step: step,
            ..self
        }
    }

    /// The standard deviation of the noise.
    pub fn std(&self) -> f64 {
        self.std
    }

    /// The least delta for which a release is (`epsilon`, delta)-private; `epsilon` is at least 0.
    pub fn delta_at(&self, epsilon: f64) -> f64 {
        normal::delta(epsilon, self.sensitivity / self.std)
    }
}

impl Mechanism for Gaussian {
    type Input = [f64];
    type Release = Vec<f64>;

    /// Draws for each value in index order; in floating point two `u64`. Values must be finite.
    fn release_in(&self, form: NoiseForm, values: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        with_noise(values, (self.std, self.sensitivity), (form, self.least_step), rng)
    }

    fn cost(&self) -> PrivacyCost {
        self.cost
    }

    fn law(&self) -> Law {
        let PrivacyCost { epsilon, delta, .. } = self.cost;
        Law::Normal {
            shift: self.sensitivity / self.std,
            epsilon,
            delta,
        }
    }
}

/// Values with independent Gaussian noise; the step of a grid is at least `least_step`.
pub(crate) fn with_noise(
    values: &[f64],
    (std, sensitivity): (f64, f64),
    (form, least_step): (NoiseForm, f64),
    rng: &mut SimRng,
) -> Result<Vec<f64>, ReleaseError> {
    let n = values.len();
    let noise = Noise::new((Kind::Gaussian, std), form, Values::Real { n, sensitivity }, least_step)?;
    noise.add_to(values, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    fn calibrated(epsilon: f64, delta: f64) -> Gaussian {
        Gaussian::calibrated(epsilon, delta, 1.0, "one row").unwrap()
    }

    #[test]
    fn value_stability() {
        let released = Gaussian::as_released(0.5).unwrap();
        let mut rng = SimRng::seed_from_u64(7);
        let release = released.release_in(NoiseForm::Float, &[3.0, 0.0], &mut rng).unwrap();
        assert_eq!(release.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), STABLE);
    }

    const STABLE: [u64; 2] = [4615004025575953580, 13812319232322159251];

    /// Standard deviations from arithmetic with 60 digits.
    #[test]
    fn the_calibration_is_exact() {
        for (epsilon, delta, std) in [
            (1.0, 1e-5, 3.730_631_634_815_942),
            (0.1, 1e-5, 30.749_566_131_977_45),
            (10.0, 1e-5, 0.499_888_619_709_008_5),
            (0.01, 1e-10, 501.292_132_926_000_76),
            (50.0, 0.3, 0.104_321_022_136_985_34),
            (1.0, 1e-100, 21.009_409_042_300_62),
        ] {
            let got = calibrated(epsilon, delta).std();
            assert!((got / std - 1.0).abs() < 1e-11, "{epsilon} {delta}: {got}, not {std}");
        }
        // Twice the sensitivity, twice the noise; and less of it than the textbook's.
        let double = Gaussian::calibrated(1.0, 1e-5, 2.0, "").unwrap();
        assert!((double.std() / calibrated(1.0, 1e-5).std() - 2.0).abs() < 1e-15);
        assert!(calibrated(1.0, 1e-5).std() < (2.0 * libm::log(1.25e5)).sqrt());
    }

    /// Mean and variance of the release of a fixed vector, and no correlation, within 4 standard
    /// errors.
    #[test]
    fn releases_spread_around_the_values() {
        let mechanism = calibrated(2.0, 1e-3);
        let mut rng = SimRng::seed_from_u64(2);
        let n = 50_000;
        let mut sums = [0.0; 5];
        for _ in 0..n {
            let release = mechanism.release(&[3.0, -1.0], &mut rng).unwrap();
            let noise = [release[0] - 3.0, release[1] + 1.0];
            let terms = [
                noise[0],
                noise[1],
                noise[0] * noise[0],
                noise[1] * noise[1],
                noise[0] * noise[1],
            ];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        let (variance, n) = (mechanism.std() * mechanism.std(), f64::from(n));
        let expected = [0.0, 0.0, variance, variance, 0.0];
        let errors = [1.0, 1.0, 2.0, 2.0, 1.0].map(|factor: f64| 4.0 * (factor / n).sqrt());
        let scales = [mechanism.std(), mechanism.std(), variance, variance, variance];
        for at in 0..5 {
            assert!((sums[at] / n - expected[at]).abs() < errors[at] * scales[at], "{at}");
        }
    }

    /// The definition, on a fine grid of outputs: the mass by which one input's law exceeds `e^ε`
    /// times its neighbour's is delta, and there the log ratio is above epsilon, without end.
    #[test]
    fn the_true_excess_over_epsilon_is_delta() {
        for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-5), (4.0, 0.1)] {
            let mechanism = calibrated(epsilon, delta);
            let std = mechanism.std();
            let log_density = |x: f64| -0.5 * (x / std) * (x / std);
            let step = std / 2000.0;
            let (mut excess, mut worst) = (0.0, 0.0f64);
            for i in -20_000..20_000 {
                let x = (f64::from(i) + 0.5) * step;
                let ratio = log_density(x) - log_density(x - 1.0);
                worst = worst.max(ratio);
                let density = libm::exp(log_density(x)) / (std * (2.0 * std::f64::consts::PI).sqrt());
                excess += step * density * (1.0 - libm::exp(epsilon - ratio)).max(0.0);
            }
            assert!((excess / delta - 1.0).abs() < 1e-3, "{excess}, not {delta}");
            assert!(worst > epsilon);
            assert!((mechanism.delta_at(epsilon) / delta - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn without_a_sensitivity_nothing_is_protected() {
        let released = Gaussian::as_released(0.1).unwrap();
        assert_eq!((released.std(), released.cost()), (0.1, PrivacyCost::UNPROTECTED));
        assert_eq!(
            (released.law().renyi(2.0), released.delta_at(100.0)),
            (f64::INFINITY, 1.0)
        );
    }

    #[test]
    fn parameters_and_values_are_checked() {
        for delta in [0.0, 1.0, f64::NAN, -1.0] {
            assert!(Gaussian::calibrated(1.0, delta, 1.0, "").is_err());
            assert!(Gaussian::new(1.0, 1.0, delta, "").is_err());
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                Gaussian::calibrated(bad, 0.1, 1.0, "").is_err() && Gaussian::calibrated(1.0, 0.1, bad, "").is_err()
            );
            assert!(Gaussian::new(bad, 1.0, 0.1, "").is_err() && Gaussian::new(1.0, bad, 0.1, "").is_err());
            assert!(Gaussian::as_released(bad).is_err());
        }
        assert!(Gaussian::calibrated(1.0, 1e-5, f64::MAX, "").is_err());
        let error = Gaussian::new(1e-200, 1.0, 0.1, "").unwrap_err().to_string();
        assert!(
            error.starts_with("sensitivity / std: must be at least 1e-150 and less than 1e150, got 1"),
            "{error}"
        );
        let error = calibrated(1.0, 0.1)
            .release(&[0.0, f64::NAN], &mut SimRng::seed_from_u64(1))
            .unwrap_err();
        assert!(matches!(error, ReleaseError::Value { index: 1, .. }));
    }

    proptest! {
        #[test]
        fn a_standard_deviation_and_its_calibration_agree(
            epsilon in 0.01f64..20.0, power in 1i32..12, sensitivity in 0.01f64..100.0,
        ) {
            let delta = libm::exp(-2.0 * f64::from(power));
            let wanted = Gaussian::calibrated(epsilon, delta, sensitivity, "").unwrap();
            let found = Gaussian::new(wanted.std(), sensitivity, delta, "").unwrap();
            prop_assert!((found.cost().epsilon / epsilon - 1.0).abs() < 1e-6);
        }
    }
}
