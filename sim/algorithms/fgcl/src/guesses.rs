//! How well edges are guessed from noisy views, by somebody who sees the views themselves.
//!
//! | metric | |
//! |---|---|
//! | `edge_guess_auc` | the probability that an edge is ranked above a pair that is none, by the posterior |
//! | `edge_guess_found` | the share of edges found with at most 1 of 100 other pairs taken for one |
//! | `edge_guess_error` | the share of pairs guessed wrongly by the likelier answer; never an edge is among the answers |
//! | `edge_guess_balanced` | the mean of the two error rates by the likelihood alone; for one view the theory is e^(−ε/2) / 2 |
//!
//! Each has a curve over the number of views, and beside the first three stands what is guessed
//! from no view at all (`prior`). The prior is what graphs that nobody attacks show: how often
//! nodes that lie so far apart in the order of a graph are joined. In molecules, whose atoms come
//! in the order of their SMILES text, neighbours in that order mostly are.

use super::evaluator::View;
use super::options::{Draws, Views};
use folkmoot_classifiers::attacks::MOST_FALSE;
use folkmoot_engine::prelude::*;
use folkmoot_privacy::{Mechanism, NoiseForm};
use folkmoot_scores as scores;
use rayon::prelude::*;

const ATTACK: Purpose = Purpose(*b"fg-guess");
/// Training graphs whose edges are guessed: spread evenly over all.
const MOST_GRAPHS: usize = 64;
/// How many views a guess is made of.
const USES: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];
/// Nodes that lie this far apart, or farther, share a prior.
const MOST_APART: usize = 32;

/// `ln (p(edge) / p(none))` by how far two nodes lie apart in the order of a graph.
pub struct Prior([f64; MOST_APART]);

impl Prior {
    /// Counted on some graphs, each its number of nodes and its edges, the smaller end first, with
    /// one edge and one pair that is none added to each count.
    pub fn of<'a>(graphs: impl Iterator<Item = (usize, &'a [(u32, u32)])>) -> Prior {
        let (mut edges, mut others) = ([1.0; MOST_APART], [1.0; MOST_APART]);
        for (n_nodes, joined) in graphs {
            for apart in 1..n_nodes {
                others[apart.min(MOST_APART) - 1] += (n_nodes - apart) as f64;
            }
            for (u, v) in joined {
                let at = ((v - u) as usize).min(MOST_APART) - 1;
                edges[at] += 1.0;
                others[at] -= 1.0;
            }
        }
        Prior(std::array::from_fn(|at| libm::log(edges[at] / others[at])))
    }

    /// Of nodes `u` and `v` above it.
    pub fn log_odds(&self, u: usize, v: usize) -> f64 {
        self.0[(v - u).min(MOST_APART) - 1]
    }
}

/// What is known of the pairs of one graph, row by row above the diagonal.
struct Pairs {
    is_edge: Vec<bool>,
    prior: Vec<f64>,
    /// For each number of views, the logarithms of the likelihood ratios.
    ratios: Vec<Vec<f64>>,
    n_nonpositive: u64,
    n_degrees: u64,
}

