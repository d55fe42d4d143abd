//! Binary features that mark classes.

use crate::{Features, SparseRows};
use folkmoot_draws::SimRng;
use rand::RngExt;

/// For each node `n_features` features, row by row: feature `j` is 1 with the first of `probs`
/// where `j` modulo `n_classes` is the node's class, with the second elsewhere.
///
/// # Determinism
///
/// Draws one number a feature, in order.
pub(crate) fn marks(classes: &[u32], n_classes: u32, n_features: u32, probs: (f64, f64), rng: &mut SimRng) -> Features {
    let mut row = |class: &u32| -> Vec<(u32, f32)> {
        let mut is_set = |j: &u32| {
            let prob = if j % n_classes == *class { probs.0 } else { probs.1 };
            rng.random::<f64>() < prob
        };
        (0..n_features).filter(|j| is_set(j)).map(|j| (j, 1.0)).collect()
    };
    let rows: Vec<Vec<(u32, f32)>> = classes.iter().map(&mut row).collect();
    Features::Sparse(SparseRows::from_rows(n_features, &rows).expect("columns ascend below n_features"))
}
