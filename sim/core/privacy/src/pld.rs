//! Accounting by privacy-loss distributions: the whole law of the log odds between two neighbouring
//! inputs, composed numerically.
//!
//! - A. Koskela, J. Jälkö and A. Honkela. Computing Tight Differential Privacy Guarantees Using FFT.
//!   AISTATS 2020. <https://arxiv.org/abs/1906.03049>
//! - S. Gopi, Y. T. Lee and L. Wutschitz. Numerical Composition of Differential Privacy. NeurIPS
//!   2021: what a window that wraps around neglects. <https://arxiv.org/abs/2106.02848>
//! - V. Doroshenko et al. Connect the Dots. PoPETs 2022: the grid.
//!   <https://arxiv.org/abs/2207.04380>
//! - Y. Zhu, J. Dong and Y.-X. Wang. Optimal Accounting of Differential Privacy via Characteristic
//!   Function. AISTATS 2022: dominating pairs compose. <https://arxiv.org/abs/2106.08567>
//!
//! The losses of one release are put on a grid and tilted: a loss `l` of mass `p` counts
//! `p e^(λ l) / M(λ)`. Tilted losses are convolved in the frequency domain, `n` releases of a kind
//! by an `n`-th power. With the tilt of the Chernoff bound their sum centres where delta is decided,
//! so that errors are relative to delta, however small it is. With `L` the sum of losses,
//!
//! ```text
//! delta(ε) = E (1 - e^(ε - L))+ = M(λ) E_tilted w(L),   w(l) = e^(-λ l) (1 - e^(ε - l))+
//! w(l) ≤ e^(-λ ε) (λ / (λ + 1))^λ / (λ + 1)
//! ```
//!
//! The last line bounds all that is neglected: tilted sums beyond the window, whose mass Chernoff's
//! bound limits again, and the rounding of the transforms. So an epsilon is proved, not estimated.
//! Grids are refined until that gains nothing.

mod fft;
mod loss;

use crate::law::Law;
use fft::{Complex, Fft};
use loss::Loss;

/// The numbers of grid points that are tried, up to where finer ones gain less than [`GAIN`].
const LENGTHS: [u32; 4] = [13, 15, 17, 19];

/// A gain of epsilon for which no finer grid is taken: then the finest is within a tenth of it.
const GAIN: f64 = 2e-3;

/// The tilted mass that may lie beyond either end of the window.
const BEYOND: f64 = 1e-10;

/// The part of delta that infinite losses may have which are finite, over all releases.
const CUT: f64 = 1e-6;

/// Losses on a grid.
#[derive(Debug)]
struct Pmf {
    /// The first loss, in steps.
    first: i64,
    mass: Vec<f64>,
    infinite: f64,
}

impl Pmf {
    /// `ln Σ p e^(λ l)`.
    fn log_moment(&self, step: f64, tilt: f64) -> f64 {
        let losses = self.mass.iter().enumerate();
        log_moment(losses.map(|(i, mass)| (self.loss(i, step), *mass)), tilt)
    }

    fn loss(&self, i: usize, step: f64) -> f64 {
        (self.first + i as i64) as f64 * step
    }
}

/// `ln Σ p e^(λ l)` over losses and their masses.
fn log_moment(losses: impl Iterator<Item = (f64, f64)> + Clone, tilt: f64) -> f64 {
    let exponents = losses
        .clone()
        .filter(|(_, mass)| *mass > 0.0)
        .map(|(loss, _)| tilt * loss);
    let largest = exponents.fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = losses
        .map(|(loss, mass)| mass * libm::exp((tilt * loss - largest).min(0.0)))
        .sum();
    largest + libm::log(sum)
}

