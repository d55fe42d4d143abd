//! Message passing along learned relations, positive and negative: an operation of the tape that
//! never stores the matrix of all pairs.

use super::likeness::{cosines, directions, softmax};
use folkmoot_learning::Csr;
use folkmoot_learning::tape::{Backward, Function};

/// From `Z`, shape `(n, C)`, computes the columns `(R⁺ Z, R⁻ Z)`, shape `(n, 2C)`.
///
/// `R⁺` and `R⁻` are the positive and negative parts of the scaled relations
/// `β M + (1 − β) cos(softmax Z)`, with 1 on the diagonal. Rows of relations are recomputed when
/// needed: `n²` numbers are read, `n` are stored.
#[derive(Debug)]
pub(super) struct Relations {
    /// `M`.
    pub(super) alike: Csr,
    /// `β`.
    pub(super) beta: f32,
    /// `C`.
    pub(super) n_classes: usize,
}

/// Scale of the relations: their mean, and the largest with its position.
#[derive(Clone, Copy)]
struct Scale {
    mean: f32,
    largest: f32,
    at: (usize, usize),
}

impl Scale {
    /// The parts above and below 0 of a scaled relation: `(r − mean)/(max − mean)` above the mean;
    /// `−r/mean` below, as in the authors' code (`my_model.py`), so a relation of 0 stays 0.
    ///
    /// This is faithful to that code and not monotone: −1 at the mean, 0 just above it. A relation
    /// at or below a mean that is not positive has two parts of 0.
    fn scaled(self, relation: f32) -> (f32, f32) {
        match relation > self.mean {
            true => ((relation - self.mean) / (self.largest - self.mean), 0.0),
            false if self.mean > 0.0 => (0.0, -relation / self.mean),
            false => (0.0, 0.0),
        }
    }
}

impl Relations {
    fn n(&self) -> usize {
        self.alike.n_rows()
    }

    /// The relations of node `i`; 0 with itself.
    fn row(&self, directions: &[f32], i: usize, to: &mut [f32]) {
        cosines(directions, i, to);
        to.iter_mut().for_each(|x| *x *= 1.0 - self.beta);
        for v in &self.alike.columns()[self.alike.range(i)] {
            to[*v as usize] += self.beta;
        }
        to[i] = 0.0;
    }

    fn scale(&self, directions: &[f32]) -> Scale {
        let n = self.n();
        let (mut sum, mut row) = (0.0, vec![0.0; n]);
        let (mut largest, mut at) = (f32::NEG_INFINITY, (0, 0));
        for i in 0..n {
            self.row(directions, i, &mut row);
            for (j, relation) in row.iter().enumerate() {
                sum += f64::from(*relation);
                if *relation > largest {
                    (largest, at) = (*relation, (i, j));
                }
            }
        }
        let mean = (sum / (n * n) as f64) as f32;
        Scale { mean, largest, at }
    }

    /// `Z`, stored column by column.
    fn transposed(&self, z: &[f32]) -> Vec<f32> {
        let n = self.n();
        let mut transposed = vec![0.0; z.len()];
        for (i, row) in z.chunks_exact(self.n_classes).enumerate() {
            row.iter().enumerate().for_each(|(c, x)| transposed[c * n + i] = *x);
        }
        transposed
    }
}

/// A dot product in eight lanes on every machine.
fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f32 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

impl Function for Relations {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        let (z, n, width) = (x[0], self.n(), self.n_classes);
        let directions = directions(&softmax(z, width), n);
        let (scale, transposed) = (self.scale(&directions), self.transposed(z));
        let [mut row, mut above, mut below] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for (i, y) in y.chunks_exact_mut(2 * width).enumerate() {
            self.row(&directions, i, &mut row);
            for ((relation, above), below) in row.iter().zip(&mut above).zip(&mut below) {
                (*above, *below) = scale.scaled(*relation);
            }
            (above[i], below[i]) = (1.0, 0.0);
            for (c, column) in transposed.chunks_exact(n).enumerate() {
                y[c] = dot(&above, column);
                y[width + c] = dot(&below, column);
            }
        }
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (z, gy, n, width) = (cx.operand(0), cx.gradient(), self.n(), self.n_classes);
        let Some(to) = cx.gradient_of(0) else { return };
        let probabilities = softmax(z, width);
        let directions = directions(&probabilities, n);
        let scale = self.scale(&directions);
        let mut gradients = self.through_pairs(z, &directions, scale, gy);
        self.through_scale(&directions, scale, &mut gradients);
        self.through_rows(&probabilities, &directions, &gradients, to);
    }
}

/// Gradients on the way back. Matrices are stored column by column, as directions are.
struct Gradients {
    /// By the rows that are sent, shape `(n, C)`.
    grad_z: Vec<f32>,
    /// By the directions of which relations are cosines, shape `(n, C)`.
    grad_direction: Vec<f32>,
    /// By the mean relation.
    grad_mean: f64,
    /// By the largest relation.
    grad_largest: f64,
}

