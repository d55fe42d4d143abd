//! Sums, means and read-outs.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::{elementwise, row};

impl<'g> Tape<'g> {
    /// The sum of all elements; shape `(1, 1)`.
    pub fn sum(&mut self, x: Var) -> Var {
        self.sum_times(x, 1.0)
    }

    /// The mean of all elements, 0 if there are none; shape `(1, 1)`.
    pub fn mean(&mut self, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        self.sum_times(x, 1.0 / (rows * columns).max(1) as f32)
    }

    fn sum_times(&mut self, x: Var, scale: f32) -> Var {
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Sum(x, scale), 1, 1, needs);
        let to = self.open(var);
        to.y[0] = scale * row::sum(to.operand(x));
        var
    }

    /// The sum of the rows of each segment; shape `(n_segments, columns)`.
    ///
    /// Segment `i` has the rows `bounds[i]..bounds[i + 1]`; without bounds all rows are one
    /// segment. Of no rows the sum is 0.
    ///
    /// # Panics
    /// If the bounds do not ascend from 0 to the number of rows.
    pub fn segment_sum(&mut self, x: Var, bounds: Option<&'g [u32]>) -> Var {
        self.segment_total(x, bounds, false)
    }

    /// The mean of the rows of each segment, as [`segment_sum`](Self::segment_sum); of no rows the
    /// mean is 0.
    ///
    /// # Panics
    /// If the bounds do not ascend from 0 to the number of rows.
    pub fn segment_mean(&mut self, x: Var, bounds: Option<&'g [u32]>) -> Var {
        self.segment_total(x, bounds, true)
    }

    fn segment_total(&mut self, x: Var, bounds: Option<&'g [u32]>, mean: bool) -> Var {
        let columns = self.shape(x).1;
        let n_segments = self.check_bounds(x, bounds);
        let needs = self.needs_gradient(x);
        let var = self.push(Op::SegmentSum(x, bounds, mean), n_segments, columns, needs);
        let to = self.open(var);
        let x = to.operand(x);
        for (segment, y) in segments(bounds, x.len() / columns.max(1)).zip(to.y.chunks_exact_mut(columns.max(1))) {
            y.fill(0.0);
            elementwise::add_rows(y, &x[segment.start * columns..segment.end * columns]);
            if mean {
                let n = segment.len().max(1) as f32;
                y.iter_mut().for_each(|y| *y /= n);
            }
        }
        var
    }

    /// The largest element of each column in each segment, as [`segment_sum`](Self::segment_sum);
    /// of no rows it is 0.
    ///
    /// Among equals the first row gets the gradient.
    ///
    /// # Panics
    /// If the bounds do not ascend from 0 to the number of rows.
    pub fn segment_max(&mut self, x: Var, bounds: Option<&'g [u32]>) -> Var {
        let columns = self.shape(x).1;
        let n_segments = self.check_bounds(x, bounds);
        let needs = self.needs_gradient(x);
        let aux = n_segments * columns;
        let var = self.push_with(Op::SegmentMax(x, bounds), n_segments, columns, needs, aux);
        let to = self.open(var);
        let x = to.operand(x);
        for (s, segment) in segments(bounds, x.len() / columns.max(1)).enumerate() {
            for j in 0..columns {
                let mut best = segment.start;
                for i in segment.clone() {
                    if x[i * columns + j] > x[best * columns + j] {
                        best = i;
                    }
                }
                let at = s * columns + j;
                to.y[at] = if segment.is_empty() { 0.0 } else { x[best * columns + j] };
                to.aux[at] = f32::from_bits(best as u32);
            }
        }
        var
    }

    fn check_bounds(&self, x: Var, bounds: Option<&[u32]>) -> usize {
        let Some(bounds) = bounds else { return 1 };
        let ends = (bounds.first().copied(), bounds.last().map(|last| *last as usize));
        assert_eq!(
            ends,
            (Some(0), Some(self.shape(x).0)),
            "bounds go from 0 to the number of rows"
        );
        assert!(bounds.is_sorted(), "bounds ascend");
        bounds.len() - 1
    }

    /// The product of each block of columns of `x` with its part of `v`: shapes
    /// `(n, n_blocks · width)` and `(n_blocks, width)` give `(n, n_blocks)`, element `(i, b)` is
    /// `Σ_j x_{i, b·width + j} v_{b, j}`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn block_dot(&mut self, x: Var, v: Var) -> Var {
        let ((n, columns), (n_blocks, width)) = (self.shape(x), self.shape(v));
        assert_eq!(
            columns,
            n_blocks * width,
            "each block of columns meets a row of the vector"
        );
        let needs = self.needs_gradient(x) || self.needs_gradient(v);
        let var = self.push(Op::BlockDot { x, v }, n, n_blocks, needs);
        let to = self.open(var);
        let (x, v) = (to.operand(x), to.operand(v));
        for (x, y) in x.chunks_exact(columns).zip(to.y.chunks_exact_mut(n_blocks)) {
            for ((y, x), v) in y.iter_mut().zip(x.chunks_exact(width)).zip(v.chunks_exact(width)) {
                *y = row::dot(x, v);
            }
        }
        var
    }

    /// The mean of `n_blocks` blocks of columns: shape `(n, n_blocks · width)` gives `(n, width)`.
    ///
    /// # Panics
    /// If the columns are no multiple of `n_blocks`.
    pub fn mean_blocks(&mut self, x: Var, n_blocks: usize) -> Var {
        let (n, columns) = self.shape(x);
        assert!(
            n_blocks > 0 && columns.is_multiple_of(n_blocks),
            "blocks have one width"
        );
        let (width, needs) = (columns / n_blocks, self.needs_gradient(x));
        let var = self.push(Op::MeanBlocks(x), n, width, needs);
        let to = self.open(var);
        for (x, y) in to.operand(x).chunks_exact(columns).zip(to.y.chunks_exact_mut(width)) {
            y.fill(0.0);
            elementwise::add_rows(y, x);
            y.iter_mut().for_each(|y| *y /= n_blocks as f32);
        }
        var
    }
}

