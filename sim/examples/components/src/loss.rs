//! A training loss of classifiers.

use folkmoot::classifiers::classifier::loss::{Loss, Truths};
use folkmoot::learning::{Tape, Var};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// The Brier score: the squared difference of probabilities and one-hot classes, summed over
/// classes.
#[component(name = "Brier", about = "squared error of probabilities (Brier 1950)")]
#[derive(Clone, Copy, Debug)]
struct Brier {}

impl Loss for Brier {
    fn loss<'g>(&'g self, tape: &mut Tape<'g>, outputs: Var, truths: Truths<'g>) -> Var {
        let probabilities = tape.softmax(outputs, None);
        let (rows, classes) = tape.shape(probabilities);
        let one_hot = tape.constant_with(rows, classes, |to| truths.one_hot(1.0, to));
        let share = 1.0 / truths.n_counted().max(1) as f32;
        let weights = tape.constant_with(rows, classes, |to| truths.by_row(share, to));
        let error = tape.subtract(probabilities, one_hot);
        let squares = tape.square(error);
        let weighted = tape.multiply(squares, weights);
        tape.sum(weighted)
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Loss, Brier>()?;
    registry.add_card("loss", include_str!("../cards/loss.ron"))
}
