//! Matrices as the product of two thin ones.

use crate::bits::{put_f32, take_f32};
use crate::{Codec, Damaged, Shape, finite, matrices, n_values};
use folkmoot_draws::{SimRng, normal};
use folkmoot_parts::component;

/// Each matrix `M` (`n × m`) as `P Qᵀ` with `Q = Mᵀ P`, in `4 rank (n + m)` bytes. `P` (`n × rank`)
/// is an orthonormal basis of `M` times a random matrix. Matrices that would not become smaller are
/// sent uncompressed.
///
/// T. Vogels, S. P. Karimireddy, M. Jaggi. PowerSGD: Practical Low-Rank Gradient Compression for
/// Distributed Optimization. NeurIPS 2019, algorithm 1. <https://arxiv.org/abs/1905.13727>.
/// Deviation: the paper's workers average `P` and `Q` in two exchanges that depend on each other;
/// here each client sends both of its own at once, from a matrix drawn anew, since who trains
/// changes from round to round.
#[component(
    name = "LowRank",
    about = "low-rank approximation of matrices (after PowerSGD, Vogels et al. 2019)"
)]
#[derive(Clone, Copy, Debug)]
pub struct LowRank {
    /// Rank of the approximation.
    #[component(default = 2, in = 1..=1024)]
    pub rank: u32,
    /// Power iterations: multiplications of `P` with `M Mᵀ` before sending.
    #[component(default = 0, in = 0..=16)]
    pub iterations: u32,
    /// Error feedback: the sender adds the omitted part (residual) to its next update. In rounds
    /// the residual includes updates lost in the network, but not those discarded by the server as
    /// late or surplus.
    #[component(default = true)]
    pub feedback: bool,
}

impl LowRank {
    /// The rank for a matrix, where that makes it smaller.
    fn rank_of(&self, [rows, columns]: Shape) -> Option<usize> {
        let rank = (self.rank as usize).min(rows).min(columns);
        (rank * (rows + columns) < rows * columns).then_some(rank)
    }
}

/// `M Q`, of `rank` columns.
fn times(matrix: &[f32], q: &[f64], columns: usize, rank: usize) -> Vec<f64> {
    let mut p = Vec::with_capacity(matrix.len() / columns * rank);
    for row in matrix.chunks_exact(columns) {
        for r in 0..rank {
            p.push(
                row.iter()
                    .zip(q.iter().skip(r).step_by(rank))
                    .fold(0.0, |sum, (x, q)| sum + f64::from(*x) * q),
            );
        }
    }
    p
}

/// `Mᵀ P`, of `rank` columns.
fn transposed_times(matrix: &[f32], p: &[f64], columns: usize, rank: usize) -> Vec<f64> {
    let mut q = vec![0.0; columns * rank];
    for (row, p) in matrix.chunks_exact(columns).zip(p.chunks_exact(rank)) {
        for (x, q) in row.iter().zip(q.chunks_exact_mut(rank)) {
            q.iter_mut().zip(p).for_each(|(q, p)| *q += f64::from(*x) * p);
        }
    }
    q
}

/// Makes the columns orthonormal, one after the other (Gram and Schmidt, modified, twice); those
/// that hang on others become 0.
fn orthonormalise(p: &mut [f64], rank: usize) {
    let dot = |p: &[f64], a: usize, b: usize| p.chunks_exact(rank).fold(0.0, |sum, row| sum + row[a] * row[b]);
    for r in 0..rank {
        let before = dot(p, r, r);
        for earlier in (0..r).chain(0..r) {
            let share = dot(p, r, earlier);
            p.chunks_exact_mut(rank).for_each(|row| row[r] -= share * row[earlier]);
        }
        let norm = dot(p, r, r);
        let scale = if norm > 1e-20 * before { 1.0 / norm.sqrt() } else { 0.0 };
        p.chunks_exact_mut(rank).for_each(|row| row[r] *= scale);
    }
}

impl Codec for LowRank {
    fn encode(&self, values: &[f32], shapes: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>) {
        for (shape, matrix) in matrices(values, shapes) {
            let Some(rank) = self.rank_of(shape) else {
                matrix.iter().for_each(|x| put_f32(*x, out));
                continue;
            };
            let columns = shape[1];
            let start: Vec<f64> = (0..columns * rank).map(|_| normal(rng)).collect();
            let mut p = times(matrix, &start, columns, rank);
            orthonormalise(&mut p, rank);
            for _ in 0..self.iterations {
                let q = transposed_times(matrix, &p, columns, rank);
                p = times(matrix, &q, columns, rank);
                orthonormalise(&mut p, rank);
            }
            // What is sent of P is rounded, and Q is made of what is sent.
            p.iter_mut().for_each(|x| *x = f64::from(finite(*x)));
            let q = transposed_times(matrix, &p, columns, rank);
            p.iter().chain(&q).for_each(|x| put_f32(finite(*x), out));
        }
    }

    fn decode(&self, mut bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let mut values = Vec::with_capacity(n_values(shapes));
        for &[rows, columns] in shapes {
            let mut take = |n: usize| {
                (0..n)
                    .map(|_| take_f32(&mut bytes))
                    .collect::<Result<Vec<f32>, Damaged>>()
            };
            let Some(rank) = self.rank_of([rows, columns]) else {
                values.extend(take(rows * columns)?);
                continue;
            };
            let (p, q) = (take(rows * rank)?, take(columns * rank)?);
            for p in p.chunks_exact(rank) {
                let entry = |q: &[f32]| {
                    p.iter()
                        .zip(q)
                        .fold(0.0, |sum, (p, q)| sum + f64::from(*p) * f64::from(*q))
                };
                values.extend(q.chunks_exact(rank).map(|q| finite(entry(q))));
            }
        }
        match bytes.is_empty() {
            true => Ok(values),
            false => Err(Damaged::TooLong),
        }
    }

    fn is_random(&self) -> bool {
        true
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        let n = |shape: &Shape| match self.rank_of(*shape) {
            Some(rank) => rank * (shape[0] + shape[1]),
            None => shape[0] * shape[1],
        };
        Some(4 * shapes.iter().map(n).sum::<usize>() as u64)
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }
}
