//! Agglomerative clustering of a matrix of dissimilarities.
//!
//! Every vertex begins as a cluster; the two clusters least unlike are merged until one is left. A
//! cluster goes by its smallest vertex; among equal pairs the one with the smallest first, then
//! second name is merged. Pairs are merged in this order, not in that of a nearest-neighbour chain,
//! which is faster in the worst case but resolves ties by where the chain happens to be.
//!
//! Updates are computed in `f64` and stored as `f32`. Both roundings are monotone, so heights never
//! decrease, and the average of equal values is that value.

use crate::dissimilarity::Condensed;

/// How unlike a merged cluster is to another one (Lance and Williams 1967).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// The mean over all pairs of their vertices.
    #[default]
    Average,
    Single,
    Complete,
    /// Ward's formula with the given values in the place of Euclidean distances.
    Ward,
}

/// Two clusters that become one. Clusters `0..n` are the vertices; that of merge `i` is `n + i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merge {
    /// The cluster of the smaller number.
    pub a: u32,
    pub b: u32,
    pub height: f32,
    /// The vertices in both.
    pub size: u32,
}

impl Linkage {
    /// The dissimilarity of the union of `a` and `b` to `c`; sizes are of `a`, `b` and `c`.
    #[inline(always)]
    fn update(self, ac: f32, bc: f32, ab: f32, [a, b, c]: [f64; 3]) -> f32 {
        match self {
            Linkage::Average => ((a * f64::from(ac) + b * f64::from(bc)) / (a + b)) as f32,
            Linkage::Single => ac.min(bc),
            Linkage::Complete => ac.max(bc),
            Linkage::Ward => {
                let [ac, bc, ab] = [ac, bc, ab].map(|d| f64::from(d) * f64::from(d));
                (((a + c) * ac + (b + c) * bc - c * ab) / (a + b + c)).max(0.0).sqrt() as f32
            }
        }
    }
}

/// The `n − 1` merges of the `n` vertices, by ascending height. The matrix is used up: a caller who
/// needs it keeps a copy.
///
/// # Panics
/// When a value is negative or not finite ([`Condensed::cap_infinite`] sees to isolated vertices):
/// the caller's bug.
///
/// # Complexity
/// `O(n²)` time in practice, `O(n³)` at worst; `O(n)` memory beside the matrix.
pub fn linkage(dissimilarity: Condensed, method: Linkage) -> Vec<Merge> {
    let legal = dissimilarity.values().iter().all(|&d| d.is_finite() && d >= 0.0);
    assert!(legal, "dissimilarities must be finite and at least 0");
    let n = dissimilarity.n();
    let mut clusters = Clusters::new(dissimilarity, method);
    (1..n).map(|i| clusters.merge((n + i - 1) as u32)).collect()
}

/// The clusters left, by the name of their smallest vertex.
struct Clusters {
    n: usize,
    method: Linkage,
    /// Values of pairs whose second cluster is gone are infinite.
    values: Vec<f32>,
    active: Vec<u32>,
    /// The number that each goes by in the merges, and its size.
    number: Vec<u32>,
    size: Vec<u32>,
    /// The least value to a cluster of larger name, or less if stale; infinite for clusters that
    /// are gone.
    least: Vec<f32>,
    /// The smallest name that has it.
    nearest: Vec<u32>,
    stale: Vec<bool>,
}

impl Clusters {
    fn new(dissimilarity: Condensed, method: Linkage) -> Clusters {
        let n = dissimilarity.n();
        let mut clusters = Clusters {
            n,
            method,
            values: dissimilarity.into_values(),
            active: (0..n as u32).collect(),
            number: (0..n as u32).collect(),
            size: vec![1; n],
            least: vec![f32::INFINITY; n],
            nearest: vec![0; n],
            stale: vec![false; n],
        };
        for u in 0..n {
            clusters.search(u);
        }
        clusters
    }

    /// Where the pair `u < v` is, less `v`.
    fn base(&self, u: usize) -> usize {
        // At least 0 with `v` added, hence the wrapping.
        (u * (2 * self.n - u - 1) / 2).wrapping_sub(u + 1)
    }

    fn at(&self, u: usize, v: usize) -> usize {
        self.base(u.min(v)).wrapping_add(u.max(v))
    }

    /// Finds the cluster of larger name nearest to `u`.
    fn search(&mut self, u: usize) {
        let begin = self.base(u).wrapping_add(u + 1);
        let (v, least) = first_least(&self.values[begin..begin + self.n - u - 1]);
        self.least[u] = least;
        self.nearest[u] = (u + 1 + v) as u32;
        self.stale[u] = false;
    }

    /// Merges the nearest pair into a cluster with this number.
    fn merge(&mut self, number: u32) -> Merge {
        let a = loop {
            let (u, _) = first_least(&self.least);
            if !self.stale[u] {
                break u;
            }
            self.search(u);
        };
        let b = self.nearest[a] as usize;
        let height = self.least[a];
        self.update(a, b, height);
        self.active.retain(|&u| u as usize != b);
        self.least[b] = f32::INFINITY;
        self.stale[b] = false;
        self.search(a);
        let merge = Merge {
            a: self.number[a].min(self.number[b]),
            b: self.number[a].max(self.number[b]),
            height,
            size: self.size[a] + self.size[b],
        };
        self.number[a] = number;
        self.size[a] = merge.size;
        merge
    }

    /// Gives `a` the values of the union of `a < b`, and takes `b` away.
    fn update(&mut self, a: usize, b: usize, height: f32) {
        let sizes = [self.size[a], self.size[b]].map(f64::from);
        for i in 0..self.active.len() {
            let u = self.active[i] as usize;
            if u == a || u == b {
                continue;
            }
            let (ua, ub) = (self.at(u, a), self.at(u, b));
            let size = [sizes[0], sizes[1], f64::from(self.size[u])];
            let value = self.method.update(self.values[ua], self.values[ub], height, size);
            self.values[ua] = value;
            if u > b {
                continue;
            }
            self.values[ub] = f32::INFINITY;
            let nearest = self.nearest[u] as usize;
            if u > a {
                self.stale[u] |= nearest == b;
            } else if !self.stale[u] {
                debug_assert!(value >= self.least[u]);
                // No linkage brings a union nearer than both its parts, so `least` is a bound at
                // worst.
                if value == self.least[u] && a <= nearest {
                    self.nearest[u] = a as u32;
                } else {
                    self.stale[u] = nearest == a || nearest == b;
                }
            }
        }
        let ab = self.at(a, b);
        self.values[ab] = f32::INFINITY;
    }
}

/// The first of the least values, with that value; (0, ∞) of none.
fn first_least(values: &[f32]) -> (usize, f32) {
    const STEP: usize = 16;
    let (chunks, rest) = values.as_chunks::<STEP>();
    let mut least = [f32::INFINITY; STEP];
    for chunk in chunks {
        for (least, &value) in least.iter_mut().zip(chunk) {
            *least = if value < *least { value } else { *least };
        }
    }
    let least = least.iter().chain(rest).copied().fold(f32::INFINITY, f32::min);
    (values.iter().position(|&value| value == least).unwrap_or(0), least)
}

#[cfg(test)]
mod tests;