/// An upper bound of the least epsilon at which releases are private at `delta`, each item a law
/// and how often it was released from; nothing where the losses of a law are not known or nothing
/// is proved.
pub(crate) fn epsilon(releases: &[(Law, u64)], delta: f64) -> Option<f64> {
    let is_nothing = |law: &Law| {
        matches!(law, Law::SampledNormal { rate: 0.0, .. })
            || law.epsilon() + law.delta() == 0.0 && !matches!(law, Law::SampledNormal { .. } | Law::Normal { .. })
    };
    let releases: Vec<(Law, u64)> = releases
        .iter()
        .copied()
        .filter(|(law, n)| *n > 0 && !is_nothing(law))
        .collect();
    if releases.is_empty() {
        return Some(0.0);
    }
    if releases.iter().any(|(law, _)| law.epsilon().is_infinite()) {
        return None;
    }
    let of = |is_added| {
        let losses = releases.iter().map(|(law, n)| Some((Loss::of(law, is_added)?, *n)));
        Composed::new(losses.collect::<Option<Vec<_>>>()?, delta)?.epsilon()
    };
    let is_one_way = |(law, _): &(Law, u64)| !matches!(law, Law::SampledNormal { rate, .. } if *rate < 1.0);
    match releases.iter().all(is_one_way) {
        true => of(false),
        false => Some(of(false)?.max(of(true)?)),
    }
}

/// Losses that are added up, and where to look for their sum.
struct Composed {
    losses: Vec<(Loss, u64)>,
    delta: f64,
    tilt: f64,
    /// The tilts, beyond `tilt`, that bound the tilted mass below and above the window.
    beyond: (f64, f64),
    /// The mean of the tilted sum.
    middle: f64,
    /// What the window must have in it.
    window: (f64, f64),
}

impl Composed {
    /// Estimates by quadratures: no more than guesses, whatever follows is proved.
    fn new(losses: Vec<(Loss, u64)>, delta: f64) -> Option<Composed> {
        let nodes: Vec<(Vec<(f64, f64)>, f64)> = losses.iter().map(|(loss, n)| (loss.nodes(), *n as f64)).collect();
        let total = |tilt: f64| -> f64 {
            let one = |(nodes, n): &(Vec<(f64, f64)>, f64)| n * log_moment(nodes.iter().copied(), tilt);
            nodes.iter().map(one).sum()
        };
        let proved = |tilt: f64| (total(tilt) + log_weight(tilt) - libm::log(delta)) / tilt;
        let tilts = (-24..=80).map(|k| libm::exp2(f64::from(k) / 4.0));
        let best = tilts
            .map(|tilt| (proved(tilt), tilt))
            .filter(|(epsilon, _)| epsilon.is_finite());
        let (_, tilt) = best.reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let (mut mean, mut variance) = (0.0, 0.0);
        for (nodes, n) in &nodes {
            let log_all = log_moment(nodes.iter().copied(), tilt);
            let tilted = nodes
                .iter()
                .map(|(loss, mass)| (*loss, mass * libm::exp(tilt * loss - log_all)));
            let of_one: f64 = tilted.clone().map(|(loss, mass)| loss * mass).sum();
            variance += n * tilted
                .map(|(loss, mass)| (loss - of_one) * (loss - of_one) * mass)
                .sum::<f64>();
            mean += n * of_one;
        }
        let extreme = nodes
            .iter()
            .flat_map(|(nodes, _)| nodes)
            .map(|(loss, _)| loss.abs())
            .fold(0.0, f64::max);
        let deviation = variance.sqrt().max(1e-4 * extreme);
        let here = total(tilt);
        // By Chernoff: the tilted sum lies on `mean + reach` or beyond with no more than this mass.
        let reach = |sign: f64| {
            let all = (-4..=12).map(|k| sign * libm::exp2(f64::from(k) / 2.0) / deviation);
            let ends = all.map(|more| {
                let log_mass = total(tilt + more) - here - more * mean;
                ((log_mass - libm::log(BEYOND)) / more.abs(), more)
            });
            ends.filter(|(reach, _)| reach.is_finite())
                .reduce(|a, b| if b.0 < a.0 { b } else { a })
        };
        let ((below, less), (above, more)) = (reach(-1.0)?, reach(1.0)?);
        // So wide that the losses of one release fit in.
        let least = (4.0 * deviation).max(0.5 * extreme);
        Some(Composed {
            losses,
            delta,
            tilt,
            beyond: (less, more),
            middle: mean,
            window: (mean - below.max(least), mean + above.max(least)),
        })
    }

