//! What an eavesdropper infers: the property of a graph from what left its device, and the graph's arcs where nodes left it.
//!
//! Property inference follows section IV-A of the paper: the attacker knows the properties of a shadow set, a share of the
//! training graphs, learns a perceptron from what was sent of them, and guesses those of all graphs that validate and test. What is
//! read is brought to mean 0 and variance 1 over the shadow set first, of which the paper says nothing.

use super::matcher::{Input, Matcher, Matrix};
use super::options::Variant;
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_engine::world::Breach;
use folkmoot_graphs::Pair;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Layout, Moments, Optimiser, Tape};
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::pairs::{Deployed, OVERHEARD, Observed};

const SHADOW: Purpose = Purpose(*b"pp-shado");
const LEARN: Purpose = Purpose(*b"pp-infer");

/// Samples a step of the attacker's training.
const BATCH: usize = 32;

/// What the eavesdropper reads. `g` is a device's message to the other, `o` that to the service; of a message of several rows the
/// mean is read, but for `AllG`. Where there is no message to the other device, only `o` is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Intercept {
    /// Both messages.
    #[default]
    Concat,
    /// The message to the other device.
    G,
    /// The message to the service.
    O,
    /// One of them, by a fair coin for each graph, and not told which.
    Random,
    /// Every row of the message to the other device; where it has a row for every node, as `G`.
    AllG,
}

impl Intercept {
    /// All of them, with their names in summaries.
    pub const ALL: [(Intercept, &'static str); 5] = [
        (Intercept::Concat, "concat"),
        (Intercept::G, "g"),
        (Intercept::O, "o"),
        (Intercept::Random, "random"),
        (Intercept::AllG, "all_g"),
    ];
}

/// The attacker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Which property is inferred, such as `level`; all of them together if absent, which is the default.
    pub property: Option<String>,
    /// What `attack_auc` is measured on; all others have their own name. By the variant `Random` or `Concat`.
    pub intercept: Intercept,
    /// The share of the training graphs whose properties the attacker knows, above 0 and at most 1. Default 0.1.
    pub shadow: f64,
    /// Linear layers of the attacker's perceptron, 1..=8, of the models' hidden width. By the variant 3 or 2.
    pub layers: u32,
    /// The attacker's epochs, 1..=100000. Default 100.
    pub epochs: u32,
    /// The attacker's rate of Adam, greater than 0, within 1e-8..=10. Default 0.001.
    pub rate: f64,
    /// The attack is measured after every so many epochs of training besides; 0: before the first and with the chosen model
    /// alone. Default 0.
    pub every: u32,
}

/// The same as a card writes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Attack")]
pub(super) struct WrittenAttack {
    property: Option<String>,
    intercept: Option<Intercept>,
    shadow: f64,
    layers: Option<u32>,
    epochs: u32,
    rate: f64,
    every: u32,
}

impl Default for WrittenAttack {
    fn default() -> Self {
        WrittenAttack {
            property: None,
            intercept: None,
            shadow: 0.1,
            layers: None,
            epochs: 100,
            rate: 0.001,
            every: 0,
        }
    }
}

impl WrittenAttack {
    pub(super) fn resolve(self, variant: Variant) -> Attack {
        Attack {
            property: self.property,
            intercept: self.intercept.unwrap_or(match variant {
                Variant::AsPrinted => Intercept::Random,
                Variant::AsReleased | Variant::Corrected => Intercept::Concat,
            }),
            shadow: self.shadow,
            layers: self.layers.unwrap_or(match variant {
                Variant::AsReleased => 2,
                Variant::AsPrinted | Variant::Corrected => 3,
            }),
            epochs: self.epochs,
            rate: self.rate,
            every: self.every,
        }
    }
}

impl From<Attack> for WrittenAttack {
    fn from(attack: Attack) -> Self {
        WrittenAttack {
            property: attack.property,
            intercept: Some(attack.intercept),
            shadow: attack.shadow,
            layers: Some(attack.layers),
            epochs: attack.epochs,
            rate: attack.rate,
            every: attack.every,
        }
    }
}

