//! Products of matrices, and the linear layer in one operation.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::kernels::elementwise;
use crate::kernels::product::{Rows, RowsMut, Shape, product, product_transposed, transpose};

impl Tape<'_> {
    /// `a b`; shapes `(m, k)` and `(k, n)` give `(m, n)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        let ((m, k), (k_b, n)) = (self.shape(a), self.shape(b));
        assert_eq!(k, k_b, "({m}, {k}) · ({k_b}, {n}) is no product");
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let var = self.push(Op::Matmul(a, b), m, n, needs);
        let to = self.open(var);
        let (a, b) = (view(to.operand(a), k), view(to.operand(b), n));
        product(Shape { m, k, n }, a, b, whole(to.y, n, false));
        var
    }

    /// `a bᵀ`; shapes `(m, k)` and `(n, k)` give `(m, n)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn matmul_transposed(&mut self, a: Var, b: Var) -> Var {
        let ((m, k), (n, k_b)) = (self.shape(a), self.shape(b));
        assert_eq!(k, k_b, "({m}, {k}) · ({n}, {k_b})ᵀ is no product");
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let var = self.push(Op::MatmulTransposed(a, b), m, n, needs);
        let to = self.open(var);
        let (a, b) = (to.operand(a), to.operand(b));
        let turned = turn(view(b, k), n, k, to.scratch);
        product(Shape { m, k, n }, view(a, k), view(turned, n), whole(to.y, n, false));
        var
    }

    /// `x w + bias`, then `max(·, 0)` if `relu`; shapes `(m, k)`, `(k, n)` and `(1, n)` give `(m, n)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn linear(&mut self, x: Var, w: Var, bias: Option<Var>, relu: bool) -> Var {
        let ((m, k), (k_w, n)) = (self.shape(x), self.shape(w));
        assert_eq!(k, k_w, "({m}, {k}) · ({k_w}, {n}) is no product");
        if let Some(bias) = bias {
            assert_eq!(self.shape(bias), (1, n), "a bias is a row as long as the result's");
        }
        let needs = [Some(x), Some(w), bias]
            .into_iter()
            .flatten()
            .any(|var| self.needs_gradient(var));
        let var = self.push(Op::Linear { x, w, bias, relu }, m, n, needs);
        let to = self.open(var);
        let (a, b) = (view(to.operand(x), k), view(to.operand(w), n));
        product(Shape { m, k, n }, a, b, whole(to.y, n, false));
        match bias {
            Some(bias) => elementwise::add_row(None, to.operand(bias), relu, to.y),
            None if relu => elementwise::cut_at_zero(to.y),
            None => {}
        }
        var
    }
}

fn view(data: &[f32], stride: usize) -> Rows<'_> {
    Rows { data, stride }
}

fn whole(data: &mut [f32], stride: usize, add: bool) -> RowsMut<'_> {
    RowsMut { data, stride, add }
}

/// The transpose of `from`, of shape `(rows, columns)`, in `scratch`.
pub(super) fn turn<'s>(from: Rows<'_>, rows: usize, columns: usize, scratch: &'s mut Vec<f32>) -> &'s [f32] {
    if scratch.len() < rows * columns {
        scratch.resize(rows * columns, 0.0);
    }
    let to = &mut scratch[..rows * columns];
    transpose(from, rows, columns, to);
    to
}

/// `ga += gy bᵀ` and `gb += aᵀ gy`.
pub(super) fn matmul_back(back: &mut Back<'_, '_>, a: Var, b: Var, gy: &[f32]) {
    let ((m, k), (_, n)) = (back.shape(a), back.shape(b));
    let (a_value, b_value) = (back.value(a), back.value(b));
    if let Some((gb, add)) = back.gradient_to_write(b) {
        let shape = Shape { m: k, k: m, n };
        product_transposed(shape, view(a_value, k), view(gy, n), whole(gb, n, add));
    }
    if back.needs(a) {
        let mut scratch = std::mem::take(back.scratch);
        let turned = turn(view(b_value, n), k, n, &mut scratch);
        if let Some((ga, add)) = back.gradient_to_write(a) {
            product(Shape { m, k: n, n: k }, view(gy, n), view(turned, k), whole(ga, k, add));
        }
        *back.scratch = scratch;
    }
}

/// `ga += gy b` and `gb += gyᵀ a`.
pub(super) fn matmul_transposed_back(back: &mut Back<'_, '_>, a: Var, b: Var, gy: &[f32]) {
    let ((m, k), (n, _)) = (back.shape(a), back.shape(b));
    let (a_value, b_value) = (back.value(a), back.value(b));
    if let Some((gb, add)) = back.gradient_to_write(b) {
        let shape = Shape { m: n, k: m, n: k };
        product_transposed(shape, view(gy, n), view(a_value, k), whole(gb, k, add));
    }
    if let Some((ga, add)) = back.gradient_to_write(a) {
        product(
            Shape { m, k: n, n: k },
            view(gy, n),
            view(b_value, k),
            whole(ga, k, add),
        );
    }
}

pub(super) fn linear_back(back: &mut Back<'_, '_>, x: Var, w: Var, bias: Option<Var>, relu: bool, gy: &mut [f32]) {
    if relu {
        elementwise::stop_at_zero(back.result().0, gy);
    }
    if let Some(gradient) = bias.and_then(|bias| back.gradient(bias)) {
        elementwise::add_rows(gradient, gy);
    }
    matmul_back(back, x, w, gy);
}
