//! The first-order k-GNN.
//!
//! C. Morris et al. Weisfeiler and Leman Go Neural: Higher-order Graph Neural Networks. AAAI 2019,
//! equation 5.

use super::Linear;
use crate::{Adjacency, Layout, Tape, Var};

/// `(Σ_j w_ji x_j) W_rel + b + x_i W_root`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphConv {
    /// What the neighbours' sum goes through; it has the bias.
    pub relation: Linear,
    /// What the node itself goes through.
    pub root: Linear,
}

impl GraphConv {
    /// Adds `name.lin_rel` and `name.lin_root`.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> GraphConv {
        GraphConv {
            relation: Linear::new(layout, &format!("{name}.lin_rel"), n_in, n_out),
            root: Linear::without_bias(layout, &format!("{name}.lin_root"), n_in, n_out),
        }
    }

    /// `(n, n_in)` to `(n, n_out)`, for an adjacency as it is.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var) -> Var {
        let sums = tape.propagate(adjacency, x);
        let sums = self.relation.forward(tape, sums);
        let own = self.root.forward(tape, x);
        tape.add(sums, own)
    }
}
