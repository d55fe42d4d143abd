//! Many pairs of spaces, in parallel: each value has one writer and depends on nothing but its
//! pair.

use super::objective::feature_cost;
use super::solver::Solver;
use super::space::Space;
use super::{Fused, GwError, Options};
use rayon::prelude::*;

/// How many pairs a worker takes at once.
const CHUNK: usize = 32;

/// `GW` of all pairs of `spaces`, in the order (0, 1), (0, 2), … (1, 2), … of
/// [`Condensed`](crate::dissimilarity::Condensed), to which they can be given in single precision.
///
/// # Errors
/// [`GwError::Parameter`] for `options`.
///
/// # Determinism
/// Each value has the bits of [`gw`](super::gw) for its pair, for any number of threads.
pub fn all_pairs(spaces: &[Space], options: &Options) -> Result<Vec<f64>, GwError> {
    options.check()?;
    let pairs = pairs(spaces.len());
    Ok(solve(&pairs, options, |solver, (u, v)| {
        solver.value(&spaces[u], &spaces[v])
    }))
}

/// The fused value of all pairs of `spaces`, in the order of [`all_pairs`].
///
/// `features` has the features of each space, row-major of shape `(n, k)`; their cost is
/// [`feature_cost`]. `alpha` is the share of the distances, in `0..=1`.
///
/// # Errors
/// [`GwError`] for `options`, `alpha`, and features of another shape or not finite.
pub fn fused_all_pairs(
    spaces: &[Space],
    features: &[Vec<f64>],
    k: usize,
    alpha: f64,
    options: &Options,
) -> Result<Vec<f64>, GwError> {
    options.check()?;
    check_alpha(alpha)?;
    GwError::check_shape("features", spaces.len(), features.len())?;
    if k == 0 {
        return Err(GwError::parameter("k", "at least 1", 0.0));
    }
    for (space, features) in spaces.iter().zip(features) {
        GwError::check_shape("features of a space", space.n() * k, features.len())?;
        GwError::check_finite("features of a space", features)?;
    }
    let pairs = pairs(spaces.len());
    Ok(solve(&pairs, options, |solver, (u, v)| {
        let cost = feature_cost(&features[u], &features[v], k);
        solver.fused_checked(&spaces[u], &spaces[v], &Fused { alpha, cost: &cost })
    }))
}

/// `GW` between each of `rows` and each of `columns`, row-major of shape
/// `(rows.len(), columns.len())`.
///
/// # Errors
/// [`GwError::Parameter`] for `options`.
pub fn between(rows: &[Space], columns: &[Space], options: &Options) -> Result<Vec<f64>, GwError> {
    options.check()?;
    let pairs: Vec<(u32, u32)> = (0..rows.len() as u32)
        .flat_map(|u| (0..columns.len() as u32).map(move |v| (u, v)))
        .collect();
    Ok(solve(&pairs, options, |solver, (u, v)| {
        solver.value(&rows[u], &columns[v])
    }))
}

pub(super) fn check_alpha(alpha: f64) -> Result<(), GwError> {
    match (0.0..=1.0).contains(&alpha) {
        true => Ok(()),
        false => Err(GwError::parameter("alpha", "in 0..=1", alpha)),
    }
}

/// All pairs of `n` things, in the order of [`Condensed`](crate::dissimilarity::Condensed).
fn pairs(n: usize) -> Vec<(u32, u32)> {
    let n = n as u32;
    (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect()
}

fn solve(
    pairs: &[(u32, u32)],
    options: &Options,
    value: impl Fn(&mut Solver, (usize, usize)) -> f64 + Sync,
) -> Vec<f64> {
    let mut values = vec![0.0; pairs.len()];
    values.par_chunks_mut(CHUNK).zip(pairs.par_chunks(CHUNK)).for_each_init(
        || Solver::checked(*options),
        |solver, (values, pairs)| {
            for (out, &(u, v)) in values.iter_mut().zip(pairs) {
                *out = value(solver, (u as usize, v as usize));
            }
        },
    );
    values
}
