//! The mean of several spaces: the matrix of distances nearest to all of them.
//!
//! G. Peyré, M. Cuturi and J. Solomon. Gromov-Wasserstein Averaging of Kernel and Distance
//! Matrices. ICML 2016, Sec. 4.

use super::objective::{objective, times};
use super::solver::{Coupling, Solver};
use super::space::Space;
use super::{GwError, Options};
use crate::transport::Plan;
use crate::transport::simplex::Simplex;
use rayon::prelude::*;

/// How plans are found and when the alternation stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternation {
    pub options: Options,
    /// Stops when a round lowers the mean value by no more than this part of it; at least 0. The
    /// default is 1e-9.
    pub tolerance: f64,
    /// Stops after this many rounds; at least 1. The default is 1000.
    pub max_rounds: u32,
}

impl Default for Alternation {
    fn default() -> Alternation {
        Alternation {
            options: Options::default(),
            tolerance: 1e-9,
            max_rounds: 1000,
        }
    }
}

/// A mean and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Barycentre {
    pub space: Space,
    /// `Σ_s λ_s GW(C_s, C)` at the plans found.
    pub value: f64,
    pub n_rounds: u32,
    /// Whether the last round met the tolerance.
    pub converged: bool,
}

/// A mean of `spaces` with the shares `lambdas`, as large and weighted as `start`: plans and matrix
/// improve in turn.
///
/// A plan of the last round is kept if the new one is worse, so the value never rises. What is
/// found is a local optimum that depends on `start`; see [`resized`] for one.
///
/// # Errors
/// [`GwError`] when there is no space, when there is not one share each, or they are not positive
/// with the sum 1, and for `settings`.
///
/// # Determinism
/// Plans are found in parallel, one writer each; sums run over ascending spaces.
pub fn barycentre(
    spaces: &[&Space],
    lambdas: &[f64],
    start: &Space,
    settings: &Alternation,
) -> Result<Barycentre, GwError> {
    settings.check()?;
    check_shares(spaces.len(), lambdas)?;
    let mut space = start.clone();
    let mut plans: Vec<Option<Plan>> = vec![None; spaces.len()];
    let mut before = f64::INFINITY;
    let mut n_rounds = 0;
    loop {
        n_rounds += 1;
        let couplings: Vec<Result<Coupling, GwError>> = spaces
            .par_iter()
            .zip(plans)
            .map_init(
                || Solver::checked(settings.options),
                |solver, (member, kept)| better(solver, member, &space, kept),
            )
            .collect();
        let couplings: Vec<Coupling> = couplings.into_iter().collect::<Result<_, _>>()?;
        let values = couplings.iter().zip(lambdas);
        let value = values.fold(0.0, |sum, (coupling, lambda)| sum + lambda * coupling.value);
        let converged = before - value <= settings.tolerance * value;
        if converged || n_rounds == settings.max_rounds {
            return Ok(Barycentre {
                space,
                value,
                n_rounds,
                converged,
            });
        }
        before = value;
        let found: Vec<Plan> = couplings.into_iter().map(|coupling| coupling.plan).collect();
        let matrix = update(spaces, &found, lambdas, space.weights())?;
        space = Space::checked(&matrix, space.weights().to_vec());
        plans = found.into_iter().map(Some).collect();
    }
}

/// The plan that is found, or the one that is kept if that is better.
fn better(solver: &mut Solver, member: &Space, mean: &Space, kept: Option<Plan>) -> Result<Coupling, GwError> {
    let found = solver.couple(member, mean);
    if let Some(plan) = kept {
        let value = objective(member, mean, &plan)?.max(0.0);
        if value < found.value {
            return Ok(Coupling {
                plan,
                value,
                n_steps: 0,
            });
        }
    }
    Ok(found)
}

/// The best matrix for given plans `T_s` of shape `(n_s, N)`: `C = Σ_s λ_s T_s' C_s T_s / (p p')`,
/// row-major of shape `(N, N)`, for the squared loss; `p` has the weights of its points.
///
/// # Errors
/// [`GwError::Shape`] when lengths do not fit.
pub fn update(spaces: &[&Space], plans: &[Plan], lambdas: &[f64], p: &[f64]) -> Result<Vec<f64>, GwError> {
    GwError::check_shape("plans", spaces.len(), plans.len())?;
    GwError::check_shape("lambdas", spaces.len(), lambdas.len())?;
    let n = p.len();
    let mut matrix = vec![0.0; n * n];
    for ((space, plan), lambda) in spaces.iter().zip(plans).zip(lambdas) {
        GwError::check_shape("plan, rows", space.n(), plan.n_rows())?;
        GwError::check_shape("plan, columns", n, plan.n_columns())?;
        let half = times(space, plan.values(), n);
        let turned = plan.transposed();
        for (j, row) in matrix.chunks_exact_mut(n).enumerate() {
            for (value, half) in turned.row(j).iter().zip(half.chunks_exact(n)) {
                // Half of the matrix is enough: so it is symmetric to the last bit.
                for (sum, half) in row[j..].iter_mut().zip(&half[j..]) {
                    *sum += lambda * value * half;
                }
            }
        }
    }
    for j in 0..n {
        for l in j..n {
            matrix[j * n + l] /= p[j] * p[l];
            matrix[l * n + j] = matrix[j * n + l];
        }
    }
    Ok(matrix)
}

