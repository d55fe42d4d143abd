//! Sequences that are warped together, so that a row that several of them have is compared once.

use std::ops::Range;

use super::Sequences;
use crate::dtw::Metric;
use crate::dtw::lanes::{COLUMNS, LANES, Lanes, distances, sweep};

/// Rows of a batch where few recur: what is known of them stays in the second cache.
const FRESH_ROWS: usize = 1 << 10;

/// Rows of a batch where rows recur: enough for most to come up several times, at some megabytes a
/// thread.
const RECURRING_ROWS: usize = 1 << 17;

/// Some sequences, from the longest down, and the rows that occur in them. The first so many
/// sequences have the first so many of the rows, so that a part of a batch needs no lists of its
/// own.
#[derive(Debug)]
pub(super) struct Batch {
    /// Their places in the order by length: the first of them has the last place.
    pub(super) places: Range<usize>,
    /// Their numbers of rows.
    lengths: Vec<usize>,
    /// How many rows the first so many of them have, and how many different ones.
    ends: Vec<(usize, usize)>,
    /// For each of their rows, which of the different ones it is.
    slots: Vec<u32>,
    /// The different rows, by first occurrence.
    rows: Vec<f32>,
}

/// What a thread works in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    table: Vec<Lanes>,
    edges: Vec<Lanes>,
    last: Vec<Lanes>,
}

/// The first `n` entries, whatever they hold.
fn room(entries: &mut Vec<Lanes>, n: usize) -> &mut [Lanes] {
    if entries.len() < n {
        entries.resize(n, Lanes::splat(0.0));
    }
    &mut entries[..n]
}

