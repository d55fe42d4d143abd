//! GraphSAGE with the mean of neighbours.
//!
//! W. Hamilton, R. Ying and J. Leskovec. Inductive Representation Learning on Large Graphs. NIPS
//! 2017, algorithm 1.

use super::Linear;
use crate::{Adjacency, Layout, Tape, Var};

/// `(mean_j x_j) W_l + b + x_i W_r`; the mean of no neighbour is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sage {
    /// What the neighbours' mean goes through; it has the bias.
    pub neighbours: Linear,
    /// What the node itself goes through.
    pub own: Linear,
}

impl Sage {
    /// Adds `name.lin_l` and `name.lin_r`.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> Sage {
        Sage {
            neighbours: Linear::new(layout, &format!("{name}.lin_l"), n_in, n_out),
            own: Linear::without_bias(layout, &format!("{name}.lin_r"), n_in, n_out),
        }
    }

    /// `(n, n_in)` to `(n, n_out)`, for rows that take means.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, means: Adjacency<'g>, x: Var) -> Var {
        let mean = tape.propagate(means, x);
        self.forward_from_means(tape, mean, x)
    }

    /// The same, with neighbours' means at hand.
    pub fn forward_from_means(&self, tape: &mut Tape<'_>, mean: Var, x: Var) -> Var {
        let mean = self.neighbours.forward(tape, mean);
        let own = self.own.forward(tape, x);
        tape.add(mean, own)
    }
}
