//! What views cost: the claim, and the totals by each composition.
//!
//! Two tables are neighbours if they differ by one edge of one graph. Graphs share no edge, so the
//! worst graph counts, not their sum. What leaves a client, its weights, is made of noisy views;
//! features, labels and numbers of nodes are in it without noise.

use super::Params;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::PrivacyRow;

impl Params {
    /// The budget that the paper would state: that of one view, the larger of two.
    pub(super) fn claimed(&self) -> Option<f64> {
        self.setting.epsilons().into_iter().reduce(f64::max)
    }
}

/// What the views of all rounds have cost about the graph that was used most, by each composition,
/// beside what the paper claims.
pub(super) fn totals(views: &PrivacyRow, sheet: &mut Sheet) {
    let of_all = "epsilon_all_rounds";
    sheet.number(of_all, views.epsilon_max_client);
    let references = [
        ("claimed", views.epsilon_claimed),
        ("advanced", views.epsilon_advanced),
        ("renyi", views.epsilon_renyi),
    ];
    for (label, epsilon) in references {
        if let Some(epsilon) = epsilon {
            sheet.reference(of_all, label, epsilon);
        }
    }
}
