//! The mean of changes that are cut about the last one.

use super::context::norm;
use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// `v ← v + 1/n Σ (x − v) min(1, radius / ‖x − v‖)` over changes `x`, from the change of the last
/// round, at first 0.
///
/// Every update counts alike, whatever the card's `weighting`. The norm is over all numbers that
/// learn; the others are averaged.
///
/// S. P. Karimireddy, L. He, M. Jaggi. Learning from History for Byzantine Robust Optimization. ICML
/// 2021, algorithm 2 (there for the momenta of clients).
#[component(
    name = "CentredClipping",
    about = "mean of changes that are clipped around the last one (Karimireddy et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct CentredClipping {
    /// Maximum distance of a change from the centre.
    #[component(default = 1.0, above = 0)]
    pub radius: f64,
    /// Iterations in a round.
    #[component(default = 1, in = 1..=1000)]
    pub iterations: u32,
}

impl Rule for CentredClipping {
    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        let changes = updates.changes();
        let n = changes.len() as f64;
        let mut centre = std::mem::take(&mut context.memory.numbers);
        centre.resize(changes.first().map_or(0, Vec::len), 0.0);
        for _ in 0..self.iterations {
            let mut step = vec![0.0; centre.len()];
            for change in &changes {
                let apart: Vec<f64> = change.iter().zip(&centre).map(|(x, v)| x - v).collect();
                let length = norm(&apart);
                let factor = if length > self.radius {
                    self.radius / length
                } else {
                    1.0
                };
                step.iter_mut().zip(&apart).for_each(|(sum, x)| *sum += factor * x);
            }
            centre.iter_mut().zip(&step).for_each(|(v, sum)| *v += sum / n);
        }
        let combined = updates.moved(&centre, &vec![1.0; changes.len()]);
        context.memory.numbers = centre;
        combined
    }

    fn remembers(&self) -> bool {
        true
    }
}
