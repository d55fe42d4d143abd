//! Pairs of spaces, one at a time.

use super::descent::{Descent, Progress, Start};
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

/// What part of a mixed start is the plan that is not the best. On hop counts of molecules a half
/// leads away from both plans: fewer values stay high, but the starts more take half as long again.
const MIXED: f64 = 0.4;

/// Solves pair after pair by conditional gradient, in the same memory: nothing is allocated once it
/// has met its largest.
///
/// From a start each step goes towards the vertex that the gradient likes best
/// ([`transport`](crate::transport)), to the lowest point on the way, which is known exactly as the
/// value is a parabola there. The method stops at a plan that no step improves: a local optimum,
/// for most metrics a vertex.
#[derive(Debug)]
pub struct Solver {
    options: Options,
    /// The first does all, the others what starts from the ends need: one for each way, and one for
    /// what is mixed.
    descents: [Descent; 4],
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
            descents: Default::default(),
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

    /// The value reached from `start`, a plan from `a` to `b`, instead of `p q'` and of disturbed
    /// starts.
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
        let descent = &mut self.descents[0];
        descent.begin(first, second, None, transposed);
        descent.set(first, second, None, Start::Plan(&self.start));
        let reached = descent.go(first, second, None, &self.options, self.options.exchange);
        Ok(reached.value)
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
            exchange,
            ..
        } = self.options;
        let alpha = fused.map(|fused| fused.alpha);
        let n_used = if end_starts { self.descents.len() } else { 1 };
        for descent in &mut self.descents[..n_used] {
            descent.begin(a, b, fused, transposed);
        }
        let mut best: Option<Progress> = None;
        let mut keep = |reached: Progress, descent: &mut Descent| {
            if best.is_none_or(|best| reached.value < best.value) {
                best = Some(reached);
                if let Some(plan) = &mut plan {
                    **plan = descent.plan(a, b);
                }
            }
        };
        for attempt in 0..=restarts {
            let start = if attempt > 0 || (restarts == 0 && jitter > 0.0) {
                disturbed(a, b, jitter, seed, attempt, &mut self.start);
                Start::Plan(&self.start)
            } else {
                Start::Product
            };
            self.descents[0].set(a, b, alpha, start);
            let reached = self.descents[0].go(a, b, alpha, &self.options, exchange);
            keep(reached, &mut self.descents[0]);
            if attempt == 0 && end_starts {
                self.start_from_ends(a, b, alpha, reached, &mut keep);
            }
        }
        let Progress { value, n_steps, .. } = best.expect("there is at least one start");
        Reached {
            value,
            n_steps,
            transposed,
        }
    }

    /// Makes the starts from the ends, after a first one that reached `first`; all that may be the
    /// best goes to `keep`.
    fn start_from_ends(
        &mut self,
        a: &Space,
        b: &Space,
        alpha: Option<f64>,
        first: Progress,
        keep: &mut impl FnMut(Progress, &mut Descent),
    ) {
        let (options, exchange) = (&self.options, self.options.exchange);
        let mut reached = [first; 3];
        for (way, columns) in b.along.iter().enumerate() {
            let descent = &mut self.descents[1 + way];
            descent.set(a, b, alpha, Start::Sorted(&a.along[0], columns));
            reached[1 + way] = descent.go(a, b, alpha, options, false);
        }
        // Exchanges take the time of a third of a descent; the way that lies lower before them
        // mostly does so after.
        let lower = if reached[2].value < reached[1].value { 2 } else { 1 };
        reached[lower] = self.descents[lower].go(a, b, alpha, options, exchange);
        keep(reached[lower], &mut self.descents[lower]);

        let winner = if reached[lower].value < first.value { lower } else { 0 };
        let mut best = reached[winner].value;
        let (ended, mixed) = self.descents.split_at_mut(3);
        for other in 0..3 {
            let tolerance = options.absolute_tolerance.max(options.relative_tolerance * best.abs());
            if reached[other].value - reached[winner].value <= tolerance {
                // The winner itself, or another with the same plan.
                continue;
            }
            mixed[0].set_between(a, b, alpha, (&ended[winner], &ended[other], MIXED));
            let mut value = mixed[0].go(a, b, alpha, options, false);
            if value.value < best {
                value = mixed[0].go(a, b, alpha, options, exchange);
                best = value.value;
                keep(value, &mut mixed[0]);
            }
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
