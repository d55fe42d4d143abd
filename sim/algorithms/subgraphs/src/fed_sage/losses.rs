//! Operations of the tape: what generators are told apart by, which is how many neighbours are
//! missing and what the nearest of them is like, and what keeps a gradient's factors.

use folkmoot_learning::tape::{Backward, Function};
use std::sync::OnceLock;

/// The mean over nodes of `s(x − c)`, `s` the square's half up to 1 and straight from there
/// (Huber), of predicted counts `x`, shape `(n, 1)`.
#[derive(Debug)]
pub(super) struct Missing {
    /// Rows that count, and the true count of each.
    pub(super) targets: Vec<(u32, u32)>,
}

impl Missing {
    fn errors<'a>(&'a self, x: &'a [f32]) -> impl Iterator<Item = (usize, f32)> + 'a {
        let error = |(row, count): &(u32, u32)| (*row as usize, x[*row as usize] - *count as f32);
        self.targets.iter().map(error)
    }
}

impl Function for Missing {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        let each = self.errors(x[0]).map(|(_, error)| match error.abs() {
            small if small < 1.0 => 0.5 * f64::from(small) * f64::from(small),
            large => f64::from(large) - 0.5,
        });
        y[0] = (each.sum::<f64>() / self.targets.len().max(1) as f64) as f32;
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (x, gy) = (cx.operand(0), cx.gradient()[0] / self.targets.len().max(1) as f32);
        let Some(to) = cx.gradient_of(0) else { return };
        self.errors(x)
            .for_each(|(row, error)| to[row] += gy * error.clamp(-1.0, 1.0));
    }
}

/// A made row's features against those of nodes that are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The row, of several made neighbours side by side.
    pub(super) row: u32,
    /// So many of the first of them are compared.
    pub(super) n_made: u32,
    /// With these rows of the known features.
    pub(super) targets: Vec<u32>,
}

/// `share` times the sum over made neighbours of the least mean squared error to a target: of made
/// rows, shape `(n, n_made d)`, the features of neighbours side by side. Several may be nearest to
/// one target; of targets that are equally near the first counts.
#[derive(Debug)]
pub(super) struct Nearest<'a> {
    pub(super) comparisons: Vec<Comparison>,
    /// Known features, of shape `(n_known, d)`.
    pub(super) known: &'a [f32],
    pub(super) n_features: usize,
    /// Numbers of a made row.
    pub(super) width: usize,
    pub(super) share: f32,
}

/// The mean of the squared differences.
fn error(x: &[f32], y: &[f32]) -> f64 {
    let squares = x.iter().zip(y).map(|(x, y)| f64::from(x - y) * f64::from(x - y));
    squares.sum::<f64>() / x.len() as f64
}

impl Nearest<'_> {
    /// How many made neighbours are compared.
    pub(super) fn n_compared(&self) -> usize {
        self.comparisons
            .iter()
            .map(|comparison| comparison.n_made as usize)
            .sum()
    }

    fn known(&self, target: u32) -> &[f32] {
        &self.known[target as usize * self.n_features..][..self.n_features]
    }

    /// Where each made neighbour that is compared begins in made rows, with the nearest target and
    /// how near it is.
    fn nearest<'a>(&'a self, rows: &'a [f32]) -> impl Iterator<Item = (usize, &'a [f32], f64)> + 'a {
        self.comparisons.iter().flat_map(move |comparison| {
            let starts = (0..comparison.n_made as usize).map(move |slot| {
                let start = comparison.row as usize * self.width + slot * self.n_features;
                let made = &rows[start..][..self.n_features];
                let all = comparison.targets.iter().map(|target| self.known(*target));
                let all = all.map(|known| (known, error(made, known)));
                let nearest = all.reduce(|best, next| if next.1 < best.1 { next } else { best });
                nearest.map(|(known, error)| (start, known, error))
            });
            starts.flatten()
        })
    }

    /// The sum over made neighbours, not yet shared.
    pub(super) fn sum(&self, rows: &[f32]) -> f64 {
        self.nearest(rows).map(|(.., error)| error).sum()
    }

    /// The same if each of them were this row.
    pub(super) fn sum_of(&self, row: &[f32]) -> f64 {
        let least = |comparison: &Comparison| {
            let errors = comparison.targets.iter().map(|target| error(row, self.known(*target)));
            f64::from(comparison.n_made) * errors.fold(f64::INFINITY, f64::min)
        };
        self.comparisons.iter().map(least).sum()
    }
}

impl Function for Nearest<'_> {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        y[0] = (f64::from(self.share) * self.sum(x[0])) as f32;
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (x, gy) = (cx.operand(0), cx.gradient()[0]);
        let Some(to) = cx.gradient_of(0) else { return };
        let factor = 2.0 * gy * self.share / self.n_features as f32;
        for (start, known, _) in self.nearest(x) {
            let made = x[start..].iter().zip(known);
            for (to, (x, y)) in to[start..].iter_mut().zip(made) {
                *to += factor * (x - y);
            }
        }
    }
}

/// Rows `y = x W + b` as they are, of operands `y` and `x`; keeps the factors of the gradient by
/// `W`: `x`, and on the way back the gradient of `y`.
#[derive(Debug, Default)]
pub(super) struct Factors(OnceLock<[Vec<f32>; 2]>);

impl Factors {
    /// Those of the way back; none where it came by nothing.
    pub(super) fn into_inner(self) -> [Vec<f32>; 2] {
        self.0.into_inner().unwrap_or_default()
    }
}

impl Function for Factors {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        y.copy_from_slice(x[0]);
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let gy = cx.gradient();
        self.0.get_or_init(|| [cx.operand(1).to_vec(), gy.to_vec()]);
        let Some(to) = cx.gradient_of(0) else { return };
        to.iter_mut().zip(gy).for_each(|(to, gy)| *to += gy);
    }
}
