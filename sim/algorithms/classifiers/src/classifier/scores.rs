//! What a model is worth: on all clients' items together, and in the mean over clients.

use super::data::{Part, Shard};
use super::{Classifier, Held};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Tape, Var};
use folkmoot_metrics::ClientScoreRow;
use folkmoot_metrics::key::score_name;
use folkmoot_rounds::{Exchange, RoundEnd, RoundEvaluator, SidePayload, Trainer};
use folkmoot_scores as scores;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

const VALIDATION: &str = "validation";
const TEST: &str = "test";

/// One number that a model is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The part of the data.
    pub split: &'static str,
    pub metric: &'static str,
    pub value: f64,
    /// How many samples, or clients, it is over.
    pub n: u64,
}

impl Score {
    /// Writes scores down as those of the present round.
    pub fn write(scores: &[Score], sheet: &mut Sheet) {
        for score in scores {
            sheet.score(score.split, score.metric, score.value, score.n);
        }
    }

    /// Writes scores down as the last: `test_accuracy` and so on.
    pub fn conclude(scores: &[Score], sheet: &mut Sheet) {
        for score in scores {
            sheet.number(score_name(score.split, score.metric), score.value);
        }
    }
}

/// The scores of a classifier that is trained in rounds, on what all clients hold.
pub struct Accuracy(pub Arc<Held>);

impl Accuracy {
    /// The scores of a round.
    pub fn of_round(&self, classifier: &Classifier, parameters: &[f32], sheet: &mut Sheet) {
        classifier.score(&self.0, parameters, sheet);
    }

    /// The scores of controls that need no training.
    pub fn of_controls(&self, classifier: &Classifier, sheet: &mut Sheet) {
        let n_classes = classifier.network().n_classes();
        self.0.controls(n_classes, &["test_client_accuracy"], sheet);
    }
}

impl<R: Trainer + AsRef<Classifier>, P: SidePayload<R>, X: Exchange<R>> RoundEvaluator<R, P, X> for Accuracy {
    fn after_round(&self, trainer: &R, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        self.of_round(trainer.as_ref(), parameters, sheet);
    }

    fn reads_clients(&self, _: &R) -> bool {
        false
    }

    fn controls(&self, trainer: &R, sheet: &mut Sheet) {
        self.of_controls(trainer.as_ref(), sheet);
    }

    fn scores(&self, end: &RoundEnd<'_, R, P, X>, sheet: &mut Sheet) {
        let classifier = end.trainer.as_ref();
        classifier.conclude(&self.0, end.parameters, sheet);
        classifier.untrained_control(&self.0, &end.first_model(), sheet);
        sheet.client_scores(classifier.client_scores(&self.0, |_, _| Cow::Borrowed(end.parameters)));
    }
}

/// A model's answers on one part of one shard.
struct Answers {
    /// The sum of the losses.
    loss: f64,
    actual: Vec<u32>,
    predicted: Vec<u32>,
    /// Shape `(n, n_classes)`.
    probabilities: Vec<f64>,
}

impl Classifier {
    /// Writes down what a model is worth in the present round.
    pub(crate) fn score(&self, held: &Held, parameters: &[f32], sheet: &mut Sheet) {
        let scores = self.evaluate(held, parameters);
        // A loss that is not finite is left out.
        let has = |split: &str, metric: &str| {
            scores
                .iter()
                .any(|score| score.split == split && score.metric == metric)
        };
        for split in [VALIDATION, TEST] {
            if has(split, "accuracy") && !has(split, "loss") {
                sheet.diverged(format!("the {split} loss is not finite"));
            }
        }
        Score::write(&scores, sheet);
    }

    /// Writes down what the last model is worth, beside the class that most training items have.
    pub fn conclude(&self, held: &Held, parameters: &[f32], sheet: &mut Sheet) {
        Score::conclude(&self.evaluate(held, parameters), sheet);
        if let Some(accuracy) = held.majority_accuracy(Part::Test, self.network().n_classes()) {
            sheet.reference("test_accuracy", "majority_class", accuracy);
        }
        if let Some(class) = self.only_answer(held, parameters) {
            sheet.warn(format!(
                "the last model predicts class {class} for every test item: it has not learned; help: more rounds, or another \
                 learning rate"
            ));
        }
    }

