//! Pairs of spaces, one at a time.

use super::descent::{Descent, Start};
use super::space::Space;
use super::start::disturbed;
use super::{Fused, GwError, Options};
use crate::transport::Plan;

/// `GW(a, b)` by conditional gradient: see [`Solver::value`].
///
/// # Errors
/// [`GwError::Parameter`] for `options`.
pub fn gw(a: &Space, b: &Space, options: &Options) -> Result<f64, GwError> {
    Ok(Solver::new(*options)?.value(a, b))
}

/// The fused value of two spaces by conditional gradient: see [`Solver::fused_value`].
///
/// # Errors
/// As [`Solver::fused_value`], and [`GwError::Parameter`] for `options`.
pub fn fused_gw(a: &Space, b: &Space, fused: &Fused<'_>, options: &Options) -> Result<f64, GwError> {
    Solver::new(*options)?.fused_value(a, b, fused)
}

/// A plan and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// What goes from each point of the first space to each of the second.
    pub plan: Plan,
    /// The value of the plan.
    pub value: f64,
    /// Steps made, of the start that was kept.
    pub n_steps: u32,
}

/// Solves pair after pair by conditional gradient, in the same memory: nothing is allocated once it has met its largest.
///
/// From a start each step goes towards the vertex that the gradient likes best ([`transport`](crate::transport)), to the
/// lowest point on the way, which is known exactly as the value is a parabola there. The method stops at a plan that no
/// step improves: a local optimum, for most metrics a vertex.
#[derive(Debug)]
pub struct Solver {
    options: Options,
    descent: Descent,
    start: Vec<f64>,
}

/// What a pair came to.
struct Reached {
    value: f64,
    n_steps: u32,
    /// Whether the spaces were taken the other way round.
    transposed: bool,
}

impl Solver {
    /// A solver with these options.
    ///
    /// # Errors
    /// [`GwError::Parameter`].
    pub fn new(options: Options) -> Result<Solver, GwError> {
        options.check()?;
        Ok(Solver::checked(options))
    }

    /// A solver with options that were checked.
    pub(super) fn checked(options: Options) -> Solver {
        Solver {
            options,
            descent: Descent::default(),
            start: Vec::new(),
        }
    }

    /// `Σ (C_ik − D_jl)² T_ij T_kl` at the plan found; at least 0, and the same from both sides.
    pub fn value(&mut self, a: &Space, b: &Space) -> f64 {
        self.solve(a, b, None, None).value
    }

    /// The plan found, from `a` to `b`, and its value.
    pub fn couple(&mut self, a: &Space, b: &Space) -> Coupling {
        self.solve_for_plan(a, b, None)
    }

    /// `(1 − α) <M, T> + α Σ (C_ik − D_jl)² T_ij T_kl` at the plan found.
    ///
    /// # Errors
    /// [`GwError`] when `alpha` is not in `0..=1` or the cost is not finite or of another shape.
    pub fn fused_value(&mut self, a: &Space, b: &Space, fused: &Fused<'_>) -> Result<f64, GwError> {
        fused.check(a, b)?;
        Ok(self.solve(a, b, Some(fused), None).value)
    }

    /// The fused value of a problem that was checked.
    pub(super) fn fused_checked(&mut self, a: &Space, b: &Space, fused: &Fused<'_>) -> f64 {
        self.solve(a, b, Some(fused), None).value
    }

    /// The plan found with features, from `a` to `b`, and its value.
    ///
    /// # Errors
    /// As [`Solver::fused_value`].
    pub fn fused_couple(&mut self, a: &Space, b: &Space, fused: &Fused<'_>) -> Result<Coupling, GwError> {
        fused.check(a, b)?;
        Ok(self.solve_for_plan(a, b, Some(fused)))
    }

    /// The value reached from `start`, a plan from `a` to `b`, instead of `p q'` and of disturbed starts.
    ///
    /// # Errors
    /// [`GwError::Shape`] when the plan has another shape.
    pub fn value_from(&mut self, a: &Space, b: &Space, start: &Plan) -> Result<f64, GwError> {
        GwError::check_shape("start", a.n() * b.n(), start.values().len())?;
        GwError::check_shape("columns of start", b.n(), start.n_columns())?;
        let transposed = b.canonical(a).is_lt();
        let (first, second) = if transposed { (b, a) } else { (a, b) };
        self.start.clear();
        self.start.resize(first.n() * second.stride(), 0.0);
        for (i, row) in self.start.chunks_exact_mut(second.stride()).enumerate() {
            for (j, value) in row[..second.n()].iter_mut().enumerate() {
                *value = if transposed { start.get(j, i) } else { start.get(i, j) };
            }
        }
        self.descent.begin(first, second, None, transposed);
        let reached = self
            .descent
            .run(first, second, None, Start::Plan(&self.start), &self.options);
        Ok(reached.0)
    }

    /// Solves a pair; the best plan goes to `plan`, if it is wanted.
    fn solve(&mut self, a: &Space, b: &Space, fused: Option<&Fused<'_>>, mut plan: Option<&mut Vec<f64>>) -> Reached {
        let transposed = b.canonical(a).is_lt();
        let (a, b) = if transposed { (b, a) } else { (a, b) };
        let Options {
            start_jitter: jitter,
            end_starts,
            restarts,
            seed,
            ..
        } = self.options;
        let alpha = fused.map(|fused| fused.alpha);
        self.descent.begin(a, b, fused, transposed);
        let mut best: Option<(f64, u32)> = None;
        let n_sorted: u64 = if end_starts { 4 } else { 0 };
        for number in 0..=n_sorted + u64::from(restarts) {
            let start = if (1..=n_sorted).contains(&number) {
                let ends = number as usize - 1;
                Start::Sorted(&a.from_ends[ends / 2], &b.from_ends[ends % 2])
            } else {
                let attempt = number.saturating_sub(n_sorted) as u32;
                if attempt > 0 || (restarts == 0 && jitter > 0.0) {
                    disturbed(a, b, jitter, seed, attempt, &mut self.start);
                    Start::Plan(&self.start)
                } else {
                    Start::Product
                }
            };
            let (value, n_steps) = self.descent.run(a, b, alpha, start, &self.options);
            if best.is_none_or(|(best, _)| value < best) {
                best = Some((value, n_steps));
                if let Some(plan) = &mut plan {
                    **plan = self.descent.plan(a, b);
                }
            }
        }
        let (value, n_steps) = best.expect("there is at least one start");
        Reached {
            value,
            n_steps,
            transposed,
        }
    }

    fn solve_for_plan(&mut self, a: &Space, b: &Space, fused: Option<&Fused<'_>>) -> Coupling {
        let mut values = Vec::new();
        let Reached {
            value,
            n_steps,
            transposed,
        } = self.solve(a, b, fused, Some(&mut values));
        let m = if transposed { a.n() } else { b.n() };
        let plan = Plan::new(m, values);
        Coupling {
            plan: if transposed { plan.transposed() } else { plan },
            value,
            n_steps,
        }
    }
}

impl Fused<'_> {
    fn check(&self, a: &Space, b: &Space) -> Result<(), GwError> {
        super::pairs::check_alpha(self.alpha)?;
        GwError::check_shape("cost", a.n() * b.n(), self.cost.len())?;
        GwError::check_finite("cost", self.cost)
    }
}
