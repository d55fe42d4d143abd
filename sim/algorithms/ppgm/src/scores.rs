//! What a run comes to: similarity, what leaks, and what matching cost its users.

use super::algorithm::{Ppgm, counter};
use super::data::Data;
use super::edits::{Edits, Told};
use super::learned::Measured;
use super::options::Intercept;
use super::view::View;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::npy::npy_f32;
use std::sync::Arc;

/// So many scores of devices are computed again in memory, the first ones.
const CHECKED: usize = 256;

/// Who knows all graphs.
pub(super) struct Watch {
    data: Arc<Data>,
    streams: Streams,
}

impl Watch {
    pub(super) fn new(data: Arc<Data>, streams: Streams) -> Self {
        Watch { data, streams }
    }
}

impl Evaluator<Ppgm> for Watch {
    fn at_end(&self, end: &End<'_, Ppgm>, sheet: &mut Sheet) {
        deployment(end, sheet);
    }

    fn scores(&self, end: &End<'_, Ppgm>, sheet: &mut Sheet) {
        let view = View {
            ppgm: end.strategy,
            data: &self.data,
            streams: self.streams,
        };
        training(&view, end, sheet);
        unlike(&view, end, sheet);
    }
}

/// What training has come to, epoch by epoch and measurement by measurement.
fn training(view: &View<'_>, end: &End<'_, Ppgm>, sheet: &mut Sheet) {
    let Some(learned) = &end.server.learned else { return };
    let pairs = [2 * view.data.train.len(), view.data.validation.len()].map(|n| n as u64);
    let (name, sign) = match &view.data.edits {
        Some(_) => ("mse", -1.0),
        None => ("auc", 1.0),
    };
    let validation_name = score_name("validation", name);
    for (epoch, done) in (1..).zip(&learned.epochs) {
        let at = (Round(epoch), 0.0);
        sheet.score_of(at, "train", "loss", done.loss, pairs[0]);
        if let Some(value) = done.validation {
            sheet.score_of(at, "validation", name, sign * value, pairs[1]);
        }
    }
    let chosen = learned.epochs.get((learned.chosen_epoch as usize).wrapping_sub(1));
    match &view.ppgm.params.trained {
        None => sheet.number("chosen_epoch", f64::from(learned.chosen_epoch)),
        Some(path) => {
            let why = "not applicable: another run trained the model";
            sheet.missing("chosen_epoch", why);
            sheet.missing(&validation_name, why);
            sheet.warn(format!(
                "the model of {path} is another run's: unless that had the same data, seed and split, graphs that it trained on test it"
            ));
        }
    }
    let validation = chosen.and_then(|epoch| epoch.validation).map(|value| sign * value);
    sheet.number_if(validation_name, validation);
    sheet.number("parameters", learned.parameters.len() as f64);
    let Some((last, before)) = learned.measured.split_last() else {
        return;
    };
    for (name, value) in measures(view.ppgm, last) {
        sheet.number_if(name, value);
    }
    for (name, value) in learned.teacher.iter().flat_map(|teacher| measures(view.ppgm, teacher)) {
        if let Some(value) = value {
            sheet.reference(&name, "teacher", value);
        }
    }
    if let Some(counted) = view.data.edits.as_ref().and_then(Edits::counted) {
        for (name, value) in counted.named() {
            sheet.reference(name, "counting", value);
        }
    }
    for measured in before {
        for (name, value) in measures(view.ppgm, measured) {
            match (value, measured.epoch) {
                (Some(value), 0) => sheet.reference(&name, "untrained", value),
                (Some(value), epoch) => sheet.point(&name, ("epoch", epoch), value),
                (None, _) => {}
            }
        }
    }
    not_applicable(view.ppgm, sheet);
    let params = &view.ppgm.params;
    if params.keep_model {
        let model = npy_f32(&learned.parameters, &[learned.parameters.len()]);
        sheet.artifact("model.npy", model);
    }
    params
        .thorough
        .measure(&params.attack, view, &learned.parameters, sheet);
}

