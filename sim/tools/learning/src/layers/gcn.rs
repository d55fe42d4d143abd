//! Graph convolution.
//!
//! T. Kipf and M. Welling. Semi-Supervised Classification with Graph Convolutional Networks. ICLR
//! 2017, equation 2.

use crate::{Adjacency, Init, Layout, Parameter, Tape, Var};

/// `S x W + b` with `S = D^−1/2 (A + I) D^−1/2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gcn {
    /// `(n_in, n_out)`
    pub weight: Parameter,
    /// `(1, n_out)`
    pub bias: Option<Parameter>,
    /// Whether it sums over neighbours before it multiplies.
    sums_first: bool,
}

impl Gcn {
    /// Adds `name.weight`, by Glorot, and `name.bias`, 0.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> Gcn {
        let mut gcn = Gcn::without_bias(layout, name, n_in, n_out);
        gcn.bias = Some(layout.weight(format!("{name}.bias"), 1, n_out, Init::Zeros));
        gcn
    }

    /// Adds `name.weight` alone.
    pub fn without_bias(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> Gcn {
        let weight = layout.weight(format!("{name}.weight"), n_in, n_out, Init::Glorot);
        Gcn {
            weight,
            bias: None,
            sums_first: Gcn::sums_first(n_in, n_out),
        }
    }

    /// `(n, n_in)` to `(n, n_out)`, for a normalised adjacency with self loops.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var) -> Var {
        self.apply(tape, adjacency, x, false)
    }

    /// The same through a relu.
    pub fn forward_relu<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var) -> Var {
        self.apply(tape, adjacency, x, true)
    }

    /// The rest of a layer whose sums `S x` are known, through a relu if asked for; it has the bits
    /// of the whole layer where that sums before it multiplies, which is where
    /// [`sums_first`](Self::sums_first) says so.
    pub fn forward_from_sums(&self, tape: &mut Tape<'_>, sums: Var, relu: bool) -> Var {
        tape.linear(sums, self.weight.var(), self.bias.map(Parameter::var), relu)
    }

    /// Whether a layer from `n_in` to `n_out` sums over neighbours before it multiplies: the
    /// narrower side travels along the arcs.
    pub fn sums_first(n_in: usize, n_out: usize) -> bool {
        n_in <= n_out
    }

    fn apply<'g>(&self, tape: &mut Tape<'g>, adjacency: Adjacency<'g>, x: Var, relu: bool) -> Var {
        let (weight, bias) = (self.weight.var(), self.bias.map(Parameter::var));
        if self.sums_first {
            let sums = tape.propagate(adjacency, x);
            return self.forward_from_sums(tape, sums, relu);
        }
        let product = tape.matmul(x, weight);
        let sums = tape.propagate(adjacency, product);
        match bias {
            Some(bias) => tape.add_row(sums, bias, relu),
            None if relu => tape.relu(sums),
            None => sums,
        }
    }
}
