//! Numbers brought to mean 0 and variance 1.

use super::Table;

/// Mean 0 and variance 1 for every number over the rows that it was made of; one that is always the
/// same becomes 0.
pub struct Scaling {
    mean: Vec<f64>,
    factor: Vec<f64>,
}

impl Scaling {
    pub(super) fn none(width: usize) -> Scaling {
        Scaling {
            mean: vec![0.0; width],
            factor: vec![1.0; width],
        }
    }

    /// That of the rows of a table.
    pub fn of(table: &Table) -> Scaling {
        let n = table.n_rows().max(1) as f64;
        let total = |term: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            let mut sums = vec![0.0; table.width()];
            for row in table.rows() {
                for (at, (sum, x)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += term(at, f64::from(*x));
                }
            }
            sums.into_iter().map(|sum| sum / n).collect()
        };
        let mean = total(&|_, x| x);
        let variance = total(&|at, x| (x - mean[at]) * (x - mean[at]));
        // Rounding leaves a constant column with a variance of this order.
        let factor = mean
            .iter()
            .zip(&variance)
            .map(|(mean, variance)| match *variance > 1e-12 * mean * mean {
                true => 1.0 / variance.sqrt(),
                false => 0.0,
            });
        Scaling {
            factor: factor.collect(),
            mean,
        }
    }

    /// The rows of a table, brought to it.
    pub fn apply(&self, table: &Table) -> Table {
        table.clone().map_rows(|row| {
            for ((x, mean), factor) in row.iter_mut().zip(&self.mean).zip(&self.factor) {
                *x = ((f64::from(*x) - mean) * factor) as f32;
            }
        })
    }
}
