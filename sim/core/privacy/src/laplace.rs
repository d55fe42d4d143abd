//! The Laplace law and the mechanism that adds it (Dwork et al. 2006).
//!
//! The textbook sampler on floating-point numbers ([`Laplace::sample`]) leaks through the low bits
//! of its output (Mironov 2012); [`Laplace::noise`] has both forms.

use crate::mechanism::ReleaseError;
use crate::noise::{Kind, Noise, NoiseForm, Values};
use folkmoot_draws::SimRng;
use thiserror::Error;

/// The Laplace law with mean 0: density `exp(-|x| / b) / 2b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laplace {
    scale: f64,
}

/// The scale is not finite and positive.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the Laplace scale must be finite and greater than 0, got {}", .0)]
pub struct LaplaceError(f64);

impl Laplace {
    /// The law with scale `b`, finite and > 0.
    ///
    /// # Errors
    ///
    /// For any other scale.
    pub fn new(scale: f64) -> Result<Self, LaplaceError> {
        match scale.is_finite() && scale > 0.0 {
            true => Ok(Laplace { scale }),
            false => Err(LaplaceError(scale)),
        }
    }

    /// The mechanism that makes a value of the given L1 sensitivity `epsilon`-private: scale =
    /// sensitivity / epsilon.
    ///
    /// # Errors
    ///
    /// When that scale is not finite and positive.
    pub fn for_epsilon(epsilon: f64, sensitivity: f64) -> Result<Self, LaplaceError> {
        Laplace::new(sensitivity / epsilon)
    }

    /// The scale `b`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The density at `x`.
    pub fn pdf(&self, x: f64) -> f64 {
        libm::exp(-x.abs() / self.scale) / (2.0 * self.scale)
    }

    /// `ln (p(x | 1) / p(x | 0))` of a value `x` that was drawn around 1 or 0:
    /// `(|x| − |x − 1|) / b`, without the rounding of that difference. It lies in ±1/b.
    pub fn log_ratio(&self, x: f64) -> f64 {
        (2.0 * x - 1.0).clamp(-1.0, 1.0) / self.scale
    }

