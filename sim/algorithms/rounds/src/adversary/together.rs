//! Adversaries that make one update of those of all malicious clients in a round.
//!
//! The papers let them know the updates of honest clients, or estimate these by those of their own
//! clients. Here they know the latter alone. With one malicious update in a round there is no
//! spread between updates, and `LittleIsEnough`, `MinMax` and `MinSum` send the honest change.

use super::{Adversary, Colluding, Crafting};
use folkmoot_parts::component;

/// The mean honest change, times a negative factor: inner-product manipulation.
///
/// C. Xie, O. Koyejo, I. Gupta. Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product
/// Manipulation. UAI 2020, section 4.
#[component(name = "InnerProduct", about = "inner-product manipulation (Xie et al. 2020)")]
#[derive(Clone, Copy, Debug)]
pub struct InnerProduct {
    /// Factor on the mean, with the other sign; epsilon in the paper.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    pub factor: f64,
}

impl Adversary for InnerProduct {
    fn craft(&self, _: &mut Crafting<'_>) -> Option<Vec<f64>> {
        None
    }

    fn colludes(&self) -> bool {
        true
    }

    fn craft_together(&self, round: &Colluding) -> Option<Vec<f64>> {
        Some(round.mean().into_iter().map(|x| -self.factor * x).collect())
    }
}

/// The mean honest change less `z` standard deviations of each number: a little is enough (ALIE).
///
/// G. Baruch, M. Baruch, Y. Goldberg. A Little Is Enough: Circumventing Defenses For Distributed
/// Learning. NeurIPS 2019, algorithm 3.
#[component(name = "LittleIsEnough", about = "a little is enough, ALIE (Baruch et al. 2019)")]
#[derive(Clone, Copy, Debug)]
pub struct LittleIsEnough {
    /// Standard deviations from the mean; by default the most that hide the crafted updates among
    /// the honest ones, `Φ(z) < (n − m − s) / (n − m)` with `n` updates, `m` malicious ones and
    /// `s = ⌊n / 2 + 1⌋ − m`.
    #[component(in = 0..=100)]
    pub z: Option<f64>,
}

impl LittleIsEnough {
    /// The paper's `z` for so many updates, of which so many are malicious; at least 0.
    fn most(n: usize, n_malicious: usize) -> f64 {
        let n_honest = n.saturating_sub(n_malicious);
        let supporters = (n / 2 + 1).saturating_sub(n_malicious);
        if n_honest == 0 {
            return 0.0;
        }
        let share = (n_honest.saturating_sub(supporters)) as f64 / n_honest as f64;
        let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        bisect(0.0, 10.0, |z| below(z) < share)
    }
}

impl Adversary for LittleIsEnough {
    fn craft(&self, _: &mut Crafting<'_>) -> Option<Vec<f64>> {
        None
    }

    fn colludes(&self) -> bool {
        true
    }

    fn craft_together(&self, round: &Colluding) -> Option<Vec<f64>> {
        let most = || LittleIsEnough::most(round.n_updates, round.changes.len());
        let z = self.z.unwrap_or_else(most);
        let moved = round.mean().into_iter().zip(round.deviation());
        Some(moved.map(|(mean, deviation)| mean - z * deviation).collect())
    }
}

/// Direction in which a crafted change leaves the mean: the paper's perturbation vector.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Perturbation {
    /// Against the standard deviation of each number.
    #[default]
    Deviation,
    /// Against the mean, at length 1.
    Unit,
    /// Against the sign of the mean.
    Sign,
}

impl Perturbation {
    fn of(self, round: &Colluding) -> Vec<f64> {
        let mean = round.mean();
        match self {
            Perturbation::Deviation => round.deviation().into_iter().map(|x| -x).collect(),
            Perturbation::Unit => {
                let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
                let scale = if length > 0.0 { -1.0 / length } else { 0.0 };
                mean.into_iter().map(|x| scale * x).collect()
            }
            Perturbation::Sign => {
                let sign = |x: f64| if x == 0.0 { 0.0 } else { -x.signum() };
                mean.into_iter().map(sign).collect()
            }
        }
    }
}

