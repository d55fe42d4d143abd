//! Graph attention.
//!
//! P. Veličković et al. Graph Attention Networks. ICLR 2018, equations 3 to 6.

use crate::{Csr, Init, Layout, Parameter, Tape, Var};

/// What becomes of the heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heads {
    /// They stand side by side: `n_heads · n_out` columns.
    Concat,
    /// Their mean: `n_out` columns.
    Mean,
}

/// With `h = x W` and weights `softmax_j LeakyReLU(a_src · h_j + a_dst · h_i)` for each head: the
/// weighted sum of `h_j`, plus `b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gat {
    /// `(n_in, n_heads · n_out)`
    pub weight: Parameter,
    /// `(n_heads, n_out)`
    pub source: Parameter,
    /// `(n_heads, n_out)`
    pub target: Parameter,
    /// `(1, columns of the result)`
    pub bias: Parameter,
    /// How many heads there are.
    pub n_heads: usize,
    /// What becomes of them.
    pub heads: Heads,
    /// The slope of the leaky relu below 0.
    pub negative_slope: f32,
}

impl Gat {
    /// Adds `name.weight`, `name.att_src` and `name.att_dst`, by Glorot, and `name.bias`, 0; the
    /// slope is 0.2.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize, n_heads: usize, heads: Heads) -> Gat {
        let columns = match heads {
            Heads::Concat => n_heads * n_out,
            Heads::Mean => n_out,
        };
        Gat {
            weight: layout.weight(format!("{name}.weight"), n_in, n_heads * n_out, Init::Glorot),
            source: layout.weight(format!("{name}.att_src"), n_heads, n_out, Init::Glorot),
            target: layout.weight(format!("{name}.att_dst"), n_heads, n_out, Init::Glorot),
            bias: layout.weight(format!("{name}.bias"), 1, columns, Init::Zeros),
            n_heads,
            heads,
            negative_slope: 0.2,
        }
    }

    /// `(n, n_in)` to `(n, columns)`; `csr` holds the arcs and self loops, and its weights are not
    /// read.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, csr: &'g Csr, x: Var) -> Var {
        let h = tape.matmul(x, self.weight.var());
        let (source, target) = (
            tape.block_dot(h, self.source.var()),
            tape.block_dot(h, self.target.var()),
        );
        let scores = tape.arc_sum(csr, source, target);
        let scores = tape.leaky_relu(self.negative_slope, scores);
        let weights = tape.arc_softmax(csr, scores);
        let mixed = tape.propagate_heads(csr, weights, h);
        let mixed = match self.heads {
            Heads::Concat => mixed,
            Heads::Mean => tape.mean_blocks(mixed, self.n_heads),
        };
        tape.add_row(mixed, self.bias.var(), false)
    }
}
