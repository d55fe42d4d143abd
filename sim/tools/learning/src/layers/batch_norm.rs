//! Batch norm.
//!
//! S. Ioffe and C. Szegedy. Batch Normalization. ICML 2015, algorithms 1 and 2.

use crate::{Init, Layout, Parameter, Tape, Var};

/// Whether a model learns or is asked: batch norm and dropout differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Statistics are the batch's, and the running ones follow.
    Train,
    /// Statistics are the running ones.
    Evaluate,
}

/// Each column normalised to mean 0 and variance 1, then scaled and moved; ε = 1e-5.
///
/// The running statistics are buffers of the model: they travel and are averaged with it, and no
/// optimiser moves them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    /// `(1, n_columns)`, 1 at the start.
    pub weight: Parameter,
    /// `(1, n_columns)`, 0 at the start.
    pub bias: Parameter,
    /// `(1, n_columns)`, 0 at the start.
    pub running_mean: Parameter,
    /// `(1, n_columns)`, 1 at the start; unbiased.
    pub running_variance: Parameter,
}

const EPSILON: f32 = 1e-5;
/// How far the running statistics go towards the batch's.
const MOMENTUM: f32 = 0.1;

impl BatchNorm {
    /// Adds `name.weight` and `name.bias`, and the buffers `name.running_mean` and
    /// `name.running_var`.
    pub fn new(layout: &mut Layout, name: &str, n_columns: usize) -> BatchNorm {
        BatchNorm {
            weight: layout.weight(format!("{name}.weight"), 1, n_columns, Init::Ones),
            bias: layout.weight(format!("{name}.bias"), 1, n_columns, Init::Zeros),
            running_mean: layout.buffer(format!("{name}.running_mean"), 1, n_columns, Init::Zeros),
            running_variance: layout.buffer(format!("{name}.running_var"), 1, n_columns, Init::Ones),
        }
    }

    /// The shape stays. With [`Mode::Train`] the running statistics move a tenth of the way.
    ///
    /// # Panics
    /// With [`Mode::Train`], if there are no rows.
    pub fn forward(&self, tape: &mut Tape<'_>, x: Var, mode: Mode) -> Var {
        let normal = match mode {
            Mode::Train => {
                let normal = tape.normalise_columns(x, EPSILON);
                tape.track_columns(normal, self.running_mean, self.running_variance, MOMENTUM);
                normal
            }
            Mode::Evaluate => tape.standardise(x, self.running_mean.var(), self.running_variance.var(), EPSILON),
        };
        let scaled = tape.multiply_row(normal, self.weight.var());
        tape.add_row(scaled, self.bias.var(), false)
    }
}
