//! The mean without the extremes of each coordinate.

use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// For each number of the model, the mean of what is left when the `f` least and the `f` greatest
/// of the updates' numbers are cut, where `f` is the share of the updates, rounded down, but at
/// least 1 unless the share is 0.
///
/// Up to `f` updates, however wrong, leave each number within the range of the others'. Every
/// update counts alike, whatever the card's `weighting`: a weight is the client's own word. A
/// number that does not learn is trimmed like any other.
///
/// D. Yin, Y. Chen, K. Ramchandran, P. Bartlett. Byzantine-Robust Distributed Learning: Towards
/// Optimal Statistical Rates. ICML 2018, definition 2.
#[component(name = "TrimmedMean", about = "coordinate-wise trimmed mean (Yin et al. 2018)")]
#[derive(Clone, Copy, Debug)]
pub struct TrimmedMean {
    /// Fraction of the updates trimmed at each end.
    #[component(default = 0.1, in = 0..0.5)]
    pub share: f64,
}

impl TrimmedMean {
    /// How many of `n` updates are cut at each end; less than half of them if there are at least
    /// [`fewest`](Rule::fewest).
    pub(super) fn n_cut(&self, n: usize) -> usize {
        // A product such as 0.29 · 100 falls short of the whole number that is meant.
        let share = (self.share * n as f64 + 1e-9) as usize;
        share.max(usize::from(self.share > 0.0)).min(n.saturating_sub(1) / 2)
    }
}

impl Rule for TrimmedMean {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let n = updates.all.len();
        let cut = self.n_cut(n);
        let mut column = Vec::with_capacity(n);
        let mut trimmed = |i: usize| {
            column.clear();
            column.extend(updates.all.iter().map(|update| update.value(i)));
            column.sort_unstable_by(f64::total_cmp);
            // Sums of what is left alone: taking the extremes from a sum of all would leave an
            // outlier's rounding behind.
            column[cut..n - cut].iter().fold(0.0, |sum, x| sum + x) / (n - 2 * cut) as f64
        };
        (0..updates.n_values()).map(&mut trimmed).collect()
    }

    fn fewest(&self) -> u32 {
        if self.share > 0.0 { 3 } else { 1 }
    }

    fn keeps_agreement(&self) -> bool {
        true
    }
}
