//! Topology-adaptive graph convolution.
//!
//! J. Du et al. Topology Adaptive Graph Convolutional Networks. 2017, section 3.1.

use crate::{Adjacency, Init, Layout, Parameter, Tape, Var};

/// `Σ_{k=0..K} S^k x W_k + b` with `S = D^−1/2 A D^−1/2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    /// `W_0` to `W_K`, each `(n_in, n_out)`.
    pub weights: Vec<Parameter>,
    /// `(1, n_out)`
    pub bias: Parameter,
}

impl Tag {
    /// Adds `name.lins.k.weight` for `k` up to `n_hops`, by Glorot, and `name.bias`, 0.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize, n_hops: usize) -> Tag {
        let weight = |k| layout.weight(format!("{name}.lins.{k}.weight"), n_in, n_out, Init::Glorot);
        Tag {
            weights: (0..=n_hops).map(weight).collect(),
            bias: layout.weight(format!("{name}.bias"), 1, n_out, Init::Zeros),
        }
    }

    /// `(n, n_in)` to `(n, n_out)`, for a normalised adjacency without self loops.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var) -> Var {
        let mut moved = x;
        let mut sum = tape.linear(x, self.weights[0].var(), Some(self.bias.var()), false);
        for weight in &self.weights[1..] {
            moved = tape.propagate(adjacency, moved);
            let product = tape.matmul(moved, weight.var());
            sum = tape.add(sum, product);
        }
        sum
    }
}
