//! Several models that answer together: the mean of their probabilities.

use super::data::Part;
use super::measures::Answers;
use super::scores::{Score, TEST, VALIDATION, largest};
use super::{Classifier, Held};

/// Keeps the logarithm of a probability finite.
const LEAST: f64 = 1e-30;

impl Classifier {
    /// As [`evaluate`](Self::evaluate), of models that learn classes and answer together.
    ///
    /// # Panics
    ///
    /// Without any model.
    pub fn evaluate_together(&self, held: &Held, models: &[&[f32]]) -> Vec<Score> {
        let answers = self.answers_together(held, [Part::Validation, Part::Test], models);
        let splits = [VALIDATION, TEST].into_iter().zip(answers);
        splits
            .flat_map(|(split, by_client)| self.task().scores(split, &by_client))
            .collect()
    }

    /// The classes that models give all items of a part together: by client, then by item, both
    /// ascending.
    ///
    /// # Panics
    ///
    /// Without any model.
    pub fn predicted(&self, held: &Held, part: Part, models: &[&[f32]]) -> Vec<u32> {
        let [by_client] = self.answers_together(held, [part], models);
        by_client.into_iter().flat_map(|answers| answers.predicted).collect()
    }

    fn answers_together<const N: usize>(&self, held: &Held, parts: [Part; N], models: &[&[f32]]) -> [Vec<Answers>; N] {
        let (first, others) = models.split_first().expect("there is a model");
        let mut all = self.by_client(held, parts, first);
        for model in others {
            let more = self.by_client(held, parts, model);
            for (answers, more) in all.iter_mut().flatten().zip(more.iter().flatten()) {
                let both = answers.probabilities.iter_mut().zip(&more.probabilities);
                both.for_each(|(sum, share)| *sum += share);
            }
        }
        if others.is_empty() {
            return all;
        }
        for answers in all.iter_mut().flatten() {
            let n_models = models.len() as f64;
            answers.probabilities.iter_mut().for_each(|share| *share /= n_models);
            let rows = answers.probabilities.chunks_exact(answers.width);
            answers.predicted = rows.clone().map(largest).collect();
            let of_class = rows.zip(&answers.actual).map(|(row, class)| row[*class as usize]);
            answers.loss = of_class.map(|share| -libm::log(share.max(LEAST))).sum();
        }
        all
    }
}
