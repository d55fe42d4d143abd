//! t-SNE: a map in the plane in which near points stay near.
//!
//! L. van der Maaten and G. Hinton. Visualizing Data using t-SNE. JMLR 2008. The learning rate is
//! that of A. C. Belkina et al. 2019, the other defaults are those of scikit-learn, but the start
//! is the paper's: random, and not the first principal components.
//!
//! Exact: all pairs of points act on each other, for up to a few thousand points. Left out: the
//! approximations by trees and grids.

use folkmoot_draws::{SimRng, normal_polar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::finite;
use crate::evaluation::{EvaluationError, require, same_length};
use crate::kernels::{self, FAR, Forces, LANES};

/// How near the entropy of a point's neighbours comes to that of the perplexity.
const ENTROPY_TOLERANCE: f64 = 1e-10;
/// Steps of that search at most.
const MAX_SEARCH: usize = 200;
/// The spread of the start.
const START_STD: f64 = 1e-4;
/// The momentum while the probabilities are exaggerated, and after.
const MOMENTUM: [f64; 2] = [0.5, 0.8];
/// The least factor of a coordinate's learning rate.
const LEAST_GAIN: f64 = 0.01;

/// The settings of a map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tsne {
    /// How many neighbours a point has, smoothly counted: at least 1 and less than the number of
    /// points. Default: 30.
    pub perplexity: f64,
    /// Steps of descent. Default: 1000.
    pub n_steps: usize,
    /// The factor of the probabilities in the first steps, which lets clusters form; finite and at
    /// least 1. Default: 12.
    pub exaggeration: f64,
    /// How many steps have that factor. Default: 250.
    pub n_exaggerated: usize,
    /// The step length, finite and above 0. Default: none, that is
    /// `max(n_points / exaggeration / 4, 50)`.
    pub learning_rate: Option<f64>,
}

impl Default for Tsne {
    fn default() -> Tsne {
        Tsne {
            perplexity: 30.0,
            n_steps: 1000,
            exaggeration: 12.0,
            n_exaggerated: 250,
            learning_rate: None,
        }
    }
}

/// A map and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct TsneMap {
    /// The place of each point, of shape `(n_points, 2)`, with mean 0.
    pub places: Vec<f64>,
    /// The Kullback-Leibler divergence of the map's similarities from the points'.
    pub divergence: f64,
}

impl Tsne {
    /// Maps points of which `squared` holds the squared distance of every two, of shape
    /// `(n_points, n_points)`. The Gromov-Wasserstein discrepancy is a squared distance already.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, a shape that does not fit and distances that are
    /// not finite.
    ///
    /// # Determinism
    /// Draws two 64-bit words a point. The result does not depend on the number of threads.
    ///
    /// # Complexity
    /// O(n²) a step, in parallel over the points; `8 n²` bytes.
    pub fn fit(&self, squared: &[f64], n_points: usize, rng: &mut SimRng) -> Result<TsneMap, EvaluationError> {
        self.check()?;
        let p = joint_probabilities(squared, n_points, self.perplexity)?;
        let mut map = Map::new(&start(n_points, rng));
        let p = padded_rows(&p, n_points);
        let default_rate = (n_points as f64 / self.exaggeration / 4.0).max(50.0);
        let rate = self.learning_rate.unwrap_or(default_rate);
        let mut moves = vec![0.0f64; 2 * n_points];
        let mut gains = vec![1.0f64; 2 * n_points];
        for step in 0..self.n_steps {
            let early = step < self.n_exaggerated;
            let gradient = map.gradient(&p, if early { self.exaggeration } else { 1.0 }).0;
            let momentum = if early { MOMENTUM[0] } else { MOMENTUM[1] };
            for ((gain, moved), slope) in gains.iter_mut().zip(&mut moves).zip(gradient) {
                // A coordinate that goes on in its direction speeds up, one that turns back slows
                // down.
                let goes_on = *moved * slope < 0.0;
                let next = if goes_on { *gain + 0.2 } else { *gain * 0.8 };
                *gain = next.max(LEAST_GAIN);
                *moved = momentum * *moved - rate * *gain * slope;
            }
            map.shift(&moves);
        }
        let (_, divergence) = map.divergence(&p);
        Ok(TsneMap {
            places: map.places(),
            divergence,
        })
    }

