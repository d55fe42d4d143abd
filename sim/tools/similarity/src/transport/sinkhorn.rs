//! Entropic transport by scaling the rows and columns of a kernel in turn.
//!
//! M. Cuturi. Sinkhorn Distances: Lightspeed Computation of Optimal Transport. NIPS 2013; with the
//! stabilisation of B. Schmitzer, SIAM J. Sci. Comput. 41 (2019): scalings that grow large are
//! absorbed into potentials, so a small `ε` neither over- nor underflows.

use super::kernels::{columns_times, rows_times, stride};
use super::{Plan, TransportError, check};

/// Scalings beyond this, or below its inverse, are absorbed.
const ABSORB: f64 = 1e60;

/// The regularisation and when to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinkhorn {
    /// `ε`, the weight of the entropy, in units of the cost; positive. The default is 1.
    pub epsilon: f64,
    /// Stops when the rows miss their sums by no more than this part of the mass, in all; positive.
    /// The default is 1e-12.
    pub tolerance: f64,
    /// Stops after this many sweeps over rows and columns; the default is 100 000.
    pub max_sweeps: u32,
}

impl Default for Sinkhorn {
    fn default() -> Sinkhorn {
        Sinkhorn {
            epsilon: 1.0,
            tolerance: 1e-12,
            max_sweeps: 100_000,
        }
    }
}

impl Sinkhorn {
    pub(crate) fn check(&self) -> Result<(), TransportError> {
        let positive = [("epsilon", self.epsilon), ("tolerance", self.tolerance)];
        let sweeps = ("max_sweeps", f64::from(self.max_sweeps));
        for (name, value) in positive.into_iter().chain([sweeps]) {
            if !(value.is_finite() && value > 0.0) {
                let rule = "finite and greater than 0";
                return Err(TransportError::Parameter { name, rule, value });
            }
        }
        Ok(())
    }
}

/// An entropic plan and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkhornPlan {
    /// The plan; its columns are exact up to rounding, its rows up to `row_error`.
    pub plan: Plan,
    pub n_sweeps: u32,
    /// By how much the rows miss their sums, in all, as a part of the mass.
    pub row_error: f64,
    /// Whether `row_error` is within the tolerance: if not, `max_sweeps` were not enough.
    pub converged: bool,
}

/// The plan `T` from `a` to `b` of least `<cost, T> + ε Σ T (ln T − 1)`; `cost` is row-major of
/// shape `(n, m)`.
///
/// # Errors
/// Whatever [`TransportError`] names. Too few sweeps are no error: see [`SinkhornPlan::converged`].
///
/// # Complexity
/// `O(n m)` a sweep; the number of sweeps grows as `max cost / ε`.
pub fn sinkhorn(a: &[f64], b: &[f64], cost: &[f64], settings: &Sinkhorn) -> Result<SinkhornPlan, TransportError> {
    settings.check()?;
    let mass = check(a, b, cost)?;
    let b_mass = b.iter().fold(0.0, |sum, b| sum + b);
    // The sums may differ by the tolerance of the input; the columns are what is met exactly.
    let a: Vec<f64> = a.iter().map(|a| a / mass).collect();
    let b: Vec<f64> = b.iter().map(|b| b / b_mass).collect();
    let mut scaler = Scaler::new(&a, &b);
    let (n_sweeps, row_error) = scaler.solve(cost, settings);
    let mut values = vec![0.0; a.len() * b.len()];
    scaler.plan_into(&mut values);
    values.iter_mut().for_each(|value| *value *= mass);
    Ok(SinkhornPlan {
        plan: Plan::new(b.len(), values),
        n_sweeps,
        row_error,
        converged: row_error <= settings.tolerance,
    })
}

/// Scales problems between two fixed measures of mass 1; potentials stay from one cost to the next.
#[derive(Debug)]
pub(crate) struct Scaler {
    n: usize,
    m: usize,
    stride: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    /// Potentials of rows and columns, in units of the cost.
    f: Vec<f64>,
    g: Vec<f64>,
    is_warm: bool,
    /// `exp((f_i + g_j − cost_ij) / ε)`, zero where padded.
    kernel: Vec<f64>,
    /// What scales its rows and columns.
    rows: Vec<f64>,
    columns: Vec<f64>,
    sums: Vec<f64>,
    column_sums: Vec<f64>,
}

impl Scaler {
    pub(crate) fn new(a: &[f64], b: &[f64]) -> Scaler {
        let (n, m) = (a.len(), b.len());
        let stride = stride(m);
        Scaler {
            n,
            m,
            stride,
            a: a.to_vec(),
            b: b.to_vec(),
            f: vec![0.0; n],
            g: vec![0.0; m],
            is_warm: false,
            kernel: vec![0.0; n * stride],
            rows: vec![1.0; n],
            columns: vec![0.0; stride],
            sums: vec![0.0; n],
            column_sums: vec![0.0; stride],
        }
    }

