//! A tree for more vertices than a matrix can be had for: split from the top, clustered exactly
//! below.

use std::ops::Range;

use rayon::prelude::*;

use super::Tree;
use crate::dissimilarity::Condensed;
use crate::linkage::{Linkage, linkage};

/// Rounds of the power iteration: what it leaves of the other directions does not matter to a
/// split.
const ROUNDS: usize = 32;

/// A tree over the vertices with these `(n, k)` row-major vectors, of which at most `part_size` at
/// a time are compared in pairs.
///
/// A part that is too large is halved at the median of its vectors' coordinates along the direction
/// in which they vary most (the first principal component; ties by index), and so on; each small
/// part is clustered by `method` on the matrix that `pairs` gives for its vertices, in ascending
/// order, with infinite values capped. The splits are the upper inner nodes, so their order is that
/// of the splits, not of the dissimilarities. `pairs` is for instance
/// `|part| sequences.select(part).all_pairs(Metric::L1)`.
///
/// # Panics
/// When the vectors do not have whole rows of `k > 0` numbers, `part_size` is 0, or `pairs` gives a
/// matrix of another size: the caller's bug.
///
/// # Determinism
/// Sums run over a part in ascending index on one thread; parts are disjoint and joined in their
/// order. Threads do not matter.
///
/// # Complexity
/// `O(n k² log(n / part_size))` for the splits, `n part_size` pairs in all, of at most
/// `part_size² / 2` a thread at once.
pub fn hybrid(
    vectors: &[f32],
    k: usize,
    part_size: usize,
    method: Linkage,
    pairs: impl Fn(&[u32]) -> Condensed + Sync,
) -> Tree {
    assert!(
        k > 0 && vectors.len().is_multiple_of(k),
        "vectors must have whole rows of k > 0 numbers"
    );
    assert!(part_size > 0, "a part must have room for a vertex");
    let n = vectors.len() / k;
    let mut order: Vec<u32> = (0..n as u32).collect();
    let plan = split(vectors, k, part_size, &mut order, 0);
    let mut parts = Vec::new();
    plan.parts(&mut parts);
    let merges: Vec<Vec<[u32; 2]>> = parts
        .into_par_iter()
        .with_max_len(1)
        .map(|part| {
            let vertices = &order[part];
            let mut matrix = pairs(vertices);
            assert_eq!(matrix.n(), vertices.len(), "a part's matrix must be of its vertices");
            matrix.cap_infinite();
            linkage(matrix, method).iter().map(|merge| [merge.a, merge.b]).collect()
        })
        .collect();
    let mut children = Vec::with_capacity(n.saturating_sub(1));
    if n > 0 {
        plan.join(n, &order, &mut merges.into_iter(), &mut children);
    }
    Tree::new(n, children).expect("parts and splits make a tree")
}

/// How the vertices were split; a part is a range of their order.
enum Plan {
    Part(Range<usize>),
    Split(Box<[Plan; 2]>),
}

impl Plan {
    fn parts(&self, out: &mut Vec<Range<usize>>) {
        match self {
            Plan::Part(part) => out.push(part.clone()),
            Plan::Split(halves) => halves.iter().for_each(|half| half.parts(out)),
        }
    }

    /// Appends the inner nodes, those of `merges` renumbered, and returns the root.
    fn join(
        &self,
        n: usize,
        order: &[u32],
        merges: &mut impl Iterator<Item = Vec<[u32; 2]>>,
        children: &mut Vec<[u32; 2]>,
    ) -> u32 {
        match self {
            Plan::Part(part) => {
                let vertices = &order[part.clone()];
                let first = (n + children.len()) as u32;
                let global = |node: u32| match vertices.get(node as usize) {
                    Some(&u) => u,
                    None => first + (node - vertices.len() as u32),
                };
                let own = merges.next().unwrap_or_default();
                children.extend(own.iter().map(|pair| pair.map(global)));
                global((vertices.len() + own.len() - 1) as u32)
            }
            Plan::Split(halves) => {
                let pair = [0, 1].map(|side: usize| halves[side].join(n, order, merges, children));
                children.push(pair);
                (n + children.len() - 1) as u32
            }
        }
    }
}

/// Orders `vertices`, which begin at `begin` of the whole, so that parts are ranges; ascending
/// within each.
fn split(vectors: &[f32], k: usize, part_size: usize, vertices: &mut [u32], begin: usize) -> Plan {
    if vertices.len() <= part_size {
        return Plan::Part(begin..begin + vertices.len());
    }
    let direction = widest(vectors, k, vertices);
    let coordinate = |&u: &u32| {
        let row = &vectors[u as usize * k..][..k];
        let along = row
            .iter()
            .zip(&direction)
            .fold(0.0, |sum, (x, d)| sum + f64::from(*x) * d);
        (along, u)
    };
    let mut coordinates: Vec<(f64, u32)> = vertices.iter().map(coordinate).collect();
    let half = vertices.len() / 2;
    coordinates.select_nth_unstable_by(half, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (u, &(_, v)) in vertices.iter_mut().zip(&coordinates) {
        *u = v;
    }
    drop(coordinates);
    let (low, high) = vertices.split_at_mut(half);
    // Sums run in ascending index, whatever order the selection left.
    low.sort_unstable();
    high.sort_unstable();
    let (low, high) = rayon::join(
        || split(vectors, k, part_size, low, begin),
        || split(vectors, k, part_size, high, begin + half),
    );
    Plan::Split(Box::new([low, high]))
}

/// The direction in which the vectors vary most, by power iteration from their widest coordinate;
/// zero if they do not vary.
fn widest(vectors: &[f32], k: usize, vertices: &[u32]) -> Vec<f64> {
    let rows = || vertices.iter().map(|&u| &vectors[u as usize * k..][..k]);
    let mut mean = vec![0.0; k];
    for row in rows() {
        for (mean, &x) in mean.iter_mut().zip(row) {
            *mean += f64::from(x);
        }
    }
    mean.iter_mut().for_each(|mean| *mean /= vertices.len() as f64);
    let mut covariance = vec![0.0; k * k];
    let mut centred = vec![0.0; k];
    for row in rows() {
        for ((centred, &x), mean) in centred.iter_mut().zip(row).zip(&mean) {
            *centred = f64::from(x) - mean;
        }
        for (line, &x) in covariance.chunks_exact_mut(k).zip(&centred) {
            for (sum, &y) in line.iter_mut().zip(&centred) {
                *sum += x * y;
            }
        }
    }
    // The first of equal ones, as everywhere.
    let axis = (0..k).reduce(|best, c| {
        if covariance[c * k + c] > covariance[best * k + best] {
            c
        } else {
            best
        }
    });
    let mut direction = vec![0.0; k];
    direction[axis.unwrap_or(0)] = 1.0;
    for _ in 0..ROUNDS {
        let mut next: Vec<f64> = covariance.chunks_exact(k).map(|line| dot(line, &direction)).collect();
        let norm = dot(&next, &next).sqrt();
        if norm == 0.0 {
            return next;
        }
        next.iter_mut().for_each(|x| *x /= norm);
        direction = next;
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}