    /// The probability of a value at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        let tail = 0.5 * libm::exp(-x.abs() / self.scale);
        if x < 0.0 { tail } else { 1.0 - tail }
    }

    /// The inverse of [`Laplace::cdf`], for `u` in (0, 1); infinite at 0 and 1.
    pub fn quantile(&self, u: f64) -> f64 {
        if u < 0.5 {
            self.scale * libm::log(2.0 * u)
        } else {
            -self.scale * libm::log(2.0 * (1.0 - u))
        }
    }

    /// The variance, `2 b²`.
    pub fn variance(&self) -> f64 {
        2.0 * self.scale * self.scale
    }

    /// The mean of |R|, `b`.
    pub fn mean_abs(&self) -> f64 {
        self.scale
    }

    /// The mean of |R1 − R2| for two independent draws, `3 b / 2`.
    pub fn mean_abs_difference(&self) -> f64 {
        1.5 * self.scale
    }

    /// The probability that the best guess of a 0/1 value from its noisy release is wrong:
    /// `exp(-1 / 2b) / 2`.
    pub fn guess_error(&self) -> f64 {
        0.5 * libm::exp(-0.5 / self.scale)
    }

    /// The mean of `max(0, round(count + R))`, the size that a noisy count asks of a pool.
    ///
    /// Rounding to at least `j` means a value of at least `j - 1/2`, so it is the sum of those
    /// probabilities over `j >= 1`; the tail beyond `count` is a geometric series.
    pub fn mean_rounded_count(&self, count: u32) -> f64 {
        let n = f64::from(count);
        let below: f64 = (1..=count).map(|j| 1.0 - self.cdf(f64::from(j) - 0.5 - n)).sum();
        let ratio = libm::exp(-1.0 / self.scale);
        below + 0.5 * libm::exp(-0.5 / self.scale) / (1.0 - ratio)
    }

    /// The Rényi divergence of `order` > 1 from the same law moved by `shift`: `ln(a / (2a - 1)
    /// e^((a - 1) t) + (a - 1) / (2a - 1) e^(-a t)) / (a - 1)` with `t = |shift| / b` (Mironov
    /// 2017, Proposition 6).
    pub fn renyi(&self, shift: f64, order: f64) -> f64 {
        crate::renyi::laplace(shift.abs() / self.scale, order)
    }

    /// Noise of this scale, in one of two forms, on `values`.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Scale`] when discrete noise of this scale needs more than 2^46 grid steps.
    pub fn noise(&self, form: NoiseForm, values: Values) -> Result<Noise, ReleaseError> {
        Noise::new((Kind::Laplace, self.scale), form, values, 0.0)
    }

    /// A draw in floating point. Takes one `u64` from `rng`.
    pub fn sample(&self, rng: &mut SimRng) -> f64 {
        self.scale * folkmoot_draws::laplace(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    #[test]
    fn value_stability() {
        let mut rng = SimRng::seed_from_u64(7);
        let law = Laplace { scale: 0.5 };
        let draws: Vec<u64> = (0..3).map(|_| law.sample(&mut rng).to_bits()).collect();
        assert_eq!(draws, STABLE);
    }

    const STABLE: [u64; 3] = [13829862935158422858, 4606208986540058766, 13818855630946691893];

    /// Mean, variance and the mean size of a difference within 4 standard errors.
    #[test]
    fn draws_follow_the_law() {
        let mut rng = SimRng::seed_from_u64(1);
        let law = Laplace { scale: 0.5 };
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| law.sample(&mut rng)).collect();
        let mean = |f: &dyn Fn(f64) -> f64| draws.iter().map(|&x| f(x)).sum::<f64>() / f64::from(n);
        let error = |variance: f64| 4.0 * (variance / f64::from(n)).sqrt();
        assert!(mean(&|x| x).abs() < error(law.variance()));
        // The fourth moment of the law is 24 b⁴.
        assert!((mean(&|x| x * x) - law.variance()).abs() < error(24.0 * 0.0625 - 0.25));
        let pairs: f64 = draws.chunks(2).map(|pair| (pair[0] - pair[1]).abs()).sum::<f64>() / f64::from(n / 2);
        assert!((pairs - law.mean_abs_difference()).abs() < 2.0 * error(1.0));
        for x in [-1.0, -0.2, 0.0, 0.4] {
            let below = draws.iter().filter(|&&draw| draw <= x).count() as f64 / f64::from(n);
            assert!((below - law.cdf(x)).abs() < error(0.25), "at {x}");
        }
    }

    /// The definition of ε-privacy: neighbouring counts differ by a factor of at most e^ε anywhere,
    /// and reach it.
    #[test]
    fn the_worst_log_ratio_is_epsilon() {
        let law = Laplace::for_epsilon(2.0, 1.0).unwrap();
        let ratios = (-400..400)
            .map(|i| f64::from(i) / 100.0)
            .map(|x| libm::log(law.pdf(x) / law.pdf(x - 1.0)).abs());
        let worst = ratios.fold(0.0, f64::max);
        assert!((worst - 2.0).abs() < 1e-12, "{worst}");
    }

    #[test]
    fn a_scale_must_be_positive() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Laplace::new(scale).is_err());
        }
        assert_eq!(
            Laplace::for_epsilon(0.0, 1.0).unwrap_err().to_string(),
            "the Laplace scale must be finite and greater than 0, got inf"
        );
    }

    /// The best guess cuts half-way: it is wrong where the noise reaches beyond.
    #[test]
    fn the_error_of_a_guess_is_a_tail() {
        for scale in [0.2, 1.0, 7.0] {
            let law = Laplace::new(scale).unwrap();
            assert!((law.guess_error() - (1.0 - law.cdf(0.5))).abs() < 1e-15, "{scale}");
            assert_eq!((law.scale(), law.mean_abs()), (scale, scale));
        }
    }

    /// Against the sum that its closed form stands for.
    #[test]
    fn the_mean_of_a_rounded_count_adds_up_its_tails() {
        let law = Laplace::new(1.5).unwrap();
        for count in [0, 1, 6] {
            let tail = |j: u32| 1.0 - law.cdf(f64::from(j) - 0.5 - f64::from(count));
            let sum: f64 = (1..200).map(tail).sum();
            assert!((law.mean_rounded_count(count) - sum).abs() < 1e-12, "{count}: {sum}");
        }
    }

    proptest! {
        #[test]
        fn quantile_inverts_the_distribution_function(scale in 0.01f64..100.0, u in 0.001f64..0.999) {
            let law = Laplace { scale };
            prop_assert!((law.cdf(law.quantile(u)) - u).abs() < 1e-12);
        }
    }
}
