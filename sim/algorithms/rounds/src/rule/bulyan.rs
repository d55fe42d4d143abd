//! The mean of the middle of what Krum chooses again and again.

use super::krum::closest;
use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// Krum chooses `n − 2 faulty` updates, each among those that are left; for each number of the model
/// the mean of the `n − 4 faulty` chosen ones that lie closest to their median.
///
/// With `n` updates of which up to `faulty` are Byzantine, `n ≥ 4 faulty + 3`. Every
/// update counts alike, whatever the card's `weighting`.
///
/// E. M. El Mhamdi, R. Guerraoui, S. Rouault. The Hidden Vulnerability of Distributed Learning in
/// Byzantium. ICML 2018, section 4.
#[component(
    name = "Bulyan",
    about = "trimmed mean of updates that Krum has chosen (El Mhamdi et al. 2018)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Bulyan {
    /// Number of Byzantine updates tolerated.
    #[component(default = 1, in = 0..=1_000_000)]
    pub faulty: u32,
}

impl Rule for Bulyan {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let faulty = self.faulty as usize;
        let n_chosen = updates.all.len().saturating_sub(2 * faulty).max(1);
        let n_kept = n_chosen.saturating_sub(2 * faulty).max(1);
        let chosen = closest(updates, faulty, n_chosen);
        let mut column = Vec::with_capacity(n_chosen);
        let mut middle = |i: usize| {
            column.clear();
            column.extend(chosen.iter().map(|at| updates.all[*at].value(i)));
            column.sort_unstable_by(f64::total_cmp);
            let median = f64::midpoint(column[(n_chosen - 1) / 2], column[n_chosen / 2]);
            // What lies closest to the median lies together.
            let apart = |from: usize| {
                let far = |x: f64| (x - median).abs();
                far(column[from]).max(far(column[from + n_kept - 1]))
            };
            let from = (0..=n_chosen - n_kept).min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
            let kept = &column[from.unwrap_or(0)..][..n_kept];
            kept.iter().sum::<f64>() / n_kept as f64
        };
        (0..updates.n_values()).map(&mut middle).collect()
    }

    fn fewest(&self) -> u32 {
        self.faulty.saturating_mul(4).saturating_add(3)
    }

    fn keeps_agreement(&self) -> bool {
        true
    }
}
