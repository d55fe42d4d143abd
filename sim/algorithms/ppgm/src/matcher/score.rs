//! How two representations become a score.

use super::Range;
use crate::options::Head;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};

/// A cosine, or a perceptron `2 w – w – w/2 – 1` with ReLU and a sigmoid at the end, for
/// representations of width `w`.
#[derive(Clone, Debug)]
pub(super) struct Scorer {
    layers: Option<[Linear; 3]>,
}

impl Scorer {
    pub(super) fn new(layout: &mut Layout, head: Head, width: usize) -> Scorer {
        let widths = [2 * width, width, (width / 2).max(1), 1];
        let layers = [0, 1, 2].map(|at| (at, widths[at], widths[at + 1]));
        Scorer {
            layers: (head == Head::Regression)
                .then(|| layers.map(|(at, n_in, n_out)| Linear::new(layout, &format!("head.{at}"), n_in, n_out))),
        }
    }

    pub(super) fn range(&self) -> Range {
        match self.layers {
            None => Range::Signed,
            Some(_) => Range::Unit,
        }
    }

    pub(super) fn forward(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let Some([wide, narrow, last]) = &self.layers else {
            return tape.cosine(first, second);
        };
        let h = tape.concat_columns(&[first, second]);
        let h = wide.forward_relu(tape, h);
        let h = narrow.forward_relu(tape, h);
        let h = last.forward(tape, h);
        tape.sigmoid(h)
    }
}
