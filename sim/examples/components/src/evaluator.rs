//! An evaluator that watches the runs of an algorithm from outside, here of FedAvg.

use folkmoot::classifiers::classifier::Classified;
use folkmoot::classifiers::fed_avg::Params;
use folkmoot::prelude::*;
use folkmoot::rounds::Rounds;
use folkmoot::scenarios::algorithm::{Algorithm, Source};
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::evaluators::Evaluates;
use folkmoot::scenarios::registry::Registry;

/// The Euclidean length of the global model after each round. An evaluator keeps no state between
/// rounds, so that a resumed run has the same result.
#[component(name = "ModelLength", about = "Euclidean length of the global model, by round")]
#[derive(Clone, Copy, Debug)]
struct ModelLength {}

impl Evaluates<Params> for ModelLength {
    fn evaluator(
        &self,
        _: &<Params as Algorithm>::Facts,
        _: &Source<'_>,
    ) -> Result<Box<dyn Evaluator<Rounds<Classified>>>, StrategyError> {
        Ok(Box::new(*self))
    }

    fn terms() -> Vec<Term> {
        let about = "Euclidean length of the global model.";
        vec![Term::new("length", "Length of the model", Unit::Number, about, "").from(0.0)]
    }
}

impl Evaluator<Rounds<Classified>> for ModelLength {
    /// After each round: a row of `scores.csv`, and so a curve.
    fn after_round(&self, round: &Ended<'_, Rounds<Classified>>, sheet: &mut Sheet) {
        sheet.score("global", "length", length(round.server.parameters()), 1);
    }

    /// After the run: a number of `summary.json`.
    fn scores(&self, end: &End<'_, Rounds<Classified>>, sheet: &mut Sheet) {
        sheet.number("length", length(end.server.parameters()));
    }

    fn reads_clients(&self, _: &Rounds<Classified>) -> bool {
        false
    }
}

fn length(parameters: &[f32]) -> f64 {
    parameters.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_evaluator::<Params, ModelLength>()?;
    registry.add_card("evaluator", include_str!("../cards/evaluator.ron"))
}
