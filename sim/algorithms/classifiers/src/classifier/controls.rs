//! Controls of a classifier: scores of answers that take neither a graph nor training.

use super::data::Part;
use super::measures::Answers;
use super::{Classifier, Held, Score, Task};
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::{
    CLIENT_MAJORITY, CLIENT_MEAN, CLIENT_PRIOR, LABEL_PRIOR, MAJORITY_CLASS, Sheet, TRAINING_MEAN, UNTRAINED,
};

/// Test items of a client, and how many of them a control classifies correctly.
struct Hits {
    hits: u64,
    n: u64,
}

impl Held {
    /// Says who cannot train, and that nothing can be tested.
    fn doubts(&self, sheet: &mut Sheet) {
        let n_idle = self.shards.iter().filter(|shard| shard.n_train() == 0).count();
        if n_idle > 0 {
            sheet.doubt(format!(
                "{n_idle} of {} clients have nothing to train on: the split leaves them no item with a label",
                self.shards.len()
            ));
        }
        if self.n_items(Part::Test) == 0 {
            sheet.doubt(
                "no client has a test item, so there are no test scores; help: change strategy.split or the partition",
            );
        }
    }

    /// Records two controls of `test_accuracy`, over all items, and of the accuracies `of_clients`,
    /// means over clients: the client majority and the majority class.
    ///
    /// The client majority answers a test item with the most frequent class among the *other* items
    /// of its client, whatever part of the data they are in: leave-one-out, so that an item does
    /// not vote for itself. Ties go to the smallest class. A client with a single item gets the
    /// majority class of all training items.
    fn majority_controls(&self, n_classes: usize, of_clients: &[&str], sheet: &mut Sheet) {
        let Some(majority) = self.majority_class(n_classes) else {
            return;
        };
        let mut counts = vec![vec![0_u64; n_classes]; self.shards.len()];
        for part in [Part::Train, Part::Validation, Part::Test] {
            for (client, class) in self.labels(part) {
                counts[client][class as usize] += 1;
            }
        }
        let of_client = |client: usize, class: u32| most_of_others(&counts[client], class).unwrap_or(majority);
        for (control, answer) in [
            (CLIENT_MAJORITY, &of_client as &dyn Fn(usize, u32) -> u32),
            (MAJORITY_CLASS, &|_, _| majority),
        ] {
            let mut clients: Vec<Hits> = (0..self.shards.len()).map(|_| Hits { hits: 0, n: 0 }).collect();
            for (client, class) in self.labels(Part::Test) {
                clients[client].n += 1;
                clients[client].hits += u64::from(answer(client, class) == class);
            }
            clients.retain(|client| client.n > 0);
            let n: u64 = clients.iter().map(|client| client.n).sum();
            if n == 0 {
                return;
            }
            let hits: u64 = clients.iter().map(|client| client.hits).sum();
            let shares = clients.iter().map(|client| client.hits as f64 / client.n as f64);
            let mean = shares.sum::<f64>() / clients.len() as f64;
            sheet.control(control, "test_accuracy", hits as f64 / n as f64, n);
            for whose in of_clients {
                sheet.control(control, &format!("test_{whose}_accuracy"), mean, n);
            }
        }
    }
}

/// The most frequent class once an item of `class` is left out of `counts`, the items by class; of
/// equals the first, and `None` without another item.
fn most_of_others(counts: &[u64], class: u32) -> Option<u32> {
    let others = (0_u32..).zip(counts).map(|(other, n)| n - u64::from(other == class));
    let others: Vec<u64> = others.collect();
    let most = others.iter().max().filter(|most| **most > 0)?;
    others.iter().position(|n| n == most).map(|class| class as u32)
}

/// Sums of the known training values, by output.
#[derive(Clone)]
struct Sums {
    sums: Vec<f64>,
    counts: Vec<u64>,
}

impl Sums {
    fn none(width: usize) -> Sums {
        Sums {
            sums: vec![0.0; width],
            counts: vec![0; width],
        }
    }

    fn add(&mut self, row: impl Iterator<Item = f64>) {
        for (at, x) in row.enumerate().filter(|(_, x)| !x.is_nan()) {
            self.sums[at] += x;
            self.counts[at] += 1;
        }
    }

    /// The mean of each output, that of `other` where nothing is known.
    fn means_or(&self, other: &[f64]) -> Vec<f64> {
        let mean = |at: usize| match self.counts[at] {
            0 => other[at],
            n => self.sums[at] / n as f64,
        };
        (0..self.sums.len()).map(mean).collect()
    }
}

