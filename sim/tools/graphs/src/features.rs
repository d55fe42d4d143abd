//! Node features: one row of `f32` per node, dense or sparse.

use ndarray::Array2;

use crate::DataError;
use crate::column::Column;
use crate::labels::rows_hold;

/// The features of all nodes of a data set, shape `(n_rows, n_columns)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    Dense(DenseRows),
    /// Only the non-zero values stored: bags of words have a few dozen among thousands of columns.
    Sparse(SparseRows),
}

/// A dense matrix by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseRows {
    values: Column<f32>,
    n_rows: usize,
    n_columns: usize,
}

impl DenseRows {
    /// A matrix of all its values, of which there are `n_rows` times `n_columns`.
    pub(crate) fn of_column(values: Column<f32>, n_rows: usize, n_columns: usize) -> DenseRows {
        debug_assert_eq!(values.len(), n_rows * n_columns);
        DenseRows {
            values,
            n_rows,
            n_columns,
        }
    }

    /// The values of row `row`, shape `(n_columns,)`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u32) -> &[f32] {
        let start = row as usize * self.n_columns;
        assert!((row as usize) < self.n_rows, "there is a row {row}");
        self.values.slice(start..start + self.n_columns)
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Some rows; row `i` of the result is `rows[i]`.
    ///
    /// # Panics
    /// If a row does not exist.
    pub fn select(&self, rows: &[u32]) -> DenseRows {
        let values: Vec<f32> = rows.iter().flat_map(|&row| self.row(row)).copied().collect();
        DenseRows::of_column(values.into(), rows.len(), self.n_columns)
    }

    /// What is wrong with what has been read of mapped rows, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        self.values.damage()
    }

    /// All values, row by row.
    pub(crate) fn values(&self) -> &[f32] {
        self.values.all()
    }
}

impl From<Array2<f32>> for DenseRows {
    fn from(matrix: Array2<f32>) -> DenseRows {
        let (n_rows, n_columns) = matrix.dim();
        let values: Vec<f32> = match matrix.as_slice() {
            Some(values) => values.to_vec(),
            None => matrix.iter().copied().collect(),
        };
        DenseRows::of_column(values.into(), n_rows, n_columns)
    }
}

/// A sparse matrix by rows: columns ascending and distinct within a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    /// Row bounds, of length `n_rows + 1`.
    offsets: Column<u32>,
    columns: Column<u32>,
    values: Column<f32>,
    n_columns: u32,
}

impl SparseRows {
    /// Builds a matrix from one list of `(column, value)` per row, each sorted by column and
    /// without repetition.
    ///
    /// Returns `None` if a column is not below `n_columns`, out of order or repeated, or if there
    /// are over `u32::MAX` values.
    pub fn from_rows<R: AsRef<[(u32, f32)]>>(n_columns: u32, rows: &[R]) -> Option<SparseRows> {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            let row = row.as_ref();
            let ordered = row.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if !ordered || row.last().is_some_and(|&(column, _)| column >= n_columns) {
                return None;
            }
            columns.extend(row.iter().map(|&(column, _)| column));
            values.extend(row.iter().map(|&(_, value)| value));
            offsets.push(u32::try_from(columns.len()).ok()?);
        }
        Some(SparseRows::of_columns(
            n_columns,
            offsets.into(),
            (columns.into(), values.into()),
        ))
    }

    /// A matrix of row bounds that ascend from 0 to the number of values, and columns below
    /// `n_columns` and values of all rows.
    pub(crate) fn of_columns(
        n_columns: u32,
        offsets: Column<u32>,
        (columns, values): (Column<u32>, Column<f32>),
    ) -> SparseRows {
        debug_assert_eq!(columns.len(), values.len());
        SparseRows {
            offsets,
            columns,
            values,
            n_columns,
        }
    }

    /// The columns and the values of row `row`, parallel.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u32) -> (&[u32], &[f32]) {
        let range = self.offsets.bounds(row);
        (self.columns.slice(range.clone()), self.values.slice(range))
    }

    /// How many values are stored.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Row bounds, columns and values, for hashing.
    pub(crate) fn parts(&self) -> (&[u32], &[u32], &[f32]) {
        (self.offsets.all(), self.columns.all(), self.values.all())
    }
}

impl Features {
    /// How many rows (nodes) there are.
    pub fn n_rows(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.n_rows,
            Features::Sparse(matrix) => matrix.offsets.len() - 1,
        }
    }

    /// How many values a node has.
    pub fn n_columns(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.n_columns,
            Features::Sparse(matrix) => matrix.n_columns as usize,
        }
    }

    /// Writes the features of `row` into `out`, shape `(n_columns,)`, zeros included.
    ///
    /// # Panics
    /// If there is no such row or `out` is shorter than `n_columns`.
    pub fn write_row(&self, row: u32, out: &mut [f32]) {
        match self {
            Features::Dense(matrix) => out[..matrix.n_columns].copy_from_slice(matrix.row(row)),
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
            Features::Dense(_) => Features::Dense(self.to_dense(rows).into()),
            Features::Sparse(matrix) => {
                let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for &row in rows {
                    let of_row = matrix.row(row);
                    columns.extend_from_slice(of_row.0);
                    values.extend_from_slice(of_row.1);
                    offsets.push(columns.len() as u32);
                }
                let columns = (columns.into(), values.into());
                Features::Sparse(SparseRows::of_columns(matrix.n_columns, offsets.into(), columns))
            }
        }
    }

    /// What is wrong with what has been read of mapped features, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        match self {
            Features::Dense(matrix) => matrix.damage(),
            Features::Sparse(matrix) => {
                let columns = || matrix.columns.damage();
                matrix
                    .offsets
                    .damage()
                    .or_else(columns)
                    .or_else(|| matrix.values.damage())
            }
        }
    }

    /// Whether rows are as they are built here: for features that somebody else has written.
    pub(crate) fn hold(&self) -> bool {
        match self {
            Features::Dense(_) => true,
            Features::Sparse(matrix) => rows_hold(matrix.offsets.all(), matrix.columns.all(), matrix.n_columns),
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
        let dense = Features::Dense(sparse.to_dense(&[0, 1, 2]).into());
        assert_eq!(dense.to_dense(&[2, 0]), sparse.select(&[2, 0]).to_dense(&[0, 1]));
        assert_eq!((sparse.n_rows(), sparse.n_columns()), (3, 3));
        assert!(SparseRows::from_rows(3, &[vec![(3, 1.0)]]).is_none());
        assert!(SparseRows::from_rows(3, &[vec![(1, 1.0), (1, 1.0)]]).is_none());
    }
}
