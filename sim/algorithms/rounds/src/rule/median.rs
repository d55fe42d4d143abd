//! The median of each coordinate.

use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// For each number of the model, the median of the updates' numbers; of an even number of them the
/// mean of the two in the middle.
///
/// As long as fewer than half of the updates are wrong, each number stays within the range of the
/// others'. Every update counts alike, whatever the card's `weighting`: a weight is the client's
/// own word. A number that does not learn is treated like any other.
///
/// D. Yin, Y. Chen, K. Ramchandran, P. Bartlett. Byzantine-Robust Distributed Learning: Towards
/// Optimal Statistical Rates. ICML 2018, definition 1.
#[component(name = "Median", about = "coordinate-wise median (Yin et al. 2018)")]
#[derive(Clone, Copy, Debug)]
pub struct Median {}

impl Rule for Median {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let n = updates.all.len();
        let mut column = Vec::with_capacity(n);
        let mut median = |i: usize| {
            column.clear();
            column.extend(updates.all.iter().map(|update| update.value(i)));
            column.sort_unstable_by(f64::total_cmp);
            f64::midpoint(column[(n - 1) / 2], column[n / 2])
        };
        (0..updates.n_values()).map(&mut median).collect()
    }

    fn keeps_agreement(&self) -> bool {
        true
    }
}
