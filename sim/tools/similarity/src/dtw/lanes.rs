//! Dynamic time warping of many sequences against eight others at once, one of the eight in each
//! lane of a vector.
//!
//! Warping has a chain through every cell, but pairs do not know of each other: with a pair in each
//! lane all operations are plain vector arithmetic, in the order of the plain loop. What a cell
//! costs is the distance of its two rows, some `3 k` operations beside three for the warping
//! itself. So the columns, the rows of the eight, are taken a block at a time: [`distances`] puts
//! those between a block and every row that occurs into a table, once for each, and [`sweep`] takes
//! the sequences through the block with no more than two minima and a sum a cell. Two sequences go
//! side by side, since the chain of one leaves the CPU idle.
//!
//! The eight are as long as the longest of them; costs flow only forward, so what lies behind a
//! shorter one's last row is never read.

use multiversion::multiversion;

use super::{Metric, smaller};

/// Pairs side by side: one register of AVX2.
pub(crate) const LANES: usize = 8;

/// The most columns of a block: with more, two sequences side by side would leave the registers of
/// AVX2.
pub(crate) const COLUMNS: usize = 4;

/// One number of each of the eight matrices.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const fn splat(value: f32) -> Lanes {
        Lanes([value; LANES])
    }
}

/// The distances between `rows`, of `k` numbers each, and the columns of a block: for each row,
/// those to one column after the other.
///
/// `block` has the first number of each of its 1 to [`COLUMNS`] columns, then the second of each,
/// and so on.
pub(crate) fn distances(rows: &[f32], k: usize, block: &[Lanes], metric: Metric, table: &mut [Lanes]) {
    // For whole blocks and up to sixteen numbers a row the compiler knows how many: a quarter of
    // the time on AVX-512.
    macro_rules! dispatch {
        ($($known:literal)*) => {
            match (block.len() / k, k, metric) {
                $(
                    (COLUMNS, $known, Metric::L1) => distances_to::<COLUMNS, $known, false>(rows, k, block, table),
                    (COLUMNS, $known, Metric::L2) => distances_to::<COLUMNS, $known, true>(rows, k, block, table),
                )*
                (1, _, Metric::L1) => distances_to::<1, 0, false>(rows, k, block, table),
                (1, _, Metric::L2) => distances_to::<1, 0, true>(rows, k, block, table),
                (2, _, Metric::L1) => distances_to::<2, 0, false>(rows, k, block, table),
                (2, _, Metric::L2) => distances_to::<2, 0, true>(rows, k, block, table),
                (3, _, Metric::L1) => distances_to::<3, 0, false>(rows, k, block, table),
                (3, _, Metric::L2) => distances_to::<3, 0, true>(rows, k, block, table),
                (_, _, Metric::L1) => distances_to::<COLUMNS, 0, false>(rows, k, block, table),
                (_, _, Metric::L2) => distances_to::<COLUMNS, 0, true>(rows, k, block, table),
            }
        };
    }
    dispatch!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

/// [`distances`] for `W` columns, and rows of `K` numbers unless that is 0.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn distances_to<const W: usize, const K: usize, const L2: bool>(
    rows: &[f32],
    k: usize,
    block: &[Lanes],
    table: &mut [Lanes],
) {
    let k = if K == 0 { k } else { K };
    let block = &block.as_chunks::<W>().0[..k];
    let (table, _) = table.as_chunks_mut::<W>();
    for (row, distances) in rows.chunks_exact(k).zip(table) {
        let mut sums = [Lanes::splat(0.0); W];
        for (a, columns) in row.iter().zip(block) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                for lane in 0..LANES {
                    let d = a - column.0[lane];
                    sum.0[lane] += if L2 { d * d } else { d.abs() };
                }
            }
        }
        if L2 {
            for sum in &mut sums {
                sum.0 = sum.0.map(f32::sqrt);
            }
        }
        *distances = sums;
    }
}

