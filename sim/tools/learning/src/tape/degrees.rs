//! The symmetric normalisation of arcs' weights, with gradients through the degrees.

use super::backward::Back;
use super::op::Op;
use super::propagation::blocks;
use super::{Tape, Var};
use crate::DegreeRule;
use crate::csr::{Csr, factor};
use crate::kernels::{elementwise, row};

impl<'g> Tape<'g> {
    /// `D^−1/2 A D^−1/2` on the arcs of a graph, for weights of shape `(n_entries, 1)`; `D` holds
    /// the degrees of the targets.
    ///
    /// Self loops are arcs as others are: put them in with [`Csr::with_self_loops`], and their 1
    /// into the weights.
    ///
    /// # Panics
    /// If the matrix is not square or the shapes do not fit.
    pub fn normalise_arcs(&mut self, csr: &'g Csr, weights: Var, rule: DegreeRule) -> Var {
        assert_eq!(
            csr.n_rows(),
            csr.n_columns(),
            "only a square matrix has degrees on both sides"
        );
        assert_eq!(self.shape(weights), (csr.n_entries(), 1), "each arc has a weight");
        let needs = self.needs_gradient(weights);
        let op = Op::NormaliseArcs { csr, weights, rule };
        let var = self.push_with(op, csr.n_entries(), 1, needs, csr.n_rows());
        let to = self.open(var);
        let weights = to.operand(weights);
        for (t, degree) in to.aux.iter_mut().enumerate() {
            *degree = rule.degree(&weights[csr.range(t)]);
        }
        for t in 0..csr.n_rows() {
            let own = factor(to.aux[t]);
            for e in csr.range(t) {
                to.y[e] = weights[e] * (own * factor(to.aux[csr.columns()[e] as usize]));
            }
        }
        var
    }

    /// `D^−1/2 (A + I) D^−1/2` for a dense square matrix, or for each of several (see
    /// [`Blocks`](super::Adjacency::Blocks)); `D` holds the sums of rows under `rule`. Without
    /// `self_loops`, `I` is left out.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn normalise_dense(&mut self, a: Var, bounds: Option<&'g [u32]>, self_loops: bool, rule: DegreeRule) -> Var {
        let (rows, columns) = self.shape(a);
        let n_nodes = match bounds {
            None => {
                assert_eq!(rows, columns, "an adjacency is square");
                rows
            }
            Some(bounds) => bounds.last().map_or(0, |last| *last as usize),
        };
        let a = match self_loops {
            true => self.add_identity(a, bounds, n_nodes),
            false => a,
        };
        let needs = self.needs_gradient(a);
        let var = self.push_with(Op::NormaliseDense { a, bounds, rule }, rows, columns, needs, n_nodes);
        let to = self.open(var);
        let a = to.operand(a);
        for (block, nodes) in blocks(bounds, n_nodes) {
            let n = nodes.len();
            let degrees = &mut to.aux[nodes];
            for (degree, a) in degrees.iter_mut().zip(a[block.clone()].chunks_exact(n.max(1))) {
                *degree = rule.degree(a);
            }
            let rows = to.y[block.clone()]
                .chunks_exact_mut(n.max(1))
                .zip(a[block].chunks_exact(n.max(1)));
            for ((y, a), degree) in rows.zip(&*degrees) {
                let own = factor(*degree);
                for ((y, a), degree) in y.iter_mut().zip(a).zip(&*degrees) {
                    *y = a * (own * factor(*degree));
                }
            }
        }
        var
    }

    fn add_identity(&mut self, a: Var, bounds: Option<&[u32]>, n_nodes: usize) -> Var {
        let (rows, columns) = self.shape(a);
        let identity = self.constant_with(rows, columns, |values| {
            values.fill(0.0);
            for (block, nodes) in blocks(bounds, n_nodes) {
                values[block]
                    .iter_mut()
                    .step_by(nodes.len() + 1)
                    .for_each(|value| *value = 1.0);
            }
        });
        self.add(a, identity)
    }

    /// The degrees by which [`normalise_arcs`](Self::normalise_arcs) or
    /// [`normalise_dense`](Self::normalise_dense) divided.
    ///
    /// # Panics
    /// If `normal` is the result of neither.
    pub fn degrees(&self, normal: Var) -> &[f32] {
        let entry = &self.entries[normal.0 as usize];
        match (entry.op, entry.place) {
            (Op::NormaliseArcs { .. } | Op::NormaliseDense { .. }, super::Place::Arena(at)) => {
                &self.values[at + entry.len()..][..entry.aux as usize]
            }
            _ => panic!("only normalised weights have degrees"),
        }
    }
}

