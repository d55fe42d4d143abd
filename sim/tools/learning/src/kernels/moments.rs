//! The updates of optimisers.

use multiversion::multiversion;

/// What one step of Adam needs, with the bias corrections of its moments folded in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    pub(crate) beta1: f32,
    pub(crate) beta2: f32,
    pub(crate) epsilon: f32,
    /// The rate over `1 − β1^t`.
    pub(crate) rate: f32,
    /// `1 / sqrt(1 − β2^t)`.
    pub(crate) correction: f32,
    /// Times the parameter, added to its gradient.
    pub(crate) l2: f32,
    /// What a parameter is multiplied by before its step.
    pub(crate) shrink: f32,
}

/// Moments below it are 0: subnormal numbers would slow every later step several times over.
const NEGLIGIBLE: f32 = 1e-30;

#[inline(always)]
fn flush(x: f32) -> f32 {
    if x.abs() < NEGLIGIBLE { 0.0 } else { x }
}

/// One step of Adam.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn adam(step: &AdamStep, parameters: &mut [f32], gradient: &[f32], m: &mut [f32], v: &mut [f32]) {
    let AdamStep {
        beta1,
        beta2,
        epsilon,
        rate,
        correction,
        l2,
        shrink,
    } = *step;
    for (((p, g), m), v) in parameters.iter_mut().zip(gradient).zip(m).zip(v) {
        let g = l2.mul_add(*p, *g);
        *m = flush(beta1.mul_add(*m, (1.0 - beta1) * g));
        *v = flush(beta2.mul_add(*v, (1.0 - beta2) * (g * g)));
        let step = rate * *m / v.sqrt().mul_add(correction, epsilon);
        *p = p.mul_add(shrink, -step);
    }
}

/// `p −= rate (g + decay p)`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn descend(rate: f32, decay: f32, parameters: &mut [f32], gradient: &[f32]) {
    for (p, g) in parameters.iter_mut().zip(gradient) {
        *p = (-rate).mul_add(decay.mul_add(*p, *g), *p);
    }
}

/// `b = momentum b + g + decay p`, then `p −= rate b`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn descend_with_momentum(
    rate: f32,
    momentum: f32,
    decay: f32,
    parameters: &mut [f32],
    gradient: &[f32],
    velocity: &mut [f32],
) {
    for ((p, g), b) in parameters.iter_mut().zip(gradient).zip(velocity) {
        *b = flush(momentum.mul_add(*b, decay.mul_add(*p, *g)));
        *p = (-rate).mul_add(*b, *p);
    }
}

/// `sums += weight model`, in double precision.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_weighted(sums: &mut [f64], weight: f64, model: &[f32]) {
    for (sum, x) in sums.iter_mut().zip(model) {
        *sum = weight.mul_add(f64::from(*x), *sum);
    }
}

/// `gradient += strength (parameters − anchor)`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn add_pull(gradient: &mut [f32], strength: f32, parameters: &[f32], anchor: &[f32]) {
    for ((g, p), a) in gradient.iter_mut().zip(parameters).zip(anchor) {
        *g = strength.mul_add(p - a, *g);
    }
}