impl Attack {
    /// Every rule it breaks.
    pub(super) fn check(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((field.to_owned(), rule));
            }
        };
        let Attack {
            shadow,
            layers,
            epochs,
            rate,
            ..
        } = *self;
        need(
            shadow > 0.0 && shadow <= 1.0,
            "shadow",
            format!("must be greater than 0 and at most 1, got {shadow}"),
        );
        need(
            (1..=8).contains(&layers),
            "layers",
            format!("must lie in 1..=8, got {layers}"),
        );
        need(
            (1..=100_000).contains(&epochs),
            "epochs",
            format!("must lie in 1..=100000, got {epochs}"),
        );
        need(
            (1e-8..=10.0).contains(&rate),
            "rate",
            format!("must be greater than 0, within 1e-8..=10, got {rate}"),
        );
        breaches
    }

    /// How well the property is inferred from each interception that the model allows: macro one-vs-rest areas under the ROC curve.
    ///
    /// Classes without a graph that validates or tests, or without another, have no area and are left out of the mean.
    pub fn infer(
        &self,
        data: &Data,
        deployed: &Deployed<'_>,
        width: usize,
        streams: Streams,
    ) -> Vec<(Intercept, Option<f64>)> {
        let mut rng = streams.global(SHADOW);
        let known = ((self.shadow * data.train.len() as f64).ceil() as usize).max(1);
        let shadow = one_of_two(&data.sampler.epoch(&mut rng), known, &mut rng);
        let all = [data.validation.clone(), data.test.clone()].concat();
        let targets = one_of_two(&all, usize::MAX, &mut rng);
        let read = |_: &Pair, seen: Observed<'_>| Seen::new(deployed.matcher, &seen);
        let overheard = Deployed {
            purpose: OVERHEARD,
            ..*deployed
        };
        let seen = [(&overheard, &shadow), (deployed, &targets)]
            .map(|(deployed, pairs)| deployed.observe(&data.inputs, pairs, read));
        let properties = [&shadow, &targets].map(|pairs| -> Vec<u32> {
            let property = |pair: &Pair| data.properties[pair.first as usize];
            pairs.iter().map(property).collect()
        });
        let coins = [shadow.len(), targets.len()]
            .map(|n| -> Vec<bool> { (0..n).map(|_| rng::index(&mut rng, 2) == 0).collect() });
        let exchanges = deployed.matcher.n_exchanges() > 0;
        let allowed = Intercept::ALL
            .into_iter()
            .filter(|(intercept, _)| exchanges || !matches!(intercept, Intercept::G | Intercept::AllG));
        let area = |(intercept, _)| {
            let rows = [0, 1].map(|part| -> Vec<Vec<f32>> {
                let views = seen[part].iter().zip(&coins[part]);
                views.map(|(seen, coin)| seen.view(intercept, *coin)).collect()
            });
            let rng = &mut streams.global(LEARN);
            let area = self.learn(
                (&rows[0], &properties[0]),
                (&rows[1], &properties[1]),
                data.n_properties,
                width,
                rng,
            );
            (intercept, area)
        };
        allowed.map(area).collect()
    }

    /// The area for guesses of `targets`, learned from `shadow`: rows of equal length and their classes.
    fn learn(
        &self,
        (shadow, known): (&[Vec<f32>], &[u32]),
        (targets, actual): (&[Vec<f32>], &[u32]),
        n_classes: usize,
        width: usize,
        rng: &mut SimRng,
    ) -> Option<f64> {
        let scaling = Scaling::of(shadow);
        let n_in = scaling.mean.len();
        let mut layout = Layout::new();
        let last = self.layers as usize - 1;
        let layers: Vec<Linear> = (0..=last)
            .map(|l| {
                let (n_in, n_out) = (
                    if l == 0 { n_in } else { width },
                    if l == last { n_classes } else { width },
                );
                Linear::new(&mut layout, &l.to_string(), n_in, n_out)
            })
            .collect();
        let optimiser = Optimiser::Adam(Adam {
            rate: self.rate as f32,
            ..Adam::default()
        });
        let mut parameters = layout.initialise(rng);
        let mut moments = Moments::new();
        let logits = |tape: &mut Tape<'_>, rows: usize, x: &[f32]| {
            let mut h = tape.constant(rows, n_in, x);
            for layer in &layers[..last] {
                h = layer.forward_relu(tape, h);
            }
            layers[last].forward(tape, h)
        };
        let mut order: Vec<u32> = (0..shadow.len() as u32).collect();
        for _ in 0..self.epochs {
            for i in (1..order.len()).rev() {
                order.swap(i, rng::index(rng, i + 1));
            }
            for batch in order.chunks(BATCH) {
                let x: Vec<f32> = batch.iter().flat_map(|&i| scaling.apply(&shadow[i as usize])).collect();
                let labels: Vec<u32> = batch.iter().map(|&i| known[i as usize]).collect();
                Tape::with_own(|tape| {
                    tape.load(&layout, &parameters);
                    let logits = logits(tape, batch.len(), &x);
                    let loss = tape.cross_entropy(logits, &labels, None);
                    tape.backward(loss);
                    optimiser.step(&mut moments, &mut parameters, tape.parameters_mut().1);
                });
            }
        }
        let x: Vec<f32> = targets.iter().flat_map(|row| scaling.apply(row)).collect();
        let scores: Vec<f64> = Tape::with_own(|tape| {
            tape.load(&layout, &parameters);
            let logits = logits(tape, targets.len(), &x);
            let chances = tape.softmax(logits, None);
            tape.value(chances).iter().map(|x| f64::from(*x)).collect()
        });
        let positive: Vec<bool> = actual
            .iter()
            .flat_map(|&class| (0..n_classes as u32).map(move |other| other == class))
            .collect();
        let labelled = vec![true; positive.len()];
        let areas = folkmoot_metrics::scores::masked_auc(&positive, &labelled, &scores, n_classes).ok()?;
        areas.mean
    }
}

