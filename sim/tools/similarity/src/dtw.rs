//! Dynamic time warping between matrices whose rows are the elements of a sequence.
//!
//! `cost(i, j) = min(cost(i−1, j), cost(i, j−1), cost(i−1, j−1)) + d(a_i, b_j)`, with
//! `cost(0, 0) = 0` and infinity on the rest of the border; the value is `cost(len a, len b)`.
//! There is no window. `d` is a [`Metric`] of two rows of `k` numbers, or their squared difference
//! in [`dtw_squared`].
//!
//! [`dtw`] is the plain loop, one pair at a time. All pairs at once, with the same bits, are
//! [`Sequences::all_pairs`](crate::dissimilarity::Sequences::all_pairs): each cell is made by the
//! same operations in the same order, in `f32`, and a minimum does not round. Swapping the two
//! matrices does not move a bit either.

pub(crate) mod lanes;

/// The distance of two rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The sum of absolute differences.
    #[default]
    L1,
    /// The square root of the sum of squared differences.
    L2,
}

impl Metric {
    /// The distance of `a` and `b`, of equal length; terms are added in ascending order, from 0.
    #[inline]
    pub fn distance(self, a: &[f32], b: &[f32]) -> f32 {
        debug_assert_eq!(a.len(), b.len());
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        match self {
            Metric::L1 => differences.fold(0.0, |sum, d| sum + d.abs()),
            Metric::L2 => differences.fold(0.0, |sum, d| sum + d * d).sqrt(),
        }
    }
}

/// The smaller of two numbers that are not NaN.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The dynamic time warping of `a` and `b`, row-major with `k` columns; infinite if either has no
/// row.
///
/// # Panics
/// When a length is no multiple of `k`, or `k` is 0: the caller's bug.
///
/// # Complexity
/// `O(rows a × rows b × k)` time, `O(rows b)` memory.
pub fn dtw(a: &[f32], b: &[f32], k: usize, metric: Metric) -> f32 {
    warp(a, b, k, |a, b| metric.distance(a, b))
}

/// The dynamic time warping of two sequences of numbers by the squares of their differences, and of
/// that the square root; infinite if either is empty.
///
/// # Complexity
/// `O(len a × len b)` time, `O(len b)` memory.
pub fn dtw_squared(a: &[f32], b: &[f32]) -> f32 {
    warp(a, b, 1, |a, b| (a[0] - b[0]) * (a[0] - b[0])).sqrt()
}

fn warp(a: &[f32], b: &[f32], k: usize, distance: impl Fn(&[f32], &[f32]) -> f32) -> f32 {
    check(a, b, k);
    let mut row = vec![f32::INFINITY; b.len() / k];
    let mut corner = 0.0;
    for a in a.chunks_exact(k) {
        warp_row(a, b, k, &distance, corner, &mut row);
        corner = f32::INFINITY;
    }
    // Without a row of `a`, the border is still there.
    row.last().copied().unwrap_or(f32::INFINITY)
}

/// All accumulated costs of [`dtw`], `(rows a, rows b)` row-major: the last is its value.
///
/// # Panics
/// As [`dtw`].
pub fn dtw_table(a: &[f32], b: &[f32], k: usize, metric: Metric) -> Vec<f32> {
    check(a, b, k);
    let mut table = Vec::with_capacity(a.len() / k * (b.len() / k));
    let mut row = vec![f32::INFINITY; b.len() / k];
    let mut corner = 0.0;
    for a in a.chunks_exact(k) {
        warp_row(a, b, k, &|a: &[f32], b: &[f32]| metric.distance(a, b), corner, &mut row);
        corner = f32::INFINITY;
        table.extend_from_slice(&row);
    }
    table
}

fn check(a: &[f32], b: &[f32], k: usize) {
    assert!(
        k > 0 && a.len().is_multiple_of(k) && b.len().is_multiple_of(k),
        "matrices must have whole rows of k > 0 numbers"
    );
}

/// Replaces the costs of one row of `a` by those of the next; `corner` is the cost left of and
/// above the first cell.
fn warp_row(a: &[f32], b: &[f32], k: usize, distance: &impl Fn(&[f32], &[f32]) -> f32, corner: f32, row: &mut [f32]) {
    let mut diagonal = corner;
    let mut left = f32::INFINITY;
    for (b, cell) in b.chunks_exact(k).zip(row) {
        let cost = smaller(left, smaller(*cell, diagonal)) + distance(a, b);
        diagonal = *cell;
        *cell = cost;
        left = cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, and by dtaidistance 2.5.1.
    #[test]
    fn sequences_are_warped_by_squares() {
        for (a, b, expected) in [
            (&[0.0, 1.0, 2.0][..], &[1.0, 1.0, 1.0][..], 2.0_f32.sqrt()),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 1.0, 2.0, 4.0, 6.0], 2.0_f32.sqrt()),
            (&[3.0, 3.0], &[3.0], 0.0),
            (&[], &[1.0], f32::INFINITY),
        ] {
            assert_eq!([dtw_squared(a, b), dtw_squared(b, a)], [expected; 2]);
        }
    }

    #[test]
    fn small_tables_are_as_computed_in_double_precision() {
        let a = [1.629, -3.181, 3.642, -2.525];
        let b = [-4.135, -0.601, 0.083, 3.161, 1.634, 0.372];
        let expected = [8.344, 16.232, 19.79, 18.045, 17.589, 21.137];
        for (got, expected) in dtw_table(&a, &b, 2, Metric::L1).iter().zip(expected) {
            assert!((got - expected).abs() < 1e-5, "{got} is not {expected}");
        }
        assert!((dtw(&a, &b, 2, Metric::L1) - 21.137).abs() < 1e-5);

        let a = [0.171, -0.765, 1.66, 1.277];
        let b = [-1.98, 0.207, -3.29, -6.811, -0.352, -0.22];
        assert!((dtw(&a, &b, 2, Metric::L2) - 11.834_776).abs() < 1e-5);
    }

    #[test]
    fn a_matrix_without_rows_is_infinitely_far_from_all() {
        assert_eq!(dtw(&[], &[1.0], 1, Metric::L1), f32::INFINITY);
        assert_eq!(dtw(&[1.0], &[], 1, Metric::L1), f32::INFINITY);
        assert_eq!(dtw(&[], &[], 1, Metric::L1), f32::INFINITY);
        assert!(dtw_table(&[], &[1.0], 1, Metric::L1).is_empty());
    }

    #[test]
    fn repeats_cost_nothing() {
        assert_eq!(dtw(&[1.0, 2.0, 3.0], &[1.0, 1.0, 2.0, 2.0, 3.0], 1, Metric::L2), 0.0);
    }
}
