//! A finite space: points with weights and a number between each two of them.

use crate::transport::kernels::stride;
use crate::transport::masses::Masses;
use crate::transport::{Plan, SUM_TOLERANCE};
use folkmoot_graphs::Graph;
use folkmoot_graphs::measures::{UNREACHABLE, hops_from};
use std::cmp::Ordering;
use thiserror::Error;

/// A symmetric matrix of distances between `n` points, and a positive weight for each, of sum 1.
///
/// The distances need not obey the triangle inequality, nor the diagonal be 0: any symmetric matrix
/// will do. What every pair with this space needs is computed once.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// `(n, stride)`, zero where padded.
    pub(super) distances: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) masses: Masses,
    /// `C p`: the mean distance of each point from the others.
    pub(super) means: Vec<f64>,
    /// The points by ascending mean distance, ties by index.
    pub(super) order: Vec<u32>,
    /// The points from end to end, and back; ties in `order` both ways.
    pub(super) along: [Vec<u32>; 2],
    /// `Σ C_ik² p_i p_k`.
    pub(super) mean_square: f64,
}

/// Why a matrix and weights are no [`Space`].
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SpaceError {
    /// There are no points.
    #[error("a space must have at least one point")]
    Empty,
    /// The matrix is not square, or there is not one weight a point.
    #[error("{name}: must have {rule} values, got {got}")]
    Shape {
        /// What must have another length.
        name: &'static str,
        rule: &'static str,
        /// The length it has.
        got: usize,
    },
    /// A distance is not finite.
    #[error("distances[{}][{}]: must be finite, got {value}; give unreachable pairs a large number", .pair.0, .pair.1)]
    Distance { pair: (usize, usize), value: f64 },
    /// The distance of two points depends on the direction.
    #[error("distances[{}][{}]: must be the same both ways, got {} and {}; take their mean", .pair.0, .pair.1, .values.0, .values.1)]
    Asymmetric { pair: (usize, usize), values: (f64, f64) },
    /// A weight is not positive and finite.
    #[error("weights[{index}]: must be finite and greater than 0, got {value}; leave out points without weight")]
    Weight { index: usize, value: f64 },
    /// The weights do not add to 1.
    #[error("weights: must add to 1, got {0}")]
    Sum(f64),
}

