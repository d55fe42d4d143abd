//! Operations element by element, and of every row with one row.

use folkmoot_draws::SimRng;

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::elementwise::{self, Function};
use crate::kernels::row;

impl Tape<'_> {
    /// `a + b`.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add(&mut self, a: Var, b: Var) -> Var {
        self.add_scaled(a, 1.0, b)
    }

    /// `a − b`.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn subtract(&mut self, a: Var, b: Var) -> Var {
        self.add_scaled(a, -1.0, b)
    }

    /// `a + scale b`.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_scaled(&mut self, a: Var, scale: f32, b: Var) -> Var {
        let var = self.pair(a, b, Op::AddScaled(a, scale, b));
        let to = self.open(var);
        elementwise::sum_scaled(to.operand(a), scale, to.operand(b), to.y);
        var
    }

    /// `a b`, element by element.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn multiply(&mut self, a: Var, b: Var) -> Var {
        let var = self.pair(a, b, Op::Multiply(a, b));
        let to = self.open(var);
        elementwise::multiply(to.operand(a), to.operand(b), to.y);
        var
    }

    /// `scale x`.
    pub fn scale(&mut self, scale: f32, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Scale(scale, x), rows, columns, needs);
        let to = self.open(var);
        elementwise::scale(scale, to.operand(x), to.y);
        var
    }

    /// `a + (1 + s) x` for a scalar `s` that may learn: the sum of GIN.
    ///
    /// # Panics
    /// If the shapes of `a` and `x` differ, or `s` is not a scalar.
    pub fn add_rescaled(&mut self, a: Var, s: Var, x: Var) -> Var {
        assert_eq!(self.shape(s), (1, 1), "the factor is a scalar");
        let factor = 1.0 + self.value(s)[0];
        let var = self.pair(a, x, Op::AddRescaled { a, x, s });
        self.entries[var.0 as usize].needs_gradient |= self.needs_gradient(s);
        let to = self.open(var);
        elementwise::sum_scaled(to.operand(a), factor, to.operand(x), to.y);
        var
    }

    /// `x_i + row` for each row `x_i`, then `max(·, 0)` if `relu`: a bias.
    ///
    /// # Panics
    /// If `row` has not shape `(1, columns of x)`.
    pub fn add_row(&mut self, x: Var, row: Var, relu: bool) -> Var {
        let var = self.with_row(x, row, Op::AddRow { x, row, relu });
        let to = self.open(var);
        elementwise::add_row(Some(to.operand(x)), to.operand(row), relu, to.y);
        var
    }

    /// `x_i row`, element by element, for each row `x_i`: a scale for each column.
    ///
    /// # Panics
    /// If `row` has not shape `(1, columns of x)`.
    pub fn multiply_row(&mut self, x: Var, row: Var) -> Var {
        let var = self.with_row(x, row, Op::MultiplyRow(x, row));
        let to = self.open(var);
        elementwise::multiply_row(to.operand(x), to.operand(row), to.y);
        var
    }

    /// `max(x, 0)`; its derivative at 0 is 0.
    pub fn relu(&mut self, x: Var) -> Var {
        self.apply(Function::Relu, x)
    }

    /// `x`, or `slope x` where `x < 0`; its derivative at 0 is `slope`.
    pub fn leaky_relu(&mut self, slope: f32, x: Var) -> Var {
        self.apply(Function::LeakyRelu(slope), x)
    }

    /// `1 / (1 + e^−x)`.
    pub fn sigmoid(&mut self, x: Var) -> Var {
        self.apply(Function::Sigmoid, x)
    }

    /// `tanh x`.
    pub fn tanh(&mut self, x: Var) -> Var {
        self.apply(Function::Tanh, x)
    }

    /// `e^x`.
    pub fn exp(&mut self, x: Var) -> Var {
        self.apply(Function::Exp, x)
    }

    /// `|x|`; its derivative at 0 is 0.
    pub fn abs(&mut self, x: Var) -> Var {
        self.apply(Function::Abs, x)
    }

    /// `1 / √x`; what is below `least` counts as `least`, and its derivative is 0.
    ///
    /// # Panics
    /// If `least` is not above 0.
    pub fn reciprocal_root(&mut self, least: f32, x: Var) -> Var {
        assert!(least > 0.0, "the least must be above 0, got {least}");
        self.apply(Function::ReciprocalRoot(least), x)
    }

    /// `x²`.
    pub fn square(&mut self, x: Var) -> Var {
        self.apply(Function::Square, x)
    }

    /// Each element is 0 with probability `drop_prob`, otherwise divided by `1 − drop_prob` (N.
    /// Srivastava et al. 2014, inverted).
    ///
    /// # Panics
    /// If `drop_prob` is not in `0..1`.
    ///
    /// # Determinism
    /// Draws a `u32` for each element, in order; none if `drop_prob` is 0.
    pub fn dropout(&mut self, x: Var, drop_prob: f32, rng: &mut SimRng) -> Var {
        self.masked(x, drop_prob, |mask| fill_mask(mask, drop_prob, rng))
    }

    /// [`dropout`](Self::dropout) of the rows `of` an `x` of `n_all` rows, ascending, where it is
    /// these rows alone: their bits, and the stream after it, are those of the whole.
    ///
    /// # Panics
    /// If the probability is not in `0..1`, or `of` has another length than `x`.
    pub fn dropout_of(&mut self, x: Var, (of, n_all): (&[u32], usize), drop_prob: f32, rng: &mut SimRng) -> Var {
        let (rows, columns) = self.shape(x);
        assert_eq!(rows, of.len(), "each row stands for one of the whole");
        self.masked(x, drop_prob, |mask| {
            let mut at = 0;
            for (mask, row) in mask.chunks_exact_mut(columns.max(1)).zip(of) {
                rng.skip_words((*row as usize - at) * columns);
                fill_mask(mask, drop_prob, rng);
                at = *row as usize + 1;
            }
            rng.skip_words((n_all - at) * columns);
        })
    }

    fn masked(&mut self, x: Var, drop_prob: f32, fill: impl FnOnce(&mut [f32])) -> Var {
        assert!(
            (0.0..1.0).contains(&drop_prob),
            "drop_prob must lie in 0..1, got {drop_prob}"
        );
        if drop_prob == 0.0 {
            return x;
        }
        let (rows, columns) = self.shape(x);
        let mask = self.constant_with(rows, columns, fill);
        self.multiply(x, mask)
    }

    fn apply(&mut self, function: Function, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        let needs = self.needs_gradient(x);
        let var = self.push(Op::Apply(function, x), rows, columns, needs);
        let to = self.open(var);
        elementwise::apply(function, to.operand(x), to.y);
        var
    }
}

