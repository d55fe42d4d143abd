//! EGSC's networks: vectors, scores and gradients of pairs, and steps of training with and without
//! a teacher.

use folkmoot_checks::golden::{Case, Got, Mismatch, Nothing};
use folkmoot_draws::Streams;
use folkmoot_graphs::Pair;
use folkmoot_learning::{Csr, Tape};
use folkmoot_ppgm::distillation::Teacher;
use folkmoot_ppgm::matcher::{Egsc, Input, Matcher, Role};
use folkmoot_ppgm::options::{Distillation, Egsc as Sizes, Form, Sends, Training};
use folkmoot_ppgm::train::Trainer;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    teaches: bool,
    distillation: Option<Distillation>,
    #[serde(default)]
    rec_head: bool,
}

const WIDTHS: [u32; 3] = [8, 4, 4];

/// Nodes, edges and labels, as the script has them.
type Written = (u32, &'static [(u32, u32)], &'static [usize]);

const GRAPHS: [Written; 4] = [
    (3, &[(0, 1), (1, 2)], &[0, 1, 2]),
    (4, &[(0, 1), (1, 2), (0, 2), (2, 3)], &[0, 1, 1, 2]),
    (4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[2, 2, 0, 1]),
    (5, &[(0, 1), (0, 2), (0, 3), (3, 4)], &[1, 0, 0, 2, 0]),
];

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let (params, _): (Params, Nothing) = (case.params()?, case.inputs()?);
    let graphs: Vec<Input> = GRAPHS.iter().map(graph).collect();
    let got = match (case.op.as_str(), params.distillation) {
        ("pairs", None) => pairs(&network(params.teaches, false), &graphs),
        ("training", Some(distillation)) => training(&network(params.teaches, params.rec_head), &graphs, distillation),
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare_single(got))
}

fn graph((n, edges, labels): &Written) -> Input {
    let arcs = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]);
    let csr = Csr::from_arcs(*n, &arcs.collect::<Vec<_>>(), None).expect("the edges are those of the graph");
    let mut features = vec![0.0; 3 * labels.len()];
    for (node, label) in labels.iter().enumerate() {
        features[3 * node + label] = 1.0;
    }
    Input::from_csr(csr, features)
}

fn network(teaches: bool, rec_head: bool) -> Egsc {
    let [first, second, third] = WIDTHS;
    let form = Form {
        egsc: Sizes {
            first,
            second,
            third,
            bottleneck: 4,
            rec_head,
            ..Sizes::default()
        },
        ..Form::default()
    };
    let role = if teaches {
        Role::Teacher(Sends::Graph)
    } else {
        Role::Student
    };
    Egsc::new(&form, role, 3)
}

/// The script's weights: all but those of batch norm and the epsilons are drawn in the order in
/// which they were created.
fn weights(network: &Egsc) -> Vec<f32> {
    let (layout, mut k) = (network.layout(), 0);
    let mut model = vec![0.0; layout.len()];
    for slot in layout.slots() {
        let to = &mut model[layout.range(slot.parameter)];
        if slot.name.ends_with("norm.weight") || slot.name.ends_with("running_var") {
            to.fill(1.0);
        } else if slot.name.contains(".nn.") || !slot.name.starts_with("levels.") {
            for x in to {
                k += 1;
                *x = (0.6 * libm::sin(2.3 * f64::from(k))) as f32;
            }
        }
    }
    model
}

/// Of each matrix, by its name, the sum of sizes, and the sum weighed by the sine of the place.
fn marks(network: &Egsc, values: &[f32]) -> Got {
    let layout = network.layout();
    let mut slots: Vec<_> = layout.slots().iter().collect();
    slots.sort_by_key(|slot| &slot.name);
    let inside = slots
        .iter()
        .map(|slot| layout.range(slot.parameter))
        .filter(|range| range.end <= values.len());
    let marks = inside.map(|range| {
        let of = values[range]
            .iter()
            .zip(1..)
            .map(|(x, k)| (f64::from(*x), libm::sin(f64::from(k))));
        let (size, weighed) = of.fold((0.0, 0.0), |sum, (x, sine)| (sum.0 + x.abs(), sum.1 + x * sine));
        Got::from(vec![size, weighed])
    });
    Got::List(marks.collect())
}

fn pairs(network: &Egsc, graphs: &[Input]) -> Got {
    let mut tape = Tape::new();
    tape.load(network.layout(), &weights(network));
    let sides = network.begin(&mut tape, &[&graphs[0], &graphs[1]], None);
    let states = [sides[0].state, sides[1].state];
    // A teacher's vectors are those of the first level first, a student's of the last.
    let teaches = network.layout().find("fusions.0.wide.weight").is_some();
    let lengths = states.map(|state| {
        let (mut rest, mut lengths) = (tape.value(state), Vec::new());
        let widths = if teaches {
            WIDTHS
        } else {
            [WIDTHS[2], WIDTHS[1], WIDTHS[0]]
        };
        for width in widths {
            let (level, others) = rest.split_at(width as usize);
            lengths.push(level.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt());
            rest = others;
        }
        if !teaches {
            lengths.reverse();
        }
        Got::from(lengths)
    });
    let (mut joints, mut scores) = (Vec::new(), Vec::new());
    for (name, [a, b]) in [("AB", [0, 1]), ("BA", [1, 0]), ("AA", [0, 0]), ("BB", [1, 1])] {
        let joint = network
            .joint(&mut tape, states[a], states[b])
            .expect("EGSC has joint vectors");
        joints.push((name, Got::from(tape.value(joint).to_vec())));
        let score = network.score(&mut tape, states[a], states[b]);
        scores.push((name, tape.scalar(score).into()));
    }
    let score = network.score(&mut tape, states[0], states[1]);
    let loss = tape.mean_squared_error(score, &[0.9], None);
    tape.backward(loss);
    Got::Map(vec![
        ("lengths", Got::List(lengths.into())),
        ("joint", Got::Map(joints)),
        ("score", Got::Map(scores)),
        ("gradient", marks(network, tape.parameters_mut().1)),
    ])
}

fn training(network: &Egsc, graphs: &[Input], distillation: Distillation) -> Got {
    let pair = |first, second, matches| Pair { first, second, matches };
    let pairs = [pair(0, 1, true), pair(2, 3, false), pair(0, 2, false), pair(1, 3, true)];
    let teaching = self::network(true, false);
    let shown = weights(&teaching);
    let teacher = (distillation != Distillation::None).then(|| Teacher::new(&teaching, &shown, graphs, distillation));
    let settings = Training {
        batch_pairs: 4,
        learning_rate: 0.01,
        weight_decay: 0.02,
        ..Training::default()
    };
    let mut trainer =
        Trainer::new(network, Form::default(), &settings, weights(network), Streams::new(1)).taught_by(teacher);
    let errors: Vec<f64> = (0..3).map(|_| trainer.step(graphs, &pairs)).collect();
    Got::Map(vec![
        ("errors", errors.into()),
        ("parameters", marks(network, trainer.parameters())),
    ])
}