/// As far from the mean as possible, while no honest update is farther from the crafted one than the
/// two honest ones that are farthest from each other.
///
/// V. Shejwalkar, A. Houmansadr. Manipulating the Byzantine: Optimizing Model Poisoning Attacks and
/// Defenses for Federated Learning. NDSS 2021, equation 8.
#[component(name = "MinMax", about = "min-max attack (Shejwalkar, Houmansadr 2021)")]
#[derive(Clone, Copy, Debug)]
pub struct MinMax {
    /// Perturbation in which the crafted change leaves the mean.
    pub perturbation: Perturbation,
}

/// As far from the mean as possible, while the sum of squared distances to the honest updates is at
/// most the largest such sum of an honest one (the same paper, equation 9).
#[component(name = "MinSum", about = "min-sum attack (Shejwalkar, Houmansadr 2021)")]
#[derive(Clone, Copy, Debug)]
pub struct MinSum {
    /// Perturbation in which the crafted change leaves the mean.
    pub perturbation: Perturbation,
}

impl Adversary for MinMax {
    fn craft(&self, _: &mut Crafting<'_>) -> Option<Vec<f64>> {
        None
    }

    fn colludes(&self) -> bool {
        true
    }

    fn craft_together(&self, round: &Colluding) -> Option<Vec<f64>> {
        let farthest = |from: &[f64]| distances(round, from).fold(0.0, f64::max);
        Some(optimised(round, self.perturbation, farthest))
    }
}

impl Adversary for MinSum {
    fn craft(&self, _: &mut Crafting<'_>) -> Option<Vec<f64>> {
        None
    }

    fn colludes(&self) -> bool {
        true
    }

    fn craft_together(&self, round: &Colluding) -> Option<Vec<f64>> {
        let summed = |from: &[f64]| distances(round, from).sum();
        Some(optimised(round, self.perturbation, summed))
    }
}

/// The squared distances of all honest changes from one.
fn distances<'a>(round: &'a Colluding, from: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    let of = move |change: &Vec<f64>| change.iter().zip(from).map(|(a, b)| (a - b) * (a - b)).sum();
    round.changes.iter().map(of)
}

/// The change that lies farthest in a direction from the mean, while its measure is at most the
/// largest measure of an honest change.
fn optimised(round: &Colluding, perturbation: Perturbation, measure: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let (mean, direction) = (round.mean(), perturbation.of(round));
    let bound = round.changes.iter().map(|change| measure(change)).fold(0.0, f64::max);
    let at = |gamma: f64| -> Vec<f64> { mean.iter().zip(&direction).map(|(x, p)| x + gamma * p).collect() };
    if direction.iter().all(|x| *x == 0.0) {
        return mean;
    }
    // Beyond the first power of two that is too far.
    let beyond = (0..64)
        .map(|power| libm::exp2(f64::from(power)))
        .find(|gamma| measure(&at(*gamma)) > bound);
    at(bisect(0.0, beyond.unwrap_or(0.0), |gamma| measure(&at(gamma)) <= bound))
}

/// The end of the values from `low` on, below `high`, at which something holds.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

impl Colluding {
    /// The mean of each number.
    pub fn mean(&self) -> Vec<f64> {
        let n = self.changes.len() as f64;
        let width = self.changes.first().map_or(0, Vec::len);
        let mean = |i: usize| self.changes.iter().map(|change| change[i]).sum::<f64>() / n;
        (0..width).map(mean).collect()
    }

    /// The population standard deviation of each number.
    pub fn deviation(&self) -> Vec<f64> {
        let n = self.changes.len() as f64;
        let of = |(i, mean): (usize, f64)| {
            let squares = self
                .changes
                .iter()
                .map(|change| (change[i] - mean) * (change[i] - mean));
            (squares.sum::<f64>() / n).sqrt()
        };
        self.mean().into_iter().enumerate().map(of).collect()
    }
}
