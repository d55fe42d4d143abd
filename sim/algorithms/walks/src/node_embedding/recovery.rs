//! What an attacker has seen of the edges: pairs of vertices, counted, ranked and compared with the
//! graph.
//!
//! All pairs of vertices are ranked by what speaks for an edge, those that were never seen last and
//! alike. That gives the area under the ROC curve; the first of the ranking are the guesses, whose
//! recall and precision depend on how many there are.

use folkmoot_draws::{SimRng, index};
use folkmoot_graphs::Graph;
use folkmoot_metrics::Sheet;
use folkmoot_scores::auc_of_groups;
use rayon::prelude::*;

/// How many edges, and as many pairs without one, a sample of them has.
const SAMPLED_PAIRS: usize = 50_000;
/// All pairs of at most so many vertices are ranked: four bytes each, 800 MB.
const MAX_RANKED_NODES: usize = 20_000;

/// How well guessed edges agree with the true ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The share of the edges that were guessed, 0..=1; 1 where there is none.
    pub recall: f64,
    /// The share of the guesses that are edges, 0..=1; 1 without a guess.
    pub precision: f64,
    /// The probability that an edge ranks above a pair that is none, ties counting half; none where
    /// either is missing.
    pub auc: Option<f64>,
}

impl Recovery {
    /// As `name_recall`, `name_precision` and `name_auc`.
    pub fn write(&self, name: &str, sheet: &mut Sheet) {
        self.write_guesses(name, sheet);
        sheet.number_if(format!("{name}_auc"), self.auc);
    }

    /// As `name_recall` and `name_precision`.
    pub fn write_guesses(&self, name: &str, sheet: &mut Sheet) {
        sheet.number(format!("{name}_recall"), self.recall);
        sheet.number(format!("{name}_precision"), self.precision);
    }

    /// The same as a point of curves over a parameter.
    pub fn write_at(&self, name: &str, at: (&str, usize), sheet: &mut Sheet) {
        sheet.point(format!("{name}_recall"), at, self.recall);
        sheet.point(format!("{name}_precision"), at, self.precision);
        if let Some(auc) = self.auc {
            sheet.point(format!("{name}_auc"), at, auc);
        }
    }
}

/// How often each pair of vertices was seen, in either order.
pub struct Tally {
    /// Where the pairs begin whose smaller vertex this is.
    offsets: Vec<usize>,
    /// Their greater vertices, as often as they were seen, ascending.
    others: Vec<u32>,
}

/// Which of the ranked pairs are guesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guesses {
    /// All that were seen.
    Seen,
    /// As many as there are edges; of pairs that rank alike the share that there is room for.
    AsManyAsEdges,
}

