//! Property inference: a perceptron learns from the messages of graphs whose properties are known.

use super::{Attack, Intercept};
use crate::ppgm::data::Data;
use crate::ppgm::matcher::{Matcher, Matrix};
use crate::ppgm::pairs::{Deployed, OVERHEARD, Observed};
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_graphs::Pair;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Layout, Moments, Optimiser, Tape};

const SHADOW: Purpose = Purpose(*b"pp-shado");
const LEARN: Purpose = Purpose(*b"pp-infer");

/// Samples a step of the attacker's training.
const BATCH: usize = 32;

impl Attack {
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
        let mean_sent = sent.iter().flat_map(Matrix::mean_row).collect::<Vec<f32>>();
        Seen {
            all_sent: match matcher.sends_nodes() {
                true => mean_sent.clone(),
                false => sent.iter().flat_map(|message| message.data.iter().copied()).collect(),
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
