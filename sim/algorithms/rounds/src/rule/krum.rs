//! The updates that lie among their likes.

use super::{Rule, Updates};
use folkmoot_parts::{Rules, component};

/// The mean of the `chosen` updates with the least scores; with one it is Krum, with more
/// Multi-Krum. An update's score is the sum of its squared distances to the `n − faulty − 2` others
/// that are nearest to it, over all numbers of the model; of equals the first client is chosen.
///
/// With `n` updates of which up to `faulty` are whatever somebody wants, `n ≥ 2 faulty + 3`. Every
/// update counts alike, whatever the card's `weighting`. Distances are those of the updates, each
/// times its discount.
///
/// P. Blanchard, E. M. El Mhamdi, R. Guerraoui, J. Stainer. Machine Learning with Adversaries:
/// Byzantine Tolerant Gradient Descent. NIPS 2017, section 4.
#[component(
    name = "Krum",
    about = "mean of the updates closest to their neighbours: Krum and Multi-Krum (Blanchard et al. 2017)",
    rules
)]
#[derive(Clone, Copy, Debug)]
pub struct Krum {
    /// Number of Byzantine updates tolerated.
    #[component(default = 1, in = 0..=1_000_000)]
    pub faulty: u32,
    /// Number of selected updates that are averaged; at most `faulty + 1`. 1 is Krum, more is
    /// Multi-Krum.
    #[component(default = 1, in = 1..=1_000_000)]
    pub chosen: u32,
}

impl Krum {
    /// What ties the settings.
    fn rules(&self, rules: &mut Rules) {
        let most = self.faulty.saturating_add(1);
        let rule = format!("must be at most {most} (faulty + 1), got {}", self.chosen);
        rules.require(self.chosen <= most, "chosen", rule);
    }

    /// The places of the updates that are chosen, ascending.
    fn choose(&self, updates: &Updates<'_>) -> Vec<usize> {
        let all = &updates.all;
        let n = all.len();
        let distance = |a: usize, b: usize| -> f64 {
            let difference = |i: usize| all[a].value(i) - all[b].value(i);
            (0..updates.n_values()).map(|i| difference(i) * difference(i)).sum()
        };
        let n_near = n.saturating_sub(self.faulty as usize + 2);
        let score = |a: usize| -> f64 {
            let mut others: Vec<f64> = (0..n).filter(|b| *b != a).map(|b| distance(a, b)).collect();
            others.sort_unstable_by(f64::total_cmp);
            others.iter().take(n_near).sum()
        };
        let scores: Vec<f64> = (0..n).map(score).collect();
        let mut order: Vec<usize> = (0..n).collect();
        // A stable sort: of equals the first client.
        order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        order.truncate(self.chosen as usize);
        order.sort_unstable();
        order
    }
}

impl Rule for Krum {
    fn combine(&self, updates: &Updates<'_>) -> Vec<f64> {
        let chosen = self.choose(updates);
        let mean = |i: usize| {
            let sum: f64 = chosen.iter().map(|at| updates.all[*at].value(i)).sum();
            sum / chosen.len() as f64
        };
        (0..updates.n_values()).map(mean).collect()
    }

    fn fewest(&self) -> u32 {
        self.faulty.saturating_mul(2).saturating_add(3)
    }
}
