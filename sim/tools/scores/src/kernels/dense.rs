//! Four passes over rows in double precision: a product, products with many at once, a weighted sum
//! and a rotation.

use multiversion::multiversion;

use super::{LANES, fold};

/// `a · b`; element `i` goes to partial sum `i % LANES`. Both have one length.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f64; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum = a.mul_add(*b, *sum);
    }
    fold(sums)
}

/// `x` times each of `LANES` vectors that stand side by side, an element of each at a time, as many
/// as `x` has. The terms of every product are added one after the other, as a plain loop does.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn dots(x: &[f64], beside: &[[f64; LANES]]) -> [f64; LANES] {
    let mut sums = [0.0f64; LANES];
    for (x, column) in x.iter().zip(beside) {
        for (sum, value) in sums.iter_mut().zip(column) {
            *sum += x * value;
        }
    }
    sums
}

/// `out += scale x`. Both have one length.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled(out: &mut [f64], scale: f64, x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = scale.mul_add(*x, *out);
    }
}

/// Turns the plane of two rows: `(a, b)` becomes `(cos a - sin b, sin a + cos b)`. Both have one
/// length.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn rotate(a: &mut [f64], b: &mut [f64], cos: f64, sin: f64) {
    for (a, b) in a.iter_mut().zip(b) {
        let old = *a;
        *a = cos.mul_add(old, -sin * *b);
        *b = sin.mul_add(old, cos * *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, of which every product and sum is exact.
    #[test]
    fn passes_are_those_of_plain_loops() {
        for n in [0, 1, LANES - 1, LANES, 3 * LANES + 5] {
            let a: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let b: Vec<f64> = (0..n).map(|i| (i % 5) as f64 - 1.0).collect();
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>());
            // Not exact, so that the order of a sum shows.
            let third: Vec<f64> = a.iter().map(|a| a / 3.0).collect();
            let beside: Vec<[f64; LANES]> = b
                .iter()
                .map(|b| std::array::from_fn(|lane| b + 0.1 * lane as f64))
                .collect();
            let of = |lane: usize| third.iter().zip(&beside).map(|(x, b)| x * b[lane]).sum::<f64>();
            assert_eq!(dots(&third, &beside), std::array::from_fn(of));
            let mut sum = a.clone();
            add_scaled(&mut sum, 3.0, &b);
            assert!((0..n).all(|i| sum[i] == a[i] + 3.0 * b[i]));
            let (mut x, mut y) = (a.clone(), b.clone());
            rotate(&mut x, &mut y, 2.0, 5.0);
            assert!((0..n).all(|i| x[i] == 2.0 * a[i] - 5.0 * b[i] && y[i] == 5.0 * a[i] + 2.0 * b[i]));
        }
    }
}
