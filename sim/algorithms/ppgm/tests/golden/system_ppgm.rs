//! One pair through PPGM: what devices keep and send, the score, its loss and all gradients.

use folkmoot_checks::golden::{
    Case, Form as Written, Got, Mismatch, Named, Weights, gradient_rows, gradients, model, numbers, row_major, rows,
    text,
};
use folkmoot_learning::{Csr, DegreeRule, Tape, Var};
use folkmoot_ppgm::matcher::{Ablation, Codes, Input, Matcher};
use folkmoot_ppgm::options::{Form, Size};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    d: u32,
    heads: u32,
    m: u32,
    layers: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Graph {
    num_nodes: u32,
    edges: Vec<(u32, u32)>,
    x: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    graph1: Graph,
    graph2: Graph,
    context: Vec<Vec<f32>>,
    y: f32,
    weights: Weights,
}

/// The names of our parameters and of the file's; those of the joint projections come in three
/// parts.
const CONVS: [[&str; 4]; 2] = [
    ["convs.0.weight", "convs.0.lin.weight", "convs.0.bias", "convs.0.bias"],
    ["convs.1.weight", "convs.1.lin.weight", "convs.1.bias", "convs.1.bias"],
];
const ATTENTIONS: [[&str; 16]; 2] = [
    [
        "messages.query.weight",
        "g.query.weight",
        "messages.query.bias",
        "g.query.bias",
        "messages.key.weight",
        "g.key.weight",
        "messages.key.bias",
        "g.key.bias",
        "messages.value.weight",
        "g.value.weight",
        "messages.value.bias",
        "g.value.bias",
        "messages.output.weight",
        "attn_message.out_proj.weight",
        "messages.output.bias",
        "attn_message.out_proj.bias",
    ],
    [
        "matches.query.weight",
        "p.query.weight",
        "matches.query.bias",
        "p.query.bias",
        "matches.key.weight",
        "p.key.weight",
        "matches.key.bias",
        "p.key.bias",
        "matches.value.weight",
        "p.value.weight",
        "matches.value.bias",
        "p.value.bias",
        "matches.output.weight",
        "attn_match.out_proj.weight",
        "matches.output.bias",
        "attn_match.out_proj.bias",
    ],
];
const LSTM: [&str; 8] = [
    "lstm.weight_ih",
    "lstm.weight_ih_l0",
    "lstm.weight_hh",
    "lstm.weight_hh_l0",
    "lstm.bias_ih",
    "lstm.bias_ih_l0",
    "lstm.bias_hh",
    "lstm.bias_hh_l0",
];

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "ppgm_pair" {
        return Err(case.unknown_op());
    }
    let (params, mut inputs): (Params, Inputs) = (case.params()?, case.inputs()?);
    let size = Size {
        hidden: params.d,
        layers: params.layers,
        codes: params.m,
        heads: params.heads,
    };
    let n_features = inputs.graph1.x.first().map_or(0, Vec::len);
    let ppgm = Codes::new(&size, &Form::default(), Ablation::None, n_features);
    let layout = ppgm.layout();
    let convs = CONVS
        .get(..params.layers as usize)
        .ok_or("there are at most two layers")?;
    let names = convs
        .as_flattened()
        .iter()
        .chain(ATTENTIONS.as_flattened())
        .chain(&LSTM);
    let names: Vec<&str> = ["codes", "codes"].iter().chain(names).copied().collect();
    let (names, _) = names.as_chunks::<2>();
    let named: Vec<Named> = names
        .iter()
        .map(|[ours, theirs]| {
            let slot = layout
                .find(ours)
                .ok_or_else(|| format!("there is no parameter {ours}"))?;
            let form = match *ours == "codes" || slot.rows == 1 && ours.contains("bias") {
                true => Written::Flat,
                false => Written::Turned,
            };
            Ok((*theirs, slot.parameter, form))
        })
        .collect::<Result<_, String>>()?;
    for (joint, part) in [("attn_message", "g"), ("attn_match", "p")] {
        for kind in ["weight", "bias"] {
            let name = format!("{joint}.in_proj_{kind}");
            let data = inputs
                .weights
                .remove(&name)
                .ok_or_else(|| format!("weights: {name} is missing"))?;
            let data = numbers(&data)?;
            for (which, rows) in ["query", "key", "value"].iter().zip(data.chunks(data.len() / 3)) {
                inputs
                    .weights
                    .insert(format!("{part}.{which}.{kind}"), serde_json::json!(rows));
            }
        }
    }
    inputs
        .weights
        .insert("codes".to_owned(), serde_json::json!(inputs.context));
    let graphs = [read(&inputs.graph1)?, read(&inputs.graph2)?];
    let target = [inputs.y];

    let mut tape = Tape::new();
    tape.load(layout, &model(layout, &named, &inputs.weights)?);
    let graphs = graphs.each_ref();
    let begun = ppgm.begin(&mut tape, &graphs, None);
    let sent: Vec<Var> = begun.iter().map(|side| side.sent.unwrap_or(side.state)).collect();
    let others = [sent[1], sent[0]];
    let theirs = tape.concat_rows(&others);
    let matched = ppgm.matched(&mut tape, &begun, theirs, None);
    let matched = [0, params.m as usize].map(|from| tape.slice_rows(matched, from, params.m as usize));
    let met = ppgm.meet(&mut tape, 0, &graphs, &begun, &others, None);
    let met = [met[0].state, met[1].state];
    let cosine = ppgm.score(&mut tape, met[0], met[1]);
    let loss = tape.mean_squared_error(cosine, &target, None);
    tape.backward(loss);

    let joint = |joint: &str, kind: &str| -> Result<Got, String> {
        let mut all = Vec::new();
        for which in ["query", "key", "value"] {
            let name = format!("{joint}.{which}.{kind}");
            let own: Vec<Named> = named.iter().filter(|entry| entry.0 == name).copied().collect();
            match gradients(&tape, &own) {
                Got::Map(mut fields) if fields.len() == 1 => match fields.remove(0).1 {
                    Got::List(values) => all.extend(values),
                    _ => return Err(format!("{name} is no list")),
                },
                _ => return Err(format!("{name} is not one parameter")),
            }
        }
        Ok(Got::List(all))
    };
    let mut grad_params = vec![
        ("attn_message.in_proj_weight", joint("g", "weight")?),
        ("attn_message.in_proj_bias", joint("g", "bias")?),
        ("attn_match.in_proj_weight", joint("p", "weight")?),
        ("attn_match.in_proj_bias", joint("p", "bias")?),
    ];
    let own: Vec<Named> = named
        .iter()
        .filter(|entry| entry.0 != "codes" && !entry.0.starts_with("g.") && !entry.0.starts_with("p."))
        .copied()
        .collect();
    if let Got::Map(fields) = gradients(&tape, &own) {
        grad_params.extend(fields);
    }
    let codes = named[0].1.var();
    let flat = |var: Var| Got::from(tape.value(var).to_vec());
    Ok(case.compare_single(Got::Map(vec![
        ("H1", rows(&tape, begun[0].state)),
        ("H2", rows(&tape, begun[1].state)),
        ("g1", rows(&tape, sent[0])),
        ("g2", rows(&tape, sent[1])),
        ("p1", rows(&tape, matched[0])),
        ("p2", rows(&tape, matched[1])),
        ("o1", flat(met[0])),
        ("o2", flat(met[1])),
        ("cosine", tape.scalar(cosine).into()),
        ("loss", tape.scalar(loss).into()),
        ("grad_context", gradient_rows(&tape, codes)),
        ("grad_params", Got::Map(grad_params)),
    ])))
}

fn read(graph: &Graph) -> Result<Input, String> {
    let csr = Csr::from_arcs(graph.num_nodes, &graph.edges, None).map_err(text)?;
    let csr = csr.with_self_loops().normalised(DegreeRule::Masked);
    Ok(Input::from_csr(csr, row_major(&graph.x)?.0))
}