impl Tally {
    /// Of pairs of `n_nodes` vertices; a vertex and itself is none.
    ///
    /// # Complexity
    ///
    /// Four bytes for each pair given; the iterator is gone through twice.
    pub fn new(n_nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Tally {
        let ordered = pairs.filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v)));
        let mut offsets = vec![0; n_nodes + 1];
        for (u, _) in ordered.clone() {
            offsets[u as usize + 1] += 1;
        }
        for u in 0..n_nodes {
            offsets[u + 1] += offsets[u];
        }
        let (mut others, mut next) = (vec![0; offsets[n_nodes]], offsets.clone());
        for (u, v) in ordered {
            others[next[u as usize]] = v;
            next[u as usize] += 1;
        }
        let lengths = offsets.windows(2).map(|ends| ends[1] - ends[0]);
        rows_of(&mut others, lengths)
            .into_par_iter()
            .for_each(<[u32]>::sort_unstable);
        Tally { offsets, others }
    }

    /// Every pair that was seen is a guess; ranked by how often.
    pub fn seen(&self, graph: &Graph) -> Recovery {
        self.rank(graph, Guesses::Seen, |_| true)
    }

    /// As many guesses as there are edges between vertices `among`, the pairs that were seen most
    /// often.
    pub fn most_seen(&self, graph: &Graph, among: impl Fn(u32) -> bool + Sync) -> Recovery {
        self.rank(graph, Guesses::AsManyAsEdges, among)
    }

    /// As many guesses as there are edges, those of all pairs for which counts and degrees together
    /// speak most; `None` for more than 20 000 vertices.
    ///
    /// Of `N` pairs seen, `b = s_u s_v / 2N` join `u` and `v` by chance, `s` the pairs that a
    /// vertex was seen in. If they are neighbours, `a = keep² N / m` come to it, `m` the edges, as
    /// walks pass every edge alike and an end stays what it is with probability `keep`. For counts
    /// by Poisson's law the logarithm of the ratio is `count × ln(1 + a / b)`, but for a constant;
    /// what is known before of an edge grows with the product of the degrees, whose logarithm
    /// `ln(1 + d_u d_v)` comes to it.
    ///
    /// `degrees` has shape `(n,)`, each at least 0.
    pub fn with_degrees(&self, graph: &Graph, degrees: &[f64], keep: f64) -> Option<Recovery> {
        let mut seen = vec![0u64; degrees.len()];
        for u in 0..degrees.len() {
            let row = self.row(u);
            seen[u] += row.len() as u64;
            row.iter().for_each(|&v| seen[v as usize] += 1);
        }
        let n = self.others.len() as f64;
        let n_edges = degrees.iter().fold(0.0, |sum, degree| sum + degree) / 2.0;
        let by_edge = keep * keep * n / n_edges.max(1.0);
        let score = |u: usize, v: usize, count: usize| {
            let before = libm::log1p(degrees[u] * degrees[v]);
            if count == 0 {
                return before;
            }
            let by_chance = seen[u] as f64 * seen[v] as f64 / (2.0 * n);
            before + count as f64 * libm::log1p(by_edge / by_chance)
        };
        rank_all(graph, |u| {
            let mut rest = self.row(u);
            move |v| {
                let count = rest.iter().take_while(|&&other| other as usize == v).count();
                rest = &rest[count..];
                score(u, v, count)
            }
        })
    }

    fn row(&self, u: usize) -> &[u32] {
        &self.others[self.offsets[u]..self.offsets[u + 1]]
    }

    /// Ranks the pairs of vertices `among` by how often they were seen.
    fn rank(&self, graph: &Graph, guesses: Guesses, among: impl Fn(u32) -> bool + Sync) -> Recovery {
        let among = &among;
        let of_row = |u: usize| {
            let row = if among(u as u32) { self.row(u) } else { &[] };
            let seen = row.chunk_by(|a, b| a == b).filter(move |same| among(same[0]));
            seen.map(move |same| packed(same.len() as f64, graph.has_edge(u as u32, same[0])))
        };
        let rows = (0..self.offsets.len() - 1).into_par_iter();
        let ranking = Ranking::new(rows.flat_map_iter(of_row).collect());
        let n_among = (0..graph.n_nodes() as u32).filter(|&v| among(v)).count() as u64;
        let n_pairs = n_among * n_among.saturating_sub(1) / 2;
        let n_edges = graph.edges().filter(|&(u, v)| among(u) && among(v)).count() as u64;
        let (found, n_seen) = (right(&ranking.0), ranking.0.len() as u64);
        let unseen = (n_edges - found, n_pairs - n_edges - (n_seen - found));
        ranking.recovery(unseen, n_edges, guesses)
    }
}

/// As many guesses as there are edges, those of all pairs of vertices with the highest score;
/// `None` for more than 20 000 vertices.
///
/// `scores` makes of a vertex the score, at least 0, of its pair with each greater one, asked for
/// in their order.
pub fn rank_all<R: FnMut(usize) -> f64>(graph: &Graph, scores: impl Fn(usize) -> R + Sync) -> Option<Recovery> {
    let n_nodes = graph.n_nodes();
    if n_nodes > MAX_RANKED_NODES {
        return None;
    }
    let mut pairs = vec![0; n_nodes * n_nodes.saturating_sub(1) / 2];
    let rows = rows_of(&mut pairs, (0..n_nodes).map(|u| n_nodes - 1 - u));
    rows.into_par_iter().enumerate().for_each(|(u, row)| {
        let mut score = scores(u);
        for (v, pair) in (u + 1..).zip(row) {
            *pair = packed(score(v), graph.has_edge(u as u32, v as u32));
        }
    });
    Some(Ranking::new(pairs).recovery((0, 0), graph.n_edges() as u64, Guesses::AsManyAsEdges))
}

