//! Parts of values, and values put together.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::elementwise;

impl<'g> Tape<'g> {
    /// Rows `from..from + n`, in the same memory.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn slice_rows(&mut self, x: Var, from: usize, n: usize) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(from + n <= rows, "rows {from}..{} of {rows}", from + n);
        self.view(x, n, columns, from * columns)
    }

    /// The same elements as a matrix of another shape, in the same memory.
    ///
    /// # Panics
    /// If the number of elements differs.
    pub fn reshape(&mut self, x: Var, rows: usize, columns: usize) -> Var {
        let (old_rows, old_columns) = self.shape(x);
        assert_eq!(
            rows * columns,
            old_rows * old_columns,
            "a shape keeps the number of elements"
        );
        self.view(x, rows, columns, 0)
    }

    fn view(&mut self, x: Var, rows: usize, columns: usize, skip: usize) -> Var {
        let mut entry = self.entries[x.0 as usize];
        entry.op = Op::View;
        (entry.rows, entry.columns, entry.aux) = (rows as u32, columns as u32, 0);
        entry.place = match entry.place {
            super::Place::Arena(at) => super::Place::Arena(at + skip),
            super::Place::Borrowed(data) => super::Place::Borrowed(&data[skip..][..rows * columns]),
        };
        self.entries.push(entry);
        self.last()
    }

    /// The same value without a gradient: a constant from here on.
    pub fn detach(&mut self, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        let var = self.view(x, rows, columns, 0);
        self.entries[var.0 as usize].needs_gradient = false;
        var
    }

    /// Columns `from..from + n`, copied.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn slice_columns(&mut self, x: Var, from: usize, n: usize) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(from + n <= columns, "columns {from}..{} of {columns}", from + n);
        let needs = self.needs_gradient(x);
        let var = self.push(Op::SliceColumns(x, from as u32), rows, n, needs);
        let to = self.open(var);
        for (x, y) in to
            .operand(x)
            .chunks_exact(columns.max(1))
            .zip(to.y.chunks_exact_mut(n.max(1)))
        {
            y.copy_from_slice(&x[from..][..n]);
        }
        var
    }

    /// Rows by their ids, which may repeat; shape `(ids.len(), columns)`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn gather_rows(&mut self, x: Var, ids: &'g [u32]) -> Var {
        let columns = self.shape(x).1;
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Gather(x, ids), ids.len(), columns, needs);
        let to = self.open(var);
        let x = to.operand(x);
        for (y, id) in to.y.chunks_exact_mut(columns.max(1)).zip(ids) {
            y.copy_from_slice(&x[*id as usize * columns..][..columns]);
        }
        var
    }

    /// Matrices below each other.
    ///
    /// # Panics
    /// If there are none, or their columns differ.
    pub fn concat_rows(&mut self, parts: &[Var]) -> Var {
        let (columns, first) = (self.shape(parts[0]).1, self.operands.len() as u32);
        let same = parts.iter().all(|part| self.shape(*part).1 == columns);
        assert!(same, "matrices below each other have as many columns");
        let rows = parts.iter().map(|part| self.shape(*part).0).sum();
        let needs = parts.iter().any(|part| self.needs_gradient(*part));
        self.operands.extend(parts);
        let var = self.push(
            Op::ConcatRows {
                first,
                n: parts.len() as u32,
            },
            rows,
            columns,
            needs,
        );
        let to = self.open(var);
        let mut at = 0;
        for part in parts {
            let x = to.operand(*part);
            to.y[at..][..x.len()].copy_from_slice(x);
            at += x.len();
        }
        var
    }

    /// The first rows of `n_blocks` equal blocks, then the second ones, and so on: row
    /// `t · n_blocks + b` is row `t` of block `b`.
    ///
    /// # Panics
    /// If the blocks do not share the rows equally.
    pub fn interleave_rows(&mut self, x: Var, n_blocks: usize) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(
            n_blocks > 0 && rows.is_multiple_of(n_blocks),
            "blocks share the rows equally"
        );
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Interleave(x, n_blocks as u32), rows, columns, needs);
        let to = self.open(var);
        let x = to.operand(x);
        for (at, y) in to.y.chunks_exact_mut(columns.max(1)).enumerate() {
            y.copy_from_slice(&x[interleaved(at, rows, n_blocks) * columns..][..columns]);
        }
        var
    }

    /// Matrices side by side.
    ///
    /// # Panics
    /// If there are none, or their rows differ.
    pub fn concat_columns(&mut self, parts: &[Var]) -> Var {
        let (rows, first) = (self.shape(parts[0]).0, self.operands.len() as u32);
        let same = parts.iter().all(|part| self.shape(*part).0 == rows);
        assert!(same, "matrices side by side have as many rows");
        let columns = parts.iter().map(|part| self.shape(*part).1).sum();
        let needs = parts.iter().any(|part| self.needs_gradient(*part));
        self.operands.extend(parts);
        let var = self.push(
            Op::ConcatColumns {
                first,
                n: parts.len() as u32,
            },
            rows,
            columns,
            needs,
        );
        let to = self.open(var);
        let mut at = 0;
        for part in parts {
            let width = to.entries[part.0 as usize].columns as usize;
            for (x, y) in to
                .operand(*part)
                .chunks_exact(width.max(1))
                .zip(to.y.chunks_exact_mut(columns.max(1)))
            {
                y[at..][..width].copy_from_slice(x);
            }
            at += width;
        }
        var
    }
}

