//! The networks that a client makes for its own graph, and their training.

use super::likeness::{alike, homophily, softmax, weighed};
use super::relations::Relations;
use super::{Branch, Personal};
use folkmoot_classifiers::classifier::{Nodes, Part};
use folkmoot_draws::SimRng;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Batch, Decay, Init, Layout, Moments, Optimiser, Parameter, Tape, Var};

/// The slope of a rectifier below 0 before it learns.
const SLOPE: f32 = 0.25;

/// Linear layers with a rectifier behind each but the last, whose slope learns.
struct Perceptron {
    passed: Passed,
    layers: Vec<Linear>,
    slope: Parameter,
}

/// A linear layer on `X, Â X, Â² X, …` side by side that makes none of them but `X`:
/// `X W_0 + Â (X W_1 + Â (X W_2 + …))`, by which few features that are not 0 stay few.
pub(super) struct Passed(Vec<Linear>);

impl Passed {
    /// One that looks at features that were passed along up to `steps` times; without any it is a
    /// layer like any other.
    pub(super) fn new(layout: &mut Layout, name: &str, steps: u32, n_in: usize, n_out: usize) -> Passed {
        let start = glorot((steps as usize + 1) * n_in, n_out);
        let mut blocks: Vec<Linear> = (0..=steps)
            .map(|step| Linear {
                weight: layout.weight(format!("{name}0.weight{step}"), n_in, n_out, start),
                bias: None,
            })
            .collect();
        blocks[0].bias = Some(layout.weight(format!("{name}0.bias"), 1, n_out, Init::Zeros));
        Passed(blocks)
    }

    pub(super) fn forward<'g>(&self, tape: &mut Tape<'g>, features: Var, weighed: &'g Batch) -> Var {
        let (last, others) = self.0.split_last().expect("features are looked at as they are");
        let so_far = last.forward(tape, features);
        others.iter().rev().fold(so_far, |so_far, layer| {
            let passed = tape.propagate(weighed.adjacency(), so_far);
            let own = layer.forward(tape, features);
            tape.add(passed, own)
        })
    }
}

/// Glorot's start for rectifiers.
fn glorot(n_in: usize, n_out: usize) -> Init {
    Init::Uniform((12.0 / (n_in + n_out) as f32).sqrt())
}

impl Perceptron {
    /// `widths` are those of features, of what is hidden, and of the answer.
    fn new(layout: &mut Layout, name: &str, slope: Parameter, steps: u32, widths: &[usize]) -> Perceptron {
        let passed = Passed::new(layout, name, steps, widths[0], widths[1]);
        let layer = |(i, pair): (usize, &[usize])| Linear {
            weight: layout.weight(format!("{name}{i}.weight"), pair[0], pair[1], glorot(pair[0], pair[1])),
            bias: Some(layout.weight(format!("{name}{i}.bias"), 1, pair[1], Init::Zeros)),
        };
        Perceptron {
            passed,
            layers: (1..).zip(widths[1..].windows(2)).map(layer).collect(),
            slope,
        }
    }

    fn forward<'g>(
        &self,
        tape: &mut Tape<'g>,
        features: Var,
        weighed: &'g Batch,
        drops: &mut Option<(f32, &mut SimRng)>,
    ) -> Var {
        let first = self.passed.forward(tape, features, weighed);
        self.layers.iter().fold(first, |rows, layer| {
            let rows = rectified(tape, rows, self.slope);
            let rows = match drops {
                Some((drop_prob, rng)) => tape.dropout(rows, *drop_prob, rng),
                None => rows,
            };
            layer.forward(tape, rows)
        })
    }
}

/// `max(x, 0) + slope · min(x, 0)`.
fn rectified(tape: &mut Tape<'_>, x: Var, slope: Parameter) -> Var {
    let above = tape.relu(x);
    let below = tape.subtract(x, above);
    let rest = tape.subtract(above, below);
    tape.add_rescaled(rest, slope.var(), below)
}

