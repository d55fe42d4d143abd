//! What a client's updates give away of its graphs, to whoever reads them: the server, or with
//! secure aggregation everybody who gets the mean.
//!
//! | metric | |
//! |---|---|
//! | `membership_auc` | the probability that a graph that a client trained on is ranked above one that nobody did |
//! | `membership_found` | the share of such graphs found with at most 1 of 100 others taken for one |
//! | `update_edge_auc` | the probability that an edge of such a graph is ranked above a pair of its nodes that is none |
//! | `update_edge_found` | the share of such edges found with at most 1 of 100 other pairs taken for one |
//!
//! The attacker has the first and the last update of each client, the models that they began with,
//! and candidates: a graph with its label, whose membership is asked; or all of a graph but one
//! pair of nodes. It ranks a graph by the cosine between the update and the step down the graph's
//! own gradient (gradient alignment), and a pair by how much larger that cosine is with the pair
//! joined than without. With noise a gradient is the mean over some views, the same noise for both
//! answers.
//!
//! With `protocol.secure` the server sees no update of one client: all of these are then of the
//! mean of all updates.
//!
//! Beside each stand `@aggregate`, the same of the mean of all updates, which is what secure
//! aggregation leaves; `membership@loss`, the loss of the last model in place of its updates (S.
//! Yeom, I. Giacomelli, M. Fredrikson, S. Jha. Privacy Risk in Machine Learning. CSF 2018); and for
//! edges `@others`, the same attack on graphs that nobody trained on: what it finds there the
//! update does not tell.

use super::Fgcl;
use super::data::Item;
use super::evaluator::View;
use super::step::Step;
use folkmoot_classifiers::attacks::MOST_FALSE;
use folkmoot_draws::{SimRng, index};
use folkmoot_engine::prelude::*;
use folkmoot_learning::Tape;
use folkmoot_rounds::{RoundEnd, Secure};
use folkmoot_scores as scores;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const PAIRS: Purpose = Purpose(*b"fg-pairs");
const NOISE: Purpose = Purpose(*b"fg-leaks");
/// Graphs of each kind, spread evenly over all there are.
const MOST_GRAPHS: usize = 128;
/// Pairs of each kind that are asked about in a graph.
const MOST_PAIRS: usize = 4;
/// Views whose gradients are averaged, where there is noise.
const N_VIEWS: usize = 4;

/// An update as the server has it: the model that was sent, and by how much it came back changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sent {
    round: Round,
    #[serde(with = "shared")]
    before: Arc<[f32]>,
    change: Vec<f32>,
}

impl Sent {
    pub(super) fn new(round: Round, before: &[f32], after: &[f32]) -> Sent {
        Sent {
            round,
            before: before.into(),
            change: after.iter().zip(before).map(|(after, before)| after - before).collect(),
        }
    }
}

/// Updates of which the attacker reads one: those of a client, or their mean.
type Seen<'a> = Vec<&'a Sent>;

