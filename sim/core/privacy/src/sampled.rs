//! Normal noise on a sum over a random sample: what being left out by chance is worth.
//!
//! - By coin: I. Mironov, K. Talwar and L. Zhang. Rényi Differential Privacy of the Sampled
//!   Gaussian Mechanism. 2019, section 3.3. <https://arxiv.org/abs/1908.10530>
//! - Of a fixed size: Y.-X. Wang, B. Balle and S. Kasiviswanathan. Subsampled Rényi Differential
//!   Privacy and Analytical Moments Accountant. AISTATS 2019, theorem 9 and, for a tighter sum, the
//!   forward differences of section 3.3. <https://arxiv.org/abs/1808.00087>
//! - One release: B. Balle, G. Barthe and M. Gaboardi. Privacy Amplification by Subsampling.
//!   NeurIPS 2018, theorems 8 and 9.
//!
//! - Whatever the sample: the moment is jointly convex in both laws (T. van Erven and P. Harremoës.
//!   Rényi Divergence and Kullback-Leibler Divergence. 2014, section III.B), so that it is at most
//!   `1 - rate + rate × the moment of the noise alone`. <https://arxiv.org/abs/1206.2459>
//!
//! Sums by coin are exact: at whole orders as a finite sum, below [`DENSE`] by quadrature. Of a
//! fixed size the sums hold at whole orders. Between two of them `(a - 1) D(a)` is convex in the
//! order `a`, so a straight line bounds it. The least of the bounds is taken at each order.

use crate::gaussian::with_noise;
use crate::law::{Law, Sampling};
use crate::mechanism::{Mechanism, ParameterError, PrivacyCost, ReleaseError, positive, share};
use crate::noise::NoiseForm;
use crate::normal;
use crate::renyi::log_one_more;
use folkmoot_draws::SimRng;

/// No sum is worked out above this order: an accountant's finite orders end here.
const LARGEST: u32 = 1024;

/// Fractional orders end here.
const DENSE: f64 = 11.0;

/// Quadratures of more nodes than these are not worth their time: the noise is below a tenth of
/// the sensitivity, where the least order proves most.
const MOST_NODES: f64 = 4000.0;

/// The orders at which an accountant looks once a sampled law is among its own, ascending: from
/// 1.016 by ratios, tenths from 1.1 to 11, whole orders to 256, ratios to 1024, and infinity.
pub(crate) fn orders() -> Vec<f64> {
    let near_1 = (-24..-13).map(|k| 1.0 + libm::exp2(f64::from(k) / 4.0));
    let tenths = (11..110).map(|k| f64::from(k) / 10.0);
    let ratios = (1..=8).map(|k| libm::round(256.0 * libm::exp2(f64::from(k) / 4.0)));
    let whole = (11..=256).map(f64::from);
    near_1
        .chain(tenths)
        .chain(whole)
        .chain(ratios)
        .chain([f64::INFINITY])
        .collect()
}

impl Law {
    /// The law of Gaussian noise on a sum over a sample, which neighbours move by at most `shift`
    /// of its standard deviations where they are in it; each is with probability `rate`. Its
    /// epsilon is the one that amplification proves of one release at `delta`:
    /// `ln(1 + rate (e^x - 1))`, with `x` that of the noise alone at `delta / rate`.
    ///
    /// # Errors
    ///
    /// When `rate` is not in 0..=1, `shift` is not in 1e-150..1e150, or `delta` does not lie
    /// strictly between 0 and 1.
    pub fn sampled_normal(sampling: Sampling, rate: f64, shift: f64, delta: f64) -> Result<Law, ParameterError> {
        share("delta", delta)?;
        let wrong = |name, rule, got| Err(ParameterError { name, rule, got });
        if !(0.0..=1.0).contains(&rate) {
            return wrong("rate", "in 0..=1", rate);
        }
        if !(1e-150..1e150).contains(&shift) {
            return wrong("shift", "at least 1e-150 and less than 1e150", shift);
        }
        let epsilon = match rate > delta {
            true => amplified(rate, normal::least_epsilon(shift, delta / rate)),
            // Even who is told all of a sample is seldom told of anybody.
            false => 0.0,
        };
        Ok(Law::SampledNormal {
            sampling,
            rate,
            shift,
            epsilon,
            delta,
        })
    }
}