/// Warps several sequences through a block of columns, whose distances to every row are `table`.
///
/// `slots` says for each row of each sequence, one sequence after the other, which row of the table
/// it has. `lengths` are their numbers of rows, the longest first. `edges` has for each row the
/// cost of the cell before the block, and afterwards that of the block's last column; `last` gets
/// for each sequence the costs of its last row. `corner` is the cost left of and above the first
/// cell.
pub(crate) fn sweep(
    slots: &[u32],
    lengths: &[usize],
    table: &[Lanes],
    corner: f32,
    edges: &mut [Lanes],
    last: &mut [Lanes],
) {
    match last.len() / lengths.len().max(1) {
        1 => sweep_columns::<1>(slots, lengths, table, corner, edges, last),
        2 => sweep_columns::<2>(slots, lengths, table, corner, edges, last),
        3 => sweep_columns::<3>(slots, lengths, table, corner, edges, last),
        _ => sweep_columns::<COLUMNS>(slots, lengths, table, corner, edges, last),
    }
}

/// [`sweep`] for `W` columns. A vector is as wide as one of AVX2: the compiler makes nothing better
/// of it for AVX-512.
#[multiversion(targets("x86_64+avx2+fma"))]
fn sweep_columns<const W: usize>(
    mut slots: &[u32],
    lengths: &[usize],
    table: &[Lanes],
    corner: f32,
    mut edges: &mut [Lanes],
    last: &mut [Lanes],
) {
    let (table, _) = table.as_chunks::<W>();
    let (last, _) = last.as_chunks_mut::<W>();
    for (lengths, last) in lengths.chunks(2).zip(last.chunks_mut(2)) {
        let (long, short) = (lengths[0], lengths.get(1).copied().unwrap_or(0));
        let ((both_slots, rest_slots), short_slots);
        ((both_slots, rest_slots), (short_slots, slots)) = {
            let (own, others) = slots.split_at(long);
            (own.split_at(short), others.split_at(short))
        };
        let (own_edges, others) = edges.split_at_mut(long);
        let (both_edges, rest_edges) = own_edges.split_at_mut(short);
        let short_edges;
        (short_edges, edges) = others.split_at_mut(short);
        let mut fronts = [Front::<W>::new(corner), Front::new(corner)];
        let both = both_slots.iter().zip(short_slots).zip(both_edges).zip(short_edges);
        for (((&a, &b), a_edge), b_edge) in both {
            fronts[0].advance(&table[a as usize], a_edge);
            fronts[1].advance(&table[b as usize], b_edge);
        }
        for (&a, edge) in rest_slots.iter().zip(rest_edges) {
            fronts[0].advance(&table[a as usize], edge);
        }
        for (last, front) in last.iter_mut().zip(&fronts) {
            *last = front.above;
        }
    }
}

/// How far the warping of one sequence has come in a block of `W` columns.
struct Front<const W: usize> {
    /// The costs of the last row.
    above: [Lanes; W],
    /// The cost before them.
    diagonal: Lanes,
}

impl<const W: usize> Front<W> {
    /// Above the first row; `corner` is the cost left of and above the first cell.
    #[inline(always)]
    fn new(corner: f32) -> Front<W> {
        Front {
            above: [Lanes::splat(f32::INFINITY); W],
            diagonal: Lanes::splat(corner),
        }
    }

    /// Takes the next row; `edge` is the cost before its first cell, and becomes that of its last.
    #[inline(always)]
    fn advance(&mut self, distances: &[Lanes; W], edge: &mut Lanes) {
        let mut left = *edge;
        let mut diagonal = std::mem::replace(&mut self.diagonal, left);
        for (above, distance) in self.above.iter_mut().zip(distances) {
            for lane in 0..LANES {
                let before = smaller(above.0[lane], diagonal.0[lane]);
                left.0[lane] = smaller(left.0[lane], before) + distance.0[lane];
            }
            diagonal = std::mem::replace(above, left);
        }
        *edge = left;
    }
}
