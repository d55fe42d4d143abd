//! A graph matching network: in each layer nodes attend to the nodes of the other graph.
//!
//! Y. Li et al. Graph Matching Networks for Learning the Similarity of Graph Structured Objects.
//! ICML 2019, section 3.3. <https://arxiv.org/abs/1904.12787>. So devices exchange all their nodes
//! in every layer.
//!
//! Deviations: a node adds up what its neighbours hold by the same propagation as the other models,
//! with one linear layer and ReLU in place of two perceptrons; the score is the cosine of the graph
//! vectors.

use super::{Drops, Input, Matcher, Range, Side};
use crate::options::Size;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};

pub(super) struct Gmn {
    layout: Layout,
    input: Linear,
    layers: Vec<Linear>,
    gate: Linear,
    value: Linear,
    hidden: usize,
}

impl Gmn {
    pub(super) fn new(size: &Size, n_features: usize) -> Gmn {
        let (mut layout, d) = (Layout::new(), size.hidden as usize);
        let input = Linear::new(&mut layout, "input", n_features, d);
        let layers = (0..size.layers)
            .map(|l| Linear::new(&mut layout, &format!("layers.{l}"), 3 * d, d))
            .collect();
        let gate = Linear::new(&mut layout, "gate", d, d);
        let value = Linear::new(&mut layout, "value", d, d);
        Gmn {
            layout,
            input,
            layers,
            gate,
            value,
            hidden: d,
        }
    }
}

impl Gmn {
    /// One layer, and behind the last the read-out.
    fn layer<'g>(&'g self, tape: &mut Tape<'g>, step: u32, graph: &'g Input, own: Var, theirs: Var) -> Side {
        let scores = tape.matmul_transposed(own, theirs);
        let weights = tape.softmax(scores, None);
        let attended = tape.matmul(weights, theirs);
        let difference = tape.subtract(own, attended);
        let gathered = tape.propagate((&graph.csr).into(), own);
        let joined = tape.concat_columns(&[own, gathered, difference]);
        let nodes = self.layers[step as usize].forward_relu(tape, joined);
        if step + 1 < self.n_exchanges() {
            return Side {
                state: nodes,
                sent: Some(nodes),
            };
        }
        let gate = self.gate.forward(tape, nodes);
        let gate = tape.sigmoid(gate);
        let value = self.value.forward(tape, nodes);
        let gated = tape.multiply(gate, value);
        Side {
            state: tape.segment_sum(gated, None),
            sent: None,
        }
    }
}

impl Matcher for Gmn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        self.layers.len() as u32
    }

    fn sends_nodes(&self) -> bool {
        true
    }

    fn range(&self) -> Range {
        Range::Signed
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], _: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let x = graph.on(tape);
            let nodes = self.input.forward_relu(tape, x);
            Side {
                state: nodes,
                sent: Some(nodes),
            }
        };
        graphs.iter().map(begin).collect()
    }

    fn meet<'g>(
        &'g self,
        tape: &mut Tape<'g>,
        step: u32,
        graphs: &[&'g Input],
        own: &[Side],
        theirs: &[Var],
        _: Drops<'_>,
    ) -> Vec<Side> {
        let met = graphs.iter().zip(own).zip(theirs);
        met.map(|((graph, own), theirs)| self.layer(tape, step, graph, own.state, *theirs))
            .collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        tape.cosine(first, second)
    }

    fn sent_shape(&self, step: u32, n_nodes: usize) -> Option<(usize, usize)> {
        (step < self.n_exchanges()).then_some((n_nodes, self.hidden))
    }

    fn result_shape(&self, _n_nodes: usize) -> (usize, usize) {
        (1, self.hidden)
    }
}
