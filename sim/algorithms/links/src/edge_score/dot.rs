//! The dot product.

use super::{EdgeScore, Scorer, dot};
use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_parts::component;

/// Dot product of the two embeddings, `z_i · z_j`, without weights (Kipf & Welling 2016, equation
/// 2).
#[component(
    name = "Dot",
    about = "dot product of the two embeddings, without weights (Kipf & Welling 2016)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Dot {}

impl EdgeScore for Dot {
    fn scorer(&self, _: &mut Layout, _: usize) -> Box<dyn Scorer> {
        Box::new(*self)
    }
}

impl Scorer for Dot {
    fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        dot(tape, first, second)
    }
}
