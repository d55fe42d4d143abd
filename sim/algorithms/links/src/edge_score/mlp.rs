//! The perceptron.

use super::{EdgeScore, Scorer};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_parts::component;

/// Perceptron with one hidden layer on the products `z_i ⊙ z_j`, the predictor of the Open Graph
/// Benchmark's link prediction (Hu et al. 2020).
#[component(
    name = "Mlp",
    about = "perceptron with one hidden layer on the products of the two embeddings (Hu et al. 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Mlp {
    /// Width of the hidden layer.
    #[component(default = 64, in = 1..=4_096)]
    pub hidden: u32,
}

struct Perceptron([Linear; 2]);

impl EdgeScore for Mlp {
    fn scorer(&self, layout: &mut Layout, width: usize) -> Box<dyn Scorer> {
        let hidden = self.hidden as usize;
        let first = Linear::new(layout, "decoder0", width, hidden);
        Box::new(Perceptron([first, Linear::new(layout, "decoder1", hidden, 1)]))
    }
}

impl Scorer for Perceptron {
    fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let products = tape.multiply(first, second);
        let hidden = self.0[0].forward_relu(tape, products);
        self.0[1].forward(tape, hidden)
    }
}