    /// The least that grids of several lengths prove.
    fn epsilon(&self) -> Option<f64> {
        let mut best: Option<f64> = None;
        for log_length in LENGTHS {
            let found = self.on_grid(1 << log_length);
            let is_settled = matches!((best, found), (Some(best), Some(found)) if best - found <= GAIN * best);
            best = [best, found].into_iter().flatten().reduce(f64::min);
            if is_settled {
                break;
            }
        }
        best
    }

    fn on_grid(&self, length: usize) -> Option<f64> {
        let step = (self.window.1 - self.window.0) / (length as f64 - 4.0);
        let n_all: u64 = self.losses.iter().map(|(_, n)| n).sum();
        let cut = (CUT * self.delta / n_all as f64).max(1e-280);
        let fft = Fft::new(length);
        let wrap = |at: i64| at.rem_euclid(length as i64) as usize;
        let mut all: Option<Vec<Complex>> = None;
        let (mut log_all, mut infinite, mut spread) = (0.0, 0.0, 0.0);
        let (mut below, mut above) = (0.0, 0.0);
        for (loss, n) in &self.losses {
            let pmf = loss.grid(step, cut, 4 * length)?;
            let times = *n as f64;
            let log_moment = pmf.log_moment(step, self.tilt);
            below += times * (pmf.log_moment(step, self.tilt + self.beyond.0) - log_moment);
            above += times * (pmf.log_moment(step, self.tilt + self.beyond.1) - log_moment);
            log_all += times * log_moment;
            infinite += times * pmf.infinite;
            let mut tilted = vec![Complex { re: 0.0, im: 0.0 }; length];
            for (i, mass) in pmf.mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let weight = mass * libm::exp(self.tilt * pmf.loss(i, step) - log_moment);
                tilted[wrap(pmf.first + i as i64)].re += weight;
            }
            spread += times * tilted.iter().map(|mass| mass.re * mass.re).sum::<f64>().sqrt();
            fft.forward(&mut tilted);
            let powers = tilted.into_iter().map(|frequency| frequency.power(*n));
            all = Some(match all {
                None => powers.collect(),
                Some(all) => all.into_iter().zip(powers).map(|(a, b)| a.times(b)).collect(),
            });
        }
        let mut sums = all?;
        fft.inverse(&mut sums);
        let first = libm::floor(self.window.0 / step) as i64;
        let end = (first + length as i64) as f64 * step;
        let start = first as f64 * step;
        // The l2 error of a transform is at most 4 log2(n) units in the last place (N. Higham.
        // Accuracy and Stability of Numerical Algorithms. 2002, theorem 24.2), a power multiplies
        // it, and the root of the length bounds the sum of errors by it.
        let log_length = f64::from(length.trailing_zeros());
        let rounding = (length as f64).sqrt() * 8.0 * log_length * f64::EPSILON * (spread + 1.0);
        let neglected = libm::exp(below - self.beyond.0 * start) + libm::exp(above - self.beyond.1 * end) + rounding;
        // The masses were rounded too.
        let log_all = log_all + n_all as f64 * 1e-13;
        let masses = |i: i64| sums[wrap(i)].re.max(0.0);
        self.search(
            (step, first, first + length as i64),
            &masses,
            (log_all, neglected, infinite),
        )
    }

    /// From the top down to the first loss at which delta is too large.
    fn search(
        &self,
        (step, first, end): (f64, i64, i64),
        masses: &dyn Fn(i64) -> f64,
        (log_all, neglected, infinite): (f64, f64, f64),
    ) -> Option<f64> {
        let (middle, tilt) = (self.middle, self.tilt);
        // Everything in units of this, so that what counts neither overflows nor vanishes.
        let unit = libm::exp(log_all - tilt * middle);
        let left = (self.delta - infinite) / unit;
        if !(unit.is_normal() && left > 0.0 && left.is_finite()) {
            return None;
        }
        let weight = libm::exp(log_weight(tilt)) * neglected;
        // Sums over the losses above: of `e^(-λ l)`, and of that times `e^(ε - l)` for `ε` here.
        let (mut sum, mut less) = (0.0, 0.0);
        let fall = libm::exp(-step);
        for i in (first..end).rev() {
            let loss = i as f64 * step - middle;
            let missed = weight * libm::exp(-tilt * loss);
            less *= fall;
            let at_least = sum - less + missed;
            if at_least.is_nan() || at_least > left {
                if i + 1 == end {
                    return None;
                }
                // Between this loss and the next one delta falls in a straight line of e^ε.
                let inside = libm::log((sum - (left - missed)) / less);
                let found = middle + loss + if inside >= 0.0 && inside < step { inside } else { step };
                return Some((found + 1e-12 * found.abs()).max(0.0));
            }
            let mass = masses(i) * libm::exp(-tilt * loss);
            sum += mass;
            less += mass;
        }
        Some((first as f64 * step).max(0.0))
    }
}

