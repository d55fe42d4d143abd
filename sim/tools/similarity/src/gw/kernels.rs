//! The loops of Gromov-Wasserstein in which the time goes, in safe code that vectorises, for
//! several instruction sets.
//!
//! One rule holds here: a result has the same bits on every CPU with FMA. Every product that is
//! added is one `mul_add`, and every element of a product is one ascending chain of them. Matrices
//! have rows padded to whole lanes.

use multiversion::multiversion;
use multiversion::target::match_target;

use crate::transport::kernels::LANES;

/// What a plan moves between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) amount: f64,
}

/// `out = S D` for a sparse `S`; `D` has rows of `stride`, and so has `out`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(super) fn sparse_times(flows: &[Flow], d: &[f64], stride: usize, out: &mut [f64]) {
    out.fill(0.0);
    for &Flow { row, column, amount } in flows {
        let (d, _) = d[column as usize * stride..][..stride].as_chunks::<LANES>();
        let (out, _) = out[row as usize * stride..][..stride].as_chunks_mut::<LANES>();
        for (out, d) in out.iter_mut().zip(d) {
            for lane in 0..LANES {
                out[lane] = amount.mul_add(d[lane], out[lane]);
            }
        }
    }
}

/// `out = A B`: `a` has rows of `a_stride`, of which the first `b.len() / stride` numbers count;
/// `b` and `out` have rows of `stride`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(super) fn product(a: &[f64], a_stride: usize, b: &[f64], stride: usize, out: &mut [f64]) {
    // With 32 wide registers twice as many rows stay in them; the result does not depend on it.
    let wide = match_target! {
        "x86_64+avx2+fma+avx512f" => true,
        _ => false,
    };
    let n = out.len() / stride;
    let mut row = 0;
    if wide {
        while row + 8 <= n {
            rows_of_product::<8>(&a[row * a_stride..], a_stride, b, stride, &mut out[row * stride..]);
            row += 8;
        }
    }
    while row + 4 <= n {
        rows_of_product::<4>(&a[row * a_stride..], a_stride, b, stride, &mut out[row * stride..]);
        row += 4;
    }
    while row < n {
        rows_of_product::<1>(&a[row * a_stride..], a_stride, b, stride, &mut out[row * stride..]);
        row += 1;
    }
}

/// The first `R` rows of a [`product`].
#[inline(always)]
fn rows_of_product<const R: usize>(a: &[f64], a_stride: usize, b: &[f64], stride: usize, out: &mut [f64]) {
    let inner = b.len() / stride;
    let rows: [&[f64]; R] = std::array::from_fn(|r| &a[r * a_stride..][..inner]);
    for chunk in (0..stride).step_by(LANES) {
        let mut sums = [[0.0f64; LANES]; R];
        for (k, b) in b.chunks_exact(stride).enumerate() {
            let b = &b[chunk..][..LANES];
            for r in 0..R {
                let a = rows[r][k];
                for lane in 0..LANES {
                    sums[r][lane] = a.mul_add(b[lane], sums[r][lane]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            out[r * stride + chunk..][..LANES].copy_from_slice(sums);
        }
    }
}

/// `cost = base − weight × x`, in place of `cost`; an empty `base` is 0.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(super) fn costs(base: &[f64], x: &[f64], weight: f64, cost: &mut [f64]) {
    if base.is_empty() {
        for (cost, x) in cost.iter_mut().zip(x) {
            *cost = -weight * x;
        }
    }
    for ((cost, base), x) in cost.iter_mut().zip(base).zip(x) {
        *cost = (-weight).mul_add(*x, *base);
    }
}

/// `out += factor (u − v) (x − y)'`; the rows of `out` are as long as `x` and `y`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(super) fn add_rank_one(out: &mut [f64], factor: f64, (u, v): (&[f64], &[f64]), (x, y): (&[f64], &[f64])) {
    let (x, y) = (x.as_chunks::<LANES>().0, y.as_chunks::<LANES>().0);
    for ((out, u), v) in out.chunks_exact_mut(x.len() * LANES).zip(u).zip(v) {
        let factor = factor * (u - v);
        // Many nodes are as far from one as from the other.
        if factor != 0.0 {
            for ((out, x), y) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(x).zip(y) {
                for lane in 0..LANES {
                    out[lane] = factor.mul_add(x[lane] - y[lane], out[lane]);
                }
            }
        }
    }
}

/// `x = (1 − a) x + a y`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(super) fn blend(x: &mut [f64], y: &[f64], a: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = a.mul_add(y - *x, *x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_plain_loops() {
        for (n, inner, stride) in [(1, 3, 8), (4, 8, 16), (13, 5, 24), (27, 17, 8)] {
            let a_stride = inner + 2;
            let values = |len: usize, by: usize| -> Vec<f64> {
                (0..len).map(|i| ((i * by % 83) as f64 - 40.0) / 32.0).collect()
            };
            let (a, b) = (values(n * a_stride, 29), values(inner * stride, 31));
            let mut out = vec![f64::NAN; n * stride];
            product(&a, a_stride, &b, stride, &mut out);
            let mut flows = Vec::new();
            for (i, j) in (0..n).flat_map(|i| (0..stride).map(move |j| (i, j))) {
                // These values add without rounding, so the order does not matter.
                let exact: f64 = (0..inner).map(|k| a[i * a_stride + k] * b[k * stride + j]).sum();
                assert_eq!(out[i * stride + j], exact);
                if j < inner {
                    let (row, column, amount) = (i as u32, j as u32, a[i * a_stride + j]);
                    flows.push(Flow { row, column, amount });
                }
            }
            let mut sparse = vec![f64::NAN; n * stride];
            sparse_times(&flows[..], &b, stride, &mut sparse);
            if stride >= inner {
                assert_eq!(sparse, out);
            }
        }
    }

    #[test]
    fn costs_and_blends_are_elementwise() {
        let (base, x) = ([1.0, 2.0, 3.0], [0.5, -1.0, 4.0]);
        let mut cost = [0.0; 3];
        costs(&base, &x, 2.0, &mut cost);
        assert_eq!(cost, [0.0, 4.0, -5.0]);
        blend(&mut cost, &base, 0.25);
        assert_eq!(cost, [0.25, 3.5, -3.0]);
        costs(&[], &x, 2.0, &mut cost);
        assert_eq!(cost, [-1.0, 2.0, -8.0]);
        let mut out = [1.0; 16];
        let x: [f64; LANES] = std::array::from_fn(|j| j as f64);
        add_rank_one(&mut out, 2.0, (&[3.0, 5.0], &[3.0, 4.0]), (&x, &[1.0; LANES]));
        assert_eq!(out[..LANES], [1.0; LANES]);
        assert_eq!(out[LANES..], [-1.0, 1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0]);
    }
}
