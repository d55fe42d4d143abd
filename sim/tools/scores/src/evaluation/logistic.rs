//! Logistic regression with an L2 penalty, by a truncated Newton method.

use super::{EvaluationError, finite, legal, require, same_length};
use crate::kernels;
use folkmoot_parts::component;

/// Rows that stay in the first cache between the two passes over them.
const CHUNK: usize = 32;

/// Minimises `0.5 w · w + C Σ_i ln(1 + e^(−y_i (w · x_i + b)))` with `y_i = ±1`; the intercept `b`
/// is not penalised.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct LogisticRegression {
    /// Inverse regularisation strength `C`.
    #[component(default = 1.0, above = 0)]
    pub c: f64,
    /// Stops when the gradient's norm is at most this times `max(1, C)`. As the penalty's curvature
    /// is 1, with `C <= 1` no coefficient is then off by more, to first order.
    #[component(default = 1e-6, above = 0)]
    pub tolerance: f64,
    /// Maximum number of Newton steps.
    #[component(default = 100, at_least = 1)]
    pub max_steps: usize,
}

/// A fitted model: the score of `x` is `coef · x + intercept`, and its probability
/// `1 / (1 + e^−score)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// One weight a column.
    pub coef: Vec<f64>,
    /// Infinite if all rows had the same label: then the model gives that label always.
    pub intercept: f64,
    /// Whether the gradient fell below the tolerance.
    pub converged: bool,
}

impl LogisticRegression {
    /// Fits one label: `x` has shape `(y.len(), dim)`, and `y` says which rows have the label.
    ///
    /// # Errors
    /// [`EvaluationError`] for illegal settings, no rows, shapes that do not fit and values that
    /// are not finite.
    ///
    /// # Determinism
    /// No draws; sums in an order that depends on the shape alone.
    ///
    /// # Complexity
    /// Some 10 Newton steps of some 10 products with the Hessian, each `4 n dim` operations;
    /// `4 n dim` bytes.
    pub fn fit(&self, x: &[f32], dim: usize, y: &[bool]) -> Result<Logistic, EvaluationError> {
        legal(self)?;
        require(dim > 0, "dim", || "must be at least 1, got 0".to_string())?;
        require(!y.is_empty(), "y", || "must have a row or more, got 0".to_string())?;
        same_length("x", y.len().saturating_mul(dim), x.len())?;
        finite("x", x)?;
        Ok(self.fit_rows(&Rows::new(dim, x.chunks_exact(dim)), y))
    }

    /// Fits each label on its own: `y` has shape `(n, n_labels)`; model `j` of the result is that
    /// of column `j`.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_one_vs_rest(
        &self,
        x: &[f32],
        dim: usize,
        y: &[bool],
        n_labels: usize,
    ) -> Result<Vec<Logistic>, EvaluationError> {
        require(n_labels > 0, "n_labels", || "must be at least 1, got 0".to_string())?;
        require(y.len().is_multiple_of(n_labels), "y", || {
            format!("must be rows of {n_labels} labels, got {} values", y.len())
        })?;
        let column = |label: usize| y.iter().skip(label).step_by(n_labels).copied().collect::<Vec<bool>>();
        (0..n_labels).map(|label| self.fit(x, dim, &column(label))).collect()
    }

    /// [`fit`](Self::fit) for rows that were checked.
    pub(super) fn fit_rows(&self, rows: &Rows, y: &[bool]) -> Logistic {
        let n_positive = y.iter().filter(|&&label| label).count();
        if n_positive == 0 || n_positive == y.len() {
            return Logistic {
                coef: vec![0.0; rows.dim],
                intercept: if n_positive == 0 {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                },
                converged: true,
            };
        }
        let mut state = State::new(rows.width, y.len());
        let target = self.tolerance * self.c.max(1.0);
        let mut first_norm = None;
        let mut converged = false;
        for _ in 0..self.max_steps {
            let gradient = state.gradient(rows, y, self.c);
            let norm = norm(&gradient);
            if norm <= target {
                converged = true;
                break;
            }
            // The nearer the solution, the more exactly the step is solved for.
            let accuracy = (norm / *first_norm.get_or_insert(norm)).sqrt().min(0.1);
            let step = state.newton_step(rows, &gradient, accuracy * norm);
            if !state.advance(rows, y, self.c, &gradient, &step) {
                break;
            }
        }
        let intercept = state.w[rows.width];
        state.w.truncate(rows.dim);
        Logistic {
            coef: state.w,
            intercept,
            converged,
        }
    }
}

