//! Property inference: a perceptron learns from the messages of graphs whose properties are known.

use super::{Attack, Intercept, ShadowOf};
use crate::ppgm::data::Data;
use crate::ppgm::matcher::{Matcher, Matrix};
use crate::ppgm::pairs::{Deployed, OVERHEARD, Observed};
use crate::ppgm::params::Choice;
use folkmoot_draws::{Purpose, SimRng, Streams, index, shuffle};
use folkmoot_graphs::Pair;
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Layout, Moments, Optimiser, Tape, Var};

const SHADOW: Purpose = Purpose(*b"pp-shado");
const LEARN: Purpose = Purpose(*b"pp-infer");

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
        let mut pairs = data.sampler.epoch(&mut rng);
        if self.shadow_of == ShadowOf::Classes {
            pairs = by_class(&pairs, &data.classes, &mut rng);
        }
        let shadow = one_of_two(&pairs, known, &mut rng);
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
        let coins =
            [shadow.len(), targets.len()].map(|n| -> Vec<bool> { (0..n).map(|_| index(&mut rng, 2) == 0).collect() });
        let exchanges = deployed.matcher.n_exchanges() > 0;
        let allowed = Intercept::ALL
            .into_iter()
            .filter(|(intercept, _)| exchanges || !matches!(intercept, Intercept::G | Intercept::AllG));
        let area = |(intercept, _)| {
            let rows = [0, 1].map(|part| -> Vec<Vec<f32>> {
                let views = seen[part].iter().zip(&coins[part]);
                views.map(|(seen, coin)| seen.view(intercept, *coin)).collect()
            });
            let [known, targets] = [0, 1].map(|part| Known {
                rows: &rows[part],
                classes: &properties[part],
            });
            let (validation, test) = targets.split_at(data.validation.len() / 2);
            let guesses = match self.choice {
                Choice::Last => (None, targets),
                Choice::BestValidation => (Some(validation), test),
            };
            let attacker = Attacker::new(self, known, data.n_properties, width);
            (intercept, attacker.learn(guesses, &mut streams.global(LEARN)))
        };
        allowed.map(area).collect()
    }
}

/// Messages of equal length, and the classes of their graphs.
#[derive(Clone, Copy)]
struct Known<'a> {
    rows: &'a [Vec<f32>],
    classes: &'a [u32],
}

impl<'a> Known<'a> {
    fn split_at(self, n: usize) -> (Known<'a>, Known<'a>) {
        let (rows, classes) = (self.rows.split_at(n), self.classes.split_at(n));
        let [first, second] = [(rows.0, classes.0), (rows.1, classes.1)].map(|(rows, classes)| Known { rows, classes });
        (first, second)
    }
}

/// A perceptron that learns from a shadow set.
struct Attacker<'a> {
    attack: &'a Attack,
    shadow: Known<'a>,
    scaling: Scaling,
    layout: Layout,
    layers: Vec<Linear>,
    n_classes: usize,
}