/// A space of `n` points of equal weight like this one: its points, by ascending mean distance, are
/// laid out along the new ones. A space of `n` equal weights stays as it is but for its order.
///
/// # Errors
/// [`GwError::Parameter`] when `n` is 0.
pub fn resized(space: &Space, n: usize) -> Result<Space, GwError> {
    if n == 0 {
        return Err(GwError::parameter("n", "at least 1", 0.0));
    }
    let weights = vec![1.0 / n as f64; n];
    let target = Space::checked(&vec![0.0; n * n], weights.clone());
    let (supply, demand, total) = space.masses.common_units(&target.masses);
    let mut simplex = Simplex::default();
    simplex.start(&supply, &demand, &space.order, &target.order);
    let mut values = vec![0.0; space.n() * n];
    for arc in simplex.arcs() {
        values[arc.row as usize * n + arc.column as usize] = arc.flow as f64 / total;
    }
    let matrix = update(&[space], &[Plan::new(n, values)], &[1.0], &weights)?;
    Ok(Space::checked(&matrix, weights))
}

fn check_shares(n: usize, lambdas: &[f64]) -> Result<(), GwError> {
    if n == 0 {
        return Err(GwError::parameter("spaces", "at least one", 0.0));
    }
    GwError::check_shape("lambdas", n, lambdas.len())?;
    GwError::check_finite("lambdas", lambdas)?;
    if let Some(&value) = lambdas.iter().find(|lambda| **lambda <= 0.0) {
        return Err(GwError::parameter("lambdas", "greater than 0", value));
    }
    let sum = lambdas.iter().fold(0.0, |sum, lambda| sum + lambda);
    match (sum - 1.0).abs() <= crate::transport::SUM_TOLERANCE {
        true => Ok(()),
        false => Err(GwError::parameter("lambdas", "of sum 1", sum)),
    }
}

impl Alternation {
    pub(super) fn check(&self) -> Result<(), GwError> {
        self.options.check()?;
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            return Err(GwError::parameter("tolerance", "finite and at least 0", self.tolerance));
        }
        match self.max_rounds {
            0 => Err(GwError::parameter("max_rounds", "at least 1", 0.0)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{points, tree};
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng};

    #[test]
    fn the_mean_of_equal_spaces_is_that_space() {
        let mut rng = SimRng::seed_from_u64(1);
        let space = points(6, &mut rng);
        let turned = Space::uniform(space.to_matrix().into_iter().rev().collect()).unwrap();
        let mean = barycentre(&[&space, &turned], &[0.3, 0.7], &turned, &Alternation::default()).unwrap();
        assert!(mean.converged && mean.value < 1e-12, "{mean:?}");
        let same = mean.space.to_matrix().into_iter().zip(turned.to_matrix());
        assert!(same.into_iter().all(|(got, wanted)| (got - wanted).abs() < 1e-12));
    }

    #[test]
    fn no_round_raises_the_value_and_no_nudge_of_the_mean_lowers_it() {
        let mut rng = SimRng::seed_from_u64(2);
        let members: Vec<Space> = (5..9).map(|n| tree(n, &mut rng)).collect();
        let spaces: Vec<&Space> = members.iter().collect();
        let start = resized(&members[0], 6).unwrap();
        let lambdas = [0.25; 4];
        let mut before = f64::INFINITY;
        for max_rounds in 1..8 {
            let settings = Alternation {
                max_rounds,
                ..Alternation::default()
            };
            let mean = barycentre(&spaces, &lambdas, &start, &settings).unwrap();
            assert!(mean.value <= before);
            before = mean.value;
        }
        // For its plans the updated matrix is the best of all: any change of it raises the sum.
        let plans: Vec<Plan> = members.iter().map(|member| member.product_plan(&start)).collect();
        let best = update(&spaces, &plans, &lambdas, start.weights()).unwrap();
        let sum = |matrix: Vec<f64>| -> f64 {
            let mean = Space::uniform(matrix).unwrap();
            let values = members.iter().zip(&plans);
            values
                .map(|(member, plan)| objective(member, &mean, plan).unwrap() / 4.0)
                .sum()
        };
        let least = sum(best.clone());
        for (j, l) in [(0, 0), (0, 3), (2, 5)] {
            for nudge in [-0.1, 0.1] {
                let mut matrix = best.clone();
                matrix[j * 6 + l] += nudge;
                matrix[l * 6 + j] = matrix[j * 6 + l];
                assert!(sum(matrix) > least);
            }
        }
    }

    #[test]
    fn resizing_keeps_what_it_can() {
        let mut rng = SimRng::seed_from_u64(3);
        let space = points(5, &mut rng);
        let gw = |other: &Space| super::super::gw(&space, other, &Options::default()).unwrap();
        assert!(gw(&resized(&space, 5).unwrap()) < 1e-12);
        // Each point becomes two at distance 0.
        assert!(gw(&resized(&space, 10).unwrap()) < 1e-12);
        let smaller = resized(&space, 3).unwrap();
        assert!(smaller.n() == 3 && gw(&smaller) > 0.0);
        assert_eq!(
            resized(&space, 0).unwrap_err().to_string(),
            "n: must be at least 1, got 0"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let space = Space::uniform(vec![0.0]).unwrap();
        let said = |spaces: &[&Space], lambdas: &[f64]| {
            let result = barycentre(spaces, lambdas, &space, &Alternation::default());
            result.unwrap_err().to_string()
        };
        assert_eq!(said(&[], &[]), "spaces: must be at least one, got 0");
        assert_eq!(said(&[&space], &[]), "lambdas: must have 1 values, got 0");
        assert_eq!(said(&[&space], &[0.5]), "lambdas: must be of sum 1, got 0.5");
        assert_eq!(
            said(&[&space; 2], &[1.0, 0.0]),
            "lambdas: must be greater than 0, got 0"
        );
    }
}
