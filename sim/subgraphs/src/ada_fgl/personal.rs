//! The networks that a client makes for its own graph, and their training.

use super::likeness::{alike, homophily, passed, softmax};
use super::relations::Relations;
use super::{Branch, Personal};
use folkmoot_draws::SimRng;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Decay, Init, Layout, Moments, Optimiser, Parameter, Tape, Var};
use folkmoot_strategies::classifier::{Nodes, Part};

/// The slope of a rectifier below 0 before it learns.
const SLOPE: f32 = 0.25;

/// Linear layers with a rectifier behind each but the last, whose slope learns.
struct Perceptron {
    layers: Vec<Linear>,
    slope: Parameter,
}

impl Perceptron {
    fn new(layout: &mut Layout, name: &str, slope: Parameter, widths: &[usize]) -> Perceptron {
        let layer = |(i, pair): (usize, &[usize])| {
            let (n_in, n_out) = (pair[0], pair[1]);
            // Glorot's start for rectifiers, and none for the bias.
            let bound = (12.0 / (n_in + n_out) as f32).sqrt();
            Linear {
                weight: layout.weight(format!("{name}{i}.weight"), n_in, n_out, Init::Uniform(bound)),
                bias: Some(layout.weight(format!("{name}{i}.bias"), 1, n_out, Init::Zeros)),
            }
        };
        Perceptron {
            layers: widths.windows(2).enumerate().map(layer).collect(),
            slope,
        }
    }

    fn forward(&self, tape: &mut Tape<'_>, x: Var, drops: &mut Option<(f32, &mut SimRng)>) -> Var {
        let (last, hidden) = self.layers.split_last().expect("a perceptron has layers");
        let rows = hidden.iter().fold(x, |rows, layer| {
            let rows = layer.forward(tape, rows);
            let rows = rectified(tape, rows, self.slope);
            match drops {
                Some((drop_prob, rng)) => tape.dropout(rows, *drop_prob, rng),
                None => rows,
            }
        });
        last.forward(tape, rows)
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
    features: &'g [f32],
    passed: &'g [f32],
    relations: &'g Relations,
}

impl Own {
    fn new(n_features: usize, n_classes: usize, personal: &Personal, parts: [bool; 2]) -> Own {
        let mut layout = Layout::new();
        let hidden = personal.hidden as usize;
        let n_passed = n_features * (personal.steps as usize + 1);
        let slope = |layout: &mut Layout, name: &str| layout.weight(name, 1, 1, Init::Constant(SLOPE));
        let [has_like, has_unlike] = parts;
        let like = has_like.then(|| {
            let slope = slope(&mut layout, "like.slope");
            Perceptron::new(&mut layout, "like", slope, &[n_passed, hidden, n_classes])
        });
        let unlike = has_unlike.then(|| {
            let [own, told] = ["unlike.slope", "told.slope"].map(|name| slope(&mut layout, name));
            let mut three =
                |name: &str, slope, n_in| Perceptron::new(&mut layout, name, slope, &[n_in, hidden, hidden, n_classes]);
            Unlike {
                on_passed: three("passed", own, n_passed),
                on_features: three("features", own, n_features),
                told: three("told", told, n_passed),
            }
        });
        Own {
            layout,
            like,
            unlike,
            n_classes,
        }
    }

    /// Logits for all nodes: of the network for nodes like their neighbours, if there is one, then the three of the other.
    fn logits<'g>(
        &self,
        tape: &mut Tape<'g>,
        sight: Sight<'g>,
        mut drops: Option<(f32, &mut SimRng)>,
    ) -> (Option<Var>, Option<[Var; 3]>) {
        let n = sight.relations.alike.n_rows();
        let passed = tape.input(n, sight.passed.len() / n, sight.passed);
        let like = self
            .like
            .as_ref()
            .map(|network| network.forward(tape, passed, &mut drops));
        let unlike = self.unlike.as_ref().map(|network| {
            let on_passed = network.on_passed.forward(tape, passed, &mut drops);
            let features = tape.input(n, sight.features.len() / n, sight.features);
            let on_features = network.on_features.forward(tape, features, &mut drops);
            let rows = network.told.forward(tape, passed, &mut drops);
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
    let passed = passed(nodes, features, &alike, personal);
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
        features,
        passed: &passed,
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
            rate: personal.rate as f32,
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
                    losses.push(tape.mean_squared_error(like, common));
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
