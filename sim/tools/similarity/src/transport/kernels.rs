//! The loops of transport in which the time goes, in safe code that vectorises, compiled for
//! several instruction sets.
//!
//! A result has the same bits on every CPU with FMA: sums and searches run over [`LANES`] partial
//! results, whatever the width of the registers, and are folded in one order. Matrices have rows of
//! [`stride`] numbers.

use multiversion::multiversion;

/// How many partial results a search or a sum has: column `j` belongs to number `j % LANES`.
pub(crate) const LANES: usize = 8;

/// The length of a row of `n_columns` numbers, padded to whole lanes.
pub(crate) const fn stride(n_columns: usize) -> usize {
    n_columns.next_multiple_of(LANES)
}

/// The least `cost[i][j] − v[j] − u[i]` and its position `i × stride + j`, the first of equal ones.
///
/// `cost` has shape `(u.len(), v.len())`; `v.len()` is a multiple of [`LANES`], with `−∞` where it
/// is padded.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn lowest(cost: &[f64], u: &[f64], v: &[f64]) -> (f64, usize) {
    let stride = v.len();
    let (v, _) = v.as_chunks::<LANES>();
    let mut best = [f64::INFINITY; LANES];
    let mut place = [0u64; LANES];
    let mut chunk = 0;
    for (row, &u) in cost.chunks_exact(stride).zip(u) {
        for (cost, v) in row.as_chunks::<LANES>().0.iter().zip(v) {
            for lane in 0..LANES {
                let reduced = cost[lane] - v[lane] - u;
                let better = reduced < best[lane];
                best[lane] = if better { reduced } else { best[lane] };
                place[lane] = if better { chunk } else { place[lane] };
            }
            chunk += 1;
        }
    }
    let at = |lane: usize| place[lane] as usize * LANES + lane;
    let mut winner = 0;
    for lane in 1..LANES {
        if best[lane] < best[winner] || (best[lane] == best[winner] && at(lane) < at(winner)) {
            winner = lane;
        }
    }
    (best[winner], at(winner))
}

/// The largest absolute value.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn largest(values: &[f64]) -> f64 {
    let mut best = [0.0f64; LANES];
    for chunk in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let value = chunk[lane].abs();
            best[lane] = if value > best[lane] { value } else { best[lane] };
        }
    }
    best.into_iter()
        .fold(0.0, |best, value| if value > best { value } else { best })
}

/// `out[i] = Σ_j k[i][j] x[j]`; `k` has shape `(out.len(), x.len())`, `x.len()` is a multiple of
/// [`LANES`].
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn rows_times(k: &[f64], x: &[f64], out: &mut [f64]) {
    let (chunks, _) = x.as_chunks::<LANES>();
    for (row, out) in k.chunks_exact(x.len()).zip(out) {
        let mut sums = [0.0f64; LANES];
        for (k, x) in row.as_chunks::<LANES>().0.iter().zip(chunks) {
            for lane in 0..LANES {
                sums[lane] = k[lane].mul_add(x[lane], sums[lane]);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
            width /= 2;
        }
        *out = sums[0];
    }
}

/// `out[j] = Σ_i x[i] k[i][j]`, rows ascending; `k` has shape `(x.len(), out.len())`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn columns_times(k: &[f64], x: &[f64], out: &mut [f64]) {
    let stride = out.len();
    for (chunk, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sums = [0.0f64; LANES];
        for (row, &x) in k.chunks_exact(stride).zip(x) {
            let row = &row[chunk * LANES..][..LANES];
            for lane in 0..LANES {
                sums[lane] = x.mul_add(row[lane], sums[lane]);
            }
        }
        *out = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_lowest_is_found() {
        let (n, m) = (3, 11);
        let mut v = vec![0.0; stride(m)];
        v[m..].fill(f64::NEG_INFINITY);
        for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
            let mut cost = vec![4.0; n * stride(m)];
            cost[i * stride(m) + j] = 1.0;
            // A later one is as low.
            cost[(n - 1) * stride(m) + m - 1] = 1.0;
            assert_eq!(lowest(&cost, &[0.5; 3], &v), (0.5, i * stride(m) + j));
        }
        assert_eq!(
            lowest(&vec![7.0; n * stride(m)], &[3.0, 4.0, 4.0], &v),
            (3.0, stride(m))
        );
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        let (n, m) = (3, 16);
        let k: Vec<f64> = (0..n * m).map(|i| ((i * 29 % 83) as f64 - 40.0) / 32.0).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = ((0..m).map(|j| j as f64 / 8.0).collect(), vec![1.0, -2.0, 0.5]);
        let (mut rows, mut columns) = (vec![0.0; n], vec![0.0; m]);
        rows_times(&k, &x, &mut rows);
        columns_times(&k, &y, &mut columns);
        // These values add without rounding, so the order does not matter.
        for i in 0..n {
            assert_eq!(rows[i], (0..m).map(|j| k[i * m + j] * x[j]).sum::<f64>());
        }
        for j in 0..m {
            assert_eq!(columns[j], (0..n).map(|i| k[i * m + j] * y[i]).sum::<f64>());
        }
        assert_eq!(largest(&k), k.iter().fold(0.0, |best: f64, k| best.max(k.abs())));
    }
}
