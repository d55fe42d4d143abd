//! Rows and columns of mean 0 and variance 1: the cores of layer norm and batch norm.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::{elementwise, row};
use crate::layout::Parameter;

impl Tape<'_> {
    /// `(x_i − mean_i) / sqrt(variance_i + epsilon)` for each row `x_i` (J. L. Ba et al. 2016).
    ///
    /// # Panics
    /// If rows are empty.
    pub fn normalise_rows(&mut self, x: Var, epsilon: f32) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(columns > 0, "an empty row has no mean");
        let needs = self.needs_gradient(x);
        let var = self.push_with(Op::NormaliseRows(x), rows, columns, needs, rows);
        let to = self.open(var);
        for ((x, y), factor) in to
            .operand(x)
            .chunks_exact(columns)
            .zip(to.y.chunks_exact_mut(columns))
            .zip(to.aux)
        {
            *factor = row::normalise(x, epsilon, y);
        }
        var
    }

    /// `(x_j − mean_j) / sqrt(variance_j + epsilon)` for each column `x_j` (S. Ioffe and C. Szegedy
    /// 2015, algorithm 1).
    ///
    /// # Panics
    /// If there are no rows.
    pub fn normalise_columns(&mut self, x: Var, epsilon: f32) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(rows > 0, "an empty column has no mean");
        let needs = self.needs_gradient(x);
        let var = self.push_with(Op::NormaliseColumns(x), rows, columns, needs, 3 * columns);
        let to = self.open(var);
        let x = to.operand(x);
        let (mean, rest) = to.aux.split_at_mut(columns);
        let (variance, factor) = rest.split_at_mut(columns);
        mean.fill(0.0);
        elementwise::add_rows(mean, x);
        mean.iter_mut().for_each(|mean| *mean /= rows as f32);
        // The factor's place holds −mean until the variance is known.
        elementwise::scale(-1.0, mean, factor);
        elementwise::add_row(Some(x), factor, false, to.y);
        variance.fill(0.0);
        elementwise::add_row_products(variance, to.y, to.y);
        for (variance, factor) in variance.iter_mut().zip(factor.iter_mut()) {
            *variance /= rows as f32;
            *factor = 1.0 / (*variance + epsilon).sqrt();
        }
        elementwise::rescale_rows(to.y, factor);
        var
    }

    /// Moves running statistics towards those of [`normalise_columns`](Self::normalise_columns)'s
    /// result `normal`: `running += momentum (new − running)`, with the unbiased variance.
    ///
    /// # Panics
    /// If `normal` is no such result, or the buffers' lengths differ from its columns.
    pub fn track_columns(&mut self, normal: Var, mean: Parameter, variance: Parameter, momentum: f32) {
        let (rows, columns) = self.shape(normal);
        let entry = &self.entries[normal.0 as usize];
        assert!(
            matches!(entry.op, Op::NormaliseColumns(_)),
            "only normalised columns have statistics"
        );
        for buffer in [mean, variance] {
            assert_eq!(
                self.shape(buffer.var()),
                (1, columns),
                "a statistic is one number a column"
            );
        }
        // Of one row the variance is 0 either way.
        let unbiased = rows as f32 / (rows - 1).max(1) as f32;
        self.blend(mean, momentum, |aux, j| aux[j], normal);
        self.blend(variance, momentum, |aux, j| unbiased * aux[columns + j], normal);
    }

    /// `(x_i − mean) / sqrt(variance + epsilon)` for each row `x_i`, by given statistics of shape
    /// `(1, columns)`, which get no gradient.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn standardise(&mut self, x: Var, mean: Var, variance: Var, epsilon: f32) -> Var {
        let (rows, columns) = self.shape(x);
        for statistic in [mean, variance] {
            assert_eq!(
                self.shape(statistic),
                (1, columns),
                "a statistic is one number a column"
            );
        }
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Standardise { x, variance, epsilon }, rows, columns, needs);
        let to = self.open(var);
        let (x, mean, variance) = (to.operand(x), to.operand(mean), to.operand(variance));
        for (y, x) in
            to.y.chunks_exact_mut(columns.max(1))
                .zip(x.chunks_exact(columns.max(1)))
        {
            for (((y, x), mean), variance) in y.iter_mut().zip(x).zip(mean).zip(variance) {
                *y = (x - mean) / (variance + epsilon).sqrt();
            }
        }
        var
    }
}

pub(super) fn rows_back(back: &mut Back<'_, '_>, x: Var, gy: &[f32]) {
    let ((_, columns), (y, factors)) = (back.shape(x), back.result());
    let Some(gx) = back.gradient(x) else { return };
    let rows = gx
        .chunks_exact_mut(columns)
        .zip(y.chunks_exact(columns))
        .zip(gy.chunks_exact(columns));
    for (((gx, y), gy), factor) in rows.zip(factors) {
        row::normalise_back(y, *factor, gy, gx);
    }
}

pub(super) fn columns_back(back: &mut Back<'_, '_>, x: Var, gy: &mut [f32]) {
    let ((rows, columns), (y, aux)) = (back.shape(x), back.result());
    let factor = &aux[2 * columns..];
    let mut scratch = std::mem::take(back.scratch);
    scratch.clear();
    scratch.resize(2 * columns, 0.0);
    let (shift, slope) = scratch.split_at_mut(columns);
    elementwise::add_rows(shift, gy);
    elementwise::add_row_products(slope, gy, y);
    for statistic in [&mut *shift, &mut *slope] {
        statistic.iter_mut().for_each(|value| *value *= -1.0 / rows as f32);
    }
    if let Some(gx) = back.gradient(x) {
        elementwise::add_row(None, shift, false, gy);
        elementwise::add_multiplied_row(gy, y, slope);
        elementwise::add_multiplied_row(gx, gy, factor);
    }
    *back.scratch = scratch;
}

pub(super) fn standardise_back(back: &mut Back<'_, '_>, x: Var, variance: Var, epsilon: f32, gy: &[f32]) {
    let ((_, columns), variance) = (back.shape(x), back.value(variance));
    let Some(gx) = back.gradient(x) else { return };
    for (gx, gy) in gx.chunks_exact_mut(columns.max(1)).zip(gy.chunks_exact(columns.max(1))) {
        for ((gx, gy), variance) in gx.iter_mut().zip(gy).zip(variance) {
            *gx += gy / (variance + epsilon).sqrt();
        }
    }
}
