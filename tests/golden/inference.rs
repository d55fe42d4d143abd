//! Attackers that learn labels from rows.

use folkmoot_checks::golden::{Case, Got, Mismatch};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_scores::inference::{Attackers, Known, PerceptronSettings, Table, macro_auc};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    setting: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    known: Vec<Vec<f32>>,
    labels: Vec<u32>,
    asked: Vec<Vec<f32>>,
    answers: Vec<u32>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let (Params { setting }, inputs): (Params, Inputs) = (case.params()?, case.inputs()?);
    let mut attackers = Attackers {
        penalties: Vec::new(),
        neighbours: Vec::new(),
        trees: 0,
        network: false,
        ..Attackers::default()
    };
    match case.op.as_str() {
        "ridge" => attackers.penalties = vec![setting],
        "neighbours" => attackers.neighbours = vec![setting as u32],
        "forest" => attackers.trees = setting as u32,
        _ => return Err(case.unknown_op()),
    }
    let network = PerceptronSettings {
        layers: 1,
        width: 1,
        epochs: 1,
        learning_rate: 0.1,
        batch: 1,
        standardise: true,
    };
    // With one group there is nothing to choose by, and one setting to choose.
    let known = Known {
        groups: vec![0; inputs.labels.len()],
        rows: Table::from_rows(&inputs.known),
        labels: inputs.labels,
    };
    let n_classes = known.labels.iter().max().map_or(0, |last| *last as usize + 1);
    let asked = Table::from_rows(&inputs.asked);
    let guesses = attackers.guess(&network, &known, &asked, n_classes, &mut SimRng::seed_from_u64(1));
    let scores = &guesses.first().ok_or("nobody guesses")?.scores;
    let mut got = vec![("auc", macro_auc(&inputs.answers, scores, n_classes).into())];
    if case.op != "forest" {
        got.push(("scores", Got::rows(scores, n_classes)));
    }
    Ok(case.compare_single(Got::Map(got)))
}
