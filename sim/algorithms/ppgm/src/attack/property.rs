//! Property inference: a perceptron learns from the messages of graphs whose properties are known.

use super::messages::{Overheard, views};
use crate::data::Data;
use crate::options::{Attack, Choice, Intercept};
use crate::pairs::Deployed;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_graphs::Pair;
use folkmoot_scores::inference::{PerceptronSettings, macro_auc};

const LEARN: Purpose = Purpose(*b"pp-infer");

impl Attack {
    /// The attacker's perceptron, for a model of a hidden width.
    pub(super) fn network(&self, width: usize) -> PerceptronSettings {
        PerceptronSettings {
            layers: self.layers as usize,
            width,
            epochs: self.epochs,
            learning_rate: self.learning_rate,
            batch: self.batch as usize,
            standardise: self.standardise,
        }
    }

    /// Infers the property from each interception that the model allows: macro one-vs-rest AUC.
    ///
    /// A class has no AUC, and is left out of the mean, if it has no positive or no negative
    /// evaluation graph.
    pub fn infer(
        &self,
        data: &Data,
        deployed: &Deployed<'_>,
        width: usize,
        streams: Streams,
    ) -> Vec<(Intercept, Option<f64>)> {
        let overheard = Overheard::draw(self, self.shadow, data, streams);
        let observations = overheard.read(data, deployed);
        let [known, targets] = [&overheard.known, &overheard.targets].map(|pairs| -> Vec<u32> {
            let property = |pair: &Pair| data.properties[pair.first as usize];
            pairs.iter().map(property).collect()
        });
        let (network, n_classes) = (self.network(width), data.n_properties);
        let area = |intercept| {
            let [shadow, target_rows] =
                [0, 1].map(|part| views(&observations[part], intercept, &overheard.random_choices[part]));
            let mut rng = streams.global(LEARN);
            let learned = (&shadow, known.as_slice());
            let area = match self.choice {
                Choice::Last => {
                    let perceptron = network.learn(learned, None, n_classes, &mut rng);
                    macro_auc(&targets, &perceptron.scores(&target_rows), n_classes)
                }
                Choice::BestValidation => {
                    let (validating, testing) = targets.split_at(overheard.n_validation);
                    let ids: Vec<u32> = (0..targets.len() as u32).collect();
                    let (first, rest) = ids.split_at(validating.len());
                    let [first, rest] = [first, rest].map(|ids| target_rows.select(ids));
                    let perceptron = network.learn(learned, Some((&first, validating)), n_classes, &mut rng);
                    macro_auc(testing, &perceptron.scores(&rest), n_classes)
                }
            };
            (intercept, area)
        };
        // `Everything` is computed only on request.
        let wanted = |intercept: &Intercept| *intercept != Intercept::Everything || self.intercept == *intercept;
        let allowed = Intercept::allowed(deployed.matcher.n_exchanges() > 0);
        allowed.filter(wanted).map(area).collect()
    }
}
