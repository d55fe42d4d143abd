//! What a run comes to: similarity, what leaks, and what matching cost its users.

use super::attack::Intercept;
use super::client::Client;
use super::learned::Measured;
use super::server::Server;
use super::{Ppgm, counter};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_metrics::ScoreRow;
use folkmoot_metrics::run_dir::Artifact;

/// So many scores of devices are computed again in memory, the first ones.
const CHECKED: usize = 256;

pub(super) fn scores(system: &Ppgm, server: &Server, clients: &Clients<'_, Client>, report: &Report<'_>) -> Scores {
    let mut scores = Scores::default();
    deployment(system, server, clients, report, &mut scores);
    let Some(learned) = &server.learned else { return scores };
    let pairs = [2 * system.data.train.len(), system.data.validation.len()].map(|n| n as u64);
    for (epoch, done) in (1..).zip(&learned.epochs) {
        let mut row = |split: &str, metric: &str, value, n| {
            scores.rows.push(ScoreRow {
                round: epoch,
                virtual_s: 0.0,
                split: split.to_owned(),
                metric: metric.to_owned(),
                value,
                n,
            });
        };
        row("train", "loss", done.loss, pairs[0]);
        if let Some(auc) = done.validation_auc {
            row("validation", "auc", auc, pairs[1]);
        }
    }
    let mut put = |name: String, value: Option<f64>| scores.summary.extend(value.map(|value| (name, value)));
    let chosen = learned.epochs.get((learned.chosen_epoch as usize).wrapping_sub(1));
    put("chosen_epoch".to_owned(), Some(f64::from(learned.chosen_epoch)));
    put(
        "validation_auc".to_owned(),
        chosen.and_then(|epoch| epoch.validation_auc),
    );
    put("parameters".to_owned(), Some(learned.parameters.len() as f64));
    let Some((last, before)) = learned.measured.split_last() else {
        return scores;
    };
    for (name, value) in measures(system, last) {
        put(name, value);
    }
    for measured in before {
        for (name, value) in measures(system, measured) {
            let end = match measured.epoch {
                0 => "@untrained".to_owned(),
                epoch => format!("[epoch={epoch}]"),
            };
            put(format!("{name}{end}"), value);
        }
    }
    scores.artifacts.extend(not_applicable(system));
    scores
}

/// `not_scored.csv`: the attacks that have nothing to read where this model runs.
pub(super) fn not_applicable(system: &Ppgm) -> Option<Artifact> {
    let no_exchange = "not applicable: devices send each other nothing";
    let no_nodes = "not applicable: nothing that leaves a device tells single nodes apart";
    let exchanges = system.matcher.n_exchanges() > 0;
    let reasons = [
        ("attack_auc_g", (!exchanges).then_some(no_exchange)),
        ("attack_auc_all_g", (!exchanges).then_some(no_exchange)),
        ("structure_auc", (!system.matcher.sends_nodes()).then_some(no_nodes)),
    ];
    let line = |(what, why): (&str, Option<&str>)| why.map(|why| format!("{what},\"{why}\"\n"));
    let lines: String = reasons.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Artifact {
        path: "not_scored.csv".to_owned(),
        bytes: format!("what,why\n{lines}").into_bytes(),
    })
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
    values
}

fn deployment(system: &Ppgm, server: &Server, clients: &Clients<'_, Client>, report: &Report<'_>, scores: &mut Scores) {
    let counted = |at: usize| report.counters[at] as f64;
    let begun = counted(counter::BEGUN);
    if begun == 0.0 {
        return;
    }
    let mut put = |name: &str, value: f64| scores.summary.push((name.to_owned(), value));
    put("matches_begun", begun);
    put("matches_scored", counted(counter::SCORED));
    put("matches_lost", counted(counter::LOST));
    put("share_lost", counted(counter::LOST) / begun);
    put("exchanges_repeated", counted(counter::REPEATED));
    put("invitations_declined", counted(counter::DECLINED));
    let mut latencies: Vec<u64> = clients
        .iter()
        .flat_map(|(_, client)| client.latencies.iter().copied())
        .collect();
    latencies.sort_unstable();
    if let Some(last) = latencies.len().checked_sub(1) {
        let at = |share: f64| latencies[(share * last as f64).round() as usize] as f64 / 1e9;
        put("score_latency_median_s", at(0.5));
        put("score_latency_p99_s", at(0.99));
    }
    // Noise is drawn anew for every message.
    if let (Some(model), None, false) = (&server.model, &system.noise, report.setup.dry_run) {
        put("scores_unlike_in_memory", unlike(system, server, clients, model) as f64);
    }
}

/// How many of the first scores of devices differ in any bit from those of the same pairs computed in memory.
fn unlike(system: &Ppgm, server: &Server, clients: &Clients<'_, Client>, model: &[f32]) -> usize {
    let graph = |client: u32, id| {
        let played = &clients.get(ClientId(client))?.played;
        played.iter().find(|(played, _)| *played == id).map(|(_, graph)| *graph)
    };
    let known = server.scored.iter().filter_map(|scored| {
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
    let mut deployed = system.deployed(model);
    // A device knows of no batch.
    deployed.padding.0 = super::options::Padding::Masked;
    let again = deployed.observe(&system.data.inputs, &pairs, |_, seen| seen.score);
    let differ = |(a, b): &(&f32, &f32)| a.to_bits() != b.to_bits();
    scored.iter().zip(&again).filter(differ).count()
}
