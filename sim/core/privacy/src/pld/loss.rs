//! The privacy loss of one release: how its log odds between two neighbouring inputs spread.

use super::Pmf;
use crate::law::{Law, Sampling};
use crate::normal::{DENSITY_AT_0, tail};

/// The log odds `ln(P / Q)` under `P`, for the pair of laws `P` and `Q` that dominates all pairs of
/// neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    /// Normal noise on a sum that is moved with probability `rate`. Of `P` and `Q` the first is the
    /// moved one, unless one is added: then `Q` is.
    Normal { rate: f64, shift: f64, is_added: bool },
    /// Laplace noise of scale 1, moved so far.
    Laplace(f64),
    /// Randomised response: the log ratio, and over how many values. Two are the worst of all that
    /// keep such an epsilon (P. Kairouz, S. Oh and P. Viswanath. The Composition Theorem for
    /// Differential Privacy. ICML 2015, theorem 3.1), with a delta too, which is then the
    /// probability of an infinite loss.
    Response { epsilon: f64, n_values: f64, delta: f64 },
}

/// What of the rounding of tails is allowed for, as a part of the tail.
const ROUNDING: f64 = 7e-15;

impl Loss {
    /// That of a law, if it is known; of a sample by coin where one is added, or is taken away.
    pub(super) fn of(law: &Law, is_added: bool) -> Option<Loss> {
        Some(match *law {
            Law::Bound { epsilon, delta } => Loss::Response {
                epsilon,
                n_values: 2.0,
                delta,
            },
            Law::Response { epsilon, n_values } => Loss::Response {
                epsilon,
                n_values: f64::from(n_values),
                delta: 0.0,
            },
            Law::Laplace { epsilon } => Loss::Laplace(epsilon),
            Law::Normal { shift, .. } => Loss::Normal {
                rate: 1.0,
                shift,
                is_added,
            },
            Law::SampledNormal {
                sampling, rate, shift, ..
            } => match sampling {
                Sampling::FixedSize if rate < 1.0 && rate > 0.0 => return None,
                _ => Loss::Normal { rate, shift, is_added },
            },
        })
    }

    /// Losses and their masses, as nodes of a quadrature: what estimates of sums need. An infinite
    /// loss is left out.
    pub(super) fn nodes(&self) -> Vec<(f64, f64)> {
        match *self {
            Loss::Normal { rate, shift, is_added } => {
                let step = 0.125;
                let moved = if is_added { 0.0 } else { shift };
                let n = libm::ceil(((moved + 19.0) / step).min(4000.0)) as u32;
                let step = (moved + 19.0) / f64::from(n);
                let node = |i: u32| {
                    let x = -9.5 + (f64::from(i) + 0.5) * step;
                    let density = |x: f64| libm::exp(-0.5 * x * x) * DENSITY_AT_0 * step;
                    let mass = match is_added {
                        true => density(x),
                        false => (1.0 - rate) * density(x) + rate * density(x - shift),
                    };
                    (self.at(x), mass)
                };
                (0..n).map(node).collect()
            }
            Loss::Laplace(epsilon) => {
                let n = 200;
                let node = |i: i32| {
                    let middle = epsilon * (f64::from(2 * i + 1) / f64::from(n) - 1.0);
                    let half = epsilon / f64::from(n);
                    let mass = self.above(middle - half).0 - self.above(middle + half).0;
                    (middle, mass)
                };
                (0..n).map(node).chain(self.atoms()).collect()
            }
            Loss::Response { .. } => self.atoms(),
        }
    }

    /// Losses of a positive mass of their own.
    fn atoms(&self) -> Vec<(f64, f64)> {
        match *self {
            Loss::Normal { .. } => Vec::new(),
            Loss::Laplace(epsilon) => vec![(epsilon, 0.5), (-epsilon, 0.5 * libm::exp(-epsilon))],
            Loss::Response {
                epsilon,
                n_values,
                delta,
            } => {
                let keep = (1.0 - delta) / (1.0 + (n_values - 1.0) * libm::exp(-epsilon));
                let other = keep * libm::exp(-epsilon);
                vec![(epsilon, keep), (-epsilon, other), (0.0, (n_values - 2.0) * other)]
            }
        }
    }

    /// The mass of an infinite loss.
    pub(super) fn infinite(&self) -> f64 {
        match *self {
            Loss::Response { delta, .. } => delta,
            _ => 0.0,
        }
    }

    /// Normal noise: the loss at `x` standard deviations, with which it grows.
    fn at(&self, x: f64) -> f64 {
        let Loss::Normal { rate, shift, is_added } = *self else {
            unreachable!("a loss of normal noise");
        };
        let mixed = |log_odds: f64| match log_odds > 30.0 {
            true => log_odds + libm::log(rate + (1.0 - rate) * libm::exp(-log_odds)),
            false => libm::log1p(rate * libm::expm1(log_odds)),
        };
        match is_added {
            true => -mixed(-shift * x - 0.5 * shift * shift),
            false => mixed(shift * x - 0.5 * shift * shift),
        }
    }

