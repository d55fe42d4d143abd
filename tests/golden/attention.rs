//! Multi-head attention, with and without padding.

use folkmoot_checks::golden::{
    Case, Form, Got, Mismatch, Named, Weights, gradient_rows, gradients, model, numbers, rows, variable, weighed,
};
use folkmoot_learning::layers::MultiHeadAttention;
use folkmoot_learning::{Layout, Tape};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    d: usize,
    heads: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    query: Vec<Vec<f32>>,
    key_value: Vec<Vec<f32>>,
    cotangent: Vec<Vec<f32>>,
    key_padding_mask: Option<Vec<bool>>,
    weights: Weights,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "multihead_attention" {
        return Err(case.unknown_op());
    }
    let (Params { d, heads }, inputs): (_, Inputs) = (case.params()?, case.inputs()?);
    let mut layout = Layout::new();
    let attention = MultiHeadAttention::new(&mut layout, "attention", d, heads);
    let mut named: Vec<Named> = Vec::new();
    let parts = [
        (["query.weight", "query.bias"], attention.query),
        (["key.weight", "key.bias"], attention.key),
        (["value.weight", "value.bias"], attention.value),
        (["out_proj.weight", "out_proj.bias"], attention.output),
    ];
    for (names, linear) in parts {
        named.push((names[0], linear.weight, Form::Turned));
        named.push((names[1], linear.bias.ok_or("there is a bias")?, Form::Flat));
    }
    let mut tape = Tape::new();
    tape.load(&layout, &model(&layout, &named, &apart(inputs.weights, d)?)?);
    let (query, memory) = (
        variable(&mut tape, &inputs.query)?,
        variable(&mut tape, &inputs.key_value)?,
    );
    let attended = attention.forward(&mut tape, query, memory, inputs.key_padding_mask.as_deref());
    let loss = weighed(&mut tape, attended.output, &inputs.cotangent)?;
    tape.backward(loss);
    let (n_queries, n_keys) = (inputs.query.len(), inputs.key_value.len());
    let weights = tape.value(attended.weights);
    let mean = |at| {
        (0..heads)
            .map(|head| weights[head * n_queries * n_keys + at])
            .sum::<f32>()
            / heads as f32
    };
    let mean: Vec<f32> = (0..n_queries * n_keys).map(mean).collect();
    let together = |which: usize| {
        let gradient = |parameter: &Named| match gradients(&tape, &[*parameter]) {
            Got::Map(mut fields) => match fields.remove(0).1 {
                Got::List(values) => values,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        Got::List(named.iter().take(6).skip(which).step_by(2).flat_map(gradient).collect())
    };
    let mut grad_params = vec![("in_proj_weight", together(0)), ("in_proj_bias", together(1))];
    if let Got::Map(fields) = gradients(&tape, &named[6..]) {
        grad_params.extend(fields);
    }
    Ok(case.compare_single(Got::Map(vec![
        ("output", rows(&tape, attended.output)),
        ("mean_attention", Got::rows(&mean, n_keys)),
        ("loss", tape.scalar(loss).into()),
        ("grad_query", gradient_rows(&tape, query)),
        ("grad_key_value", gradient_rows(&tape, memory)),
        ("grad_params", Got::Map(grad_params)),
    ])))
}

/// The joint projection as three of their own.
fn apart(mut weights: Weights, d: usize) -> Result<Weights, String> {
    for (joint, names, size) in [
        ("in_proj_weight", ["query.weight", "key.weight", "value.weight"], d * d),
        ("in_proj_bias", ["query.bias", "key.bias", "value.bias"], d),
    ] {
        let data: Value = weights
            .remove(joint)
            .ok_or_else(|| format!("weights: {joint} is missing"))?;
        let data = numbers(&data)?;
        if data.len() != 3 * size {
            return Err(format!(
                "weights: {joint} must have {} values, got {}",
                3 * size,
                data.len()
            ));
        }
        weights.extend(
            names
                .iter()
                .zip(data.chunks(size.max(1)))
                .map(|(name, part)| (name.to_string(), json!(part))),
        );
    }
    Ok(weights)
}
