//! Graph isomorphism network.
//!
//! K. Xu et al. How Powerful are Graph Neural Networks? ICLR 2019, equation 4.1.

use super::{BatchNorm, Linear, Mode};
use crate::{Adjacency, Init, Layout, Parameter, Tape, Var};

/// `MLP((1 + ε) x_i + Σ_j x_j)`, the MLP linear, batch norm where asked for, relu, linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gin {
    /// `ε`, a scalar; 0 if absent.
    pub epsilon: Option<Parameter>,
    /// The first map of the MLP.
    pub first: Linear,
    /// Between the first map and the relu.
    pub norm: Option<BatchNorm>,
    /// The second map.
    pub second: Linear,
}

impl Gin {
    /// Adds `name.nn.0` and `name.nn.2`: `n_in` to `n_hidden` to `n_out`, with `ε = 0`.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_hidden: usize, n_out: usize) -> Gin {
        Gin {
            epsilon: None,
            first: Linear::new(layout, &format!("{name}.nn.0"), n_in, n_hidden),
            norm: None,
            second: Linear::new(layout, &format!("{name}.nn.2"), n_hidden, n_out),
        }
    }

    /// Adds `name.eps`, an `ε` that learns and starts at 0.
    pub fn with_epsilon(mut self, layout: &mut Layout, name: &str) -> Gin {
        self.epsilon = Some(layout.weight(format!("{name}.eps"), 1, 1, Init::Zeros));
        self
    }

    /// Adds `name.norm`, a batch norm of `n_hidden` columns before the relu.
    pub fn with_batch_norm(mut self, layout: &mut Layout, name: &str, n_hidden: usize) -> Gin {
        self.norm = Some(BatchNorm::new(layout, &format!("{name}.norm"), n_hidden));
        self
    }

    /// `(n, n_in)` to `(n, n_out)`; `mode` matters to the batch norm alone.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var, mode: Mode) -> Var {
        let hidden = self.hidden(tape, adjacency, x, mode);
        self.second.forward(tape, hidden)
    }

    /// The same through a relu.
    pub fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var, mode: Mode) -> Var {
        let hidden = self.hidden(tape, adjacency, x, mode);
        self.second.forward_relu(tape, hidden)
    }

    fn hidden<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var, mode: Mode) -> Var {
        let sums = tape.propagate(adjacency, x);
        let sums = match self.epsilon {
            Some(epsilon) => tape.add_rescaled(sums, epsilon.var(), x),
            None => tape.add(sums, x),
        };
        let Some(norm) = self.norm else {
            return self.first.forward_relu(tape, sums);
        };
        let hidden = self.first.forward(tape, sums);
        let hidden = norm.forward(tape, hidden, mode);
        tape.relu(hidden)
    }
}
