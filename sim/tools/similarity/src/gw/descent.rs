//! The conditional gradient method on one pair, with its memory.
//!
//! All is kept in units in which plans are whole numbers
//! ([`Masses`](crate::transport::masses::Masses)): `F = total × T`. With `X = C F D` the value is
//! `<base, T> + α (c + d − 2 <X, F> / total²)`, where `base = (1 − α) M`, `c = Σ C² p p'` and
//! `d = Σ D² q q'`. The first two terms of the gradient are constant along rows and columns and
//! drop out of the linear step, whose cost is `base − 4 α X / total`. A vertex has at most
//! `n + m − 1` positive values, so that all inner products but `X` itself are short sums.

use super::exchange::{Scale, exchange};
use super::kernels::{Flow, blend, costs, product, sparse_times};
use super::space::Space;
use super::{Fused, Options};
use crate::transport::simplex::Simplex;

/// The memory of a descent and where it stands. It is used again from pair to pair and carries
/// nothing over.
#[derive(Debug, Default)]
pub(super) struct Descent {
    simplex: Simplex,
    supply: Vec<i64>,
    demand: Vec<i64>,
    total: f64,
    /// The plan `F`: the flows of a vertex, or else of shape `(n, stride)`, as all that follow, in
    /// `dense`.
    is_sparse: bool,
    flows: Vec<Flow>,
    dense: Vec<f64>,
    /// The vertex `S` that the last linear step found.
    vertex: Vec<Flow>,
    /// `C F D`, and `C S D` for the vertex `S`.
    x: Vec<f64>,
    vertex_x: Vec<f64>,
    /// `S D`.
    half: Vec<f64>,
    /// `(1 − α) M`; empty without features.
    base: Vec<f64>,
    cost: Vec<f64>,
    progress: Progress,
}

/// How far a descent has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) value: f64,
    pub(super) n_steps: u32,
    now: Terms,
    /// Whether the basis is optimal for the cost at the plan.
    is_solved: bool,
    /// Whether the plan is the vertex of the basis.
    is_vertex: bool,
    /// Whether all exchanges were tried from the plan.
    is_exchanged: bool,
}

/// Where a descent begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start<'a> {
    /// At `p q'`.
    Product,
    /// At a plan of shape `(n, stride)`.
    Plan(&'a [f64]),
    /// At the vertex that matches rows and columns taken in these orders.
    Sorted(&'a [u32], &'a [u32]),
}

/// The inner products that make up a value.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    /// `<base, F> / total`.
    linear: f64,
    /// `<C F D, F> / total²`.
    quadratic: f64,
}

/// How the terms of a pair make up its value.
#[derive(Clone, Copy, Debug)]
struct Weights {
    /// `α`, the share of the distances.
    share: f64,
    /// `c + d`.
    constant: f64,
    scale: Scale,
}

impl Descent {
    /// Prepares a pair; `transposed` says that the cost of `fused` has the rows of `b`.
    pub(super) fn begin(&mut self, a: &Space, b: &Space, fused: Option<&Fused<'_>>, transposed: bool) {
        let (n, m, stride) = (a.n(), b.n(), b.stride());
        self.total = a
            .masses
            .common_units_into(&b.masses, &mut self.supply, &mut self.demand);
        self.base.clear();
        if let Some(Fused { alpha, cost }) = fused {
            self.base.resize(n * stride, 0.0);
            for (i, row) in self.base.chunks_exact_mut(stride).enumerate() {
                for (j, base) in row[..m].iter_mut().enumerate() {
                    let at = if transposed { j * n + i } else { i * m + j };
                    *base = (1.0 - alpha) * cost[at];
                }
            }
        }
        // The others are written whole before they are read.
        for matrix in [&mut self.x, &mut self.vertex_x, &mut self.half, &mut self.cost] {
            matrix.resize(n * stride, 0.0);
        }
    }

    /// Goes to `start`.
    pub(super) fn set(&mut self, a: &Space, b: &Space, alpha: Option<f64>, start: Start<'_>) {
        // At p q' the cost is −4 (C p) (D q)' but for the features: the plan that sorts both sides
        // is a good vertex, and the best if there are no features.
        let (rows, columns) = match start {
            Start::Sorted(rows, columns) => (rows, columns),
            Start::Product | Start::Plan(_) => (&a.order[..], &b.order[..]),
        };
        self.simplex.start(&self.supply, &self.demand, rows, columns);
        let now = self.set_start(a, b, start);
        self.progress = Progress {
            value: self.weights(a, b, alpha).value(now),
            n_steps: 0,
            now,
            is_solved: matches!(start, Start::Product) && alpha.is_none(),
            is_vertex: matches!(start, Start::Sorted(..)),
            is_exchanged: false,
        };
    }

