//! What the server could learn of the edges, and how far noise moves dissimilarities: read-only,
//! beside the protocol.

use super::dictionary::Dictionary;
use crate::node_embedding::{Recovery, Tally};
use folkmoot_draws::{SimRng, index};
use folkmoot_graphs::Graph;
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_similarity::dtw::{Metric, dtw};
use folkmoot_similarity::vector::l1;
use rayon::prelude::*;

/// How many pairs of vertices the change of dissimilarities is measured on.
const SAMPLED_PAIRS: usize = 2_000;

/// Server row matching where rows have noise of their own: for each row of an uploaded matrix, the
/// vertex with the nearest vector in l1, ties by index, is taken for a neighbour of the uploader.
///
/// `matrices` are rows of `k` entries by uploader. O(rows × |V| × k), in parallel over the
/// uploaders.
pub fn match_nearest_rows(dictionary: &Dictionary, matrices: &[Box<[f32]>], k: usize) -> Vec<(u32, u32)> {
    let nearest = |row: &[f32]| {
        let known = dictionary
            .vectors()
            .chunks_exact(k)
            .map(|vector| l1(row, vector))
            .enumerate();
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(v, _)| v as u32)
    };
    let of_one = |u: usize| {
        let rows = matrices[u].chunks_exact(k).filter_map(nearest);
        rows.map(|v| (u as u32, v)).collect::<Vec<(u32, u32)>>()
    };
    (0..matrices.len()).into_par_iter().flat_map_iter(of_one).collect()
}

/// Server row matching: each row of an uploaded matrix is looked up in the dictionary, where
/// continuous noise makes all vectors different, and every vertex with that very vector is taken
/// for a neighbour of the uploader.
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

/// First-entry recovery: the first entry of a walk is a neighbour of its start, which the server
/// knows. Given the first entries of each vertex' walks in order, the recovery from 1, 2, 5, 10,
/// 20, 50, … walks a vertex and from all of them.
///
/// A walk has no identifier, and the last device sends it in: the attack assumes that the server
/// tells walks apart, for instance by starting one at a time.
pub fn first_entries<'a>(graph: &Graph, entries: impl Iterator<Item = &'a [u32]> + Clone) -> Vec<(usize, Recovery)> {
    let most = entries.clone().map(<[u32]>::len).max().unwrap_or(0);
    let recovery = |n: usize| {
        let firsts = entries.clone().enumerate();
        let guesses = firsts.flat_map(move |(u, mine)| mine.iter().take(n).map(move |&v| (u as u32, v)));
        (n, Tally::new(graph.n_nodes(), guesses).seen(graph))
    };
    steps(most).map(recovery).collect()
}

/// 1, 2, 5, 10, 20, 50, … as far as it is less than `most`, and `most` unless it is 0.
pub fn steps(most: usize) -> impl Iterator<Item = usize> {
    let steps = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
    steps
        .take_while(move |step| *step < most)
        .chain((most > 0).then_some(most))
}

/// What the server has of finished walks: their entries and who sent each in, who is its last
/// holder.
pub struct Finished<'a> {
    pub corpus: &'a Corpus,
    pub senders: &'a [u32],
    /// How many there were when each round ended.
    pub by_round: &'a [usize],
}

impl Finished<'_> {
    /// After 1, 2, 5, … rounds of walks, how many they were and the pairs of neighbouring entries
    /// and of last holders with the last entry, which is a neighbour of theirs.
    pub fn tallies(&self, n_nodes: usize) -> impl Iterator<Item = (usize, [Tally; 2])> + '_ {
        // Round 0 is the set-up.
        steps(self.by_round.len().saturating_sub(1)).map(move |n_rounds| {
            let walks = 0..self.by_round[n_rounds];
            let pairs = walks
                .clone()
                .flat_map(|i| self.corpus.sentence(i).windows(2).map(|pair| (pair[0], pair[1])));
            let lasts = walks.filter_map(|i| Some((self.senders[i], *self.corpus.sentence(i).last()?)));
            (n_rounds, [Tally::new(n_nodes, pairs), Tally::new(n_nodes, lasts)])
        })
    }
}