/// The rows of a fit, padded with zeros to whole registers.
pub(super) struct Rows {
    dim: usize,
    width: usize,
    values: Vec<f32>,
}

impl Rows {
    pub(super) fn new<'a>(dim: usize, rows: impl ExactSizeIterator<Item = &'a [f32]>) -> Rows {
        let width = dim.next_multiple_of(kernels::LANES);
        let mut values = vec![0.0; rows.len() * width];
        for (to, from) in values.chunks_exact_mut(width).zip(rows) {
            to[..dim].copy_from_slice(from);
        }
        Rows { dim, width, values }
    }

    /// `x_i · w + b` for every row; the last entry of `w` is `b`.
    pub(super) fn scores(&self, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.values.len() / self.width];
        kernels::row_products(&self.values, &w[..self.width], &mut scores);
        scores.iter_mut().for_each(|score| *score += w[self.width]);
        scores
    }

    /// The score of every row under `model`.
    pub(super) fn scores_of(&self, model: &Logistic) -> Vec<f64> {
        let mut w = model.coef.clone();
        w.resize(self.width + 1, 0.0);
        w[self.width] = model.intercept;
        self.scores(&w)
    }
}

/// Where the search stands; the last entry of every vector of weights is the intercept's.
struct State {
    w: Vec<f64>,
    scores: Vec<f64>,
    /// The second derivative of each row's loss.
    curvature: Vec<f64>,
}

impl State {
    fn new(width: usize, n_rows: usize) -> State {
        State {
            w: vec![0.0; width + 1],
            scores: vec![0.0; n_rows],
            curvature: vec![0.0; n_rows],
        }
    }

    /// The gradient; sets the curvature.
    fn gradient(&mut self, rows: &Rows, y: &[bool], c: f64) -> Vec<f64> {
        let width = rows.width;
        let mut slopes = vec![0.0; y.len()];
        for (i, (&score, &label)) in self.scores.iter().zip(y).enumerate() {
            let p = 1.0 / (1.0 + libm::exp(-score));
            slopes[i] = c * if label { p - 1.0 } else { p };
            self.curvature[i] = c * p * (1.0 - p);
        }
        let mut gradient = self.w.clone();
        gradient[width] = slopes.iter().sum();
        kernels::add_scaled_rows(&rows.values, &slopes, &mut gradient[..width]);
        gradient
    }

    /// `H v`, with the Hessian `H = diag(1, …, 1, 0) + Σ_i curvature_i (x_i, 1)(x_i, 1)'`.
    fn hessian_product(&self, rows: &Rows, v: &[f64]) -> Vec<f64> {
        let width = rows.width;
        let mut product = v.to_vec();
        product[width] = 0.0;
        let mut scaled = [0.0; CHUNK];
        for (x, curvature) in rows.values.chunks(CHUNK * width).zip(self.curvature.chunks(CHUNK)) {
            let scaled = &mut scaled[..curvature.len()];
            kernels::row_products(x, &v[..width], scaled);
            for (scaled, curvature) in scaled.iter_mut().zip(curvature) {
                *scaled = (*scaled + v[width]) * curvature;
            }
            kernels::add_scaled_rows(x, scaled, &mut product[..width]);
            product[width] += scaled.iter().sum::<f64>();
        }
        product
    }

    /// Solves `H d = −gradient` by conjugate gradients until the residual's norm is at most
    /// `accuracy`.
    fn newton_step(&self, rows: &Rows, gradient: &[f64], accuracy: f64) -> Vec<f64> {
        let mut step = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut direction = residual.clone();
        let mut square = dot(&residual, &residual);
        for _ in 0..2 * gradient.len() {
            let product = self.hessian_product(rows, &direction);
            let curvature = dot(&direction, &product);
            if curvature <= 0.0 {
                break;
            }
            let length = square / curvature;
            for i in 0..step.len() {
                step[i] += length * direction[i];
                residual[i] -= length * product[i];
            }
            let next = dot(&residual, &residual);
            if next.sqrt() <= accuracy {
                break;
            }
            for (direction, residual) in direction.iter_mut().zip(&residual) {
                *direction = residual + next / square * *direction;
            }
            square = next;
        }
        step
    }

