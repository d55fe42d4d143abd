//! Dynamic time warping of one matrix against sixteen others at once, one in each lane of a vector.
//!
//! Warping has a chain through every cell, but pairs do not know of each other: with a pair in each lane all operations are
//! plain vector arithmetic, in the order of the plain loop. The sixteen are as long as the longest of them; costs flow only
//! forward, so what lies behind a shorter one's last row is never read. Rows of the single matrix are taken four at a time,
//! which loads each row of the sixteen once for four cells.

use multiversion::multiversion;

use super::{Metric, smaller};

/// Pairs side by side: one AVX-512 register, or two of AVX2.
pub(crate) const LANES: usize = 16;

/// Rows of the single matrix that one sweep advances.
const ROWS: usize = 4;

/// One number of each of the sixteen matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const fn splat(value: f32) -> Lanes {
        Lanes([value; LANES])
    }
}

/// Warps the matrix `a`, of `k` columns, against the sixteen of `others`, which has `k` numbers a row.
///
/// Afterwards `row[j]` has the costs of the last row of `a` and row `j` of the others: the value of a pair is at the other's last
/// row. `row` is scratch space and has as many entries as the others have rows. `a` has at least one row.
pub(crate) fn warp(a: &[f32], others: &[Lanes], k: usize, metric: Metric, row: &mut [Lanes]) {
    debug_assert_eq!(row.len() * k, others.len());
    // Up to sixteen columns their number is known to the compiler.
    macro_rules! dispatch {
        ($($columns:literal)*) => {
            match (k, metric) {
                $(
                    ($columns, Metric::L1) => warp_columns::<$columns, false>(a, others, row),
                    ($columns, Metric::L2) => warp_columns::<$columns, true>(a, others, row),
                )*
                (_, Metric::L1) => warp_any::<false>(a, others, k, row),
                (_, Metric::L2) => warp_any::<true>(a, others, k, row),
            }
        };
    }
    dispatch!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

/// [`warp`] for `K` columns.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn warp_columns<const K: usize, const L2: bool>(a: &[f32], others: &[Lanes], row: &mut [Lanes]) {
    row.fill(Lanes::splat(f32::INFINITY));
    let (others, _) = others.as_chunks::<K>();
    let (blocks, rest) = a.as_chunks::<K>().0.as_chunks::<ROWS>();
    let mut corner = 0.0;
    for block in blocks {
        sweep::<ROWS, K, L2>(block, others, corner, row);
        corner = f32::INFINITY;
    }
    for single in rest {
        sweep::<1, K, L2>(std::array::from_ref(single), others, corner, row);
        corner = f32::INFINITY;
    }
}

/// Advances `row` by `R` rows of the single matrix; `corner` is the cost left of and above the first cell.
///
/// The loop over the lanes is the one that becomes vector instructions: those inside it have few, constant turns.
#[inline(always)]
fn sweep<const R: usize, const K: usize, const L2: bool>(
    a: &[[f32; K]; R],
    others: &[[Lanes; K]],
    corner: f32,
    row: &mut [Lanes],
) {
    let mut left = [Lanes::splat(f32::INFINITY); R];
    let mut corner = Lanes::splat(corner);
    for (other, cell) in others.iter().zip(row) {
        for lane in 0..LANES {
            let mut above = cell.0[lane];
            let mut diagonal = corner.0[lane];
            corner.0[lane] = above;
            for r in 0..R {
                let mut sum = 0.0;
                for c in 0..K {
                    let d = a[r][c] - other[c].0[lane];
                    sum += if L2 { d * d } else { d.abs() };
                }
                let distance = if L2 { sum.sqrt() } else { sum };
                let cost = smaller(smaller(left[r].0[lane], above), diagonal) + distance;
                diagonal = left[r].0[lane];
                left[r].0[lane] = cost;
                above = cost;
            }
            cell.0[lane] = above;
        }
    }
}

/// [`warp`] for any number of columns, a row at a time.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn warp_any<const L2: bool>(a: &[f32], others: &[Lanes], k: usize, row: &mut [Lanes]) {
    row.fill(Lanes::splat(f32::INFINITY));
    let mut corner = Lanes::splat(0.0);
    for a in a.chunks_exact(k) {
        let mut diagonal = corner;
        let mut left = Lanes::splat(f32::INFINITY);
        corner = left;
        for (other, cell) in others.chunks_exact(k).zip(row.iter_mut()) {
            let mut sum = Lanes::splat(0.0);
            for (a, other) in a.iter().zip(other) {
                for (sum, other) in sum.0.iter_mut().zip(other.0) {
                    let d = a - other;
                    *sum += if L2 { d * d } else { d.abs() };
                }
            }
            for lane in 0..LANES {
                let distance = if L2 { sum.0[lane].sqrt() } else { sum.0[lane] };
                let above = cell.0[lane];
                left.0[lane] = smaller(smaller(left.0[lane], above), diagonal.0[lane]) + distance;
                diagonal.0[lane] = above;
            }
            *cell = left;
        }
    }
}
