//! Links by the likeness of answers.

use super::numbers::{Guesses, count};
use super::{Answering, Attack, Target, taught_links};
use crate::classifier::{Classifier, Facts, GraphRows, NodeRows, Shard};
use folkmoot_draws::{draw_first, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph};
use folkmoot_parts::component;
use folkmoot_scenarios::algorithm::Source;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Nodes that a model answers alike are joined: whoever is given the last model's probabilities of
/// the classes of each node, and nothing else, guesses which pairs of one client's nodes are
/// joined.
///
/// Query about are all pairs that a client knows to be joined, and as many others of the same
/// client, drawn. A pair's score is the distance of its two rows of probabilities, negated: cosine,
/// Euclidean, correlation, Chebyshev, Bray-Curtis, Canberra and city-block distance and the
/// Euclidean one squared. Of rows without any variance the correlation is 0; of 0 and 0 the
/// Canberra distance is 0, and of rows of nothing but 0 that of Bray and Curtis. Written down are
/// `link_DISTANCE_auc` and `link_DISTANCE_found` for each, and `link_others`, the number of pairs
/// that are not joined. Beside each area stands, `@no_graph`, the same of a model that the same
/// strategy has trained on the same nodes without any edge: what it finds is told by the nodes'
/// likeness alone. Where nodes bring their degrees, none are left to bring, and the control is a
/// coin.
///
/// With `known`, `taught_links_auc` and `taught_links_found` are of an attacker who knows so many
/// of the pairs, drawn, and is asked about the others: a perceptron of two hidden layers of 32 that
/// has learned from the distances, and from mean, product, difference and its square of the two
/// probabilities of each class and of the two entropies, standardised by the known pairs.
///
/// With `features` the attacker also has what nodes bring, and so a model without any edge, for
/// which the one of `@no_graph` stands. What a graph brings nearer is joined: `nearer_DISTANCE_auc`
/// and `nearer_DISTANCE_found` are of the distance of a pair by that model, less its distance by
/// the one attacked. Who knows pairs besides learns from the distances of what nodes bring, and of
/// the answers of that model, too: `featured_links_auc` and `featured_links_found`; in `@no_graph`
/// this attacker still has what nodes bring, so that the rest is what answers add.
///
/// X. He, J. Jia, M. Backes, N. Z. Gong, Y. Zhang. Stealing Links from Graph Neural Networks.
/// USENIX Security 2021, attacks 0 and 3, with `features` 2 and
/// 6. Not as in the paper: no dropout in the perceptron, and the scaling is not made anew for the
///    pairs asked about; the model without edges learns from the true classes of the nodes that
///    train, and not from answers. Attacks 1, 4, 5 and 7, which have a graph of another data set
///    besides, are not made.
#[component(
    name = "LinkStealing",
    about = "link stealing: infers edges from the similarity of model outputs (He et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct LinkStealing {
    /// Fraction of the pairs, linked or not, that the attacker knows and trains on. 0: no such
    /// attacker.
    #[component(default = 0.0, in = 0..=0.9)]
    pub known: f64,
    /// Whether the attacker knows the node features.
    pub features: bool,
}

const PAIRS: Purpose = Purpose(*b"at-pairs");
const TAUGHT: Purpose = Purpose(*b"at-known");

/// How far two rows of one length are from each other.
pub(super) type Distance = fn(&[f64], &[f64]) -> f64;

/// The distances, by their names in numbers.
pub(super) const DISTANCES: [(&str, Distance); 8] = [
    ("cosine", cosine),
    ("euclidean", |a, b| squared(a, b).sqrt()),
    ("correlation", |a, b| cosine(&centred(a), &centred(b))),
    ("chebyshev", |a, b| differences(a, b).fold(0.0, f64::max)),
    ("bray_curtis", |a, b| {
        let size = sums(a, b).map(f64::abs).sum::<f64>();
        if size > 0.0 {
            differences(a, b).sum::<f64>() / size
        } else {
            0.0
        }
    }),
    ("canberra", canberra),
    ("city_block", |a, b| differences(a, b).sum()),
    ("squared_euclidean", squared),
];

