//! Scores of arcs, and their softmax over the arcs into each target: the attention of GAT.

use super::backward::Back;
use super::op::Op;
use super::propagation::arcs;
use super::{Tape, Var};
use crate::csr::Csr;
use crate::kernels::{elementwise, row, sparse};

impl<'g> Tape<'g> {
    /// `a_s + b_t` for each arc from `s` to `t`: shapes `(sources, heads)` and `(targets, heads)`
    /// give `(n_entries, heads)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn arc_sum(&mut self, csr: &'g Csr, a: Var, b: Var) -> Var {
        let n_heads = self.shape(a).1;
        assert_eq!(
            self.shape(a),
            (csr.n_columns(), n_heads),
            "each source has a score for each head"
        );
        assert_eq!(
            self.shape(b),
            (csr.n_rows(), n_heads),
            "each target has a score for each head"
        );
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let var = self.push(Op::ArcSum { csr, a, b }, csr.n_entries(), n_heads, needs);
        let to = self.open(var);
        let (a, b) = (to.operand(a), to.operand(b));
        for t in 0..csr.n_rows() {
            for e in csr.range(t) {
                let s = csr.columns()[e] as usize;
                for head in 0..n_heads {
                    to.y[e * n_heads + head] = a[s * n_heads + head] + b[t * n_heads + head];
                }
            }
        }
        var
    }

    /// `a_t · b_s` for each arc from `s` to `t`: shapes `(targets, d)` and `(sources, d)` give
    /// `(n_entries, 1)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn arc_dot(&mut self, csr: &'g Csr, a: Var, b: Var) -> Var {
        let d = self.shape(a).1;
        assert_eq!(self.shape(a), (csr.n_rows(), d), "each target has a row");
        assert_eq!(self.shape(b), (csr.n_columns(), d), "each source has a row as long");
        let needs = self.needs_gradient(a) || self.needs_gradient(b);
        let var = self.push(Op::ArcDot { csr, a, b }, csr.n_entries(), 1, needs);
        let to = self.open(var);
        let (a, b) = (to.operand(a), to.operand(b));
        to.y.fill(0.0);
        sparse::arc_products(&arcs(csr, csr.weights(), 1, 0, d), a, b, to.y);
        var
    }

    /// The softmax over the arcs into each target, for each head (P. Veličković et al. 2018,
    /// equation 2).
    ///
    /// # Panics
    /// If `x` has not shape `(n_entries, heads)`.
    pub fn arc_softmax(&mut self, csr: &'g Csr, x: Var) -> Var {
        let (n_entries, n_heads) = self.shape(x);
        assert_eq!(n_entries, csr.n_entries(), "each arc has a row of scores");
        let needs = self.needs_gradient(x);
        let var = self.push(Op::ArcSoftmax(csr, x), n_entries, n_heads, needs);
        let to = self.open(var);
        let x = to.operand(x);
        let mut column = std::mem::take(to.scratch);
        for t in 0..csr.n_rows() {
            let range = csr.range(t);
            let n = range.len();
            column.clear();
            column.resize(2 * n, 0.0);
            let (scores, shares) = column.split_at_mut(n);
            for head in 0..n_heads {
                for (score, e) in scores.iter_mut().zip(range.clone()) {
                    *score = x[e * n_heads + head];
                }
                row::softmax(scores, None, shares);
                for (share, e) in shares.iter().zip(range.clone()) {
                    to.y[e * n_heads + head] = *share;
                }
            }
        }
        *to.scratch = column;
        var
    }
}

pub(super) fn sum_back(back: &mut Back<'_, '_>, csr: &Csr, a: Var, b: Var, gy: &[f32]) {
    let n_heads = back.result_shape().1;
    if let Some(ga) = back.gradient(a) {
        for (gy, s) in gy.chunks_exact(n_heads.max(1)).zip(csr.columns()) {
            elementwise::add_scaled(&mut ga[*s as usize * n_heads..][..n_heads], 1.0, gy);
        }
    }
    if let Some(gb) = back.gradient(b) {
        for (t, gb) in gb.chunks_exact_mut(n_heads.max(1)).enumerate() {
            let range = csr.range(t);
            elementwise::add_rows(gb, &gy[range.start * n_heads..range.end * n_heads]);
        }
    }
}

/// `ga_t += Σ gy_e b_s` over the arcs into `t`, and `gb_s += Σ gy_e a_t` over the arcs from `s`.
pub(super) fn dot_back(back: &mut Back<'_, '_>, csr: &Csr, a: Var, b: Var, gy: &[f32]) {
    let (d, a_value, b_value) = (back.shape(a).1, back.value(a), back.value(b));
    let arcs = arcs(csr, gy, 1, 0, d);
    if let Some(ga) = back.gradient(a) {
        sparse::gather(&arcs, b_value, ga, true);
    }
    if let Some(gb) = back.gradient(b) {
        sparse::scatter(&arcs, a_value, gb);
    }
}

pub(super) fn softmax_back(back: &mut Back<'_, '_>, csr: &Csr, x: Var, gy: &[f32]) {
    let (n_heads, (y, _)) = (back.result_shape().1, back.result());
    let Some(gx) = back.gradient(x) else { return };
    for t in 0..csr.n_rows() {
        for head in 0..n_heads {
            let arcs = || csr.range(t).map(|e| e * n_heads + head);
            let mean: f32 = arcs().map(|at| y[at] * gy[at]).sum();
            for at in arcs() {
                gx[at] += y[at] * (gy[at] - mean);
            }
        }
    }
}
