//! Bounded noise without a guarantee: what reproduces GW-LDP's figures.
//!
//! H. Jin and X. Chen (2022) argue with `H* = H + O(epsilon)`, and their figures follow uniform
//! noise of radius epsilon instead of their encoder: in them a larger epsilon hurts. Two inputs
//! further apart than twice the radius never give the same release, so nothing is protected, and
//! the cost says so.

use folkmoot_draws::{SimRng, unit};

use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, all_finite, positive};
use crate::noise::NoiseForm;

/// Adds independent noise, uniform in `-radius..radius`, to every value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Additive {
    radius: f64,
}

impl Additive {
    /// The noise of a given radius.
    ///
    /// # Errors
    ///
    /// When `radius` is not finite and positive.
    pub fn new(radius: f64) -> Result<Self, ParameterError> {
        let radius = positive("radius", radius)?;
        Ok(Additive { radius })
    }
}

impl Mechanism for Additive {
    type Input = [f64];
    type Release = Vec<f64>;

    /// Draws one `u64` for each value, in index order. Values must be finite.
    fn release_in(&self, _: NoiseForm, values: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        all_finite(values)?;
        let noise = |rng: &mut SimRng| self.radius * (2.0 * unit(rng) - 1.0);
        Ok(values.iter().map(|value| value + noise(rng)).collect())
    }

    fn cost(&self) -> PrivacyCost {
        PrivacyCost::UNPROTECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    #[test]
    fn value_stability() {
        let release = Additive::new(0.5)
            .unwrap()
            .release(&[3.0, 0.0], &mut SimRng::seed_from_u64(7));
        assert_eq!(release.unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>(), STABLE);
    }

    const STABLE: [u64; 2] = [4613167243556101818, 13823024628701092150];

    /// Mean and variance `radius² / 3` within 4 standard errors, and no value beyond the radius.
    #[test]
    fn noise_is_uniform_within_the_radius() {
        let mechanism = Additive::new(0.3).unwrap();
        let n = 50_000;
        let release = mechanism.release(&vec![1.0; n], &mut SimRng::seed_from_u64(2)).unwrap();
        let noise: Vec<f64> = release.iter().map(|value| value - 1.0).collect();
        assert!(noise.iter().all(|noise| noise.abs() <= 0.3 + 1e-12));
        let mean = |power: i32| noise.iter().map(|noise| noise.powi(power)).sum::<f64>() / n as f64;
        let (second, fourth): (f64, f64) = (0.09 / 3.0, 0.0081 / 5.0);
        assert!(mean(1).abs() < 4.0 * (second / n as f64).sqrt());
        assert!((mean(2) - second).abs() < 4.0 * ((fourth - second * second) / n as f64).sqrt());
    }

    /// The worst log ratio is infinite: inputs further apart than two radii share no release.
    #[test]
    fn far_inputs_share_no_release() {
        let mechanism = Additive::new(0.3).unwrap();
        let releases = |value: f64| {
            let release = mechanism
                .release(&[value; 1000], &mut SimRng::seed_from_u64(3))
                .unwrap();
            let least = release.iter().copied().fold(f64::INFINITY, f64::min);
            (least, release.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        assert!(releases(0.0).1 < releases(0.7).0);
        assert_eq!(mechanism.cost(), PrivacyCost::UNPROTECTED);
        assert_eq!(mechanism.law().renyi(2.0), f64::INFINITY);
    }

    #[test]
    fn parameters_and_values_are_checked() {
        for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Additive::new(radius).is_err());
        }
        let error = Additive::new(1.0)
            .unwrap()
            .release(&[f64::NAN], &mut SimRng::seed_from_u64(1));
        assert!(matches!(error, Err(ReleaseError::Value { index: 0, .. })));
    }
}