/// Names the attacks that have nothing to read where this model runs.
pub(super) fn not_applicable(system: &Ppgm, sheet: &mut Sheet) {
    if system.matcher.n_exchanges() == 0 {
        for attack in ["attack_auc_g", "attack_auc_all_g"] {
            sheet.missing(attack, "not applicable: devices send each other nothing");
        }
    }
    if !system.matcher.sends_nodes() {
        let why = "not applicable: nothing that leaves a device tells single nodes apart";
        sheet.missing("structure_auc", why);
    }
}

/// The names and values of a measurement.
pub(super) fn measures(system: &Ppgm, measured: &Measured) -> Vec<(String, Option<f64>)> {
    let mut values = vec![("similarity_auc".to_owned(), measured.similarity_auc)];
    let of = |wanted: Intercept| {
        let found = measured.attacks.iter().find(|(intercept, _)| *intercept == wanted);
        found.and_then(|(_, area)| *area)
    };
    // Where there is one message only, it is all that any eavesdropper reads.
    let headline = of(system.params.attack.intercept).or_else(|| of(Intercept::O));
    values.push(("attack_auc".to_owned(), headline));
    values.extend(
        Intercept::ALL
            .iter()
            .map(|(intercept, name)| (format!("attack_auc_{name}"), of(*intercept))),
    );
    values.push(("structure_auc".to_owned(), measured.structure_auc));
    let told = measured.told.iter().flat_map(Told::named);
    values.extend(told.map(|(name, value)| (name.to_owned(), Some(value))));
    values
}

fn deployment(end: &End<'_, Ppgm>, sheet: &mut Sheet) {
    let counted = |at: usize| end.counters[at] as f64;
    let begun = counted(counter::BEGUN);
    if begun == 0.0 {
        return;
    }
    sheet.number("matches_begun", begun);
    sheet.number("matches_scored", counted(counter::SCORED));
    sheet.number("matches_lost", counted(counter::LOST));
    sheet.number("share_lost", counted(counter::LOST) / begun);
    sheet.number("exchanges_repeated", counted(counter::REPEATED));
    sheet.number("invitations_declined", counted(counter::DECLINED));
    let clients = end.clients.iter();
    let mut latencies: Vec<u64> = clients
        .flat_map(|(_, client)| client.latencies.iter().copied())
        .collect();
    latencies.sort_unstable();
    if let Some(last) = latencies.len().checked_sub(1) {
        let at = |share: f64| latencies[(share * last as f64).round() as usize] as f64 / 1e9;
        sheet.number("score_latency_median_s", at(0.5));
        sheet.number("score_latency_p99_s", at(0.99));
    }
}

/// How many of the first scores of devices differ in any bit from those of the same pairs computed
/// in memory.
fn unlike(view: &View<'_>, end: &End<'_, Ppgm>, sheet: &mut Sheet) {
    // Noise, and where a codec rounds at random, are drawn anew for every message.
    let is_drawn = view.ppgm.noise.is_some() || view.ppgm.params.codec.is_random();
    let Some(model) = end.server.installed() else { return };
    if is_drawn || end.counters[counter::BEGUN] == 0 {
        return;
    }
    let graph = |client: u32, id| {
        let played = &end.clients.get(ClientId(client))?.played;
        played.iter().find(|(played, _)| *played == id).map(|(_, graph)| *graph)
    };
    let known = end.server.scored.iter().filter_map(|scored| {
        let first = graph(scored.id.initiator, scored.id)?;
        let second = graph(scored.invited, scored.id)?;
        Some((
            Pair {
                first,
                second,
                matches: first == second,
            },
            scored.score,
        ))
    });
    let (pairs, scored): (Vec<Pair>, Vec<f32>) = known.take(CHECKED).unzip();
    let mut deployed = view.ppgm.deployed(model, view.streams);
    // A device knows of no batch.
    deployed.padding.0 = super::options::Padding::Masked;
    let again = deployed.observe(&view.data.inputs, &pairs, |_, seen| seen.score);
    let differ = |(a, b): &(&f32, &f32)| a.to_bits() != b.to_bits();
    let n_unlike = scored.iter().zip(&again).filter(differ).count();
    sheet.number("scores_unlike_in_memory", n_unlike as f64);
}
