//! The updates that lie among their likes.

use super::{Rule, RuleContext, Updates};
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
        let all: Vec<usize> = (0..updates.all.len()).collect();
        let distances = distances(updates);
        let score = |at: &usize| score(&distances, &all, *at, self.faulty as usize);
        let scores: Vec<f64> = all.iter().map(score).collect();
        let mut order = all;
        // A stable sort: of equals the first client.
        order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        order.truncate(self.chosen as usize);
        order.sort_unstable();
        order
    }
}

/// The squared distance of each pair of updates, each times its discount, over all numbers.
fn distances(updates: &Updates<'_>) -> Vec<Vec<f64>> {
    let all = &updates.all;
    let distance = |a: usize, b: usize| -> f64 {
        let difference = |i: usize| all[a].value(i) - all[b].value(i);
        (0..updates.n_values()).map(|i| difference(i) * difference(i)).sum()
    };
    let n = all.len();
    (0..n).map(|a| (0..n).map(|b| distance(a, b)).collect()).collect()
}

/// The sum of distances of one to the `|of| − faulty − 2` others that are nearest to it.
fn score(distances: &[Vec<f64>], of: &[usize], one: usize, faulty: usize) -> f64 {
    let others = of.iter().filter(|other| **other != one);
    let mut others: Vec<f64> = others.map(|other| distances[one][*other]).collect();
    others.sort_unstable_by(f64::total_cmp);
    others.iter().take(of.len().saturating_sub(faulty + 2)).sum()
}

/// The places of so many updates that Krum chooses, each among those that are left, ascending.
pub(super) fn closest(updates: &Updates<'_>, faulty: usize, n_chosen: usize) -> Vec<usize> {
    let distances = distances(updates);
    let mut left: Vec<usize> = (0..updates.all.len()).collect();
    let mut chosen = Vec::with_capacity(n_chosen);
    while chosen.len() < n_chosen && !left.is_empty() {
        let scores = left.iter().map(|at| score(&distances, &left, *at, faulty));
        let best = scores.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        chosen.push(left.remove(best.map_or(0, |(at, _)| at)));
    }
    chosen.sort_unstable();
    chosen
}

impl Rule for Krum {
    fn ignores_weights(&self) -> bool {
        true
    }

    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
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

    fn keeps_agreement(&self) -> bool {
        true
    }
}