/// Draws a word for each number of a mask: 0 for what is dropped, else what the rest is multiplied
/// by.
fn fill_mask(mask: &mut [f32], drop_prob: f32, rng: &mut SimRng) {
    let (threshold, kept) = ((f64::from(drop_prob) * 4_294_967_296.0) as u64, 1.0 / (1.0 - drop_prob));
    let mut words = [0; 256];
    for values in mask.chunks_mut(words.len()) {
        let words = &mut words[..values.len()];
        rng.fill_words(words);
        for (value, word) in values.iter_mut().zip(words) {
            *value = if u64::from(*word) < threshold { 0.0 } else { kept };
        }
    }
}

impl<'g> Tape<'g> {
    fn pair(&mut self, a: Var, b: Var, op: Op<'g>) -> Var {
        assert_eq!(self.shape(a), self.shape(b), "both operands have one shape");
        let (rows, columns) = self.shape(a);
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        self.push(op, rows, columns, needs)
    }

    fn with_row(&mut self, x: Var, row: Var, op: Op<'g>) -> Var {
        let (rows, columns) = self.shape(x);
        assert_eq!(self.shape(row), (1, columns), "the row is as long as those it meets");
        let needs = self.needs_gradient(x) || self.needs_gradient(row);
        self.push(op, rows, columns, needs)
    }
}

pub(super) fn add_scaled_back(back: &mut Back<'_, '_>, a: Var, scale: f32, b: Var, gy: &[f32]) {
    for (var, scale) in [(a, 1.0), (b, scale)] {
        scale_back(back, scale, var, gy);
    }
}

pub(super) fn scale_back(back: &mut Back<'_, '_>, scale: f32, x: Var, gy: &[f32]) {
    match back.gradient_to_write(x) {
        Some((gx, true)) => elementwise::add_scaled(gx, scale, gy),
        Some((gx, false)) => elementwise::scale(scale, gy, gx),
        None => {}
    }
}

pub(super) fn multiply_back(back: &mut Back<'_, '_>, a: Var, b: Var, gy: &[f32]) {
    let (a_value, b_value) = (back.value(a), back.value(b));
    for (var, other) in [(a, b_value), (b, a_value)] {
        match back.gradient_to_write(var) {
            Some((gradient, true)) => elementwise::add_products(gradient, gy, other),
            Some((gradient, false)) => elementwise::multiply(gy, other, gradient),
            None => {}
        }
    }
}

pub(super) fn add_rescaled_back(back: &mut Back<'_, '_>, a: Var, x: Var, s: Var, gy: &[f32]) {
    let (factor, x_value) = (1.0 + back.value(s)[0], back.value(x));
    add_scaled_back(back, a, factor, x, gy);
    if let Some(gs) = back.gradient(s) {
        gs[0] += row::dot(x_value, gy);
    }
}

pub(super) fn add_row_back(back: &mut Back<'_, '_>, x: Var, row: Var, relu: bool, gy: &mut [f32]) {
    if relu {
        elementwise::stop_at_zero(back.result().0, gy);
    }
    if let Some(gradient) = back.gradient(row) {
        elementwise::add_rows(gradient, gy);
    }
    scale_back(back, 1.0, x, gy);
}

pub(super) fn multiply_row_back(back: &mut Back<'_, '_>, x: Var, row: Var, gy: &[f32]) {
    let (x_value, row_value) = (back.value(x), back.value(row));
    if let Some(gradient) = back.gradient(row) {
        elementwise::add_row_products(gradient, gy, x_value);
    }
    if let Some(gradient) = back.gradient(x) {
        elementwise::add_multiplied_row(gradient, gy, row_value);
    }
}

pub(super) fn apply_back(back: &mut Back<'_, '_>, function: Function, x: Var, gy: &[f32]) {
    let (x_value, (y, _)) = (back.value(x), back.result());
    if let Some(gx) = back.gradient(x) {
        elementwise::apply_back(function, x_value, y, gy, gx);
    }
}
