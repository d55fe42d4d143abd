//! DeepWalk: node embedding at a server that is given the whole graph, the baseline of federated
//! node embedding.
//!
//! B. Perozzi, R. Al-Rfou, S. Skiena. DeepWalk: Online Learning of Social Representations. KDD
//! 2014, Algorithms 1 and 2. <https://arxiv.org/abs/1403.6652>
//!
//! Each device owns one vertex and sends the server its neighbours, once and unprotected;
//! everything else happens there: passes over the vertices in random order, one uniform walk from
//! each, then skip-gram. That is what a protocol that keeps the edges at the devices is measured
//! against: by the vectors' worth, and by `4 × degree` bytes a device.
//!
//! | exchange     | direction | payload                           | bytes      |
//! |--------------|-----------|-----------------------------------|------------|
//! | `neighbours` | uplink    | the device's neighbours, `u32`    | 4 \|N(v)\| |
//! | the same     |           | with `epsilon`: those it tells of | 4 × so many |
//!
//! With `epsilon` a device answers for the vertices after it by randomised response, one bit for
//! each: the pairs of vertices are divided among the devices, so an edge costs its epsilon once,
//! and the server walks on what it was told. That is the baseline of anything that claims to hide
//! edges at that epsilon.
//!
//! A walk has `walk_length` vertices, its start among them, and ends early where there is nobody to
//! go to. An edge counts if either end has told it, so one that is away hides only the edges
//! between absent devices.

use crate::node_embedding::{self, Embedding, Evaluation, Facts, OwnVertex, Tally, VertexOwners, WalkGraph};
use folkmoot_draws::{Rng, SeedableRng, index, shuffle};
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Embeddings, Graph, GraphBuilder};
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_parts::component;
use folkmoot_privacy::SparseBits;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many edges that are none randomised response may add: 400 MB of pairs.
const MAX_FALSE_EDGES: f64 = 5e7;

const KEY: Purpose = Purpose(*b"dw-walks");

/// The parameters of [`DeepWalk`]. Defaults are those of FedWalk's experiments.
#[component(
    name = "DeepWalk",
    about = "centralised node embedding by random walks on the whole graph: DeepWalk, a baseline (KDD 2014)"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Walk length in vertices, t in the paper.
    #[component(default = 40, in = 2..=10_000)]
    pub walk_length: u32,
    /// Number of walks started at each vertex, gamma in the paper.
    #[component(default = 80, in = 1..=100_000)]
    pub walks_per_node: u32,
    /// Epsilon per edge, by randomised response on every pair of vertices (edge-level LDP). If
    /// omitted, clients send their true neighbour lists.
    #[component(above = 0, in = 1e-6..=1e6)]
    pub epsilon: Option<f64>,
    /// Embedding trained on the walks. Published results usually use `SkipGram(output: Both,
    /// epochs: 5)`.
    pub embedding: Embedding,
    /// Evaluation of the embeddings.
    pub evaluation: Evaluation,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = DeepWalk;

    fn about(&self) -> About {
        About {
            // 2: recall and precision of edges from embeddings are part of the result.
            results_version: 2,
            rounds: Some(1),
            terms: node_embedding::TERMS.to_vec(),
            split: Some(node_embedding::SPLIT_DESCRIPTION.to_owned()),
            headline: &["micro_f1", "payload_bytes"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(source)
    }

    fn build(&self, facts: &Facts) -> Result<DeepWalk, StrategyError> {
        if let Some(epsilon) = self.epsilon {
            let n_pairs = f64::from(facts.n_nodes) * f64::from(facts.n_nodes - 1) / 2.0;
            let n_false = n_pairs * response(epsilon, 0)?.flip_probability();
            if n_false > MAX_FALSE_EDGES {
                let least = (libm::log(n_pairs / MAX_FALSE_EDGES - 1.0) * 100.0).ceil() / 100.0;
                return Err(StrategyError(format!(
                    "epsilon: must leave at most {MAX_FALSE_EDGES:.0} false edges among the {n_pairs:.0} pairs of vertices, got \
                     {n_false:.0} expected at {epsilon}; take {least:.2} or more"
                )));
            }
        }
        Ok(DeepWalk {
            params: self.clone(),
            n_nodes: facts.n_nodes,
        })
    }

    fn share(&self, _: &Facts, _: &DeepWalk, source: &Source<'_>) -> Result<Shared<DeepWalk>, StrategyError> {
        let walked = Arc::new(self.evaluation.split(source.dataset, source.streams)?);
        Ok(Shared {
            shards: Box::new(VertexOwners {
                walked: Arc::clone(&walked),
                knows_two_hops: false,
            }),
            evaluator: Box::new(Worth(walked)),
        })
    }
}

/// The system: its parameters and the number of vertices.
pub struct DeepWalk {
    params: Params,
    n_nodes: u32,
}

messages! {
    /// From a client to the server.
    pub enum Up {
        /// A client's neighbour list.
        0, "collect", "neighbours" => Neighbours(neighbours: Box<[u32]>),
    }
}

/// What each device tells of its neighbours.
const NEIGHBOURS: Channel = Channel::new(0, Purpose(*b"dw-edges"));

/// The server walks and learns from the neighbours of each vertex, as far as it told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work(#[serde(with = "shared")] Arc<[Box<[u32]>]>);

#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    #[serde(with = "shared")]
    told: Arc<[Box<[u32]>]>,
    answers: Gather,
    is_collecting: bool,
    embeddings: Option<Embeddings>,
}