/// Of each graph's two pairs one, by a fair coin, for the first `n` graphs of a list of pairs.
fn one_of_two(pairs: &[Pair], n: usize, rng: &mut SimRng) -> Vec<Pair> {
    let (pairs, _) = pairs.as_chunks::<2>();
    pairs.iter().take(n).map(|two| two[rng::index(rng, 2)]).collect()
}

/// What left the device of a pair's first graph.
struct Seen {
    mean_sent: Vec<f32>,
    all_sent: Vec<f32>,
    mean_result: Vec<f32>,
}

impl Seen {
    fn new(matcher: &dyn Matcher, seen: &Observed<'_>) -> Seen {
        let sent = seen.sent[0];
        let mean_sent = sent.map(Matrix::mean_row).unwrap_or_default();
        Seen {
            all_sent: match sent {
                Some(sent) if !matcher.sends_nodes() => sent.data.clone(),
                _ => mean_sent.clone(),
            },
            mean_sent,
            mean_result: seen.results[0].mean_row(),
        }
    }

    fn view(&self, intercept: Intercept, coin: bool) -> Vec<f32> {
        match intercept {
            Intercept::Concat => [self.mean_sent.as_slice(), &self.mean_result].concat(),
            Intercept::G => self.mean_sent.clone(),
            Intercept::O => self.mean_result.clone(),
            Intercept::AllG => self.all_sent.clone(),
            Intercept::Random => {
                let picked = match coin && !self.mean_sent.is_empty() {
                    true => &self.mean_sent,
                    false => &self.mean_result,
                };
                let mut row = picked.clone();
                row.resize(self.mean_sent.len().max(self.mean_result.len()), 0.0);
                row
            }
        }
    }
}

/// Mean 0 and variance 1 for every number over the shadow set; one that is always the same becomes 0.
struct Scaling {
    mean: Vec<f64>,
    factor: Vec<f64>,
}

impl Scaling {
    fn of(rows: &[Vec<f32>]) -> Scaling {
        let (width, n) = (rows.first().map_or(0, Vec::len), rows.len().max(1) as f64);
        let total = |term: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            let mut sums = vec![0.0; width];
            for row in rows {
                for (at, (sum, x)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += term(at, f64::from(*x));
                }
            }
            sums.into_iter().map(|sum| sum / n).collect()
        };
        let mean = total(&|_, x| x);
        let variance = total(&|at, x| (x - mean[at]) * (x - mean[at]));
        // Rounding leaves a constant column with a variance of this order.
        let factor = mean
            .iter()
            .zip(&variance)
            .map(|(mean, variance)| match *variance > 1e-12 * mean * mean {
                true => 1.0 / variance.sqrt(),
                false => 0.0,
            });
        Scaling {
            factor: factor.collect(),
            mean,
        }
    }

    fn apply(&self, row: &[f32]) -> impl Iterator<Item = f32> {
        let scaled = |((x, mean), factor): ((&f32, &f64), &f64)| ((f64::from(*x) - mean) * factor) as f32;
        row.iter().zip(&self.mean).zip(&self.factor).map(scaled)
    }
}

/// How well arcs are told from other pairs of nodes by the cosine of what was sent of the two: the mean over test graphs of the
/// area under the ROC curve; `None` where no nodes are sent.
pub fn reconstruct(data: &Data, deployed: &Deployed<'_>) -> Option<f64> {
    if !deployed.matcher.sends_nodes() {
        return None;
    }
    // Each graph once, paired with itself or whatever it is first with.
    let pairs: Vec<Pair> = data.test.iter().step_by(2).copied().collect();
    let n_messages = deployed.matcher.n_exchanges().max(1) as usize;
    let read = |pair: &Pair, seen: Observed<'_>| {
        let nodes = seen.sent[0].unwrap_or(&seen.results[0]);
        // Of several messages the last: its nodes have gathered most.
        let n_last = nodes.shape().1 / n_messages;
        link_auc(&data.inputs[pair.first as usize], nodes, n_last)
    };
    let areas: Vec<f64> = deployed
        .observe(&data.inputs, &pairs, read)
        .into_iter()
        .flatten()
        .collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// The same for one graph, by the last columns of what was sent.
fn link_auc(graph: &Input, nodes: &Matrix, n_columns: usize) -> Option<f64> {
    let n = graph.n_nodes();
    let width = nodes.n_columns as usize;
    let last = |row: &'_ [f32]| row[width - n_columns..].to_vec();
    let rows: Vec<Vec<f32>> = nodes.data.chunks_exact(width.max(1)).take(n).map(last).collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let norms: Vec<f64> = rows.iter().map(|row| dot(row, row).sqrt()).collect();
    let (mut linked, mut scores) = (Vec::new(), Vec::new());
    for u in 0..rows.len() {
        for v in u + 1..rows.len() {
            linked.push(graph.has_arc(u, v) || graph.has_arc(v, u));
            let norm = norms[u] * norms[v];
            scores.push(if norm > 0.0 {
                dot(&rows[u], &rows[v]) / norm
            } else {
                0.0
            });
        }
    }
    folkmoot_metrics::scores::auc(&linked, &scores).ok()
}
