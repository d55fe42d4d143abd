//! What a model is worth on the common validation and test graphs.

use super::data::Labels;
use super::evaluator::View;
use super::step::Step;
use folkmoot_classifiers::classifier::Score;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Tape;
use folkmoot_scores as scores;
use rayon::prelude::*;

pub(super) const INFERENCE: Purpose = Purpose(*b"fg-infer");
/// Graphs that are scored at a time: a fixed number, so that sums do not depend on threads.
const CHUNK: usize = 16;

/// A model's answers on some graphs.
struct Answer {
    /// The sum of the losses, and of how many labels.
    loss: f64,
    n_known: usize,
    /// Shape `(n_graphs, n_outputs)`.
    logits: Vec<f32>,
}

impl View<'_> {
    /// Scores of a model on the splits `validation` and `test`; a split without graphs has none.
    ///
    /// | metric | |
    /// |---|---|
    /// | `roc_auc` | of one class against the other (of several, the mean of each against the rest); with tasks their mean, over those with both answers |
    /// | `loss` | the mean loss over labels, without the contrastive term |
    /// | `accuracy` | with classes only |
    ///
    /// With noise, each graph is seen through one view of the first budget, drawn once for the run.
    /// A value that is not finite is left out.
    pub(super) fn scores(&self, parameters: &[f32]) -> Vec<Score> {
        let mut rows = Vec::new();
        for (split, items) in [("validation", &self.data.validation), ("test", &self.data.test)] {
            if items.is_empty() {
                continue;
            }
            let chunks: Vec<Answer> = items
                .par_chunks(CHUNK)
                .map(|items| self.answer(items, parameters))
                .collect();
            let n_known: usize = chunks.iter().map(|answer| answer.n_known).sum();
            let loss = chunks.iter().map(|answer| answer.loss).sum::<f64>() / n_known as f64;
            let logits: Vec<f32> = chunks.into_iter().flat_map(|answer| answer.logits).collect();
            let mut row = |metric, value: f64| {
                if value.is_finite() {
                    rows.push(Score {
                        split,
                        metric,
                        value,
                        n: items.len() as u64,
                    });
                }
            };
            if let Some(auc) = self.roc_auc(items, &logits) {
                row("roc_auc", auc);
            }
            row("loss", loss);
            if let Labels::Classes(classes, n_classes) = &self.data.labels {
                let hits = items
                    .iter()
                    .zip(logits.chunks_exact(*n_classes))
                    .filter(|(item, logits)| largest(logits) == classes[**item as usize] as usize);
                row("accuracy", hits.count() as f64 / items.len() as f64);
            }
        }
        rows
    }

    fn answer(&self, items: &[u32], parameters: &[f32]) -> Answer {
        let fgcl = self.fgcl;
        let mut step = Step::new(fgcl.network.n_features(), fgcl.noise.is_some());
        let (mut matrix, mut degrees) = (Vec::new(), Vec::new());
        for &item in items {
            let graph = &self.data.items[item as usize];
            if let Some(noise) = &fgcl.noise {
                let mut rng = self
                    .streams
                    .counted(INFERENCE, Party::Server, Round(0), u64::from(item));
                noise.look(0, graph, &mut rng, &mut matrix, &mut degrees);
            }
            step.assembly.push(graph, &matrix);
        }
        step.ask(&self.data.labels, items);
        Tape::with_own(|tape| {
            tape.load(fgcl.network.layout(), parameters);
            let mut own = std::mem::take(tape).recycle();
            let (logits, loss) = fgcl.answers(&mut own, &step);
            let n_known = step.n_known();
            let answer = Answer {
                loss: f64::from(own.scalar(loss)) * n_known as f64,
                n_known,
                logits: own.value(logits).to_vec(),
            };
            *tape = own.recycle();
            answer
        })
    }

    fn roc_auc(&self, items: &[u32], logits: &[f32]) -> Option<f64> {
        match &self.data.labels {
            Labels::Classes(classes, 2) => {
                let positive: Vec<bool> = items.iter().map(|item| classes[*item as usize] == 1).collect();
                let margin = |row: &[f32]| f64::from(row[1]) - f64::from(row[0]);
                let margins: Vec<f64> = logits.chunks_exact(2).map(margin).collect();
                scores::auc(&positive, &margins).ok()
            }
            Labels::Classes(classes, n_classes) => {
                let actual: Vec<u32> = items.iter().map(|item| classes[*item as usize]).collect();
                let shares: Vec<f64> = logits.chunks_exact(*n_classes).flat_map(softmax).collect();
                scores::auc_one_vs_rest(&actual, &shares, *n_classes).ok()
            }
            Labels::Tasks(tasks) => {
                let entries = || items.iter().flat_map(|item| tasks.of(*item));
                let positive: Vec<bool> = entries().map(|label| *label == Some(true)).collect();
                let labelled: Vec<bool> = entries().map(Option::is_some).collect();
                let logits: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
                scores::masked_auc(&positive, &labelled, &logits, tasks.n_tasks())
                    .ok()?
                    .mean
            }
        }
    }
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|logit| libm::exp(f64::from(logit - most))).collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}

/// The position of the largest number, of equals the first.
fn largest(logits: &[f32]) -> usize {
    let mut best = 0;
    for (class, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = class;
        }
    }
    best
}