/// Adds independent Gaussian noise to every value of a sum over a random sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledGaussian {
    std: f64,
    sensitivity: f64,
    law: Law,
    unit: &'static str,
}

impl SampledGaussian {
    /// Noise of standard deviation `std` on a sum that one `unit` moves by at most `sensitivity` in
    /// Euclidean length where it is in the sample, which it is with probability `rate`; the epsilon
    /// of one release is stated at `delta`.
    ///
    /// # Errors
    ///
    /// When `std` or `sensitivity` is not finite and positive, and as [`Law::sampled_normal`] for
    /// their ratio and the others.
    pub fn new(
        std: f64,
        sensitivity: f64,
        (sampling, rate): (Sampling, f64),
        delta: f64,
        unit: &'static str,
    ) -> Result<Self, ParameterError> {
        positive("std", std)?;
        positive("sensitivity", sensitivity)?;
        let law = Law::sampled_normal(sampling, rate, sensitivity / std, delta)?;
        Ok(SampledGaussian {
            std,
            sensitivity,
            law,
            unit,
        })
    }
}

impl Mechanism for SampledGaussian {
    type Input = [f64];
    type Release = Vec<f64>;

    /// Draws for each value in index order; in floating point two `u64`. Values must be finite.
    fn release_in(&self, form: NoiseForm, values: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        with_noise(values, (self.std, self.sensitivity), (form, 0.0), rng)
    }

    fn cost(&self) -> PrivacyCost {
        self.law.cost(self.unit)
    }

    fn law(&self) -> Law {
        self.law
    }
}

/// `ln(1 + rate (e^epsilon - 1))`; neither end overflows or cancels.
fn amplified(rate: f64, epsilon: f64) -> f64 {
    match epsilon > 1.0 {
        true => epsilon + libm::log(rate + (1.0 - rate) * libm::exp(-epsilon)),
        false => libm::log1p(rate * libm::expm1(epsilon)),
    }
}

/// Upper bounds of the Rényi divergences of some orders, each above 1 or infinite.
pub(crate) fn divergences(sampling: Sampling, rate: f64, shift: f64, orders: &[f64]) -> Vec<f64> {
    let largest = orders.iter().copied().filter(|order| *order <= f64::from(LARGEST));
    let largest = libm::ceil(largest.fold(1.0, f64::max)) as u32;
    let is_summed = sampling == Sampling::FixedSize && 0.0 < rate && rate < 1.0;
    let differences: Vec<f64> = match is_summed {
        true => (0..=largest.div_ceil(2))
            .map(|half| difference(2 * half, shift))
            .collect(),
        false => Vec::new(),
    };
    let one = |&order: &f64| divergence((sampling, rate, shift), order, &differences);
    orders.iter().map(one).collect()
}

/// That of one order, with the logs of the forward differences of even orders up to it where the
/// sample is of a fixed size.
fn divergence((sampling, rate, shift): (Sampling, f64, f64), order: f64, differences: &[f64]) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    if rate == 1.0 {
        return 0.5 * order * shift * shift;
    }
    if order.is_infinite() {
        return f64::INFINITY;
    }
    // All logs of moments, which are `(a - 1) D(a)`.
    let convex = |order: f64| {
        let alone = 0.5 * order * (order - 1.0) * shift * shift;
        log_one_more(libm::log(rate) + log_less_one(alone))
    };
    let whole = |order: u32| match (order, sampling) {
        (1, _) => 0.0,
        (_, Sampling::Poisson) => by_coin(rate, shift, order),
        (_, Sampling::FixedSize) => of_fixed_size(rate, shift, order, differences).min(convex(f64::from(order))),
    };
    let exact = match sampling {
        Sampling::Poisson if order < DENSE && order != libm::floor(order) => by_quadrature(rate, shift, order),
        _ => None,
    };
    let line = || {
        let below = libm::floor(order);
        let part = order - below;
        match part > 0.0 {
            true => (1.0 - part) * whole(below as u32) + part * whole(below as u32 + 1),
            false => whole(below as u32),
        }
    };
    let moment = match exact {
        Some(moment) => moment,
        None if order > f64::from(LARGEST) => convex(order),
        None => line().min(convex(order)),
    };
    moment / (order - 1.0)
}

