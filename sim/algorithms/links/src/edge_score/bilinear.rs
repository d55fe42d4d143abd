//! The bilinear form.

use super::{EdgeScore, Scorer, dot};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_parts::component;

/// Bilinear form `(z_i W z_j + z_j W z_i) / 2` with a full matrix: RESCAL with one relation (Nickel
/// et al. 2011, section 3), made symmetric.
#[component(
    name = "Bilinear",
    about = "bilinear form with a full matrix, made symmetric: RESCAL with one relation (Nickel et al. 2011)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Bilinear {}

struct Form(Linear);

impl EdgeScore for Bilinear {
    fn scorer(&self, layout: &mut Layout, width: usize) -> Box<dyn Scorer> {
        Box::new(Form(Linear::without_bias(layout, "decoder", width, width)))
    }
}

impl Scorer for Form {
    fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let [from_first, from_second] = [first, second].map(|rows| self.0.forward(tape, rows));
        let there = dot(tape, from_first, second);
        let back = dot(tape, from_second, first);
        let both = tape.add(there, back);
        tape.scale(0.5, both)
    }
}