impl View<'_> {
    /// Membership and edges from updates.
    pub(super) fn leaks(&self, end: &RoundEnd<'_, Fgcl>, sheet: &mut Sheet) {
        let of_client = |client: u32| -> Seen<'_> { end.kept(ClientId(client)).map_or(Vec::new(), |past| past.sent()) };
        let sent: Vec<Seen<'_>> = (0..self.data.shards.len() as u32).map(of_client).collect();
        let owners: Vec<(u32, usize)> = self
            .data
            .shards
            .iter()
            .enumerate()
            .filter(|(client, _)| !sent[*client].is_empty())
            .flat_map(|(client, items)| items.iter().map(move |item| (*item, client)))
            .collect();
        let others = [&self.data.validation[..], &self.data.test].concat();
        let (members, others) = (spread(&owners), spread(&others));
        if members.is_empty() || others.is_empty() {
            return;
        }
        let mean = self.mean(&sent);
        let mean: Seen<'_> = mean.iter().collect();

        // A graph that nobody trained on is asked about at the client of some member.
        let is_masked = !matches!(self.fgcl.params.protocol.secure, Secure::Off);
        let owner = |i: usize| match is_masked {
            true => &mean,
            false => &sent[members[i % members.len()].1],
        };
        let of_members: Vec<(u32, &Seen<'_>)> = (0..).zip(&members).map(|(i, (item, _))| (*item, owner(i))).collect();
        let of_others: Vec<(u32, &Seen<'_>)> = (0..).zip(&others).map(|(i, item)| (*item, owner(i))).collect();
        let asked = [&of_members[..], &of_others].concat();
        let is_member: Vec<bool> = (0..asked.len()).map(|i| i < members.len()).collect();
        let rank = |of: &(dyn Fn(u32, &Seen<'_>) -> f64 + Sync)| -> Vec<f64> {
            asked.par_iter().map(|(item, seen)| of(*item, seen)).collect()
        };
        let names = ["membership_auc", "membership_found"];
        let alone = rank(&|item, seen| self.alignment(item, seen));
        let together = rank(&|item, _| self.alignment(item, &mean));
        let by_loss = rank(&|item, _| -self.gradient(item, &self.data.items[item as usize], end.parameters).0);
        write(names, None, &is_member, &alone, sheet);
        write(names, Some("aggregate"), &is_member, &together, sheet);
        write(names, Some("loss"), &is_member, &by_loss, sheet);

        let names = ["update_edge_auc", "update_edge_found"];
        let of_mean: Vec<(u32, &Seen<'_>)> = of_members.iter().map(|(item, _)| (*item, &mean)).collect();
        for (label, asked) in [
            (None, of_members),
            (Some("aggregate"), of_mean),
            (Some("others"), of_others),
        ] {
            let of_graphs: Vec<Vec<(bool, f64)>> = asked
                .par_iter()
                .map(|(item, seen)| self.pair_scores(*item, seen))
                .collect();
            let (is_edge, ranks): (Vec<bool>, Vec<f64>) = of_graphs.into_iter().flatten().unzip();
            write(names, label, &is_edge, &ranks, sheet);
        }
    }

    /// The mean update of the clients of the first round that any sent, and of the last one,
    /// weighted by training graphs.
    fn mean(&self, sent: &[Seen<'_>]) -> Vec<Sent> {
        let rounds = || sent.iter().flatten().map(|sent| sent.round);
        let (Some(first), Some(last)) = (rounds().min(), rounds().max()) else {
            return Vec::new();
        };
        let of_round = |round: Round| -> Option<Sent> {
            let weights = self.data.shards.iter().map(|shard| shard.len() as f64);
            let all: Vec<(&Sent, f64)> = sent
                .iter()
                .zip(weights)
                .filter_map(|(seen, weight)| Some((*seen.iter().find(|sent| sent.round == round)?, weight)))
                .collect();
            let total: f64 = all.iter().map(|(_, weight)| weight).sum();
            let before = Arc::clone(&all.first()?.0.before);
            let at = |i: usize| {
                all.iter()
                    .map(|(sent, weight)| weight * f64::from(sent.change[i]))
                    .sum::<f64>()
                    / total
            };
            let change = (0..before.len()).map(|i| at(i) as f32).collect();
            Some(Sent { round, before, change })
        };
        let mut rounds = vec![first, last];
        rounds.dedup();
        rounds.into_iter().filter_map(of_round).collect()
    }

    /// How well updates agree with a graph.
    fn alignment(&self, item: u32, seen: &Seen<'_>) -> f64 {
        let graph = &self.data.items[item as usize];
        seen.iter().map(|sent| self.agreement(item, graph, sent)).sum()
    }

    /// The cosine between an update and the step down the gradient of a graph that is labelled as
    /// `item`; 0 where either is nothing.
    fn agreement(&self, item: u32, graph: &Item, sent: &Sent) -> f64 {
        let gradient = self.gradient(item, graph, &sent.before).1;
        let change = || sent.change.iter().map(|x| f64::from(*x));
        let lengths = change().map(|x| x * x).sum::<f64>() * gradient.iter().map(|x| x * x).sum::<f64>();
        let product: f64 = change().zip(&gradient).map(|(a, b)| a * b).sum();
        if lengths > 0.0 { -product / lengths.sqrt() } else { 0.0 }
    }

    /// For some pairs of a graph's nodes, whether they are joined, and how far updates go towards a
    /// graph in which they are.
    fn pair_scores(&self, item: u32, seen: &Seen<'_>) -> Vec<(bool, f64)> {
        let graph = &self.data.items[item as usize];
        let mut rng = self.streams.counted(PAIRS, Party::Server, Round(0), u64::from(item));
        let of = |(pair, is_edge): ((u32, u32), bool)| {
            let with = |joined| graph.with_pair(&self.fgcl.params, pair, joined);
            let (joined, apart) = (with(true), with(false));
            let towards = |sent: &&Sent| self.agreement(item, &joined, sent) - self.agreement(item, &apart, sent);
            (is_edge, seen.iter().map(towards).sum())
        };
        some_pairs(graph, &mut rng).into_iter().map(of).collect()
    }

    /// The loss of a graph that is labelled as `item`, and its gradient; with noise the means over
    /// some views.
    fn gradient(&self, item: u32, graph: &Item, parameters: &[f32]) -> (f64, Vec<f64>) {
        let fgcl = self.fgcl;
        let n_views = if fgcl.noise.is_some() { N_VIEWS } else { 1 };
        let mut rng = self.streams.counted(NOISE, Party::Server, Round(0), u64::from(item));
        let (mut matrix, mut degrees) = (Vec::new(), Vec::new());
        let (mut loss, mut gradient) = (0.0, vec![0.0; parameters.len()]);
        for _ in 0..n_views {
            let mut step = Step::new(fgcl.network.n_features(), fgcl.noise.is_some());
            if let Some(noise) = &fgcl.noise {
                noise.look(0, graph, &mut rng, &mut matrix, &mut degrees);
            }
            step.assembly.push(graph, &matrix);
            step.ask(&self.data.labels, &[item]);
            Tape::with_own(|tape| {
                tape.load(fgcl.network.layout(), parameters);
                let mut own = std::mem::take(tape).recycle();
                let answer = fgcl.answers(&mut own, &step).1;
                own.backward(answer);
                loss += f64::from(own.scalar(answer)) / n_views as f64;
                let of_view = own.parameters_mut().1;
                for (sum, of_view) in gradient.iter_mut().zip(of_view.iter()) {
                    *sum += f64::from(*of_view) / n_views as f64;
                }
                *tape = own.recycle();
            });
        }
        (loss, gradient)
    }
}

/// At most so many of them, spread evenly.
fn spread<T: Copy>(all: &[T]) -> Vec<T> {
    let n = all.len().min(MOST_GRAPHS);
    (0..n).map(|i| all[i * all.len() / n]).collect()
}

/// Some edges of a graph, and as many pairs that are none, if there are.
fn some_pairs(graph: &Item, rng: &mut SimRng) -> Vec<((u32, u32), bool)> {
    let n = graph.n_nodes as u32;
    let mut edges = graph.edges.clone();
    edges.sort_unstable();
    edges.dedup();
    let mut others: Vec<(u32, u32)> = (0..n)
        .flat_map(|u| (u + 1..n).map(move |v| (u, v)))
        .filter(|pair| edges.binary_search(pair).is_err())
        .collect();
    let most = MOST_PAIRS.min(edges.len()).min(others.len());
    let mut some = Vec::with_capacity(2 * most);
    for (all, is_edge) in [(&mut edges, true), (&mut others, false)] {
        some.extend((0..most).map(|_| (all.swap_remove(index(rng, all.len())), is_edge)));
    }
    some
}

/// What ranks find, where there are both kinds and all are numbers.
fn write([area, found]: [&'static str; 2], label: Option<&str>, is_one: &[bool], ranks: &[f64], sheet: &mut Sheet) {
    let values = [
        (area, scores::auc(is_one, ranks)),
        (found, scores::true_positive_rate(is_one, ranks, MOST_FALSE)),
    ];
    for (name, value) in values {
        match (value, label) {
            (Ok(value), None) => sheet.number(name, value),
            (Ok(value), Some(label)) => sheet.reference(name, label, value),
            (Err(_), _) => {}
        }
    }
}