/// Adds `factor` times a row.
fn add_scaled(factor: f32, row: &[f32], to: &mut [f32]) {
    to.iter_mut().zip(row).for_each(|(to, x)| *to += factor * x);
}

impl Relations {
    /// Back through the products and the relation of each pair, the scale being fixed.
    fn through_pairs(&self, z: &[f32], directions: &[f32], scale: Scale, gy: &[f32]) -> Gradients {
        let (n, width, transposed) = (self.n(), self.n_classes, self.transposed(z));
        let [mut grad_z, mut grad_direction] = [vec![0.0; z.len()], vec![0.0; z.len()]];
        let (mut grad_mean, mut grad_largest) = (0.0, 0.0);
        let Scale { mean, largest, .. } = scale;
        let reach = largest - mean;
        let [mut row, mut grad_r] = [vec![0.0; n], vec![0.0; n]];
        let [mut grad_above, mut grad_below] = [vec![0.0; n], vec![0.0; n]];
        let [mut weights_above, mut weights_below] = [vec![0.0; n], vec![0.0; n]];
        for (i, gy) in gy.chunks_exact(2 * width).enumerate() {
            self.row(directions, i, &mut row);
            for (to, gradient) in [(&mut grad_above, &gy[..width]), (&mut grad_below, &gy[width..])] {
                to.fill(0.0);
                transposed
                    .chunks_exact(n)
                    .zip(gradient)
                    .for_each(|(column, g)| add_scaled(*g, column, to));
            }
            for (j, &r) in row.iter().enumerate() {
                (weights_above[j], weights_below[j]) = scale.scaled(r);
                grad_r[j] = if j == i {
                    0.0
                } else if r > mean {
                    grad_mean += f64::from(grad_above[j] * (r - largest) / (reach * reach));
                    grad_largest -= f64::from(grad_above[j] * (r - mean) / (reach * reach));
                    grad_above[j] / reach
                } else if mean > 0.0 {
                    grad_mean += f64::from(grad_below[j] * r / (mean * mean));
                    -grad_below[j] / mean
                } else {
                    0.0
                };
            }
            (weights_above[i], weights_below[i]) = (1.0, 0.0);
            for (c, column) in grad_z.chunks_exact_mut(n).enumerate() {
                add_scaled(gy[c], &weights_above, column);
                add_scaled(gy[width + c], &weights_below, column);
            }
            for (column, direction) in grad_direction.chunks_exact_mut(n).zip(directions.chunks_exact(n)) {
                column[i] += dot(&grad_r, direction);
                add_scaled(direction[i], &grad_r, column);
            }
        }
        Gradients {
            grad_z,
            grad_direction,
            grad_mean,
            grad_largest,
        }
    }

    /// Adds the gradients through the scale: every pair counts in the mean, and one is the largest.
    fn through_scale(&self, directions: &[f32], scale: Scale, gradients: &mut Gradients) {
        let n = self.n();
        let grad_each = (gradients.grad_mean / (n * n) as f64) as f32;
        let grad_direction = gradients.grad_direction.chunks_exact_mut(n);
        for (column, direction) in grad_direction.zip(directions.chunks_exact(n)) {
            let all: f32 = direction.iter().sum();
            column
                .iter_mut()
                .zip(direction)
                .for_each(|(to, own)| *to += 2.0 * grad_each * (all - own));
            let (i, j) = scale.at;
            if i != j {
                column[i] += gradients.grad_largest as f32 * direction[j];
                column[j] += gradients.grad_largest as f32 * direction[i];
            }
        }
    }

    /// Back through the normalisation of each row and its softmax, into the gradient by `Z`.
    fn through_rows(&self, probabilities: &[f32], directions: &[f32], gradients: &Gradients, to: &mut [f32]) {
        let (n, width) = (self.n(), self.n_classes);
        let rows = to.chunks_exact_mut(width).zip(probabilities.chunks_exact(width));
        for (i, (to, probability)) in rows.enumerate() {
            let at = |columns: &[f32], c: usize| columns[c * n + i];
            let length = probability.iter().map(|p| p * p).sum::<f32>().sqrt().max(1e-9);
            let grad_direction = |c: usize| at(&gradients.grad_direction, c);
            let along: f32 = (0..width).map(|c| grad_direction(c) * at(directions, c)).sum();
            let grad_probability =
                |c: usize| (1.0 - self.beta) * (grad_direction(c) - along * at(directions, c)) / length;
            let mean: f32 = (0..width).map(|c| grad_probability(c) * probability[c]).sum();
            for (c, to) in to.iter_mut().enumerate() {
                *to += at(&gradients.grad_z, c) + probability[c] * (grad_probability(c) - mean);
            }
        }
    }
}