/// Walks on `graph`: `walks_per_node` passes over the vertices in random order, a uniform walk of
/// at most `walk_length` vertices from each (Perozzi et al. 2014, Algorithm 1).
///
/// # Determinism
///
/// A ChaCha8 stream of `key` per walk, and one per pass for its order: threads do not matter.
pub fn walks(graph: &Graph, walk_length: u32, walks_per_node: u32, key: [u8; 32]) -> Corpus {
    let n = graph.n_nodes();
    let stream = |number: u64| {
        let mut rng = SimRng::from_seed(key);
        rng.set_stream(number);
        rng
    };
    let length = walk_length as usize;
    let mut corpus = Corpus::with_capacity(n * walks_per_node as usize, n * walks_per_node as usize * length);
    for pass in 0..u64::from(walks_per_node) {
        let first = pass * (n as u64 + 1);
        let mut order: Vec<u32> = (0..n as u32).collect();
        let mut rng = stream(first);
        shuffle(&mut rng, &mut order);
        let from = |&start: &u32| {
            let mut rng = stream(first + 1 + u64::from(start));
            let mut walk = Vec::with_capacity(length);
            let mut at = start;
            walk.push(at);
            while walk.len() < length && graph.degree(at) > 0 {
                let neighbours = graph.neighbours(at);
                at = neighbours[index(&mut rng, neighbours.len())];
                walk.push(at);
            }
            walk
        };
        let walks: Vec<Vec<u32>> = order.par_iter().map(from).collect();
        walks.into_iter().for_each(|walk| corpus.push(walk));
    }
    corpus
}

impl Strategy for DeepWalk {
    type Down = Never;
    type Up = Up;
    type Peer = Never;
    type Shard<'a> = OwnVertex<'a>;
    type Work = Work;
    type Done = Result<Option<Embeddings>, StrategyError>;
    type Server = Server;
    type Client = ();
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<Server, StrategyError> {
        Ok(Server {
            told: vec![Box::default(); self.n_nodes as usize].into(),
            answers: Gather::default(),
            is_collecting: true,
            embeddings: None,
        })
    }

    fn client(&self, _: OwnVertex<'_>, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let over = match event {
            ServerEvent::Start => {
                let n = u64::from(self.n_nodes);
                server.answers.begin(n, n, cx);
                false
            }
            ServerEvent::Message {
                from,
                message: Up::Neighbours(neighbours),
            } => match Arc::get_mut(&mut server.told).and_then(|all| all.get_mut(from.0 as usize)) {
                Some(told) if server.is_collecting => {
                    *told = neighbours;
                    server.answers.answered(1)
                }
                _ => {
                    cx.late(Round(0));
                    false
                }
            },
            ServerEvent::Done(embeddings) => {
                server.embeddings = embeddings?;
                cx.finish();
                false
            }
            ServerEvent::Timer(_) | ServerEvent::Quiet => true,
            ServerEvent::Undelivered { message, .. } => match message {},
        };
        if over && server.is_collecting {
            server.is_collecting = false;
            let (n, came) = (server.answers.asked(), server.answers.came());
            cx.round_done(RoundReport {
                cohort: n,
                completed: came,
                dropped: n - came,
                staleness_mean: 0.0,
            });
            if self.params.embedding == Embedding::Off {
                cx.finish();
                return Ok(());
            }
            cx.compute(Work(Arc::clone(&server.told)));
        }
        Ok(())
    }

    fn on_client(
        &self,
        own: OwnVertex<'_>,
        (): &mut (),
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        if let ClientEvent::Start = event {
            let neighbours: Box<[u32]> = match self.params.epsilon {
                None => cx.unprotected(NEIGHBOURS, own.neighbours().into()),
                Some(epsilon) => {
                    let first = own.vertex() + 1;
                    let after = own.neighbours().iter().filter_map(|&v| v.checked_sub(first));
                    let response = response(epsilon, self.n_nodes - first)?;
                    let told = cx.release(NEIGHBOURS, &response, &after.collect::<Vec<u32>>())?;
                    told.into_iter().map(|place| first + place).collect()
                }
            };
            cx.send(Up::Neighbours(neighbours));
        }
        Ok(())
    }

    fn perform(
        &self,
        _: Option<OwnVertex<'_>>,
        Work(told): &Work,
        cx: &JobContext,
    ) -> Result<Option<Embeddings>, StrategyError> {
        let told = told.iter().enumerate();
        let pairs: Vec<(u32, u32)> = told
            .flat_map(|(u, list)| list.iter().map(move |&v| (u as u32, v)))
            .collect();
        let (graph, _) = GraphBuilder::new(self.n_nodes)
            .build(&pairs)
            .map_err(|error| StrategyError(error.to_string()))?;
        let mut key = [0; 32];
        cx.rng(KEY).fill_bytes(&mut key);
        let corpus = walks(&graph, self.params.walk_length, self.params.walks_per_node, key);
        let mut rng = SimRng::from_seed(key);
        // The walks use the streams from 0 on.
        rng.set_stream(u64::MAX);
        self.params.embedding.train(&corpus, self.n_nodes as usize, rng)
    }

    fn placeholder(
        &self,
        _: Option<OwnVertex<'_>>,
        _: &Work,
        _: &JobContext,
    ) -> Result<Option<Embeddings>, StrategyError> {
        Ok(None)
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let (mechanism, unit) = match self.params.epsilon {
            None => ("none: neighbours", "one neighbour"),
            Some(_) => ("randomised response: neighbours", EDGE),
        };
        vec![MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: unit.to_owned(),
            claimed: self.params.epsilon,
        }]
    }
}

