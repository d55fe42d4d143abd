//! The personalised networks of a client, and their training.

use super::likeness::{alike, homophily, softmax, weighed};
use super::relations::Relations;
use super::{Branch, Personal};
use folkmoot_classifiers::classifier::{Nodes, Part};
use folkmoot_draws::SimRng;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Batch, Decay, Init, Layout, Moments, Optimiser, Parameter, Tape, Var};

/// Initial slope of a PReLU below 0.
const SLOPE: f32 = 0.25;

/// Linear layers with a PReLU behind each, except the last; all share one slope.
struct Perceptron {
    propagated: PropagatedLinear,
    layers: Vec<Linear>,
    slope: Parameter,
}

/// A linear layer on the concatenation of `X, Â X, Â² X, …`, which computes
/// `X W_0 + Â (X W_1 + Â (X W_2 + …))` instead. Sparse features stay sparse.
pub(super) struct PropagatedLinear(Vec<Linear>);

impl PropagatedLinear {
    /// A layer on features propagated up to `steps` times; with 0 steps an ordinary linear layer.
    pub(super) fn new(layout: &mut Layout, name: &str, steps: u32, n_in: usize, n_out: usize) -> PropagatedLinear {
        let start = glorot((steps as usize + 1) * n_in, n_out);
        let mut blocks: Vec<Linear> = (0..=steps)
            .map(|step| Linear {
                weight: layout.weight(format!("{name}0.weight{step}"), n_in, n_out, start),
                bias: None,
            })
            .collect();
        blocks[0].bias = Some(layout.weight(format!("{name}0.bias"), 1, n_out, Init::Zeros));
        PropagatedLinear(blocks)
    }

    pub(super) fn forward<'g>(&self, tape: &mut Tape<'g>, features: Var, weighed: &'g Batch) -> Var {
        let (last, others) = self.0.split_last().expect("there is a weight for 0 steps");
        let so_far = last.forward(tape, features);
        others.iter().rev().fold(so_far, |so_far, layer| {
            let propagated = tape.propagate(weighed.adjacency(), so_far);
            let own = layer.forward(tape, features);
            tape.add(propagated, own)
        })
    }
}

/// Xavier uniform with ReLU gain.
fn glorot(n_in: usize, n_out: usize) -> Init {
    Init::Uniform((12.0 / (n_in + n_out) as f32).sqrt())
}

impl Perceptron {
    /// `widths`: of the features, the hidden layers, and the output.
    fn new(layout: &mut Layout, name: &str, slope: Parameter, steps: u32, widths: &[usize]) -> Perceptron {
        let propagated = PropagatedLinear::new(layout, name, steps, widths[0], widths[1]);
        let layer = |(i, pair): (usize, &[usize])| Linear {
            weight: layout.weight(format!("{name}{i}.weight"), pair[0], pair[1], glorot(pair[0], pair[1])),
            bias: Some(layout.weight(format!("{name}{i}.bias"), 1, pair[1], Init::Zeros)),
        };
        Perceptron {
            propagated,
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
        let first = self.propagated.forward(tape, features, weighed);
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

/// The personalised networks of a client, for homophilous and heterophilous nodes.
struct PersonalNetworks {
    layout: Layout,
    homophilous: Option<Perceptron>,
    heterophilous: Option<Heterophilous>,
    n_classes: usize,
}

/// The three perceptrons for heterophilous nodes.
struct Heterophilous {
    on_features: Perceptron,
    on_propagated: Perceptron,
    message_passing: Perceptron,
}

/// Inputs of a forward pass.
#[derive(Clone, Copy)]
struct Sight<'g> {
    /// Features, and the matrix that propagates them.
    weighed: &'g Batch,
    relations: &'g Relations,
}

impl PersonalNetworks {
    fn new(n_features: usize, n_classes: usize, personal: &Personal, parts: [bool; 2]) -> PersonalNetworks {
        let mut layout = Layout::new();
        let hidden = personal.hidden as usize;
        let steps = personal.steps;
        let slope = |layout: &mut Layout, name: &str| layout.weight(name, 1, 1, Init::Constant(SLOPE));
        let [has_homophilous, has_heterophilous] = parts;
        let homophilous = has_homophilous.then(|| {
            let slope = slope(&mut layout, "like.slope");
            Perceptron::new(&mut layout, "like", slope, steps, &[n_features, hidden, n_classes])
        });
        let heterophilous = has_heterophilous.then(|| {
            let [own, message_passing] = ["unlike.slope", "told.slope"].map(|name| slope(&mut layout, name));
            let widths = [n_features, hidden, hidden, n_classes];
            let mut three = |name: &str, slope, steps| Perceptron::new(&mut layout, name, slope, steps, &widths);
            Heterophilous {
                on_propagated: three("passed", own, steps),
                on_features: three("features", own, 0),
                message_passing: three("told", message_passing, steps),
            }
        });
        PersonalNetworks {
            layout,
            homophilous,
            heterophilous,
            n_classes,
        }
    }

    /// Logits for all nodes: of the homophilous network, if there is one, then the three of the
    /// heterophilous network.
    fn logits<'g>(
        &self,
        tape: &mut Tape<'g>,
        sight: Sight<'g>,
        mut drops: Option<(f32, &mut SimRng)>,
    ) -> (Option<Var>, Option<[Var; 3]>) {
        let features = sight.weighed.features(tape);
        let mut of =
            |network: &Perceptron, tape: &mut Tape<'g>| network.forward(tape, features, sight.weighed, &mut drops);
        let homophilous = self.homophilous.as_ref().map(|network| of(network, tape));
        let heterophilous = self.heterophilous.as_ref().map(|network| {
            let on_propagated = of(&network.on_propagated, tape);
            let on_features = of(&network.on_features, tape);
            let rows = of(&network.message_passing, tape);
            [
                on_features,
                on_propagated,
                self.message_passing(tape, rows, sight, network.message_passing.slope),
            ]
        });
        (homophilous, heterophilous)
    }

    /// `(softmax(R⁺ Z) − softmax(R⁻ Z) + Z) / 2`.
    fn message_passing<'g>(&self, tape: &mut Tape<'g>, rows: Var, sight: Sight<'g>, slope: Parameter) -> Var {
        let (n, c) = (sight.relations.alike.n_rows(), self.n_classes);
        let both = tape.custom(sight.relations, &[rows], n, 2 * c);
        let [above, below] = [0, c].map(|from| tape.slice_columns(both, from, c));
        // The PReLU of R is `above + slope · below`; that of −R swaps both.
        let mut signal = |own: Var, other: Var, sign: f32| {
            let rest = tape.subtract(own, other);
            let sum = tape.add_rescaled(rest, slope.var(), other);
            let sum = tape.scale(sign, sum);
            tape.softmax(sum, None)
        };
        let (positive, negative) = (signal(above, below, 1.0), signal(below, above, -1.0));
        let difference = tape.subtract(positive, negative);
        let sum = tape.add(difference, rows);
        tape.scale(0.5, sum)
    }
}