impl<'a> Attacker<'a> {
    fn new(attack: &'a Attack, shadow: Known<'a>, n_classes: usize, width: usize) -> Attacker<'a> {
        let scaling = match attack.standardise {
            true => Scaling::of(shadow.rows),
            false => Scaling::none(shadow.rows.first().map_or(0, Vec::len)),
        };
        let (n_in, last) = (scaling.mean.len(), attack.layers as usize - 1);
        let mut layout = Layout::new();
        let layers = (0..=last)
            .map(|l| {
                let (n_in, n_out) = (
                    if l == 0 { n_in } else { width },
                    if l == last { n_classes } else { width },
                );
                Linear::new(&mut layout, &l.to_string(), n_in, n_out)
            })
            .collect();
        Attacker {
            attack,
            shadow,
            scaling,
            layout,
            layers,
            n_classes,
        }
    }

    /// The area for guesses of the second set, where there is a first after the epoch that guesses that one best.
    fn learn(&self, (validation, test): (Option<Known<'_>>, Known<'_>), rng: &mut SimRng) -> Option<f64> {
        let optimiser = Optimiser::Adam(Adam {
            rate: self.attack.rate as f32,
            ..Adam::default()
        });
        let mut parameters = self.layout.initialise(rng);
        let mut moments = Moments::new();
        let mut order: Vec<u32> = (0..self.shadow.rows.len() as u32).collect();
        let mut best: Option<(f64, Vec<f32>)> = None;
        for _ in 0..self.attack.epochs {
            shuffle(rng, &mut order);
            for batch in order.chunks(self.attack.batch as usize) {
                let row = |&i: &u32| self.scaling.apply(&self.shadow.rows[i as usize]);
                let x: Vec<f32> = batch.iter().flat_map(row).collect();
                let labels: Vec<u32> = batch.iter().map(|&i| self.shadow.classes[i as usize]).collect();
                Tape::with_own(|tape| {
                    tape.load(&self.layout, &parameters);
                    let logits = self.logits(tape, batch.len(), &x);
                    let loss = tape.cross_entropy(logits, &labels, None);
                    tape.backward(loss);
                    optimiser.step(&mut moments, &mut parameters, tape.parameters_mut().1);
                });
            }
            let area = validation.and_then(|validation| self.area(&parameters, validation));
            if let Some(area) = area
                && best.as_ref().is_none_or(|(most, _)| area > *most)
            {
                best = Some((area, parameters.clone()));
            }
        }
        self.area(&best.map_or(parameters, |(_, parameters)| parameters), test)
    }

    fn logits(&self, tape: &mut Tape<'_>, rows: usize, x: &[f32]) -> Var {
        let (last, first) = self.layers.split_last().expect("a perceptron has a layer");
        let mut h = tape.constant(rows, self.scaling.mean.len(), x);
        for layer in first {
            h = layer.forward_relu(tape, h);
        }
        last.forward(tape, h)
    }

    /// The macro one-vs-rest area for its guesses of a set.
    fn area(&self, parameters: &[f32], set: Known<'_>) -> Option<f64> {
        let x: Vec<f32> = set.rows.iter().flat_map(|row| self.scaling.apply(row)).collect();
        let scores: Vec<f64> = Tape::with_own(|tape| {
            tape.load(&self.layout, parameters);
            let logits = self.logits(tape, set.rows.len(), &x);
            let chances = tape.softmax(logits, None);
            tape.value(chances).iter().map(|x| f64::from(*x)).collect()
        });
        let positive: Vec<bool> = set
            .classes
            .iter()
            .flat_map(|&class| (0..self.n_classes as u32).map(move |other| other == class))
            .collect();
        let labelled = vec![true; positive.len()];
        let areas = folkmoot_scores::masked_auc(&positive, &labelled, &scores, self.n_classes).ok()?;
        areas.mean
    }
}

/// The same pairs, class after class in a random order.
fn by_class(pairs: &[Pair], classes: &[u32], rng: &mut SimRng) -> Vec<Pair> {
    let class = |pair: &Pair| classes[pair.first as usize] as usize;
    let n_classes = pairs.iter().map(class).max().map_or(0, |most| most + 1);
    let mut places: Vec<usize> = (0..n_classes).collect();
    shuffle(rng, &mut places);
    let mut sorted = pairs.to_vec();
    sorted.sort_by_key(|pair| places[class(pair)]);
    sorted
}

/// Of each graph's two pairs one, by a fair coin, for the first `n` graphs of a list of pairs.
fn one_of_two(pairs: &[Pair], n: usize, rng: &mut SimRng) -> Vec<Pair> {
    let (pairs, _) = pairs.as_chunks::<2>();
    pairs.iter().take(n).map(|two| two[index(rng, 2)]).collect()
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
    fn none(width: usize) -> Scaling {
        Scaling {
            mean: vec![0.0; width],
            factor: vec![1.0; width],
        }
    }

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
