//! The binary tree of hierarchical softmax.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A Huffman tree over vertices `0..n` with `n − 1` inner nodes, the last of which is the root.
#[derive(Debug)]
pub(super) struct Huffman {
    offsets: Vec<usize>,
    /// The inner nodes from the root to a leaf, and whether the way goes to the second child there.
    steps: Vec<(u32, bool)>,
}

impl Huffman {
    /// The tree for these counts. The two lightest nodes join first; among equals, vertices by id,
    /// then inner nodes by age.
    pub(super) fn new(counts: &[u64]) -> Huffman {
        let n = counts.len();
        let mut heap: BinaryHeap<Reverse<(u64, usize)>> = counts
            .iter()
            .enumerate()
            .map(|(i, &count)| Reverse((count, i)))
            .collect();
        let mut parents = vec![(0u32, false); (2 * n).saturating_sub(1)];
        let mut next = n;
        while let (Some(Reverse((first, a))), Some(Reverse((second, b)))) = (heap.pop(), heap.pop()) {
            parents[a] = ((next - n) as u32, false);
            parents[b] = ((next - n) as u32, true);
            if heap.is_empty() {
                break;
            }
            heap.push(Reverse((first + second, next)));
            next += 1;
        }
        let mut offsets = vec![0];
        let mut steps = Vec::new();
        for leaf in 0..n {
            let first = steps.len();
            let mut node = leaf;
            while node + 1 < parents.len() {
                let (parent, second) = parents[node];
                steps.push((parent, second));
                node = n + parent as usize;
            }
            steps[first..].reverse();
            offsets.push(steps.len());
        }
        Huffman { offsets, steps }
    }

    /// The way to `vertex` from the root.
    pub(super) fn path(&self, vertex: u32) -> &[(u32, bool)] {
        &self.steps[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_five_counts_is_the_one_by_hand() {
        // 1 + 1 → node 0 (2); 2 + node 0 → node 1 (4); 3 + node 1 → node 2 (7); node 2 + 9 → node
        // 3, the root.
        let tree = Huffman::new(&[9, 1, 3, 1, 2]);
        assert_eq!(tree.path(0), [(3, true)]);
        assert_eq!(tree.path(2), [(3, false), (2, false)]);
        assert_eq!(tree.path(4), [(3, false), (2, true), (1, false)]);
        assert_eq!(tree.path(1), [(3, false), (2, true), (1, true), (0, false)]);
        assert_eq!(tree.path(3), [(3, false), (2, true), (1, true), (0, true)]);
    }

    #[test]
    fn one_vertex_needs_no_step() {
        assert!(Huffman::new(&[5]).path(0).is_empty());
        assert_eq!(Huffman::new(&[5, 5]).path(1), [(0, true)]);
    }

    #[test]
    fn the_shares_of_all_leaves_add_up_to_one() {
        let counts: Vec<u64> = (0..100).map(|i| i * i % 37).collect();
        let tree = Huffman::new(&counts);
        let sum: f64 = (0..100).map(|v| libm::exp2(-(tree.path(v).len() as f64))).sum();
        assert_eq!(sum, 1.0);
    }
}
