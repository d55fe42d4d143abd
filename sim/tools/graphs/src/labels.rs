//! Class labels of nodes: none, one or several each.

use crate::column::Column;
use crate::{DataError, LabelError};

/// The classes of each node, in compressed sparse rows; a node without a class is unlabelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    offsets: Column<u32>,
    classes: Column<u32>,
    n_classes: u32,
}

impl Labels {
    /// Collects `(node, class)` pairs; a pair given twice counts once.
    ///
    /// # Errors
    /// [`LabelError`] for a node that is not below `n_nodes` or a class that is not below
    /// `n_classes`.
    pub fn from_pairs(n_nodes: u32, n_classes: u32, pairs: &[(u32, u32)]) -> Result<Labels, LabelError> {
        if let Some(&(node, _)) = pairs.iter().find(|(node, _)| *node >= n_nodes) {
            return Err(LabelError::Node { node, n_nodes });
        }
        if let Some(&(node, class)) = pairs.iter().find(|(_, class)| *class >= n_classes) {
            return Err(LabelError::Class { node, class, n_classes });
        }
        let mut sorted = pairs.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut offsets = vec![0; n_nodes as usize + 1];
        for &(node, _) in &sorted {
            offsets[node as usize + 1] += 1;
        }
        for node in 0..n_nodes as usize {
            offsets[node + 1] += offsets[node];
        }
        let classes: Vec<u32> = sorted.into_iter().map(|(_, class)| class).collect();
        Ok(Labels::of_columns(offsets.into(), classes.into(), n_classes))
    }

    /// At most one class per node.
    ///
    /// # Errors
    /// [`LabelError::Class`] for a class that is not below `n_classes`.
    pub fn from_single(n_classes: u32, classes: &[Option<u32>]) -> Result<Labels, LabelError> {
        let pairs: Vec<(u32, u32)> = classes
            .iter()
            .enumerate()
            .filter_map(|(node, class)| class.map(|class| (node as u32, class)))
            .collect();
        Labels::from_pairs(classes.len() as u32, n_classes, &pairs)
    }

    /// Labels of row bounds that ascend from 0 to the number of classes, and the classes of all
    /// rows, below `n_classes`.
    pub(crate) fn of_columns(offsets: Column<u32>, classes: Column<u32>, n_classes: u32) -> Labels {
        Labels {
            offsets,
            classes,
            n_classes,
        }
    }

    /// The classes of `node`, ascending; empty if it is unlabelled.
    ///
    /// # Panics
    /// If `node` is not below [`n_nodes`](Self::n_nodes).
    pub fn of(&self, node: u32) -> &[u32] {
        self.classes.slice(self.offsets.bounds(node))
    }

    /// The only class of `node`, or `None` if it has none or several.
    pub fn single(&self, node: u32) -> Option<u32> {
        match self.of(node) {
            [class] => Some(*class),
            _ => None,
        }
    }

    /// How many nodes the labels cover.
    pub fn n_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many classes there are; classes are `0..n_classes`, and some may have no node.
    pub fn n_classes(&self) -> usize {
        self.n_classes as usize
    }

    /// How many (node, class) pairs there are.
    pub fn n_labels(&self) -> usize {
        self.classes.len()
    }

    /// How many nodes have no class.
    pub fn n_unlabelled(&self) -> usize {
        self.offsets.all().windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    /// Whether some node has more than one class.
    pub fn is_multi_label(&self) -> bool {
        self.offsets.all().windows(2).any(|pair| pair[1] > pair[0] + 1)
    }

    /// How many nodes have each class, of length `n_classes`.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_classes as usize];
        for &class in self.classes.all() {
            sizes[class as usize] += 1;
        }
        sizes
    }

    /// The labels of `nodes` only; row `i` of the result is `nodes[i]`. The number of classes
    /// stays.
    pub fn select(&self, nodes: &[u32]) -> Labels {
        let mut offsets = vec![0];
        let mut classes = Vec::new();
        for &node in nodes {
            classes.extend_from_slice(self.of(node));
            offsets.push(classes.len() as u32);
        }
        Labels::of_columns(offsets.into(), classes.into(), self.n_classes)
    }

    /// The row bounds and the classes of all rows, for hashing.
    pub(crate) fn parts(&self) -> (&[u32], &[u32]) {
        (self.offsets.all(), self.classes.all())
    }

    /// What is wrong with what has been read of mapped labels, if anything is.
    pub(crate) fn damage(&self) -> Option<DataError> {
        self.offsets.damage().or_else(|| self.classes.damage())
    }

    /// Whether rows are as they are built here: for labels that somebody else has written.
    pub(crate) fn hold(&self) -> bool {
        rows_hold(self.offsets.all(), self.classes.all(), self.n_classes)
    }
}

/// Whether row bounds ascend from 0 to the number of ids, and the ids of each row ascend and stay
/// below `n`.
pub(crate) fn rows_hold(offsets: &[u32], ids: &[u32], n: u32) -> bool {
    let row_holds = |bounds: &[u32]| {
        let row = ids.get(bounds[0] as usize..bounds[1] as usize);
        row.is_some_and(|row| row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| last < n))
    };
    let ends = offsets.first() == Some(&0) && offsets.last().is_some_and(|&last| last as usize == ids.len());
    ends && offsets.windows(2).all(row_holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_have_none_one_or_several_classes() {
        let labels = Labels::from_pairs(3, 4, &[(2, 3), (0, 1), (2, 0), (2, 3)]).unwrap();
        assert_eq!(
            (labels.of(0), labels.of(1), labels.of(2)),
            (&[1][..], &[][..], &[0, 3][..])
        );
        assert_eq!(
            (labels.n_labels(), labels.n_unlabelled(), labels.is_multi_label()),
            (3, 1, true)
        );
        assert_eq!(labels.class_sizes(), [1, 1, 0, 1]);
        assert_eq!(labels.select(&[1, 2]).of(1), [0, 3]);
        assert_eq!(labels.single(2), None);
    }

    #[test]
    fn label_for_a_missing_node_is_an_error() {
        let error = Labels::from_pairs(3, 4, &[(3, 0)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a label names node 3, but the graph has nodes 0..3 only"
        );
        assert!(matches!(
            Labels::from_single(1, &[Some(1)]),
            Err(LabelError::Class { .. })
        ));
    }
}