    /// Goes along `step` as far as the loss falls enough; whether it moved at all.
    fn advance(&mut self, rows: &Rows, y: &[bool], c: f64, gradient: &[f64], step: &[f64]) -> bool {
        let slope = dot(gradient, step);
        let moves = rows.scores(step);
        let before = objective(&self.w, &self.scores, y, c);
        let mut length = 1.0;
        for _ in 0..60 {
            let w: Vec<f64> = self.w.iter().zip(step).map(|(w, d)| w + length * d).collect();
            let scores: Vec<f64> = self.scores.iter().zip(&moves).map(|(z, d)| z + length * d).collect();
            // Near the end both sides are equal up to rounding, and a full step is right.
            let rounding = 1e-14 * before.abs();
            if objective(&w, &scores, y, c) <= before + 1e-4 * length * slope + rounding {
                (self.w, self.scores) = (w, scores);
                return slope != 0.0;
            }
            length /= 2.0;
        }
        false
    }
}

/// The penalised loss; the last entry of `w`, the intercept, is free.
fn objective(w: &[f64], scores: &[f64], y: &[bool], c: f64) -> f64 {
    let (w, _) = w.split_at(w.len() - 1);
    let loss: f64 = scores
        .iter()
        .zip(y)
        .map(|(&score, &label)| {
            let against = if label { -score } else { score };
            against.max(0.0) + libm::log1p(libm::exp(-against.abs()))
        })
        .sum();
    0.5 * dot(w, w) + c * loss
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f32; 24] = [
        -0.867, -1.509, -2.079, 0.013, 0.709, -0.218, -2.581, 1.401, 0.795, 0.886, -0.078, -1.779, -0.589, 0.573,
        0.303, 0.71, 0.758, 1.08, -1.091, 0.906, -0.81, 0.137, -0.251, -1.466,
    ];
    const Y: [u8; 24] = [0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1];

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-6, "{got}, not {expected}");
    }

    /// The golden case `logistic_C1`.
    #[test]
    fn two_labels_get_the_weights_of_the_reference() {
        let y = Y.map(|label| label == 1);
        let models = LogisticRegression::default().fit_one_vs_rest(&X, 2, &y, 2).unwrap();
        close(models[0].coef[0], -0.0501020690686);
        close(models[0].coef[1], -0.616103835351);
        close(models[0].intercept, -0.34397190233);
        close(models[1].coef[0], -0.135108747927);
        close(models[1].coef[1], -0.0036016496231);
        close(models[1].intercept, -0.402872882991);
        assert!(models.iter().all(|model| model.converged));
    }

    #[test]
    fn a_label_of_all_rows_or_none_is_given_always() {
        let solver = LogisticRegression::default();
        assert_eq!(solver.fit(&X, 2, &[false; 12]).unwrap().intercept, f64::NEG_INFINITY);
        assert_eq!(solver.fit(&X, 2, &[true; 12]).unwrap().intercept, f64::INFINITY);
    }

    #[test]
    fn separable_and_badly_scaled_rows_converge() {
        let x: Vec<f32> = (0..40)
            .map(|i| if i % 2 == 0 { i as f32 * 50.0 } else { 0.001 * i as f32 })
            .collect();
        let y: Vec<bool> = (0..20).map(|i| i > 9).collect();
        for c in [1e-3, 1.0, 100.0] {
            let solver = LogisticRegression {
                c,
                ..LogisticRegression::default()
            };
            let model = solver.fit(&x, 2, &y).unwrap();
            assert!(model.converged, "C = {c}: {model:?}");
        }
    }

    #[test]
    fn what_cannot_be_fitted_is_an_error() {
        let solver = LogisticRegression::default();
        let text = |x: &[f32], dim, y: &[bool]| solver.fit(x, dim, y).unwrap_err().to_string();
        assert_eq!(text(&[1.0], 0, &[true]), "dim: must be at least 1, got 0");
        assert_eq!(text(&[], 1, &[]), "y: must have a row or more, got 0");
        assert_eq!(text(&[1.0], 2, &[true]), "x: must have 2 items, got 1");
        assert_eq!(text(&[1.0, f32::NAN], 2, &[true]), "x[1]: must be finite");
        let solver = LogisticRegression { c: 0.0, ..solver };
        let error = solver.fit(&[1.0], 1, &[true]).unwrap_err();
        assert_eq!(error.to_string(), "c: must be finite and greater than 0, got 0");
    }
}
