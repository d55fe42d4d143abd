//! One value in, one value out, and the same against a row or a column.

use multiversion::multiversion;

use super::functions::{exp, sigmoid, tanh};

/// A function of one number. Its derivative is computed from argument `x` and value `y`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    Abs,
    Exp,
    LeakyRelu(f32),
    /// `1 / √x`; what is below the least counts as the least.
    ReciprocalRoot(f32),
    Relu,
    Sigmoid,
    Square,
    Tanh,
}

/// Whether all numbers are finite. Reads all, so that the loop is vectorised.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    largest(values) < f32::INFINITY
}

/// The largest absolute value; NaN if one is NaN.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn largest(values: &[f32]) -> f32 {
    // Without their signs, numbers are ordered as their bits are.
    f32::from_bits(values.iter().fold(0, |largest, x| u32::max(largest, x.abs().to_bits())))
}

/// `y_i = f(x_i)`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn apply(function: Function, x: &[f32], y: &mut [f32]) {
    macro_rules! each {
        ($f:expr) => {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = $f(x);
            }
        };
    }
    match function {
        Function::Abs => each!(|x: f32| x.abs()),
        Function::Exp => each!(exp),
        // Written so that what is not a number stays so.
        Function::LeakyRelu(slope) => each!(|x: f32| if x < 0.0 { slope * x } else { x }),
        Function::ReciprocalRoot(least) => each!(|x: f32| 1.0 / (if x < least { least } else { x }).sqrt()),
        Function::Relu => each!(|x: f32| if x < 0.0 { 0.0 } else { x }),
        Function::Sigmoid => each!(sigmoid),
        Function::Square => each!(|x: f32| x * x),
        Function::Tanh => each!(tanh),
    }
}

/// `gx_i += f'(x_i) gy_i`; the derivative of relu, leaky relu and abs at 0 is that from the left,
/// for abs 0.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn apply_back(function: Function, x: &[f32], y: &[f32], gy: &[f32], gx: &mut [f32]) {
    macro_rules! each {
        ($slope:expr) => {
            for (((gx, &x), &y), &gy) in gx.iter_mut().zip(x).zip(y).zip(gy) {
                *gx = gy.mul_add($slope(x, y), *gx);
            }
        };
    }
    match function {
        Function::Abs => each!(|x: f32, _| if x == 0.0 { 0.0 } else { 1.0f32.copysign(x) }),
        Function::Exp => each!(|_, y: f32| y),
        Function::LeakyRelu(slope) => each!(|x: f32, _| if x > 0.0 { 1.0 } else { slope }),
        Function::ReciprocalRoot(least) => each!(|x: f32, y: f32| if x > least { -0.5 * y * y * y } else { 0.0 }),
        Function::Relu => each!(|x: f32, _| if x > 0.0 { 1.0 } else { 0.0 }),
        Function::Sigmoid => each!(|_, y: f32| y * (1.0 - y)),
        Function::Square => each!(|x: f32, _| 2.0 * x),
        Function::Tanh => each!(|_, y: f32| (-y).mul_add(y, 1.0)),
    }
}

/// `to += scale from`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled(to: &mut [f32], scale: f32, from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = scale.mul_add(*from, *to);
    }
}

/// `y = a + scale b`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn sum_scaled(a: &[f32], scale: f32, b: &[f32], y: &mut [f32]) {
    for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
        *y = scale.mul_add(*b, *a);
    }
}

/// `y = scale x`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn scale(scale: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = scale * x;
    }
}

/// `y = a b`, element by element.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn multiply(a: &[f32], b: &[f32], y: &mut [f32]) {
    for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
        *y = a * b;
    }
}

/// `to += a b`, element by element.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_products(to: &mut [f32], a: &[f32], b: &[f32]) {
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = a.mul_add(*b, *to);
    }
}

/// `y_i = x_i + row` for each row `x_i`, then `max(·, 0)` if `relu`; in place if `x` is `None`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_row(x: Option<&[f32]>, row: &[f32], relu: bool, y: &mut [f32]) {
    if let Some(x) = x {
        y.copy_from_slice(x);
    }
    for y in y.chunks_exact_mut(row.len()) {
        if relu {
            for (y, b) in y.iter_mut().zip(row) {
                let sum = *y + b;
                *y = if sum < 0.0 { 0.0 } else { sum };
            }
        } else {
            for (y, b) in y.iter_mut().zip(row) {
                *y += b;
            }
        }
    }
}

/// Sets numbers of an absolute value below `least` to 0; returns whether another is left.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn cut(least: f32, values: &mut [f32]) -> bool {
    let mut left = 0;
    for x in values {
        *x = if x.abs() < least { 0.0 } else { *x };
        left |= x.to_bits() << 1;
    }
    left != 0
}

/// `y = max(y, 0)`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn cut_at_zero(y: &mut [f32]) {
    for y in y {
        *y = if *y < 0.0 { 0.0 } else { *y };
    }
}

/// `gy = 0` where `y` is not above 0: through a relu, from its value.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn stop_at_zero(y: &[f32], gy: &mut [f32]) {
    for (gy, y) in gy.iter_mut().zip(y) {
        *gy = if *y > 0.0 { *gy } else { 0.0 };
    }
}

/// `to += Σ_i x_i` over the rows `x_i`, ascending.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_rows(to: &mut [f32], x: &[f32]) {
    let width = to.len();
    for j in (0..width).step_by(super::LANES) {
        if let Some(to) = to[j..].first_chunk_mut::<{ super::LANES }>() {
            // The sum stays in a register.
            let mut sums = *to;
            for x in x.chunks_exact(width) {
                let x = &x[j..][..super::LANES];
                for lane in 0..super::LANES {
                    sums[lane] += x[lane];
                }
            }
            *to = sums;
        } else {
            for x in x.chunks_exact(width) {
                for (to, x) in to[j..].iter_mut().zip(&x[j..]) {
                    *to += x;
                }
            }
        }
    }
}

/// `y_i = x_i row`, element by element, for each row `x_i`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn multiply_row(x: &[f32], row: &[f32], y: &mut [f32]) {
    for (y, x) in y.chunks_exact_mut(row.len()).zip(x.chunks_exact(row.len())) {
        for ((y, x), s) in y.iter_mut().zip(x).zip(row) {
            *y = x * s;
        }
    }
}

/// `to_i += x_i row`, element by element, for each row.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_multiplied_row(to: &mut [f32], x: &[f32], row: &[f32]) {
    for (to, x) in to.chunks_exact_mut(row.len()).zip(x.chunks_exact(row.len())) {
        for ((to, x), s) in to.iter_mut().zip(x).zip(row) {
            *to = x.mul_add(*s, *to);
        }
    }
}

/// `to += Σ_i a_i b_i`, element by element, over the rows, ascending.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_row_products(to: &mut [f32], a: &[f32], b: &[f32]) {
    for (a, b) in a.chunks_exact(to.len()).zip(b.chunks_exact(to.len())) {
        for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
            *to = a.mul_add(*b, *to);
        }
    }
}

/// `y_i *= row`, element by element, for each row `y_i`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn rescale_rows(y: &mut [f32], row: &[f32]) {
    for y in y.chunks_exact_mut(row.len()) {
        for (y, s) in y.iter_mut().zip(row) {
            *y *= s;
        }
    }
}
