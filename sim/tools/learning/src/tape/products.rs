//! Products of matrices, and the linear layer in one operation.

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};
use crate::csr::Csr;
use crate::kernels::elementwise;
use crate::kernels::product::{Rows, RowsMut, Shape, product, product_transposed, transpose};
use crate::kernels::sparse::{self, Arcs};

impl Tape<'_> {
    /// `a b`; shapes `(m, k)` and `(k, n)` give `(m, n)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        let ((m, k), (k_b, n)) = (self.shape(a), self.shape(b));
        assert_eq!(k, k_b, "({m}, {k}) · ({k_b}, {n}) is no product");
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let nonzeros = self.nonzeros_for(a, b);
        let var = self.push(Op::Matmul(a, b), m, n, needs);
        let to = self.open(var);
        product_of((to.operand(a), nonzeros), to.operand(b), Shape { m, k, n }, to.y);
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
        let (a, b) = (view(to.operand(a), k), view(to.operand(b), k));
        product_by_rows(Shape { m, k, n }, a, b, whole(to.y, n, false), to.scratch);
        var
    }

    /// `x w + bias`, then `max(·, 0)` if `relu`; shapes `(m, k)`, `(k, n)` and `(1, n)` give
    /// `(m, n)`.
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
        let nonzeros = self.nonzeros_for(x, w);
        let var = self.push(Op::Linear { x, w, bias, relu }, m, n, needs);
        let to = self.open(var);
        product_of((to.operand(x), nonzeros), to.operand(w), Shape { m, k, n }, to.y);
        match bias {
            Some(bias) => elementwise::add_row(None, to.operand(bias), relu, to.y),
            None if relu => elementwise::cut_at_zero(to.y),
            None => {}
        }
        var
    }
}

impl<'g> Tape<'g> {
    /// The numbers of `a` that are not 0, where they are known and all that a product with `b`
    /// needs: a factor that is no finite number makes more of a 0.
    fn nonzeros_for(&mut self, a: Var, b: Var) -> Option<&'g Csr> {
        let Op::Scarce(nonzeros) = self.entries[a.0 as usize].op else {
            return None;
        };
        let is_finite = match (b.0 as usize) < self.n_parameters {
            true => {
                let model = &self.values[..self.n_floats];
                *self
                    .model_is_finite
                    .get_or_insert_with(|| elementwise::all_finite(model))
            }
            false => elementwise::all_finite(self.value(b)),
        };
        is_finite.then_some(nonzeros)
    }
}

/// `c = a b`, by the numbers of `a` that are not 0 where it is given these.
///
/// Each element is the same ascending chain without terms of 0, which would leave its bits as they
/// are: it begins with 0, and no sum of others and 0 is changed by a 0 but one that has vanished
/// below the smallest number, whose sign may be another.
fn product_of((a, nonzeros): (&[f32], Option<&Csr>), b: &[f32], shape: Shape, c: &mut [f32]) {
    let Shape { k, n, .. } = shape;
    match nonzeros {
        Some(nonzeros) if n > 0 => sparse::gather(&arcs(nonzeros, n), b, c, false),
        _ => product(shape, view(a, k), view(b, n), whole(c, n, false)),
    }
}

/// The numbers of a matrix as arcs from its columns to its rows, which carry rows of `n` numbers.
fn arcs(nonzeros: &Csr, n: usize) -> Arcs<'_> {
    Arcs {
        offsets: nonzeros.offsets(),
        sources: nonzeros.columns(),
        weights: nonzeros.weights(),
        stride: 1,
        head: 0,
        columns: n,
        width: n,
    }
}

fn view(data: &[f32], stride: usize) -> Rows<'_> {
    Rows { data, stride }
}

fn whole(data: &mut [f32], stride: usize, add: bool) -> RowsMut<'_> {
    RowsMut { data, stride, add }
}

/// `c = a b`, or `c += a b` if `add`; shapes `(m, k)`, `(k, n)` and `(m, n)`.
pub(super) fn multiply_whole([m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32], add: bool) {
    product(Shape { m, k, n }, view(a, k), view(b, n), whole(c, n, add));
}

/// `c = aᵀ b`, or `c += aᵀ b` if `add`; shapes `(k, m)`, `(k, n)` and `(m, n)`.
pub(super) fn multiply_transposed([m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32], add: bool) {
    product_transposed(Shape { m, k, n }, view(a, m), view(b, n), whole(c, n, add));
}

/// `c = aᵀ`; shape `(m, n)` gives `(n, m)`.
pub(super) fn turn(a: &[f32], m: usize, n: usize, c: &mut [f32]) {
    transpose(view(a, n), m, n, whole(c, m, false));
}

/// `c = a bᵀ`, or `c += a bᵀ`, with `b` of shape `(n, k)`.
///
/// A product runs along the rows of its right factor, so that one factor has to be turned round:
/// `b`, or else, where those are far fewer numbers, `a` and then the result. Every element is the
/// same ascending chain either way.
pub(super) fn product_by_rows(shape: Shape, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, scratch: &mut Vec<f32>) {
    let Shape { m, k, n } = shape;
    let times = if c.add { 2 } else { 1 };
    // Small pieces cost more a number.
    if n * k <= 2 * m * (k + times * n) {
        let turned = room(scratch, n * k);
        transpose(b, n, k, whole(turned, n, false));
        return product(shape, a, view(turned, n), c);
    }
    let (turned, result) = room(scratch, m * (k + n)).split_at_mut(m * k);
    transpose(a, m, k, whole(turned, m, false));
    if c.add {
        transpose(c.as_rows(), m, n, whole(result, m, false));
    }
    let other_way = Shape { m: n, k, n: m };
    product(other_way, b, view(turned, m), whole(result, m, c.add));
    transpose(view(result, m), n, m, c);
}