/// What a client's nodes are classified by, beside the common model.
struct Own {
    layout: Layout,
    like: Option<Perceptron>,
    unlike: Option<Unlike>,
    n_classes: usize,
}

/// The network for nodes that are unlike their neighbours.
struct Unlike {
    on_features: Perceptron,
    on_passed: Perceptron,
    told: Perceptron,
}

/// What a pass looks at.
#[derive(Clone, Copy)]
struct Sight<'g> {
    /// Features, and what they are passed along.
    weighed: &'g Batch,
    relations: &'g Relations,
}

impl Own {
    fn new(n_features: usize, n_classes: usize, personal: &Personal, parts: [bool; 2]) -> Own {
        let mut layout = Layout::new();
        let hidden = personal.hidden as usize;
        let steps = personal.steps;
        let slope = |layout: &mut Layout, name: &str| layout.weight(name, 1, 1, Init::Constant(SLOPE));
        let [has_like, has_unlike] = parts;
        let like = has_like.then(|| {
            let slope = slope(&mut layout, "like.slope");
            Perceptron::new(&mut layout, "like", slope, steps, &[n_features, hidden, n_classes])
        });
        let unlike = has_unlike.then(|| {
            let [own, told] = ["unlike.slope", "told.slope"].map(|name| slope(&mut layout, name));
            let widths = [n_features, hidden, hidden, n_classes];
            let mut three = |name: &str, slope, steps| Perceptron::new(&mut layout, name, slope, steps, &widths);
            Unlike {
                on_passed: three("passed", own, steps),
                on_features: three("features", own, 0),
                told: three("told", told, steps),
            }
        });
        Own {
            layout,
            like,
            unlike,
            n_classes,
        }
    }

    /// Logits for all nodes: of the network for nodes like their neighbours, if there is one, then
    /// the three of the other.
    fn logits<'g>(
        &self,
        tape: &mut Tape<'g>,
        sight: Sight<'g>,
        mut drops: Option<(f32, &mut SimRng)>,
    ) -> (Option<Var>, Option<[Var; 3]>) {
        let features = sight.weighed.features(tape);
        let mut of =
            |network: &Perceptron, tape: &mut Tape<'g>| network.forward(tape, features, sight.weighed, &mut drops);
        let like = self.like.as_ref().map(|network| of(network, tape));
        let unlike = self.unlike.as_ref().map(|network| {
            let on_passed = of(&network.on_passed, tape);
            let on_features = of(&network.on_features, tape);
            let rows = of(&network.told, tape);
            [on_features, on_passed, self.told(tape, rows, sight, network.told.slope)]
        });
        (like, unlike)
    }

    /// `(softmax(R⁺ Z) − softmax(R⁻ Z) + Z) / 2`.
    fn told<'g>(&self, tape: &mut Tape<'g>, rows: Var, sight: Sight<'g>, slope: Parameter) -> Var {
        let (n, c) = (sight.relations.alike.n_rows(), self.n_classes);
        let both = tape.custom(sight.relations, &[rows], n, 2 * c);
        let [above, below] = [0, c].map(|from| tape.slice_columns(both, from, c));
        // A rectifier of R is `above + slope · below`; one of −R turns both round.
        let mut signal = |own: Var, other: Var, sign: f32| {
            let rest = tape.subtract(own, other);
            let sum = tape.add_rescaled(rest, slope.var(), other);
            let sum = tape.scale(sign, sum);
            tape.softmax(sum, None)
        };
        let (like, unlike) = (signal(above, below, 1.0), signal(below, above, -1.0));
        let apart = tape.subtract(like, unlike);
        let sum = tape.add(apart, rows);
        tape.scale(0.5, sum)
    }
}

/// What a client's second step has come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Second {
    /// How likely each class of each node is: shape `(n_nodes, n_classes)`.
    pub(super) shares: Vec<f32>,
    /// The share of hidden labels that are told rightly by those about them.
    pub(super) homophily: f64,
    /// Arcs between nodes that are alike.
    pub(super) n_alike: usize,
}

