//! The solver for two classes.

use super::{Svm, TAU};
use multiversion::multiversion;

/// The solution for items of which the first ones are positive.
pub(super) struct Solved {
    /// `y α` of every item.
    pub(super) coef: Vec<f64>,
    pub(super) rho: f64,
    pub(super) objective: f64,
    pub(super) n_steps: u64,
    pub(super) converged: bool,
}

/// The two variables of a step, how far apart their gradients are, and the curvature between them.
struct Step {
    up: usize,
    low: usize,
    gap: f64,
    curvature: f64,
}

/// Where the search stands. `slope` is `−y ∘ gradient`: an item's decision value falls short of its
/// class by that much, up to `rho`.
struct State<'a> {
    kernel: &'a [f64],
    diagonal: Vec<f64>,
    n_positive: usize,
    c: f64,
    alpha: Vec<f64>,
    slope: Vec<f64>,
    /// Whether `y α` of each item may grow, and whether it may fall.
    may_rise: Vec<bool>,
    may_fall: Vec<bool>,
    /// What a step of the first variable with each item would change.
    changes: Vec<f64>,
}

/// Minimises the dual objective; `kernel` is square and its first `n_positive` items are the
/// positive ones.
pub(super) fn solve(kernel: &[f64], n_positive: usize, settings: &Svm) -> Solved {
    let n = kernel.len().isqrt();
    let sign = |item: usize| if item < n_positive { 1.0 } else { -1.0 };
    let mut state = State {
        kernel,
        diagonal: (0..n).map(|item| kernel[item * n + item]).collect(),
        n_positive,
        c: settings.c,
        alpha: vec![0.0; n],
        slope: (0..n).map(sign).collect(),
        may_rise: vec![false; n],
        may_fall: vec![false; n],
        changes: vec![0.0; n],
    };
    (0..n).for_each(|item| state.look_at(item));
    let mut n_steps = 0;
    let mut next = state.choose(settings.tolerance);
    while let Some(step) = next.take_if(|_| n_steps < settings.max_steps) {
        state.advance(&step);
        n_steps += 1;
        next = state.choose(settings.tolerance);
    }
    // The gradient is Qα − 1, so that 0.5 α'Qα − Σα = 0.5 Σ α (gradient − 1).
    let terms = (0..n).map(|item| state.alpha[item] * (-sign(item) * state.slope[item] - 1.0));
    Solved {
        objective: 0.5 * terms.sum::<f64>(),
        rho: state.rho(),
        coef: (0..n).map(|item| sign(item) * state.alpha[item]).collect(),
        n_steps,
        // Slopes that overflow compare with nothing and end the search without a solution.
        converged: next.is_none() && state.slope.iter().all(|slope| slope.is_finite()),
    }
}

