//! The linear layer.

use crate::{Init, Layout, Parameter, Tape, Var};

/// `x W + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// `(n_in, n_out)`
    pub weight: Parameter,
    /// `(1, n_out)`
    pub bias: Option<Parameter>,
}

impl Linear {
    /// Adds `name.weight` and `name.bias`, both uniform in ±`1 / sqrt(n_in)`.
    ///
    /// # Panics
    /// If the name is taken, as with every layer.
    pub fn new(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> Linear {
        let weight = layout.weight(format!("{name}.weight"), n_in, n_out, Init::FanIn(n_in));
        let bias = layout.weight(format!("{name}.bias"), 1, n_out, Init::FanIn(n_in));
        Linear {
            weight,
            bias: Some(bias),
        }
    }

    /// Adds `name.weight` alone.
    pub fn without_bias(layout: &mut Layout, name: &str, n_in: usize, n_out: usize) -> Linear {
        let weight = layout.weight(format!("{name}.weight"), n_in, n_out, Init::FanIn(n_in));
        Linear { weight, bias: None }
    }

    /// `(n, n_in)` to `(n, n_out)`.
    ///
    /// # Panics
    /// If the shape does not fit, as with every layer.
    pub fn forward(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        self.apply(tape, x, false)
    }

    /// The same through a relu, in one operation.
    pub fn forward_relu(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        self.apply(tape, x, true)
    }

    fn apply(&self, tape: &mut Tape<'_>, x: Var, relu: bool) -> Var {
        tape.linear(x, self.weight.var(), self.bias.map(Parameter::var), relu)
    }
}
