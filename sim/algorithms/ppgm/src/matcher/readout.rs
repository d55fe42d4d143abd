//! A graph's vector: its nodes, weighted by how much they resemble their mean.
//!
//! Y. Bai et al. SimGNN: A Neural Network Approach to Fast Graph Similarity Computation. WSDM 2019,
//! section 3.2.

use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

/// `Σ σ(h_i · tanh(mean(h) W) / √d) h_i / n`.
///
/// The paper divides by neither: its graphs have ten nodes of width 16. With 90 of width 100 every
/// sigmoid is at its end before training begins, and stays there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readout {
    /// `(d, d)`
    context: Parameter,
}

impl Readout {
    pub(super) fn new(layout: &mut Layout, name: &str, d: usize) -> Readout {
        Readout {
            context: layout.weight(name, d, d, Init::Glorot),
        }
    }

    /// `(n, d)` to `(1, d)`.
    pub(super) fn forward(&self, tape: &mut Tape<'_>, nodes: Var) -> Var {
        let (n, d) = tape.shape(nodes);
        let mean = tape.segment_mean(nodes, None);
        let context = tape.matmul(mean, self.context.var());
        let context = tape.tanh(context);
        let attention = tape.matmul_transposed(context, nodes);
        let attention = tape.scale(1.0 / (d as f32).sqrt(), attention);
        let attention = tape.sigmoid(attention);
        let whole = tape.matmul(attention, nodes);
        tape.scale(1.0 / n.max(1) as f32, whole)
    }
}
