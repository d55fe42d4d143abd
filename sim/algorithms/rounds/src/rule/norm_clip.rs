//! The mean of changes that are no longer than a bound.

use super::{Rule, RuleContext, Updates};
use folkmoot_parts::component;

/// `base + Σ w d min(1, bound / ‖x − base‖) (x − base) / Σ w`, with the weight `w` and the discount
/// `d` of an update `x`.
///
/// The norm is Euclidean, over all numbers that learn. Those that do not, such as running
/// statistics, are cut to the same bound by their own norm: in one norm with the others they would
/// decide how much may be learned, and without a bound one client could set them at will. A
/// discount shrinks what has been cut.
///
/// Z. Sun, P. Kairouz, A. T. Suresh, H. B. McMahan. Can You Really Backdoor Federated Learning?
/// 2019, section 3. <https://arxiv.org/abs/1911.07963>
#[component(name = "NormClip", about = "weighted mean of norm-clipped updates (Sun et al. 2019)")]
#[derive(Clone, Copy, Debug)]
pub struct NormClip {
    /// Maximum Euclidean norm of an update.
    #[component(default = 1.0, above = 0)]
    pub bound: f64,
}

impl Rule for NormClip {
    fn combine(&self, updates: &Updates<'_>, _: &mut RuleContext<'_>) -> Vec<f64> {
        let n = updates.n_values();
        let mut combined = vec![0.0; n];
        let mut weights = 0.0;
        for update in &updates.all {
            weights += update.weight;
            let change = |i: usize| f64::from(update.values[i]) - updates.base(i);
            for part in [0..updates.n_trainable, updates.n_trainable..n] {
                let norm = part.clone().fold(0.0, |sum, i| sum + change(i) * change(i)).sqrt();
                let factor = update.weight * update.discount * if norm > self.bound { self.bound / norm } else { 1.0 };
                part.for_each(|i| combined[i] += factor * change(i));
            }
        }
        for (i, x) in combined.iter_mut().enumerate() {
            *x = updates.base(i) + *x / weights;
        }
        combined
    }
}