impl Classifier {
    /// Records two controls that answer without a graph: a constant for all items, and a constant
    /// for each client. They are of all scores of the test items, and of the means over clients
    /// that `of_clients` names, `client` for the server's model and `own` for personalised ones.
    /// Where it names none, they are of the leading score and its mean over clients alone.
    ///
    /// | task | for all items | for each client |
    /// |---|---|---|
    /// | classes | majority class | leave-one-out majority of the client |
    /// | labels | frequency of each label | the same at the client |
    /// | numbers | mean | the same at the client |
    ///
    /// Frequencies and means are of the training items; a client without such answers as for all.
    pub fn controls(&self, held: &Held, of_clients: &[&str], sheet: &mut Sheet) {
        held.doubts(sheet);
        if self.task.is_classes() {
            return held.majority_controls(self.network().n_classes(), of_clients, sheet);
        }
        let n = held.n_items(Part::Test);
        let lead = self.task.lead();
        for (control, scores) in self.constant_scores(held) {
            for Score { metric, value, .. } in scores {
                if !of_clients.is_empty() || metric == lead.metric {
                    sheet.control(control, &score_name("test", metric), value, n);
                }
                if metric == lead.of_clients && *of_clients != ["client"] {
                    sheet.control(control, &format!("test_own_{}", lead.metric), value, n);
                }
            }
        }
    }

    /// Writes down what the constant answer for all items scores, as a reference: in the leading
    /// score and, of `scores` that have it, in R².
    pub fn references(&self, held: &Held, scores: &[Score], sheet: &mut Sheet) {
        if self.task.is_classes() {
            if let Some(accuracy) = held.majority_accuracy(Part::Test, self.network().n_classes()) {
                sheet.reference("test_accuracy", MAJORITY_CLASS, accuracy);
            }
            return;
        }
        let [(control, constant), _] = self.constant_scores(held);
        for Score { metric, value, .. } in constant {
            let is_scored = metric == "r2" && scores.iter().any(|score| score.metric == metric);
            if is_scored || metric == self.task.lead().metric {
                sheet.reference(score_name("test", metric), control, value);
            }
        }
    }

    /// The scores on the test items of the constant answers: for all items, and for each client.
    fn constant_scores(&self, held: &Held) -> [(&'static str, Vec<Score>); 2] {
        let (width, shards) = (self.network().n_classes(), held.shards());
        let mut clients = vec![Sums::none(width); shards.len()];
        let mut all = Sums::none(width);
        for (shard, own) in shards.iter().zip(&mut clients) {
            let view = shard.view(Part::Train);
            for row in view.rows() {
                own.add(self.truth_of(view, row));
                all.add(self.truth_of(view, row));
            }
        }
        let common = all.means_or(&vec![0.0; width]);
        let own: Vec<Vec<f64>> = clients.iter().map(|own| own.means_or(&common)).collect();
        let scores = |answer: &dyn Fn(usize) -> Vec<f64>| -> Vec<Score> {
            let of_client = |client: usize| {
                let view = shards[client].view(Part::Test);
                let answer = answer(client).into_iter().map(|mean| match self.task {
                    // Predicted where the frequency is above one half.
                    Task::Labels => mean - 0.5,
                    Task::Classes | Task::Numbers => mean,
                });
                let answer: Vec<f64> = answer.collect();
                Answers {
                    n: view.len(),
                    width,
                    truth: view.rows().flat_map(|row| self.truth_of(view, row)).collect(),
                    answers: answer.repeat(view.len()),
                    ..Answers::default()
                }
            };
            let by_client = (0..shards.len()).map(of_client).filter(|answers| answers.n > 0);
            let scores = self.task.scores("test", &by_client.collect::<Vec<Answers>>());
            let controlled = self.task.controlled();
            scores
                .into_iter()
                .filter(|score| controlled.contains(&score.metric))
                .collect()
        };
        let [for_all, for_client] = match self.task {
            Task::Labels => [LABEL_PRIOR, CLIENT_PRIOR],
            Task::Classes | Task::Numbers => [TRAINING_MEAN, CLIENT_MEAN],
        };
        [
            (for_all, scores(&|_| common.clone())),
            (for_client, scores(&|client| own[client].clone())),
        ]
    }

    /// Records the scores of the model before its first step, which a trained one must exceed.
    pub fn untrained_control(&self, held: &Held, first: &[f32], sheet: &mut Sheet) {
        let scores = self.evaluate(held, first);
        for name in self.task.controlled() {
            if let Some(score) = scores
                .iter()
                .find(|score| score.split == "test" && score.metric == *name)
            {
                let n = held.n_items(Part::Test);
                sheet.control(UNTRAINED, &score_name("test", name), score.value, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_does_not_vote_for_itself() {
        assert_eq!(most_of_others(&[3, 2], 0), Some(0), "a tie goes to the smallest class");
        assert_eq!(most_of_others(&[2, 2], 0), Some(1));
        assert_eq!(most_of_others(&[2, 2], 1), Some(0));
        assert_eq!(most_of_others(&[0, 5, 1], 2), Some(1));
        assert_eq!(most_of_others(&[0, 1], 1), None);
    }
}
