//! Training at the server, on what users have told.

use crate::links::{Links, Spread};
use crate::matrix::Matrix;
use crate::network::{Net, Network};
use folkmoot_draws::SimRng;
use folkmoot_learning::tape::{Backward, Function};
use folkmoot_learning::{Adam, Decay, Moments, Optimiser, Tape};
use folkmoot_parts::component;
use serde::{Deserialize, Serialize};

/// Training loss for classes reported under noise.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelLoss {
    /// Cross entropy with the reported classes, without correction.
    #[default]
    CrossEntropy,
    /// Forward correction: cross entropy of predictions passed through the noise (Patrini et al.,
    /// CVPR 2017).
    Forward,
    /// LPGNN's Drop: reported labels are propagated `label_steps` times and the most likely class
    /// is the target. Predictions pass through noise and propagation too.
    Drop,
}

/// Full-batch training with Adam.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Number of training steps.
    #[component(default = 300, in = 1..=100_000)]
    pub epochs: u32,
    /// Interval in steps between validations; the network with the lowest validation loss is
    /// selected.
    #[component(default = 1, in = 1..=100_000)]
    pub check_every: u32,
    /// Width of the hidden layer.
    #[component(default = 16, in = 1..=4_096)]
    pub hidden: u32,
    /// The learning rate.
    #[component(default = 0.01, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2).
    #[component(default = 0.0, at_least = 0, f32)]
    pub weight_decay: f64,
    /// Dropout probability in training.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f64,
}

/// What a network is trained on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) rows: Matrix,
    /// The class of each, as it was told; 0 of those who told none.
    pub(crate) labels: Vec<u32>,
    pub(crate) trains: Vec<bool>,
    pub(crate) validates: Vec<bool>,
}

/// What a training has come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// The class that is predicted of each user.
    pub predictions: Vec<u32>,
    /// Shape `(n_users, n_classes)`: the probabilities.
    pub probabilities: Vec<f32>,
    /// The step after which the network was kept, from 1 on.
    pub kept_at: u32,
    /// Its loss on those who validate; on those who train, where nobody does.
    pub loss: f64,
    /// The share of those who train whose class as it was told it predicts.
    pub train_accuracy: f64,
    /// How many arcs the graph has that it was trained on.
    pub n_arcs: u64,
    /// Whether a loss was no finite number, and it was looked no further.
    pub diverged: bool,
}

/// The logarithm of predictions that went through the noise of classes:
/// `ln(other + (keep − other) softmax)`.
#[derive(Clone, Copy, Debug)]
struct Corrected {
    keep: f64,
    other: f64,
    n_classes: usize,
}

impl Corrected {
    fn softmax(logits: &[f32]) -> Vec<f64> {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = logits
            .iter()
            .map(|x| libm::exp(f64::from(*x) - f64::from(most)))
            .collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / sum).collect()
    }

    fn noisy(&self, share: f64) -> f64 {
        // A class without a chance has no logarithm; this is far below what a loss can show.
        (self.other + (self.keep - self.other) * share).max(1e-30)
    }
}

impl Function for Corrected {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        for (logits, y) in x[0]
            .chunks_exact(self.n_classes)
            .zip(y.chunks_exact_mut(self.n_classes))
        {
            let shares = Corrected::softmax(logits);
            y.iter_mut()
                .zip(shares)
                .for_each(|(y, share)| *y = libm::log(self.noisy(share)) as f32);
        }
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (logits, gy) = (cx.operand(0), cx.gradient());
        let Some(gx) = cx.gradient_of(0) else { return };
        let rows = logits.chunks_exact(self.n_classes).zip(gy.chunks_exact(self.n_classes));
        for ((logits, gy), gx) in rows.zip(gx.chunks_exact_mut(self.n_classes)) {
            let shares = Corrected::softmax(logits);
            let slope = |(share, gy): (&f64, &f32)| (self.keep - self.other) * f64::from(*gy) / self.noisy(*share);
            let slopes: Vec<f64> = shares.iter().zip(gy).map(slope).collect();
            let mean: f64 = shares.iter().zip(&slopes).map(|(share, slope)| share * slope).sum();
            for ((gx, share), slope) in gx.iter_mut().zip(&shares).zip(&slopes) {
                *gx += (share * (slope - mean)) as f32;
            }
        }
    }
}