impl Space {
    /// The space of a row-major matrix of shape `(n, n)` and weights of shape `(n,)`.
    ///
    /// # Errors
    /// Whatever [`SpaceError`] names. Weights may miss the sum 1 by 1e-6 and are divided by their
    /// sum.
    pub fn new(distances: &[f64], weights: &[f64]) -> Result<Space, SpaceError> {
        let n = weights.len();
        if n == 0 {
            return Err(SpaceError::Empty);
        }
        if distances.len() != n * n {
            let (name, rule) = (
                "distances",
                "as many rows and columns as there are weights, and so n × n",
            );
            let got = distances.len();
            return Err(SpaceError::Shape { name, rule, got });
        }
        if let Some(index) = weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0)) {
            let value = weights[index];
            return Err(SpaceError::Weight { index, value });
        }
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(SpaceError::Sum(sum));
        }
        for (i, row) in distances.chunks_exact(n).enumerate() {
            for (j, &value) in row.iter().enumerate() {
                if !value.is_finite() {
                    return Err(SpaceError::Distance { pair: (i, j), value });
                }
                let back = distances[j * n + i];
                if back.is_finite() && value != back {
                    let values = (value, back);
                    return Err(SpaceError::Asymmetric { pair: (i, j), values });
                }
            }
        }
        let weights = weights.iter().map(|weight| weight / sum).collect();
        Ok(Space::checked(distances, weights))
    }

    /// The space of a row-major matrix of shape `(n, n)` whose points all weigh `1/n`.
    ///
    /// # Errors
    /// As [`Space::new`].
    pub fn uniform(distances: Vec<f64>) -> Result<Space, SpaceError> {
        let n = distances.len().isqrt();
        if n * n != distances.len() {
            let (name, rule, got) = ("distances", "n × n", distances.len());
            return Err(SpaceError::Shape { name, rule, got });
        }
        Space::new(&distances, &vec![1.0 / n as f64; n])
    }

    /// The space of the rows of a row-major matrix with `k` columns, such as embeddings of nodes:
    /// Euclidean distances, uniform weights.
    ///
    /// # Errors
    /// As [`Space::new`], and when the values are no whole rows of `k > 0`.
    pub fn euclidean(rows: &[f64], k: usize) -> Result<Space, SpaceError> {
        if k == 0 || !rows.len().is_multiple_of(k) {
            let (name, rule, got) = ("rows", "whole rows of k > 0", rows.len());
            return Err(SpaceError::Shape { name, rule, got });
        }
        let n = rows.len() / k;
        let mut distances = Vec::with_capacity(n * n);
        for a in rows.chunks_exact(k) {
            distances.extend(
                rows.chunks_exact(k)
                    .map(|b| super::objective::squared_distance(a, b).sqrt()),
            );
        }
        Space::uniform(distances)
    }

    /// The space of a graph's nodes: lengths of shortest paths in edges, `n` where there is no
    /// path; uniform weights.
    ///
    /// # Errors
    /// [`SpaceError::Empty`], and [`SpaceError::Asymmetric`] if the graph is directed.
    pub fn of_hops(graph: &Graph) -> Result<Space, SpaceError> {
        let n = graph.n_nodes();
        let mut distances = Vec::with_capacity(n * n);
        for source in 0..n as u32 {
            let hops = hops_from(graph, source);
            distances.extend(
                hops.iter()
                    .map(|&hops| if hops == UNREACHABLE { n as f64 } else { f64::from(hops) }),
            );
        }
        Space::uniform(distances)
    }

    /// The same points at the same distances with other weights.
    ///
    /// # Errors
    /// As [`Space::new`].
    pub fn with_weights(&self, weights: &[f64]) -> Result<Space, SpaceError> {
        let distances: Vec<f64> = (0..self.n()).flat_map(|i| self.row(i).iter().copied()).collect();
        Space::new(&distances, weights)
    }

    /// The space of a symmetric finite matrix and positive weights of sum 1.
    pub(super) fn checked(distances: &[f64], weights: Vec<f64>) -> Space {
        let n = weights.len();
        let masses = Masses::new(&weights);
        let mut padded = vec![0.0; n * stride(n)];
        let mut means = Vec::with_capacity(n);
        let mut mean_square = 0.0;
        for (i, (row, padded)) in distances
            .chunks_exact(n)
            .zip(padded.chunks_exact_mut(stride(n)))
            .enumerate()
        {
            padded[..n].copy_from_slice(row);
            let mut square = 0.0;
            for (distance, weight) in row.iter().zip(&weights) {
                square += distance * distance * weight;
            }
            mean_square += weights[i] * square;
            // With equal weights whole numbers stay whole, so equal means are equal to the last
            // bit.
            means.push(if masses.is_uniform() {
                row.iter().fold(0.0, |sum, distance| sum + distance) / n as f64
            } else {
                row.iter()
                    .zip(&weights)
                    .fold(0.0, |sum, (distance, weight)| sum + distance * weight)
            });
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|&i, &j| means[i as usize].total_cmp(&means[j as usize]));
        Space {
            along: along(distances, &weights, &order),
            diagonal: (0..n).map(|i| distances[i * n + i]).collect(),
            distances: padded,
            weights,
            masses,
            means,
            order,
            mean_square,
        }
    }

    /// The number of points.
    pub fn n(&self) -> usize {
        self.weights.len()
    }

    /// The weights of the points; their sum is 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The distance of two points.
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// The distances of a point.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.distances[i * self.stride()..][..self.n()]
    }

    /// The distances of a point, with zeros behind them up to the stride.
    #[inline]
    pub(super) fn padded_row(&self, i: usize) -> &[f64] {
        &self.distances[i * self.stride()..][..self.stride()]
    }

    /// All distances, row-major of shape `(n, n)`.
    pub fn to_matrix(&self) -> Vec<f64> {
        (0..self.n()).flat_map(|i| self.row(i).iter().copied()).collect()
    }

    /// The plan `p q'`, from which the methods start.
    pub fn product_plan(&self, other: &Space) -> Plan {
        Plan::product(&self.weights, &other.weights)
    }

    /// The length of a padded row.
    pub(super) fn stride(&self) -> usize {
        stride(self.n())
    }

    /// An order of spaces by what they hold, the smaller first, so that a pair is solved alike from
    /// both sides.
    pub(super) fn canonical(&self, other: &Space) -> Ordering {
        let values = |a: &[f64], b: &[f64]| {
            let mut pairs = a.iter().zip(b);
            pairs
                .find_map(|(a, b)| Some(a.total_cmp(b)).filter(|order| order.is_ne()))
                .unwrap_or(Ordering::Equal)
        };
        (self.n().cmp(&other.n()))
            .then_with(|| values(&self.distances, &other.distances))
            .then_with(|| values(&self.weights, &other.weights))
    }
}

/// How often the axis of a space is turned towards the direction in which it extends most.
const TURNS: u32 = 8;

/// The points sorted along the axis of a space, and back.
///
/// The axis begins as the distance from one end less that from the other: the point of the greatest
/// mean distance, last in `order`, and the one farthest from it. Turns of the power method on the
/// scalar products that belong to these distances, `−½ J (D∘D) J` with `J` that takes away the
/// mean, smooth it: it nears the first coordinate of classical scaling.
fn along(distances: &[f64], weights: &[f64], order: &[u32]) -> [Vec<u32>; 2] {
    let n = weights.len();
    let row = |i: usize| &distances[i * n..][..n];
    let first = row(order[n - 1] as usize);
    let farthest = order
        .iter()
        .max_by(|&&i, &&j| first[i as usize].total_cmp(&first[j as usize]));
    let second = row(*farthest.expect("a space has points") as usize);
    let mut axis: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let largest = |values: &[f64]| values.iter().fold(0.0, |best: f64, value| best.max(value.abs()));
    let scale = largest(distances);
    let squares: Vec<f64> = distances.iter().map(|d| (d / scale) * (d / scale)).collect();
    for _ in 0..TURNS {
        let mean = mean(&axis, weights);
        let shares: Vec<f64> = axis.iter().zip(weights).map(|(x, p)| p * (mean - x)).collect();
        let turned = squares.chunks_exact(n);
        let turned: Vec<f64> = turned
            .map(|row| {
                row.iter()
                    .zip(&shares)
                    .fold(0.0, |sum, (square, share)| sum + square * share)
            })
            .collect();
        let length = largest(&turned);
        // Where all points are as far from each other there is no such direction.
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        axis = turned.into_iter().map(|x| x / length).collect();
    }
    let mut there = order.to_vec();
    there.sort_by(|&i, &j| axis[i as usize].total_cmp(&axis[j as usize]));
    let mut back = order.to_vec();
    back.sort_by(|&i, &j| axis[j as usize].total_cmp(&axis[i as usize]));
    [there, back]
}

fn mean(values: &[f64], weights: &[f64]) -> f64 {
    values
        .iter()
        .zip(weights)
        .fold(0.0, |sum, (value, weight)| sum + value * weight)
}
