//! The score of every pair of vertices (Eqs. 9-12): minus their dissimilarity times the leaves
//! under their lowest common ancestor.

use super::dictionary::Dictionary;
use super::theory::encoder_score;
use folkmoot_similarity::dissimilarity::Condensed;
use folkmoot_similarity::tree::Tree;
use folkmoot_similarity::vector::l1;
use rayon::prelude::*;

/// Without a matrix, subtrees of at most this many leaves are looked through vertex by vertex;
/// beyond them the order by noisy degree finds the few that are near enough. A million vertices
/// take least time with some ten thousand.
const SCAN: u32 = 16_384;

/// Where each vertex stands by noisy degree, for trees without a matrix.
#[derive(Debug)]
pub(super) struct DegreeIndex {
    /// In the tree's order.
    in_order: Vec<f64>,
    /// Ascending, with the vertices.
    sorted: Vec<(f64, u32)>,
}

impl DegreeIndex {
    pub(super) fn new(tree: &Tree, dictionary: &Dictionary) -> Self {
        let n = tree.n_leaves();
        let degree = |v: u32| {
            dictionary
                .row(v, n)
                .iter()
                .fold(0.0, |sum, &count| sum + f64::from(count))
        };
        let mut sorted: Vec<(f64, u32)> = (0..n as u32).map(|v| (degree(v), v)).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        DegreeIndex {
            in_order: tree.order().iter().map(|&v| degree(v)).collect(),
            sorted,
        }
    }

    /// The vertices whose noisy degree differs by at most `width`, with the difference.
    fn around(&self, degree: f64, width: f64) -> impl Iterator<Item = (f64, u32)> + '_ {
        let begin = self.sorted.partition_point(|(at, _)| *at < degree - width);
        let rest = self.sorted[begin..].iter();
        rest.take_while(move |(at, _)| *at <= degree + width)
            .map(move |&(at, v)| ((at - degree).abs(), v))
    }
}

/// A view of all scores.
#[derive(Clone, Copy)]
pub(super) struct PairScores<'a> {
    pub(super) tree: &'a Tree,
    pub(super) matrix: Option<&'a Condensed>,
    pub(super) dictionary: &'a Dictionary,
    /// Without a matrix only.
    pub(super) degrees: Option<&'a DegreeIndex>,
}

impl PairScores<'_> {
    pub(super) fn n(&self) -> usize {
        self.tree.n_leaves()
    }

    /// The dissimilarity of two vertices: of their matrices, or else of their degree vectors.
    #[inline]
    pub(super) fn dissimilarity(&self, u: u32, v: u32) -> f32 {
        match self.matrix {
            Some(matrix) => matrix.get(u, v),
            None => l1(self.dictionary.row(u, self.n()), self.dictionary.row(v, self.n())),
        }
    }

    pub(super) fn score(&self, u: u32, v: u32) -> f64 {
        encoder_score(f64::from(self.dissimilarity(u, v)), self.tree.leaves_under_lca(u, v))
    }

    /// Calls `f` with every other vertex and its score, ring by ring.
    #[inline]
    pub(super) fn for_each_other(&self, u: u32, mut f: impl FnMut(u32, f64)) {
        for ring in self.tree.rings(u) {
            for &v in ring.vertices {
                f(v, encoder_score(f64::from(self.dissimilarity(u, v)), ring.leaves));
            }
        }
    }

    /// Every vertex whose score with `u` is at least `-limit`, `u` itself among them, ascending.
    pub(super) fn within(&self, u: u32, limit: f64) -> Vec<(u32, f64)> {
        let mut found = vec![(u, 0.0)];
        match self.degrees {
            None => self.for_each_other(u, |v, score| {
                if score >= -limit {
                    found.push((v, score));
                }
            }),
            Some(degrees) => self.within_by_degree(u, limit, degrees, &mut found),
        }
        found.sort_unstable_by_key(|&(v, _)| v);
        found
    }

    /// Noisy degrees are sums of the vectors, so they differ by no more than the vectors do in l1:
    /// most vertices are ruled out by them alone. The slack is for the rounding of dissimilarities
    /// to `f32`.
    fn within_by_degree(&self, u: u32, limit: f64, degrees: &DegreeIndex, found: &mut Vec<(u32, f64)>) {
        let row = self.dictionary.row(u, self.n());
        let degree = row.iter().fold(0.0, |sum, &count| sum + f64::from(count));
        let slack = |width: f64| width * 1.0001 + 1e-9;
        let mut scanned = 1;
        for ring in self.tree.rings(u).take_while(|ring| ring.leaves <= SCAN) {
            let width = slack(limit / f64::from(ring.leaves));
            scanned = ring.leaves;
            for (&v, at) in ring.vertices.iter().zip(&degrees.in_order[ring.range.clone()]) {
                if (at - degree).abs() <= width {
                    let score = encoder_score(f64::from(self.dissimilarity(u, v)), ring.leaves);
                    found.extend((score >= -limit).then_some((v, score)));
                }
            }
        }
        if scanned as usize == self.n() {
            return;
        }
        for (difference, v) in degrees.around(degree, slack(limit / f64::from(SCAN))) {
            let leaves = self.tree.leaves_under_lca(u, v);
            if leaves > SCAN && difference <= slack(limit / f64::from(leaves)) {
                let score = encoder_score(f64::from(self.dissimilarity(u, v)), leaves);
                found.extend((score >= -limit).then_some((v, score)));
            }
        }
    }

    /// The largest absolute score of any pair, in O(n²).
    pub(super) fn largest(&self) -> f64 {
        let of = |u: u32| {
            let mut largest = 0.0f64;
            self.for_each_other(u, |_, score| largest = largest.max(-score));
            largest
        };
        (0..self.n() as u32).into_par_iter().map(of).reduce(|| 0.0, f64::max)
    }
}