/// A training: its settings, and the probability that a reported class is true.
pub(crate) struct Course {
    pub(crate) training: Training,
    pub(crate) loss: LabelLoss,
    pub(crate) feature_steps: u32,
    pub(crate) label_steps: u32,
    pub(crate) network: Network,
    pub(crate) n_classes: usize,
    /// The probability that a reported class is the true one.
    pub(crate) keep: f64,
}

impl Course {
    /// Trains on `sample` along `links`.
    ///
    /// # Determinism
    ///
    /// Draws the weights, then step by step the dropouts.
    pub(crate) fn train(&self, sample: Sample, links: &Links, rng: &mut SimRng) -> Learned {
        let training = &self.training;
        let sample = Sample {
            rows: match self.network {
                Network::Mlp => sample.rows,
                Network::Gcn | Network::Sage => sample.rows.propagated(links, self.feature_steps),
            },
            ..sample
        };
        let widths = [sample.rows.n_columns(), training.hidden as usize, self.n_classes];
        let net = Net::new(self.network, widths, training.dropout);
        let spread = self.network.spread(links);
        let smooth = Spread::without_loops(links);
        let targets = self.targets(&sample, &smooth);
        let corrected = self.corrected();
        let optimiser = Optimiser::Adam(Adam {
            learning_rate: training.learning_rate as f32,
            decay: Decay::L2(training.weight_decay as f32),
            ..Adam::default()
        });
        let mut moments = Moments::new();
        let mut learned = Learned {
            loss: f64::INFINITY,
            n_arcs: links.n_arcs(),
            ..Learned::default()
        };
        let others = vec![corrected.other as f32; sample.labels.len() * self.n_classes];
        let mut tape = Tape::new();
        tape.load(&net.layout, &net.layout.initialise(rng));
        for epoch in 1..=training.epochs {
            tape.reset();
            let logits = net.logits(&mut tape, &sample.rows, spread.as_ref(), Some(rng));
            let loss = match self.loss {
                LabelLoss::CrossEntropy => tape.cross_entropy(logits, &sample.labels, Some(&sample.trains)),
                LabelLoss::Forward => {
                    let noisy = tape.custom(&corrected, &[logits], sample.labels.len(), self.n_classes);
                    tape.cross_entropy(noisy, &sample.labels, Some(&sample.trains))
                }
                LabelLoss::Drop => {
                    let shares = tape.softmax(logits, None);
                    let shares = tape.scale((corrected.keep - corrected.other) as f32, shares);
                    let others = tape.constant(sample.labels.len(), self.n_classes, &others);
                    let mut noisy = tape.add(shares, others);
                    for _ in 0..self.label_steps {
                        noisy = tape.custom(&smooth, &[noisy], sample.labels.len(), self.n_classes);
                    }
                    tape.cross_entropy(noisy, &targets, Some(&sample.trains))
                }
            };
            tape.backward(loss);
            if !tape.scalar(loss).is_finite() {
                learned.diverged = true;
                break;
            }
            let (parameters, gradient) = tape.parameters_mut();
            optimiser.step(&mut moments, parameters, gradient);
            if epoch % training.check_every == 0 || epoch == training.epochs {
                tape.reset();
                let logits = net.logits(&mut tape, &sample.rows, spread.as_ref(), None);
                self.look(epoch, tape.value(logits), &sample, &mut learned);
            }
        }
        learned
    }

    fn corrected(&self) -> Corrected {
        Corrected {
            keep: self.keep,
            other: (1.0 - self.keep) / (self.n_classes as f64 - 1.0).max(1.0),
            n_classes: self.n_classes,
        }
    }

    /// What is taken for true: the likeliest class of what was told, propagated; without, what was
    /// told.
    fn targets(&self, sample: &Sample, smooth: &Spread<'_>) -> Vec<u32> {
        if self.loss != LabelLoss::Drop {
            return Vec::new();
        }
        let mut told = vec![0.0; sample.labels.len() * self.n_classes];
        for (user, class) in sample.labels.iter().enumerate() {
            if sample.trains[user] || sample.validates[user] {
                told[user * self.n_classes + *class as usize] = 1.0;
            }
        }
        let told = smooth.repeat(told, self.n_classes, self.label_steps);
        told.chunks_exact(self.n_classes).map(likeliest).collect()
    }

