//! Trust by the direction of the server's own training.

use super::context::{cosine, norm, weighted_mean};
use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// The mean of changes, each at the length of the server's own change and weighted by the cosine
/// with it; a change with a cosine of at most 0 is excluded. If all are, the model stays.
///
/// The server's change comes of one local training, with the settings of clients, on a data set of
/// its own: items drawn at random from the training items of all clients, which keep them too. Nodes
/// of one graph come with the edges between them. It is a trusted set-up: the card names it, and no
/// message and no time is counted for it.
///
/// The card's `weighting` has no effect. Numbers that do not learn are averaged with the same
/// weights.
///
/// X. Cao, M. Fang, J. Liu, N. Z. Gong. FLTrust: Byzantine-robust Federated Learning via Trust
/// Bootstrapping. NDSS 2021, algorithm 2.
#[component(
    name = "FlTrust",
    about = "trust by the direction of the server's own training: FLTrust (Cao et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FlTrust {
    /// Number of items of the server's data set; all there are if these are fewer.
    #[component(default = 100, in = 1..=1_000_000)]
    pub items: u32,
}

impl Rule for FlTrust {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        let mut changes = updates.changes();
        let trusted = context.trusted.take().unwrap_or_default();
        let length = norm(&trusted);
        let trust = |change: &Vec<f64>| cosine(change, &trusted).max(0.0);
        let weights: Vec<f64> = changes.iter().map(trust).collect();
        for (update, _) in updates.all.iter().zip(&weights).filter(|(_, weight)| **weight == 0.0) {
            context.exclude(update.client);
        }
        for change in &mut changes {
            let own = norm(change);
            let factor = if own > 0.0 { length / own } else { 0.0 };
            change.iter_mut().for_each(|x| *x *= factor);
        }
        updates.moved(&weighted_mean(&changes, &weights), &weights)
    }

    fn accuses(&self) -> bool {
        true
    }

    fn trusted_items(&self) -> Option<u32> {
        Some(self.items)
    }
}
