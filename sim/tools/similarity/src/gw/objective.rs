//! Values and gradients at a plan.

use super::space::Space;
use super::{Fused, GwError};
use crate::transport::Plan;

/// The squared Euclidean distance, terms added in ascending order.
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
}

/// Squared Euclidean distances between the rows of `x` and of `y`, row-major of shape
/// `(rows x, rows y)`: the usual cost between features.
///
/// # Panics
/// When `k` is 0 or a length no multiple of it: the caller's bug.
pub fn feature_cost(x: &[f64], y: &[f64], k: usize) -> Vec<f64> {
    assert!(
        k > 0 && x.len().is_multiple_of(k) && y.len().is_multiple_of(k),
        "features must have whole rows of k > 0 numbers"
    );
    let rows = x.chunks_exact(k);
    rows.flat_map(|x| y.chunks_exact(k).map(move |y| squared_distance(x, y)))
        .collect()
}

/// `Σ_ijkl (C_ik − D_jl)² T_ij T_kl` at any `plan`, of shape `(n, m)`; its own sums stand for the
/// weights.
///
/// # Errors
/// [`GwError::Shape`].
///
/// # Complexity
/// `O(n² m + n m²)`.
pub fn objective(a: &Space, b: &Space, plan: &Plan) -> Result<f64, GwError> {
    let gradient = gradient(a, b, plan)?;
    // The value is a quadratic form in the plan, so it is half of the inner product with its
    // gradient.
    Ok(plan.cost(&gradient) / 2.0)
}

/// The gradient of [`objective`] by the plan, row-major of shape `(n, m)`:
/// `2 [(C∘C) r 1' + 1 ((D∘D) s)' − 2 C T D]` with the sums `r` of the rows of `T` and `s` of its
/// columns.
///
/// # Errors
/// [`GwError::Shape`].
pub fn gradient(a: &Space, b: &Space, plan: &Plan) -> Result<Vec<f64>, GwError> {
    GwError::check_shape("plan, rows", a.n(), plan.n_rows())?;
    GwError::check_shape("plan, columns", b.n(), plan.n_columns())?;
    let squares = |space: &Space, sums: &[f64]| -> Vec<f64> {
        let rows = (0..space.n()).map(|i| space.row(i));
        rows.map(|row| row.iter().zip(sums).fold(0.0, |sum, (c, p)| sum + c * c * p))
            .collect()
    };
    let (rows, columns) = (squares(a, &plan.row_sums()), squares(b, &plan.column_sums()));
    let product = sandwich(a, plan, b);
    let constant = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| row + column));
    Ok(constant.zip(product).map(|(sum, x)| 2.0 * (sum - 2.0 * x)).collect())
}

/// `C T D`, row-major of shape `(n, m)`.
fn sandwich(a: &Space, plan: &Plan, b: &Space) -> Vec<f64> {
    let m = b.n();
    let mut half = vec![0.0; a.n() * m];
    for (i, out) in half.chunks_exact_mut(m).enumerate() {
        for (j, &value) in plan.row(i).iter().enumerate() {
            add_row(out, value, b.row(j));
        }
    }
    times(a, &half, m)
}

/// `C B`, row-major of shape `(n, m)`, as `b` is.
pub(super) fn times(space: &Space, b: &[f64], m: usize) -> Vec<f64> {
    let mut product = vec![0.0; space.n() * m];
    for (i, out) in product.chunks_exact_mut(m).enumerate() {
        for (&distance, row) in space.row(i).iter().zip(b.chunks_exact(m)) {
            add_row(out, distance, row);
        }
    }
    product
}

/// `out += factor × row`.
fn add_row(out: &mut [f64], factor: f64, row: &[f64]) {
    out.iter_mut().zip(row).for_each(|(out, value)| *out += factor * value);
}

/// `(1 − α) <M, T> + α Σ_ijkl (C_ik − D_jl)² T_ij T_kl` at any `plan`.
///
/// # Errors
/// [`GwError::Shape`].
pub fn fused_objective(a: &Space, b: &Space, fused: &Fused<'_>, plan: &Plan) -> Result<f64, GwError> {
    GwError::check_shape("cost", a.n() * b.n(), fused.cost.len())?;
    let distances = objective(a, b, plan)?;
    Ok((1.0 - fused.alpha) * plan.cost(fused.cost) + fused.alpha * distances)
}