/// Result of a client's second step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PersonalResult {
    /// Class probabilities of each node, shape `(n_nodes, n_classes)`.
    pub(super) shares: Vec<f32>,
    /// Fraction of hidden training labels that label propagation predicts correctly.
    pub(super) homophily: f64,
    /// Number of arcs between similar nodes.
    pub(super) n_alike: usize,
}

/// A client's second step, from the logits of the global model for its nodes.
pub(super) fn personalise(
    nodes: &Nodes<'_>,
    features: &[f32],
    logits: &[f32],
    personal: &Personal,
    rng: &mut SimRng,
) -> PersonalResult {
    let n = nodes.labels.len();
    let n_classes = logits.len() / n;
    let common = softmax(logits, n_classes);
    let homophily = homophily(nodes, n_classes, rng);
    let alike = alike(&common, n, personal.alike);
    let n_alike = alike.n_entries();
    let mut weighed_batch = Batch::new(features.len() / n);
    weighed_batch.push(&weighed(nodes, &alike, personal.alpha), features);
    weighed_batch.keep_nonzeros();
    let (parts, weight_of_homophilous) = match personal.branch {
        Branch::Chosen { at } if homophily >= at => ([true, false], 1.0),
        Branch::Chosen { .. } => ([false, true], 0.0),
        Branch::Mixed => ([true, true], homophily as f32),
    };
    let own = PersonalNetworks::new(features.len() / n, n_classes, personal, parts);
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
    // The authors' code (`main.py`) applies softmax to the probabilities again.
    let again = softmax(&common, n_classes);
    let shares = Tape::with_own(|tape| {
        tape.load(&own.layout, &parameters);
        let (homophilous, heterophilous) = own.logits(tape, sight, None);
        let mut shares = vec![0.0; common.len()];
        let mut add = |logits: &[f32], weight: f32| {
            let answer = softmax(logits, n_classes);
            shares.iter_mut().zip(&answer).for_each(|(to, x)| *to += weight * x);
        };
        if let Some(homophilous) = homophilous {
            add(tape.value(homophilous), 0.5 * weight_of_homophilous);
        }
        for logits in heterophilous.into_iter().flatten() {
            add(tape.value(logits), (1.0 - weight_of_homophilous) / 3.0);
        }
        if homophilous.is_some() {
            shares
                .iter_mut()
                .zip(&again)
                .for_each(|(to, x)| *to += 0.5 * weight_of_homophilous * x);
        }
        shares
    });
    PersonalResult {
        shares,
        homophily,
        n_alike,
    }
}

impl PersonalNetworks {
    /// Parameters of the networks after training; `rng` draws the initial ones.
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
                let (homophilous, heterophilous) = self.logits(tape, sight, Some((personal.dropout as f32, &mut *rng)));
                let mut losses = Vec::new();
                if let Some(homophilous) = homophilous {
                    losses.push(tape.cross_entropy(homophilous, nodes.labels, Some(trained)));
                    // Squared error of logits against probabilities, as in the authors' code.
                    losses.push(tape.mean_squared_error(homophilous, common, None));
                }
                for logits in heterophilous.into_iter().flatten() {
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
