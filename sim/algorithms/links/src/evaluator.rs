//! What a model is worth: on all held-out edges, within clients, and between them.

use crate::attacks::Attacks;
use crate::compared::Schedule;
use crate::controls::{Control, controls};
use crate::data::{Held, Maker, Shard};
use crate::division::Division;
use crate::measures::{area, average_precision, loss, mean, of_ranks, rank};
use crate::pairs::{Evaluated, Pairs};
use crate::settings::{Comparison, Params};
use crate::train::LinkTrainer;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::artifacts::{ArtifactTable, FLOAT, WHOLE};
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::records::UNTRAINED;
use folkmoot_metrics::table::column;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

const SPLITS: [&str; 2] = ["validation", "test"];

/// The AUC of each client.
pub(crate) const CLIENT_AUC: ArtifactTable = ArtifactTable {
    file: "client_auc.csv",
    columns: &[
        column("client", WHOLE, "The client."),
        column("split", "text", "`validation` or `test`."),
        column(
            "auc",
            FLOAT,
            "ROC AUC of the last model on edges within the client and as many pairs of its nodes without an edge.",
        ),
        column("pairs", WHOLE, "Number of these pairs."),
    ],
};

/// One metric of a split: name, value, and the number of pairs, edges or clients.
type Score = (&'static str, f64, u64);

/// The evaluator of a training.
pub(crate) struct Scores {
    held: Arc<Held>,
    compared: Vec<Comparison>,
    /// The whole graph as one shard, if a model is trained on it.
    whole: Option<Shard>,
    controls: Vec<Control>,
    attacks: Option<Attacks>,
}

impl Scores {
    pub(crate) fn new(params: &Params, held: &Arc<Held>, source: &Source<'_>) -> Result<Scores, StrategyError> {
        let is_here = source.needed.len() == held.shards().len();
        let whole = match is_here && params.compared_with.contains(&Comparison::Centralised) {
            true => Some(Maker::new(params, source)?.whole()?),
            false => None,
        };
        let [_, test] = held.evaluated();
        Ok(Scores {
            controls: controls(&Division::new(params.split, source.streams), test, source)?,
            compared: params.compared_with.clone(),
            attacks: (is_here && params.attacked_edges > 0).then(|| Attacks::new(params, held, source)),
            held: Arc::clone(held),
            whole,
        })
    }

    /// The embedding of every node at its own client by one model, shape `(n_nodes, width)`; 0 for
    /// nodes of no client.
    fn rows(&self, trainer: &LinkTrainer, parameters: &[f32]) -> Vec<f32> {
        let width = trainer.predictor().width();
        let of_client = |shard: &Shard| match shard.n_own() {
            0 => Vec::new(),
            _ => trainer.predictor().rows(shard.batch(), parameters),
        };
        let by_client: Vec<Vec<f32>> = self.held.shards().par_iter().map(of_client).collect();
        let mut all = vec![0.0; self.held.n_nodes() * width];
        for (shard, rows) in self.held.shards().iter().zip(by_client) {
            for (node, row) in shard.nodes()[..shard.n_own()].iter().zip(rows.chunks_exact(width)) {
                all[*node as usize * width..][..width].copy_from_slice(row);
            }
        }
        all
    }

    /// The scores of one model on a split, by the embeddings of all nodes.
    fn of_split(&self, trainer: &LinkTrainer, of: &Evaluated, rows: &[f32], parameters: &[f32]) -> Vec<Score> {
        let score = |pairs: &[(u32, u32)]| trainer.predictor().scores(rows, pairs, parameters);
        let scores = score(&of.all.pairs);
        let (n, n_edges) = (scores.len() as u64, of.all.n_edges() as u64);
        let mut found: Vec<(&str, Option<f64>, u64)> = vec![
            ("auc", area(&of.all, &scores), n),
            ("average_precision", average_precision(&of.all, &scores), n),
            ("loss", loss(&of.all, &scores), n),
        ];
        let first = |(at, nodes): (usize, &Vec<u32>)| {
            let u = of.all.pairs[at].0;
            nodes.iter().map(move |v| (u, *v)).collect::<Vec<(u32, u32)>>()
        };
        let candidates: Vec<(u32, u32)> = of.ranked.iter().enumerate().flat_map(first).collect();
        let mut others = &score(&candidates)[..];
        let next = |(at, nodes): (usize, &Vec<u32>)| {
            let (own, rest) = others.split_at(nodes.len());
            others = rest;
            rank(scores[at], own)
        };
        let ranks: Vec<f64> = of.ranked.iter().enumerate().map(next).collect();
        let of_ranks = of_ranks(&ranks).filter(|_| scores.iter().all(|score| score.is_finite()));
        let names = ["mrr", "hits_at_1", "hits_at_3", "hits_at_10"];
        found.extend((0..4).map(|at| (names[at], of_ranks.map(|values| values[at]), n_edges)));
        let is_cross = |(u, v): &(u32, u32)| self.held.owner(*u) != self.held.owner(*v);
        let crossing = (0..scores.len()).filter(|at| is_cross(&of.all.pairs[*at]));
        let (is_edge, cross_scores): (Vec<bool>, Vec<f64>) =
            crossing.map(|at| (of.all.is_edge[at], scores[at])).unzip();
        let cross = Pairs {
            pairs: Vec::new(),
            is_edge,
        };
        found.push(("cross_auc", area(&cross, &cross_scores), cross_scores.len() as u64));
        let own: Vec<Vec<f64>> = of.own.par_iter().map(|pairs| score(&pairs.pairs)).collect();
        found.extend(within(of, &own));
        let finite = |(name, value, n): (&'static str, Option<f64>, u64)| {
            let value = value.filter(|value| value.is_finite())?;
            Some((name, value, n))
        };
        found.into_iter().filter_map(finite).collect()
    }

    /// The scores of one model on both splits.
    fn of_model(&self, trainer: &LinkTrainer, parameters: &[f32]) -> [Vec<Score>; 2] {
        let rows = self.rows(trainer, parameters);
        self.by_rows(trainer, &rows, parameters)
    }

    fn by_rows(&self, trainer: &LinkTrainer, rows: &[f32], parameters: &[f32]) -> [Vec<Score>; 2] {
        let [validation, test] = self.held.evaluated();
        [validation, test].map(|of| self.of_split(trainer, of, rows, parameters))
    }

    /// The test scores within clients, each by the client's own model.
    fn of_models(&self, trainer: &LinkTrainer, models: &[Vec<f32>]) -> Vec<Score> {
        let [_, test] = self.held.evaluated();
        let predictor = trainer.predictor();
        let of_client = |(client, model): (usize, &Vec<f32>)| {
            let shard = &self.held.shards()[client];
            let rows = predictor.rows(shard.batch(), model);
            let own = &shard.nodes()[..shard.n_own()];
            let place = |node: &u32| own.binary_search(node).expect("pairs within a client are its own") as u32;
            let pairs = &test.own[client].pairs;
            let local: Vec<(u32, u32)> = pairs.iter().map(|(u, v)| (place(u), place(v))).collect();
            predictor.scores(&rows, &local, model)
        };
        let scores: Vec<Vec<f64>> = models.par_iter().enumerate().map(of_client).collect();
        let defined = within(test, &scores).into_iter();
        defined.filter_map(|(name, value, n)| Some((name, value?, n))).collect()
    }

    /// The AUC of each client where it is defined: rows of a table.
    fn client_rows(&self, trainer: &LinkTrainer, parameters: &[f32]) -> String {
        let rows = self.rows(trainer, parameters);
        let mut table = CLIENT_AUC.header(&[]);
        for (split, of) in SPLITS.iter().zip(self.held.evaluated()) {
            for (client, pairs) in of.own.iter().enumerate() {
                let scores = trainer.predictor().scores(&rows, &pairs.pairs, parameters);
                if let Some(area) = area(pairs, &scores) {
                    let _ = writeln!(table, "{client},{split},{area},{}", scores.len());
                }
            }
        }
        table
    }
}

/// The AUC of all pairs within clients, its mean over clients and over the 10 % with the lowest.
fn within(of: &Evaluated, scores: &[Vec<f64>]) -> [(&'static str, Option<f64>, u64); 3] {
    let pooled = Pairs {
        pairs: Vec::new(),
        is_edge: of.own.iter().flat_map(|pairs| pairs.is_edge.iter().copied()).collect(),
    };
    let all = scores.concat();
    let by_client = of.own.iter().zip(scores).filter_map(|(pairs, own)| area(pairs, own));
    let mut by_client: Vec<f64> = by_client.collect();
    by_client.sort_unstable_by(f64::total_cmp);
    let n_clients = by_client.len();
    let worst = &by_client[..n_clients.div_ceil(10)];
    [
        ("inner_auc", area(&pooled, &all), all.len() as u64),
        ("client_auc", mean(&by_client), n_clients as u64),
        ("client_worst_tenth_auc", mean(worst), worst.len() as u64),
    ]
}

impl RoundEvaluator<LinkTrainer> for Scores {
    fn after_round(&self, trainer: &LinkTrainer, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        let scores = self.of_model(trainer, parameters);
        for ((split, scores), of) in SPLITS.iter().zip(scores).zip(self.held.evaluated()) {
            if of.all.n_edges() > 0 && scores.iter().all(|(metric, ..)| *metric != "loss") {
                sheet.diverged(format!("the {split} loss is not finite"));
            }
            for (metric, value, n) in scores {
                sheet.score(split, metric, value, n);
            }
        }
    }

    fn reads_clients(&self, _: &LinkTrainer) -> bool {
        false
    }

    fn controls(&self, _: &LinkTrainer, sheet: &mut Sheet) {
        for (control, metric, value, n) in &self.controls {
            sheet.control(control, metric, *value, *n);
        }
    }

    fn scores(&self, end: &RoundEnd<'_, LinkTrainer>, sheet: &mut Sheet) {
        let trainer = end.trainer;
        for (split, scores) in SPLITS.iter().zip(self.of_model(trainer, end.parameters)) {
            for (metric, value, _) in scores {
                sheet.number(score_name(split, metric), value);
            }
        }
        for (control, metric, value, _) in &self.controls {
            sheet.reference(*metric, control, *value);
        }
        let first = end.first_model();
        let mut write = |control: &str, scores: Vec<Score>| {
            for (metric, value, n) in scores {
                let name = score_name("test", metric);
                sheet.control(control, &name, value, n);
                if metric.ends_with("auc") {
                    sheet.reference(name, control, value);
                }
            }
        };
        let [_, untrained] = self.of_model(trainer, &first);
        write(UNTRAINED, untrained);
        let protocol = end.run.strategy.protocol();
        let schedule = Schedule {
            rounds: protocol.rounds,
            epochs: trainer.epochs(),
            streams: end.run.streams,
        };
        if self.compared.contains(&Comparison::Local) {
            let models = schedule.local(trainer, &self.held, &first);
            write("local", self.of_models(trainer, &models));
        }
        if let Some(whole) = &self.whole {
            let model = schedule.centralised(trainer, whole, &first);
            let rows = trainer.predictor().rows(whole.batch(), &model);
            let [_, test] = self.by_rows(trainer, &rows, &model);
            write("centralised", test);
        }
        if let Some(attacks) = &self.attacks {
            let [trained, untrained] = [end.parameters, &first[..]].map(|parameters| {
                let rows = self.rows(trainer, parameters);
                attacks.areas(trainer, &rows, parameters)
            });
            attacks.conclude(trained, untrained, sheet);
        }
        sheet.artifact(CLIENT_AUC.file, self.client_rows(trainer, end.parameters).into_bytes());
    }
}
