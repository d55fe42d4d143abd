//! Scores of answers, for each task.

use super::scores::Score;
use super::task::Task;
use folkmoot_scores::{self as scores, NumberErrors};

/// A model's answers on items; of a task without classes both lists have shape `(n, width)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Items.
    pub(super) n: usize,
    /// The sum of the losses, and of how many: items, known labels or known numbers.
    pub(super) loss: f64,
    pub(super) n_losses: usize,
    /// Outputs.
    pub(super) width: usize,
    /// The classes of the items.
    pub(super) actual: Vec<u32>,
    pub(super) predicted: Vec<u32>,
    /// Shape `(n, width)`.
    pub(super) probabilities: Vec<f64>,
    /// Labels 0 and 1, or numbers in their own unit; NaN where unknown.
    pub(super) truth: Vec<f64>,
    /// Of labels a score above 0 where they are predicted; numbers in their own unit.
    pub(super) answers: Vec<f64>,
}

/// How the score is called that clients are compared by.
pub(crate) struct Lead {
    pub(crate) metric: &'static str,
    pub(crate) of_clients: &'static str,
    pub(crate) higher_is_better: bool,
}

impl Task {
    /// Scores over all items.
    fn metrics(self) -> &'static [&'static str] {
        match self {
            Task::Classes => &["accuracy", "loss", "macro_f1", "macro_auc"],
            Task::Labels => &["average_precision", "loss", "micro_f1", "macro_f1", "roc_auc"],
            Task::Numbers => &["mae", "loss", "rmse", "r2"],
        }
    }

    /// Scores of which the mean over clients is taken, and its name.
    fn client_metrics(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Task::Classes => &[("accuracy", "client_accuracy"), ("loss", "client_loss")],
            Task::Labels => &[
                ("average_precision", "client_average_precision"),
                ("micro_f1", "client_micro_f1"),
                ("loss", "client_loss"),
            ],
            Task::Numbers => &[("mae", "client_mae"), ("loss", "client_loss")],
        }
    }

    pub(crate) fn lead(self) -> Lead {
        let (metric, of_clients) = self.client_metrics()[0];
        Lead {
            metric,
            of_clients,
            higher_is_better: self != Task::Numbers,
        }
    }

    /// The scores that controls have, too.
    pub(super) fn controlled(self) -> &'static [&'static str] {
        match self {
            Task::Classes => &["accuracy", "client_accuracy"],
            Task::Labels => &[
                "average_precision",
                "micro_f1",
                "macro_f1",
                "roc_auc",
                "client_average_precision",
                "client_micro_f1",
            ],
            Task::Numbers => &["mae", "rmse", "r2", "client_mae"],
        }
    }

    /// The scores of answers, each of a client; none without items. A score that is undefined or
    /// not finite is left out; a mean over clients is over those for whom it is defined.
    pub(super) fn scores(self, split: &'static str, by_client: &[Answers]) -> Vec<Score> {
        let all = Answers::pooled(by_client);
        if all.n == 0 {
            return Vec::new();
        }
        let score = |metric, value: Option<f64>, n: usize| {
            let value = value.filter(|value| value.is_finite())?;
            let n = n as u64;
            Some(Score {
                split,
                metric,
                value,
                n,
            })
        };
        let pooled = self
            .metrics()
            .iter()
            .map(|metric| score(*metric, all.measure(self, metric), all.n));
        let of_clients = self.client_metrics().iter().map(|(metric, name)| {
            let each = by_client.iter().filter_map(|answers| answers.measure(self, metric));
            let each: Vec<f64> = each.collect();
            score(*name, mean(&each), each.len())
        });
        pooled.chain(of_clients).flatten().collect()
    }
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Answers {
    /// The answers of all clients, in ascending order.
    pub(super) fn pooled(by_client: &[Answers]) -> Answers {
        let mut all = Answers::default();
        for answers in by_client {
            all.n += answers.n;
            all.loss += answers.loss;
            all.n_losses += answers.n_losses;
            all.width = answers.width;
            all.actual.extend(&answers.actual);
            all.predicted.extend(&answers.predicted);
            all.probabilities.extend(&answers.probabilities);
            all.truth.extend(&answers.truth);
            all.answers.extend(&answers.answers);
        }
        all
    }

    /// The value of one of the [metrics](Task::metrics); `None` where it is undefined.
    pub(super) fn measure(&self, task: Task, metric: &str) -> Option<f64> {
        if metric == "loss" {
            return (self.n_losses > 0).then(|| self.loss / self.n_losses as f64);
        }
        match task {
            Task::Classes => self.of_classes(metric),
            Task::Labels => self.of_labels(metric),
            Task::Numbers => self.of_numbers(metric),
        }
    }

    fn of_classes(&self, metric: &str) -> Option<f64> {
        let (actual, predicted) = (&self.actual, &self.predicted);
        match metric {
            "accuracy" => scores::accuracy(actual, predicted).ok(),
            "macro_f1" => scores::f1_multi_class(actual, predicted).ok().map(|f1| f1.macro_mean),
            "macro_auc" => scores::auc_one_vs_rest(actual, &self.probabilities, self.width).ok(),
            _ => None,
        }
    }

    fn of_labels(&self, metric: &str) -> Option<f64> {
        let positive: Vec<bool> = self.truth.iter().map(|x| *x == 1.0).collect();
        let known: Vec<bool> = self.truth.iter().map(|x| !x.is_nan()).collect();
        let f1 = || scores::masked_f1(&positive, &known, &self.positive(), self.width).ok();
        match metric {
            "micro_f1" => f1()?.micro,
            "macro_f1" => f1()?.labels.mean,
            "roc_auc" => {
                scores::masked_auc(&positive, &known, &self.answers, self.width)
                    .ok()?
                    .mean
            }
            "average_precision" => {
                scores::masked_average_precision(&positive, &known, &self.answers, self.width)
                    .ok()?
                    .mean
            }
            _ => None,
        }
    }

    /// Whether each label is predicted.
    pub(super) fn positive(&self) -> Vec<bool> {
        self.answers.iter().map(|answer| *answer > 0.0).collect()
    }

    fn of_numbers(&self, metric: &str) -> Option<f64> {
        let each = (0..self.width).filter_map(|target| self.number(target, metric));
        mean(&each.collect::<Vec<f64>>())
    }

    /// The value for one of the numbers.
    pub(super) fn number(&self, target: usize, metric: &str) -> Option<f64> {
        let pairs = self.truth.iter().zip(&self.answers).skip(target).step_by(self.width);
        let known = pairs.filter(|(truth, _)| !truth.is_nan());
        let (truth, answers): (Vec<f64>, Vec<f64>) = known.map(|(truth, answer)| (*truth, *answer)).unzip();
        let NumberErrors { mae, rmse, r2 } = scores::number_errors(&truth, &answers).ok()?;
        match metric {
            "mae" => Some(mae),
            "rmse" => Some(rmse),
            "r2" => r2,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(scores: &[Score], metric: &str) -> Option<(f64, u64)> {
        let found = scores.iter().find(|score| score.metric == metric)?;
        Some((found.value, found.n))
    }

    fn labels(truth: &[f64], answers: &[f64]) -> Answers {
        Answers {
            n: truth.len() / 2,
            width: 2,
            truth: truth.to_vec(),
            answers: answers.to_vec(),
            ..Answers::default()
        }
    }

    /// By hand. Pooled, label 0 ranks its positive items first and third of three (precision 1 and
    /// 2/3); of label 1 two are known, with the positive one below. The second client has no
    /// positive label, so no average precision and no F1.
    #[test]
    fn labels_are_scored_where_they_are_known() {
        let nan = f64::NAN;
        let first = labels(&[1.0, 1.0, 1.0, nan], &[2.0, -1.0, -3.0, 5.0]);
        let second = labels(&[0.0, 0.0], &[-2.0, -0.5]);
        let scores = Task::Labels.scores("test", &[first, second]);
        let ap = ((1.0 + 2.0 / 3.0) / 2.0 + 0.5) / 2.0;
        assert_eq!(value(&scores, "average_precision"), Some((ap, 3)));
        assert_eq!(value(&scores, "roc_auc"), Some((0.25, 3)));
        // One hit, two misses, no false alarm; label 1 has a miss alone.
        assert_eq!(value(&scores, "micro_f1"), Some((0.5, 3)));
        assert_eq!(value(&scores, "macro_f1"), Some((1.0 / 3.0, 3)));
        assert_eq!(value(&scores, "client_average_precision"), Some((1.0, 1)));
        assert_eq!(value(&scores, "client_micro_f1"), Some((0.5, 1)));
        assert_eq!(value(&scores, "loss"), None, "no loss was given");
    }

    #[test]
    fn numbers_are_scored_one_by_one_and_averaged() {
        let answers = Answers {
            n: 3,
            width: 2,
            truth: vec![1.0, 10.0, 2.0, f64::NAN, 3.0, 30.0],
            answers: vec![1.0, 20.0, 2.0, 7.0, 2.0, 20.0],
            loss: 6.0,
            n_losses: 5,
            ..Answers::default()
        };
        assert_eq!(
            (answers.number(0, "mae"), answers.number(1, "mae")),
            (Some(1.0 / 3.0), Some(10.0))
        );
        let scores = Task::Numbers.scores("test", &[answers]);
        assert_eq!(value(&scores, "mae"), Some(((1.0 / 3.0 + 10.0) / 2.0, 3)));
        assert_eq!(value(&scores, "r2"), Some((0.25, 3)), "1 - 1/2 and 0");
        assert_eq!(value(&scores, "loss"), Some((1.2, 3)));
        assert!(Task::Numbers.scores("test", &[]).is_empty());
    }

    #[test]
    fn what_is_not_a_number_has_no_score() {
        let broken = labels(&[1.0, 0.0], &[f64::NAN, 0.0]);
        let scores = Task::Labels.scores("test", &[broken]);
        assert_eq!(value(&scores, "average_precision"), None);
    }
}
