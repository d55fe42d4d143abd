//! Multinomial logistic regression with a penalty on the squares of its weights.

use super::scaling::Scaling;
use super::table::widen;
use super::{Known, Table};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape};

/// Steps of the search at most, and how many of them its idea of the curvature comes from.
const MOST_STEPS: usize = 200;
const MEMORY: usize = 10;

/// The chances of each class for every penalty `λ`, in their order: the minimum over `W` and `b` of
/// the mean over known rows of `−ln softmax(x W + b)_label` plus `λ/2 ‖W‖²`, for standardised rows.
///
/// Loss and gradient come from the tape in `f32`, so that the minimum is known to its rounding;
/// each search begins where the one before has ended.
pub(super) fn learn_and_score(penalties: &[f64], known: &Known, targets: &Table, n_classes: usize) -> Vec<Vec<f64>> {
    let scaling = Scaling::of(&known.rows);
    let [x, targets] = [&known.rows, targets].map(|table| scaling.apply(table));
    let (present, labels) = known.present();
    let mut layout = Layout::new();
    let linear = Linear::new(&mut layout, "ridge", x.width(), present.len());
    let n_weights = x.width() * present.len();
    let mut w = vec![0.0; layout.len()];
    let narrow = |w: &[f64]| -> Vec<f32> { w.iter().map(|x| *x as f32).collect() };
    let guess = |penalty: &f64| {
        let loss = |w: &[f64]| {
            let (loss, mut gradient) = Tape::with_own(|tape| {
                tape.load(&layout, &narrow(w));
                let rows = tape.input(x.n_rows(), x.width(), x.values());
                let logits = linear.forward(tape, rows);
                let loss = tape.cross_entropy(logits, &labels, None);
                tape.backward(loss);
                let gradient: Vec<f64> = tape.parameters_mut().1.iter().map(|x| f64::from(*x)).collect();
                (f64::from(tape.scalar(loss)), gradient)
            });
            let squares: f64 = w[..n_weights].iter().map(|w| w * w).sum();
            for (g, w) in gradient.iter_mut().zip(&w[..n_weights]) {
                *g += penalty * w;
            }
            (loss + penalty / 2.0 * squares, gradient)
        };
        w = minimise(std::mem::take(&mut w), loss);
        let chances: Vec<f32> = Tape::with_own(|tape| {
            tape.load(&layout, &narrow(&w));
            let rows = tape.input(targets.n_rows(), targets.width(), targets.values());
            let logits = linear.forward(tape, rows);
            let chances = tape.softmax(logits, None);
            tape.value(chances).to_vec()
        });
        widen(&chances, &present, n_classes)
    };
    penalties.iter().map(guess).collect()
}

/// The minimum of a smooth function by L-BFGS (J. Nocedal. Mathematics of Computation 35, 1980),
/// from `w` on, until a step gains no more than its rounding.
pub(super) fn minimise(mut w: Vec<f64>, function: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> Vec<f64> {
    let (mut value, mut gradient) = function(&w);
    // Differences of positions and of gradients, the newest last.
    let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for _ in 0..MOST_STEPS {
        let direction = direction(&pairs, &gradient);
        let slope = dot(&direction, &gradient);
        let mut length = if pairs.is_empty() {
            1.0 / dot(&gradient, &gradient).sqrt().max(1.0)
        } else {
            1.0
        };
        let rounding = 1e-7 * value.abs();
        let found = (0..30).find_map(|_| {
            let next: Vec<f64> = w.iter().zip(&direction).map(|(w, d)| w + length * d).collect();
            let (to, slopes) = function(&next);
            let falls = to <= value + 1e-4 * length * slope;
            length /= 2.0;
            falls.then_some((next, to, slopes))
        });
        let Some((next, to, slopes)) = found else { break };
        let moved: Vec<f64> = next.iter().zip(&w).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let gain = value - to;
        (w, value, gradient) = (next, to, slopes);
        if gain <= rounding {
            break;
        }
        if dot(&moved, &turned) > 1e-10 * dot(&turned, &turned) {
            pairs.push((moved, turned));
        }
        if pairs.len() > MEMORY {
            pairs.remove(0);
        }
    }
    w
}

/// Downhill, by the inverse curvature that the pairs tell of.
fn direction(pairs: &[(Vec<f64>, Vec<f64>)], gradient: &[f64]) -> Vec<f64> {
    let add = |to: &mut [f64], factor: f64, from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += factor * b);
    let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::with_capacity(pairs.len());
    for (moved, turned) in pairs.iter().rev() {
        let share = dot(moved, &d) / dot(moved, turned);
        add(&mut d, -share, turned);
        shares.push(share);
    }
    if let Some((moved, turned)) = pairs.last() {
        let scale = dot(moved, turned) / dot(turned, turned);
        d.iter_mut().for_each(|x| *x *= scale);
    }
    for ((moved, turned), share) in pairs.iter().zip(shares.into_iter().rev()) {
        let back = dot(turned, &d) / dot(moved, turned);
        add(&mut d, share - back, moved);
    }
    d
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