/// The rows of each segment.
pub(super) fn segments(bounds: Option<&[u32]>, n_rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let n = bounds.map_or(1, |bounds| bounds.len() - 1);
    (0..n).map(move |i| bounds.map_or(0..n_rows, |bounds| bounds[i] as usize..bounds[i + 1] as usize))
}

pub(super) fn sum_back(back: &mut Back<'_, '_>, x: Var, scale: f32, gy: &[f32]) {
    if let Some(gx) = back.gradient(x) {
        let gradient = scale * gy[0];
        gx.iter_mut().for_each(|gx| *gx += gradient);
    }
}

pub(super) fn segment_sum_back(back: &mut Back<'_, '_>, x: Var, bounds: Option<&[u32]>, mean: bool, gy: &[f32]) {
    let (n_rows, columns) = back.shape(x);
    let Some(gx) = back.gradient(x) else { return };
    for (segment, gy) in segments(bounds, n_rows).zip(gy.chunks_exact(columns.max(1))) {
        let scale = if mean { 1.0 / segment.len().max(1) as f32 } else { 1.0 };
        for gx in gx[segment.start * columns..segment.end * columns].chunks_exact_mut(columns) {
            elementwise::add_scaled(gx, scale, gy);
        }
    }
}

pub(super) fn segment_max_back(back: &mut Back<'_, '_>, x: Var, bounds: Option<&[u32]>, gy: &[f32]) {
    let ((n_rows, columns), (_, best)) = (back.shape(x), back.result());
    let Some(gx) = back.gradient(x) else { return };
    for (s, segment) in segments(bounds, n_rows).enumerate() {
        for j in 0..if segment.is_empty() { 0 } else { columns } {
            let at = s * columns + j;
            gx[best[at].to_bits() as usize * columns + j] += gy[at];
        }
    }
}

pub(super) fn block_dot_back(back: &mut Back<'_, '_>, x: Var, v: Var, gy: &[f32]) {
    let ((_, columns), (n_blocks, width)) = (back.shape(x), back.shape(v));
    let (x_value, v_value) = (back.value(x), back.value(v));
    if let Some(gx) = back.gradient(x) {
        for (gx, gy) in gx.chunks_exact_mut(columns).zip(gy.chunks_exact(n_blocks)) {
            for ((gx, v), gy) in gx.chunks_exact_mut(width).zip(v_value.chunks_exact(width)).zip(gy) {
                elementwise::add_scaled(gx, *gy, v);
            }
        }
    }
    if let Some(gv) = back.gradient(v) {
        for (x, gy) in x_value.chunks_exact(columns).zip(gy.chunks_exact(n_blocks)) {
            for ((gv, x), gy) in gv.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(gy) {
                elementwise::add_scaled(gv, *gy, x);
            }
        }
    }
}

pub(super) fn mean_blocks_back(back: &mut Back<'_, '_>, x: Var, gy: &[f32]) {
    let ((_, columns), (_, width)) = (back.shape(x), back.result_shape());
    let Some(gx) = back.gradient(x) else { return };
    let scale = width as f32 / columns as f32;
    for (gx, gy) in gx.chunks_exact_mut(columns).zip(gy.chunks_exact(width)) {
        for gx in gx.chunks_exact_mut(width) {
            elementwise::add_scaled(gx, scale, gy);
        }
    }
}
