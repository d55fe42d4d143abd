use super::*;
use crate::dissimilarity::{Condensed, Sequences};
use crate::dtw::Metric;
use crate::linkage::{Linkage, linkage};
use proptest::prelude::*;

/// A tree by merging at random, from pairs of numbers to choose by.
fn grow(choices: &[(usize, usize)]) -> Tree {
    let n = choices.len() + 1;
    let mut roots: Vec<u32> = (0..n as u32).collect();
    let mut children = Vec::new();
    for (i, &(a, b)) in choices.iter().enumerate() {
        let a = roots.swap_remove(a % roots.len());
        let b = roots.swap_remove(b % roots.len());
        children.push([a, b]);
        roots.push((n + i) as u32);
    }
    Tree::new(n, children).unwrap()
}

/// The ancestors of `u`, itself first.
fn ancestors(tree: &Tree, u: u32) -> Vec<u32> {
    let parent = |node: &u32| {
        let at = tree.children().iter().position(|pair| pair.contains(node))?;
        Some((tree.n_leaves() + at) as u32)
    };
    std::iter::successors(Some(u), parent).collect()
}

fn leaves_by_climbing(tree: &Tree, u: u32, v: u32) -> u32 {
    let of_v = ancestors(tree, v);
    let lca = *ancestors(tree, u).iter().find(|node| of_v.contains(node)).unwrap();
    (0..tree.n_leaves() as u32)
        .filter(|&w| ancestors(tree, w).contains(&lca))
        .count() as u32
}

proptest! {
    #[test]
    fn leaves_are_those_counted_by_climbing(choices in prop::collection::vec((0usize..99, 0usize..99), 0..14)) {
        let tree = grow(&choices);
        let n = tree.n_leaves() as u32;
        for u in 0..n {
            for v in 0..n {
                let leaves = tree.leaves_under_lca(u, v);
                prop_assert_eq!(leaves, leaves_by_climbing(&tree, u, v));
                prop_assert_eq!(leaves, tree.leaves_under_lca(v, u));
            }
        }
    }

    #[test]
    fn rings_have_every_other_vertex_once(choices in prop::collection::vec((0usize..99, 0usize..99), 0..120), u in 0usize..120) {
        let tree = grow(&choices);
        let u = (u % tree.n_leaves()) as u32;
        let mut seen = vec![u];
        let mut last = 1;
        for ring in tree.rings(u) {
            prop_assert!(ring.leaves > last);
            last = ring.leaves;
            prop_assert!(ring.vertices.iter().all(|&v| tree.leaves_under_lca(u, v) == ring.leaves));
            seen.extend(ring.vertices);
        }
        seen.sort_unstable();
        prop_assert!(seen.iter().copied().eq(0..tree.n_leaves() as u32));
    }

    #[test]
    fn nearest_is_the_head_of_the_sorted_list(
        choices in prop::collection::vec((0usize..99, 0usize..99), 0..60),
        values in prop::collection::vec(0u8..4, 61),
        u in 0usize..60, step in 1usize..4, m in 0usize..30,
    ) {
        let tree = grow(&choices);
        let u = (u % tree.n_leaves()) as u32;
        let members = || (0..tree.n_leaves() as u32).step_by(step);
        let value = |v: u32| f32::from(values[v as usize]);
        let mut all: Vec<u32> = members().filter(|&v| v != u).collect();
        all.sort_by(|&v, &w| {
            let key = |v| (tree.leaves_under_lca(u, v), values[v as usize], v);
            key(v).cmp(&key(w))
        });
        all.truncate(m);
        prop_assert_eq!(tree.nearest(u, &tree.subset(members()), m, value), all);
    }

    #[test]
    fn a_hybrid_tree_is_whole_and_the_same_on_any_number_of_threads(
        values in prop::collection::vec(-5i8..5, 0..240), k in 1usize..4, part_size in 1usize..40,
    ) {
        let vectors: Vec<f32> = values[..values.len() / k * k].iter().map(|&x| f32::from(x)).collect();
        let sequences = Sequences::of_vectors(&vectors, k);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                hybrid(&vectors, k, part_size, Linkage::Average, |part| sequences.select(part).all_pairs(Metric::L1))
            })
        };
        let tree = run(1);
        prop_assert_eq!(tree.n_leaves(), vectors.len() / k);
        prop_assert_eq!(&tree.children, &run(2).children);
        prop_assert_eq!(&tree.children, &run(3).children);
        if part_size >= tree.n_leaves() {
            let exact = linkage(sequences.all_pairs(Metric::L1), Linkage::Average);
            prop_assert_eq!(&tree.children, &Tree::from_merges(tree.n_leaves(), &exact).children);
        }
    }
}

#[test]
fn two_far_pairs_are_joined_last() {
    let matrix = Condensed::new(4, vec![1.0, 5.0, 5.0, 5.0, 5.0, 1.0]);
    let tree = Tree::from_merges(4, &linkage(matrix, Linkage::Average));
    let row = |u| [0, 1, 2, 3].map(|v| tree.leaves_under_lca(u, v));
    assert_eq!(
        [row(0), row(1), row(2), row(3)],
        [[1, 2, 4, 4], [2, 1, 4, 4], [4, 4, 1, 2], [4, 4, 2, 1]]
    );
    assert_eq!(tree.encoded_len(), 24);
}

#[test]
fn a_hybrid_splits_along_the_widest_direction() {
    // Two clouds far apart on the diagonal, their vertices interleaved.
    let vectors: Vec<f32> = (0..8).flat_map(|u| [if u % 2 == 0 { 0.0 } else { 100.0 }; 2]).collect();
    let sequences = Sequences::of_vectors(&vectors, 2);
    let tree = hybrid(&vectors, 2, 4, Linkage::Average, |part| {
        sequences.select(part).all_pairs(Metric::L1)
    });
    assert!((0..8).all(|u| (0..8).all(|v| (tree.leaves_under_lca(u, v) == 8) == ((u + v) % 2 == 1))));
}

#[test]
fn children_that_are_no_tree_are_refused() {
    assert_eq!(
        Tree::new(3, vec![[0, 1]]).unwrap_err(),
        TreeError::Count { leaves: 3, inner: 1 }
    );
    assert_eq!(
        Tree::new(3, vec![[0, 1], [0, 3]]).unwrap_err(),
        TreeError::Child { node: 4, child: 0 }
    );
    assert_eq!(
        Tree::new(3, vec![[0, 4], [1, 2]]).unwrap_err(),
        TreeError::Child { node: 3, child: 4 }
    );
    assert_eq!(
        Tree::new(2, vec![[1, 1]]).unwrap_err(),
        TreeError::Child { node: 2, child: 1 }
    );
    assert_eq!(Tree::new(0, vec![]).unwrap().n_leaves(), 0);
    assert_eq!(Tree::new(1, vec![]).unwrap().leaves_under_lca(0, 0), 1);
}