    /// Scales until done; the number of sweeps and the error of the rows.
    pub(crate) fn solve(&mut self, cost: &[f64], settings: &Sinkhorn) -> (u32, f64) {
        if !self.is_warm {
            self.cold_potentials(cost);
            self.is_warm = true;
        }
        if !self.rebuild(cost, settings.epsilon) {
            // The old potentials are so far off that a row or a column of the kernel vanished or
            // overflowed.
            self.cold_potentials(cost);
            self.rebuild(cost, settings.epsilon);
        }
        let mut error = f64::INFINITY;
        let mut n_sweeps = 0;
        while n_sweeps < settings.max_sweeps {
            rows_times(&self.kernel, &self.columns, &mut self.sums);
            for ((row, &a), &sum) in self.rows.iter_mut().zip(&self.a).zip(&self.sums) {
                *row = a / sum;
            }
            columns_times(&self.kernel, &self.rows, &mut self.column_sums);
            for ((column, &b), &sum) in self.columns.iter_mut().zip(&self.b).zip(&self.column_sums) {
                *column = b / sum;
            }
            n_sweeps += 1;
            // A point without mass has the scaling 0.
            let mut scalings = self.rows.iter().chain(&self.columns[..self.m]);
            if !scalings.all(|&scaling| scaling == 0.0 || is_usable(scaling)) {
                self.absorb(settings.epsilon);
                self.rebuild(cost, settings.epsilon);
            }
            rows_times(&self.kernel, &self.columns, &mut self.sums);
            error = 0.0;
            for ((&row, &a), &sum) in self.rows.iter().zip(&self.a).zip(&self.sums) {
                error += (row * sum - a).abs();
            }
            if error <= settings.tolerance {
                break;
            }
        }
        (n_sweeps, error)
    }

    /// Writes the plan, of shape `(n, m)`, and makes its scalings the potentials from which the
    /// next cost starts.
    pub(crate) fn plan_into(&mut self, plan: &mut [f64]) {
        let rows = plan.chunks_exact_mut(self.m).zip(self.kernel.chunks_exact(self.stride));
        for ((plan, kernel), row) in rows.zip(&self.rows) {
            for ((plan, kernel), column) in plan.iter_mut().zip(kernel).zip(&self.columns) {
                *plan = row * kernel * column;
            }
        }
    }

    /// Moves the scalings into the potentials.
    pub(crate) fn absorb(&mut self, epsilon: f64) {
        for (potentials, scalings) in [
            (&mut self.f, &mut self.rows[..]),
            (&mut self.g, &mut self.columns[..self.m]),
        ] {
            for (potential, scaling) in potentials.iter_mut().zip(scalings) {
                // A point without mass has the scaling 0 and needs no potential.
                if *scaling > 0.0 {
                    *potential += epsilon * libm::log(*scaling);
                }
            }
        }
    }

    /// Potentials under which every row and every column of the kernel has a 1 and nothing above.
    fn cold_potentials(&mut self, cost: &[f64]) {
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        for (f, row) in self.f.iter_mut().zip(cost.chunks_exact(self.m)) {
            *f = least(&mut row.iter().copied());
        }
        for (j, g) in self.g.iter_mut().enumerate() {
            *g = least(&mut (0..self.n).map(|i| cost[i * self.m + j] - self.f[i]));
        }
    }

    /// Makes the kernel of the potentials, with scalings 1; whether every row and column has a
    /// usable sum.
    fn rebuild(&mut self, cost: &[f64], epsilon: f64) -> bool {
        let rows = self.kernel.chunks_exact_mut(self.stride).zip(cost.chunks_exact(self.m));
        for ((kernel, cost), &f) in rows.zip(&self.f) {
            for ((kernel, cost), g) in kernel.iter_mut().zip(cost).zip(&self.g) {
                *kernel = libm::exp((f + g - cost) / epsilon);
            }
        }
        self.rows.fill(1.0);
        self.columns[..self.m].fill(1.0);
        rows_times(&self.kernel, &self.columns, &mut self.sums);
        columns_times(&self.kernel, &self.rows, &mut self.column_sums);
        let mut sums = self.sums.iter().chain(&self.column_sums[..self.m]);
        sums.all(|&sum| is_usable(sum))
    }
}

fn is_usable(scale: f64) -> bool {
    (1.0 / ABSORB..ABSORB).contains(&scale)
}
