//! Operations on each row as a whole: softmax, its logarithm's normaliser, the cosine of two rows.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::{elementwise, row};

/// Norms below it count as this much, so that the cosine with a row of zeros is 0.
const SHORTEST: f32 = 1e-8;

impl Tape<'_> {
    /// The softmax of each row. Columns that `ignored` marks get 0, as does a row of which nothing
    /// is left.
    ///
    /// # Panics
    /// If `ignored` is not as long as a row.
    pub fn softmax(&mut self, x: Var, ignored: Option<&[bool]>) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(
            ignored.is_none_or(|ignored| ignored.len() == columns),
            "a mask has one flag a column"
        );
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Softmax(x), rows, columns, needs);
        let to = self.open(var);
        for (x, y) in to
            .operand(x)
            .chunks_exact(columns.max(1))
            .zip(to.y.chunks_exact_mut(columns.max(1)))
        {
            row::softmax(x, ignored, y);
        }
        var
    }

    /// `ln Σ_j e^(x_ij)` for each row; shape `(rows, 1)`.
    ///
    /// # Panics
    /// If rows are empty.
    pub fn log_sum_exp(&mut self, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(columns > 0, "a sum of nothing has no logarithm");
        let needs = self.needs_gradient(x);
        let var = self.push(Op::LogSumExp(x), rows, 1, needs);
        let to = self.open(var);
        for (x, y) in to.operand(x).chunks_exact(columns).zip(to.y) {
            *y = row::log_sum_exp(x);
        }
        var
    }

    /// The cosine of each row of `a` with the same row of `b`; if `a` has one row, of that row with
    /// each of `b`.
    ///
    /// Shape `(rows of b, 1)`. A norm below 1e-8 counts as 1e-8.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn cosine(&mut self, a: Var, b: Var) -> Var {
        let ((rows_a, columns), (rows, columns_b)) = (self.shape(a), self.shape(b));
        assert_eq!(columns, columns_b, "rows have one length");
        assert!(rows_a == rows || rows_a == 1, "rows pair up, or one meets all");
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let var = self.push(Op::Cosine(a, b), rows, 1, needs);
        let to = self.open(var);
        let (a, b) = (to.operand(a), to.operand(b));
        for (i, y) in to.y.iter_mut().enumerate() {
            let (a, b) = (&a[i % rows_a * columns..][..columns], &b[i * columns..][..columns]);
            *y = row::dot(a, b) / (norm(a) * norm(b));
        }
        var
    }
}

fn norm(x: &[f32]) -> f32 {
    row::dot(x, x).sqrt().max(SHORTEST)
}

pub(super) fn softmax_back(back: &mut Back<'_, '_>, x: Var, gy: &[f32]) {
    let ((_, columns), (y, _)) = (back.shape(x), back.result());
    let Some(gx) = back.gradient(x) else { return };
    let columns = columns.max(1);
    for ((gx, y), gy) in gx
        .chunks_exact_mut(columns)
        .zip(y.chunks_exact(columns))
        .zip(gy.chunks_exact(columns))
    {
        row::softmax_back(y, gy, gx);
    }
}

pub(super) fn log_sum_exp_back(back: &mut Back<'_, '_>, x: Var, gy: &[f32]) {
    let ((_, columns), x_value, (y, _)) = (back.shape(x), back.value(x), back.result());
    let Some(gx) = back.gradient(x) else { return };
    for (((gx, x), y), gy) in gx
        .chunks_exact_mut(columns)
        .zip(x_value.chunks_exact(columns))
        .zip(y)
        .zip(gy)
    {
        row::add_shares(x, *y, *gy, gx);
    }
}

/// By `a`: `(b / |b| − cos a / |a|) / |a|`; where a norm was raised, it is a constant.
pub(super) fn cosine_back(back: &mut Back<'_, '_>, a: Var, b: Var, gy: &[f32]) {
    let ((rows_a, columns), (y, _)) = (back.shape(a), back.result());
    let (a_value, b_value) = (back.value(a), back.value(b));
    for first in [true, false] {
        let Some(gradient) = back.gradient(if first { a } else { b }) else {
            continue;
        };
        for (i, (gy, y)) in gy.iter().zip(y).enumerate() {
            let (at_a, at_b) = (i % rows_a * columns, i * columns);
            let (a, b) = (&a_value[at_a..][..columns], &b_value[at_b..][..columns]);
            let (own, other, at) = if first { (a, b, at_a) } else { (b, a, at_b) };
            let length = norm(own);
            let to = &mut gradient[at..][..columns];
            elementwise::add_scaled(to, gy / (length * norm(other)), other);
            if length > SHORTEST {
                elementwise::add_scaled(to, -gy * y / (length * length), own);
            }
        }
    }
}