    /// Keeps what is predicted, if its loss is less than that of what is kept. A network that
    /// agrees with what it was told more often than the truth does, has learned the noise, and is
    /// not kept where noise is corrected for (Sajadmanesh & Gatica-Perez 2021, section 3.3). The
    /// paper's bounds are the probability `keep` itself and 1.05 of it; here two standard errors
    /// are added, since the truth too agrees with few who validate more often than that every other
    /// time.
    fn look(&self, epoch: u32, logits: &[f32], sample: &Sample, learned: &mut Learned) {
        let corrected = self.corrected();
        let corrects = self.loss != LabelLoss::CrossEntropy;
        let score = |part: &[bool]| {
            let (mut loss, mut right, mut n) = (0.0, 0_u32, 0_u32);
            let rows = logits.chunks_exact(self.n_classes).zip(&sample.labels).zip(part);
            for ((logits, label), _) in rows.filter(|(_, counts)| **counts) {
                let share = Corrected::softmax(logits)[*label as usize];
                let share = if corrects {
                    corrected.noisy(share)
                } else {
                    share.max(1e-30)
                };
                loss -= libm::log(share);
                right += u32::from(likeliest(logits) == *label);
                n += 1;
            }
            let n = f64::from(n);
            let error = (self.keep * (1.0 - self.keep) / n.max(1.0)).sqrt();
            (n > 0.0).then(|| (loss / n, f64::from(right) / n, 2.0 * error))
        };
        let train = score(&sample.trains);
        let validation = score(&sample.validates);
        let Some((loss, right, slack)) = validation.or(train) else {
            return;
        };
        let (train_accuracy, train_slack) = train.map_or((0.0, 0.0), |(_, right, slack)| (right, slack));
        let is_above = |right: f64, limit: f64, slack: f64| right > limit + slack;
        let has_learned_noise =
            corrects && (is_above(right, self.keep, slack) || is_above(train_accuracy, 1.05 * self.keep, train_slack));
        let is_first = learned.predictions.is_empty();
        if is_first || (loss < learned.loss && !has_learned_noise) {
            let shares = logits.chunks_exact(self.n_classes).flat_map(Corrected::softmax);
            *learned = Learned {
                predictions: logits.chunks_exact(self.n_classes).map(likeliest).collect(),
                probabilities: shares.map(|share| share as f32).collect(),
                kept_at: epoch,
                loss,
                train_accuracy,
                ..*learned
            };
        }
    }
}

/// The first of the largest.
pub(crate) fn likeliest(values: &[f32]) -> u32 {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, unit};

    /// The gradient of a corrected prediction is that of differences, and without noise it is a
    /// log-softmax.
    #[test]
    fn corrections_are_what_their_formula_says() {
        let mut rng = SimRng::seed_from_u64(5);
        let x: Vec<f32> = (0..6).map(|_| 3.0 * unit(&mut rng) as f32).collect();
        let labels = [2, 0];
        for keep in [1.0, 0.6] {
            let corrected = Corrected {
                keep,
                other: (1.0 - keep) / 2.0,
                n_classes: 3,
            };
            let loss = |x: &[f32]| {
                let mut tape = Tape::new();
                let v = tape.variable(2, 3, x);
                let y = tape.custom(&corrected, &[v], 2, 3);
                let loss = tape.cross_entropy(y, &labels, None);
                tape.backward(loss);
                (f64::from(tape.scalar(loss)), tape.gradient(v).to_vec())
            };
            let plain: f64 = (0..2)
                .map(|row| {
                    let share = Corrected::softmax(&x[3 * row..][..3])[labels[row] as usize];
                    -libm::log(corrected.other + (keep - corrected.other) * share) / 2.0
                })
                .sum();
            let (value, gradient) = loss(&x);
            assert!((value - plain).abs() < 1e-6, "{value} {plain}");
            for at in 0..6 {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[at] += 0.01;
                down[at] -= 0.01;
                let slope = (loss(&up).0 - loss(&down).0) / 0.02;
                assert!(
                    (slope - f64::from(gradient[at])).abs() < 1e-3,
                    "{at}: {slope} {}",
                    gradient[at]
                );
            }
        }
    }
}
