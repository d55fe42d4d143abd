//! What federated methods are worth: the server's model where there is one, and each client's own
//! on its own items.

use super::{Federated, Local, N_HITS, N_ITEMS};
use crate::classifier::{Held, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::records::OWN_ACCURACY;
use folkmoot_metrics::{ClientScoreRow, Spread};
use folkmoot_rounds::{COUNTERS, OwnModel, RoundEnd, RoundEvaluator};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

/// Of every method, and of whoever gives each client a model of its own.
pub const TERMS: &[Term] = terms! {
    "cohort_accuracy", "Accuracy of those who train", Number [fraction, higher, scored(Trained, All, Items)]:
        "Share of the test items of this round's clients whose class their own model predicts, where they have just trained; counted at the \
         clients, and never sent.";
    = OWN_ACCURACY;
    "models_at_server", "Models at the server", Number [from(0.0)]:
        "How many different models the server has for single clients: the number of clusters where these share one.";
    "own_loss", "Loss of own models", Number [from(0.0), lower, scored(Own, Own, Clients)]:
        "Mean cross entropy of the model that a client answers with on its own items, the mean over clients for whom it is finite.";
};

/// Scores of the server's model and of each client's own, on what all clients hold.
pub(super) struct Own(pub(super) Arc<Held>);

impl RoundEvaluator<Federated> for Own {
    fn after_round(&self, task: &Federated, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        if let Some(global) = task.method.global(parameters) {
            task.common.classifier.score(&self.0, &global, sheet);
        }
    }

    fn controls(&self, task: &Federated, sheet: &mut Sheet) {
        task.common.classifier.controls(&self.0, &["client", "own"], sheet);
    }

    fn scores(&self, end: &RoundEnd<'_, Federated>, sheet: &mut Sheet) {
        let task = end.trainer;
        let classifier = &task.common.classifier;
        if let Some(global) = task.method.global(end.parameters) {
            classifier.conclude(&self.0, &global, sheet);
            if let Some(first) = task.method.global(&end.first_model()) {
                classifier.untrained_control(&self.0, &first, sheet);
            }
        }
        // What clients counted where they trained.
        let counted = |place: usize| &end.run.by_round[COUNTERS.len() + place].1;
        for row in end.run.rounds {
            let at = row.round as usize;
            let [hits, items] = [counted(N_HITS)[at], counted(N_ITEMS)[at]];
            if items > 0 {
                let accuracy = hits as f64 / items as f64;
                sheet.score_of(
                    (Round(row.round), row.virtual_s),
                    "test",
                    "cohort_accuracy",
                    accuracy,
                    items,
                );
            }
        }
        let own = &end.memory.own;
        if !own.is_empty() {
            let mut models: Vec<&[f32]> = own.values().map(|OwnModel(model)| &model[..]).collect();
            let order = |a: &&[f32], b: &&[f32]| a.iter().map(|x| x.to_bits()).cmp(b.iter().map(|x| x.to_bits()));
            models.sort_by(order);
            models.dedup_by(|a, b| order(a, b).is_eq());
            sheet.number("models_at_server", models.len() as f64);
        }
        let model = |client, shard: &Shard| Cow::Owned(own_model(end, client, shard));
        let rows = classifier.client_scores(&self.0, model, sheet);
        conclude(&rows, sheet);
        classifier.honest_scores(&rows, (&self.0, end.run.streams), sheet);
        sheet.client_scores(rows);
    }
}

/// The model that a client answers with when a run is over.
pub(super) fn own_model(end: &RoundEnd<'_, Federated>, client: ClientId, shard: &Shard) -> Vec<f32> {
    let task = end.trainer;
    let round = Round(end.n_rounds());
    let streams = |purpose| end.run.streams.party(purpose, Party::Client(client), round);
    let of_server = end.memory.own_model(client);
    let kept = end.kept(client);
    let moments = kept.and_then(|kept| kept.moments.clone());
    let moments = moments.map(|both| both.map(Cell::new));
    task.method.own(&Local {
        common: &task.common,
        shard,
        parameters: of_server.as_deref().unwrap_or(end.parameters),
        passes: None,
        kept: kept.and_then(|kept| kept.numbers.as_deref()),
        streams: &streams,
        moments: moments.as_ref(),
    })
}

/// Writes down how clients fare with the models that they answer with.
pub fn conclude(rows: &[ClientScoreRow], sheet: &mut Sheet) {
    let accuracies: Vec<f64> = rows.iter().map(|row| row.accuracy).collect();
    let losses: Vec<f64> = rows.iter().filter_map(|row| row.loss).collect();
    if accuracies.is_empty() {
        return;
    }
    sheet.number("test_own_accuracy", Spread::of(&accuracies).mean);
    sheet.number("test_own_spread", ClientScoreRow::spread(rows));
    sheet.number_if("test_own_worst_tenth", ClientScoreRow::worst_tenth(rows));
    sheet.number_if("test_own_loss", (!losses.is_empty()).then(|| Spread::of(&losses).mean));
}
