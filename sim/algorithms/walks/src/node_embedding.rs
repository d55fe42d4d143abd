//! Shared by algorithms that embed nodes: embedding, evaluation, one-vertex-per-client shards.

mod recovery;
mod terms;
mod vertex_owners;

pub use recovery::{Recovery, Tally, rank, rank_all, sample_pairs};
pub use terms::TERMS;
pub use vertex_owners::{Facts, OwnVertex, VertexOwners};

use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Embeddings, Graph, GraphBuilder, Labels};
use folkmoot_learning::skip_gram::{Corpus, SkipGram};
use folkmoot_metrics::npy::npy_f32;
use folkmoot_parts::component;
use folkmoot_scores::evaluation::{
    LinkSplit, NodeClassification, RatioScores, UnitVectors, hold_out_links, knn_cosine, link_auc,
};
use rayon::prelude::*;
use std::sync::Arc;

/// Random numbers that sample pairs for attacks.
pub const SAMPLED: Purpose = Purpose(*b"ne-pairs");

/// Embedding trained on the walks.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Embedding {
    /// No embedding: walks are counted and discarded.
    Off,
    /// Skip-gram embedding of each vertex. Defaults as in DeepWalk: dimension 128, window 10, 5
    /// negative samples, one epoch, learning rate 0.025 with linear decay.
    #[default]
    SkipGram(SkipGram),
}

impl Embedding {
    /// Trains on `corpus`; nothing when nothing is to be learned.
    ///
    /// # Errors
    ///
    /// When no two vertices share a walk.
    pub fn train(&self, corpus: &Corpus, n_nodes: usize, mut rng: SimRng) -> Result<Option<Embeddings>, StrategyError> {
        match self {
            Embedding::Off => Ok(None),
            Embedding::SkipGram(settings) => {
                let trained = settings.train(corpus, n_nodes as u32, &mut rng);
                let explain = |error| {
                    StrategyError(format!(
                        "no embedding can be trained: {error}; set embedding: Off to count messages only"
                    ))
                };
                trained.map(Some).map_err(explain)
            }
        }
    }
}

/// Description of the split of labelled nodes, for the manifest.
pub(crate) const SPLIT_DESCRIPTION: &str = "the share train_ratio of the labelled nodes, shuffled; the rest tests";

/// Evaluation of embeddings.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Node classification by one-vs-rest logistic regression, if the data set has labels. By
    /// default DeepWalk's protocol.
    #[component(default = NodeClassification { train_ratios: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6], ..NodeClassification::default() })]
    pub classification: NodeClassification,
    /// k of the k-nearest-neighbour classification (cosine) of single-label nodes, on one more
    /// shuffle of these, split at the largest training ratio. 0: off.
    #[component(default = 5, in = 0..=1_000)]
    pub n_neighbours: usize,
    /// Fraction of edges held out of the walks for link prediction. 0: off.
    #[component(default = 0.0, in = 0..1)]
    pub hold_out: f64,
}

impl Evaluation {
    /// The graph to walk on, and the edges held out of it with as many non-edges.
    ///
    /// # Errors
    ///
    /// When the share holds out no edge, or there are too few non-edges.
    pub fn split(&self, dataset: &Arc<Dataset>, streams: Streams) -> Result<WalkGraph, StrategyError> {
        let whole = || WalkGraph {
            dataset: Arc::clone(dataset),
            kept: None,
            links: None,
        };
        if self.hold_out == 0.0 {
            return Ok(whole());
        }
        let graph = dataset.graph();
        let edges: Vec<(u32, u32)> = graph.edges().collect();
        let mut rng = streams.global(Purpose(*b"hold-out"));
        let links = hold_out_links(graph.n_nodes() as u32, &edges, self.hold_out, &mut rng)
            .map_err(|error| StrategyError(format!("evaluation.hold_out: {error}")))?;
        let built = GraphBuilder::new(graph.n_nodes() as u32).build(&links.train);
        let (kept, _) = built.map_err(|error| StrategyError(format!("evaluation.hold_out: {error}")))?;
        Ok(WalkGraph {
            kept: Some(kept),
            links: Some(links),
            ..whole()
        })
    }