/// As many guesses as there are `edges` among these and `others`, the pairs with the highest score,
/// at least 0.
pub fn rank(edges: &[(u32, u32)], others: &[(u32, u32)], score: impl Fn((u32, u32)) -> f64) -> Recovery {
    let packed_all = |pairs: &[(u32, u32)], is_edge| -> Vec<u32> {
        pairs.iter().map(|pair| packed(score(*pair), is_edge)).collect()
    };
    let ranking = Ranking::new([packed_all(edges, true), packed_all(others, false)].concat());
    ranking.recovery((0, 0), edges.len() as u64, Guesses::AsManyAsEdges)
}

/// A score that is not negative, rounded, and whether the pair is an edge. Such numbers are in the
/// order of their bits, whose highest is free for the edge.
fn packed(score: f64, is_edge: bool) -> u32 {
    ((score as f32).to_bits() << 1) | u32::from(is_edge)
}

/// Packed pairs, the lowest score first.
struct Ranking(Vec<u32>);

impl Ranking {
    fn new(mut pairs: Vec<u32>) -> Self {
        pairs.par_sort_unstable();
        Ranking(pairs)
    }

    /// With `unseen` more below all, so many edges and so many other pairs, and `n_edges` edges in
    /// all.
    fn recovery(&self, unseen: (u64, u64), n_edges: u64, guesses: Guesses) -> Recovery {
        let groups = || {
            let alike = self.0.chunk_by(|a, b| a >> 1 == b >> 1);
            alike.map(|group| (right(group), group.len() as u64))
        };
        let others = groups().map(|(right, all)| (right, all - right));
        let auc = auc_of_groups(std::iter::once(unseen).chain(others));
        let n_ranked = self.0.len() as u64;
        let n_guesses = match guesses {
            Guesses::Seen => n_ranked,
            Guesses::AsManyAsEdges => n_ranked.min(n_edges),
        };
        let (mut hits, mut left) = (0.0, n_guesses);
        for (right, all) in groups().rev() {
            let taken = all.min(left);
            hits += right as f64 * (taken as f64 / all as f64);
            left -= taken;
        }
        let share = |of: u64| if of == 0 { 1.0 } else { hits / of as f64 };
        Recovery {
            recall: share(n_edges),
            precision: share(n_guesses),
            auc,
        }
    }
}

/// Rows of these lengths, one after the other.
fn rows_of(mut values: &mut [u32], lengths: impl Iterator<Item = usize>) -> Vec<&mut [u32]> {
    lengths
        .map(|length| values.split_off_mut(..length).unwrap_or_default())
        .collect()
}

/// How many of these pairs are edges.
fn right(ranked: &[u32]) -> u64 {
    ranked.iter().filter(|pair| *pair & 1 == 1).count() as u64
}

