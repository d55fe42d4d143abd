//! A matrix as a product that nobody has made yet: of few terms, it is a small part of what it
//! stands for.

use crate::kernels::product::{Rows, RowsMut, Shape, product_transposed};
use serde::{Deserialize, Serialize};

/// `aᵀ b`, of shape `(rows, columns)`, as its factors of shapes `(k, rows)` and `(k, columns)`.
///
/// With a layer's inputs as `a` and the gradients of its outputs as `b` it is the gradient of the
/// layer's weight, of the bits that the tape gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factored {
    factors: [Vec<f32>; 2],
    rows: usize,
    columns: usize,
}

impl Factored {
    /// The product of these factors; without any term it is 0.
    ///
    /// # Panics
    /// If the lengths of the factors are no multiple, the same, of rows and columns.
    pub fn new(factors: [Vec<f32>; 2], [rows, columns]: [usize; 2]) -> Factored {
        let [a, b] = factors.each_ref().map(Vec::len);
        assert!(
            a * columns == b * rows && a.is_multiple_of(rows) && b.is_multiple_of(columns),
            "factors of {a} and {b} numbers make no matrix of shape ({rows}, {columns})"
        );
        Factored { factors, rows, columns }
    }

    /// How many numbers the matrix has.
    pub fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many numbers the factors have.
    pub fn n_held(&self) -> usize {
        self.factors.iter().map(Vec::len).sum()
    }

    /// Writes the numbers of the matrix, row by row, from the one at `from` on.
    ///
    /// # Panics
    /// If there are not so many.
    ///
    /// # Complexity
    /// O(k) for each number; fastest where whole rows are read.
    pub fn read(&self, from: usize, to: &mut [f32]) {
        assert!(from + to.len() <= self.len(), "a matrix is read inside");
        let [a, b] = &self.factors;
        let mut done = 0;
        while done < to.len() {
            let (row, column) = ((from + done) / self.columns, (from + done) % self.columns);
            let left = to.len() - done;
            // Whole rows at once, or else what is asked of one.
            let (m, n) = match column {
                0 if left >= self.columns => (left / self.columns, self.columns),
                _ => (1, left.min(self.columns - column)),
            };
            let shape = Shape {
                m,
                k: a.len() / self.rows,
                n,
            };
            let block = RowsMut {
                data: &mut to[done..][..m * n],
                stride: n,
                add: false,
            };
            product_transposed(shape, view(a, row, self.rows), view(b, column, self.columns), block);
            done += m * n;
        }
    }
}

fn view(factor: &[f32], at: usize, stride: usize) -> Rows<'_> {
    let data = factor.get(at..).unwrap_or_default();
    Rows { data, stride }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Init, Layout, Tape};

    fn numbers(n: usize, shift: usize) -> Vec<f32> {
        (0..n)
            .map(|i| ((i * 37 + shift * 11) % 101) as f32 / 47.0 - 1.07)
            .collect()
    }

    /// From any place on, in pieces of any length.
    #[test]
    fn a_weights_gradient_as_factors_has_the_bits_of_the_tape() {
        for (k, rows, columns) in [(3, 9, 13), (30, 5, 70), (1, 1, 4), (2, 4, 1)] {
            let (x, by_y) = (numbers(k * rows, 1), numbers(k * columns, 2));
            let mut layout = Layout::new();
            let weight = layout.weight("weight", rows, columns, Init::Zeros);
            let mut tape = Tape::new();
            tape.load(&layout, &vec![0.0; rows * columns]);
            let input = tape.input(k, rows, &x);
            let y = tape.matmul(input, weight.var());
            let slopes = tape.input(k, columns, &by_y);
            let weighted = tape.multiply(y, slopes);
            let loss = tape.sum(weighted);
            tape.backward(loss);
            let gradient = tape.gradient(weight.var());
            let factored = Factored::new([x.clone(), by_y.clone()], [rows, columns]);
            assert_eq!(
                (factored.len(), factored.n_held()),
                (rows * columns, k * (rows + columns))
            );
            for length in [1, 2, columns, columns + 1, 3 * columns + 2, rows * columns] {
                let mut all = vec![f32::NAN; rows * columns];
                for (from, piece) in (0..).step_by(length).zip(all.chunks_mut(length)) {
                    factored.read(from, piece);
                }
                assert_eq!(all, gradient, "{k} {rows} {columns}, {length} at once");
            }
        }
    }

    #[test]
    fn a_product_without_terms_is_nothing() {
        let mut all = [f32::NAN; 6];
        Factored::new([Vec::new(), Vec::new()], [2, 3]).read(0, &mut all);
        assert_eq!(all, [0.0; 6]);
    }

    #[test]
    #[should_panic(expected = "factors of 4 and 4 numbers make no matrix of shape (2, 3)")]
    fn factors_fit_the_matrix() {
        Factored::new([vec![0.0; 4], vec![0.0; 4]], [2, 3]);
    }
}
