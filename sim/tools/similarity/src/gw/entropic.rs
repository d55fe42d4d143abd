//! Entropic Gromov-Wasserstein: a plan that is the entropic transport plan of its own gradient; and
//! the proximal-point method, in which the entropy is that towards the plan before, so that it has
//! no part in the end.
//!
//! G. Peyré, M. Cuturi and J. Solomon. Gromov-Wasserstein Averaging of Kernel and Distance
//! Matrices. ICML 2016, Eq. 8; H. Xu et al. Gromov-Wasserstein Learning for Graph Matching and Node
//! Embedding. ICML 2019, Eq. 6.

use super::objective::{gradient, times};
use super::space::Space;
use super::{Coupling, GwError};
use crate::transport::{Plan, Scaler, Sinkhorn, TransportError};

/// What two distances `a` and `b` that are matched cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// `(a − b)²`.
    #[default]
    Square,
    /// `a ln(a / b) − a + b`, of distances that are not negative, each raised by 1e-15 under the
    /// logarithm. Not the same both ways.
    KullbackLeibler,
}

/// The regularisation and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropic {
    /// How each linear problem is solved; its `epsilon` weighs the entropy against the gradient,
    /// twice the tensor product of the squared loss with the plan. By default it takes up to 1000
    /// sweeps to 1e-9: a step goes on from the potentials of the last, so those far from a fixed
    /// point need not be exact, and near one a plan that all but falls apart into blocks gets mass
    /// from one to another ever more slowly, by hardly anything a sweep.
    pub sinkhorn: Sinkhorn,
    /// The entropy is that of the plan before instead of a plan's own: the proximal-point method.
    /// Off by default.
    pub proximal: bool,
    /// What is compared. The default is the squared difference.
    pub loss: Loss,
    /// Stops when a step moves no more than this part of the mass, in all; positive. The default is
    /// 1e-9.
    pub tolerance: f64,
    /// Stops after this many steps; at least 1. The default is 1000.
    pub max_steps: u32,
}

impl Default for Entropic {
    fn default() -> Entropic {
        Entropic {
            sinkhorn: Sinkhorn {
                tolerance: 1e-9,
                max_sweeps: 1000,
                ..Sinkhorn::default()
            },
            proximal: false,
            loss: Loss::Square,
            tolerance: 1e-9,
            max_steps: 1000,
        }
    }
}

/// Below this a flow counts as this under the logarithm.
const LEAST_FLOW: f64 = 1e-300;
/// What a distance is raised by under the logarithm.
const RAISED: f64 = 1e-15;

/// An entropic plan and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct EntropicCoupling {
    /// The plan, the value of the loss at it, without the entropy, and the steps made.
    pub coupling: Coupling,
    /// Whether the last step met its tolerance.
    pub converged: bool,
    /// By how much the rows of the plan miss their sums, in all; its columns are exact up to
    /// rounding.
    pub row_error: f64,
}

/// Repeats `T ← Sinkhorn(p, q, gradient(T), ε)` from `p q'` to a fixed point; where it is proximal,
/// the cost is `gradient(T) − ε ln T`.
///
/// # Errors
/// [`GwError::Parameter`]. That it did not converge is no error: see
/// [`EntropicCoupling::converged`].
///
/// # Complexity
/// `O(n² m + n m²)` a step, and `O(n m)` for each sweep of the scaling, whose number grows as
/// `1 / ε`.
pub fn entropic_gw(a: &Space, b: &Space, settings: &Entropic) -> Result<EntropicCoupling, GwError> {
    settings.check()?;
    let mut scaler = Scaler::new(a.weights(), b.weights());
    let mut plan = a.product_plan(b);
    let mut converged = false;
    let mut row_error = 0.0;
    let mut n_steps = 0;
    while n_steps < settings.max_steps && !converged {
        n_steps += 1;
        let mut cost = slope(a, b, &plan, settings.loss)?;
        if settings.proximal {
            let flows = cost.iter_mut().zip(plan.values());
            flows.for_each(|(cost, flow)| *cost -= settings.sinkhorn.epsilon * libm::log(flow.max(LEAST_FLOW)));
        }
        (_, row_error) = scaler.solve(&cost, &settings.sinkhorn);
        let mut values = vec![0.0; cost.len()];
        scaler.plan_into(&mut values);
        scaler.absorb(settings.sinkhorn.epsilon);
        let moved = values.iter().zip(plan.values());
        let moved = moved.fold(0.0, |sum, (new, old)| sum + (new - old).abs());
        plan = Plan::new(b.n(), values);
        converged = moved <= settings.tolerance;
    }
    // A quadratic form in the plan: half of the inner product with its gradient.
    let value = plan.cost(&slope(a, b, &plan, settings.loss)?) / 2.0;
    Ok(EntropicCoupling {
        coupling: Coupling { plan, value, n_steps },
        converged,
        row_error,
    })
}

/// The gradient of the loss by the plan, row-major of shape `(n, m)`.
fn slope(a: &Space, b: &Space, plan: &Plan, loss: Loss) -> Result<Vec<f64>, GwError> {
    if loss == Loss::Square {
        return gradient(a, b, plan);
    }
    // `a ln(a / b) − a + b` is `f(a) + b − a ln b` with `f(a) = a ln a − a`.
    let (n, m) = (a.n(), b.n());
    let (rows, columns) = (plan.row_sums(), plan.column_sums());
    let own = |i: usize| {
        let terms = a.row(i).iter().zip(&rows);
        terms.fold(0.0, |sum, (c, r)| sum + (c * libm::log(c + RAISED) - c) * r)
    };
    let other = |j: usize| b.row(j).iter().zip(&columns).fold(0.0, |sum, (d, s)| sum + d * s);
    let logs: Vec<f64> = (0..m)
        .flat_map(|j| b.row(j)[..m].iter().map(|d| libm::log(d + RAISED)))
        .collect();
    let mut half = vec![0.0; n * m];
    for (k, out) in half.chunks_exact_mut(m).enumerate() {
        for (flow, logs) in plan.row(k).iter().zip(logs.chunks_exact(m)) {
            out.iter_mut().zip(logs).for_each(|(out, log)| *out += flow * log);
        }
    }
    let product = times(a, &half, m);
    let others: Vec<f64> = (0..m).map(other).collect();
    let constant = (0..n)
        .map(own)
        .flat_map(|own| others.iter().map(move |other| own + other));
    Ok(constant.zip(product).map(|(sum, x)| 2.0 * (sum - x)).collect())
}

impl Entropic {
    fn check(&self) -> Result<(), GwError> {
        self.sinkhorn.check().map_err(|error| match error {
            TransportError::Parameter { name, rule, value } => GwError::parameter(name, rule, value),
            other => unreachable!("settings have only parameters: {other}"),
        })?;
        if !(self.tolerance.is_finite() && self.tolerance > 0.0) {
            return Err(GwError::parameter(
                "tolerance",
                "finite and greater than 0",
                self.tolerance,
            ));
        }
        match self.max_steps {
            0 => Err(GwError::parameter("max_steps", "at least 1", 0.0)),
            _ => Ok(()),
        }
    }
}
