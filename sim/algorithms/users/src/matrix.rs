//! Rows of numbers, one per user, stored sparse or dense.

use crate::features::Estimate;
use crate::links::{Links, Spread};
use folkmoot_learning::{Adjacency, Csr, Tape, Var};

/// A row of numbers for each user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matrix {
    /// The numbers that are not 0.
    Scarce(Csr),
    /// All, and how many a row has.
    Dense(Vec<f32>, usize),
}

/// A matrix on a tape.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'g> {
    Scarce(&'g Csr),
    Dense(Var),
}

impl Matrix {
    /// Held by what is not 0, unless most of it is something.
    pub(crate) fn new(rows: &[Estimate], n_columns: usize) -> Matrix {
        let is_scarce = rows.iter().all(|row| row.base == 0.0)
            && rows.iter().map(|row| row.others.len()).sum::<usize>() <= rows.len() * n_columns / 4;
        if is_scarce {
            let entry = |(row, estimate): (u32, &Estimate)| {
                let values: Vec<_> = estimate.others.iter().map(|(column, x)| (row, *column, *x)).collect();
                values
            };
            let entries: Vec<(u32, u32, f32)> = (0..).zip(rows).flat_map(entry).collect();
            if let Ok(csr) = Csr::from_entries(rows.len() as u32, n_columns as u32, &entries) {
                return Matrix::Scarce(csr);
            }
        }
        let mut all = Vec::with_capacity(rows.len() * n_columns);
        for row in rows {
            let start = all.len();
            all.resize(start + n_columns, row.base);
            row.others
                .iter()
                .for_each(|(column, x)| all[start + *column as usize] = *x);
        }
        Matrix::Dense(all, n_columns)
    }

    pub(crate) fn n_rows(&self) -> usize {
        match self {
            Matrix::Scarce(csr) => csr.n_rows(),
            Matrix::Dense(all, n_columns) => all.len().checked_div(*n_columns).unwrap_or(0),
        }
    }

    pub(crate) fn n_columns(&self) -> usize {
        match self {
            Matrix::Scarce(csr) => csr.n_columns(),
            Matrix::Dense(_, n_columns) => *n_columns,
        }
    }

    /// All numbers, row after row.
    pub(crate) fn dense(self) -> Vec<f32> {
        match self {
            Matrix::Dense(all, _) => all,
            Matrix::Scarce(csr) => {
                let width = csr.n_columns();
                let mut all = vec![0.0; csr.n_rows() * width];
                for row in 0..csr.n_rows() {
                    for e in csr.range(row) {
                        all[row * width + csr.columns()[e] as usize] = csr.weights()[e];
                    }
                }
                all
            }
        }
    }

    /// After so many steps of KProp along `links`.
    pub(crate) fn propagated(self, links: &Links, steps: u32) -> Matrix {
        if steps == 0 {
            return self;
        }
        let width = self.n_columns();
        Matrix::Dense(Spread::without_loops(links).repeat(self.dense(), width, steps), width)
    }

    pub(crate) fn on<'g>(&'g self, tape: &mut Tape<'g>) -> Rows<'g> {
        match self {
            Matrix::Scarce(csr) => Rows::Scarce(csr),
            Matrix::Dense(all, width) => Rows::Dense(tape.input(self.n_rows(), *width, all)),
        }
    }
}

impl<'g> Rows<'g> {
    /// The rows times `w`.
    pub(crate) fn times(self, tape: &mut Tape<'g>, w: Var) -> Var {
        match self {
            Rows::Scarce(csr) => tape.propagate(Adjacency::Sparse(csr), w),
            Rows::Dense(x) => tape.matmul(x, w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are held by what is not 0 give the product that all give.
    #[test]
    fn scarce_rows_multiply_as_dense_ones_do() {
        let scarce = Estimate {
            base: 0.0,
            others: vec![(1, 2.0)],
        };
        let rows = vec![scarce.clone(), Estimate::default(), scarce];
        let matrix = Matrix::new(&rows, 8);
        assert!(matches!(matrix, Matrix::Scarce(_)));
        let dense = Matrix::Dense(matrix.clone().dense(), 8);
        let w: Vec<f32> = (0..16).map(|i| i as f32 / 3.0).collect();
        let product = |matrix: &Matrix| {
            let mut tape = Tape::new();
            let w = tape.variable(8, 2, &w);
            let x = matrix.on(&mut tape);
            let y = x.times(&mut tape, w);
            let loss = tape.sum(y);
            tape.backward(loss);
            (tape.value(y).to_vec(), tape.gradient(w).to_vec())
        };
        assert_eq!(product(&matrix), product(&dense));
        let noisy = Estimate {
            base: 0.5,
            ..Estimate::default()
        };
        assert!(matches!(Matrix::new(&[noisy], 8), Matrix::Dense(..)));
    }
}
