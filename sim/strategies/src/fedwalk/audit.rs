//! What the server could learn of the edges, and how far noise moves dissimilarities: read-only, beside the protocol.

use super::dictionary::Dictionary;
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_graphs::Graph;
use folkmoot_similarity::dtw::{Metric, dtw};
use serde::{Deserialize, Serialize};

/// How many pairs of vertices the change of dissimilarities is measured on.
const SAMPLED_PAIRS: usize = 2_000;

/// How well guessed edges agree with the true ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The share of the edges that were guessed, 0..=1.
    pub recall: f64,
    /// The share of the guesses that are edges, 0..=1; 1 without a guess.
    pub precision: f64,
    /// How many different pairs were guessed.
    pub n_guesses: usize,
}

impl Recovery {
    /// Of guesses in any direction and any number; a vertex and itself is no guess.
    pub fn of(graph: &Graph, guesses: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<(u32, u32)> = guesses.into_iter().map(|(u, v)| (u.min(v), u.max(v))).collect();
        pairs.retain(|(u, v)| u != v);
        pairs.sort_unstable();
        pairs.dedup();
        let right = pairs.iter().filter(|&&(u, v)| graph.has_edge(u, v)).count() as f64;
        let share = |of: usize| if of == 0 { 1.0 } else { right / of as f64 };
        Recovery {
            recall: share(graph.n_edges()),
            precision: share(pairs.len()),
            n_guesses: pairs.len(),
        }
    }
}

/// Server row matching: each row of an uploaded matrix is looked up in the dictionary, where continuous noise makes all
/// vectors different, and every vertex with that very vector is taken for a neighbour of the uploader.
///
/// `matrices` are rows of `k` entries by uploader.
pub fn match_rows(dictionary: &Dictionary, matrices: &[Box<[f32]>], k: usize) -> Vec<(u32, u32)> {
    let key = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    let mut known: Vec<(Vec<u32>, u32)> = dictionary
        .vectors()
        .chunks_exact(k)
        .enumerate()
        .map(|(v, row)| (key(row), v as u32))
        .collect();
    known.sort_unstable();
    let mut guesses = Vec::new();
    for (u, matrix) in matrices.iter().enumerate() {
        for row in matrix.chunks_exact(k) {
            let row = key(row);
            let begin = known.partition_point(|(other, _)| *other < row);
            let same = known[begin..].iter().take_while(|(other, _)| *other == row);
            guesses.extend(same.map(|&(_, v)| (u as u32, v)));
        }
    }
    guesses
}

/// First-entry recovery: the first entry of a walk is a neighbour of its start, which the server knows. Given the first
/// entries of each vertex' walks in order, the recovery from 1, 2, 5, 10, 20, 50, … walks a vertex and from all of them.
///
/// A walk has no identifier, and the last device sends it in: the attack assumes that the server tells walks apart, for instance
/// by starting one at a time.
pub fn first_entries<'a>(graph: &Graph, entries: impl Iterator<Item = &'a [u32]> + Clone) -> Vec<(usize, Recovery)> {
    let most = entries.clone().map(<[u32]>::len).max().unwrap_or(0);
    let steps = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
    let steps = steps.take_while(|step| *step < most).chain((most > 0).then_some(most));
    let recovery = |n: usize| {
        let firsts = entries.clone().enumerate();
        let guesses = firsts.flat_map(|(u, mine)| mine.iter().take(n).map(move |&v| (u as u32, v)));
        (n, Recovery::of(graph, guesses))
    };
    steps.map(recovery).collect()
}

/// The mean of dissimilarity with noise minus without (Theorem 4.1) and its standard error, over random pairs of different
/// vertices; `None` for fewer than two vertices.
///
/// `counts` gives a vertex' neighbour counts by bin without noise.
pub fn dissimilarity_gap(
    graph: &Graph,
    dictionary: &Dictionary,
    counts: impl Fn(u32) -> Vec<f64>,
    metric: Metric,
    rng: &mut SimRng,
) -> Option<(f64, f64)> {
    let n = graph.n_nodes();
    let k = dictionary.vectors().len() / n.max(1);
    if n < 2 || k == 0 {
        return None;
    }
    let true_matrix = |u: u32| {
        let mut rows: Vec<(usize, u32)> = graph.neighbours(u).iter().map(|&v| (graph.degree(v), v)).collect();
        rows.sort_unstable();
        let counts = rows.iter().flat_map(|&(_, v)| counts(v));
        counts.map(|count| count as f32).collect::<Vec<f32>>()
    };
    let mut gaps = Vec::with_capacity(SAMPLED_PAIRS);
    for _ in 0..SAMPLED_PAIRS {
        let u = rng::index(rng, n) as u32;
        let v = (u + 1 + rng::index(rng, n - 1) as u32) % n as u32;
        // The dissimilarity of a vertex without neighbours is undefined.
        if graph.degree(u) == 0 || graph.degree(v) == 0 {
            continue;
        }
        let noisy = [u, v].map(|w| dictionary.ordered_matrix(graph.neighbours(w), n));
        let exact = [u, v].map(true_matrix);
        let gap = dtw(&noisy[0], &noisy[1], k, metric) - dtw(&exact[0], &exact[1], k, metric);
        gaps.push(f64::from(gap));
    }
    let n_pairs = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n_pairs;
    let squares: f64 = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum();
    (gaps.len() > 1).then(|| (mean, (squares / (n_pairs - 1.0) / n_pairs).sqrt()))
}