const EDGE: &str = "one edge";

/// Randomised response on so many pairs of vertices.
fn response(epsilon: f64, n_pairs: u32) -> Result<SparseBits, StrategyError> {
    SparseBits::new(epsilon, n_pairs, EDGE).map_err(|error| StrategyError(error.to_string()))
}

/// What the vectors are worth, and what the server knows of the edges where it is not told them as
/// they are.
struct Worth(Arc<WalkGraph>);

impl Evaluator<DeepWalk> for Worth {
    fn expected_messages(&self, system: &DeepWalk, _: &Setup<'_>, _: Kind, _: Round, _: Direction) -> Option<f64> {
        Some(f64::from(system.n_nodes))
    }

    fn reads_clients(&self, _: &DeepWalk) -> bool {
        false
    }

    fn scores(&self, end: &End<'_, DeepWalk>, sheet: &mut Sheet) {
        if let Some(vectors) = &end.server.embeddings {
            let evaluation = &end.strategy.params.evaluation;
            evaluation.record(vectors, &self.0, end, &mut end.rng(), sheet);
        }
        if end.strategy.params.epsilon.is_some() {
            let told = end.server.told.iter().enumerate();
            let pairs = told.flat_map(|(u, list)| list.iter().map(move |&v| (u as u32, v)));
            let found = Tally::new(end.strategy.n_nodes as usize, pairs).seen(self.0.graph());
            found.write("told_edges", sheet);
            if let Some(vectors) = &end.server.embeddings {
                self.0.infer_edges(vectors, end.streams, sheet);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Graph {
        Graph::from_edges(10, &(0..9).map(|v| (v, (v + 1) % 9)).collect::<Vec<_>>(), false).unwrap()
    }

    #[test]
    fn walks_follow_edges_from_every_vertex_and_end_where_there_is_none() {
        let graph = ring();
        let corpus = walks(&graph, 7, 3, [1; 32]);
        assert_eq!(corpus.n_sentences(), 30);
        for pass in 0..3 {
            let mut starts: Vec<u32> = (0..10).map(|i| corpus.sentence(10 * pass + i)[0]).collect();
            assert_ne!(starts, (0..10).collect::<Vec<u32>>(), "the order is random");
            starts.sort_unstable();
            assert_eq!(starts, (0..10).collect::<Vec<u32>>());
        }
        for walk in corpus.sentences() {
            assert_eq!(walk.len(), if walk[0] == 9 { 1 } else { 7 });
            assert!(walk.windows(2).all(|pair| graph.has_edge(pair[0], pair[1])));
        }
    }

    /// Each of a vertex' two neighbours is the next with probability 1/2, within 4 standard errors.
    #[test]
    fn steps_are_uniform() {
        let corpus = walks(&ring(), 2, 4_000, [2; 32]);
        let up = corpus
            .sentences()
            .filter(|walk| walk.len() == 2 && walk[1] == (walk[0] + 1) % 9)
            .count();
        let n = 9.0 * 4_000.0;
        assert!((up as f64 - n / 2.0).abs() < 4.0 * (n / 4.0).sqrt(), "{up} of {n}");
    }

    #[test]
    fn threads_do_not_matter() {
        let of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| walks(&ring(), 9, 5, [3; 32]))
        };
        assert_eq!(of(1), of(3));
    }
}
