//! A random forest.

use super::table::widen;
use super::{Known, Table};
use rafor::prelude::*;
use rafor::rf::Classifier;

/// Each class's share of the leaves that a target ends in, one of each of `n_trees` trees: L.
/// Breiman. Random Forests. Machine Learning 45, 2001, with the root of the number of columns to
/// choose each split from.
pub(super) fn learn_and_score(n_trees: usize, known: &Known, targets: &Table, n_classes: usize, seed: u64) -> Vec<f64> {
    let (present, places) = known.present();
    let labels: Vec<i64> = places.into_iter().map(i64::from).collect();
    // One thread: sums over trees keep one order.
    let forest: Classifier = Classifier::trainer()
        .with_trees(n_trees)
        .with_threads(1)
        .with_seed(seed)
        .train(known.rows.values(), &labels);
    widen(&forest.proba(targets.values(), 1), &present, n_classes)
}
