//! What a model is worth: on all clients' items together, and in the mean over clients.

use super::data::{Part, Shard, View};
use super::loss::{Loss, OfTask, Truths};
use super::measures::{Answers, mean};
use super::{Classifier, Held, Task};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Batch, Tape, Var};
use folkmoot_metrics::artifacts::CLIENT_METRICS;
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::{ClientScoreRow, Spread};
use folkmoot_rounds::{Exchange, RoundEnd, RoundEvaluator, SidePayload, Trainer};
use rayon::prelude::*;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

pub(super) const VALIDATION: &str = "validation";
pub(super) const TEST: &str = "test";

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
        let of_clients: &[&str] = match classifier.task {
            Task::Classes => &["client"],
            Task::Labels | Task::Numbers => &["client", "own"],
        };
        classifier.controls(&self.0, of_clients, sheet);
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
        let rows = classifier.client_scores(&self.0, |_, _| Cow::Borrowed(end.parameters), sheet);
        classifier.honest_scores(&rows, (&self.0, end.run.streams), sheet);
        sheet.client_scores(rows);
    }
}

impl Classifier {
    /// Writes down what a model is worth in the present round.
    pub(crate) fn score(&self, held: &Held, parameters: &[f32], sheet: &mut Sheet) {
        let scores = self.evaluate(held, parameters);
        // A loss that is not finite is left out.
        let has_loss = |split: &str| {
            scores
                .iter()
                .any(|score| score.split == split && score.metric == "loss")
        };
        for (split, part) in [(VALIDATION, Part::Validation), (TEST, Part::Test)] {
            if held.n_items(part) > 0 && !has_loss(split) {
                sheet.diverged(format!("the {split} loss is not finite"));
            }
        }
        Score::write(&scores, sheet);
        self.score_attack(held, parameters, sheet);
    }

    /// Writes down what the last model is worth, beside the constant answer.
    pub fn conclude(&self, held: &Held, parameters: &[f32], sheet: &mut Sheet) {
        let parts = [Part::Validation, Part::Test];
        let [validation, test] = self.by_client(held, parts, parameters);
        Score::conclude(&self.task.scores(VALIDATION, &validation), sheet);
        let scores = self.task.scores(TEST, &test);
        Score::conclude(&scores, sheet);
        let all = Answers::pooled(&test);
        if self.targets.len() > 1 {
            for metric in ["mae", "rmse", "r2"] {
                for (at, target) in self.targets.iter().enumerate() {
                    if let Some(value) = all.number(at, metric) {
                        sheet.point(score_name(TEST, metric), ("target", &target.name), value);
                    }
                }
            }
        }
        self.references(held, &scores, sheet);
        self.conclude_attack(held, &[parameters], sheet);
        if let Some(answer) = self.only_answer(&all) {
            sheet.warn(format!(
                "the last model predicts {answer} for every test item: it has not learned; help: more rounds, or another \
                 learning rate"
            ));
        }
    }

