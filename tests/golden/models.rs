//! Whole models: a node classifier, and graph classifiers on a batch.

use folkmoot_checks::golden::{
    Arcs, Case, Form, Got, Mismatch, Named, Weights, gradient_rows, gradients, model, row_major, rows, variable,
};
use folkmoot_learning::layers::{Gcn, Gin, Linear, Mode, Readout};
use folkmoot_learning::{Batch, Layout, Tape, Var};
use serde::Deserialize;

use super::layers::gcn_matrix;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    graph: Arcs,
    x: Vec<Vec<f32>>,
    labels: Vec<u32>,
    mask: Vec<bool>,
    weights: Weights,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Graphs {
    graphs: Vec<Labelled>,
    labels: Vec<u32>,
    weights: Weights,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    num_nodes: u32,
    edges: Vec<(u32, u32)>,
    x: Vec<Vec<f32>>,
}

/// How many numbers a bias has.
fn width(weights: &Weights, name: &str) -> Result<usize, String> {
    weights
        .get(name)
        .and_then(|bias| bias.as_array())
        .map(Vec::len)
        .ok_or_else(|| format!("weights: {name} is missing"))
}

fn linear(named: &mut Vec<Named>, names: [&'static str; 2], linear: &Linear) {
    named.push((names[0], linear.weight, Form::Turned));
    named.extend(linear.bias.map(|bias| (names[1], bias, Form::Flat)));
}

fn convolution(named: &mut Vec<Named>, names: [&'static str; 2], gcn: &Gcn) {
    named.push((names[0], gcn.weight, Form::Turned));
    named.extend(gcn.bias.map(|bias| (names[1], bias, Form::Flat)));
}

pub(super) fn nodes(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "gcn2_node_classifier" {
        return Err(case.unknown_op());
    }
    let inputs: Nodes = case.only_inputs()?;
    let csr = gcn_matrix(&inputs.graph)?;
    let (n_in, hidden, n_classes) = (
        inputs.x.first().map_or(0, Vec::len),
        width(&inputs.weights, "0.bias")?,
        width(&inputs.weights, "1.bias")?,
    );
    let (mut layout, mut named) = (Layout::new(), Vec::new());
    let first = Gcn::new(&mut layout, "0", n_in, hidden);
    let second = Gcn::new(&mut layout, "1", hidden, n_classes);
    convolution(&mut named, ["0.lin.weight", "0.bias"], &first);
    convolution(&mut named, ["1.lin.weight", "1.bias"], &second);
    let mut tape = Tape::new();
    tape.load(&layout, &model(&layout, &named, &inputs.weights)?);
    let x = variable(&mut tape, &inputs.x)?;
    let h = first.forward_relu(&mut tape, (&csr).into(), x);
    let logits = second.forward(&mut tape, (&csr).into(), h);
    let softmax = tape.softmax(logits, None);
    let loss = tape.cross_entropy(logits, &inputs.labels, Some(&inputs.mask));
    tape.backward(loss);
    Ok(case.compare_single(Got::Map(vec![
        ("logits", rows(&tape, logits)),
        ("softmax", rows(&tape, softmax)),
        ("loss", tape.scalar(loss).into()),
        ("grad_x", gradient_rows(&tape, x)),
        ("grad_params", gradients(&tape, &named)),
    ])))
}

pub(super) fn graphs(case: &Case) -> Result<Vec<Mismatch>, String> {
    let inputs: Graphs = case.only_inputs()?;
    let n_in = inputs
        .graphs
        .iter()
        .find_map(|graph| graph.x.first())
        .map_or(0, Vec::len);
    let with_loops = case.op == "gcn_mean";
    let mut batch = Batch::new(n_in);
    for graph in &inputs.graphs {
        let arcs = Arcs {
            num_nodes: graph.num_nodes,
            edges: graph.edges.clone(),
            edge_weight: None,
        };
        let csr = if with_loops { gcn_matrix(&arcs)? } else { arcs.csr()? };
        batch.push(&csr, &row_major(&graph.x)?.0);
    }
    let (mut layout, mut named) = (Layout::new(), Vec::new());
    let n_classes = width(&inputs.weights, "out.bias")?;
    let mut tape = Tape::new();
    let (readout, logits): (Var, Var) = match case.op.as_str() {
        "gcn_mean" => {
            let hidden = width(&inputs.weights, "c0.bias")?;
            let first = Gcn::new(&mut layout, "c0", n_in, hidden);
            let second = Gcn::new(&mut layout, "c1", hidden, hidden);
            let out = Linear::new(&mut layout, "out", hidden, n_classes);
            convolution(&mut named, ["c0.lin.weight", "c0.bias"], &first);
            convolution(&mut named, ["c1.lin.weight", "c1.bias"], &second);
            linear(&mut named, ["out.weight", "out.bias"], &out);
            tape.load(&layout, &model(&layout, &named, &inputs.weights)?);
            let x = batch.features(&mut tape);
            let h = first.forward_relu(&mut tape, batch.adjacency(), x);
            let h = second.forward_relu(&mut tape, batch.adjacency(), h);
            let z = Readout::Mean.forward(&mut tape, h, Some(batch.bounds()));
            (z, out.forward(&mut tape, z))
        }
        "gin_sum" => {
            let hidden = width(&inputs.weights, "c0.nn.0.bias")?;
            let first = Gin::new(&mut layout, "c0", n_in, hidden, hidden);
            let second = Gin::new(&mut layout, "c1", hidden, hidden, hidden);
            let middle = Linear::new(&mut layout, "l0", hidden, hidden);
            let out = Linear::new(&mut layout, "out", hidden, n_classes);
            linear(&mut named, ["c0.nn.0.weight", "c0.nn.0.bias"], &first.first);
            linear(&mut named, ["c0.nn.2.weight", "c0.nn.2.bias"], &first.second);
            linear(&mut named, ["c1.nn.0.weight", "c1.nn.0.bias"], &second.first);
            linear(&mut named, ["c1.nn.2.weight", "c1.nn.2.bias"], &second.second);
            linear(&mut named, ["l0.weight", "l0.bias"], &middle);
            linear(&mut named, ["out.weight", "out.bias"], &out);
            tape.load(&layout, &model(&layout, &named, &inputs.weights)?);
            let x = batch.features(&mut tape);
            let h = first.forward_relu(&mut tape, batch.adjacency(), x, Mode::Train);
            let h = second.forward_relu(&mut tape, batch.adjacency(), h, Mode::Train);
            let z = Readout::Sum.forward(&mut tape, h, Some(batch.bounds()));
            let h = middle.forward_relu(&mut tape, z);
            (z, out.forward(&mut tape, h))
        }
        _ => return Err(case.unknown_op()),
    };
    let loss = tape.cross_entropy(logits, &inputs.labels, None);
    tape.backward(loss);
    Ok(case.compare_single(Got::Map(vec![
        ("readout", rows(&tape, readout)),
        ("logits", rows(&tape, logits)),
        ("loss", tape.scalar(loss).into()),
        ("grad_params", gradients(&tape, &named)),
    ])))
}