    /// [`fit`](Self::fit) for points `x` of `dim` coordinates, of shape `(n_points, dim)`, by their
    /// squared Euclidean distances.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if `dim` is 0.
    pub fn fit_points(&self, x: &[f64], dim: usize, rng: &mut SimRng) -> Result<TsneMap, EvaluationError> {
        require(dim > 0, "dim", || "must be at least 1, got 0".to_string())?;
        same_length("x", x.len().next_multiple_of(dim), x.len())?;
        finite("x", x)?;
        let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let row = |a: &[f64]| x.chunks_exact(dim).map(|b| squared(a, b)).collect::<Vec<_>>();
        let rows: Vec<Vec<f64>> = x.par_chunks_exact(dim).map(row).collect();
        self.fit(&rows.concat(), x.len() / dim, rng)
    }

    fn check(&self) -> Result<(), EvaluationError> {
        require(
            self.exaggeration.is_finite() && self.exaggeration >= 1.0,
            "exaggeration",
            || format!("must be finite and at least 1, got {}", self.exaggeration),
        )?;
        let rate = self.learning_rate.unwrap_or(1.0);
        require(rate.is_finite() && rate > 0.0, "learning_rate", || {
            format!("must be finite and greater than 0, got {rate}")
        })
    }
}

/// The probabilities `p_ij = (p_j|i + p_i|j) / 2n` of pairs of points, of shape
/// `(n_points, n_points)`, with a zero diagonal.
///
/// `p_j|i` is proportional to `exp(-beta_i squared_ij)`, with the `beta_i` for which the entropy of
/// `p_·|i` is `ln perplexity` (van der Maaten & Hinton 2008, Eq. 1 and Sec. 3.1), to 1e-10. Where
/// equally near neighbours are more than the perplexity, no `beta_i` does that, and the nearest
/// share all.
///
/// # Errors
/// [`EvaluationError`] if the perplexity is less than 1 or not less than the number of points, the
/// shape does not fit or a distance is not finite.
///
/// # Complexity
/// O(n²) for each of some 10 steps, in parallel over the points.
pub fn joint_probabilities(squared: &[f64], n_points: usize, perplexity: f64) -> Result<Vec<f64>, EvaluationError> {
    require(perplexity >= 1.0 && perplexity < n_points as f64, "perplexity", || {
        format!("must be at least 1 and less than {n_points} (points), got {perplexity}")
    })?;
    same_length("squared", n_points * n_points, squared.len())?;
    finite("squared", squared)?;
    let target = libm::log(perplexity);
    let conditional: Vec<Vec<f64>> = (0..n_points)
        .into_par_iter()
        .map(|point| neighbours(&squared[point * n_points..][..n_points], point, target))
        .collect();
    let scale = 1.0 / (2.0 * n_points as f64);
    let joint = |i: usize, j: usize| (conditional[i][j] + conditional[j][i]) * scale;
    Ok((0..n_points * n_points)
        .map(|at| joint(at / n_points, at % n_points))
        .collect())
}

/// The chances of the other points to be the neighbour of `point`, with an entropy of `target`.
fn neighbours(squared: &[f64], point: usize, target: f64) -> Vec<f64> {
    let others = || (0..squared.len()).filter(move |&other| other != point);
    let nearest = others().map(|other| squared[other]).fold(f64::INFINITY, f64::min);
    // Only differences count; taking the least out lets no exponential vanish for all.
    let away: Vec<f64> = squared.iter().map(|square| square - nearest).collect();
    let spread = others().map(|other| away[other]).sum::<f64>() / others().count() as f64;
    let mut beta = if spread > 0.0 { 1.0 / spread } else { 1.0 };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut chances = vec![0.0; squared.len()];
    for _ in 0..MAX_SEARCH {
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for other in others() {
            let weight = libm::exp(-beta * away[other]);
            chances[other] = weight;
            total += weight;
            first += weight * away[other];
            second += weight * away[other] * away[other];
        }
        chances.iter_mut().for_each(|chance| *chance /= total);
        let (mean, square) = (first / total, second / total);
        let excess = libm::log(total) + beta * mean - target;
        let variance = (square - mean * mean).max(0.0);
        // Without variance those left are equally near, and no larger beta tells them apart.
        if excess.abs() <= ENTROPY_TOLERANCE || (excess > 0.0 && variance == 0.0) {
            break;
        }
        if excess > 0.0 {
            low = beta
        } else {
            high = beta
        }
        // Newton's step in ln beta, in which the entropy falls by beta² times the variance. It is
        // far too long where the neighbours of one scale have gone and those of the next have not:
        // hence its limit, and halving where it leads outside.
        let step = excess / (beta * beta * variance);
        let newton = beta * libm::exp(step.clamp(-2.0, 2.0));
        beta = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
    }
    chances
}

