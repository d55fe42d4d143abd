//! Similarities of small graphs by their exact edit distance: what EGSC is made for, in place of
//! classes that match or do not.
//!
//! A pair's similarity is `exp(−2 GED / (n_1 + n_2))`. An epoch has as many pairs as training
//! graphs, two random orders of them side by side. Every test graph is asked for among all training
//! graphs. Nodes bring their degree alone, one of as many columns as there are degrees: labels cost
//! nothing to change, so they would tell a model nothing.

use super::matcher::Input;
use super::options::{Form, Task};
use super::pairs::Deployed;
use folkmoot_draws::{SimRng, draw_first, shuffle};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph, Pair, SparseRows};
use folkmoot_scores::{Ties, kendall, precision_at, spearman};
use folkmoot_similarity::graph_edit;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Training graphs that each validation graph is compared with.
const VALIDATED_WITH: usize = 8;

/// The exact distances of the graphs that train to all graphs.
pub struct Edits {
    /// By training graph, then by graph.
    distances: Vec<Vec<u32>>,
    sizes: Vec<[usize; 2]>,
    train: Vec<u32>,
    test: Vec<u32>,
    validation: Vec<Pair>,
    ties: Ties,
}

/// How well similarities are told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The mean squared error over all test graphs with all training graphs.
    pub mse: f64,
    /// Means over test graphs: Spearman's ρ and Kendall's τ between scores and similarities of the
    /// training graphs, and the shares of the first 10 and 20 by score that are among the nearest.
    pub ranks: [f64; 4],
}

/// The most arcs that a node has.
pub(super) fn n_degrees(dataset: &Dataset) -> usize {
    let most = |graph: &Graph| {
        (0..graph.n_nodes() as u32)
            .map(|node| graph.degree(node))
            .max()
            .unwrap_or(0)
    };
    dataset
        .graphs
        .iter()
        .map(|graph| most(&graph.undirected()))
        .max()
        .unwrap_or(0)
        + 1
}

/// Graphs without their directions, whose nodes bring their degrees.
pub(super) fn inputs(dataset: &Dataset, form: &Form) -> Vec<Input> {
    let width = n_degrees(dataset) as u32;
    let input = |graph: &Graph| {
        let graph = graph.undirected();
        let degrees = (0..graph.n_nodes() as u32).map(|node| [(graph.degree(node) as u32, 1.0)]);
        let rows = SparseRows::from_rows(width, &degrees.collect::<Vec<_>>()).expect("no degree is above the greatest");
        Input::new(&graph, &Features::Sparse(rows), 0..graph.n_nodes(), form)
    };
    dataset.graphs.iter().map(input).collect()
}

impl Edits {
    /// Computes all distances, if that is the task.
    ///
    /// # Errors
    ///
    /// Graphs too large for an exact distance.
    pub(super) fn new(
        task: Task,
        dataset: &Dataset,
        [train, validation, test]: [Vec<u32>; 3],
        rng: &mut SimRng,
    ) -> Result<Option<Edits>, StrategyError> {
        let Task::EditDistance { average_ranks } = task else {
            return Ok(None);
        };
        let graphs: Vec<Graph> = dataset.graphs.iter().map(Graph::undirected).collect();
        let row = |from: &u32| -> Result<Vec<u32>, StrategyError> {
            let to_all = graphs
                .iter()
                .map(|to| graph_edit::distance(&graphs[*from as usize], to));
            to_all.collect::<Result<_, _>>().map_err(|error| {
                StrategyError(format!(
                    "task: {error}; take smaller graphs, as in ControlFlow(n_nodes: (4, 5)), or task: Classes"
                ))
            })
        };
        let distances: Vec<Result<Vec<u32>, StrategyError>> = train.par_iter().map(row).collect();
        let mut others = train.clone();
        let mut compared = |graph: &u32| {
            let k = VALIDATED_WITH.min(others.len());
            draw_first(rng, &mut others, k);
            others[..k]
                .iter()
                .map(|other| pair(*graph, *other))
                .collect::<Vec<Pair>>()
        };
        Ok(Some(Edits {
            validation: validation.iter().flat_map(&mut compared).collect(),
            distances: distances.into_iter().collect::<Result<_, _>>()?,
            sizes: graphs.iter().map(|graph| [graph.n_nodes(), graph.n_edges()]).collect(),
            train,
            test,
            ties: if average_ranks { Ties::Mean } else { Ties::ByIndex },
        }))
    }

