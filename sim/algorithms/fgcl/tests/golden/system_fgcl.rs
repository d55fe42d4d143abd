//! One step of FGCL on one graph, made of the parts that the strategy trains with.

use folkmoot_checks::golden::{Case, Got, Mismatch, Weights, gradient_rows, numbers, row_major};
use folkmoot_classifiers::classifier::graph_layers::Gcn;
use folkmoot_fgcl::{Contrast, DegreeRule, Model, Network, add_contrast, contrastive_loss, propagation_matrix};
use folkmoot_learning::{Adjacency, Tape, Var};
use folkmoot_parts::Chosen;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    tau: f64,
    lam: f64,
    degree_rule: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    adjacency: Vec<Vec<f32>>,
    noise1: Vec<Vec<f32>>,
    noise2: Vec<Vec<f32>>,
    x: Vec<Vec<f32>>,
    negatives: Vec<Vec<f32>>,
    label: u32,
    weights: Weights,
}

/// What the file calls our parameters; it writes weights as they are stored.
const NAMES: [(&str, &str); 6] = [
    ("W0", "conv0.weight"),
    ("b0", "conv0.bias"),
    ("W1", "conv1.weight"),
    ("b1", "conv1.bias"),
    ("Wc", "head.weight"),
    ("bc", "head.bias"),
];

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "fgcl_step" {
        return Err(case.unknown_op());
    }
    let (params, inputs): (Params, Inputs) = (case.params()?, case.inputs()?);
    let rule = match params.degree_rule.as_str() {
        "masked" => DegreeRule::Masked,
        "abs" => DegreeRule::Abs,
        other => return Err(format!("degree_rule: unknown: {other:?}")),
    };
    let width =
        |name: &str| Ok::<usize, String>(numbers(inputs.weights.get(name).ok_or("weights: a bias is missing")?)?.len());
    let model = Model {
        encoder: Chosen::new(Gcn {}),
        hidden: width("b0")? as u32,
        ..Model::default()
    };
    let (x, n) = (row_major(&inputs.x)?.0, inputs.x.len());
    let n_features = inputs.x.first().map_or(0, Vec::len);
    let network = Network::new(&model, n_features, width("bc")?);
    let layout = network.layout();
    let mut start = vec![0.0; layout.len()];
    for (theirs, ours) in NAMES {
        let values = numbers(
            inputs
                .weights
                .get(theirs)
                .ok_or_else(|| format!("weights: {theirs} is missing"))?,
        )?;
        let slot = layout.find(ours).ok_or_else(|| format!("the network has no {ours}"))?;
        let to = &mut start[layout.range(slot.parameter)];
        if values.len() != to.len() {
            return Err(format!("weights: {theirs} does not fit"));
        }
        to.copy_from_slice(&values);
    }
    if inputs.weights.len() != NAMES.len() {
        return Err("weights: there are others".into());
    }

    let mut tape = Tape::new();
    tape.load(layout, &start);
    let bounds = [0, n as u32];
    let view = |noise: &[Vec<f32>]| -> Result<Vec<f32>, String> {
        let (adjacency, noise) = (row_major(&inputs.adjacency)?.0, row_major(noise)?.0);
        let mut table: Vec<f32> = adjacency.iter().zip(&noise).map(|(a, noise)| a + noise).collect();
        propagation_matrix(model.encoder.propagation(), rule, n, &mut table);
        Ok(table)
    };
    let matrices = [view(&inputs.noise1)?, view(&inputs.noise2)?];
    let mut embeddings: Vec<Var> = Vec::new();
    for matrix in &matrices {
        let blocks = tape.input(1, n * n, matrix);
        let x = tape.input(n, n_features, &x);
        embeddings.push(network.embed(&mut tape, Adjacency::Blocks(blocks, &bounds), x, &bounds, None));
    }
    let (negatives, n_negatives) = (row_major(&inputs.negatives)?.0, inputs.negatives.len());
    let negatives = tape.constant(n_negatives, model.hidden as usize, &negatives);
    let contrast = Contrast {
        lambda: params.lam,
        temperature: params.tau,
        ..Contrast::default()
    };
    let term = contrastive_loss(&mut tape, &contrast, embeddings[0], embeddings[1], negatives);
    let logits = network.classify(&mut tape, embeddings[0], None);
    let labels = [inputs.label];
    let entropy = tape.cross_entropy(logits, &labels, None);
    let loss = add_contrast(&mut tape, &contrast, entropy, term, 1);
    tape.backward(loss);

    let gradient = |(theirs, ours): (&'static str, &str)| {
        let slot = layout.find(ours).expect("found above");
        let gradient = match slot.rows {
            1 if theirs.starts_with('b') => tape.gradient(slot.parameter.var()).to_vec().into(),
            _ => gradient_rows(&tape, slot.parameter.var()),
        };
        (theirs, gradient)
    };
    let row = |var: Var| -> Got { tape.value(var).to_vec().into() };
    Ok(case.compare_single(Got::Map(vec![
        ("h1", row(embeddings[0])),
        ("h2", row(embeddings[1])),
        ("logits", row(logits)),
        ("cross_entropy", tape.scalar(entropy).into()),
        ("infonce", tape.scalar(term).into()),
        ("loss", tape.scalar(loss).into()),
        ("grads", Got::Map(NAMES.into_iter().map(gradient).collect())),
    ])))
}
