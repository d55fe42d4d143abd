//! The weighted mean.

use super::{Rule, RuleContext, Updates};
use folkmoot_learning::Average;
use folkmoot_parts::component;

/// `Σ w d x / Σ w`, with the weight `w` and the discount `d` of an update `x`: FedAvg, and FedBuff
/// with discounts.
///
/// H. B. McMahan et al. Communication-Efficient Learning of Deep Networks from Decentralized Data.
/// AISTATS 2017, algorithm 1.
#[component(name = "Mean", about = "weighted mean of the updates (McMahan et al. 2017)")]
#[derive(Clone, Copy, Debug)]
pub struct Mean {}

impl Mean {
    /// The mean of updates.
    pub(crate) fn of(updates: &Updates<'_>) -> Vec<f64> {
        let all = updates.all.iter();
        let models: Vec<_> = all
            .map(|update| (update.values, update.weight * update.discount))
            .collect();
        let mut sum = Average::new();
        sum.add_all(&models);
        let weights = updates.all.iter().fold(0.0, |sum, update| sum + update.weight);
        sum.sums().iter().map(|sum| sum / weights).collect()
    }
}

impl Rule for Mean {
    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        Mean::of(updates)
    }

    fn is_mean(&self) -> bool {
        true
    }

    fn keeps_agreement(&self) -> bool {
        true
    }
}
