//! Sums over neighbours, by sparse and by dense matrices.

use super::backward::Back;
use super::op::Op;
use super::products::product_by_rows;
use super::{Tape, Var};
use crate::csr::Csr;
use crate::kernels::product::{Rows, RowsMut, Shape, product, product_transposed};
use crate::kernels::sparse;

/// The matrix that a graph layer propagates with: element `(t, s)` is the weight of the arc from
/// `s` to `t`.
#[derive(Clone, Copy, Debug)]
pub enum Adjacency<'g> {
    /// Arcs with fixed weights.
    Sparse(&'g Csr),
    /// The arcs of a matrix with weights on the tape, of shape `(n_entries, 1)`; the matrix's own
    /// are not read.
    Weighted(&'g Csr, Var),
    /// A dense square matrix.
    Dense(Var),
    /// Dense square blocks along the diagonal, one graph each: all their elements, block after
    /// block, each row-major, in one row; block `i` belongs to the nodes
    /// `bounds[i]..bounds[i + 1]`.
    Blocks(Var, &'g [u32]),
}

impl<'g> From<&'g Csr> for Adjacency<'g> {
    fn from(csr: &'g Csr) -> Adjacency<'g> {
        Adjacency::Sparse(csr)
    }
}

/// Where the weights of arcs are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weights {
    Fixed,
    /// On the tape, one column for each head.
    OnTape(Var),
}

impl<'g> Tape<'g> {
    /// `A x`: each target's weighted sum over its sources; shape `(targets, columns of x)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn propagate(&mut self, adjacency: Adjacency<'g>, x: Var) -> Var {
        match adjacency {
            Adjacency::Sparse(csr) => self.propagate_arcs(csr, Weights::Fixed, x),
            Adjacency::Weighted(csr, weights) => self.propagate_heads(csr, weights, x),
            Adjacency::Dense(a) => self.matmul(a, x),
            Adjacency::Blocks(a, bounds) => self.propagate_blocks(a, bounds, x),
        }
    }

    /// The same with several weights an arc: with `weights` of shape `(n_entries, n_heads)`, head
    /// `h` weighs the `h`-th of `n_heads` equal blocks of the columns of `x`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn propagate_heads(&mut self, csr: &'g Csr, weights: Var, x: Var) -> Var {
        assert_eq!(self.shape(weights).0, csr.n_entries(), "each arc has a row of weights");
        self.propagate_arcs(csr, Weights::OnTape(weights), x)
    }

    fn propagate_arcs(&mut self, csr: &'g Csr, weights: Weights, x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        assert_eq!(rows, csr.n_columns(), "each source has a row");
        let (n_heads, learns) = match weights {
            Weights::Fixed => (1, false),
            Weights::OnTape(weights) => (self.shape(weights).1, self.needs_gradient(weights)),
        };
        assert!(
            n_heads > 0 && columns.is_multiple_of(n_heads),
            "heads share the columns equally"
        );
        let needs = learns || self.needs_gradient(x);
        let var = self.push(Op::Propagate { csr, weights, x }, csr.n_rows(), columns, needs);
        let to = self.open(var);
        let values = match weights {
            Weights::Fixed => csr.weights(),
            Weights::OnTape(weights) => to.operand(weights),
        };
        for head in 0..n_heads {
            sparse::gather(&arcs(csr, values, n_heads, head, columns), to.operand(x), to.y, false);
        }
        var
    }

    fn propagate_blocks(&mut self, a: Var, bounds: &'g [u32], x: Var) -> Var {
        let (rows, columns) = self.shape(x);
        let sizes = bounds.windows(2).map(|ends| ends[1] as usize - ends[0] as usize);
        let n_elements: usize = sizes.map(|n| n * n).sum();
        assert_eq!(self.shape(a), (1, n_elements), "blocks are square and stand in one row");
        assert_eq!(
            bounds.last().map(|last| *last as usize),
            Some(rows),
            "each source has a row"
        );
        let needs = self.needs_gradient(a) || self.needs_gradient(x);
        let op = Op::PropagateDense {
            a,
            x,
            bounds: Some(bounds),
        };
        let var = self.push(op, rows, columns, needs);
        let to = self.open(var);
        let (a, x) = (to.operand(a), to.operand(x));
        for (block, nodes) in blocks(Some(bounds), rows) {
            let n = nodes.len();
            let shape = Shape { m: n, k: n, n: columns };
            let range = nodes.start * columns..nodes.end * columns;
            let y = RowsMut {
                data: &mut to.y[range.clone()],
                stride: columns,
                add: false,
            };
            product(
                shape,
                Rows {
                    data: &a[block],
                    stride: n,
                },
                Rows {
                    data: &x[range],
                    stride: columns,
                },
                y,
            );
        }
        var
    }
}

