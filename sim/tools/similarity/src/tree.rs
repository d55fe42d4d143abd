//! A binary tree over the vertices of a graph, and the questions asked of it: how many leaves are
//! under a lowest common ancestor, and which vertices are nearest.
//!
//! Leaves lie in one order in which every subtree is a range. Between two neighbours in that order
//! stands the size of the subtree that joins them; the leaves under the lowest common ancestor of
//! any two are the largest number between them. A tree comes from
//! [`linkage`](crate::linkage::linkage) or, where no matrix fits, from [`hybrid`].

mod hybrid;
mod range_max;

pub use hybrid::hybrid;

use std::ops::Range;
use thiserror::Error;

use crate::linkage::Merge;
use range_max::RangeMax;

/// A rooted binary tree of `n` leaves, the vertices `0..n`, and `n − 1` inner nodes from `n` on,
/// children before parents.
///
/// Memory is about 40 bytes a leaf; on the wire the children are enough, [`Tree::encoded_len`].
#[derive(Clone, Debug)]
pub struct Tree {
    n: usize,
    children: Vec<[u32; 2]>,
    /// Of every node but the root, the last.
    parent: Vec<u32>,
    /// Of every node: its first leaf in `order`.
    start: Vec<u32>,
    /// Of inner nodes: the leaves under them.
    size: Vec<u32>,
    order: Vec<u32>,
    joins: RangeMax,
}

/// Why a list of children is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    /// A tree of `n` leaves has `n − 1` inner nodes.
    #[error("a tree of {leaves} leaves must have one inner node less, got {inner}")]
    Count {
        leaves: usize,
        /// The inner nodes given.
        inner: usize,
    },
    /// An inner node has a child that is not an earlier node without a parent.
    #[error("children of node {node} must be earlier nodes without a parent, got {child}")]
    Child { node: u32, child: u32 },
}

/// The vertices that a step up the tree adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring<'a> {
    /// The leaves under the lowest common ancestor, the same for all of them.
    pub leaves: u32,
    /// Where they lie in [`Tree::order`].
    pub range: Range<usize>,
    /// The vertices, in the order of the leaves.
    pub vertices: &'a [u32],
}

/// Some vertices of a tree, by position in its order: made by [`Tree::subset`], of use to that tree
/// alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset(Vec<u32>);

impl Tree {
    /// The tree of `n` leaves whose inner node `n + i` has the children `children[i]`.
    ///
    /// # Errors
    /// [`TreeError`] if that is no tree, for children that came over the wire.
    pub fn new(n: usize, children: Vec<[u32; 2]>) -> Result<Tree, TreeError> {
        if children.len() != n.saturating_sub(1) {
            let inner = children.len();
            return Err(TreeError::Count { leaves: n, inner });
        }
        let n_nodes = n + children.len();
        let mut parent = vec![u32::MAX; n_nodes];
        let mut size = Vec::with_capacity(children.len());
        for (i, pair) in children.iter().enumerate() {
            let node = (n + i) as u32;
            let mut sum = 0;
            for &child in pair {
                if child >= node || parent[child as usize] != u32::MAX {
                    return Err(TreeError::Child { node, child });
                }
                parent[child as usize] = node;
                sum += if (child as usize) < n {
                    1
                } else {
                    size[child as usize - n]
                };
            }
            size.push(sum);
        }
        // Every node but the last has a parent now: there are as many children as such nodes, none
        // twice.
        let mut start = vec![0; n_nodes];
        let mut joins = vec![0; n.saturating_sub(1)];
        for (i, &[left, right]) in children.iter().enumerate().rev() {
            let left_size = if (left as usize) < n {
                1
            } else {
                size[left as usize - n]
            };
            start[left as usize] = start[n + i];
            start[right as usize] = start[n + i] + left_size;
            joins[start[right as usize] as usize - 1] = size[i];
        }
        let mut order = vec![0; n];
        for (u, &at) in start[..n].iter().enumerate() {
            order[at as usize] = u as u32;
        }
        Ok(Tree {
            n,
            children,
            parent,
            start,
            size,
            order,
            joins: RangeMax::new(joins),
        })
    }