/// `ln Σ_k C(a, k) (1 - q)^(a-k) q^k e^(k (k-1) shift² / 2)`. As the binomial terms add up to 1,
/// what each is above its own weight is added to 1, which does not cancel.
fn by_coin(rate: f64, shift: f64, order: u32) -> f64 {
    let (taken, left) = (libm::log(rate), libm::log1p(-rate));
    let (mut log_choices, mut excess) = (0.0, f64::NEG_INFINITY);
    for k in 1..=order {
        log_choices += log_ratio(order - k + 1, k);
        let weight = log_choices + f64::from(order - k) * left + f64::from(k) * taken;
        if k > 1 {
            excess = log_sum(excess, weight + log_less_one(growth(k, shift)));
        }
    }
    log_one_more(excess)
}

/// `ln E (1 + x)^a` with `x = q (e^(shift u - shift² / 2) - 1)` for a standard normal `u` (section
/// 3.3 of Mironov, Talwar and Zhang 2019); nothing where that takes too many nodes.
///
/// As the mean of `x` is 0, `(1 + x)^a - 1 - a x`, which is never negative, is added to 1. The
/// trapezoidal rule misses the integral of such an analytic function by less than 1e-15 of it: its
/// nearest singularity lies `π / shift` off the axis, and the step follows that.
fn by_quadrature(rate: f64, shift: f64, order: f64) -> Option<f64> {
    const REACH: f64 = 9.5;
    let step = (1.0 / (2.2 * shift)).min(0.25);
    let n_nodes = libm::ceil((order * shift + 2.0 * REACH) / step);
    if n_nodes > MOST_NODES {
        return None;
    }
    let log_rate = libm::log(rate);
    let log_term = |i: u32| {
        let u = f64::from(i) * step - REACH;
        let log_odds = shift * u - 0.5 * shift * shift;
        let log_excess = match log_odds > 30.0 {
            // No more than one in 1e13 is neglected of either term.
            true => {
                let power = order * (log_odds + libm::log(rate + (1.0 - rate) * libm::exp(-log_odds)));
                power + libm::log1p(-libm::exp(libm::log(order) + log_rate + log_odds - power))
            }
            false => libm::log(beyond_linear(rate * libm::expm1(log_odds), order)),
        };
        log_excess - 0.5 * u * u
    };
    let logs: Vec<f64> = (0..=n_nodes as u32).map(log_term).collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| libm::exp(log - largest)).sum();
    // More than all that the rule and the rounding miss.
    let margin = 1.0 + 1e-11;
    Some(log_one_more(
        largest + libm::log(sum * step * normal::DENSITY_AT_0 * margin),
    ))
}

/// `(1 + x)^a - 1 - a x` for `x > -1` and `a > 1`, at least 0, without cancellation near 0.
fn beyond_linear(x: f64, a: f64) -> f64 {
    if (a * x).abs() > 0.1 {
        return libm::expm1(a * libm::log1p(x)) - a * x;
    }
    let (mut sum, mut term) = (0.0, 0.5 * a * (a - 1.0) * x * x);
    for k in 2..20 {
        sum += term;
        term *= (a - f64::from(k)) / f64::from(k + 1) * x;
    }
    sum
}