/// Edges and as many pairs without one, drawn uniformly with repeats; none where either is missing.
pub fn sample_pairs(graph: &Graph, rng: &mut SimRng) -> Option<[Vec<(u32, u32)>; 2]> {
    let n = graph.n_nodes();
    let edges: Vec<(u32, u32)> = graph.edges().collect();
    if edges.is_empty() || edges.len() == n * (n - 1) / 2 {
        return None;
    }
    let n_sampled = edges.len().min(SAMPLED_PAIRS);
    let sampled = (0..n_sampled).map(|_| edges[index(rng, edges.len())]).collect();
    let mut others = Vec::with_capacity(n_sampled);
    while others.len() < n_sampled {
        let (u, v) = (index(rng, n) as u32, index(rng, n) as u32);
        if u != v && !graph.has_edge(u, v) {
            others.push((u, v));
        }
    }
    Some([sampled, others])
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    /// A path of four vertices.
    fn path() -> Graph {
        Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], false).unwrap()
    }

    #[test]
    fn pairs_count_in_either_direction_and_the_most_seen_are_guessed() {
        let graph = path();
        // Of the six pairs, one edge was seen three times, an edge and two others once, and an edge
        // never.
        let tally = Tally::new(4, [(0, 1), (1, 0), (3, 0), (2, 2), (2, 1), (1, 0), (1, 3)].into_iter());
        let auc = Some((3.0 + (2.0 / 2.0 + 1.0) + 0.5) / 9.0);
        let (recall, precision) = (2.0 / 3.0, 2.0 / 4.0);
        assert_eq!(tally.seen(&graph), Recovery { recall, precision, auc });
        // There is room for two of the three that were seen once.
        let share = (1.0 + 2.0 / 3.0) / 3.0;
        let most = tally.most_seen(&graph, |_| true);
        assert!((most.recall - share).abs() < 1e-15 && (most.precision - share).abs() < 1e-15);
        assert_eq!(most.auc, auc);
        // Without vertex 0 there are two edges and one other pair.
        let most = tally.most_seen(&graph, |v| v != 0);
        assert_eq!((most.recall, most.precision), (0.5, 0.5));
        assert_eq!(most.auc, Some((0.5 + 0.0) / 2.0));
    }

    #[test]
    fn nothing_seen_is_no_guess_and_a_coin() {
        let none = Tally::new(4, std::iter::empty());
        let found = none.seen(&path());
        assert_eq!((found.recall, found.precision, found.auc), (0.0, 1.0, Some(0.5)));
        // Three of six pairs are edges, and all are guessed alike.
        let found = none.with_degrees(&path(), &[0.0; 4], 1.0).unwrap();
        assert_eq!((found.recall, found.precision, found.auc), (0.5, 0.5, Some(0.5)));
        let whole = Graph::from_edges(2, &[(0, 1)], false).unwrap();
        assert_eq!(Tally::new(2, [(1, 0)].into_iter()).seen(&whole).auc, None);
    }

    /// Two hubs meet by chance more often than two quiet vertices do by their edge: counts name the
    /// hubs, the ratio the edge.
    #[test]
    fn degrees_discount_vertices_that_are_seen_everywhere_and_speak_where_counts_do_not() {
        let by_chance = (2..42).flat_map(|v| [(0, v), (1, v)]);
        let tally = Tally::new(44, by_chance.chain([(0, 1); 6]).chain([(42, 43); 4]));
        let alike = [1.0 / 22.0; 44];
        let quiet = Graph::from_edges(44, &[(42, 43)], false).unwrap();
        let both = tally.with_degrees(&quiet, &alike, 1.0).unwrap();
        assert_eq!((both.precision, both.auc), (1.0, Some(1.0)));
        assert_eq!(tally.most_seen(&quiet, |_| true).precision, 0.0);
        // And where it is the hubs that are joined, counts are right.
        let hubs = Graph::from_edges(44, &[(0, 1)], false).unwrap();
        assert_eq!(tally.with_degrees(&hubs, &alike, 1.0).unwrap().precision, 0.0);
        assert_eq!(tally.most_seen(&hubs, |_| true).precision, 1.0);
        // Entries that are never what they were tell nothing, so degrees alone decide.
        let degrees: Vec<f64> = (0..44).map(|v| f64::from(u8::from(v < 2))).collect();
        assert_eq!(tally.with_degrees(&hubs, &degrees, 0.0).unwrap().precision, 1.0);
        assert_eq!(tally.with_degrees(&quiet, &degrees, 0.0).unwrap().precision, 0.0);
    }

    #[test]
    fn a_sample_has_edges_and_pairs_that_are_none() {
        let mut rng = SimRng::seed_from_u64(5);
        let graph = path();
        let [edges, others] = sample_pairs(&graph, &mut rng).unwrap();
        assert_eq!((edges.len(), others.len()), (3, 3));
        assert!(edges.iter().all(|&(u, v)| graph.has_edge(u, v)));
        assert!(others.iter().all(|&(u, v)| u != v && !graph.has_edge(u, v)));
        let whole = Graph::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false).unwrap();
        assert!(sample_pairs(&whole, &mut rng).is_none());
    }
}
