//! MGMN: every node is matched with the whole of the other graph, and graphs are compared besides.
//!
//! X. Ling et al. Multilevel Graph Matching Networks for Deep Graph Similarity Learning. TNNLS
//! 2021. <https://arxiv.org/abs/2007.04395>. Devices exchange their nodes once. What goes to the
//! service is the last states of an LSTM that reads the matched nodes in both directions, and the
//! greatest value over the nodes of a linear layer: the combination the paper calls NGMN with
//! BiLSTM and SGNN with FCMax. There are as many perspectives as the hidden width, 100 as in the
//! paper.
//!
//! The LSTM reads nodes in the order of the files, so a score depends on that order.

use super::encoder::Encoder;
use super::perspectives::Perspectives;
use super::score::Scorer;
use super::{Drops, Input, Matcher, Range, Side, together};
use crate::options::{Form, Size};
use folkmoot_learning::layers::{Linear, Lstm};
use folkmoot_learning::{Layout, Tape, Var};

pub(super) struct Mgmn {
    layout: Layout,
    encoder: Encoder,
    perspectives: Perspectives,
    lstm: Lstm,
    output: Linear,
    scorer: Scorer,
    hidden: usize,
}

impl Mgmn {
    pub(super) fn new(size: &Size, form: &Form, n_features: usize) -> Mgmn {
        let (mut layout, d) = (Layout::new(), size.hidden as usize);
        let encoder = Encoder::new(&mut layout, size, form, n_features);
        let perspectives = Perspectives::new(&mut layout, "perspectives", d, d);
        let lstm = Lstm::bidirectional(&mut layout, "lstm", d, d);
        let output = Linear::new(&mut layout, "output", d, d);
        let scorer = Scorer::new(&mut layout, form.head, 3 * d);
        Mgmn {
            layout,
            encoder,
            perspectives,
            lstm,
            output,
            scorer,
            hidden: d,
        }
    }
}

impl Matcher for Mgmn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        1
    }

    fn sends_nodes(&self) -> bool {
        true
    }

    fn range(&self) -> Range {
        self.scorer.range()
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], mut drops: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let nodes = self.encoder.forward(tape, graph, drops.as_deref_mut(), |_| {});
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
        _step: u32,
        _graphs: &[&'g Input],
        own: &[Side],
        theirs: &[Var],
        _: Drops<'_>,
    ) -> Vec<Side> {
        let nodes: Vec<Var> = own.iter().map(|side| side.state).collect();
        let lengths: Vec<usize> = nodes.iter().map(|nodes| tape.shape(*nodes).0).collect();
        let matched = self.perspectives.forward(tape, &nodes, theirs);
        let matched = self.lstm.last_of(tape, matched, &lengths);
        let meet = |(at, side): (usize, &Side)| {
            let whole = self.output.forward(tape, side.state);
            let whole = tape.segment_max(whole, None);
            let matched = tape.slice_rows(matched, at, 1);
            Side {
                state: tape.concat_columns(&[matched, whole]),
                sent: None,
            }
        };
        own.iter().enumerate().map(meet).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        self.scorer.forward(tape, first, second)
    }

    /// One pass of the perceptron over all pairs.
    fn scores<'g>(&'g self, tape: &mut Tape<'g>, pairs: &[[Var; 2]]) -> Var {
        let [first, second] = together(tape, pairs);
        self.score(tape, first, second)
    }

    fn sent_shape(&self, step: u32, n_nodes: usize) -> Option<(usize, usize)> {
        (step < self.n_exchanges()).then_some((n_nodes, self.hidden))
    }

    fn result_shape(&self, _n_nodes: usize) -> (usize, usize) {
        (1, 3 * self.hidden)
    }
}
