//! What models without a server are worth: every client's own on all test items, and the mean that
//! nobody holds.

use super::client::Carried;
use super::mixing::contraction;
use super::{Client, Gossip, Method};
use crate::classifier::{Held, Part, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::Spread;
use folkmoot_metrics::artifacts::{ArtifactTable, WHOLE};
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::table::column;
use rayon::prelude::*;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

/// What each link between clients carried.
pub(crate) const LINKS: ArtifactTable = ArtifactTable {
    file: "links.csv",
    columns: &[
        column("from", WHOLE, "The client that sent."),
        column("to", WHOLE, "The client that received."),
        column("models", WHOLE, "Models that arrived."),
        column(
            "payload_bytes",
            WHOLE,
            "Bytes of what arrived, without headers and retries.",
        ),
    ],
};

/// Over so many rounds at most the speed of links that change is worked out.
const GRAPHS: u32 = 100;

/// Scores of all models, on what all clients hold.
pub(super) struct Watch(pub(super) Arc<Held>);

/// One number that models are worth.
struct Worth {
    split: &'static str,
    metric: String,
    value: f64,
    n: u64,
}

impl Watch {
    /// What models are worth on the items of all clients.
    fn worth(&self, gossip: &Gossip, models: &[&[f32]]) -> Vec<Worth> {
        let classifier = gossip.classifier();
        let (mean, lead) = (mean(models), classifier.task().lead());
        let metric = lead.metric;
        let mut all = Vec::new();
        for (split, part) in [("validation", Part::Validation), ("test", Part::Test)] {
            let score = |model: &&[f32]| classifier.lead_score(&self.0, part, model);
            let own: Option<Vec<f64>> = models.par_iter().map(score).collect();
            let (Some(own), Some(of_mean)) = (own, classifier.lead_score(&self.0, part, &mean)) else {
                continue;
            };
            let worst = match lead.higher_is_better {
                true => own.iter().copied().fold(f64::INFINITY, f64::min),
                false => own.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            };
            for (metric, value) in [
                (metric.to_owned(), Spread::of(&own).mean),
                (format!("worst_{metric}"), worst),
                (format!("mean_model_{metric}"), of_mean),
            ] {
                all.push(Worth {
                    split,
                    metric,
                    value,
                    n: models.len() as u64,
                });
            }
        }
        all
    }
}

/// The models that clients have come to, who began with these.
pub(super) fn last_models<'a>(end: &'a End<'_, Gossip>, starts: &'a [Arc<[f32]>]) -> Vec<&'a [f32]> {
    let own = |(client, start): (u32, &'a Arc<[f32]>)| {
        let model = end.clients.get(ClientId(client)).and_then(Client::model);
        model.unwrap_or(start)
    };
    (0..).zip(starts).map(own).collect()
}