impl View<'_> {
    /// How well edges are guessed from as many views as `n_rounds` rounds draw, and how many
    /// degrees of first views are not positive.
    pub(super) fn attacks(&self, n_rounds: u64, sheet: &mut Sheet) {
        let Some(noise) = self.fgcl.noise.as_ref().filter(|noise| !noise.tables.is_empty()) else {
            return;
        };
        let graphs: Vec<u32> = self.data.shards.concat();
        let n = graphs.len().min(MOST_GRAPHS);
        let chosen: Vec<u32> = (0..n).map(|i| graphs[i * graphs.len() / n]).collect();
        let n_views = match self.fgcl.params.views {
            Views::Fresh => n_rounds * u64::from(self.fgcl.params.training.epochs) * noise.tables.len() as u64,
            Views::Fixed => noise.tables.len() as u64,
        };
        let uses: Vec<u32> = USES.into_iter().filter(|uses| u64::from(*uses) <= n_views).collect();
        let known = [&self.data.validation[..], &self.data.test].concat();
        let known = if known.is_empty() { &chosen } else { &known };
        let items = known.iter().map(|item| &*self.data.items[*item as usize]);
        let prior = Prior::of(items.map(|item| (item.n_nodes, &item.edges[..])));
        let of_graphs: Vec<Pairs> = chosen.par_iter().map(|item| self.pairs(*item, &uses, &prior)).collect();

        let is_edge: Vec<bool> = of_graphs
            .iter()
            .flat_map(|pairs| pairs.is_edge.iter().copied())
            .collect();
        let prior: Vec<f64> = of_graphs.iter().flat_map(|pairs| pairs.prior.iter().copied()).collect();
        if !is_edge.is_empty() {
            for (name, value) in guessed(&is_edge, &prior) {
                sheet.reference(name, "prior", value);
            }
            for (i, uses) in uses.iter().enumerate() {
                let ratios: Vec<f64> = of_graphs
                    .iter()
                    .flat_map(|pairs| pairs.ratios[i].iter().copied())
                    .collect();
                let posterior: Vec<f64> = ratios.iter().zip(&prior).map(|(ratio, prior)| ratio + prior).collect();
                let balanced = balanced_error(&is_edge, &ratios).map(|error| ("edge_guess_balanced", error));
                for (name, value) in guessed(&is_edge, &posterior).into_iter().chain(balanced) {
                    if i == 0 {
                        sheet.number(name, value);
                    }
                    sheet.point(name, ("views", uses), value);
                }
            }
            sheet.reference("edge_guess_balanced", "theory", noise.tables[0].law.guess_error());
        }
        let sum = |count: fn(&Pairs) -> u64| of_graphs.iter().map(count).sum::<u64>() as f64;
        let n_degrees = sum(|pairs| pairs.n_degrees);
        if n_degrees > 0.0 {
            sheet.number("nonpositive_degrees", sum(|pairs| pairs.n_nonpositive) / n_degrees);
            sheet.number(
                "graphs_with_nonpositive_degree",
                sum(|pairs| u64::from(pairs.n_nonpositive > 0)) / of_graphs.len() as f64,
            );
        }
    }

    fn pairs(&self, item: u32, uses: &[u32], prior: &Prior) -> Pairs {
        let graph = &self.data.items[item as usize];
        let n = graph.n_nodes;
        let all = || (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        let mut joined = vec![false; n * n];
        for (u, v) in &graph.edges {
            joined[*u as usize * n + *v as usize] = true;
        }
        let mut pairs = Pairs {
            is_edge: all().map(|(u, v)| joined[u * n + v]).collect(),
            prior: all().map(|(u, v)| prior.log_odds(u, v)).collect(),
            ratios: Vec::new(),
            n_nonpositive: 0,
            n_degrees: 0,
        };
        let Some(noise) = &self.fgcl.noise else { return pairs };
        let mut rng = self.streams.counted(ATTACK, Party::Server, Round(0), u64::from(item));
        let (mut table, mut ratios) = (Vec::new(), vec![0.0f64; pairs.is_edge.len()]);
        for view in 0..uses.last().copied().unwrap_or(1) {
            let of_view = &noise.tables[view as usize % noise.tables.len()];
            of_view
                .release_into(NoiseForm::Float, graph, &mut rng, &mut table)
                .expect("every table has noise");
            for (sum, (u, v)) in ratios.iter_mut().zip(all()) {
                *sum += of_view.law.log_ratio(f64::from(table[u * n + v]));
                if self.fgcl.params.draws == Draws::PerEntry {
                    *sum += of_view.law.log_ratio(f64::from(table[v * n + u]));
                }
            }
            if uses.contains(&(view + 1)) {
                pairs.ratios.push(ratios.clone());
            }
            if view == 0
                && let Some(degrees) = noise.raw_degrees(n, table.clone())
            {
                pairs.n_nonpositive = degrees.iter().filter(|degree| **degree <= 0.0).count() as u64;
                pairs.n_degrees = n as u64;
            }
        }
        pairs
    }
}

/// How well log-odds of all pairs tell edges: `edge_guess_auc`, `edge_guess_found`,
/// `edge_guess_error`. What does not exist for want of edges, or of others, is left out.
pub fn guessed(is_edge: &[bool], odds: &[f64]) -> Vec<(&'static str, f64)> {
    let wrong = is_edge
        .iter()
        .zip(odds)
        .filter(|(is_edge, odds)| (**odds > 0.0) != **is_edge);
    let error = wrong.count() as f64 / is_edge.len() as f64;
    let ranked = [
        ("edge_guess_auc", scores::auc(is_edge, odds).ok()),
        (
            "edge_guess_found",
            scores::true_positive_rate(is_edge, odds, MOST_FALSE).ok(),
        ),
    ];
    let ranked = ranked.into_iter().filter_map(|(name, value)| Some((name, value?)));
    ranked.chain([("edge_guess_error", error)]).collect()
}

/// The mean of the shares of edges and of others that the sign of their ratio gets wrong; a coin
/// decides where it is 0.
fn balanced_error(is_edge: &[bool], ratios: &[f64]) -> Option<f64> {
    let error = |of: bool| {
        let (mut wrong, mut n) = (0.0, 0u64);
        for (_, ratio) in is_edge.iter().zip(ratios).filter(|(is_edge, _)| **is_edge == of) {
            n += 1;
            wrong += if *ratio == 0.0 {
                0.5
            } else {
                f64::from(u8::from((*ratio > 0.0) != of))
            };
        }
        (n > 0).then(|| wrong / n as f64)
    };
    Some((error(true)? + error(false)?) / 2.0)
}