impl Attack for LinkStealing {
    fn suits(&self, _: &Classifier, facts: &Facts) -> Result<(), StrategyError> {
        if facts.classifies_graphs {
            let why = "LinkStealing queries the model for single nodes, and here whole graphs are classified; omit it, or choose a data set of one graph";
            return Err(StrategyError(why.to_owned()));
        }
        Ok(())
    }

    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let pairs = |(client, shard): (usize, &Shard)| {
            let party = Party::Client(ClientId(client as u32));
            let mut rng = target.data.streams.party(PAIRS, party, Round(0));
            let n_nodes = target.partition().shard(client).len() as u32;
            some_pairs(&shard.joined(), n_nodes, &mut rng)
        };
        let pairs: Vec<Pairs> = target.held().shards().iter().enumerate().map(pairs).collect();
        let is_joined: Vec<bool> = pairs.iter().flatten().map(|(_, is_joined)| *is_joined).collect();
        count("link_others", &is_joined, sheet);
        let answers = answers(target, target.last);
        write_guesses("link", &answers[..], &pairs, None, sheet);

        let dataset = Arc::new(without_edges(target.dataset())?);
        let source = Source::new(&dataset, &target.data.partition, target.data.streams);
        let held = target.classifier.share(target.data.split, &source)?;
        let bare = self::answers(target, &(target.train)(&held, &source, target.data.streams.seed())?);
        write_guesses("link", &bare[..], &pairs, Some("no_graph"), sheet);
        if self.features {
            write_guesses(
                "nearer",
                &Nearer {
                    bare: &bare,
                    answers: &answers,
                },
                &pairs,
                None,
                sheet,
            );
        }
        let brought = || {
            target
                .held()
                .shards()
                .iter()
                .map(|shard| by_node(&target.classifier.input_rows(shard)))
        };
        let brought: Vec<Answers> = self.features.then(brought).into_iter().flatten().collect();
        for (answers, label) in [(&answers, None), (&bare, Some("no_graph"))] {
            let rng = || target.data.streams.party(TAUGHT, Party::Server, Round(0));
            if self.known > 0.0 {
                write_taught(
                    "taught_links",
                    (answers, &[]),
                    &pairs,
                    (self.known, rng()),
                    label,
                    sheet,
                );
            }
            if self.known > 0.0 && self.features {
                let looked_at = (&answers[..], &[&brought[..], &bare[..]][..]);
                write_taught("featured_links", looked_at, &pairs, (self.known, rng()), label, sheet);
            }
        }
        Ok(())
    }
}

/// Pairs of nodes of one client, as places in its shard, and whether they are joined.
pub(super) type Pairs = Vec<((u32, u32), bool)>;

/// Rows of one client's nodes, such as the probabilities of the classes that a model answers for
/// each.
pub(super) type Answers = Vec<Vec<f64>>;

/// What a model answers for the nodes of each client.
fn answers(target: &Target<'_>, answering: &Answering) -> Vec<Answers> {
    let of_client = |(client, shard): (usize, &Shard)| {
        let model = answering.models.of(client);
        by_node(&target.classifier.node_rows(shard, model, NodeRows::Probabilities))
    };
    answering.known.shards().iter().enumerate().map(of_client).collect()
}

/// The rows of a client's nodes one by one.
fn by_node(rows: &[GraphRows]) -> Answers {
    let rows = rows
        .iter()
        .flat_map(|rows| rows.values.chunks_exact(rows.width as usize));
    rows.map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect()
}

/// How far a pair of a client's nodes is, by a distance of rows.
pub(super) trait Apart {
    fn apart(&self, client: usize, pair: (u32, u32), distance: Distance) -> f64;
}

impl Apart for [Answers] {
    fn apart(&self, client: usize, (u, v): (u32, u32), distance: Distance) -> f64 {
        distance(&self[client][u as usize], &self[client][v as usize])
    }
}

/// How much farther it is by the answers of a model than by those of one that has seen no edge.
pub(super) struct Nearer<'a> {
    pub(super) bare: &'a [Answers],
    pub(super) answers: &'a [Answers],
}

impl Apart for Nearer<'_> {
    fn apart(&self, client: usize, pair: (u32, u32), distance: Distance) -> f64 {
        self.answers.apart(client, pair, distance) - self.bare.apart(client, pair, distance)
    }
}

