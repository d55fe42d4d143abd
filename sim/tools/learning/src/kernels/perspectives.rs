//! Elementwise steps of a node-graph match from several perspectives, between its products.

use multiversion::multiversion;

/// `1 / √max(x, least)`.
#[inline(always)]
pub(crate) fn reciprocal_root(least: f32, x: f32) -> f32 {
    1.0 / (if x < least { least } else { x }).sqrt()
}

/// Replaces the products of a row with `n` others by attention weights, `max(cos, 0) / n`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn shares(products: &mut [f32], by_length: f32, others: &[f32]) {
    let factor = by_length / others.len() as f32;
    for (x, other) in products.iter_mut().zip(others) {
        let share = *x * (factor * other);
        *x = if share < 0.0 { 0.0 } else { share };
    }
}

/// Replaces the gradients with respect to attention weights by those with respect to products;
/// lengths are constant.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn shares_back(shares: &[f32], by_length: f32, others: &[f32], gradients: &mut [f32]) {
    let factor = by_length / others.len() as f32;
    for ((x, share), other) in gradients.iter_mut().zip(shares).zip(others) {
        *x = if *share > 0.0 { *x * (factor * other) } else { 0.0 };
    }
}

/// Replaces sums of products by cosines, and sums of squares by reciprocal lengths.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn cosines(least: f32, y: &mut [f32], first: &mut [f32], second: &mut [f32]) {
    for ((y, a), b) in y.iter_mut().zip(first).zip(second) {
        (*a, *b) = (reciprocal_root(least, *a), reciprocal_root(least, *b));
        *y = *y * *a * *b;
    }
}

/// From the gradients with respect to cosines to those with respect to the sums of products and of
/// squares.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn cosines_back(least: f32, y: &[f32], by_length: [&[f32]; 2], gy: &[f32], to: [&mut [f32]; 3]) {
    let (most, [first, second], [products, squares, others]) = (reciprocal_root(least, least), by_length, to);
    let n = gy.len();
    let (y, first, second) = (&y[..n], &first[..n], &second[..n]);
    let (products, squares, others) = (&mut products[..n], &mut squares[..n], &mut others[..n]);
    for i in 0..n {
        let (a, b, half) = (first[i], second[i], -0.5 * gy[i] * y[i]);
        products[i] = gy[i] * a * b;
        // Where a length was raised, it is a constant.
        squares[i] = if a < most { half * a * a } else { 0.0 };
        others[i] = if b < most { half * b * b } else { 0.0 };
    }
}

/// From the gradients with respect to `x y`, `x²` and `y²`: adds to the gradient with respect to
/// `x`, and replaces the first by the gradient with respect to `y`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn factors_back(x: &[f32], y: &[f32], products: &mut [f32], squares: [&[f32]; 2], gx: Option<&mut [f32]>) {
    let [by_x, by_y] = squares;
    if let Some(gx) = gx {
        for ((((gx, x), y), gxy), gxx) in gx.iter_mut().zip(x).zip(y).zip(&*products).zip(by_x) {
            *gx = gxy.mul_add(*y, (2.0 * gxx).mul_add(*x, *gx));
        }
    }
    for (((gxy, x), y), gyy) in products.iter_mut().zip(x).zip(y).zip(by_y) {
        *gxy = gxy.mul_add(*x, 2.0 * gyy * y);
    }
}
