use super::numbers::{Guesses, count};
use super::{Attack, Target};
use crate::classifier::{Facts, Held, NodeRows, Shard};
use crate::settings::Source;
use folkmoot_draws::{draw_first, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph};
use folkmoot_parts::part;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Nodes that a model answers alike are joined: whoever is given the last model's probabilities of the classes of each node, and nothing
/// else, guesses which pairs of one client's nodes are joined.
///
/// Asked about are all pairs that a client knows to be joined, and as many others of the same client, drawn. A pair's score is the
/// distance of its two rows of probabilities, negated: cosine, Euclidean, correlation, Chebyshev, Bray-Curtis, Canberra and city-block
/// distance and the Euclidean one squared. Of rows without any variance the correlation is 0; of 0 and 0 the Canberra distance is 0.
/// Written down are `link_DISTANCE_auc` and `link_DISTANCE_found` for each, and `link_others`, the number of pairs that are not joined.
/// Beside each area stands, `@no_graph`, the same of a model that the same strategy has trained on the same nodes without any edge: what
/// it finds is told by the nodes' likeness alone.
///
/// X. He, J. Jia, M. Backes, N. Z. Gong, Y. Zhang. Stealing Links from Graph Neural Networks. USENIX Security 2021, attack 0.
#[part(
    name = "LinkStealing",
    about = "edges by the likeness of what a model answers (He et al. 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct LinkStealing {}

const PAIRS: Purpose = Purpose(*b"at-pairs");

/// The distances, by their names in numbers.
pub(super) const DISTANCES: [(&str, fn(&[f64], &[f64]) -> f64); 8] = [
    ("cosine", cosine),
    ("euclidean", |a, b| squared(a, b).sqrt()),
    ("correlation", |a, b| cosine(&centred(a), &centred(b))),
    ("chebyshev", |a, b| differences(a, b).fold(0.0, f64::max)),
    ("bray_curtis", |a, b| {
        differences(a, b).sum::<f64>() / sums(a, b).map(f64::abs).sum::<f64>()
    }),
    ("canberra", canberra),
    ("city_block", |a, b| differences(a, b).sum()),
    ("squared_euclidean", squared),
];

impl Attack for LinkStealing {
    fn suits(&self, facts: &Facts) -> Result<(), StrategyError> {
        if facts.classifies_graphs {
            let why = "LinkStealing asks what a model answers of single nodes, and here whole graphs are classified; leave it out, or \
                       choose a data set of one graph";
            return Err(StrategyError(why.to_owned()));
        }
        Ok(())
    }

    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let pairs = |(client, shard): (usize, &Shard)| {
            let party = Party::Client(ClientId(client as u32));
            let mut rng = target.data.streams.party(PAIRS, party, Round(0));
            let n_nodes = target.data.partition.shard(client).len() as u32;
            some_pairs(&shard.joined(), n_nodes, &mut rng)
        };
        let pairs: Vec<Pairs> = target.data.held.shards().iter().enumerate().map(pairs).collect();
        let is_joined: Vec<bool> = pairs.iter().flatten().map(|(_, is_joined)| *is_joined).collect();
        count("link_others", &is_joined, sheet);
        write(target, (&target.data.held, target.last), &pairs, None, sheet);

        let dataset = Arc::new(without_edges(&target.data.dataset)?);
        let source = Source::new(&dataset, &target.data.partition, target.data.streams);
        let held = target.classifier.share(target.data.split, &source)?;
        let model = (target.train)(&held, target.data.streams.seed())?;
        write(target, (&held, &model), &pairs, Some("no_graph"), sheet);
        Ok(())
    }
}

/// Pairs of nodes of one client, as places in its shard, and whether they are joined.
type Pairs = Vec<((u32, u32), bool)>;

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

/// What a model's answers tell of the pairs.
fn write(target: &Target<'_>, (held, model): (&Held, &[f32]), pairs: &[Pairs], label: Option<&str>, sheet: &mut Sheet) {
    let answers = |shard: &Shard| -> Vec<Vec<f64>> {
        let rows = target.classifier.node_rows(shard, model, NodeRows::Probabilities);
        let rows = rows
            .iter()
            .flat_map(|rows| rows.values.chunks_exact(rows.width as usize));
        rows.map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect()
    };
    let answers: Vec<Vec<Vec<f64>>> = held.shards().iter().map(answers).collect();
    write_guesses(&answers, pairs, label, sheet);
}

/// The same of any answers, by client and node.
pub(super) fn write_guesses(answers: &[Vec<Vec<f64>>], pairs: &[Pairs], label: Option<&str>, sheet: &mut Sheet) {
    let is_joined: Vec<bool> = pairs.iter().flatten().map(|(_, is_joined)| *is_joined).collect();
    for (name, distance) in DISTANCES {
        let of_client = |(rows, pairs): (&Vec<Vec<f64>>, &Pairs)| -> Vec<f64> {
            let score = |((u, v), _): &((u32, u32), bool)| -distance(&rows[*u as usize], &rows[*v as usize]);
            pairs.iter().map(score).collect()
        };
        let scores: Vec<f64> = answers.iter().zip(pairs).flat_map(of_client).collect();
        Guesses {
            is_one: &is_joined,
            scores: &scores,
        }
        .write(&format!("link_{name}"), None, label, sheet);
    }
}

/// The same nodes with no edge.
fn without_edges(dataset: &Dataset) -> Result<Dataset, StrategyError> {
    let bare = |graph: &Graph| Graph::from_edges(graph.n_nodes() as u32, &[], graph.is_directed());
    let graphs: Result<Vec<Graph>, _> = dataset.graphs.iter().map(bare).collect();
    Ok(Dataset {
        graphs: graphs.map_err(|error| StrategyError(error.to_string()))?,
        edge_labels: None,
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