/// The mean of dissimilarity with noise minus without (Theorem 4.1) and its standard error, over
/// random pairs of different vertices; `None` for fewer than two vertices.
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
        let u = index(rng, n) as u32;
        let v = (u + 1 + index(rng, n - 1) as u32) % n as u32;
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

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use folkmoot_privacy::Laplace;

    /// A path of four vertices.
    fn path() -> Graph {
        Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], false).unwrap()
    }

    #[test]
    fn rows_of_matrices_give_away_whose_they_are() {
        let dictionary = Dictionary::new(vec![1.0, 0.0, 1.0, 0.5, 1.0, 0.25, -0.0, 0.0]);
        let graph = path();
        let matrices: Vec<Box<[f32]>> = (0..4)
            .map(|v| dictionary.ordered_matrix(graph.neighbours(v), 4))
            .collect();
        let seen = |guesses: Vec<(u32, u32)>| Tally::new(4, guesses.into_iter()).seen(&graph);
        let recovery = seen(match_rows(&dictionary, &matrices, 2));
        assert_eq!(
            (recovery.recall, recovery.precision, recovery.auc),
            (1.0, 1.0, Some(1.0))
        );
        let near = match_nearest_rows(&dictionary, &matrices, 2);
        assert_eq!(seen(near).recall, 1.0);
        let noisy: [Box<[f32]>; 2] = [[1.1, 0.4].into(), [0.2, 0.1, 1.0, 0.26].into()];
        assert_eq!(match_nearest_rows(&dictionary, &noisy, 2), [(0, 1), (1, 3), (1, 2)]);
        // Two vertices with one vector cannot be told apart.
        let twins = Dictionary::new(vec![1.0, 0.0, 1.0, 0.0]);
        let guesses = match_rows(&twins, &[[1.0, 0.0].into()], 2);
        assert_eq!(guesses, [(0, 0), (0, 1)]);
    }

    #[test]
    fn first_entries_are_read_at_growing_numbers_of_walks() {
        let entries: [&[u32]; 4] = [&[1, 1, 1], &[0, 2, 2], &[], &[2, 1, 0]];
        let found = first_entries(&path(), entries.into_iter());
        let recalls: Vec<(usize, f64)> = found.iter().map(|(n, recovery)| (*n, recovery.recall)).collect();
        assert_eq!(recalls, [(1, 2.0 / 3.0), (2, 1.0), (3, 1.0)]);
        assert_eq!(found[2].1.precision, 3.0 / 5.0);
        assert!(first_entries(&path(), [&[][..]; 4].into_iter()).is_empty());
    }

    #[test]
    fn walks_give_away_neighbouring_entries_and_the_last_holder_s_neighbour() {
        let (mut corpus, graph) = (Corpus::new(), path());
        for walk in [&[1, 2][..], &[], &[2, 1, 0], &[3, 0]] {
            corpus.push(walk.iter().copied());
        }
        let finished = Finished {
            corpus: &corpus,
            senders: &[1, 3, 1, 3],
            by_round: &[0, 2, 4],
        };
        let found: Vec<(usize, [Recovery; 2])> = finished
            .tallies(4)
            .map(|(n, tallies)| (n, tallies.map(|tally| tally.seen(&graph))))
            .collect();
        let [(1, [pairs, lasts]), (2, [all_pairs, all_lasts])] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (pairs.recall, pairs.precision, lasts.recall),
            (1.0 / 3.0, 1.0, 1.0 / 3.0)
        );
        assert_eq!((all_pairs.recall, all_pairs.precision), (2.0 / 3.0, 2.0 / 3.0));
        // 1 with 2 and with 0 are edges, 3 with 0 is none.
        assert_eq!((all_lasts.recall, all_lasts.precision), (2.0 / 3.0, 2.0 / 3.0));
    }

    /// The counterexample to Theorem 4.1: noise reorders rows of equal degree, which costs far more
    /// than the noise itself.
    #[test]
    fn reordered_rows_break_the_bound_of_theorem_4_1() {
        let mut rng = SimRng::seed_from_u64(11);
        for (epsilon, expected) in [(1.0, 14.9), (2.0, 13.4), (4.0, 12.8), (10.0, 12.4)] {
            let noise = Laplace::for_epsilon(epsilon, 1.0).unwrap();
            let n = 20_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let exact = [0.0, 6.0, 6.0, 0.0, 0.0, 6.0, 6.0, 0.0];
                let noisy = exact.iter().map(|x| (x + noise.sample(&mut rng)) as f32).collect();
                let dictionary = Dictionary::new(noisy);
                let [a, b] = [[0, 1], [2, 3]].map(|rows| dictionary.ordered_matrix(&rows, 4));
                let value = f64::from(dtw(&a, &b, 2, Metric::L1));
                sum += value;
                squares += value * value;
            }
            let mean = sum / f64::from(n);
            let error = ((squares / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
            assert!(
                (mean - expected).abs() < 0.05 + 4.0 * error,
                "epsilon {epsilon}: {mean} ± {error}"
            );
            assert!(mean > super::super::theory::dissimilarity_bound(2, 2, epsilon));
        }
    }

    #[test]
    fn the_gap_is_that_of_the_noise() {
        let graph = path();
        let counts = |v: u32| vec![graph.degree(v) as f64];
        let exact = Dictionary::new((0..4).map(|v| graph.degree(v) as f32).collect());
        let gap = |dictionary: &Dictionary| {
            let mut rng = SimRng::seed_from_u64(2);
            dissimilarity_gap(&graph, dictionary, counts, Metric::L1, &mut rng)
        };
        assert_eq!(gap(&exact), Some((0.0, 0.0)));
        let noisy = Dictionary::new(vec![1.5, 2.0, 1.0, 1.0]);
        let (mean, error) = gap(&noisy).unwrap();
        assert!(mean != 0.0 && error > 0.0);
        let one = Graph::from_edges(1, &[], false).unwrap();
        let mut rng = SimRng::seed_from_u64(2);
        let none = dissimilarity_gap(&one, &Dictionary::new(vec![0.0]), |_| vec![0.0], Metric::L1, &mut rng);
        assert_eq!(none, None);
    }
}
