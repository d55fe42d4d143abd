//! Two channels: what nodes bring, and the structure about them.
//!
//! Y. Tan, Y. Liu, G. Long, J. Jiang, Q. Lu, C. Zhang. Federated Learning on Non-IID Graphs via
//! Structural Knowledge Sharing. AAAI 2023, section 4. <https://arxiv.org/abs/2211.13009>

use super::{Gin, Linear, Mode};
use crate::{Adjacency, Csr, Layout, Tape, Var};

/// `h' = GIN([h ‖ s])` and `s' = tanh(Â s W + b)`, side by side, with
/// `Â = D̃^-1/2 (A + I) D̃^-1/2`. A first layer maps what comes in to the widths of the channels
/// before.
#[derive(Clone, Debug, PartialEq)]
pub struct Structured {
    /// Maps of a first layer, of the features and of the structure.
    pub embed: Option<[Linear; 2]>,
    /// What the features go through, the structure beside them.
    pub gin: Gin,
    /// What the structure goes through.
    pub gcn: Linear,
    /// Columns of features and of structure that come in: the first ones, and the last ones.
    n_in: [usize; 2],
}

impl Structured {
    /// Adds `name.nn` and `name.structure.gcn` between channels of `width` columns each, and for a
    /// first layer, which gets `first` columns of features and of structure, `name.embed` and
    /// `name.structure.embed`.
    pub fn new(layout: &mut Layout, name: &str, first: Option<[usize; 2]>, width: usize) -> Structured {
        let embed = first.map(|[features, structure]| {
            [
                Linear::new(layout, &format!("{name}.embed"), features, width),
                Linear::new(layout, &format!("{name}.structure.embed"), structure, width),
            ]
        });
        Structured {
            embed,
            gin: Gin::new(layout, name, 2 * width, width, width),
            gcn: Linear::new(layout, &format!("{name}.structure.gcn"), width, width),
            n_in: first.unwrap_or([width; 2]),
        }
    }

    /// `(n, features + structure)`, or fewer columns if they overlap, to `(n, 2 width)`, the
    /// features through a relu; `csr` has an entry of 1 for each arc.
    pub fn forward<'g>(&self, tape: &mut Tape<'g>, csr: &'g Csr, x: Var, mode: Mode) -> Var {
        let [features, structure] = self.n_in;
        let mut h = tape.slice_columns(x, 0, features);
        let n_columns = tape.shape(x).1;
        let mut s = tape.slice_columns(x, n_columns - structure, structure);
        if let Some([of_features, of_structure]) = &self.embed {
            h = of_features.forward(tape, h);
            s = of_structure.forward(tape, s);
        }
        let both = tape.concat_columns(&[h, s]);
        let h = self.gin.forward_relu(tape, Adjacency::Sparse(csr), both, mode);
        let (n, width) = tape.shape(s);
        let scale = tape.constant_with(n, width, |scale| {
            for (node, row) in scale.chunks_exact_mut(width.max(1)).enumerate() {
                row.fill(1.0 / ((csr.range(node).len() + 1) as f32).sqrt());
            }
        });
        let scaled = tape.multiply(s, scale);
        let sums = tape.propagate(Adjacency::Sparse(csr), scaled);
        let sums = tape.add(sums, scaled);
        let sums = tape.multiply(sums, scale);
        let s = self.gcn.forward(tape, sums);
        let s = tape.tanh(s);
        tape.concat_columns(&[h, s])
    }
}
