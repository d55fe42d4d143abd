//! A perceptron that learns labels.

use super::scaling::Scaling;
use super::{Known, Table, folds, macro_auc};
use folkmoot_draws::{SimRng, shuffle};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adam, Layout, Moments, Optimiser, Tape, Var};

/// Folds of the known groups, one of which is the validation set.
const N_FOLDS: usize = 5;

/// Architecture and training settings of a perceptron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerceptronSettings {
    pub layers: usize,
    /// The width of all layers except the last.
    pub width: usize,
    /// Passes over the known rows.
    pub epochs: u32,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    pub batch: usize,
    /// Whether to scale each column to mean 0 and variance 1 over the known rows.
    pub standardise: bool,
}

/// A perceptron that has learned.
pub struct Perceptron {
    scaling: Scaling,
    layout: Layout,
    layers: Vec<Linear>,
    parameters: Vec<f32>,
}

impl PerceptronSettings {
    /// Learns labels below `n_classes`. With a `validation` the perceptron is that of the epoch
    /// that guessed it best, without that of the last one.
    pub fn learn(
        &self,
        (rows, labels): (&Table, &[u32]),
        validation: Option<(&Table, &[u32])>,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Perceptron {
        let mut perceptron = self.initialise(rows, n_classes, rng);
        let optimiser = Optimiser::Adam(Adam {
            learning_rate: self.learning_rate as f32,
            ..Adam::default()
        });
        let scaled = perceptron.scaling.apply(rows);
        let mut moments = Moments::new();
        let mut order: Vec<u32> = (0..labels.len() as u32).collect();
        let mut best: Option<(f64, Vec<f32>)> = None;
        for _ in 0..self.epochs {
            shuffle(rng, &mut order);
            for batch in order.chunks(self.batch) {
                let x = scaled.select(batch);
                let labels: Vec<u32> = batch.iter().map(|&i| labels[i as usize]).collect();
                Tape::with_own(|tape| {
                    tape.load(&perceptron.layout, &perceptron.parameters);
                    let logits = perceptron.logits(tape, &x);
                    let loss = tape.cross_entropy(logits, &labels, None);
                    tape.backward(loss);
                    optimiser.step(&mut moments, &mut perceptron.parameters, tape.parameters_mut().1);
                });
            }
            let area = validation.and_then(|(rows, labels)| macro_auc(labels, &perceptron.scores(rows), n_classes));
            if let Some(area) = area
                && best.as_ref().is_none_or(|(most, _)| area > *most)
            {
                best = Some((area, perceptron.parameters.clone()));
            }
        }
        if let Some((_, parameters)) = best {
            perceptron.parameters = parameters;
        }
        perceptron
    }

    fn initialise(&self, rows: &Table, n_classes: usize, rng: &mut SimRng) -> Perceptron {
        let last = self.layers - 1;
        let mut layout = Layout::new();
        let layers = (0..=last)
            .map(|l| {
                let n_in = if l == 0 { rows.width() } else { self.width };
                let n_out = if l == last { n_classes } else { self.width };
                Linear::new(&mut layout, &l.to_string(), n_in, n_out)
            })
            .collect();
        Perceptron {
            scaling: match self.standardise {
                true => Scaling::of(rows),
                false => Scaling::none(rows.width()),
            },
            parameters: layout.initialise(rng),
            layout,
            layers,
        }
    }

    /// The scores of `targets` by a perceptron with the parameters of the epoch that has the
    /// highest AUC on a fifth of the known groups.
    pub(super) fn learn_and_score(
        &self,
        known: &Known,
        targets: &Table,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Vec<f64> {
        let folds = folds::by_group(&known.groups, N_FOLDS, rng);
        let (learned, validation) = folds::part(&folds, 0);
        // With one group there is no validation set.
        let perceptron = match learned.is_empty() {
            true => self.learn((&known.rows, &known.labels), None, n_classes, rng),
            false => {
                let [learned, validation] = [learned, validation].map(|ids| known.select(&ids));
                let validation = (&validation.rows, validation.labels.as_slice());
                self.learn((&learned.rows, &learned.labels), Some(validation), n_classes, rng)
            }
        };
        perceptron.scores(targets)
    }
}

impl Perceptron {
    /// Class probabilities, shape `(n, n_classes)`.
    pub fn scores(&self, rows: &Table) -> Vec<f64> {
        let x = self.scaling.apply(rows);
        Tape::with_own(|tape| {
            tape.load(&self.layout, &self.parameters);
            let logits = self.logits(tape, &x);
            let probabilities = tape.softmax(logits, None);
            tape.value(probabilities).iter().map(|x| f64::from(*x)).collect()
        })
    }

    fn logits<'g>(&self, tape: &mut Tape<'g>, x: &'g Table) -> Var {
        let (last, first) = self.layers.split_last().expect("a perceptron has a layer");
        let mut h = tape.input(x.n_rows(), x.width(), x.values());
        for layer in first {
            h = layer.forward_relu(tape, h);
        }
        last.forward(tape, h)
    }
}
