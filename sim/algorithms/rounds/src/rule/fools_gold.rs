//! Less weight for clients whose updates are alike.

use super::context::{cosine, weighted_mean};
use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// A weighted mean in which clients count less, the more the sums of all their changes point in one
/// direction: colluding clients do, and honest ones with different data do not.
///
/// Of cosines `c_ij` of the sums and `v_i = max_j c_ij`, a client is pardoned by `c_ij v_i / v_j`
/// where `v_j > v_i`. Its weight is `1 − max_j c_ij`, divided by the largest weight, then
/// `confidence (ln(a / (1 − a)) + 1/2)` between 0 and 1. A first weight below 1e-9 is 0, so that no
/// rounding is scaled up. A client with weight 0 is excluded; if all have, the model stays.
///
/// Cosines are over all numbers that learn, and the server keeps one vector for each client. The
/// card's `weighting` has no effect. Deviation from the paper: the weighted changes are averaged
/// instead of added, since they are those of a local training.
///
/// C. Fung, C. J. M. Yoon, I. Beschastnikh. The Limitations of Federated Learning in Sybil Settings.
/// RAID 2020, algorithm 1.
#[component(
    name = "FoolsGold",
    about = "less weight for clients with similar updates (Fung et al. 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct FoolsGold {
    /// Confidence: factor on the logit of a weight; kappa in the paper.
    #[component(default = 1.0, above = 0, at_most = 100)]
    pub confidence: f64,
}

impl FoolsGold {
    /// The weights of clients with these sums of changes.
    fn weights(&self, histories: &[Vec<f64>]) -> Vec<f64> {
        let n = histories.len();
        let similar = |i: usize, j: usize| {
            if i == j {
                0.0
            } else {
                cosine(&histories[i], &histories[j])
            }
        };
        let mut cosines: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| similar(i, j)).collect()).collect();
        let largest = |row: &Vec<f64>| row.iter().copied().fold(0.0, f64::max);
        let most: Vec<f64> = cosines.iter().map(largest).collect();
        for (i, row) in cosines.iter_mut().enumerate() {
            for (j, similar) in row.iter_mut().enumerate() {
                if most[j] > most[i] {
                    *similar *= most[i] / most[j];
                }
            }
        }
        let first = |row: &Vec<f64>| match (1.0 - largest(row)).clamp(0.0, 1.0) {
            weight if weight < 1e-9 => 0.0,
            weight => weight,
        };
        let raw: Vec<f64> = cosines.iter().map(first).collect();
        let top = raw.iter().copied().fold(0.0, f64::max);
        let logit = |weight: f64| match if top > 0.0 { weight / top } else { 0.0 } {
            share if share >= 1.0 => 1.0,
            share if share <= 0.0 => 0.0,
            share => (self.confidence * (libm::log(share / (1.0 - share)) + 0.5)).clamp(0.0, 1.0),
        };
        raw.into_iter().map(logit).collect()
    }
}

impl Rule for FoolsGold {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        let changes = updates.changes();
        for (update, change) in updates.all.iter().zip(&changes) {
            let history = context.memory.clients.entry(update.client.0).or_default();
            history.resize(change.len(), 0.0);
            history.iter_mut().zip(change).for_each(|(sum, x)| *sum += *x as f32);
        }
        let history = |client: u32| -> Vec<f64> {
            let history = &context.memory.clients[&client];
            history.iter().map(|x| f64::from(*x)).collect()
        };
        // In buffered aggregation one client may have sent several updates.
        let mut clients: Vec<u32> = updates.all.iter().map(|update| update.client.0).collect();
        clients.dedup();
        let histories: Vec<Vec<f64>> = clients.iter().map(|client| history(*client)).collect();
        let of_clients = self.weights(&histories);
        let weight = |client: u32| clients.binary_search(&client).map_or(0.0, |at| of_clients[at]);
        let weights: Vec<f64> = updates.all.iter().map(|update| weight(update.client.0)).collect();
        for (update, _) in updates.all.iter().zip(&weights).filter(|(_, weight)| **weight == 0.0) {
            context.exclude(update.client);
        }
        updates.moved(&weighted_mean(&changes, &weights), &weights)
    }

    fn remembers(&self) -> bool {
        true
    }

    fn accuses(&self) -> bool {
        true
    }
}