/// The Kullback-Leibler divergence `Σ p ln(p / q)` of a map from the probabilities `p` of shape
/// `(n, n)`, and its gradient.
///
/// `places` has shape `(n, 2)`, and so has the gradient; `q_ij` is proportional to
/// `1 / (1 + |y_i - y_j|²)` (van der Maaten & Hinton 2008, Eq. 4 and 5).
///
/// # Errors
/// [`EvaluationError`] if a shape does not fit or a value is not finite.
pub fn map_divergence(p: &[f64], places: &[f64]) -> Result<(f64, Vec<f64>), EvaluationError> {
    let n = places.len().div_ceil(2);
    same_length("places", 2 * n, places.len())?;
    same_length("p", n * n, p.len())?;
    finite("p", p)?;
    finite("places", places)?;
    let map = Map::new(places);
    let (gradient, divergence) = map.divergence(&padded_rows(p, n));
    Ok((divergence, gradient))
}

/// The rows of a square matrix, padded with zeros to whole registers.
fn padded_rows(p: &[f64], n: usize) -> Vec<f64> {
    let width = n.next_multiple_of(LANES);
    let mut padded = vec![0.0; n * width];
    for (to, from) in padded.chunks_exact_mut(width.max(1)).zip(p.chunks_exact(n.max(1))) {
        to[..n].copy_from_slice(from);
    }
    padded
}

/// Points normally distributed around 0, of shape `(n_points, 2)`.
fn start(n_points: usize, rng: &mut SimRng) -> Vec<f64> {
    let mut places = Vec::with_capacity(2 * n_points);
    for _ in 0..n_points {
        let (radius, angle) = normal_polar(rng);
        let radius = START_STD * radius;
        places.extend([radius * libm::cos(angle), radius * libm::sin(angle)]);
    }
    places
}

/// The places of the points, a column for each coordinate, padded with [`FAR`].
struct Map {
    n: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Map {
    fn new(places: &[f64]) -> Map {
        let n = places.len() / 2;
        let column = |from: usize| {
            let mut column: Vec<f64> = places[from.min(places.len())..].iter().step_by(2).copied().collect();
            column.resize(n.next_multiple_of(LANES), FAR);
            column
        };
        Map {
            n,
            x: column(0),
            y: column(1),
        }
    }

    fn places(&self) -> Vec<f64> {
        (0..self.n).flat_map(|point| [self.x[point], self.y[point]]).collect()
    }

    /// Moves every point and puts the mean of all back to 0.
    fn shift(&mut self, moves: &[f64]) {
        for (axis, column) in [&mut self.x, &mut self.y].into_iter().enumerate() {
            let column = &mut column[..self.n];
            column
                .iter_mut()
                .enumerate()
                .for_each(|(point, at)| *at += moves[2 * point + axis]);
            let mean = column.iter().sum::<f64>() / self.n as f64;
            column.iter_mut().for_each(|at| *at -= mean);
        }
    }

    /// The gradient for probabilities multiplied by `factor`, and the sum of all similarities; `p`
    /// has padded rows.
    fn gradient(&self, p: &[f64], factor: f64) -> (Vec<f64>, f64) {
        let width = self.x.len();
        let forces: Vec<Forces> = p
            .par_chunks_exact(width.max(1))
            .enumerate()
            .with_min_len(16)
            .map(|(point, p)| kernels::forces(p, &self.x, &self.y, [self.x[point], self.y[point]]))
            .collect();
        // A point's similarity to itself is 1 and counts for nothing.
        let total: f64 = forces.iter().map(|forces| forces.total - 1.0).sum();
        let slope = |pull: f64, push: f64| 4.0 * (factor * pull - push / total);
        let slopes = forces
            .iter()
            .flat_map(|Forces { pull, push, .. }| [slope(pull[0], push[0]), slope(pull[1], push[1])]);
        (slopes.collect(), total)
    }

    /// The gradient and the divergence; `p` has padded rows.
    fn divergence(&self, p: &[f64]) -> (Vec<f64>, f64) {
        let (gradient, total) = self.gradient(p, 1.0);
        let log_total = libm::log(total);
        let row = |(point, row): (usize, &[f64])| {
            let pairs = row.iter().enumerate().filter(|(_, p)| **p > 0.0);
            pairs
                .map(|(other, &p)| {
                    let (dx, dy) = (self.x[point] - self.x[other], self.y[point] - self.y[other]);
                    // ln q = -ln(1 + d²) - ln total.
                    p * (libm::log(p) + libm::log1p(dx * dx + dy * dy) + log_total)
                })
                .sum::<f64>()
        };
        let rows: Vec<f64> = p.par_chunks_exact(self.x.len().max(1)).enumerate().map(row).collect();
        (gradient, rows.iter().sum())
    }
}

#[cfg(test)]
mod tests;
