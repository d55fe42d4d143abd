//! The solver for two classes.

use super::{Svm, TAU};

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

/// Where the search stands. `slope` is `−y ∘ gradient`: an item's decision value falls short of its class by that much, up to `rho`.
struct State<'a> {
    kernel: &'a [f64],
    diagonal: Vec<f64>,
    n_positive: usize,
    c: f64,
    alpha: Vec<f64>,
    slope: Vec<f64>,
}

/// Minimises the dual objective; `kernel` is square and its first `n_positive` items are the positive ones.
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
    };
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
    /// Whether `y α` of the item may grow.
    fn may_rise(&self, item: usize) -> bool {
        match item < self.n_positive {
            true => self.alpha[item] < self.c,
            false => self.alpha[item] > 0.0,
        }
    }

    /// Whether `y α` of the item may fall.
    fn may_fall(&self, item: usize) -> bool {
        match item < self.n_positive {
            true => self.alpha[item] > 0.0,
            false => self.alpha[item] < self.c,
        }
    }

    fn row(&self, item: usize) -> &[f64] {
        let n = self.alpha.len();
        &self.kernel[item * n..][..n]
    }

    /// The next two variables; none if all is within the tolerance.
    fn choose(&self, tolerance: f64) -> Option<Step> {
        let n = self.alpha.len();
        let mut up = None;
        let mut highest = f64::NEG_INFINITY;
        for item in (0..n).filter(|&item| self.may_rise(item)) {
            if self.slope[item] >= highest {
                (up, highest) = (Some(item), self.slope[item]);
            }
        }
        let up = up?;
        let row = self.row(up);
        let mut lowest = f64::INFINITY;
        let mut best: Option<Step> = None;
        let mut least = f64::INFINITY;
        for low in (0..n).filter(|&item| self.may_fall(item)) {
            lowest = lowest.min(self.slope[low]);
            let gap = highest - self.slope[low];
            if gap <= 0.0 {
                continue;
            }
            let curvature = self.diagonal[up] + self.diagonal[low] - 2.0 * row[low];
            let curvature = if curvature > 0.0 { curvature } else { TAU };
            let change = -(gap * gap) / curvature;
            if change <= least {
                least = change;
                best = Some(Step {
                    up,
                    low,
                    gap,
                    curvature,
                });
            }
        }
        best.filter(|_| highest - lowest >= tolerance)
    }

    /// Moves `y α` of the two variables by the same length up and down, as far as it pays or the bounds allow.
    fn advance(&mut self, step: &Step) {
        let (up, low) = (step.up, step.low);
        // How far each may go, and where it then is: set and not computed, so that a variable at its bound is known to be there.
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
        let n = self.alpha.len();
        let (rises, falls) = (&self.kernel[up * n..][..n], &self.kernel[low * n..][..n]);
        for ((slope, rise), fall) in self.slope.iter_mut().zip(rises).zip(falls) {
            *slope -= length * (rise - fall);
        }
    }

    /// The mean of `−slope` over the variables between their bounds; without any, the middle of what the others allow.
    fn rho(&self) -> f64 {
        let (mut sum, mut n_free) = (0.0, 0u64);
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for item in 0..self.alpha.len() {
            let value = -self.slope[item];
            match (self.may_rise(item), self.may_fall(item)) {
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