    /// The tree of the merges of `n` vertices.
    ///
    /// # Panics
    /// When they are not those of a clustering: the caller's bug.
    pub fn from_merges(n: usize, merges: &[Merge]) -> Tree {
        let children = merges.iter().map(|merge| [merge.a, merge.b]).collect();
        Tree::new(n, children).expect("the merges of a clustering make a tree")
    }

    /// The number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.n
    }

    /// The children of the inner nodes `n`, `n + 1`, …: with `n`, all that [`Tree::new`] needs.
    pub fn children(&self) -> &[[u32; 2]] {
        &self.children
    }

    /// The bytes of the children as pairs of `u32`.
    pub fn encoded_len(&self) -> usize {
        8 * self.children.len()
    }

    /// The vertices in an order in which every subtree is a range.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The leaves under the lowest common ancestor of `u` and `v`; 1 if they are the same.
    ///
    /// # Complexity
    /// Constant: two entries of a table and at most 62 numbers in a row.
    pub fn leaves_under_lca(&self, u: u32, v: u32) -> u32 {
        let (u, v) = (self.start[u as usize] as usize, self.start[v as usize] as usize);
        self.joins.max(u.min(v)..u.max(v)).max(1)
    }

    /// All other vertices, as they come by climbing from `u`: in each ring those with the same
    /// lowest common ancestor, rings by ascending number of leaves under it.
    pub fn rings(&self, u: u32) -> impl Iterator<Item = Ring<'_>> {
        let mut node = u;
        std::iter::from_fn(move || {
            let parent = self.parent[node as usize];
            let inner = (parent as usize).checked_sub(self.n)?;
            let &[left, right] = self.children.get(inner)?;
            let sibling = if left == node { right } else { left };
            node = parent;
            let range = self.range(sibling);
            Some(Ring {
                leaves: self.size[inner],
                vertices: &self.order[range.clone()],
                range,
            })
        })
    }

    /// The positions of the leaves under a node.
    fn range(&self, node: u32) -> Range<usize> {
        let start = self.start[node as usize] as usize;
        let size = (node as usize).checked_sub(self.n).map_or(1, |inner| self.size[inner]);
        start..start + size as usize
    }

    /// These vertices as candidates for [`Tree::nearest`]; repeats count once.
    pub fn subset(&self, vertices: impl IntoIterator<Item = u32>) -> Subset {
        let mut positions: Vec<u32> = vertices.into_iter().map(|u| self.start[u as usize]).collect();
        positions.sort_unstable();
        positions.dedup();
        Subset(positions)
    }

    /// The first `m` candidates, `u` excluded, by (leaves under the lowest common ancestor with
    /// `u`, dissimilarity to `u`, index), in that order; `dissimilarity` is asked only for
    /// candidates of the rings that it takes to find `m`.
    pub fn nearest(&self, u: u32, candidates: &Subset, m: usize, dissimilarity: impl Fn(u32) -> f32) -> Vec<u32> {
        let mut found = Vec::with_capacity(m.min(candidates.0.len()));
        let mut ring_members: Vec<(f32, u32)> = Vec::new();
        let by_value = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let mut rings = self.rings(u);
        while found.len() < m {
            let Some(ring) = rings.next() else { break };
            let begin = candidates.0.partition_point(|&at| (at as usize) < ring.range.start);
            let rest = &candidates.0[begin..];
            let end = rest.partition_point(|&at| (at as usize) < ring.range.end);
            let vertices = rest[..end].iter().map(|&at| self.order[at as usize]);
            ring_members.clear();
            ring_members.extend(vertices.map(|v| (dissimilarity(v), v)));
            let wanted = m - found.len();
            if wanted < ring_members.len() {
                ring_members.select_nth_unstable_by(wanted, by_value);
                ring_members.truncate(wanted);
            }
            ring_members.sort_unstable_by(by_value);
            found.extend(ring_members.iter().map(|&(_, v)| v));
        }
        found
    }
}

#[cfg(test)]
mod tests;
