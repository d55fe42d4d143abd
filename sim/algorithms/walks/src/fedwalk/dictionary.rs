//! The published degree vectors, and the pools that anybody can work out from them.

use folkmoot_similarity::vector::l1;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The bins of all vertices: random, none empty (phase A1).
pub fn group_plan(n_nodes: usize, n_bins: usize, mut index: impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut order: Vec<u32> = (0..n_nodes as u32).collect();
    let mut bins = vec![0; n_nodes];
    // The first n_bins vertices of a random order fill one bin each, the others fall anywhere.
    for i in 0..n_nodes {
        let j = i + index(n_nodes - i);
        order.swap(i, j);
        bins[order[i] as usize] = if i < n_bins { i as u8 } else { index(n_bins) as u8 };
    }
    bins
}

/// All noisy degree vectors, `|V| × k`, with what follows from them for everybody.
///
/// A pool is a function of the vectors and the plan, which every device holds: it is worked out
/// once and shared, where real devices would each do it for themselves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "Vec<f32>", into = "Vec<f32>")]
pub struct Dictionary {
    vectors: Vec<f32>,
    members: OnceLock<Vec<Vec<u32>>>,
    pools: OnceLock<Vec<OnceLock<Box<[u32]>>>>,
}

impl Clone for Dictionary {
    fn clone(&self) -> Self {
        Dictionary::new(self.vectors.clone())
    }
}

impl From<Vec<f32>> for Dictionary {
    fn from(vectors: Vec<f32>) -> Self {
        Dictionary::new(vectors)
    }
}

impl From<Dictionary> for Vec<f32> {
    fn from(dictionary: Dictionary) -> Self {
        dictionary.vectors
    }
}

impl Dictionary {
    /// The dictionary of these vectors, row-major.
    pub fn new(vectors: Vec<f32>) -> Self {
        Dictionary {
            vectors,
            members: OnceLock::new(),
            pools: OnceLock::new(),
        }
    }

    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// The vector of vertex `u` among `n_nodes`; empty if there is no such vertex.
    pub fn row(&self, u: u32, n_nodes: usize) -> &[f32] {
        let k = self.vectors.len() / n_nodes.max(1);
        self.vectors.get(u as usize * k..(u as usize + 1) * k).unwrap_or(&[])
    }

    /// The noisy degree of vertex `u`: the sum of its vector.
    pub fn noisy_degree(&self, u: u32, n_nodes: usize) -> f32 {
        self.row(u, n_nodes).iter().fold(0.0, |sum, count| sum + count)
    }

    /// The pool of vertex `u` (papers' phase B, step 3, with the distance of vectors in place of
    /// the tree): in each bin the `max(0, round(count))` vertices nearest to `u`, `u` excluded,
    /// ties by index; ascending.
    pub fn pool(&self, u: u32, plan: &[u8]) -> &[u32] {
        let pools = self
            .pools
            .get_or_init(|| plan.iter().map(|_| OnceLock::new()).collect());
        match pools.get(u as usize) {
            Some(pool) => pool.get_or_init(|| self.nearest(u, plan)),
            None => &[],
        }
    }

    fn nearest(&self, u: u32, plan: &[u8]) -> Box<[u32]> {
        let row = self.row(u, plan.len());
        let members = self.members.get_or_init(|| {
            let mut members = vec![Vec::new(); row.len()];
            for (v, &bin) in plan.iter().enumerate() {
                if let Some(bin) = members.get_mut(usize::from(bin)) {
                    bin.push(v as u32);
                }
            }
            members
        });
        let mut pool = Vec::new();
        let mut near: Vec<(f32, u32)> = Vec::new();
        for (count, members) in row.iter().zip(members) {
            let wanted = count.round().max(0.0) as usize;
            if wanted == 0 {
                continue;
            }
            near.clear();
            near.extend(
                members
                    .iter()
                    .filter(|&&v| v != u)
                    .map(|&v| (l1(row, self.row(v, plan.len())), v)),
            );
            if wanted < near.len() {
                near.select_nth_unstable_by(wanted - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                near.truncate(wanted);
            }
            pool.extend(near.iter().map(|&(_, v)| v));
        }
        pool.sort_unstable();
        pool.into()
    }

    /// The matrix that a device with these neighbours uploads (Eq. 5): their vectors by ascending
    /// noisy degree, ties by index, row-major.
    pub fn ordered_matrix(&self, neighbours: &[u32], n_nodes: usize) -> Box<[f32]> {
        let mut order: Vec<(f32, u32)> = neighbours.iter().map(|&v| (self.noisy_degree(v, n_nodes), v)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order.iter().flat_map(|&(_, v)| self.row(v, n_nodes)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Five vertices in two bins, worked out by hand.
    #[test]
    fn the_pool_takes_the_nearest_of_each_bin() {
        let plan = [0, 0, 0, 1, 1];
        #[rustfmt::skip]
        let dictionary = Dictionary::new(vec![
            1.6, 0.4, // asks for two of bin 0 and none of bin 1
            0.0, 0.4, // distance 1.6 from vertex 0
            1.0, 0.4, // distance 0.6
            9.0, 1.5, // asks for nine and two
            1.6, 0.4,
        ]);
        assert_eq!(dictionary.pool(0, &plan), [1, 2]);
        assert_eq!(
            dictionary.pool(3, &plan),
            [0, 1, 2, 4],
            "a vertex is not in its own pool, a bin gives what it has"
        );
        assert_eq!(dictionary.pool(1, &plan), [] as [u32; 0]);
        assert_eq!(
            dictionary.pool(2, &plan),
            [0],
            "one wanted: vertex 0 at 0.6, vertex 1 at 1.0"
        );
        assert_eq!(dictionary.pool(7, &plan), [] as [u32; 0]);
    }

    #[test]
    fn rows_of_the_matrix_are_ordered_by_noisy_degree() {
        let dictionary = Dictionary::new(vec![3.0, 1.0, 0.5, 0.5, 2.0, 2.0]);
        assert_eq!(
            *dictionary.ordered_matrix(&[0, 1, 2], 3),
            [0.5, 0.5, 3.0, 1.0, 2.0, 2.0]
        );
        assert!(dictionary.ordered_matrix(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn no_bin_is_empty(n_nodes in 1usize..200, n_bins in 1usize..10, seed in any::<u64>()) {
            let n_bins = n_bins.min(n_nodes);
            let mut state = seed;
            let plan = group_plan(n_nodes, n_bins, |n| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % n
            });
            for bin in 0..n_bins {
                prop_assert!(plan.contains(&(bin as u8)));
            }
        }
    }
}