/// The log of the largest `e^(-λ l) (1 - e^(-l))` over losses `l > 0`.
fn log_weight(tilt: f64) -> f64 {
    -tilt * libm::log1p(1.0 / tilt) - libm::log1p(tilt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::{Gaussian, Mechanism, Sampling};

    /// Many normal releases are one whose epsilon is known to the last digit.
    #[test]
    fn gaussians_cost_what_they_cost() {
        for (shift, n, delta) in [
            (1.0, 1, 1e-5),
            (0.1, 100, 1e-8),
            (0.02, 5000, 1e-6),
            (3.0, 20, 1e-5),
            (1e-4, 7, 1e-9),
        ] {
            let law = Gaussian::new(1.0 / shift, 1.0, 1e-5, "").unwrap().law();
            let exact = normal::least_epsilon(shift * (n as f64).sqrt(), delta);
            let got = epsilon(&[(law, n)], delta).unwrap();
            assert!((1.0..1.003).contains(&(got / exact)), "{shift} {n}: {got}, not {exact}");
        }
    }

    /// Randomised response: the binomial sum by hand.
    #[test]
    fn responses_cost_their_binomial_sums() {
        for (one, n, delta) in [(0.1, 100u32, 1e-5), (1.0, 10, 1e-6), (3.0, 2, 1e-3), (2.0, 10, 1e-9)] {
            let exact = |total: f64| {
                let keep = 1.0 / (1.0 + libm::exp(-one));
                let mut log_choices = 0.0;
                let mut sum = 0.0;
                for k in 0..=n {
                    if k > 0 {
                        log_choices += libm::log(f64::from(n - k + 1) / f64::from(k));
                    }
                    let loss = one * (2.0 * f64::from(k) - f64::from(n));
                    let log_mass = log_choices + f64::from(k) * libm::log(keep) + f64::from(n - k) * libm::log1p(-keep);
                    if loss > total {
                        sum += libm::exp(log_mass) * -libm::expm1(total - loss);
                    }
                }
                sum
            };
            let got = epsilon(
                &[(
                    Law::Response {
                        epsilon: one,
                        n_values: 2,
                    },
                    u64::from(n),
                )],
                delta,
            )
            .unwrap();
            assert!(exact(got) <= delta && exact(got * 0.997) > delta, "{one} {n}: {got}");
        }
    }

    /// Values of dp-accounting are compared in the crate's `tests`; these are laws that it has not.
    #[test]
    fn other_laws_cost_less_than_their_bounds() {
        let bound = Law::Bound {
            epsilon: 0.5,
            delta: 1e-7,
        };
        let coin = Law::Response {
            epsilon: 0.5,
            n_values: 2,
        };
        let many = Law::Response {
            epsilon: 0.5,
            n_values: 9,
        };
        let of = |law, n| epsilon(&[(law, n)], 1e-5).unwrap();
        assert!(of(bound, 10) > of(coin, 10) && of(bound, 10) < 1.1 * of(coin, 10));
        assert!(of(many, 100) < 0.8 * of(coin, 100));
        // One release: its delta is `(1 - e^(ε - 8)) / 2`.
        let one = of(Law::Laplace { epsilon: 8.0 }, 1);
        assert!((one - 8.0 + 2e-5).abs() < 1e-7, "{one}");
        // All ten keep their value with a probability above delta.
        let large = Law::Response {
            epsilon: 2.0,
            n_values: 10,
        };
        assert!(of(large, 10) > 19.9, "{}", of(large, 10));
        // A mix of both is between twice the one and twice the other.
        let mixed = epsilon(&[(coin, 50), (many, 50)], 1e-5).unwrap();
        assert!(of(many, 100) < mixed && mixed < of(coin, 100));
    }

    /// One release of a sample by coin has an epsilon in closed form, and the other direction costs
    /// less.
    #[test]
    fn a_sample_costs_what_amplification_says() {
        for (rate, shift, delta) in [(0.1, 1.0, 1e-6), (0.5, 0.25, 1e-5), (0.001, 3.0, 1e-8)] {
            let law = Law::sampled_normal(Sampling::Poisson, rate, shift, delta).unwrap();
            let got = epsilon(&[(law, 1)], delta).unwrap();
            assert!(
                (1.0..1.002).contains(&(got / law.epsilon())),
                "{rate} {shift}: {got}, not {}",
                law.epsilon()
            );
            let added = Composed::new(vec![(Loss::of(&law, true).unwrap(), 1)], delta).unwrap();
            assert!(added.epsilon().unwrap() <= got);
        }
    }

    #[test]
    fn what_is_not_known_or_costs_nothing() {
        let fixed = |rate| Law::sampled_normal(Sampling::FixedSize, rate, 0.5, 1e-5).unwrap();
        assert_eq!(epsilon(&[(fixed(0.5), 3)], 1e-5), None);
        let all = epsilon(&[(fixed(1.0), 3)], 1e-5).unwrap();
        let alone = epsilon(&[(Gaussian::new(2.0, 1.0, 1e-5, "").unwrap().law(), 3)], 1e-5);
        assert_eq!(Some(all), alone);
        assert_eq!(epsilon(&[(Law::UNPROTECTED, 1)], 1e-5), None);
        assert_eq!(epsilon(&[(Law::UNPROTECTED, 0), (fixed(0.0), 9)], 1e-5), Some(0.0));
        // A delta that is spent proves nothing.
        assert_eq!(
            epsilon(
                &[(
                    Law::Bound {
                        epsilon: 0.1,
                        delta: 1e-4
                    },
                    1
                )],
                1e-5
            ),
            None
        );
        // Releases that nobody could count have an epsilon, or none, but no wrong one.
        let endless = epsilon(&[(Law::Laplace { epsilon: 1e-6 }, u64::MAX)], 1e-5);
        assert!(endless.is_none_or(|epsilon| epsilon > 1e6));
    }

    #[test]
    fn value_stability() {
        let law = Law::sampled_normal(Sampling::Poisson, 0.1, 1.0, 1e-5).unwrap();
        let releases = [(law, 60), (Law::Laplace { epsilon: 0.1 }, 20)];
        assert_eq!(
            epsilon(&releases, 1e-5).map(f64::to_bits),
            Some(4_618_333_978_345_085_499)
        );
    }
}