/// What an attacker who knows a share of the pairs tells of the others, from what a model answers
/// and from rows of other kinds.
pub(super) fn write_taught(
    name: &str,
    rows: (&[Answers], &[&[Answers]]),
    pairs: &[Pairs],
    (known, rng): (f64, SimRng),
    label: Option<&str>,
    sheet: &mut Sheet,
) {
    match taught_links::guesses(rows, pairs, known, rng) {
        Some((is_joined, scores)) => Guesses {
            is_one: &is_joined,
            scores: &scores,
        }
        .write(name, None, label, sheet),
        None => sheet.warn(format!(
            "LinkStealing: the share {known} of the pairs has not both joined pairs and others, or leaves none to ask about; nobody \
             was taught"
        )),
    }
}

/// All pairs that are joined, and as many that are not, if there are.
pub(super) fn some_pairs(joined: &[(u32, u32)], n_nodes: u32, rng: &mut SimRng) -> Pairs {
    let n_pairs = u64::from(n_nodes) * u64::from(n_nodes).saturating_sub(1) / 2;
    let n_apart = n_pairs - joined.len() as u64;
    let wanted = (joined.len() as u64).min(n_apart);
    let is_joined = |pair: &(u32, u32)| joined.binary_search(pair).is_ok();
    let apart: Vec<(u32, u32)> = if n_apart < 2 * wanted {
        let all = (0..n_nodes).flat_map(|u| (u + 1..n_nodes).map(move |v| (u, v)));
        let mut all: Vec<(u32, u32)> = all.filter(|pair| !is_joined(pair)).collect();
        draw_first(rng, &mut all, wanted as usize);
        all.truncate(wanted as usize);
        all
    } else {
        let mut found = BTreeSet::new();
        while (found.len() as u64) < wanted {
            let [u, v] = [0; 2].map(|_| index(rng, n_nodes as usize) as u32);
            let pair = (u.min(v), u.max(v));
            if u != v && !is_joined(&pair) {
                found.insert(pair);
            }
        }
        found.into_iter().collect()
    };
    let joined = joined.iter().map(|pair| (*pair, true));
    joined.chain(apart.into_iter().map(|pair| (pair, false))).collect()
}

/// What distances tell of the pairs.
pub(super) fn write_guesses(
    kind: &str,
    apart: &(impl Apart + ?Sized),
    pairs: &[Pairs],
    label: Option<&str>,
    sheet: &mut Sheet,
) {
    let is_joined: Vec<bool> = pairs.iter().flatten().map(|(_, is_joined)| *is_joined).collect();
    for (name, distance) in DISTANCES {
        let of_client = |(client, pairs): (usize, &Pairs)| -> Vec<f64> {
            let score = |(pair, _): &((u32, u32), bool)| -apart.apart(client, *pair, distance);
            pairs.iter().map(score).collect()
        };
        let scores: Vec<f64> = pairs.iter().enumerate().flat_map(of_client).collect();
        Guesses {
            is_one: &is_joined,
            scores: &scores,
        }
        .write(&format!("{kind}_{name}"), None, label, sheet);
    }
}

/// The same nodes with no edge.
fn without_edges(dataset: &Dataset) -> Result<Dataset, StrategyError> {
    let bare = |graph: &Graph| Graph::from_edges(graph.n_nodes() as u32, &[], graph.is_directed());
    let graphs: Result<Vec<Graph>, _> = dataset.graphs.iter().map(bare).collect();
    Ok(Dataset {
        graphs: graphs.map_err(|error| StrategyError(error.to_string()))?,
        edge_labels: None,
        edge_features: None,
        ..dataset.clone()
    })
}

fn differences<'a>(a: &'a [f64], b: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    a.iter().zip(b).map(|(a, b)| (a - b).abs())
}

fn sums<'a>(a: &'a [f64], b: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    a.iter().zip(b).map(|(a, b)| a + b)
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    differences(a, b).map(|x| x * x).sum()
}

fn canberra(a: &[f64], b: &[f64]) -> f64 {
    let parts = a.iter().zip(b).map(|(a, b)| ((a - b).abs(), a.abs() + b.abs()));
    parts.filter(|(_, size)| *size > 0.0).map(|(x, size)| x / size).sum()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { 1.0 - dot(a, b) / lengths } else { 1.0 }
}

fn centred(row: &[f64]) -> Vec<f64> {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    row.iter().map(|x| x - mean).collect()
}