/// Which row of the blocks comes at a place.
fn interleaved(at: usize, rows: usize, n_blocks: usize) -> usize {
    at % n_blocks * (rows / n_blocks) + at / n_blocks
}

pub(super) fn interleave_back(back: &mut Back<'_, '_>, x: Var, n_blocks: u32, gy: &[f32]) {
    let (rows, columns) = back.shape(x);
    let Some(gx) = back.gradient(x) else { return };
    for (at, gy) in gy.chunks_exact(columns.max(1)).enumerate() {
        let from = interleaved(at, rows, n_blocks as usize);
        elementwise::add_scaled(&mut gx[from * columns..][..columns], 1.0, gy);
    }
}

pub(super) fn slice_columns_back(back: &mut Back<'_, '_>, x: Var, from: u32, gy: &[f32]) {
    let (columns, n) = (back.shape(x).1, back.result_shape().1);
    let Some(gx) = back.gradient(x) else { return };
    for (gx, gy) in gx.chunks_exact_mut(columns.max(1)).zip(gy.chunks_exact(n.max(1))) {
        elementwise::add_scaled(&mut gx[from as usize..][..n], 1.0, gy);
    }
}

pub(super) fn gather_back(back: &mut Back<'_, '_>, x: Var, ids: &[u32], gy: &[f32]) {
    let columns = back.shape(x).1;
    let Some(gx) = back.gradient(x) else { return };
    for (gy, id) in gy.chunks_exact(columns.max(1)).zip(ids) {
        elementwise::add_scaled(&mut gx[*id as usize * columns..][..columns], 1.0, gy);
    }
}

pub(super) fn concat_rows_back(back: &mut Back<'_, '_>, first: u32, n: u32, gy: &[f32]) {
    let mut rest = gy;
    for part in back.operands(first, n) {
        let (rows, columns) = back.shape(*part);
        let (gy, below) = rest.split_at(rows * columns);
        rest = below;
        if let Some(gradient) = back.gradient(*part) {
            elementwise::add_scaled(gradient, 1.0, gy);
        }
    }
}

pub(super) fn concat_columns_back(back: &mut Back<'_, '_>, first: u32, n: u32, gy: &[f32]) {
    let (columns, mut at) = (back.result_shape().1, 0);
    for part in back.operands(first, n) {
        let width = back.shape(*part).1;
        if let Some(gradient) = back.gradient(*part) {
            for (gx, gy) in gradient
                .chunks_exact_mut(width.max(1))
                .zip(gy.chunks_exact(columns.max(1)))
            {
                elementwise::add_scaled(gx, 1.0, &gy[at..][..width]);
            }
        }
        at += width;
    }
}
