//! LSTM in one direction and in both.

use folkmoot_checks::golden::{
    Case, Form, Got, Mismatch, Named, Weights, gradient_rows, gradients, model, numbers, rows, variable, weighed,
};
use folkmoot_learning::layers::Lstm;
use folkmoot_learning::{Layout, Tape};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    bidirectional: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    x: Vec<Vec<f32>>,
    cotangent: Vec<f32>,
    weights: Weights,
}

const NAMES: [[&str; 4]; 2] = [
    ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"],
    [
        "weight_ih_l0_reverse",
        "weight_hh_l0_reverse",
        "bias_ih_l0_reverse",
        "bias_hh_l0_reverse",
    ],
];

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "lstm" {
        return Err(case.unknown_op());
    }
    let (Params { bidirectional }, inputs): (_, Inputs) = (case.params()?, case.inputs()?);
    let bias = numbers(
        inputs
            .weights
            .get("bias_ih_l0")
            .ok_or("weights: bias_ih_l0 is missing")?,
    )?;
    let (n_steps, n_in, n_hidden) = (inputs.x.len(), inputs.x.first().map_or(0, Vec::len), bias.len() / 4);
    let mut layout = Layout::new();
    let lstm = match bidirectional {
        true => Lstm::bidirectional(&mut layout, "lstm", n_in, n_hidden),
        false => Lstm::new(&mut layout, "lstm", n_in, n_hidden),
    };
    let directions = [Some(lstm.forwards), lstm.backwards];
    let mut named: Vec<Named> = Vec::new();
    for (direction, names) in directions.iter().flatten().zip(NAMES) {
        named.push((names[0], direction.weight_ih, Form::Turned));
        named.push((names[1], direction.weight_hh, Form::Turned));
        named.push((names[2], direction.bias_ih, Form::Flat));
        named.push((names[3], direction.bias_hh, Form::Flat));
    }
    let weights = model(&layout, &named, &inputs.weights)?;
    // Last states are once those of all states and once those of a batch of one sequence.
    for of_batch in [false, true] {
        let mut tape = Tape::new();
        tape.load(&layout, &weights);
        let x = variable(&mut tape, &inputs.x)?;
        let (forwards, backwards) = lstm.states(&mut tape, x, n_steps);
        let mut cell = tape.lstm_cells(forwards)[(n_steps - 1) * n_hidden..].to_vec();
        let outputs = match backwards {
            Some(backwards) => {
                cell.extend(&tape.lstm_cells(backwards)[..n_hidden]);
                tape.concat_columns(&[forwards, backwards])
            }
            None => forwards,
        };
        let last = match of_batch {
            true => lstm.last_of(&mut tape, x, &[n_steps]),
            false => lstm.last(&mut tape, x, n_steps),
        };
        let loss = weighed(&mut tape, last, std::slice::from_ref(&inputs.cotangent))?;
        tape.backward(loss);
        let mismatches = case.compare_single(Got::Map(vec![
            ("outputs", rows(&tape, outputs)),
            ("final", tape.value(last).to_vec().into()),
            ("cell", cell.into()),
            ("loss", tape.scalar(loss).into()),
            ("grad_x", gradient_rows(&tape, x)),
            ("grad_params", gradients(&tape, &named)),
        ]));
        if !mismatches.is_empty() {
            return Ok(mismatches);
        }
    }
    Ok(Vec::new())
}