    /// The scores of the model that `model` gives for a client on the client's own test and
    /// validation items, as rows for classes; a client without test items has none. For other tasks
    /// there are no rows, and mean, worst 10 % and spread of the leading score are written down.
    pub fn client_scores<'m>(
        &self,
        held: &Held,
        model: impl Fn(ClientId, &Shard) -> Cow<'m, [f32]> + Sync,
        sheet: &mut Sheet,
    ) -> Vec<ClientScoreRow> {
        let of_client = |(client, shard): (usize, &Shard)| {
            if shard.view(Part::Test).len() == 0 {
                return None;
            }
            let model = model(ClientId(client as u32), shard);
            let parts = [Part::Test, Part::Validation];
            let [test, validation] = self.with_model(&model, |tape| self.answers_by(tape, shard, parts));
            Some((client as u32, test?, validation))
        };
        let all = held.shards.par_iter().enumerate().map(of_client);
        let all: Vec<Option<(u32, Answers, Option<Answers>)>> = all.collect();
        let all: Vec<(u32, Answers, Option<Answers>)> = all.into_iter().flatten().collect();
        if !self.task.is_classes() {
            self.fare(&all, sheet);
            return Vec::new();
        }
        let accuracy = |answers: &Answers| answers.measure(self.task, "accuracy");
        let row = |(client, test, validation): &(u32, Answers, Option<Answers>)| ClientScoreRow {
            client: *client,
            items: test.n as u64,
            accuracy: accuracy(test).unwrap_or(f64::NAN),
            loss: test.measure(self.task, "loss").filter(|loss| loss.is_finite()),
            validation_accuracy: validation.as_ref().and_then(accuracy),
        };
        all.iter().map(row).collect()
    }

    /// Writes down how clients fare by the leading score, with their test and validation answers.
    fn fare(&self, all: &[(u32, Answers, Option<Answers>)], sheet: &mut Sheet) {
        let lead = self.task.lead();
        let name = lead.metric;
        let mut table = CLIENT_METRICS.header(&[]);
        let mut of_split = |split: &str, answers: Vec<(u32, &Answers)>| -> Vec<f64> {
            let mut values = Vec::new();
            for (client, answers) in answers {
                for metric in [name, "loss"] {
                    let value = answers.measure(self.task, metric).filter(|value| value.is_finite());
                    let Some(value) = value else { continue };
                    let _ = writeln!(table, "{client},{split},{metric},{value},{}", answers.n);
                    if metric == name {
                        values.push(value);
                    }
                }
            }
            values
        };
        let mut test = of_split(TEST, all.iter().map(|(client, test, _)| (*client, test)).collect());
        let validation = all
            .iter()
            .filter_map(|(client, _, answers)| Some((*client, answers.as_ref()?)));
        let validation = of_split(VALIDATION, validation.collect());
        sheet.number_if(format!("validation_own_{name}"), mean(&validation));
        if test.is_empty() {
            return;
        }
        sheet.number_if(format!("test_own_{name}"), mean(&test));
        sheet.number(format!("test_own_spread_{name}"), Spread::of(&test).population_std());
        test.sort_unstable_by(f64::total_cmp);
        if !lead.higher_is_better {
            test.reverse();
        }
        test.truncate(test.len().div_ceil(10));
        sheet.number_if(format!("test_own_worst_tenth_{name}"), mean(&test));
        sheet.artifact(CLIENT_METRICS.file, table.into_bytes());
    }

    /// How many of a shard's test items a model classifies rightly, and how many there are; none
    /// where no classes are learned.
    pub fn hits(&self, shard: &Shard, parameters: &[f32]) -> [u64; 2] {
        let Some(answers) = self.answers(shard, Part::Test, parameters) else {
            return [0, 0];
        };
        let is_hit = |(actual, predicted): &(&u32, &u32)| actual == predicted;
        let hits = answers.actual.iter().zip(&answers.predicted).filter(is_hit).count();
        [hits as u64, answers.actual.len() as u64]
    }

    /// The mean loss of a model over what a shard trains on; infinite where it is no number, and 0
    /// without items.
    pub fn training_loss(&self, shard: &Shard, parameters: &[f32]) -> f64 {
        let loss = |answers: Answers| answers.measure(self.task, "loss");
        let loss = self
            .answers(shard, Part::Train, parameters)
            .and_then(loss)
            .unwrap_or(0.0);
        if loss.is_nan() { f64::INFINITY } else { loss }
    }

    /// Scores of a model on the splits `validation` and `test`; a split without items has none.
    ///
    /// | task | metric | over |
    /// |---|---|---|
    /// | all | `loss` | all items, the mean of the task's loss |
    /// | classes | `accuracy` | all items |
    /// | | `macro_f1` | all items, the mean over the classes that occur or are predicted |
    /// | | `macro_auc` | all items, the mean over classes of one against the rest; absent unless every class occurs |
    /// | labels | `average_precision` | known labels, the mean over labels with a positive item |
    /// | | `micro_f1` | known labels, predicted where the probability is above 0.5 |
    /// | | `macro_f1` | the same, the mean over labels with a positive item in truth or as predicted |
    /// | | `roc_auc` | known labels, the mean over labels with a positive and a negative item |
    /// | numbers | `mae`, `rmse`, `r2` | known numbers, in their own unit; the mean over targets; `r2` against the mean of these items |
    /// | all | `client_…` | the mean over clients for whom it is defined, each with the same weight |
    ///
    /// A value that is not finite is left out.
    pub fn evaluate(&self, held: &Held, parameters: &[f32]) -> Vec<Score> {
        let answers = self.by_client(held, [Part::Validation, Part::Test], parameters);
        let splits = [VALIDATION, TEST].into_iter().zip(answers);
        splits
            .flat_map(|(split, by_client)| self.task.scores(split, &by_client))
            .collect()
    }

    /// A model's answers on parts, each by client.
    pub(super) fn by_client<const N: usize>(
        &self,
        held: &Held,
        parts: [Part; N],
        parameters: &[f32],
    ) -> [Vec<Answers>; N] {
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

    /// The leading score of a model on all items of a part: accuracy, average precision or MAE;
    /// `None` without any, or where it is undefined or not finite.
    pub(crate) fn lead_score(&self, held: &Held, part: Part, parameters: &[f32]) -> Option<f64> {
        let [by_client] = self.by_client(held, [part], parameters);
        let score = Answers::pooled(&by_client).measure(self.task, self.task.lead().metric);
        score.filter(|score| score.is_finite())
    }

    /// The one answer that a model gives to all test items, if it does although they differ.
    fn only_answer(&self, test: &Answers) -> Option<String> {
        match self.task {
            Task::Classes => {
                let only = |classes: &[u32]| {
                    classes
                        .first()
                        .copied()
                        .filter(|first| classes.iter().all(|class| class == first))
                };
                let class = only(&test.predicted).filter(|_| only(&test.actual).is_none());
                class.map(|class| format!("class {class}"))
            }
            Task::Labels => {
                let is_none = test.n > 0 && !test.positive().contains(&true) && test.truth.contains(&1.0);
                is_none.then(|| "no label".to_owned())
            }
            Task::Numbers => {
                let equal = |values: &[f64]| values.chunks_exact(test.width).all(|row| *row == values[..test.width]);
                let is_one = test.n > 1 && equal(&test.answers) && !equal(&test.truth);
                is_one.then(|| format!("{} = {}", self.targets[0].name, test.answers[0]))
            }
        }
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

    pub(super) fn answers(&self, shard: &Shard, part: Part, parameters: &[f32]) -> Option<Answers> {
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
            let loss = OfTask {}.loss(tape, logits, Truths::of(self.task, view));
            let width = self.network.n_classes();
            let mut answers = Answers {
                n,
                width,
                n_losses: match self.task {
                    Task::Classes => n,
                    Task::Labels | Task::Numbers => view.known.iter().filter(|known| **known).count(),
                },
                ..Answers::default()
            };
            answers.loss = f64::from(tape.scalar(loss)) * answers.n_losses as f64;
            let (shares, logits) = (tape.value(shares), tape.value(logits));
            for row in view.rows() {
                let of_row = row * width..(row + 1) * width;
                match self.task {
                    Task::Classes => {
                        answers.actual.push(view.truth.classes[row]);
                        answers.predicted.push(largest(&logits[of_row.clone()]));
                        let shares = shares[of_row].iter().map(|share| f64::from(*share));
                        answers.probabilities.extend(shares);
                    }
                    Task::Labels | Task::Numbers => {
                        answers.truth.extend(self.truth_of(view, row));
                        answers.answers.extend(self.in_own_unit(&logits[of_row]));
                    }
                }
            }
            Some(answers)
        })
    }

    /// The values of a row, in their own unit; NaN where unknown; none for classes.
    pub(super) fn truth_of<'a>(&'a self, view: View<'a>, row: usize) -> impl Iterator<Item = f64> + 'a {
        let (values, known) = view.truth.row(row);
        let values = self.in_own_unit(values).zip(known);
        values.map(|(x, known)| if *known { x } else { f64::NAN })
    }

    /// Labels or logits as they are, numbers in their own unit.
    pub(super) fn in_own_unit<'a>(&'a self, values: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        values.iter().enumerate().map(|(at, x)| match self.targets.get(at) {
            Some(scale) => scale.unscaled(*x),
            None => f64::from(*x),
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
        self.shards.iter().map(|shard| shard.view(part).len() as u64).sum()
    }

    /// The shard and the class of every item of a part.
    pub(super) fn labels(&self, part: Part) -> impl Iterator<Item = (usize, u32)> {
        self.shards.iter().enumerate().flat_map(move |(client, shard)| {
            let view = shard.view(part);
            view.rows().map(move |row| (client, view.truth.classes[row]))
        })
    }
}

/// The position of the largest number, of equals the first.
pub(super) fn largest<T: PartialOrd>(logits: &[T]) -> u32 {
    let mut best = 0;
    for (class, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = class;
        }
    }
    best as u32
}