    /// Goes to the plan that is `share` of where `other` stands and for the rest where `one`
    /// stands, with the basis of `one`.
    pub(super) fn set_between(
        &mut self,
        a: &Space,
        b: &Space,
        alpha: Option<f64>,
        (one, other, share): (&Descent, &Descent, f64),
    ) {
        self.simplex.copy(&one.simplex);
        self.is_sparse = false;
        self.dense.clear();
        self.dense.resize(a.n() * b.stride(), 0.0);
        for (from, share) in [(one, 1.0 - share), (other, share)] {
            if from.is_sparse {
                for &Flow { row, column, amount } in &from.flows {
                    self.dense[row as usize * b.stride() + column as usize] += share * amount;
                }
            } else {
                let both = self.dense.iter_mut().zip(&from.dense);
                both.for_each(|(plan, amount)| *plan += share * amount);
            }
        }
        self.x.copy_from_slice(&one.x);
        blend(&mut self.x, &other.x, share);
        let now = self.dense_terms();
        self.progress = Progress {
            value: self.weights(a, b, alpha).value(now),
            now,
            ..Progress::default()
        };
    }

    /// Descends from where it stands until a linear step and, at a vertex, all exchanges bring
    /// nothing more. Without `exchange` none is tried; they can be later, in another call.
    pub(super) fn go(
        &mut self,
        a: &Space,
        b: &Space,
        alpha: Option<f64>,
        options: &Options,
        exchange: bool,
    ) -> Progress {
        let weights = self.weights(a, b, alpha);
        let mut at = self.progress;
        while at.n_steps < options.max_steps {
            at.n_steps += 1;
            let least = options
                .absolute_tolerance
                .max(options.relative_tolerance * at.value.abs());
            if !at.is_solved {
                costs(&self.base, &self.x, weights.scale.weight, &mut self.cost);
                at.is_solved = !self.simplex.optimise(&self.cost) && at.is_vertex;
            }
            if !at.is_solved || at.n_steps == 1 {
                let (vertex, cross) = self.read_vertex(a, b);
                let (step, decrease) = weights.best_step(at.now, vertex, cross);
                if decrease > 0.0 {
                    at.now = self.advance(at.now, vertex, cross, step, a, b);
                    at.is_vertex = step == 1.0;
                    at.is_exchanged = false;
                    at.value = weights.value(at.now);
                }
                at.is_solved = decrease <= least;
            }
            if at.is_solved {
                // Rounding must not pass for a decrease.
                let least = least.max(1e-12 * weights.constant);
                let may_exchange = exchange && self.is_sparse && !at.is_exchanged;
                if !(may_exchange && self.exchange(a, b, &weights, least)) {
                    break;
                }
                at.is_exchanged = true;
                at.now = self.read_flows(a, b);
                at.value = weights.value(at.now);
                at.is_vertex = false;
                at.is_solved = false;
            }
        }
        self.progress = at;
        at
    }

    fn weights(&self, a: &Space, b: &Space, alpha: Option<f64>) -> Weights {
        let share = alpha.unwrap_or(1.0);
        let square = self.total * self.total;
        // Without features the linear step does not mind the scale of costs, and whole numbers stay
        // whole.
        let (weight, linear) = match alpha {
            Some(alpha) => (4.0 * alpha / self.total, 1.0 / self.total),
            None => (1.0, 4.0 / square),
        };
        let quadratic = 2.0 * share / square;
        Weights {
            share,
            constant: a.mean_square + b.mean_square,
            scale: Scale {
                linear,
                quadratic,
                weight,
            },
        }
    }

    /// Sets plan and product to the start, which is the vertex of the basis if it is sorted; its
    /// terms.
    fn set_start(&mut self, a: &Space, b: &Space, start: Start<'_>) -> Terms {
        let (stride, total) = (b.stride(), self.total);
        self.is_sparse = false;
        self.dense.clear();
        match start {
            Start::Sorted(..) => {
                let (vertex, cross) = self.read_vertex(a, b);
                return self.advance(vertex, vertex, cross, 1.0, a, b);
            }
            // X = total (C p) (D q)'.
            Start::Product => {
                self.dense.resize(a.n() * stride, 0.0);
                let rows = self.dense.chunks_exact_mut(stride).zip(self.x.chunks_exact_mut(stride));
                for (i, (plan, x)) in rows.enumerate() {
                    let (supply, mean) = (self.supply[i] as f64, total * a.means[i]);
                    x[b.n()..].fill(0.0);
                    for (j, (plan, x)) in plan.iter_mut().zip(x).take(b.n()).enumerate() {
                        *plan = supply * self.demand[j] as f64 / total;
                        *x = mean * b.means[j];
                    }
                }
            }
            Start::Plan(start) => {
                self.dense.extend(start.iter().map(|value| total * value));
                product(&self.dense, stride, &b.distances, stride, &mut self.half);
                product(&a.distances, a.stride(), &self.half, stride, &mut self.x);
            }
        }
        self.dense_terms()
    }

    /// The terms of a plan that is written out.
    fn dense_terms(&self) -> Terms {
        let dot = |matrix: &[f64]| matrix.iter().zip(&self.dense).fold(0.0, |sum, (x, f)| sum + x * f);
        Terms {
            linear: dot(&self.base) / self.total,
            quadratic: dot(&self.x) / (self.total * self.total),
        }
    }