/// The elements and nodes of each block.
pub(super) fn blocks(
    bounds: Option<&[u32]>,
    n_nodes: usize,
) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>)> {
    super::reductions::segments(bounds, n_nodes).scan(0, |at, nodes| {
        let block = *at..*at + nodes.len() * nodes.len();
        *at = block.end;
        Some((block, nodes))
    })
}

/// Arcs, with a weight for each head and a row of `columns` numbers at each node.
pub(super) fn arcs<'a>(
    csr: &'a Csr,
    weights: &'a [f32],
    n_heads: usize,
    head: usize,
    columns: usize,
) -> sparse::Arcs<'a> {
    sparse::Arcs {
        offsets: csr.offsets(),
        sources: csr.columns(),
        weights,
        stride: n_heads,
        head,
        columns,
        width: columns / n_heads,
    }
}

pub(super) fn propagate_back(back: &mut Back<'_, '_>, csr: &Csr, weights: Weights, x: Var, gy: &[f32]) {
    let (columns, x_value) = (back.shape(x).1, back.value(x));
    let (values, n_heads) = match weights {
        Weights::Fixed => (csr.weights(), 1),
        Weights::OnTape(weights) => (back.value(weights), back.shape(weights).1),
    };
    for head in 0..n_heads {
        let arcs = arcs(csr, values, n_heads, head, columns);
        if let Some(gx) = back.gradient(x) {
            sparse::scatter(&arcs, gy, gx);
        }
        if let Weights::OnTape(weights) = weights
            && let Some(gw) = back.gradient(weights)
        {
            sparse::arc_products(&arcs, gy, x_value, gw);
        }
    }
}

/// `ga += gy xᵀ` and `gx += aᵀ gy`, block by block.
pub(super) fn dense_back(back: &mut Back<'_, '_>, a: Var, x: Var, bounds: Option<&[u32]>, gy: &[f32]) {
    let ((rows, columns), a_value, x_value) = (back.shape(x), back.value(a), back.value(x));
    if let Some(gx) = back.gradient(x) {
        for (block, nodes) in blocks(bounds, rows) {
            let n = nodes.len();
            let range = nodes.start * columns..nodes.end * columns;
            let gy = Rows {
                data: &gy[range.clone()],
                stride: columns,
            };
            let gx = RowsMut {
                data: &mut gx[range],
                stride: columns,
                add: true,
            };
            product_transposed(
                Shape { m: n, k: n, n: columns },
                Rows {
                    data: &a_value[block],
                    stride: n,
                },
                gy,
                gx,
            );
        }
    }
    let mut scratch = std::mem::take(back.scratch);
    if let Some(ga) = back.gradient(a) {
        for (block, nodes) in blocks(bounds, rows) {
            let n = nodes.len();
            let range = nodes.start * columns..nodes.end * columns;
            let x = Rows {
                data: &x_value[range.clone()],
                stride: columns,
            };
            let ga = RowsMut {
                data: &mut ga[block],
                stride: n,
                add: true,
            };
            let gy = Rows {
                data: &gy[range],
                stride: columns,
            };
            product_by_rows(Shape { m: n, k: columns, n }, gy, x, ga, &mut scratch);
        }
    }
    *back.scratch = scratch;
}