/// The mean of models, number by number.
pub(super) fn mean(models: &[&[f32]]) -> Vec<f32> {
    let mut sums = vec![0.0; models.first().map_or(0, |model| model.len())];
    for model in models {
        sums.iter_mut().zip(*model).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums.iter().map(|sum| (sum / models.len() as f64) as f32).collect()
}

/// The root of the mean squared Euclidean distance of models from their mean, over the numbers that
/// learn.
fn consensus_distance(gossip: &Gossip, models: &[&[f32]]) -> f64 {
    let n_trainable = gossip.classifier().network().layout().n_trainable();
    let n = models.len() as f64;
    let spread = |i: usize| {
        let mean = models.iter().map(|model| f64::from(model[i])).sum::<f64>() / n;
        let square = |model: &&[f32]| (f64::from(model[i]) - mean) * (f64::from(model[i]) - mean);
        models.iter().map(square).sum::<f64>() / n
    };
    (0..n_trainable).map(spread).sum::<f64>().sqrt()
}

fn broken(models: &[&[f32]]) -> usize {
    let is_broken = |model: &&&[f32]| model.iter().any(|x| !x.is_finite());
    models.iter().filter(is_broken).count()
}

/// How many times larger models would be as they are, where a codec packs them.
fn compression(end: &End<'_, Gossip>, sheet: &mut Sheet) {
    let plain = 4 * end.strategy.classifier().network().layout().len() as u64;
    let packed = |kind: Kind| matches!(kind.name, "packed_model" | "packed_answer");
    let rows = end.ledger.rows().filter(|(kind, ..)| packed(*kind));
    let (sent, bytes) = rows.fold((0, 0), |(sent, bytes), (.., cell)| {
        (sent + cell.sent, bytes + cell.payload_bytes)
    });
    sheet.number_if("compression", (bytes > 0).then(|| (sent * plain) as f64 / bytes as f64));
}

impl Evaluator<Gossip> for Watch {
    fn after_round(&self, ended: &Ended<'_, Gossip>, sheet: &mut Sheet) {
        let gossip = ended.strategy;
        if !gossip.is_evaluated(ended.round.0) {
            return;
        }
        let models = ended.server.models();
        let n_broken = broken(&models);
        if n_broken > 0 {
            sheet.diverged(format!(
                "the models of {n_broken} clients have numbers that are not finite"
            ));
        }
        for score in self.worth(gossip, &models) {
            sheet.score(score.split, &*score.metric, score.value, score.n);
        }
        let distance = consensus_distance(gossip, &models);
        if distance.is_finite() {
            sheet.score("models", "consensus_distance", distance, models.len() as u64);
        }
    }

    fn controls(&self, gossip: &Gossip, sheet: &mut Sheet) {
        gossip.classifier().controls(&self.0, &[], sheet);
    }

    fn at_end(&self, end: &End<'_, Gossip>, sheet: &mut Sheet) {
        let gossip = end.strategy;
        let world = end.setup.world;
        if world.deadline.is_some() {
            sheet.warn(
                "deadline_ms means nothing without a server that waits; strategy.timeout_s is how long clients wait",
            );
        }
        if world.cohort.asked(end.clients.len()) < end.clients.len() {
            sheet.warn("cohort means nothing without a server that asks: all clients took part");
        }
        for (name, count) in Gossip::COUNTERS.iter().zip(&end.counters) {
            sheet.number(*name, *count as f64);
        }
        if !gossip.method().is_pairwise() {
            let graphs: Vec<_> = match gossip.params.topology.changes() {
                true => (0..gossip.rounds().min(GRAPHS))
                    .map(|round| gossip.graph(round))
                    .collect(),
                false => vec![gossip.graph(0)],
            };
            sheet.number(
                "spectral_gap",
                1.0 - contraction(gossip.params.weights, gossip.params.mixing, &graphs),
            );
        }
        self.links(end, sheet);
        compression(end, sheet);
        if end.clients.len() > 1 && end.clients.iter().all(|(_, client)| client.carried().is_empty()) {
            sheet.doubt("no client received a model of another: each trained alone; help: see messages.csv for what was lost or late");
        }
        let n_unfinished = end.clients.iter().filter(|(_, client)| !client.is_over()).count();
        let may_stop = !world.stop.at.is_empty() || world.stop.diverged;
        if n_unfinished > 0 && (end.rounds.len() as u32 >= gossip.rounds() || !may_stop) {
            let n = end.clients.len();
            sheet.warn(format!(
                "{n_unfinished} of {n} clients had not come to the end of their last round when the run was over"
            ));
        }
    }

    fn scores(&self, end: &End<'_, Gossip>, sheet: &mut Sheet) {
        let gossip = end.strategy;
        let starts = gossip.starts(end.clients.len());
        let models = last_models(end, &starts);
        for worth in self.worth(gossip, &models) {
            sheet.number(score_name(worth.split, &worth.metric), worth.value);
        }
        let distance = consensus_distance(gossip, &models);
        sheet.number_if("consensus_distance", distance.is_finite().then_some(distance));
        let classifier = gossip.classifier();
        classifier.references(&self.0, &[], sheet);
        let model = |client: ClientId, _: &Shard| Cow::Borrowed(models[client.0 as usize]);
        let rows = classifier.client_scores(&self.0, model, sheet);
        let run = (&*self.0, end.streams);
        classifier.honest_scores(&rows, run, sheet);
        let honest = (0..models.len()).filter(|client| !classifier.is_malicious(*client, run));
        let honest: Vec<&[f32]> = honest.map(|client| models[client]).collect();
        classifier.conclude_attack(&self.0, &honest, sheet);
        sheet.client_scores(rows);
    }

    /// In a round that nothing is lost in: a model each way along every link, and a report of each
    /// client.
    fn expected_messages(
        &self,
        gossip: &Gossip,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        _: Direction,
    ) -> Option<f64> {
        let n_clients = f64::from(setup.n_clients);
        match (kind.name, gossip.method()) {
            ("report", _) => Some(n_clients),
            ("model" | "packed_model", Method::Averaging | Method::Dpsgd) => {
                Some(gossip.graph(round.0).n_arcs() as f64)
            }
            ("model" | "answer" | "packed_model" | "packed_answer", Method::Pairwise { .. })
                if !gossip.params.topology.changes() =>
            {
                Some(n_clients)
            }
            _ => None,
        }
    }
}

impl Watch {
    /// Writes down what links carried: the least and the most of those that carried any, and each
    /// where the card asks for it.
    fn links(&self, end: &End<'_, Gossip>, sheet: &mut Sheet) {
        let carried = end.clients.iter().flat_map(|(to, client)| {
            let row = move |carried: &Carried| (carried.from, to.0, carried.models, carried.bytes);
            client.carried().iter().map(row)
        });
        let mut rows: Vec<(u32, u32, u64, u64)> = carried.collect();
        rows.sort_unstable();
        let bytes = || rows.iter().map(|(.., bytes)| *bytes);
        sheet.number_if("link_bytes_most", bytes().max().map(|bytes| bytes as f64));
        sheet.number_if("link_bytes_least", bytes().min().map(|bytes| bytes as f64));
        if end.strategy.params.keep_links {
            let mut table = LINKS.header(&[]);
            for (from, to, models, bytes) in rows {
                let _ = writeln!(table, "{from},{to},{models},{bytes}");
            }
            sheet.artifact(LINKS.file, table.into_bytes());
        }
    }
}