/// `ln(1 + Σ_j C(a, j) q^j b_j)` with `b_2 = min{4 (e^g(2) - 1), 2 e^g(2)}` and for `j > 2` `b_j =
/// min{4 sqrt(B(j rounded down to even) B(j rounded up)), 2 e^g(j)}`, where
/// `g(j) = j (j-1) shift² / 2` and `B(l)` is the `l`-th forward difference of `e^g` at 0.
fn of_fixed_size(rate: f64, shift: f64, order: u32, differences: &[f64]) -> f64 {
    let (taken, four, two) = (libm::log(rate), libm::log(4.0), libm::log(2.0));
    let (mut log_choices, mut excess) = (0.0, f64::NEG_INFINITY);
    for j in 1..=order {
        log_choices += log_ratio(order - j + 1, j);
        let near = match j {
            1 => continue,
            2 => log_less_one(growth(2, shift)),
            _ => 0.5 * (differences[j as usize / 2] + differences[j.div_ceil(2) as usize]),
        };
        let bound = (four + near).min(two + growth(j, shift));
        excess = log_sum(excess, log_choices + f64::from(j) * taken + bound);
    }
    log_one_more(excess)
}

/// The log of the forward difference of an even order of `e^g` at 0, which is positive: the mean
/// of `(e^(shift u - shift² / 2) - 1)^order` for a standard normal `u`.
///
/// Where the terms of the difference cancel so far that not six digits are left, the mean is taken
/// by the trapezoidal rule, whose terms are positive; nothing is known, and the other bound taken,
/// where both fail.
fn difference(order: u32, shift: f64) -> f64 {
    let largest = growth(order, shift);
    let (mut log_choices, mut sum, mut size) = (0.0, 0.0, 0.0f64);
    for k in 0..=order {
        if k > 0 {
            log_choices += log_ratio(order - k + 1, k);
        }
        let term = libm::exp(log_choices + growth(k, shift) - largest);
        sum += if k % 2 == 0 { term } else { -term };
        size += term;
    }
    match sum > 1e-6 * size {
        true => largest + libm::log(sum),
        false => central_moment(order, shift),
    }
}

/// The same mean by the trapezoidal rule. Its terms peak within `order × shift` and the root of the
/// order of 0.
fn central_moment(order: u32, shift: f64) -> f64 {
    let step = 0.125;
    let root = f64::from(order).sqrt();
    let (low, high) = (-root - 10.0, f64::from(order) * shift + root + 10.0);
    let n_nodes = libm::ceil((high - low) / step);
    if n_nodes > MOST_NODES {
        return f64::INFINITY;
    }
    let mut sum = f64::NEG_INFINITY;
    for i in 0..=n_nodes as u32 {
        let u = low + f64::from(i) * step;
        let size = libm::log(libm::expm1(shift * u - 0.5 * shift * shift).abs());
        sum = log_sum(sum, f64::from(order) * size - 0.5 * u * u);
    }
    sum + libm::log(step * normal::DENSITY_AT_0 * (1.0 + 1e-11))
}

fn growth(k: u32, shift: f64) -> f64 {
    0.5 * f64::from(k) * (f64::from(k) - 1.0) * shift * shift
}

fn log_ratio(above: u32, below: u32) -> f64 {
    libm::log(f64::from(above) / f64::from(below))
}

/// `ln(e^x - 1)`.
fn log_less_one(x: f64) -> f64 {
    x + libm::log(-libm::expm1(-x))
}

