//! Losses against given labels: each a mean, summed in double precision in ascending order.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::{functions, row};

impl<'g> Tape<'g> {
    /// The mean of `−ln softmax(logits_i)[label_i]` over the rows, or those that `mask` marks; 0 if
    /// there are none.
    ///
    /// # Panics
    /// If the lengths differ, or a label is not below the number of columns.
    pub fn cross_entropy(&mut self, logits: Var, labels: &'g [u32], mask: Option<&'g [bool]>) -> Var {
        let (rows, columns) = self.shape(logits);
        assert_eq!(labels.len(), rows, "each row has a label");
        assert!(mask.is_none_or(|mask| mask.len() == rows), "a mask has one flag a row");
        assert!(
            labels.iter().all(|label| (*label as usize) < columns),
            "labels lie below {columns}"
        );
        let needs = self.needs_gradient(logits);
        // Behind the loss: for each row the logarithm of the sum, and last the number of rows that
        // count.
        let var = self.push_with(Op::CrossEntropy { logits, labels, mask }, 1, 1, needs, rows + 1);
        let to = self.open(var);
        let logits = to.operand(logits);
        let (mut sum, mut n) = (0.0, 0);
        for (i, logits) in logits.chunks_exact(columns.max(1)).enumerate() {
            if counts(mask, i) {
                to.aux[i] = row::log_sum_exp(logits);
                sum += f64::from(to.aux[i]) - f64::from(logits[labels[i] as usize]);
                n += 1;
            }
        }
        to.y[0] = (sum / f64::from(n.max(1))) as f32;
        to.aux[rows] = n as f32;
        var
    }

    /// The mean of `ln(1 + e^x) − target x` over the elements, or those that `mask` marks; 0 if
    /// there are none.
    ///
    /// Targets are probabilities, usually 0 or 1.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn logistic_loss(&mut self, logits: Var, targets: &'g [f32], mask: Option<&'g [bool]>) -> Var {
        let n = self.entries[logits.0 as usize].len();
        assert_eq!(targets.len(), n, "each logit has a target");
        assert!(mask.is_none_or(|mask| mask.len() == n), "a mask has one flag a logit");
        let needs = self.needs_gradient(logits);
        let var = self.push_with(Op::Logistic { logits, targets, mask }, 1, 1, needs, 1);
        let to = self.open(var);
        let (mut sum, mut n) = (0.0, 0);
        for (i, (x, target)) in to.operand(logits).iter().zip(targets).enumerate() {
            if counts(mask, i) {
                // ln(1 + e^x) = max(x, 0) + ln(1 + e^−|x|), without overflow.
                let rest = libm::log1p(f64::from(functions::exp(-x.abs())));
                let above = if *x < 0.0 { 0.0 } else { f64::from(*x) };
                sum += above + rest - f64::from(*target) * f64::from(*x);
                n += 1;
            }
        }
        to.y[0] = (sum / f64::from(n.max(1))) as f32;
        to.aux[0] = n as f32;
        var
    }

    /// The mean of `(x − target)²` over the elements, or those that `mask` marks; 0 if there are
    /// none. A target that is not marked may be NaN.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn mean_squared_error(&mut self, x: Var, targets: &'g [f32], mask: Option<&'g [bool]>) -> Var {
        let n = self.entries[x.0 as usize].len();
        assert_eq!(targets.len(), n, "each element has a target");
        assert!(
            mask.is_none_or(|mask| mask.len() == n),
            "a mask has one flag an element"
        );
        let needs = self.needs_gradient(x);
        let var = self.push(Op::SquaredError { x, targets, mask }, 1, 1, needs);
        let to = self.open(var);
        let mut sum = 0.0;
        for (i, (x, target)) in to.operand(x).iter().zip(targets).enumerate() {
            if counts(mask, i) {
                let error = f64::from(x - target);
                sum += error * error;
            }
        }
        to.y[0] = (sum / n_counted(mask, n).max(1) as f64) as f32;
        var
    }
}

/// How many of `n` elements count.
fn n_counted(mask: Option<&[bool]>, n: usize) -> usize {
    mask.map_or(n, |mask| mask.iter().filter(|counts| **counts).count())
}

fn counts(mask: Option<&[bool]>, i: usize) -> bool {
    mask.is_none_or(|mask| mask[i])
}

pub(super) fn cross_entropy_back(
    back: &mut Back<'_, '_>,
    logits: Var,
    labels: &[u32],
    mask: Option<&[bool]>,
    gy: &[f32],
) {
    let ((rows, columns), value, (_, aux)) = (back.shape(logits), back.value(logits), back.result());
    let scale = gy[0] / aux[rows].max(1.0);
    let Some(gradient) = back.gradient(logits) else { return };
    for (i, gradient) in gradient.chunks_exact_mut(columns.max(1)).enumerate() {
        if counts(mask, i) {
            row::add_shares(&value[i * columns..][..columns], aux[i], scale, gradient);
            gradient[labels[i] as usize] -= scale;
        }
    }
}

pub(super) fn logistic_back(back: &mut Back<'_, '_>, logits: Var, targets: &[f32], mask: Option<&[bool]>, gy: &[f32]) {
    let (value, (_, aux)) = (back.value(logits), back.result());
    let scale = gy[0] / aux[0].max(1.0);
    let Some(gradient) = back.gradient(logits) else { return };
    for (i, ((gradient, x), target)) in gradient.iter_mut().zip(value).zip(targets).enumerate() {
        if counts(mask, i) {
            *gradient += scale * (functions::sigmoid(*x) - target);
        }
    }
}

pub(super) fn squared_error_back(back: &mut Back<'_, '_>, x: Var, targets: &[f32], mask: Option<&[bool]>, gy: &[f32]) {
    let value = back.value(x);
    let scale = 2.0 * gy[0] / n_counted(mask, targets.len()).max(1) as f32;
    let Some(gradient) = back.gradient(x) else { return };
    for (i, ((gradient, x), target)) in gradient.iter_mut().zip(value).zip(targets).enumerate() {
        if counts(mask, i) {
            *gradient += scale * (x - target);
        }
    }
}
