//! Graph layers: outputs and all gradients, those by the weights of arcs among them.

use folkmoot_checks::golden::{
    Arcs, Case, Form, Got, Mismatch, Named, Nothing, Weights, gradient_rows, gradients, model, numbers, row_major,
    rows, variable, weighed,
};
use folkmoot_learning::layers::{Gat, Gcn, Gin, GraphConv, Heads, Mode, Sage, Tag, light_gcn};
use folkmoot_learning::{Adjacency, Csr, DegreeRule, Layout, Tape, Var};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    graph: Arcs,
    x: Vec<Vec<f32>>,
    cotangent: Vec<Vec<f32>>,
    #[serde(default)]
    weights: Weights,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlyGraph {
    graph: Arcs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dense {
    adjacency: Vec<Vec<f32>>,
    x: Vec<Vec<f32>>,
    cotangent: Vec<Vec<f32>>,
    weights: Weights,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Loops {
    self_loops: bool,
    bias: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    degree_rule: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hops {
    #[serde(rename = "K")]
    n_hops: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Depth {
    #[serde(rename = "L")]
    n_layers: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attention {
    heads: usize,
    concat: bool,
    negative_slope: f32,
}

/// What a layer wants to be done to the arcs before it.
#[derive(Clone, Copy, PartialEq)]
enum Arranged {
    AsTheyAre,
    Normalised,
    LoopsNormalised,
    Loops,
    Means,
}

impl Layer {
    fn n_in(&self) -> usize {
        self.x.first().map_or(0, Vec::len)
    }

    fn n_out(&self) -> usize {
        self.cotangent.first().map_or(0, Vec::len)
    }

    /// Runs a layer and compares. Weights of arcs are on the tape if there are any, and fixed
    /// otherwise.
    fn run(
        &self,
        case: &Case,
        layout: &Layout,
        named: Option<&[Named]>,
        arranged: Arranged,
        forward: impl for<'g> Fn(&mut Tape<'g>, Adjacency<'g>, Var) -> Var,
    ) -> Result<Vec<Mismatch>, String> {
        let mut csr = self.graph.csr()?;
        if matches!(arranged, Arranged::LoopsNormalised | Arranged::Loops) {
            csr = csr.with_self_loops();
        }
        let normalised = matches!(arranged, Arranged::Normalised | Arranged::LoopsNormalised);
        let fixed = match arranged {
            Arranged::Means => csr.row_means(),
            _ if normalised => csr.normalised(DegreeRule::Masked),
            _ => csr.clone(),
        };
        let mut tape = Tape::new();
        tape.load(layout, &model(layout, named.unwrap_or_default(), &self.weights)?);
        let x = variable(&mut tape, &self.x)?;
        let on_tape = self.graph.edge_weight.is_some();
        let weights = tape.variable(csr.n_entries(), 1, csr.weights());
        let adjacency = match on_tape {
            true if normalised => Adjacency::Weighted(&csr, tape.normalise_arcs(&csr, weights, DegreeRule::Masked)),
            true => Adjacency::Weighted(&csr, weights),
            false => Adjacency::Sparse(&fixed),
        };
        let output = forward(&mut tape, adjacency, x);
        let loss = weighed(&mut tape, output, &self.cotangent)?;
        tape.backward(loss);
        let mut got = vec![
            ("output", rows(&tape, output)),
            ("loss", tape.scalar(loss).into()),
            ("grad_x", gradient_rows(&tape, x)),
        ];
        if let Some(named) = named {
            got.push(("grad_params", gradients(&tape, named)));
            if on_tape {
                got.push(("grad_edge_weight", self.graph.values(&csr, tape.gradient(weights))?));
            }
        }
        Ok(case.compare_single(Got::Map(got)))
    }
}

pub(super) fn gcn(case: &Case) -> Result<Vec<Mismatch>, String> {
    match case.op.as_str() {
        "gcn" | "gcn_no_self_loops" => {
            let (Loops { self_loops, bias }, inputs): (_, Layer) = (case.params()?, case.inputs()?);
            let mut layout = Layout::new();
            let gcn = match bias {
                Some(true) => Gcn::new(&mut layout, "gcn", inputs.n_in(), inputs.n_out()),
                _ => Gcn::without_bias(&mut layout, "gcn", inputs.n_in(), inputs.n_out()),
            };
            let mut named = vec![("lin.weight", gcn.weight, Form::Turned)];
            named.extend(gcn.bias.map(|bias| ("bias", bias, Form::Flat)));
            let arranged = if self_loops {
                Arranged::LoopsNormalised
            } else {
                Arranged::Normalised
            };
            inputs.run(case, &layout, Some(&named), arranged, |tape, a, x| {
                gcn.forward(tape, a, x)
            })
        }
        "gcn_norm_matrix" => {
            let (Loops { self_loops, .. }, OnlyGraph { graph }) = (case.params()?, case.inputs()?);
            let csr = if self_loops {
                graph.csr()?.with_self_loops()
            } else {
                graph.csr()?
            };
            let normalised = csr.normalised(DegreeRule::Masked);
            let entry = |t: u32, s: u32| -> f32 {
                let range = normalised.range(t as usize);
                let row = normalised.columns()[range.clone()]
                    .iter()
                    .zip(&normalised.weights()[range]);
                row.filter(|entry| *entry.0 == s).map(|entry| *entry.1).sum()
            };
            let matrix = Got::square(csr.n_rows(), entry);
            Ok(case.compare_single(Got::Map(vec![("matrix", matrix)])))
        }
        "gcn_dense_noisy" => dense_noisy(case),
        _ => Err(case.unknown_op()),
    }
}

fn dense_noisy(case: &Case) -> Result<Vec<Mismatch>, String> {
    let (Rule { degree_rule }, inputs): (_, Dense) = (case.params()?, case.inputs()?);
    let rule = match degree_rule.as_str() {
        "masked" => DegreeRule::Masked,
        "abs" => DegreeRule::Abs,
        other => return Err(format!("degree_rule: unknown: {other:?}")),
    };
    let (data, n) = row_major(&inputs.adjacency)?;
    let (n_in, n_out) = (
        inputs.x.first().map_or(0, Vec::len),
        inputs.cotangent.first().map_or(0, Vec::len),
    );
    let mut layout = Layout::new();
    let gcn = Gcn::without_bias(&mut layout, "gcn", n_in, n_out);
    // This file writes the weight as it is stored.
    let weight = numbers(inputs.weights.get("W").ok_or("weights: W is missing")?)?;
    if inputs.weights.len() != 1 || weight.len() != layout.len() {
        return Err("weights: must be W, of shape (n_in, n_out), alone".into());
    }
    let mut tape = Tape::new();
    tape.load(&layout, &weight);
    let x = variable(&mut tape, &inputs.x)?;
    let a = tape.constant(n, n, &data);
    let s = tape.normalise_dense(a, None, true, rule);
    let output = gcn.forward(&mut tape, Adjacency::Dense(s), x);
    let loss = weighed(&mut tape, output, &inputs.cotangent)?;
    tape.backward(loss);
    let degrees = tape.degrees(s).to_vec();
    Ok(case.compare_single(Got::Map(vec![
        (
            "non_positive_degrees",
            degrees.iter().filter(|degree| **degree <= 0.0).count().into(),
        ),
        ("degree", degrees.into()),
        ("output", rows(&tape, output)),
        ("loss", tape.scalar(loss).into()),
        ("grad_x", gradient_rows(&tape, x)),
        ("grad_W", Got::rows(tape.gradient(gcn.weight.var()), n_out)),
    ])))
}

pub(super) fn gin(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "gin" {
        return Err(case.unknown_op());
    }
    let inputs: Layer = case.only_inputs()?;
    let bias = inputs.weights.get("nn.0.bias").ok_or("weights: nn.0.bias is missing")?;
    let n_hidden = numbers(bias)?.len();
    let mut layout = Layout::new();
    let gin = Gin::new(&mut layout, "gin", inputs.n_in(), n_hidden, inputs.n_out()).with_epsilon(&mut layout, "gin");
    let named = [
        ("eps", gin.epsilon.ok_or("there is an epsilon")?, Form::Flat),
        ("nn.0.weight", gin.first.weight, Form::Turned),
        ("nn.0.bias", gin.first.bias.ok_or("there is a bias")?, Form::Flat),
        ("nn.2.weight", gin.second.weight, Form::Turned),
        ("nn.2.bias", gin.second.bias.ok_or("there is a bias")?, Form::Flat),
    ];
    inputs.run(case, &layout, Some(&named), Arranged::AsTheyAre, |tape, a, x| {
        gin.forward(tape, a, x, Mode::Train)
    })
}

pub(super) fn graph_conv(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "graphconv" {
        return Err(case.unknown_op());
    }
    let inputs: Layer = case.only_inputs()?;
    let mut layout = Layout::new();
    let conv = GraphConv::new(&mut layout, "conv", inputs.n_in(), inputs.n_out());
    let named = [
        ("lin_rel.weight", conv.relation.weight, Form::Turned),
        ("lin_rel.bias", conv.relation.bias.ok_or("there is a bias")?, Form::Flat),
        ("lin_root.weight", conv.root.weight, Form::Turned),
    ];
    inputs.run(case, &layout, Some(&named), Arranged::AsTheyAre, |tape, a, x| {
        conv.forward(tape, a, x)
    })
}

pub(super) fn tag(case: &Case) -> Result<Vec<Mismatch>, String> {
    const NAMES: [&str; 4] = ["lins.0.weight", "lins.1.weight", "lins.2.weight", "lins.3.weight"];
    if case.op != "tag" {
        return Err(case.unknown_op());
    }
    let (Hops { n_hops }, inputs): (_, Layer) = (case.params()?, case.inputs()?);
    if n_hops >= NAMES.len() {
        return Err(format!("K: must be at most 3, got {n_hops}"));
    }
    let mut layout = Layout::new();
    let tag = Tag::new(&mut layout, "tag", inputs.n_in(), inputs.n_out(), n_hops);
    let mut named: Vec<Named> = NAMES
        .iter()
        .zip(&tag.weights)
        .map(|(name, w)| (*name, *w, Form::Turned))
        .collect();
    named.push(("bias", tag.bias, Form::Flat));
    inputs.run(case, &layout, Some(&named), Arranged::Normalised, |tape, a, x| {
        tag.forward(tape, a, x)
    })
}

pub(super) fn light(case: &Case) -> Result<Vec<Mismatch>, String> {
    let inputs: Layer = case.inputs()?;
    let layout = Layout::new();
    match case.op.as_str() {
        "lgconv" => {
            case.params::<Nothing>()?;
            inputs.run(case, &layout, Some(&[]), Arranged::Normalised, |tape, a, x| {
                tape.propagate(a, x)
            })
        }
        "lightgcn" => {
            let Depth { n_layers } = case.params()?;
            inputs.run(case, &layout, None, Arranged::Normalised, |tape, a, x| {
                light_gcn(tape, a, x, n_layers)
            })
        }
        _ => Err(case.unknown_op()),
    }
}

pub(super) fn sage(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "sage_mean" {
        return Err(case.unknown_op());
    }
    let inputs: Layer = case.only_inputs()?;
    let mut layout = Layout::new();
    let sage = Sage::new(&mut layout, "sage", inputs.n_in(), inputs.n_out());
    let named = [
        ("lin_l.weight", sage.neighbours.weight, Form::Turned),
        ("lin_l.bias", sage.neighbours.bias.ok_or("there is a bias")?, Form::Flat),
        ("lin_r.weight", sage.own.weight, Form::Turned),
    ];
    inputs.run(case, &layout, Some(&named), Arranged::Means, |tape, a, x| {
        sage.forward(tape, a, x)
    })
}

pub(super) fn gat(case: &Case) -> Result<Vec<Mismatch>, String> {
    if !matches!(case.op.as_str(), "gat_concat" | "gat_mean") {
        return Err(case.unknown_op());
    }
    let (params, inputs): (Attention, Layer) = (case.params()?, case.inputs()?);
    if params.concat != (case.op == "gat_concat") || params.heads == 0 {
        return Err("concat: must be as the op says, with a head or more".into());
    }
    let (heads, n_out) = match params.concat {
        true => (Heads::Concat, inputs.n_out() / params.heads),
        false => (Heads::Mean, inputs.n_out()),
    };
    let mut layout = Layout::new();
    let mut gat = Gat::new(&mut layout, "gat", inputs.n_in(), n_out, params.heads, heads);
    gat.negative_slope = params.negative_slope;
    let named = [
        ("lin.weight", gat.weight, Form::Turned),
        ("att_src", gat.source, Form::Nested),
        ("att_dst", gat.target, Form::Nested),
        ("bias", gat.bias, Form::Flat),
    ];
    inputs.run(case, &layout, Some(&named), Arranged::Loops, |tape, a, x| match a {
        Adjacency::Sparse(csr) => gat.forward(tape, csr, x),
        _ => unreachable!("no case of this topic has weights"),
    })
}

/// The propagation of GCN, for the models.
pub(super) fn gcn_matrix(graph: &Arcs) -> Result<Csr, String> {
    Ok(graph.csr()?.with_self_loops().normalised(DegreeRule::Masked))
}