impl State<'_> {
    /// Sees whether the item may still grow and fall.
    fn look_at(&mut self, item: usize) {
        let (below, above) = (self.alpha[item] < self.c, self.alpha[item] > 0.0);
        (self.may_rise[item], self.may_fall[item]) = match item < self.n_positive {
            true => (below, above),
            false => (above, below),
        };
    }

    /// The next two variables; none if all is within the tolerance. Of several that are as good,
    /// the last.
    fn choose(&mut self, tolerance: f64) -> Option<Step> {
        let n = self.alpha.len();
        let highest = -lowest(&self.slope, &self.may_rise, -1.0);
        let up = (0..n).rfind(|item| self.may_rise[*item] && self.slope[*item] == highest)?;
        let row = &self.kernel[up * n..][..n];
        let of_up = (highest, self.diagonal[up]);
        change(
            of_up,
            (&self.slope, &self.diagonal, row),
            &self.may_fall,
            &mut self.changes,
        );
        let least = lowest(&self.changes, &self.may_fall, 1.0);
        let low = (0..n).rfind(|item| self.changes[*item] == least && least < f64::INFINITY)?;
        let step = Step {
            up,
            low,
            gap: highest - self.slope[low],
            curvature: curvature(self.diagonal[up], self.diagonal[low], row[low]),
        };
        (highest - lowest(&self.slope, &self.may_fall, 1.0) >= tolerance).then_some(step)
    }

    /// Moves `y α` of the two variables by the same length up and down, as far as it pays or the
    /// bounds allow.
    fn advance(&mut self, step: &Step) {
        let (up, low) = (step.up, step.low);
        // How far each may go, and where it then is: set and not computed, so that a variable at
        // its bound is known to be there.
        let (up_room, up_bound) = match up < self.n_positive {
            true => (self.c - self.alpha[up], self.c),
            false => (self.alpha[up], 0.0),
        };
        let (low_room, low_bound) = match low < self.n_positive {
            true => (self.alpha[low], 0.0),
            false => (self.c - self.alpha[low], self.c),
        };
        let length = (step.gap / step.curvature).min(up_room).min(low_room);
        let moved = |alpha: f64, by: f64, reached: bool, bound: f64| match reached {
            true => bound,
            false => (alpha + by).clamp(0.0, self.c),
        };
        let up_sign = if up < self.n_positive { length } else { -length };
        let low_sign = if low < self.n_positive { -length } else { length };
        let up_alpha = moved(self.alpha[up], up_sign, length == up_room, up_bound);
        let low_alpha = moved(self.alpha[low], low_sign, length == low_room, low_bound);
        (self.alpha[up], self.alpha[low]) = (up_alpha, low_alpha);
        self.look_at(up);
        self.look_at(low);
        let n = self.alpha.len();
        let (rises, falls) = (&self.kernel[up * n..][..n], &self.kernel[low * n..][..n]);
        for ((slope, rise), fall) in self.slope.iter_mut().zip(rises).zip(falls) {
            *slope -= length * (rise - fall);
        }
    }

    /// The mean of `−slope` over the variables between their bounds; without any, the middle of
    /// what the others allow.
    fn rho(&self) -> f64 {
        let (mut sum, mut n_free) = (0.0, 0u64);
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for item in 0..self.alpha.len() {
            let value = -self.slope[item];
            match (self.may_rise[item], self.may_fall[item]) {
                (true, true) => {
                    sum += value;
                    n_free += 1;
                }
                (true, false) => most = most.min(value),
                _ => least = least.max(value),
            }
        }
        if n_free > 0 {
            sum / n_free as f64
        } else {
            0.5 * (least + most)
        }
    }
}

/// How much the gradient of a step with two variables turns along it.
#[inline(always)]
fn curvature(up: f64, low: f64, between: f64) -> f64 {
    let curvature = up + low - 2.0 * between;
    if curvature > 0.0 { curvature } else { TAU }
}

/// What a step of a variable, whose slope and place on the diagonal are `(highest, up)`, with each
/// other would change the objective by; infinite with those it has nothing to win from.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
fn change(
    (highest, up): (f64, f64),
    (slope, diagonal, row): (&[f64], &[f64], &[f64]),
    may_fall: &[bool],
    to: &mut [f64],
) {
    let others = slope.iter().zip(diagonal).zip(row).zip(may_fall);
    for (to, (((slope, low), between), may_fall)) in to.iter_mut().zip(others) {
        let gap = highest - slope;
        let change = -(gap * gap) / curvature(up, *low, *between);
        *to = if *may_fall & (gap > 0.0) { change } else { f64::INFINITY };
    }
}

/// The least of the numbers times `sign` that are asked for, as if there were no others and none
/// that is no number; infinite without any.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
fn lowest(values: &[f64], asked: &[bool], sign: f64) -> f64 {
    const LANES: usize = 8;
    let smaller = |a: f64, b: f64| if b < a { b } else { a };
    let number = |value: f64, asked: bool| if asked { sign * value } else { f64::INFINITY };
    let mut lanes = [f64::INFINITY; LANES];
    let (all, are_asked) = (values.chunks_exact(LANES), asked.chunks_exact(LANES));
    let rest = all.remainder().iter().zip(are_asked.remainder());
    let rest = rest.fold(f64::INFINITY, |so_far, (value, asked)| {
        smaller(so_far, number(*value, *asked))
    });
    for (values, asked) in all.zip(are_asked) {
        for k in 0..LANES {
            lanes[k] = smaller(lanes[k], number(values[k], asked[k]));
        }
    }
    lanes.into_iter().fold(rest, smaller)
}
