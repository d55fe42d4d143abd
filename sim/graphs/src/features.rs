//! Node features: one row of `f32` per node, dense or sparse.

use ndarray::Array2;

use crate::labels::rows_hold;

/// The features of all nodes of a data set, shape `(n_rows, n_columns)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored.
    Dense(Array2<f32>),
    /// Only the non-zero values stored: bags of words have a few dozen among thousands of columns.
    Sparse(SparseRows),
}

/// A sparse matrix by rows: columns ascending and distinct within a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    /// Row bounds, of length `n_rows + 1`.
    offsets: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
    n_columns: u32,
}

impl SparseRows {
    /// Builds a matrix from one list of `(column, value)` per row, each sorted by column and without repetition.
    ///
    /// Returns `None` if a column is not below `n_columns`, out of order or repeated, or if there are over `u32::MAX` values.
    pub fn from_rows<R: AsRef<[(u32, f32)]>>(n_columns: u32, rows: &[R]) -> Option<SparseRows> {
        let mut matrix = SparseRows {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            n_columns,
        };
        for row in rows {
            let row = row.as_ref();
            let ordered = row.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if !ordered || row.last().is_some_and(|&(column, _)| column >= n_columns) {
                return None;
            }
            matrix.columns.extend(row.iter().map(|&(column, _)| column));
            matrix.values.extend(row.iter().map(|&(_, value)| value));
            matrix.offsets.push(u32::try_from(matrix.columns.len()).ok()?);
        }
        Some(matrix)
    }

    /// A matrix of row bounds, and columns and values of all rows; `None` unless the bounds ascend from 0 to the number of values, and
    /// each row's columns ascend and stay below `n_columns`.
    pub(crate) fn from_parts(
        n_columns: u32,
        offsets: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<f32>,
    ) -> Option<SparseRows> {
        let hold = columns.len() == values.len() && rows_hold(&offsets, &columns, n_columns);
        hold.then_some(SparseRows {
            offsets,
            columns,
            values,
            n_columns,
        })
    }

    /// The columns and the values of row `row`, parallel.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u32) -> (&[u32], &[f32]) {
        let range = self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// How many values are stored.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Row bounds, columns and values, for hashing.
    pub(crate) fn parts(&self) -> (&[u32], &[u32], &[f32]) {
        (&self.offsets, &self.columns, &self.values)
    }
}

impl Features {
    /// How many rows (nodes) there are.
    pub fn n_rows(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.nrows(),
            Features::Sparse(matrix) => matrix.offsets.len() - 1,
        }
    }

    /// How many values a node has.
    pub fn n_columns(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.ncols(),
            Features::Sparse(matrix) => matrix.n_columns as usize,
        }
    }

    /// Writes the features of `row` into `out`, shape `(n_columns,)`, zeros included.
    ///
    /// # Panics
    /// If there is no such row or `out` is shorter than `n_columns`.
    pub fn write_row(&self, row: u32, out: &mut [f32]) {
        match self {
            Features::Dense(matrix) => {
                for (to, from) in out.iter_mut().zip(matrix.row(row as usize)) {
                    *to = *from;
                }
            }
            Features::Sparse(matrix) => {
                out.fill(0.0);
                let (columns, values) = matrix.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    out[column as usize] = value;
                }
            }
        }
    }

    /// The rows `rows`, dense, shape `(rows.len(), n_columns)`.
    ///
    /// # Panics
    /// If a row does not exist.
    pub fn to_dense(&self, rows: &[u32]) -> Array2<f32> {
        let mut dense = Array2::zeros((rows.len(), self.n_columns()));
        for (mut to, &row) in dense.rows_mut().into_iter().zip(rows) {
            if let Some(out) = to.as_slice_mut() {
                self.write_row(row, out);
            }
        }
        dense
    }

    /// The features of `rows` only, in the same form.
    pub fn select(&self, rows: &[u32]) -> Features {
        match self {
            Features::Dense(_) => Features::Dense(self.to_dense(rows)),
            Features::Sparse(matrix) => {
                let mut part = SparseRows {
                    offsets: vec![0],
                    columns: Vec::new(),
                    values: Vec::new(),
                    n_columns: matrix.n_columns,
                };
                for &row in rows {
                    let (columns, values) = matrix.row(row);
                    part.columns.extend_from_slice(columns);
                    part.values.extend_from_slice(values);
                    part.offsets.push(part.columns.len() as u32);
                }
                Features::Sparse(part)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_rows_read_as_dense_ones() {
        let rows = [vec![(1, 2.0)], vec![], vec![(0, 1.0), (2, 3.0)]];
        let sparse = Features::Sparse(SparseRows::from_rows(3, &rows).unwrap());
        let dense = Features::Dense(sparse.to_dense(&[0, 1, 2]));
        assert_eq!(dense.to_dense(&[2, 0]), sparse.select(&[2, 0]).to_dense(&[0, 1]));
        assert_eq!((sparse.n_rows(), sparse.n_columns()), (3, 3));
        assert!(SparseRows::from_rows(3, &[vec![(3, 1.0)]]).is_none());
        assert!(SparseRows::from_rows(3, &[vec![(1, 1.0), (1, 1.0)]]).is_none());
    }
}
