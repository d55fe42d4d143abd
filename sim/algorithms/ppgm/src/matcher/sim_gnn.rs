//! SimGNN: the service compares two graph vectors by a tensor network, and nodes by a histogram of
//! their products.
//!
//! Y. Bai et al. SimGNN: A Neural Network Approach to Fast Graph Similarity Computation. WSDM 2019,
//! sections 3.2 to 3.4. <https://arxiv.org/abs/1808.05689>. K = 16 slices and 16 bins, as there.
//! The last row of what a device sends is its graph vector, the others are its nodes.
//!
//! Deviations: products of nodes are divided by the root of the width, as attention does it, and
//! the graph vector by the number of nodes; see [`Readout`] for why.

use super::encoder::Encoder;
use super::readout::Readout;
use super::{Drops, Input, Matcher, Matrix, Range, Side};
use crate::options::{Form, Size};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

const N_SLICES: usize = 16;
const N_BINS: usize = 16;

pub(super) struct SimGnn {
    layout: Layout,
    encoder: Encoder,
    readout: Readout,
    tensor: Parameter,
    linear: Linear,
    head: [Linear; 3],
    hidden: usize,
}

impl SimGnn {
    pub(super) fn new(size: &Size, form: &Form, n_features: usize) -> SimGnn {
        let mut layout = Layout::new();
        let encoder = Encoder::new(&mut layout, size, form, n_features);
        let d = size.hidden as usize;
        let readout = Readout::new(&mut layout, "context", d);
        let tensor = layout.weight("tensor", d, N_SLICES * d, Init::Uniform((3.0 / d as f32).sqrt()));
        let linear = Linear::new(&mut layout, "tensor.linear", 2 * d, N_SLICES);
        let widths = [N_SLICES + N_BINS, 16, 8, 1];
        let head = [0, 1, 2].map(|at| Linear::new(&mut layout, &format!("head.{at}"), widths[at], widths[at + 1]));
        SimGnn {
            layout,
            encoder,
            readout,
            tensor,
            linear,
            head,
            hidden: d,
        }
    }

    /// The shares of node pairs by the sigmoid of their products, in equal bins of 0..1; no
    /// gradient passes.
    fn histogram(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let (first, second) = (tape.detach(first), tape.detach(second));
        let products = tape.matmul_transposed(first, second);
        let products = tape.scale(1.0 / (self.hidden as f32).sqrt(), products);
        let likeness = tape.sigmoid(products);
        let mut counts = [0_u32; N_BINS];
        for x in tape.value(likeness) {
            counts[((x * N_BINS as f32) as usize).min(N_BINS - 1)] += 1;
        }
        let total = tape.value(likeness).len().max(1) as f32;
        tape.constant(1, N_BINS, &counts.map(|count| count as f32 / total))
    }
}

impl Matcher for SimGnn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        0
    }

    fn sends_nodes(&self) -> bool {
        true
    }

    fn range(&self) -> Range {
        Range::Unit
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], mut drops: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let nodes = self.encoder.forward(tape, graph, drops.as_deref_mut(), |_| {});
            let whole = self.readout.forward(tape, nodes);
            Side {
                state: tape.concat_rows(&[nodes, whole]),
                sent: None,
            }
        };
        graphs.iter().map(begin).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        let parts = [first, second].map(|sent| {
            let n = tape.shape(sent).0 - 1;
            (tape.slice_rows(sent, 0, n), tape.slice_rows(sent, n, 1))
        });
        let [(first_nodes, first), (second_nodes, second)] = parts;
        let turned = tape.matmul(first, self.tensor.var());
        let turned = tape.reshape(turned, N_SLICES, self.hidden);
        let bilinear = tape.matmul_transposed(second, turned);
        let joined = tape.concat_columns(&[first, second]);
        let linear = self.linear.forward(tape, joined);
        let tensor = tape.add(bilinear, linear);
        let tensor = tape.relu(tensor);
        let histogram = self.histogram(tape, first_nodes, second_nodes);
        let mut h = tape.concat_columns(&[tensor, histogram]);
        for layer in &self.head[..2] {
            h = layer.forward_relu(tape, h);
        }
        let logit = self.head[2].forward(tape, h);
        tape.sigmoid(logit)
    }

    /// The mean of the nodes, then the graph vector, as the paper's attacker reads it.
    fn pooled(&self, message: &Matrix) -> Vec<f32> {
        let (nodes, whole) = message.data.split_at(message.data.len() - self.hidden);
        let nodes = Matrix {
            n_columns: message.n_columns,
            data: nodes.to_vec(),
        };
        [nodes.mean_row().as_slice(), whole].concat()
    }

    fn result_shape(&self, n_nodes: usize) -> (usize, usize) {
        (n_nodes + 1, self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_beside_the_graph_vector() {
        let size = Size {
            hidden: 2,
            layers: 1,
            codes: 1,
            heads: 1,
        };
        let model = SimGnn::new(&size, &Form::default(), 3);
        let message = Matrix {
            n_columns: 2,
            data: vec![1.0, 2.0, 3.0, 6.0, 7.0, 8.0],
        };
        assert_eq!(model.pooled(&message), [2.0, 4.0, 7.0, 8.0]);
    }
}