    /// Records the scores and summary metrics that the data allow, and the vectors as
    /// `embeddings.npy`.
    pub fn record<S: Strategy>(
        &self,
        vectors: &Embeddings,
        walked: &WalkGraph,
        end: &End<'_, S>,
        rng: &mut SimRng,
        sheet: &mut Sheet,
    ) {
        let last = end.rounds.last();
        let at = last.map_or((Round(0), 0.0), |row| (Round(row.round), row.virtual_s));
        if let Some(labels) = &walked.dataset.node_labels {
            for ratio in self.ratios(labels, vectors, rng) {
                let split = format!("train_ratio={}", ratio.train_ratio);
                let readings = [
                    ("micro_f1", ratio.micro.mean),
                    ("micro_f1_std", ratio.micro.sample_std()),
                    ("macro_f1", ratio.macro_mean.mean),
                    ("macro_f1_std", ratio.macro_mean.sample_std()),
                ];
                for (metric, value) in readings {
                    sheet.score_of(at, &split, metric, value, ratio.by_shuffle.len() as u64);
                    sheet.point(metric, ("train_ratio", ratio.train_ratio), value);
                }
            }
            if let Some((accuracy, n)) = self.knn_accuracy(labels, vectors, rng) {
                sheet.score_of(at, "nearest neighbours", "knn_accuracy", accuracy, n as u64);
                sheet.number("knn_accuracy", accuracy);
            }
        }
        if let Some(links) = &walked.links
            && let Ok(vectors) = UnitVectors::new(vectors)
            && let Ok(area) = link_auc(&vectors, &links.held_out, &links.non_links)
        {
            sheet.score_of(at, "held-out edges", "link_auc", area, links.held_out.len() as u64);
            sheet.number("link_auc", area);
        }
        let shape = [vectors.n_vertices(), vectors.dim()];
        sheet.artifact("embeddings.npy", npy_f32(vectors.values(), &shape));
    }

    /// The classification at the ratios that leave a node on either side; none for a data set too
    /// small for any.
    fn ratios(&self, labels: &Labels, vectors: &Embeddings, rng: &mut SimRng) -> Vec<RatioScores> {
        let n = n_labelled(labels);
        let mut task = self.classification.clone();
        task.train_ratios
            .retain(|ratio| (1..n).contains(&((ratio * n as f64) as usize)));
        task.evaluate(vectors, labels, rng).unwrap_or_default()
    }

    /// The accuracy of nearest neighbours on nodes with exactly one label, and the number of test
    /// nodes.
    fn knn_accuracy(&self, labels: &Labels, vectors: &Embeddings, rng: &mut SimRng) -> Option<(f64, usize)> {
        let ratio = self.classification.train_ratios.iter().copied().fold(0.0, f64::max);
        let mut nodes: Vec<u32> = (0..labels.n_nodes() as u32)
            .filter(|&v| labels.single(v).is_some())
            .collect();
        folkmoot_draws::shuffle(rng, &mut nodes);
        let (train, test) = nodes.split_at((ratio * nodes.len() as f64) as usize);
        let class_of = |v: &u32| labels.single(*v).unwrap_or_default();
        let classes: Vec<u32> = train.iter().map(class_of).collect();
        if self.n_neighbours == 0 || test.is_empty() {
            return None;
        }
        let predicted = knn_cosine(vectors, train, &classes, test, self.n_neighbours).ok()?;
        let right = predicted
            .iter()
            .zip(test)
            .filter(|(class, v)| **class == class_of(v))
            .count();
        Some((right as f64 / test.len() as f64, test.len()))
    }
}

fn n_labelled(labels: &Labels) -> usize {
    (0..labels.n_nodes() as u32)
        .filter(|&v| !labels.of(v).is_empty())
        .count()
}

/// A data set of one graph, and which part of its edges is walked on.
#[derive(Clone, Debug)]
pub struct WalkGraph {
    pub dataset: Arc<Dataset>,
    kept: Option<Graph>,
    links: Option<LinkSplit>,
}

impl WalkGraph {
    /// The graph that devices know.
    pub fn graph(&self) -> &Graph {
        self.kept.as_ref().unwrap_or_else(|| self.dataset.graph())
    }

    /// Edge inference and membership inference from the cosine of embeddings. Membership, whether
    /// an edge was walked on, is inferred where edges were held out.
    ///
    /// Areas are those of at most 50 000 edges, and as many pairs of the other kind or all that
    /// were held out. Guesses of edges are made among all pairs of vertices, of which there must be
    /// at most 20 000; those of membership among as many walked edges as were held out, so that a
    /// coin is right half the time.
    pub fn infer_edges(&self, vectors: &Embeddings, streams: Streams, sheet: &mut Sheet) {
        let sampled = sample_pairs(self.graph(), &mut streams.global(SAMPLED));
        let (Some([edges, others]), Ok(vectors)) = (sampled, UnitVectors::new(vectors)) else {
            return;
        };
        // No less than 0, as rankings want it.
        let score = |pair| (1.0 + vectors.cosine(pair)).max(0.0);
        sheet.number_if("vector_edge_auc", link_auc(&vectors, &edges, &others).ok());
        let found = rank_all(self.graph(), |u| move |v| score((u as u32, v as u32)));
        if let Some(found) = found {
            found.write_guesses("vector_edge", sheet);
        }
        if let Some(links) = &self.links {
            let held_out = &links.held_out;
            let membership = link_auc(&vectors, &edges, held_out);
            sheet.number_if("vector_membership_auc", membership.ok());
            let n_compared = held_out.len().min(edges.len());
            let found = rank(&edges[..n_compared], &held_out[..n_compared], score);
            found.write_guesses("vector_membership", sheet);
        }
    }
}

