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

    /// How well the property is inferred from each interception that the model allows: macro
    /// one-vs-rest areas under the ROC curve.
    ///
    /// Classes without a graph that validates or tests, or without another, have no area and are
    /// left out of the mean.
    pub fn infer(
        &self,
        data: &Data,
        deployed: &Deployed<'_>,
        width: usize,
        streams: Streams,
    ) -> Vec<(Intercept, Option<f64>)> {
        let overheard = Overheard::draw(self, self.shadow, data, streams);
        let seen = overheard.read(data, deployed);
        let [known, targets] = [&overheard.known, &overheard.targets].map(|pairs| -> Vec<u32> {
            let property = |pair: &Pair| data.properties[pair.first as usize];
            pairs.iter().map(property).collect()
        });
        let (network, n_classes) = (self.network(width), data.n_properties);
        let area = |intercept| {
            let [shadow, asked] = [0, 1].map(|part| views(&seen[part], intercept, &overheard.coins[part]));
            let mut rng = streams.global(LEARN);
            let learned = (&shadow, known.as_slice());
            let area = match self.choice {
                Choice::Last => {
                    let perceptron = network.learn(learned, None, n_classes, &mut rng);
                    macro_auc(&targets, &perceptron.scores(&asked), n_classes)
                }
                Choice::BestValidation => {
                    let (validating, testing) = targets.split_at(data.validation.len() / 2);
                    let ids: Vec<u32> = (0..targets.len() as u32).collect();
                    let (first, rest) = ids.split_at(validating.len());
                    let [first, rest] = [first, rest].map(|ids| asked.select(ids));
                    let perceptron = network.learn(learned, Some((&first, validating)), n_classes, &mut rng);
                    macro_auc(testing, &perceptron.scores(&rest), n_classes)
                }
            };
            (intercept, area)
        };
        // Everything is read where it is asked for.
        let wanted = |intercept: &Intercept| *intercept != Intercept::Everything || self.intercept == *intercept;
        let allowed = Intercept::allowed(deployed.matcher.n_exchanges() > 0);
        allowed.filter(wanted).map(area).collect()
    }
}