/// A client's second step, from the logits that the common model has for its nodes.
pub(super) fn second(
    nodes: &Nodes<'_>,
    features: &[f32],
    logits: &[f32],
    personal: &Personal,
    rng: &mut SimRng,
) -> Second {
    let n = nodes.labels.len();
    let n_classes = logits.len() / n;
    let common = softmax(logits, n_classes);
    let homophily = homophily(nodes, n_classes, rng);
    let alike = alike(&common, n, personal.alike);
    let n_alike = alike.n_entries();
    let mut weighed_batch = Batch::new(features.len() / n);
    weighed_batch.push(&weighed(nodes, &alike, personal.alpha), features);
    weighed_batch.keep_nonzeros();
    let (parts, weight_of_like) = match personal.branch {
        Branch::Chosen { at } if homophily >= at => ([true, false], 1.0),
        Branch::Chosen { .. } => ([false, true], 0.0),
        Branch::Mixed => ([true, true], homophily as f32),
    };
    let own = Own::new(features.len() / n, n_classes, personal, parts);
    let relations = Relations {
        alike,
        beta: personal.beta as f32,
        n_classes,
    };
    let sight = Sight {
        weighed: &weighed_batch,
        relations: &relations,
    };
    let parameters = own.trained(nodes, sight, &common, personal, rng);
    let again = softmax(&common, n_classes);
    let shares = Tape::with_own(|tape| {
        tape.load(&own.layout, &parameters);
        let (like, unlike) = own.logits(tape, sight, None);
        let mut shares = vec![0.0; common.len()];
        let mut add = |logits: &[f32], weight: f32| {
            let answer = softmax(logits, n_classes);
            shares.iter_mut().zip(&answer).for_each(|(to, x)| *to += weight * x);
        };
        if let Some(like) = like {
            add(tape.value(like), 0.5 * weight_of_like);
        }
        for logits in unlike.into_iter().flatten() {
            add(tape.value(logits), (1.0 - weight_of_like) / 3.0);
        }
        if like.is_some() {
            shares
                .iter_mut()
                .zip(&again)
                .for_each(|(to, x)| *to += 0.5 * weight_of_like * x);
        }
        shares
    });
    Second {
        shares,
        homophily,
        n_alike,
    }
}

impl Own {
    /// The networks after training, from a start that `rng` draws.
    fn trained(
        &self,
        nodes: &Nodes<'_>,
        sight: Sight<'_>,
        common: &[f32],
        personal: &Personal,
        rng: &mut SimRng,
    ) -> Vec<f32> {
        let start = self.layout.initialise(rng);
        let trained = nodes.are_in(Part::Train);
        let optimiser = Optimiser::Adam(Adam {
            learning_rate: personal.learning_rate as f32,
            decay: Decay::L2(personal.weight_decay as f32),
            ..Adam::default()
        });
        let mut moments = Moments::new();
        Tape::with_own(|tape| {
            tape.load(&self.layout, &start);
            for _ in 0..personal.epochs {
                tape.reset();
                let (like, unlike) = self.logits(tape, sight, Some((personal.dropout as f32, &mut *rng)));
                let mut losses = Vec::new();
                if let Some(like) = like {
                    losses.push(tape.cross_entropy(like, nodes.labels, Some(trained)));
                    losses.push(tape.mean_squared_error(like, common, None));
                }
                for logits in unlike.into_iter().flatten() {
                    losses.push(tape.cross_entropy(logits, nodes.labels, Some(trained)));
                }
                let loss = losses.into_iter().reduce(|sum, loss| tape.add(sum, loss));
                tape.backward(loss.expect("there is a network"));
                let (parameters, gradient) = tape.parameters_mut();
                optimiser.step(&mut moments, parameters, gradient);
            }
            tape.parameters().to_vec()
        })
    }
}