/// With `y_e = w_e f_t f_s` and `f = d^−1/2`: by `w_e` it is `f_t f_s`, by a degree `−½ f³` times
/// what its factor meets.
pub(super) fn normalise_arcs_back(back: &mut Back<'_, '_>, csr: &Csr, weights: Var, rule: DegreeRule, gy: &[f32]) {
    let (values, (_, degrees)) = (back.value(weights), back.result());
    let mut by_degree = std::mem::take(back.scratch);
    by_degree.clear();
    by_degree.resize(csr.n_rows(), 0.0);
    if let Some(gw) = back.gradient(weights) {
        for t in 0..csr.n_rows() {
            for e in csr.range(t) {
                let s = csr.columns()[e] as usize;
                let (own, other) = (factor(degrees[t]), factor(degrees[s]));
                gw[e] += gy[e] * (own * other);
                by_degree[t] += gy[e] * values[e] * other;
                by_degree[s] += gy[e] * values[e] * own;
            }
        }
        for t in 0..csr.n_rows() {
            let own = factor(degrees[t]);
            let gradient = -0.5 * own * own * own * by_degree[t];
            for e in csr.range(t) {
                gw[e] += gradient * rule.slope(values[e]);
            }
        }
    }
    *back.scratch = by_degree;
}

/// As [`normalise_arcs_back`], in full rows.
pub(super) fn normalise_dense_back(
    back: &mut Back<'_, '_>,
    a: Var,
    bounds: Option<&[u32]>,
    rule: DegreeRule,
    gy: &[f32],
) {
    let (values, (_, degrees)) = (back.value(a), back.result());
    let mut scratch = std::mem::take(back.scratch);
    scratch.clear();
    scratch.resize(3 * degrees.len(), 0.0);
    let (factors, rest) = scratch.split_at_mut(degrees.len());
    let (by_degree, products) = rest.split_at_mut(degrees.len());
    factors
        .iter_mut()
        .zip(degrees)
        .for_each(|(own, degree)| *own = factor(*degree));
    if let Some(ga) = back.gradient(a) {
        for (block, nodes) in blocks(bounds, degrees.len()) {
            let n = nodes.len();
            let (factors, by_degree) = (&factors[nodes.clone()], &mut by_degree[nodes]);
            let products = &mut products[..n];
            for i in 0..n {
                let row = block.start + i * n..block.start + (i + 1) * n;
                elementwise::multiply(&gy[row.clone()], &values[row.clone()], products);
                by_degree[i] += row::dot(products, factors);
                elementwise::add_scaled(by_degree, factors[i], products);
                elementwise::multiply(&gy[row.clone()], factors, products);
                elementwise::add_scaled(&mut ga[row], factors[i], products);
            }
            for i in 0..n {
                let row = block.start + i * n..block.start + (i + 1) * n;
                let gradient = -0.5 * factors[i] * factors[i] * factors[i] * by_degree[i];
                for (ga, a) in ga[row.clone()].iter_mut().zip(&values[row]) {
                    *ga += gradient * rule.slope(*a);
                }
            }
        }
    }
    *back.scratch = scratch;
}