    /// The distance of two graphs, of which one trains.
    fn distance(&self, pair: &Pair) -> f64 {
        let row = |graph| self.train.binary_search(&graph).ok();
        let (at, to) = match row(pair.second) {
            Some(at) => (at, pair.first),
            None => (row(pair.first).expect("one graph of a pair trains"), pair.second),
        };
        f64::from(self.distances[at][to as usize])
    }

    /// The similarity of such a pair.
    pub fn similarity(&self, pair: &Pair) -> f64 {
        self.similarity_at(self.distance(pair), pair)
    }

    fn similarity_at(&self, distance: f64, pair: &Pair) -> f64 {
        let [a, b] = [pair.first, pair.second].map(|graph| self.sizes[graph as usize][0]);
        libm::exp(-2.0 * distance / (a + b).max(1) as f64)
    }

    /// The pairs of an epoch.
    pub fn epoch(&self, rng: &mut SimRng) -> Vec<Pair> {
        let mut orders = [self.train.clone(), self.train.clone()];
        orders.iter_mut().for_each(|order| shuffle(rng, order));
        let [first, second] = orders;
        first
            .into_iter()
            .zip(second)
            .map(|(first, second)| pair(first, second))
            .collect()
    }

    /// The mean squared error over the validation pairs; `None` if it is no number.
    pub(super) fn validate(&self, graphs: &[Input], deployed: &Deployed<'_>) -> Option<f64> {
        let error = self.mse(&self.validation, &self.scores(graphs, &self.validation, deployed));
        error.is_finite().then_some(error)
    }

    /// How well similarities to training graphs are told; `None` if a score is no number, or there
    /// are fewer than 20 to rank.
    pub(super) fn told(&self, graphs: &[Input], deployed: &Deployed<'_>) -> Option<Told> {
        let pairs = self.asked();
        let scores = self.scores(graphs, &pairs, deployed);
        self.judge(&pairs, &scores)
    }

    /// The same for who counts nodes and edges, and takes how many more one graph has for the
    /// distance, which is never more.
    pub(super) fn counted(&self) -> Option<Told> {
        let pairs = self.asked();
        let score = |pair: &Pair| {
            let [a, b] = [pair.first, pair.second].map(|graph| self.sizes[graph as usize]);
            let more = a[0].abs_diff(b[0]) + a[1].abs_diff(b[1]);
            self.similarity_at(more as f64, pair)
        };
        let scores: Vec<f64> = pairs.iter().map(score).collect();
        self.judge(&pairs, &scores)
    }

    /// Every test graph with every training graph.
    fn asked(&self) -> Vec<Pair> {
        let of = |test: &u32| {
            self.train
                .iter()
                .map(|other| pair(*test, *other))
                .collect::<Vec<Pair>>()
        };
        self.test.iter().flat_map(of).collect()
    }

    fn judge(&self, pairs: &[Pair], scores: &[f64]) -> Option<Told> {
        let mut sums = [0.0; 4];
        for (pairs, scores) in pairs.chunks(self.train.len()).zip(scores.chunks(self.train.len())) {
            let similarities: Vec<f64> = pairs.iter().map(|pair| self.similarity(pair)).collect();
            let distances: Vec<f64> = pairs.iter().map(|pair| self.distance(pair)).collect();
            let ranked = [
                spearman(scores, &similarities, self.ties),
                kendall(scores, &similarities, self.ties),
                precision_at(10, scores, &distances),
                precision_at(20, scores, &distances),
            ];
            for (sum, value) in sums.iter_mut().zip(ranked) {
                *sum += value.ok()?;
            }
        }
        let n = self.test.len().max(1) as f64;
        let mse = self.mse(pairs, scores);
        Some(Told {
            mse,
            ranks: sums.map(|sum| sum / n),
        })
    }

    fn scores(&self, graphs: &[Input], pairs: &[Pair], deployed: &Deployed<'_>) -> Vec<f64> {
        deployed.observe(graphs, pairs, |_, seen| f64::from(seen.score))
    }

    fn mse(&self, pairs: &[Pair], scores: &[f64]) -> f64 {
        let square = |(pair, score): (&Pair, &f64)| (score - self.similarity(pair)) * (score - self.similarity(pair));
        pairs.iter().zip(scores).map(square).sum::<f64>() / pairs.len().max(1) as f64
    }
}

impl Told {
    /// Each number by its name in summaries.
    pub(super) fn named(&self) -> [(&'static str, f64); 5] {
        let [spearman, kendall, ten, twenty] = self.ranks;
        [
            ("mse", self.mse),
            ("spearman", spearman),
            ("kendall", kendall),
            ("precision_at_10", ten),
            ("precision_at_20", twenty),
        ]
    }
}

fn pair(first: u32, second: u32) -> Pair {
    Pair {
        first,
        second,
        matches: first == second,
    }
}
