//! Gamma and Dirichlet draws.
//!
//! G. Marsaglia, W. W. Tsang. A Simple Method for Generating Gamma Variables. ACM TOMS 26 (2000).

use crate::normal::normal_by_rejection;
use crate::{SimRng, index, unit};

/// The logarithm of a gamma draw with shape `shape` (finite, > 0) and scale 1.
///
/// A logarithm, because draws with a small shape are often below the smallest `f64`: with shape α <
/// 1 it is that of a draw with shape α + 1, plus `ln(u) / α`.
///
/// # Determinism
/// Rejection sampling: the number of values drawn from `rng` varies, about 4 on average.
pub fn log_gamma(rng: &mut SimRng, shape: f64) -> f64 {
    if shape < 1.0 {
        // 1 - u lies in (0, 1], so its logarithm is finite.
        let boost = libm::log(1.0 - unit(rng)) / shape;
        return log_gamma(rng, shape + 1.0) + boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal_by_rejection(rng);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = 1.0 - unit(rng);
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return libm::log(d) + libm::log(v);
        }
    }
}

/// A draw from the symmetric Dirichlet distribution: `n` shares, not negative, with sum 1; `alpha`
/// finite and > 0, `n` at least 1.
///
/// However small `alpha` is, at least one share is positive: the largest logarithm is subtracted
/// before taking powers.
pub fn dirichlet(rng: &mut SimRng, alpha: f64, n: usize) -> Vec<f64> {
    let logs: Vec<f64> = (0..n).map(|_| log_gamma(rng, alpha)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        // An alpha near the smallest number sends every logarithm to minus infinity; the
        // distribution's limit is one winner.
        let winner = index(rng, n);
        return (0..n).map(|at| if at == winner { 1.0 } else { 0.0 }).collect();
    }
    let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - most)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn mean_and_variance_of_gamma_equal_its_shape() {
        let mut rng = SimRng::seed_from_u64(1);
        let n = 40_000;
        for shape in [0.3, 1.0, 4.5] {
            let draws: Vec<f64> = (0..n).map(|_| libm::exp(log_gamma(&mut rng, shape))).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / f64::from(n);
            // Standard errors: sqrt(α / n) of the mean; sqrt((2α² + 6α) / n) of the variance.
            // Bound: 4 of them.
            let n = f64::from(n);
            assert!(
                (mean - shape).abs() < 4.0 * (shape / n).sqrt(),
                "shape {shape}: mean {mean}"
            );
            let error = ((2.0 * shape * shape + 6.0 * shape) / n).sqrt();
            assert!(
                (variance - shape).abs() < 4.0 * error,
                "shape {shape}: variance {variance}"
            );
        }
    }

    #[test]
    fn dirichlet_shares_have_sum_one_and_the_right_spread() {
        let mut rng = SimRng::seed_from_u64(2);
        let (alpha, n, repeats) = (0.5, 4, 20_000);
        let first: Vec<f64> = (0..repeats)
            .map(|_| {
                let shares = dirichlet(&mut rng, alpha, n);
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                shares[0]
            })
            .collect();
        let mean = first.iter().sum::<f64>() / f64::from(repeats);
        let variance = first.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / f64::from(repeats);
        // Mean 1/n; variance (1/n)(1 - 1/n) / (n α + 1) = 0.0625.
        assert!(
            (mean - 0.25).abs() < 4.0 * (0.0625_f64 / f64::from(repeats)).sqrt(),
            "{mean}"
        );
        assert!((variance - 0.0625).abs() < 0.002, "{variance}");
        for alpha in [1e-300, 5e-324, 1e-3, 1e6] {
            let shares = dirichlet(&mut rng, alpha, 3);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{alpha}: {shares:?}");
        }
    }

    #[test]
    fn value_stability() {
        let mut rng = SimRng::seed_from_u64(3);
        let bits: Vec<u64> = [0.5, 1.0, 7.5]
            .iter()
            .map(|&shape| log_gamma(&mut rng, shape).to_bits())
            .collect();
        assert_eq!(bits, [13835902018418232712, 4585553593105480576, 4609861150556401418]);
    }
}
