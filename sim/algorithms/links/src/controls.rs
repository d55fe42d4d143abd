//! Baselines without training: common neighbours, cosine similarity of features, and rates of edges
//! between classes.

use crate::data::sides;
use crate::division::Division;
use crate::measures::{area, average_precision, of_ranks, rank};
use crate::pairs::Evaluated;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph};
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use std::collections::BTreeMap;

pub(crate) const COMMON_NEIGHBOURS: &str = "common_neighbours";
pub(crate) const FEATURE_COSINE: &str = "feature_cosine";
pub(crate) const CLASS_RATES: &str = "class_rates";

/// The score of a baseline: its name, the metric, the value and the number of test pairs.
pub(crate) type Control = (&'static str, &'static str, f64, u64);

/// Baselines on the test pairs. They see all training edges of the whole graph, and no held-out
/// ones.
///
/// # Errors
///
/// When the training graph is too large.
pub(crate) fn controls(
    division: &Division,
    test: &Evaluated,
    source: &Source<'_>,
) -> Result<Vec<Control>, StrategyError> {
    let whole = source.dataset.graph();
    let edges = division.edges(whole).into_iter();
    let training: Vec<(u32, u32)> = edges
        .filter(|(_, part)| !part.is_held_out())
        .map(|(edge, _)| edge)
        .collect();
    let graph = Graph::from_edges(whole.n_nodes() as u32, &training, false);
    let graph = graph.map_err(|error| StrategyError(error.to_string()))?;
    let near = |&(u, v): &(u32, u32)| common(&graph, u, v) as f64;
    let scores: Vec<f64> = test.all.pairs.par_iter().map(near).collect();
    let mut controls = of_scores(COMMON_NEIGHBOURS, test, &scores);
    let ranks = test.ranked.par_iter().enumerate().map(|(at, nodes)| {
        let u = test.all.pairs[at].0;
        let others: Vec<f64> = nodes.iter().map(|v| near(&(u, *v))).collect();
        rank(scores[at], &others)
    });
    if let Some([reciprocal, ..]) = of_ranks(&ranks.collect::<Vec<f64>>()) {
        let n = test.ranked.len() as u64;
        controls.push((COMMON_NEIGHBOURS, "test_mrr", reciprocal, n));
    }
    if let Some(features) = &source.dataset.features {
        let alike = |&(u, v): &(u32, u32)| cosine(features, u, v);
        let scores: Vec<f64> = test.all.pairs.par_iter().map(alike).collect();
        controls.extend(of_scores(FEATURE_COSINE, test, &scores));
    }
    if let Some(groups) = groups(source.dataset) {
        let rates = rates(&groups, &training);
        let rate = |(u, v): &(u32, u32)| rates[&pair(groups[*u as usize], groups[*v as usize])];
        let scores: Vec<f64> = test.all.pairs.iter().map(rate).collect();
        controls.extend(of_scores(CLASS_RATES, test, &scores));
    }
    Ok(controls)
}

fn of_scores(name: &'static str, test: &Evaluated, scores: &[f64]) -> Vec<Control> {
    let n = scores.len() as u64;
    let both = [
        ("test_auc", area(&test.all, scores)),
        ("test_average_precision", average_precision(&test.all, scores)),
    ];
    let found = both
        .into_iter()
        .filter_map(|(metric, value)| Some((name, metric, value?, n)));
    found.collect()
}

/// The class of each node, and its side if there are such; `None` unless each node has one class.
fn groups(dataset: &Dataset) -> Option<Vec<(u32, u32)>> {
    let labels = dataset.node_labels.as_ref()?;
    let sides = sides(dataset);
    let group = |node: u32| Some((labels.single(node)?, sides.get(node as usize).copied().unwrap_or(0)));
    (0..labels.n_nodes() as u32).map(group).collect()
}

/// Two groups in ascending order.
fn pair<T: Ord>(a: T, b: T) -> (T, T) {
    if b < a { (b, a) } else { (a, b) }
}

/// The fraction of pairs with a training edge, for each two groups: what is known of an edge by the
/// classes of its ends alone, as in a stochastic block model.
fn rates(groups: &[(u32, u32)], training: &[(u32, u32)]) -> BTreeMap<Two, f64> {
    let mut sizes: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(*group).or_default() += 1);
    let mut counts: BTreeMap<Two, u64> = BTreeMap::new();
    for (u, v) in training {
        *counts
            .entry(pair(groups[*u as usize], groups[*v as usize]))
            .or_default() += 1;
    }
    let mut rates = BTreeMap::new();
    for (first, n) in &sizes {
        for (second, m) in sizes.range(*first..) {
            let n_pairs = if first == second { n * (n - 1) / 2 } else { n * m };
            let n_edges = counts.get(&(*first, *second)).copied().unwrap_or(0);
            rates.insert((*first, *second), n_edges as f64 / n_pairs.max(1) as f64);
        }
    }
    rates
}

/// Two groups, each a class and a side.
type Two = ((u32, u32), (u32, u32));

/// How many neighbours two nodes share.
fn common(graph: &Graph, u: u32, v: u32) -> usize {
    let (near, others) = (graph.neighbours(u), graph.neighbours(v));
    near.iter().filter(|node| others.binary_search(node).is_ok()).count()
}

/// The cosine of two rows; 0 where one is all 0.
pub(crate) fn cosine(features: &Features, u: u32, v: u32) -> f64 {
    let row = |node: u32| {
        let mut row = vec![0.0; features.n_columns()];
        features.write_row(node, &mut row);
        row
    };
    cosine_of(&row(u), &row(v))
}

/// The cosine of two rows, of the same length; 0 where one is all 0.
pub(crate) fn cosine_of(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}
