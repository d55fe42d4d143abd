//! Messages to nodes like and unlike, along relations that are learned: an operation of the tape
//! whose matrix of all pairs is never kept.

use super::likeness::{cosines, directions, softmax};
use folkmoot_learning::Csr;
use folkmoot_learning::tape::{Backward, Function};

/// Of `Z`, shape `(n, C)`: `(R⁺ Z, R⁻ Z)` side by side, shape `(n, 2C)`, where `R⁺` and `R⁻` are
/// what lies above and below 0 of the scaled relations `β M + (1 − β) cos(softmax Z)`, 1 on the
/// diagonal. Rows of relations are made again whenever they are needed: `n²` numbers are read, `n`
/// are kept.
#[derive(Debug)]
pub(super) struct Relations {
    /// `M`.
    pub(super) alike: Csr,
    /// `β`.
    pub(super) beta: f32,
    /// `C`.
    pub(super) n_classes: usize,
}

/// What scales relations: their mean, and their largest with its place.
#[derive(Clone, Copy)]
struct Scale {
    mean: f32,
    largest: f32,
    at: (usize, usize),
}

impl Scale {
    /// A relation above the mean comes to so much of 1, and one below to so much of −1; 0 where all
    /// are alike.
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

    /// The relations of node `i`, none with itself.
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

    /// Rows column by column.
    fn turned(&self, z: &[f32]) -> Vec<f32> {
        let n = self.n();
        let mut turned = vec![0.0; z.len()];
        for (i, row) in z.chunks_exact(self.n_classes).enumerate() {
            row.iter().enumerate().for_each(|(c, x)| turned[c * n + i] = *x);
        }
        turned
    }
}

/// A sum of products in eight lanes, whatever the machine has.
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
        let (scale, turned) = (self.scale(&directions), self.turned(z));
        let [mut row, mut above, mut below] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for (i, y) in y.chunks_exact_mut(2 * width).enumerate() {
            self.row(&directions, i, &mut row);
            for ((relation, above), below) in row.iter().zip(&mut above).zip(&mut below) {
                (*above, *below) = scale.scaled(*relation);
            }
            (above[i], below[i]) = (1.0, 0.0);
            for (c, column) in turned.chunks_exact(n).enumerate() {
                y[c] = dot(&above, column);
                y[width + c] = dot(&below, column);
            }
        }
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (z, gy, n, width) = (cx.operand(0), cx.gradient(), self.n(), self.n_classes);
        let Some(to) = cx.gradient_of(0) else { return };
        let shares = softmax(z, width);
        let directions = directions(&shares, n);
        let (scale, turned) = (self.scale(&directions), self.turned(z));
        // By the numbers of Z that are passed on, and by the directions that relations are made of;
        // both column by column.
        let [mut by_z, mut by_direction] = [vec![0.0; z.len()], vec![0.0; z.len()]];
        let (mut by_mean, mut by_largest) = (0.0, 0.0);
        let reach = scale.largest - scale.mean;
        let [mut row, mut of_above, mut of_below] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        let spread = |own: f32, row: &[f32], to: &mut [f32]| to.iter_mut().zip(row).for_each(|(to, x)| *to += own * x);
        for (i, gy) in gy.chunks_exact(2 * width).enumerate() {
            self.row(&directions, i, &mut row);
            for (of, gradient) in [(&mut of_above, &gy[..width]), (&mut of_below, &gy[width..])] {
                of.fill(0.0);
                turned
                    .chunks_exact(n)
                    .zip(gradient)
                    .for_each(|(column, g)| spread(*g, column, of));
            }
            // From here on the buffers hold what is passed on, and `row` the gradient by the
            // relation.
            for (j, relation) in row.iter_mut().enumerate() {
                let (by_above, by_below) = (of_above[j], of_below[j]);
                (of_above[j], of_below[j]) = scale.scaled(*relation);
                let r = *relation;
                *relation = match r > scale.mean {
                    _ if j == i => 0.0,
                    true => {
                        by_mean += f64::from(by_above * (r - scale.largest) / (reach * reach));
                        by_largest -= f64::from(by_above * (r - scale.mean) / (reach * reach));
                        by_above / reach
                    }
                    false if scale.mean > 0.0 => {
                        by_mean += f64::from(by_below * r / (scale.mean * scale.mean));
                        -by_below / scale.mean
                    }
                    false => 0.0,
                };
            }
            (of_above[i], of_below[i]) = (1.0, 0.0);
            for (c, column) in by_z.chunks_exact_mut(n).enumerate() {
                spread(gy[c], &of_above, column);
                spread(gy[width + c], &of_below, column);
            }
            for (column, direction) in by_direction.chunks_exact_mut(n).zip(directions.chunks_exact(n)) {
                column[i] += dot(&row, direction);
                spread(direction[i], &row, column);
            }
        }
        // Every pair has a part in the mean, and one is the largest.
        let by_each = (by_mean / (n * n) as f64) as f32;
        for (column, direction) in by_direction.chunks_exact_mut(n).zip(directions.chunks_exact(n)) {
            let all: f32 = direction.iter().sum();
            column
                .iter_mut()
                .zip(direction)
                .for_each(|(to, own)| *to += 2.0 * by_each * (all - own));
            let (i, j) = scale.at;
            if i != j {
                column[i] += by_largest as f32 * direction[j];
                column[j] += by_largest as f32 * direction[i];
            }
        }
        // Back through the length of a row, and through its softmax.
        for (i, (to, share)) in to.chunks_exact_mut(width).zip(shares.chunks_exact(width)).enumerate() {
            let own = |columns: &[f32], c: usize| columns[c * n + i];
            let length = share.iter().map(|s| s * s).sum::<f32>().sqrt().max(1e-9);
            let along: f32 = (0..width).map(|c| own(&by_direction, c) * own(&directions, c)).sum();
            let by_share =
                |c: usize| (1.0 - self.beta) * (own(&by_direction, c) - along * own(&directions, c)) / length;
            let mean: f32 = (0..width).map(|c| by_share(c) * share[c]).sum();
            for (c, to) in to.iter_mut().enumerate() {
                *to += own(&by_z, c) + share[c] * (by_share(c) - mean);
            }
        }
    }
}
