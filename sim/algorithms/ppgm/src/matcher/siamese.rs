//! SGNN: two devices encode their graphs alike, and the service compares the vectors.
//!
//! The vector is the greatest value over the nodes of a linear layer (the FCMax read-out of X. Ling
//! et al. Multilevel Graph Matching Networks for Deep Graph Similarity Learning. TNNLS 2021);
//! PPGM's paper does not say which read-out it has.

use super::codes::Block;
use super::encoder::Encoder;
use super::score::Scorer;
use super::{Drops, Input, Matcher, Range, Side};
use crate::options::{Form, Size};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_privacy::Laplace;

/// Vectors of length 1, and what training adds to them.
pub(super) struct Unit {
    pub(super) noise: Option<Laplace>,
}

pub(super) struct Siamese {
    layout: Layout,
    encoder: Encoder,
    output: Linear,
    block: Option<Block>,
    unit: Option<Unit>,
    scorer: Scorer,
    hidden: usize,
}

impl Siamese {
    pub(super) fn new(size: &Size, form: &Form, n_features: usize, unit: Option<Unit>) -> Siamese {
        let mut layout = Layout::new();
        let encoder = Encoder::new(&mut layout, size, form, n_features);
        let hidden = size.hidden as usize;
        let output = Linear::new(&mut layout, "output", hidden, hidden);
        let block = form
            .sgnn_block
            .then(|| Block::new(&mut layout, "block", hidden, form))
            .flatten();
        let scorer = Scorer::new(&mut layout, form.head, hidden);
        Siamese {
            layout,
            encoder,
            output,
            block,
            unit,
            scorer,
            hidden,
        }
    }
}

impl Matcher for Siamese {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        0
    }

    fn sends_nodes(&self) -> bool {
        false
    }

    fn range(&self) -> Range {
        self.scorer.range()
    }

    fn learns_with_noise(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.noise.is_some())
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], mut drops: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let nodes = self.encoder.forward(tape, graph, drops.as_deref_mut(), |_| {});
            let nodes = self.output.forward(tape, nodes);
            let mut state = tape.segment_max(nodes, None);
            if let Some(block) = &self.block {
                state = block.forward(tape, state, drops.as_deref_mut());
            }
            if let Some(unit) = &self.unit {
                let square = tape.matmul_transposed(state, state);
                let factor = tape.reciprocal_root(1e-12, square);
                state = tape.matmul(factor, state);
                if let (Some(noise), Some(rng)) = (&unit.noise, drops.as_deref_mut()) {
                    let draw = |values: &mut [f32]| values.iter_mut().for_each(|x| *x = noise.sample(rng) as f32);
                    let drawn = tape.constant_with(1, self.hidden, draw);
                    state = tape.add(state, drawn);
                }
            }
            Side { state, sent: None }
        };
        graphs.iter().map(begin).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        self.scorer.forward(tape, first, second)
    }

    fn result_shape(&self, _n_nodes: usize) -> (usize, usize) {
        (1, self.hidden)
    }
}
