//! The focal loss.

use super::{Loss, Truths};
use folkmoot_learning::tape::{Backward, Function};
use folkmoot_learning::{Tape, Var};
use folkmoot_parts::component;

/// Focal loss, `−(1 − p)^gamma ln p` with the probability `p` of the true class (Lin et al., ICCV
/// 2017, equation 4). It gives less weight to items that are predicted well, which are mostly those
/// of frequent classes.
#[component(
    name = "Focal",
    about = "cross entropy with less weight on items that are predicted well"
)]
#[derive(Clone, Copy, Debug)]
pub struct Focal {
    /// Focusing parameter; 0 is cross entropy.
    #[component(default = 2.0, in = 0..=100)]
    pub gamma: f64,
}

impl Loss for Focal {
    fn loss<'g>(&'g self, tape: &mut Tape<'g>, outputs: Var, truths: Truths<'g>) -> Var {
        let (rows, classes) = tape.shape(outputs);
        let one_hot = tape.constant_with(rows, classes, |to| truths.one_hot(1.0, to));
        let ones = tape.constant_with(classes, 1, |to| to.fill(1.0));
        let of_class = tape.multiply(outputs, one_hot);
        let of_class = tape.matmul(of_class, ones);
        let sums = tape.log_sum_exp(outputs);
        let logarithms = tape.subtract(of_class, sums);
        let share = 1.0 / truths.n_counted().max(1) as f32;
        let weights = tape.constant_with(rows, 1, |to| truths.by_row(share, to));
        tape.custom(self, &[logarithms, weights], 1, 1)
    }
}

impl Focal {
    /// The loss of an item and its derivative, by the logarithm of the probability.
    fn of(&self, logarithm: f32) -> (f64, f64) {
        let logarithm = f64::from(logarithm).min(0.0);
        let missing = -libm::expm1(logarithm);
        let power = libm::pow(missing, self.gamma);
        // Where p is 1, the factor is infinite for gamma below 1, and its product with ln p tends to 0.
        let focus = match missing > 0.0 && self.gamma > 0.0 {
            true => self.gamma * libm::pow(missing, self.gamma - 1.0) * libm::exp(logarithm) * logarithm,
            false => 0.0,
        };
        (-power * logarithm, focus - power)
    }
}

/// Operands: the logarithm of the probability of each item's class, and the item's weight.
impl Function for Focal {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        let items = x[0].iter().zip(x[1]);
        let sum: f64 = items.map(|(x, weight)| f64::from(*weight) * self.of(*x).0).sum();
        y[0] = sum as f32;
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (logarithms, weights, gy) = (cx.operand(0), cx.operand(1), f64::from(cx.gradient()[0]));
        let Some(gx) = cx.gradient_of(0) else { return };
        for ((gx, x), weight) in gx.iter_mut().zip(logarithms).zip(weights) {
            *gx += (gy * f64::from(*weight) * self.of(*x).1) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::Task;
    use crate::classifier::loss::OfTask;

    const LOGITS: [f32; 9] = [0.3, -1.2, 0.8, 2.0, 0.1, -0.5, 40.0, -3.0, 0.0];
    const CLASSES: [u32; 3] = [1, 0, 0];

    fn truths<'g>(mask: Option<&'g [bool]>) -> Truths<'g> {
        Truths {
            task: Task::Classes,
            classes: &CLASSES,
            mask,
            values: &[],
            known: &[],
        }
    }

    /// The loss of these logits and its gradient.
    fn of(loss: &dyn Loss, logits: &[f32], mask: Option<&[bool]>) -> (f32, Vec<f32>) {
        let mut tape = Tape::new();
        let x = tape.variable(3, 3, logits);
        let y = loss.loss(&mut tape, x, truths(mask));
        tape.backward(y);
        (tape.scalar(y), tape.gradient(x).to_vec())
    }

    #[test]
    fn without_focus_it_is_cross_entropy() {
        for mask in [None, Some([true, false, true].as_slice()), Some(&[false; 3])] {
            let (focal, gradient) = of(&Focal { gamma: 0.0 }, &LOGITS, mask);
            let (entropy, expected) = of(&OfTask {}, &LOGITS, mask);
            assert!((focal - entropy).abs() < 1e-6, "{focal} {entropy}");
            let near = gradient.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-6);
            assert!(near, "{gradient:?} {expected:?}");
        }
    }

    /// By equation 4 of the paper for one item with three equal logits: p = 1/3.
    #[test]
    fn a_guess_by_chance_costs_what_the_paper_says() {
        let (loss, _) = of(&Focal { gamma: 2.0 }, &[0.0; 9], None);
        assert!((f64::from(loss) - 4.0 / 9.0 * libm::log(3.0)).abs() < 1e-6, "{loss}");
    }

    #[test]
    fn its_gradient_is_that_of_small_steps() {
        for gamma in [0.5, 2.0, 5.0] {
            let loss = Focal { gamma };
            let (_, gradient) = of(&loss, &LOGITS, None);
            for (at, slope) in gradient.iter().enumerate() {
                let at_step = |step: f32| {
                    let mut logits = LOGITS;
                    logits[at] += step;
                    f64::from(of(&loss, &logits, None).0)
                };
                let expected = (at_step(0.01) - at_step(-0.01)) / 0.02;
                assert!(
                    (f64::from(*slope) - expected).abs() < 1e-4,
                    "{gamma} {at}: {slope} {expected}"
                );
            }
        }
    }
}
