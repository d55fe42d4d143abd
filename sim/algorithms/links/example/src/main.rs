//! A decoder from another crate: `decoder run decoder`, and every other command, knows it.

use folkmoot::learning::layers::Linear;
use folkmoot::learning::{Layout, Tape, Var};
use folkmoot::links::{EdgeScore, Scorer};
use folkmoot::prelude::*;

/// A linear function of the differences of two embeddings, squared or absolute.
#[component(
    name = "Distance",
    about = "linear function of the differences of the two embeddings"
)]
#[derive(Clone, Copy, Debug)]
struct Distance {
    /// Square the differences instead of taking their absolute values.
    #[component(default = true)]
    squared: bool,
}

/// The decoder, with its weights in a layout.
struct OfDifferences {
    linear: Linear,
    squared: bool,
}

impl EdgeScore for Distance {
    fn scorer(&self, layout: &mut Layout, width: usize) -> Box<dyn Scorer> {
        Box::new(OfDifferences {
            linear: Linear::new(layout, "decoder", width, 1),
            squared: self.squared,
        })
    }
}

impl Scorer for OfDifferences {
    fn score(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let difference = tape.subtract(first, second);
        let distances = match self.squared {
            true => tape.square(difference),
            false => tape.abs(difference),
        };
        self.linear.forward(tape, distances)
    }
}

fn main() -> std::process::ExitCode {
    let mut registry = folkmoot::shipped();
    registry
        .add_component::<dyn EdgeScore, Distance>()
        .expect("no shipped decoder is called so");
    registry
        .add_card("decoder", include_str!("../decoder.ron"))
        .expect("no shipped card is called so");
    folkmoot::main(registry)
}