    /// The inverse of [`at`](Self::at).
    fn position(&self, loss: f64) -> f64 {
        let Loss::Normal { rate, shift, is_added } = *self else {
            unreachable!("a loss of normal noise");
        };
        let unmixed = |loss: f64| {
            if loss > 30.0 {
                return loss - libm::log(rate) + libm::log1p(-(1.0 - rate) * libm::exp(-loss));
            }
            let excess = libm::expm1(loss) / rate;
            if excess > -1.0 {
                libm::log1p(excess)
            } else {
                f64::NEG_INFINITY
            }
        };
        match is_added {
            true => -(unmixed(-loss) + 0.5 * shift * shift) / shift,
            false => (unmixed(loss) + 0.5 * shift * shift) / shift,
        }
    }

    /// The masses under `P` and `Q` of losses above `loss` that have no mass of their own.
    fn above(&self, loss: f64) -> (f64, f64) {
        match *self {
            Loss::Normal { rate, shift, is_added } => {
                let x = self.position(loss);
                match is_added {
                    true => (tail(x), (1.0 - rate) * tail(x) + rate * tail(x + shift)),
                    false => ((1.0 - rate) * tail(x) + rate * tail(x - shift), tail(x)),
                }
            }
            Loss::Laplace(epsilon) => {
                let loss = loss.clamp(-epsilon, epsilon);
                let whole = libm::exp(-epsilon);
                (
                    -0.5 * libm::expm1(0.5 * (loss - epsilon)),
                    0.5 * whole * libm::expm1(0.5 * (epsilon - loss)),
                )
            }
            Loss::Response { .. } => (0.0, 0.0),
        }
    }

    /// The least and the largest finite loss but for a mass of `tail` at either end.
    fn range(&self, cut: f64) -> (f64, f64) {
        match *self {
            Loss::Normal { shift, is_added, .. } => {
                let reach = crate::normal::quantile_above(cut);
                let moved = if is_added { 0.0 } else { shift };
                (self.at(-reach), self.at(reach + moved))
            }
            Loss::Laplace(epsilon) | Loss::Response { epsilon, .. } => (-epsilon, epsilon),
        }
    }

    /// The masses on a grid of losses, of which each lies between two multiples of `step`: shared
    /// by the two so that both `P` and `Q` keep their masses, which is the least grid that is an
    /// upper bound (V. Doroshenko, B. Ghazi, P. Kamath, R. Kumar and P. Manurangsi. Connect the
    /// Dots: Tighter Discrete Approximations of Privacy Loss Distributions. PoPETs 2022).
    /// Above a mass of `cut` losses count as infinite, and below as the least.
    ///
    /// Nothing if it has more than `most` points.
    pub(super) fn grid(&self, step: f64, cut: f64, most: usize) -> Option<Pmf> {
        let (least, largest) = self.range(cut);
        let (first, last) = (libm::floor(least / step), libm::ceil(largest / step));
        if !(last - first < most as f64 - 2.0 && last.abs().max(first.abs()) < 1e15) {
            return None;
        }
        // One more than needed, so that each loss has a point above it.
        let n = (last - first) as usize + 2;
        let mut mass = vec![0.0; n];
        let apart = -libm::expm1(-step);
        let at = |i: usize| (first + i as f64) * step;
        if !matches!(self, Loss::Response { .. }) {
            let mut here = self.above(at(0));
            // What lies below counts as the least loss.
            mass[0] += self.above(f64::NEG_INFINITY).0 - here.0;
            for i in 0..n - 1 {
                let next = self.above(at(i + 1));
                let (p, q) = ((here.0 - next.0).max(0.0), (here.1 - next.1).max(0.0));
                let margin = ROUNDING * here.0 * (1.0 + at(i).abs());
                let up = ((p - q * libm::exp(at(i)) + margin) / apart).clamp(0.0, p);
                mass[i] += p - up;
                mass[i + 1] += up;
                here = next;
            }
        }
        let infinite = self.infinite() + self.above(at(n - 1)).0;
        for (loss, p) in self.atoms() {
            let i = (libm::floor(loss / step) - first).max(0.0) as usize;
            let part = loss - at(i);
            let up = (p * (-libm::expm1(-part) + ROUNDING * (1.0 + loss.abs())) / apart).clamp(0.0, p);
            mass[i] += p - up;
            mass[i + 1] += up;
        }
        Some(Pmf {
            first: first as i64,
            mass,
            infinite,
        })
    }
}