/// The share of neighbouring entries of the walks that are edges of `graph`; `None` without any.
pub fn true_pair_share(corpus: &Corpus, graph: &Graph) -> Option<f64> {
    let sentences: Vec<&[u32]> = corpus.sentences().collect();
    let count = |sentence: &&[u32]| {
        let edges = sentence
            .windows(2)
            .filter(|pair| graph.has_edge(pair[0], pair[1]))
            .count();
        (edges as u64, sentence.len().saturating_sub(1) as u64)
    };
    let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    let (edges, pairs) = sentences.par_iter().map(count).reduce(|| (0, 0), add);
    (pairs > 0).then(|| edges as f64 / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn the_share_of_true_pairs_counts_edges_within_walks() {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2)], false).unwrap();
        let mut corpus = Corpus::new();
        corpus.push([0, 1, 3]);
        corpus.push([2, 1]);
        corpus.push([3]);
        assert_eq!(true_pair_share(&corpus, &graph), Some(2.0 / 3.0));
        assert_eq!(true_pair_share(&Corpus::new(), &graph), None);
    }

    #[test]
    fn every_broken_rule_is_named_with_its_place() {
        let evaluation = Evaluation {
            n_neighbours: 2000,
            hold_out: 1.0,
            classification: NodeClassification {
                train_ratios: vec![0.5, 1.5],
                ..NodeClassification::default()
            },
        };
        let paths: Vec<String> = evaluation.broken().into_iter().map(|broken| broken.path).collect();
        assert_eq!(paths, ["classification.train_ratios.1", "n_neighbours", "hold_out"]);
        let embedding = Embedding::SkipGram(SkipGram {
            dim: 0,
            ..SkipGram::default()
        });
        assert_eq!(embedding.broken()[0].path, "dim");
    }

    #[test]
    fn held_out_edges_are_not_walked_on() {
        let edges: Vec<(u32, u32)> = (0..50).map(|v| (v, (v + 1) % 50)).collect();
        let dataset = Arc::new(Dataset::of_graph("ring", Graph::from_edges(50, &edges, false).unwrap()));
        let evaluation = Evaluation {
            hold_out: 0.2,
            ..Evaluation::default()
        };
        let walked = evaluation.split(&dataset, Streams::new(3)).unwrap();
        assert_eq!((walked.graph().n_edges(), walked.dataset.graph().n_edges()), (40, 50));
        let held_out = &walked.links.as_ref().unwrap().held_out;
        assert!(held_out.iter().all(|&(u, v)| !walked.graph().has_edge(u, v)));
        let bad = Evaluation {
            hold_out: 0.001,
            ..evaluation
        };
        assert!(bad.split(&dataset, Streams::new(3)).is_err());
    }

    /// Fifty pairs, each an edge, one in five held out.
    #[test]
    fn embeddings_leak_edges_and_membership() {
        let edges: Vec<(u32, u32)> = (0..50).map(|i| (2 * i, 2 * i + 1)).collect();
        let dataset = Arc::new(Dataset::of_graph(
            "pairs",
            Graph::from_edges(100, &edges, false).unwrap(),
        ));
        let evaluation = Evaluation {
            hold_out: 0.2,
            ..Evaluation::default()
        };
        let walked = evaluation.split(&dataset, Streams::new(3)).unwrap();
        // A direction for each vertex, which some have from another one.
        let found = |takes_that_of: &dyn Fn(u32) -> u32| {
            let one = |v: u32| (0..100).map(move |at| f32::from(at == v));
            let vectors = Embeddings::new(100, (0..100).flat_map(|v| one(takes_that_of(v))).collect());
            let mut sheet = Sheet::new();
            walked.infer_edges(&vectors, Streams::new(4), &mut sheet);
            sheet
                .take_summary()
                .into_iter()
                .map(|(_, number)| number)
                .collect::<Vec<f64>>()
        };
        let even = |v: u32| v - v % 2;
        // Those of an edge that was walked on have the same; or those of any edge; or nobody. Area,
        // recall and precision of edges, then of membership: of fifty equal pairs the forty edges
        // guess forty, and of all pairs as many.
        let walked_on = |v: u32| if walked.graph().degree(v) > 0 { even(v) } else { v };
        assert_eq!(found(&walked_on), [1.0; 6]);
        let alike = found(&even);
        assert!((alike[1] - 0.8).abs() < 1e-12 && alike[1] == alike[2], "{alike:?}");
        assert_eq!(alike[3..], [0.5; 3]);
        let own = found(&|v| v);
        assert!((own[1] - 40.0 / 4950.0).abs() < 1e-12 && own[1] == own[2], "{own:?}");
        assert_eq!((own[0], &own[3..]), (0.5, &[0.5; 3][..]));
    }
}
