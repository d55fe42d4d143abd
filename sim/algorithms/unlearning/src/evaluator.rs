//! What a request to forget has cost, and what is left of the data.

use crate::plan::Plan;
use crate::{ServerState, Unlearning};
use folkmoot_classifiers::attacks::Models;
use folkmoot_classifiers::classifier::{Accuracy, Classifier, Handed, Held, Part, Score};
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{RoundEnd, RoundEvaluator, Rounds};
use folkmoot_scenarios::algorithm::Source;
use std::sync::{Arc, Mutex, PoisonError};

/// Scores of the last model on what all clients hold and on what is retained, beside exact
/// retraining.
pub(crate) struct Forgetting {
    accuracy: Accuracy,
    /// What clients hold that stay.
    retained: Arc<Held>,
}

impl Forgetting {
    pub(crate) fn new(held: &Arc<Held>, plan: &Plan, source: &Source<'_>) -> Self {
        let stays = |(client, _): &(usize, u64)| plan.stays(*client as u32);
        let (clients, sizes): (Vec<usize>, Vec<u64>) = source.sizes().into_iter().enumerate().filter(stays).unzip();
        let shards = clients.into_iter().map(|client| held.shards()[client].clone());
        Forgetting {
            accuracy: Accuracy(Arc::clone(held)),
            retained: Held::new(shards.collect(), sizes),
        }
    }

    fn held(&self) -> &Arc<Held> {
        &self.accuracy.0
    }

    /// The exactly retrained model.
    fn retrained(&self, end: &RoundEnd<'_, Unlearning>) -> Result<Vec<f32>, StrategyError> {
        let protocol = folkmoot_rounds::Protocol {
            rounds: end.trainer.plan.trained(),
            ..end.run.strategy.protocol().clone()
        };
        let strategy = end.trainer.reference(&protocol);
        let last = Last::default();
        let system = System {
            strategy: &strategy,
            shards: &Handed(Arc::clone(self.held())),
            evaluator: &last,
        };
        let (world, seed) = (end.run.setup.world, end.run.streams.seed());
        run(system, world, seed, Options::default(), &mut Unobserved)
            .map_err(|error| StrategyError(format!("the retrained reference could not be trained: {error}")))?;
        let model = last.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        model
            .ok_or_else(|| StrategyError("the retrained reference could not be trained: its run has no end".to_owned()))
    }
}

/// Keeps the last model of a run.
#[derive(Default)]
struct Last(Mutex<Option<Vec<f32>>>);

impl Evaluator<Rounds<Unlearning>> for Last {
    fn reads_clients(&self, _: &Rounds<Unlearning>) -> bool {
        false
    }

    fn at_end(&self, end: &End<'_, Rounds<Unlearning>>, _: &mut Sheet) {
        let model = RoundEnd::of(end).parameters.to_vec();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(model);
    }
}

fn refs(models: &Models) -> Vec<&[f32]> {
    match models {
        Models::One(model) => vec![model],
        Models::OfClients(models) | Models::Together(models) => models.iter().map(|model| &model[..]).collect(),
    }
}

fn retained_accuracy(classifier: &Classifier, retained: &Held, models: &[&[f32]]) -> Option<Score> {
    let scores = classifier.evaluate_together(retained, models);
    let is_it = |score: &Score| score.split == "test" && score.metric == "accuracy";
    scores.into_iter().find(is_it)
}

impl RoundEvaluator<Unlearning> for Forgetting {
    fn after_round(&self, trainer: &Unlearning, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        // Of groups there is no model for all, and their scores come at the end.
        if !trainer.plan.is_in_groups() {
            self.accuracy.of_round(&trainer.classifier, parameters, sheet);
        }
    }

    fn reads_clients(&self, _: &Unlearning) -> bool {
        false
    }

    fn controls(&self, trainer: &Unlearning, sheet: &mut Sheet) {
        self.accuracy.of_controls(&trainer.classifier, sheet);
    }

    fn at_end(&self, end: &RoundEnd<'_, Unlearning>, sheet: &mut Sheet) {
        let plan = &end.trainer.plan;
        let after = end.run.rounds.iter().filter(|row| row.round >= plan.trained());
        sheet.number(Unit::Count.of("unlearning_rounds"), after.count() as f64);
        let rows = end
            .run
            .ledger
            .rows()
            .filter(|(_, round, ..)| plan.after(*round).is_some());
        let bytes: u64 = rows.map(|(.., cell)| cell.payload_bytes).sum();
        sheet.number("unlearning_bytes", bytes as f64);
        let at = |round: Option<u32>| {
            let row = end
                .run
                .rounds
                .iter()
                .filter(|row| round.is_none_or(|round| row.round < round));
            row.map(|row| row.virtual_s).fold(0.0, f64::max)
        };
        sheet.number("unlearning_s", at(None) - at(Some(plan.trained())));
        let stored = match ServerState::read(end.state()) {
            Ok(state) => state.stored_bytes(),
            Err(StrategyError(why)) => {
                sheet.warn(why);
                return;
            }
        };
        let models = u64::from(plan.method.n_models() - 1) * 4 * end.parameters.len() as u64;
        sheet.number("stored_bytes", (stored + models) as f64);
        if end.run.rounds.len() < plan.trained() as usize {
            sheet.warn("the run ended before the request to forget: the model has the data");
        }
    }

    fn scores(&self, end: &RoundEnd<'_, Unlearning>, sheet: &mut Sheet) {
        let (trainer, classifier) = (end.trainer, &*end.trainer.classifier);
        let last = trainer.last(end);
        let last = refs(&last);
        match trainer.plan.is_in_groups() {
            true => Score::conclude(&classifier.evaluate_together(self.held(), &last), sheet),
            false => self.accuracy.scores(end, sheet),
        }
        if let Some(score) = retained_accuracy(classifier, &self.retained, &last) {
            sheet.number("test_retained_accuracy", score.value);
        }
        let retrained = match self.retrained(end) {
            Ok(retrained) => retrained,
            Err(StrategyError(why)) => {
                sheet.warn(why);
                return;
            }
        };
        if let Some(score) = retained_accuracy(classifier, &self.retained, &[&retrained]) {
            sheet.control("retrained", "test_retained_accuracy", score.value, score.n);
        }
        if let [model] = &last[..] {
            let n = classifier.network().layout().n_trainable();
            sheet.number_if("model_distance", distance(&model[..n], &retrained[..n]));
        }
        let answers = |models: &[&[f32]]| classifier.predicted(self.held(), Part::Test, models);
        let (own, reference) = (answers(&last), answers(&[&retrained]));
        let same = own.iter().zip(&reference).filter(|(own, reference)| own == reference);
        if !own.is_empty() {
            sheet.number("retrained_agreement", same.count() as f64 / own.len() as f64);
        }
    }
}

/// `‖a − b‖ / ‖b‖`; `None` where that is undefined.
pub(crate) fn distance(a: &[f32], b: &[f32]) -> Option<f64> {
    let square = |x: f64| x * x;
    let apart: f64 = a
        .iter()
        .zip(b)
        .map(|(x, y)| square(f64::from(*x) - f64::from(*y)))
        .sum();
    let length: f64 = b.iter().map(|y| square(f64::from(*y))).sum();
    let distance = (apart / length).sqrt();
    distance.is_finite().then_some(distance)
}
