//! The two passes of a logistic regression over its rows: products with a vector, and a weighted
//! sum.

use multiversion::multiversion;

use super::{LANES, fold};

/// `out[i] = x_i · w`, for the rows `x_i` of `rows` of shape `(out.len(), w.len())`, in double
/// precision.
///
/// `w.len()` must be a multiple of [`LANES`].
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn row_products(rows: &[f32], w: &[f64], out: &mut [f64]) {
    let (w, _) = w.as_chunks::<LANES>();
    for (row, out) in rows.chunks_exact(w.len() * LANES).zip(out) {
        let (row, _) = row.as_chunks::<LANES>();
        let mut sums = [0.0f64; LANES];
        for (x, w) in row.iter().zip(w) {
            for lane in 0..LANES {
                sums[lane] = f64::from(x[lane]).mul_add(w[lane], sums[lane]);
            }
        }
        *out = fold(sums);
    }
}

/// `out += Σ_i scale[i] x_i`, rows ascending, in double precision; the shapes are those of
/// [`row_products`].
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled_rows(rows: &[f32], scale: &[f64], out: &mut [f64]) {
    let width = out.len();
    for (rows, scale) in rows.chunks(width * 4).zip(scale.chunks(4)) {
        let (out, _) = out.as_chunks_mut::<LANES>();
        if let [a, b, c, d] = *scale {
            // Four rows at a time spare three of four trips of the sum to memory; the order of
            // additions is the same.
            for (chunk, out) in out.iter_mut().enumerate() {
                let mut sums = *out;
                for (row, scale) in [a, b, c, d].into_iter().enumerate() {
                    let x = &rows[row * width + chunk * LANES..][..LANES];
                    for lane in 0..LANES {
                        sums[lane] = scale.mul_add(f64::from(x[lane]), sums[lane]);
                    }
                }
                *out = sums;
            }
        } else {
            for (row, &scale) in rows.chunks_exact(width).zip(scale) {
                let (row, _) = row.as_chunks::<LANES>();
                for (x, out) in row.iter().zip(&mut *out) {
                    for lane in 0..LANES {
                        out[lane] = scale.mul_add(f64::from(x[lane]), out[lane]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_are_those_of_plain_loops() {
        let (n, width) = (7, 32);
        let rows: Vec<f32> = (0..n * width).map(|i| ((i * 29 % 83) as f32 - 40.0) / 32.0).collect();
        let w: Vec<f64> = (0..width).map(|i| i as f64 / 8.0 - 2.0).collect();
        let mut out = vec![0.0; n];
        row_products(&rows, &w, &mut out);
        let mut sums = vec![1.0; width];
        add_scaled_rows(&rows, &out, &mut sums);
        for i in 0..n {
            let exact: f64 = (0..width).map(|j| f64::from(rows[i * width + j]) * w[j]).sum();
            assert_eq!(out[i], exact, "these values add without rounding");
        }
        for j in 0..width {
            let exact: f64 = (0..n).map(|i| f64::from(rows[i * width + j]) * out[i]).sum();
            assert_eq!(sums[j], 1.0 + exact);
        }
    }
}
