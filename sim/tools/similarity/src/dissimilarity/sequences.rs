//! The sequences of all vertices, and their warping.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use folkmoot_graphs::Graph;
use rayon::prelude::*;

use super::Condensed;
use super::condensed::{n_pairs, position};
use crate::dtw::lanes::{LANES, Lanes, distances};
use crate::dtw::{Metric, dtw};
use batch::{Batch, Scratch};

/// Cells that a task of [`Sequences::all_pairs`] has about: a fraction of a second.
const TASK_CELLS: usize = 1 << 28;

/// One sequence of rows for each vertex, all rows of `k` numbers, with what makes warping fast.
///
/// Sequences are sorted by length and stored a second time in groups of eight, transposed, one
/// sequence a lane. Memory is about `8 k` bytes a row.
#[derive(Clone, Debug)]
pub struct Sequences {
    k: usize,
    /// Where the rows of each vertex begin, and where the last ones end.
    offsets: Vec<usize>,
    rows: Vec<f32>,
    /// The vertices with rows, by ascending length.
    order: Vec<u32>,
    /// Eight of them each, in that order; see [`Sequences::group`].
    groups: Vec<Vec<Lanes>>,
}

impl Sequences {
    /// The sequences `matrices`, in the order of the vertices, each row-major with `k` columns.
    ///
    /// # Panics
    /// When a length is no multiple of `k`, or `k` is 0: the caller's bug.
    pub fn new<'a>(k: usize, matrices: impl IntoIterator<Item = &'a [f32]>) -> Sequences {
        let mut offsets = vec![0];
        let mut rows = Vec::new();
        for matrix in matrices {
            rows.extend_from_slice(matrix);
            offsets.push(rows.len());
        }
        Sequences::from_parts(k, offsets, rows)
    }

    /// The sequences that devices upload (papers, FedWalk, Eq. 5): each vertex has the degree
    /// vectors of its neighbours, by ascending sum in `f32`, ties by index. `vectors` is
    /// `(n_nodes, k)`, row-major.
    ///
    /// # Panics
    /// When the graph is not of that size, or `k` is 0: the caller's bug.
    pub fn of_neighbours(graph: &Graph, vectors: &[f32], k: usize) -> Sequences {
        assert!(
            k > 0 && vectors.len() == graph.n_nodes() * k,
            "there must be one vector of k > 0 numbers a node"
        );
        let degrees: Vec<f32> = vectors
            .chunks_exact(k)
            .map(|vector| vector.iter().fold(0.0, |sum, count| sum + count))
            .collect();
        let mut offsets = vec![0];
        let mut rows = Vec::with_capacity(graph.n_arcs() * k);
        for u in 0..graph.n_nodes() as u32 {
            let mut order = graph.neighbours(u).to_vec();
            order.sort_unstable_by(|&a, &b| degrees[a as usize].total_cmp(&degrees[b as usize]).then(a.cmp(&b)));
            for v in order {
                rows.extend_from_slice(&vectors[v as usize * k..][..k]);
            }
            offsets.push(rows.len());
        }
        Sequences::from_parts(k, offsets, rows)
    }

    /// Each vertex with its own vector alone, for servers that hold no more: the dissimilarity is
    /// the distance of the vectors. `vectors` is `(n_nodes, k)`, row-major.
    ///
    /// # Panics
    /// As [`Sequences::new`].
    pub fn of_vectors(vectors: &[f32], k: usize) -> Sequences {
        assert!(k > 0, "a vector must have k > 0 numbers");
        Sequences::new(k, vectors.chunks(k))
    }

    /// The sequences of these vertices alone, in this order.
    pub fn select(&self, vertices: &[u32]) -> Sequences {
        Sequences::new(self.k, vertices.iter().map(|&u| self.matrix(u)))
    }

    fn from_parts(k: usize, offsets: Vec<usize>, rows: Vec<f32>) -> Sequences {
        let whole = k > 0 && offsets.iter().all(|offset| offset.is_multiple_of(k));
        assert!(whole, "matrices must have whole rows of k > 0 numbers");
        let mut sequences = Sequences {
            k,
            offsets,
            rows,
            order: Vec::new(),
            groups: Vec::new(),
        };
        let mut order: Vec<u32> = (0..sequences.n() as u32).filter(|&u| sequences.len(u) > 0).collect();
        order.sort_unstable_by_key(|&u| (sequences.len(u), u));
        sequences.groups = order.chunks(LANES).map(|vertices| sequences.group(vertices)).collect();
        sequences.order = order;
        sequences
    }

    /// The number of vertices.
    pub fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The numbers in a row.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The number of rows of vertex `u`.
    pub fn len(&self, u: u32) -> usize {
        self.matrix(u).len() / self.k
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.n() == 0
    }

    /// The rows of vertex `u`, row-major.
    pub fn matrix(&self, u: u32) -> &[f32] {
        &self.rows[self.offsets[u as usize]..self.offsets[u as usize + 1]]
    }

    /// The cells of all pairs: the work of [`Sequences::all_pairs`], but for what pads the lanes.
    pub fn n_cells(&self) -> u64 {
        let lengths = (0..self.n() as u32).map(|u| self.len(u) as u64);
        let (sum, squares) = lengths.fold((0, 0), |(sum, squares), len| (sum + len, squares + len * len));
        (sum * sum - squares) / 2
    }

    /// The dissimilarity of `u` and `v`, by the plain loop: 0 if they are the same, infinite if
    /// either has no row.
    pub fn between(&self, u: u32, v: u32, metric: Metric) -> f32 {
        if u == v {
            0.0
        } else {
            dtw(self.matrix(u), self.matrix(v), self.k, metric)
        }
    }

    /// The dissimilarities of `u` to all vertices, on one thread; those of [`Sequences::between`].
    pub fn row(&self, u: u32, metric: Metric) -> Vec<f32> {
        let mut row = vec![f32::INFINITY; self.n()];
        let batch = Batch::alone(self, u);
        let mut scratch = Scratch::default();
        for (group, lanes) in self.groups.iter().enumerate() {
            if self.len(u) == 1 && lanes.len() == self.k {
                // A single cell costs the distance of its rows.
                let mut cell = [Lanes::splat(0.0)];
                distances(self.matrix(u), self.k, lanes, metric, &mut cell);
                for (&v, value) in self.order[group * LANES..].iter().zip(cell[0].0) {
                    row[v as usize] = value;
                }
                continue;
            }
            self.warp(&batch, group, metric, &mut scratch, |_, v, value| {
                row[v as usize] = value
            });
        }
        row[u as usize] = 0.0;
        row
    }

    /// The dissimilarities of all pairs; those of [`Sequences::between`].
    ///
    /// # Determinism
    /// Every value is computed once, whole, by one task, and has its own place: the number of
    /// threads and the order of the tasks do not matter.
    ///
    /// # Complexity
    /// Three operations for each of [`Sequences::n_cells`], over 8 lanes, and about `3 k` for each
    /// distance of two rows. A row that several sequences of a batch have is compared once for them
    /// all; where rows recur, as those of neighbours do, most of the distances fall away. Memory: 4
    /// bytes a pair and 8 a row, and for each thread 32 bytes a row of a batch and 128 a different
    /// one, some megabytes.
    pub fn all_pairs(&self, metric: Metric) -> Condensed {
        let n = self.n();
        let values: Vec<AtomicU32> = (0..n_pairs(n))
            .map(|_| AtomicU32::new(f32::INFINITY.to_bits()))
            .collect();
        // Atomic, because places of one task lie scattered; each is written by one task only.
        let put = |u: u32, v: u32, value: f32| {
            let (u, v) = (u.min(v) as usize, u.max(v) as usize);
            values[position(n, u, v)].store(value.to_bits(), Relaxed);
        };
        let batches = Batch::all(self);
        self.tasks(&batches)
            .into_par_iter()
            .with_max_len(1)
            .for_each(|(batch, groups)| {
                let mut scratch = Scratch::default();
                for group in groups {
                    self.warp(batch, group, metric, &mut scratch, |place, v, value| {
                        put(self.order[place], v, value)
                    });
                }
            });
        // In place: the layouts agree.
        let values = values
            .into_iter()
            .map(|bits| f32::from_bits(bits.into_inner()))
            .collect();
        Condensed::new(n, values)
    }

    /// Batches and groups with places before theirs, in tasks of about equal size, from the longest
    /// sequences down.
    ///
    /// The longer sequences are taken one by one against the lanes of the shorter ones, whose
    /// lengths differ less.
    fn tasks<'a>(&self, batches: &'a [Batch]) -> Vec<(&'a Batch, std::ops::Range<usize>)> {
        let mut tasks = Vec::new();
        for batch in batches {
            let mut end = batch.places.end.div_ceil(LANES);
            while end > 0 {
                let mut start = end;
                let mut cells = 0;
                while start > 0 && cells < TASK_CELLS {
                    start -= 1;
                    cells += batch.n_rows() * self.groups[start].len() / self.k * LANES;
                }
                tasks.push((batch, start..end));
                end = start;
            }
        }
        tasks
    }
}

mod batch;
#[cfg(test)]
mod tests;
