//! Sums over rows: [`LANES`] partial sums, folded in one order.

use multiversion::multiversion;

use super::{LANES, fold, functions};

/// `Σ_i a_i b_i`, inlined into other kernels.
#[inline(always)]
pub(crate) fn dot_inline(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum = a.mul_add(*b, *sum);
    }
    fold(sums)
}

/// `Σ_i a_i b_i`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_inline(a, b)
}

/// `Σ_i x_i`.
#[inline(always)]
fn sum_inline(x: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for x in chunks {
        for lane in 0..LANES {
            sums[lane] += x[lane];
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x;
    }
    fold(sums)
}

/// `Σ_i x_i`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn sum(x: &[f32]) -> f32 {
    sum_inline(x)
}

/// The softmax of the kept elements, 0 elsewhere; all 0 if none is kept.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn softmax(x: &[f32], ignored: Option<&[bool]>, y: &mut [f32]) {
    y.copy_from_slice(x);
    if let Some(ignored) = ignored {
        for (y, ignored) in y.iter_mut().zip(ignored) {
            *y = if *ignored { f32::NEG_INFINITY } else { *y };
        }
    }
    let largest = y
        .iter()
        .fold(f32::NEG_INFINITY, |most, y| if *y > most { *y } else { most });
    if largest == f32::NEG_INFINITY && ignored.is_some() {
        return y.fill(0.0);
    }
    for y in &mut *y {
        *y = functions::exp(*y - largest);
    }
    let total = sum_inline(y);
    for y in y {
        *y /= total;
    }
}

/// `gx += y (gy − Σ_j y_j gy_j)`: the gradient of a softmax `y`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn softmax_back(y: &[f32], gy: &[f32], gx: &mut [f32]) {
    let mean = dot_inline(y, gy);
    for ((gx, y), gy) in gx.iter_mut().zip(y).zip(gy) {
        *gx = y.mul_add(gy - mean, *gx);
    }
}

/// `ln Σ_j e^(x_j)`, without overflow.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn log_sum_exp(x: &[f32]) -> f32 {
    let largest = x
        .iter()
        .fold(f32::NEG_INFINITY, |most, x| if *x > most { *x } else { most });
    if largest == f32::NEG_INFINITY {
        // Nothing but −∞ and what is no number.
        return sum_inline(x);
    }
    let mut sums = [0.0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for x in chunks {
        for lane in 0..LANES {
            sums[lane] += functions::exp(x[lane] - largest);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += functions::exp(x - largest);
    }
    largest + libm::log(f64::from(fold(sums))) as f32
}

/// `gx_j += scale e^(x_j − total)`: each element's share of the sum whose logarithm is `total`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_shares(x: &[f32], total: f32, scale: f32, gx: &mut [f32]) {
    for (gx, x) in gx.iter_mut().zip(x) {
        *gx = scale.mul_add(functions::exp(x - total), *gx);
    }
}

/// Writes `(x − mean) / sqrt(variance + epsilon)` and returns the last factor; the variance is that
/// of the whole population.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn normalise(x: &[f32], epsilon: f32, y: &mut [f32]) -> f32 {
    let n = x.len() as f32;
    let mean = sum_inline(x) / n;
    for (y, x) in y.iter_mut().zip(x) {
        *y = x - mean;
    }
    let factor = 1.0 / (dot_inline(y, y) / n + epsilon).sqrt();
    for y in y {
        *y *= factor;
    }
    factor
}

/// `gx += factor (gy − mean(gy) − y mean(gy y))`: the gradient of [`normalise`].
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn normalise_back(y: &[f32], factor: f32, gy: &[f32], gx: &mut [f32]) {
    let n = y.len() as f32;
    let (mean, slope) = (sum_inline(gy) / n, dot_inline(gy, y) / n);
    for ((gx, gy), y) in gx.iter_mut().zip(gy).zip(y) {
        *gx = factor.mul_add((-slope).mul_add(*y, gy - mean), *gx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_plain_loops() {
        for n in [0, 1, 15, 16, 17, 50] {
            let a: Vec<f32> = (0..n).map(|i| (i * 5 % 17) as f32 / 8.0 - 1.0).collect();
            let b: Vec<f32> = (0..n).map(|i| (i * 3 % 13) as f32 / 4.0 - 1.5).collect();
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert_eq!(f64::from(dot(&a, &b)), exact, "these values add without rounding");
            assert_eq!(f64::from(sum(&a)), a.iter().map(|a| f64::from(*a)).sum::<f64>());
        }
    }

    #[test]
    fn softmax_leaves_out_what_is_ignored() {
        let mut y = [9.0; 4];
        softmax(&[1.0, 50.0, 1.0, 1.0], Some(&[false, true, false, true]), &mut y);
        assert_eq!(y, [0.5, 0.0, 0.5, 0.0]);
        softmax(&[1.0; 4], Some(&[true; 4]), &mut y);
        assert_eq!(y, [0.0; 4]);
        softmax(&[1000.0, 1000.0, -1000.0, 0.0], None, &mut y);
        assert_eq!(y, [0.5, 0.5, 0.0, 0.0]);
        softmax(&[f32::NAN, 0.0, 0.0, 0.0], None, &mut y);
        assert!(y[0].is_nan(), "a value that is none must not vanish");
    }
}
