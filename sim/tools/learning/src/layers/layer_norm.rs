//! Layer norm.
//!
//! J. L. Ba, J. R. Kiros and G. E. Hinton. Layer Normalization. 2016.

use crate::{Init, Layout, Parameter, Tape, Var};

/// Each row normalised to mean 0 and variance 1, then scaled and moved column by column; ε = 1e-5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// `(1, n_columns)`, 1 at the start.
    pub weight: Parameter,
    /// `(1, n_columns)`, 0 at the start.
    pub bias: Parameter,
}

impl LayerNorm {
    /// Adds `name.weight` and `name.bias`.
    pub fn new(layout: &mut Layout, name: &str, n_columns: usize) -> LayerNorm {
        LayerNorm {
            weight: layout.weight(format!("{name}.weight"), 1, n_columns, Init::Ones),
            bias: layout.weight(format!("{name}.bias"), 1, n_columns, Init::Zeros),
        }
    }

    pub fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        let normal = tape.normalise_rows(x, 1e-5);
        let scaled = tape.multiply_row(normal, self.weight.var());
        tape.add_row(scaled, self.bias.var(), false)
    }
}
