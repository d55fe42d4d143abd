//! Entropic Gromov-Wasserstein: a plan that is the entropic transport plan of its own gradient.
//!
//! G. Peyré, M. Cuturi and J. Solomon. Gromov-Wasserstein Averaging of Kernel and Distance Matrices. ICML 2016, Eq. 8.

use super::objective::{gradient, objective};
use super::space::Space;
use super::{Coupling, GwError};
use crate::transport::{Plan, Scaler, Sinkhorn, TransportError};

/// The regularisation and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropic {
    /// How each linear problem is solved; its `epsilon` weighs the entropy against the gradient, twice the tensor product of
    /// the squared loss with the plan. By default it takes up to 1000 sweeps to 1e-9: a step goes on from the potentials of
    /// the last, so those far from a fixed point need not be exact, and near one a plan that all but falls apart into blocks
    /// gets mass from one to another ever more slowly, by hardly anything a sweep.
    pub sinkhorn: Sinkhorn,
    /// Stops when a step moves no more than this part of the mass, in all; positive. The default is 1e-9.
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
            tolerance: 1e-9,
            max_steps: 1000,
        }
    }
}

/// An entropic plan and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct EntropicCoupling {
    /// The plan, the value of [`objective`](super::objective) at it, without the entropy, and the steps made.
    pub coupling: Coupling,
    /// Whether the last step met its tolerance.
    pub converged: bool,
    /// By how much the rows of the plan miss their sums, in all; its columns are exact up to rounding.
    pub row_error: f64,
}

/// Repeats `T ← Sinkhorn(p, q, gradient(T), ε)` from `p q'` to a fixed point.
///
/// # Errors
/// [`GwError::Parameter`]. That it did not converge is no error: see [`EntropicCoupling::converged`].
///
/// # Complexity
/// `O(n² m + n m²)` a step, and `O(n m)` for each sweep of the scaling, whose number grows as `1 / ε`.
pub fn entropic_gw(a: &Space, b: &Space, settings: &Entropic) -> Result<EntropicCoupling, GwError> {
    settings.check()?;
    let mut scaler = Scaler::new(a.weights(), b.weights());
    let mut plan = a.product_plan(b);
    let mut converged = false;
    let mut row_error = 0.0;
    let mut n_steps = 0;
    while n_steps < settings.max_steps && !converged {
        n_steps += 1;
        let cost = gradient(a, b, &plan)?;
        (_, row_error) = scaler.solve(&cost, &settings.sinkhorn);
        let mut values = vec![0.0; cost.len()];
        scaler.plan_into(&mut values);
        scaler.absorb(settings.sinkhorn.epsilon);
        let moved = values.iter().zip(plan.values());
        let moved = moved.fold(0.0, |sum, (new, old)| sum + (new - old).abs());
        plan = Plan::new(b.n(), values);
        converged = moved <= settings.tolerance;
    }
    let value = objective(a, b, &plan)?;
    Ok(EntropicCoupling {
        coupling: Coupling { plan, value, n_steps },
        converged,
        row_error,
    })
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