    /// Reads the vertex `S` off the basis and forms `C S D`; its terms, and `<C F D, S> / total²`.
    fn read_vertex(&mut self, a: &Space, b: &Space) -> (Terms, f64) {
        self.vertex.clear();
        self.vertex.extend(self.simplex.arcs().map(|arc| Flow {
            row: arc.row,
            column: arc.column,
            amount: arc.flow as f64,
        }));
        image(&self.vertex, a, b, &mut self.half, &mut self.vertex_x);
        let cross = inner(&self.vertex, &self.x, b.stride()) / (self.total * self.total);
        (self.terms(&self.vertex, &self.vertex_x, b.stride()), cross)
    }

    /// Forms `C F D` of a sparse plan; its terms.
    fn read_flows(&mut self, a: &Space, b: &Space) -> Terms {
        image(&self.flows, a, b, &mut self.half, &mut self.x);
        self.terms(&self.flows, &self.x, b.stride())
    }

    fn terms(&self, flows: &[Flow], x: &[f64], stride: usize) -> Terms {
        let linear = match self.base.is_empty() {
            true => 0.0,
            false => inner(flows, &self.base, stride) / self.total,
        };
        Terms {
            linear,
            quadratic: inner(flows, x, stride) / (self.total * self.total),
        }
    }

    /// Moves by `step` towards the vertex; the terms there.
    fn advance(&mut self, now: Terms, vertex: Terms, cross: f64, step: f64, a: &Space, b: &Space) -> Terms {
        if step == 1.0 {
            self.is_sparse = true;
            std::mem::swap(&mut self.flows, &mut self.vertex);
            std::mem::swap(&mut self.x, &mut self.vertex_x);
            return vertex;
        }
        self.make_dense(a, b);
        let rest = 1.0 - step;
        self.dense.iter_mut().for_each(|value| *value *= rest);
        for &Flow { row, column, amount } in &self.vertex {
            self.dense[row as usize * b.stride() + column as usize] += step * amount;
        }
        blend(&mut self.x, &self.vertex_x, step);
        Terms {
            linear: rest * now.linear + step * vertex.linear,
            quadratic: rest * rest * now.quadratic + 2.0 * rest * step * cross + step * step * vertex.quadratic,
        }
    }

    /// Makes all exchanges that lower the value by more than `least`; whether there was one.
    fn exchange(&mut self, a: &Space, b: &Space, weights: &Weights, least: f64) -> bool {
        costs(&self.base, &self.x, weights.scale.weight, &mut self.cost);
        exchange(&mut self.flows, &mut self.cost, a, b, weights.scale, least)
    }

    /// Writes the plan out as a matrix.
    fn make_dense(&mut self, a: &Space, b: &Space) {
        if self.is_sparse {
            self.is_sparse = false;
            self.dense.clear();
            self.dense.resize(a.n() * b.stride(), 0.0);
            for &Flow { row, column, amount } in &self.flows {
                self.dense[row as usize * b.stride() + column as usize] = amount;
            }
        }
    }

    /// The plan reached, of shape `(n, m)`, row by row.
    pub(super) fn plan(&mut self, a: &Space, b: &Space) -> Vec<f64> {
        self.make_dense(a, b);
        let rows = self.dense.chunks_exact(b.stride());
        rows.flat_map(|row| row[..b.n()].iter().map(|value| value / self.total))
            .collect()
    }
}

impl Weights {
    fn value(&self, terms: Terms) -> f64 {
        terms.linear + self.share * (self.constant - 2.0 * terms.quadratic).max(0.0)
    }

    /// How far to go towards a vertex, in `0..=1`, and by how much that lowers the value.
    fn best_step(&self, now: Terms, vertex: Terms, cross: f64) -> (f64, f64) {
        // Along T + s (S − T) the value changes by s × slope + s² × curve.
        let slope = vertex.linear - now.linear - 4.0 * self.share * (cross - now.quadratic);
        let curve = -2.0 * self.share * (vertex.quadratic - 2.0 * cross + now.quadratic);
        let step = if curve > 0.0 {
            (-slope / (2.0 * curve)).clamp(0.0, 1.0)
        } else if curve + slope < 0.0 {
            1.0
        } else {
            0.0
        };
        (step, -(slope + step * curve) * step)
    }
}

/// `out = C F D`, with `half = F D` on the way.
fn image(flows: &[Flow], a: &Space, b: &Space, half: &mut [f64], out: &mut [f64]) {
    sparse_times(flows, &b.distances, b.stride(), half);
    product(&a.distances, a.stride(), half, b.stride(), out);
}

/// `<F, matrix>`, in the order of the flows.
fn inner(flows: &[Flow], matrix: &[f64], stride: usize) -> f64 {
    flows.iter().fold(0.0, |sum, &Flow { row, column, amount }| {
        sum + amount * matrix[row as usize * stride + column as usize]
    })
}
