//! Rows of numbers, and what is known of them.

/// Rows of equal width, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    width: usize,
    values: Vec<f32>,
}

impl Table {
    /// A table of rows.
    ///
    /// # Panics
    ///
    /// If one row is longer than another.
    pub fn from_rows<R: AsRef<[f32]>>(rows: impl IntoIterator<Item = R>) -> Table {
        let mut table = Table::default();
        for row in rows {
            let row = row.as_ref();
            if table.values.is_empty() {
                table.width = row.len();
            }
            assert_eq!(row.len(), table.width, "rows of a table are equally long");
            table.values.extend_from_slice(row);
        }
        table
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// All numbers, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Row number `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.width..][..self.width]
    }

    /// The rows in their order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.width.max(1))
    }

    /// Some of the rows.
    pub fn select(&self, ids: &[u32]) -> Table {
        Table {
            width: self.width,
            values: ids.iter().flat_map(|&id| self.row(id as usize)).copied().collect(),
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.values.iter().all(|x| x.is_finite())
    }

    /// The rows with every number changed by `change`, in place.
    pub(super) fn map_rows(mut self, change: impl Fn(&mut [f32])) -> Table {
        self.values.chunks_exact_mut(self.width.max(1)).for_each(change);
        self
    }
}

/// Rows with their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    pub rows: Table,
    /// The label of each.
    pub labels: Vec<u32>,
    /// The group of each: rows of one group are never learned from to guess another of it.
    pub groups: Vec<u32>,
}

impl Known {
    pub fn select(&self, ids: &[u32]) -> Known {
        let of = |all: &[u32]| ids.iter().map(|&id| all[id as usize]).collect();
        Known {
            rows: self.rows.select(ids),
            labels: of(&self.labels),
            groups: of(&self.groups),
        }
    }

    /// The labels that occur, ascending, and each row's place among them.
    pub(super) fn present(&self) -> (Vec<u32>, Vec<u32>) {
        let mut present = self.labels.clone();
        present.sort_unstable();
        present.dedup();
        let place = |label| present.binary_search(label).expect("a label is among the labels") as u32;
        let places = self.labels.iter().map(place).collect();
        (present, places)
    }
}

/// Scores of the labels that occur, with 0 for those that do not: shape `(n, present.len())` to
/// `(n, n_classes)`.
pub(super) fn widen(scores: &[f32], present: &[u32], n_classes: usize) -> Vec<f64> {
    let mut wide = vec![0.0; scores.len() / present.len().max(1) * n_classes];
    let rows = wide
        .chunks_exact_mut(n_classes)
        .zip(scores.chunks_exact(present.len().max(1)));
    for (to, from) in rows {
        for (&label, score) in present.iter().zip(from) {
            to[label as usize] = f64::from(*score);
        }
    }
    wide
}