    /// The scores of the model that `model` gives for a client on the client's own test and
    /// validation items; a client without test items has no row.
    pub fn client_scores<'m>(
        &self,
        held: &Held,
        model: impl Fn(ClientId, &Shard) -> Cow<'m, [f32]> + Sync,
    ) -> Vec<ClientScoreRow> {
        let row = |(client, shard): (usize, &Shard)| {
            if shard.view(Part::Test).len() == 0 {
                return None;
            }
            let model = model(ClientId(client as u32), shard);
            let parts = [Part::Test, Part::Validation];
            let [answers, validation] = self.with_model(&model, |tape| self.answers_by(tape, shard, parts));
            let answers = answers?;
            let n = answers.actual.len();
            Some(ClientScoreRow {
                client: client as u32,
                items: n as u64,
                accuracy: answers.accuracy(),
                loss: Some(answers.loss / n as f64).filter(|loss| loss.is_finite()),
                validation_accuracy: validation.map(|answers| answers.accuracy()),
            })
        };
        let rows: Vec<Option<ClientScoreRow>> = held.shards.par_iter().enumerate().map(row).collect();
        rows.into_iter().flatten().collect()
    }

    /// How many of a shard's test items a model classifies rightly, and how many there are.
    pub fn hits(&self, shard: &Shard, parameters: &[f32]) -> [u64; 2] {
        let Some(answers) = self.answers(shard, Part::Test, parameters) else {
            return [0, 0];
        };
        let is_hit = |(actual, predicted): &(&u32, &u32)| actual == predicted;
        let hits = answers.actual.iter().zip(&answers.predicted).filter(is_hit).count();
        [hits as u64, answers.actual.len() as u64]
    }

    /// The mean cross entropy of a model over what a shard trains on; infinite where it is no
    /// number, and 0 without items.
    pub fn training_loss(&self, shard: &Shard, parameters: &[f32]) -> f64 {
        let loss = |answers: Answers| answers.loss / answers.actual.len() as f64;
        let loss = self.answers(shard, Part::Train, parameters).map_or(0.0, loss);
        if loss.is_nan() { f64::INFINITY } else { loss }
    }

    /// Scores of a model on the splits `validation` and `test`; a split without items has none.
    ///
    /// | metric | over |
    /// |---|---|
    /// | `accuracy`, `loss` | all items; the loss is the mean cross entropy |
    /// | `macro_f1` | all items, the mean over the classes that occur or are predicted |
    /// | `macro_auc` | all items, the mean over classes of one against the rest; absent unless every class occurs |
    /// | `client_accuracy`, `client_loss` | the mean over clients with items, each with the same weight |
    ///
    /// A value that is not finite is left out.
    pub fn evaluate(&self, held: &Held, parameters: &[f32]) -> Vec<Score> {
        let mut rows = Vec::new();
        let answers = self.by_client(held, [Part::Validation, Part::Test], parameters);
        for (split, by_client) in [VALIDATION, TEST].into_iter().zip(answers) {
            let mut row = |metric, value: f64, n: usize| {
                if value.is_finite() {
                    rows.push(Score {
                        split,
                        metric,
                        value,
                        n: n as u64,
                    });
                }
            };
            let all = Answers::pooled(&by_client);
            let (n, n_clients) = (all.actual.len(), by_client.len());
            if n == 0 {
                continue;
            }
            row("accuracy", all.accuracy(), n);
            row("loss", all.loss / n as f64, n);
            if let Ok(f1) = scores::f1_multi_class(&all.actual, &all.predicted) {
                row("macro_f1", f1.macro_mean, n);
            }
            if let Ok(auc) = scores::auc_one_vs_rest(&all.actual, &all.probabilities, self.network.n_classes()) {
                row("macro_auc", auc, n);
            }
            let mean = |value: fn(&Answers) -> f64| by_client.iter().map(value).sum::<f64>() / n_clients as f64;
            row("client_accuracy", mean(Answers::accuracy), n_clients);
            row("client_loss", mean(|a| a.loss / a.actual.len() as f64), n_clients);
        }
        rows
    }

    /// A model's answers on parts, each by client.
    fn by_client<const N: usize>(&self, held: &Held, parts: [Part; N], parameters: &[f32]) -> [Vec<Answers>; N] {
        // The model is loaded once for several shards, where there are so many that all threads
        // have work all the same.
        const PIECES: usize = 64;
        let together = held.shards.len().div_ceil(PIECES).max(1);
        let of_some = |shards: &[Shard]| -> Vec<[Option<Answers>; N]> {
            self.with_model(parameters, |tape| {
                let of_shard = |shard| self.answers_by(tape, shard, parts);
                shards.iter().map(of_shard).collect()
            })
        };
        let all: Vec<Vec<[Option<Answers>; N]>> = held.shards.par_chunks(together).map(of_some).collect();
        let mut by_client = parts.map(|_| Vec::new());
        for answers in all.into_iter().flatten() {
            by_client
                .iter_mut()
                .zip(answers)
                .for_each(|(to, of_part)| to.extend(of_part));
        }
        by_client
    }

    /// The accuracy of a model on all items of a part; `None` without any.
    pub(crate) fn accuracy(&self, held: &Held, part: Part, parameters: &[f32]) -> Option<f64> {
        let [by_client] = self.by_client(held, [part], parameters);
        (!by_client.is_empty()).then(|| Answers::pooled(&by_client).accuracy())
    }

    /// The class that a model answers for every test item, if it does although they are of several.
    fn only_answer(&self, held: &Held, parameters: &[f32]) -> Option<u32> {
        let [by_client] = self.by_client(held, [Part::Test], parameters);
        let Answers { actual, predicted, .. } = Answers::pooled(&by_client);
        let only = |classes: &[u32]| {
            classes
                .first()
                .copied()
                .filter(|first| classes.iter().all(|class| class == first))
        };
        only(&predicted).filter(|_| only(&actual).is_none())
    }

    /// How likely a model thinks each class of each node or graph that a shard trains, validates or
    /// tests on with the training part's batch: shape `(rows, n_classes)`, row-major. Of nodes of
    /// one graph that is all of them.
    pub(crate) fn probabilities(&self, shard: &Shard, parameters: &[f32]) -> Vec<f64> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let logits = self.network.logits(tape, shard.view(Part::Train).batch, None);
            let shares = tape.softmax(logits, None);
            tape.value(shares).iter().map(|share| f64::from(*share)).collect()
        })
    }

    /// The mean over nodes of the rows of the last graph layer, of as many numbers as it is wide.
    pub(crate) fn mean_row(&self, batch: &Batch, parameters: &[f32]) -> Vec<f32> {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            let rows = self.network.node_rows(tape, batch);
            let mut sums = vec![0.0; self.network.n_hidden()];
            for row in tape.value(rows).chunks_exact(sums.len()) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let n = batch.csr().n_rows() as f64;
            sums.into_iter().map(|sum| (sum / n) as f32).collect()
        })
    }

    fn answers(&self, shard: &Shard, part: Part, parameters: &[f32]) -> Option<Answers> {
        let [answers] = self.with_model(parameters, |tape| self.answers_by(tape, shard, [part]));
        answers
    }

    fn with_model<'g, R>(&self, parameters: &[f32], work: impl FnOnce(&mut Tape<'g>) -> R) -> R {
        Tape::with_own(|tape| {
            tape.load(self.network.layout(), parameters);
            work(tape)
        })
    }

    /// What the model that the tape holds answers on parts of a shard, where these have items.
    fn answers_by<'g, const N: usize>(
        &self,
        tape: &mut Tape<'g>,
        shard: &'g Shard,
        parts: [Part; N],
    ) -> [Option<Answers>; N] {
        tape.reset();
        // Parts of one graph are asked at once.
        let mut asked: Option<(&Batch, [Var; 2])> = None;
        parts.map(|part| {
            let view = shard.view(part);
            let n = view.len();
            if n == 0 {
                return None;
            }
            let [logits, shares] = match asked {
                Some((batch, rows)) if std::ptr::eq(batch, view.batch) => rows,
                _ => {
                    let logits = self.network.logits(tape, view.batch, None);
                    [logits, tape.softmax(logits, None)]
                }
            };
            asked = Some((view.batch, [logits, shares]));
            let loss = tape.cross_entropy(logits, view.labels, view.mask);
            let n_classes = self.network.n_classes();
            let mut answers = Answers {
                loss: f64::from(tape.scalar(loss)) * n as f64,
                actual: Vec::with_capacity(n),
                predicted: Vec::with_capacity(n),
                probabilities: Vec::with_capacity(n * n_classes),
            };
            let rows = tape
                .value(shares)
                .chunks_exact(n_classes)
                .zip(tape.value(logits).chunks_exact(n_classes));
            for (i, (shares, logits)) in rows.enumerate() {
                if view.mask.is_none_or(|mask| mask[i]) {
                    answers.actual.push(view.labels[i]);
                    answers.predicted.push(largest(logits));
                    answers
                        .probabilities
                        .extend(shares.iter().map(|share| f64::from(*share)));
                }
            }
            Some(answers)
        })
    }
}