impl Batch {
    /// No sequence yet; the first will have the place before `end`.
    fn new(end: usize) -> Batch {
        Batch {
            places: end..end,
            lengths: Vec::new(),
            ends: vec![(0, 0)],
            slots: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// One sequence that goes against whole groups: its place lies behind all others.
    pub(super) fn alone(sequences: &Sequences, u: u32) -> Batch {
        let mut batch = Batch::new(sequences.order.len() + 1);
        batch.rows.extend_from_slice(sequences.matrix(u));
        batch.slots.extend(0..sequences.len(u) as u32);
        batch.close(sequences.k);
        batch
    }

    /// All sequences with rows, from the longest down, so that the first batches have most of the
    /// work.
    pub(super) fn all(sequences: &Sequences) -> Vec<Batch> {
        let k = sequences.k;
        let (ids, n_ids) = sequences.different_rows();
        let most = if ids.len() >= 2 * n_ids {
            RECURRING_ROWS
        } else {
            FRESH_ROWS
        };
        let mut batches: Vec<Batch> = Vec::new();
        // Slots count on from batch to batch, so that one of an earlier batch is seen to be none.
        let mut slot_of = vec![0; n_ids];
        let (mut base, mut next) = (1, 1);
        for (place, &u) in sequences.order.iter().enumerate().rev() {
            if batches.last().is_none_or(|batch| batch.slots.len() >= most) {
                base = next;
                batches.push(Batch::new(place + 1));
            }
            let Some(batch) = batches.last_mut() else { continue };
            let matrix = sequences.matrix(u).chunks_exact(k);
            for (&id, row) in ids[sequences.offsets[u as usize] / k..].iter().zip(matrix) {
                let slot = &mut slot_of[id as usize];
                if *slot < base {
                    *slot = next;
                    next += 1;
                    batch.rows.extend_from_slice(row);
                }
                batch.slots.push((*slot - base) as u32);
            }
            batch.close(k);
        }
        batches
    }

    /// How many rows all have.
    pub(super) fn n_rows(&self) -> usize {
        self.slots.len()
    }

    /// Ends a sequence, whose rows have been added.
    fn close(&mut self, k: usize) {
        let before = self.ends.last().map_or(0, |end| end.0);
        self.lengths.push(self.slots.len() - before);
        self.ends.push((self.slots.len(), self.rows.len() / k));
        self.places.start -= 1;
    }
}

impl Sequences {
    /// For each row a number below the second result, the same for rows of the same bits.
    pub(super) fn different_rows(&self) -> (Vec<u32>, usize) {
        let row = |i: u32| &self.rows[i as usize * self.k..][..self.k];
        let hash = |i: u32| {
            row(i).iter().fold(0u64, |hash, x| {
                (hash.rotate_left(5) ^ u64::from(x.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            })
        };
        let mut order: Vec<(u64, u32)> = (0..(self.rows.len() / self.k) as u32).map(|i| (hash(i), i)).collect();
        order.sort_unstable();
        let mut ids = vec![0; order.len()];
        let mut n_ids = 0;
        let mut last = None;
        for &(hash, i) in &order {
            // Different rows with one hash may get several numbers in turns, which costs time and
            // no more.
            let same = |&(other, j): &(u64, u32)| {
                other == hash && row(j).iter().zip(row(i)).all(|(a, b)| a.to_bits() == b.to_bits())
            };
            if !last.as_ref().is_some_and(same) {
                n_ids += 1;
            }
            ids[i as usize] = n_ids as u32 - 1;
            last = Some((hash, i));
        }
        (ids, n_ids)
    }

    /// Eight sequences side by side, column blocks one after the other, as [`distances`] takes
    /// them.
    ///
    /// As long as the longest; shorter ones are filled up with zeros, which no result reads.
    pub(super) fn group(&self, vertices: &[u32]) -> Vec<Lanes> {
        let longest = vertices.iter().map(|&u| self.len(u)).max().unwrap_or(0);
        let mut lanes = vec![Lanes::splat(0.0); longest * self.k];
        for (lane, &u) in vertices.iter().enumerate() {
            for (column, row) in self.matrix(u).chunks_exact(self.k).enumerate() {
                let first = column / COLUMNS * COLUMNS;
                let width = COLUMNS.min(longest - first);
                for (c, &value) in row.iter().enumerate() {
                    lanes[first * self.k + c * width + column - first].0[lane] = value;
                }
            }
        }
        lanes
    }

    /// Calls `put` with the place of each sequence of `batch`, each vertex of group number `group`
    /// that has an earlier place, and their dissimilarity.
    pub(super) fn warp(
        &self,
        batch: &Batch,
        group: usize,
        metric: Metric,
        scratch: &mut Scratch,
        mut put: impl FnMut(usize, u32, f32),
    ) {
        let k = self.k;
        let first = group * LANES;
        let vertices = &self.order[first..self.order.len().min(first + LANES)];
        // How many of the group have ended before a column, and how many sequences of the batch lie
        // behind a place.
        let ended = |column: usize| first + vertices.partition_point(|&v| self.len(v) <= column);
        let behind = |place: usize| batch.places.end - (place + 1).clamp(batch.places.start, batch.places.end);
        let edges = room(&mut scratch.edges, batch.ends[behind(first)].0);
        edges.fill(Lanes::splat(f32::INFINITY));
        let mut columns = 0..0;
        for block in self.groups[group].chunks(COLUMNS * k) {
            let corner = if columns.end == 0 { 0.0 } else { f32::INFINITY };
            columns = columns.end..columns.end + block.len() / k;
            let ending = ended(columns.start)..ended(columns.end);
            // The others have all their values.
            let n = behind(ending.start);
            let (n_rows, n_different) = batch.ends[n];
            let table = room(&mut scratch.table, n_different * columns.len());
            distances(&batch.rows[..n_different * k], k, block, metric, table);
            let last = room(&mut scratch.last, n * columns.len());
            let (slots, lengths) = (&batch.slots[..n_rows], &batch.lengths[..n]);
            sweep(slots, lengths, table, corner, &mut edges[..n_rows], last);
            for place in ending {
                let v = vertices[place - first];
                let costs = last
                    .chunks_exact(columns.len())
                    .map(|costs| &costs[self.len(v) - 1 - columns.start]);
                for (i, cost) in costs.take(behind(place)).enumerate() {
                    put(batch.places.end - 1 - i, v, cost.0[place - first]);
                }
            }
        }
    }
}