/// `ln(e^a + e^b)`, of which `a` may be minus infinity.
fn log_sum(a: f64, b: f64) -> f64 {
    match a > b {
        true => a + libm::log1p(libm::exp(b - a)),
        false if b == f64::NEG_INFINITY => b,
        false => b + libm::log1p(libm::exp(a - b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accountant, Gaussian, Mechanism, RenyiCurve};
    use proptest::prelude::*;

    fn law(sampling: Sampling, rate: f64, noise: f64) -> Law {
        Law::sampled_normal(sampling, rate, 1.0 / noise, 1e-5).unwrap()
    }

    /// The total of `n` releases, and the order that proves it.
    fn total(law: Law, n: u64, delta: f64) -> (f64, f64) {
        let mut accountant = Accountant::new(delta).unwrap();
        let place = accountant.law(law);
        let epsilon = accountant.totals(&[(place, n)]).renyi.unwrap();
        let curve = RenyiCurve::of_law_at(law, "", &orders());
        let found = RenyiCurve::compose([(&curve, n)]).unwrap().epsilon(delta).unwrap();
        assert_eq!(found.cost.epsilon, epsilon);
        (epsilon, found.order)
    }

    /// Integrals with 30 digits, at orders that are not whole.
    #[test]
    fn fractional_divergences_are_exact() {
        for (rate, noise, order, expected) in [
            (0.01, 1.0, 1.1, 9.241_471_084_686_958e-5),
            (0.1, 0.3, 1.5, 2.150_244_584_539_209_3),
            (0.5, 4.0, 2.7, 0.021_835_008_780_199_67),
            (0.001, 200.0, 10.9, 1.362_517_334_238_167_7e-10),
            (0.2, 1.1, 1.015625, 0.021_235_598_785_573_108),
            (0.9, 0.5, 6.3, 12.474_760_141_847_218),
        ] {
            let got = law(Sampling::Poisson, rate, noise).renyi(order);
            assert!(
                (got / expected - 1.0).abs() < 1e-9,
                "{rate} {noise} {order}: {got}, not {expected}"
            );
        }
    }

    /// Where the differences cancel their mean is taken, and both agree where neither does.
    #[test]
    fn differences_are_means_too() {
        for (order, shift) in [(2, 0.1), (4, 0.5), (8, 0.9), (16, 1.0)] {
            let (sum, mean) = (difference(order, shift), central_moment(order, shift));
            assert!((sum - mean).abs() < 1e-9, "{order} {shift}: {sum}, not {mean}");
        }
        // Near 0, the moment of a normal number: 1 × 3 × 5 × 7.
        let small = difference(8, 1e-3);
        assert!(
            (small - 8.0 * libm::log(1e-3) - libm::log(105.0)).abs() < 1e-4,
            "{small}"
        );
    }

    /// Much noise on half of all: less than without a sample, and far less than at order 2 alone.
    #[test]
    fn a_sample_never_costs_more_than_the_noise_alone() {
        for noise in [50.0, 200.0] {
            let (half, all) = (0.5, 1.0);
            let of = |rate| {
                total(
                    Law::sampled_normal(Sampling::FixedSize, rate, 2.0 / noise, 1e-5).unwrap(),
                    50,
                    1e-5,
                )
                .0
            };
            assert!(of(half) < 0.8 * of(all), "{noise}: {} and {}", of(half), of(all));
        }
    }

    #[test]
    fn single_divergences_are_those_of_a_published_accountant() {
        for (rate, noise, order, expected) in [
            (0.01, 1.0, 2.0, 1.718134221e-4),
            (0.01, 1.0, 8.0, 8.936439076e-4),
            (0.1, 2.0, 4.0, 6.003282964e-3),
            (0.05, 1.5, 16.0, 3.892034814e-1),
        ] {
            let got = law(Sampling::Poisson, rate, noise).renyi(order);
            assert!((got / expected - 1.0).abs() < 6e-10, "{rate} {noise} {order}: {got}");
        }
    }

    /// All of them are the noise alone, and nobody costs nothing.
    #[test]
    fn the_ends_are_the_noise_alone_and_nothing() {
        let alone = Gaussian::new(2.0, 1.0, 1e-5, "").unwrap().law();
        for sampling in [Sampling::Poisson, Sampling::FixedSize] {
            let (all, nobody) = (law(sampling, 1.0, 2.0), law(sampling, 0.0, 2.0));
            for order in [1.5, 2.0, 300.0, f64::INFINITY] {
                assert_eq!((all.renyi(order), nobody.renyi(order)), (alone.renyi(order), 0.0));
            }
            assert!((all.epsilon() / alone.epsilon() - 1.0).abs() < 1e-12);
            assert_eq!(nobody.epsilon(), 0.0);
        }
    }

    /// The definition, on a fine grid: of a sample by coin, the mass by which the law with somebody
    /// exceeds `e^epsilon` times the one without is delta.
    #[test]
    fn the_stated_epsilon_of_one_release_is_exact() {
        for (rate, noise) in [(0.1, 1.0), (0.5, 0.7), (0.01, 0.5)] {
            let epsilon = law(Sampling::Poisson, rate, noise).epsilon();
            let density = |x: f64| libm::exp(-0.5 * x * x / (noise * noise));
            let step = noise / 2000.0;
            let all = (-20_000..20_000).map(|i| (f64::from(i) + 0.5) * step);
            let excess = all.map(|x| {
                let with = (1.0 - rate) * density(x) + rate * density(x - 1.0);
                (with - libm::exp(epsilon) * density(x)).max(0.0)
            });
            let scale = step / (noise * (2.0 * std::f64::consts::PI).sqrt());
            let delta = excess.sum::<f64>() * scale;
            assert!((delta / 1e-5 - 1.0).abs() < 1e-3, "{rate} {noise}: {delta}");
        }
    }

    /// The noise is that of the mechanism without a sample; what it costs is not.
    #[test]
    fn a_sample_changes_the_price_and_not_the_noise() {
        use folkmoot_draws::SeedableRng;
        let sampled = SampledGaussian::new(2.0, 1.0, (Sampling::Poisson, 0.1), 1e-5, "one client").unwrap();
        let alone = Gaussian::new(2.0, 1.0, 1e-5, "one client").unwrap();
        let [mut rng, mut twin] = [3, 3].map(SimRng::seed_from_u64);
        let values = [1.0, -5.0, 0.0];
        assert_eq!(sampled.release(&values, &mut rng), alone.release(&values, &mut twin));
        assert!(sampled.cost().epsilon < 0.5 * alone.cost().epsilon && sampled.cost().unit == "one client");
        assert!(sampled.release(&[f64::NAN], &mut rng).is_err());
        assert!(SampledGaussian::new(0.0, 1.0, (Sampling::Poisson, 0.1), 1e-5, "").is_err());
    }

    #[test]
    fn parameters_are_checked() {
        let make = |rate, shift, delta| Law::sampled_normal(Sampling::Poisson, rate, shift, delta);
        for (rate, shift, delta) in [
            (1.1, 1.0, 0.1),
            (-0.1, 1.0, 0.1),
            (f64::NAN, 1.0, 0.1),
            (0.1, 0.0, 0.1),
            (0.1, f64::INFINITY, 0.1),
            (0.1, 1.0, 0.0),
        ] {
            assert!(make(rate, shift, delta).is_err(), "{rate} {shift} {delta}");
        }
        let error = make(2.0, 1.0, 0.1).unwrap_err().to_string();
        assert_eq!(error, "rate: must be in 0..=1, got 2");
    }

    proptest! {
        /// Neither a cancellation nor an overflow, whatever the numbers: divergences grow with the
        /// order and the rate, and never exceed the noise alone.
        #[test]
        fn divergences_are_in_order(rate in 1e-9f64..1.0, log_noise in -1.5f64..4.0, order in 1.1f64..256.0) {
            let noise = libm::exp(log_noise);
            let at = |rate, order| law(Sampling::Poisson, rate, noise).renyi(order);
            let here = at(rate, order);
            prop_assert!(here.is_finite() && here >= 0.0);
            prop_assert!(here <= at(1.0, order.ceil()) * (1.0 + 1e-9));
            prop_assert!(here <= at(0.5 * (1.0 + rate), order) * (1.0 + 1e-9));
            prop_assert!(here <= at(rate, 0.5 * (order + 256.0)) * (1.0 + 1e-9));
            prop_assert!(law(Sampling::FixedSize, rate, noise).renyi(order).is_finite());
        }
    }
}