impl Held {
    /// The accuracy on all items of a part of whoever always answers the class that most training
    /// items have (of equals, the first); `None` without such items.
    pub fn majority_accuracy(&self, part: Part, n_classes: usize) -> Option<f64> {
        let majority = self.majority_class(n_classes)?;
        let (mut hits, mut n) = (0_u64, 0_u64);
        for (_, class) in self.labels(part) {
            n += 1;
            hits += u64::from(class == majority);
        }
        (n > 0).then(|| hits as f64 / n as f64)
    }

    /// The class that most training items have, of equals the first; `None` without classes.
    pub(super) fn majority_class(&self, n_classes: usize) -> Option<u32> {
        let mut counts = vec![0_u64; n_classes];
        for (_, class) in self.labels(Part::Train) {
            counts[class as usize] += 1;
        }
        let most = counts.iter().max()?;
        counts.iter().position(|count| count == most).map(|class| class as u32)
    }

    /// How many items of a part there are.
    pub(super) fn n_items(&self, part: Part) -> u64 {
        self.labels(part).count() as u64
    }

    /// The shard and the class of every item of a part.
    pub(super) fn labels(&self, part: Part) -> impl Iterator<Item = (usize, u32)> {
        self.shards.iter().enumerate().flat_map(move |(client, shard)| {
            let view = shard.view(part);
            let counts = move |i: &usize| view.mask.is_none_or(|mask| mask[*i]);
            (0..view.labels.len())
                .filter(counts)
                .map(move |i| (client, view.labels[i]))
        })
    }
}

/// The position of the largest number, of equals the first.
fn largest(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (class, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = class;
        }
    }
    best as u32
}

impl Answers {
    fn accuracy(&self) -> f64 {
        scores::accuracy(&self.actual, &self.predicted).unwrap_or(f64::NAN)
    }

    /// The answers of all clients, in ascending order.
    fn pooled(by_client: &[Answers]) -> Answers {
        let mut all = Answers {
            loss: 0.0,
            actual: Vec::new(),
            predicted: Vec::new(),
            probabilities: Vec::new(),
        };
        for answers in by_client {
            all.loss += answers.loss;
            all.actual.extend(&answers.actual);
            all.predicted.extend(&answers.predicted);
            all.probabilities.extend(&answers.probabilities);
        }
        all
    }
}