/// The first `len` floats of `scratch`, whatever they are.
pub(super) fn room(scratch: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if scratch.len() < len {
        scratch.resize(len, 0.0);
    }
    &mut scratch[..len]
}

/// Consecutive parts of a buffer, of the given sizes.
pub(super) fn split<const N: usize>(mut all: &[f32], sizes: [usize; N]) -> [&[f32]; N] {
    sizes.map(|size| all.split_off(..size).expect("there is room for each part"))
}

/// The same, to write.
pub(super) fn split_mut<const N: usize>(mut all: &mut [f32], sizes: [usize; N]) -> [&mut [f32]; N] {
    sizes.map(|size| all.split_off_mut(..size).expect("there is room for each part"))
}

/// The parameters turned round, each where it lies in the arena, once it is asked for on a way
/// back: many operations share one.
#[derive(Debug, Default)]
pub(super) struct Turned {
    values: Vec<f32>,
    known: Vec<bool>,
}

impl Turned {
    /// Forgets what it knows; there are `n` parameters.
    pub(super) fn begin(&mut self, n: usize) {
        self.known.clear();
        self.known.resize(n, false);
    }

    fn parameter(&mut self, var: Var, at: usize, value: Rows<'_>, rows: usize, columns: usize) -> &[f32] {
        let end = at + rows * columns;
        if self.values.len() < end {
            self.values.resize(end, 0.0);
        }
        let to = &mut self.values[at..end];
        if !std::mem::replace(&mut self.known[var.0 as usize], true) {
            transpose(value, rows, columns, whole(to, rows, false));
        }
        to
    }
}

impl Back<'_, '_> {
    /// Hands `work` this, and the transpose of an operand if it is a parameter.
    pub(super) fn with_turned<R>(&mut self, var: Var, work: impl FnOnce(&mut Self, Option<&[f32]>) -> R) -> R {
        let Some(at) = self.parameter_place(var) else {
            return work(self, None);
        };
        let ((rows, columns), value) = (self.shape(var), self.value(var));
        let mut turned = std::mem::take(self.turned);
        let result = work(
            self,
            Some(turned.parameter(var, at, view(value, columns), rows, columns)),
        );
        *self.turned = turned;
        result
    }
}

/// `ga += gy bᵀ` and `gb += aᵀ gy`.
pub(super) fn matmul_back(back: &mut Back<'_, '_>, a: Var, b: Var, gy: &[f32]) {
    let ((m, k), (_, n)) = (back.shape(a), back.shape(b));
    let (a_value, b_value) = (back.value(a), back.value(b));
    let nonzeros = back.nonzeros(a).filter(|_| n > 0 && elementwise::all_finite(gy));
    if let Some(nonzeros) = nonzeros {
        if let Some(gb) = back.gradient(b) {
            sparse::scatter(&arcs(nonzeros, n), gy, gb);
        }
    } else if let Some((gb, add)) = back.gradient_to_write(b) {
        let shape = Shape { m: k, k: m, n };
        product_transposed(shape, view(a_value, k), view(gy, n), whole(gb, n, add));
    }
    if back.needs(a) {
        let shape = Shape { m, k: n, n: k };
        let mut scratch = std::mem::take(back.scratch);
        back.with_turned(b, |back, turned| match (back.gradient_to_write(a), turned) {
            (Some((ga, add)), Some(turned)) => product(shape, view(gy, n), view(turned, k), whole(ga, k, add)),
            (Some((ga, add)), None) => {
                product_by_rows(shape, view(gy, n), view(b_value, n), whole(ga, k, add), &mut scratch);
            }
            (None, _) => {}
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever factor is turned round, new or added to: the very bits of the plain ascending
    /// chain.
    #[test]
    fn products_by_rows_have_the_bits_of_the_plain_loop() {
        let values = |n: usize, shift: usize| -> Vec<f32> {
            (0..n)
                .map(|i| ((i * 37 + shift * 11) % 101) as f32 / 47.0 - 1.07)
                .collect()
        };
        let mut scratch = vec![f32::NAN; 3];
        // The first three turn the left factor round, the others the right one.
        for (m, k, n) in [
            (8, 25, 90),
            (1, 30, 20),
            (2, 9, 67),
            (90, 25, 8),
            (20, 16, 16),
            (3, 0, 5),
        ] {
            let (a, b, start) = (values(m * k, 1), values(n * k, 2), values(m * n, 3));
            for add in [false, true] {
                let mut plain = if add { start.clone() } else { vec![0.0; m * n] };
                for (i, row) in plain.chunks_mut(n).enumerate() {
                    for (j, sum) in row.iter_mut().enumerate() {
                        for p in 0..k {
                            *sum = a[i * k + p].mul_add(b[j * k + p], *sum);
                        }
                    }
                }
                let mut c = start.clone();
                product_by_rows(
                    Shape { m, k, n },
                    view(&a, k),
                    view(&b, k),
                    whole(&mut c, n, add),
                    &mut scratch,
                );
                assert_eq!(c, plain, "{m} {k} {n} {add}");
            }
        }
    }
}
