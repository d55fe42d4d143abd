//! DeepWalk: node embedding at a server that is given the whole graph, the baseline of federated node embedding.
//!
//! B. Perozzi, R. Al-Rfou, S. Skiena. DeepWalk: Online Learning of Social Representations. KDD 2014, Algorithms 1 and 2.
//! <https://arxiv.org/abs/1403.6652>
//!
//! Each device owns one vertex and sends the server its neighbours, once and unprotected; everything else happens there: passes
//! over the vertices in random order, one uniform walk from each, then skip-gram. That is what a protocol that keeps the edges at
//! the devices is measured against: by the vectors' worth, and by `4 × degree` bytes a device.
//!
//! | exchange     | direction | payload                           | bytes      |
//! |--------------|-----------|-----------------------------------|------------|
//! | `neighbours` | uplink    | the device's neighbours, `u32`    | 4 \|N(v)\| |
//!
//! A walk has `walk_length` vertices, its start among them, and ends early where there is nobody to go to. An edge counts if either
//! end has told it, so one that is away hides only the edges between absent devices.

use crate::node_embedding::{Embedding, Evaluation, Walked};
use crate::settings::Settings;
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
use folkmoot_graphs::{Dataset, Graph, GraphBuilder, Partition};
use folkmoot_learning::Embeddings;
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_parts::part;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const KEY: Purpose = Purpose(*b"dw-walks");

/// The parameters of [`DeepWalk`]. Defaults are those of FedWalk's experiments.
#[part(
    name = "DeepWalk",
    about = "node embedding at a server that knows the whole graph, the centralised baseline (KDD 2014)"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Vertices of a walk, t in the paper.
    #[part(default = 40, in = 2..=10_000)]
    pub walk_length: u32,
    /// Walks from every vertex, gamma.
    #[part(default = 80, in = 1..=100_000)]
    pub walks_per_node: u32,
    /// What is learned from the walks. The published figures are usually made with `SkipGram(output: Both, epochs: 5)`.
    pub embedding: Embedding,
    /// How the vectors are scored.
    pub evaluation: Evaluation,
}

impl Settings for Params {
    type Strategy = DeepWalk;

    fn rounds(&self) -> Option<u32> {
        Some(1)
    }

    fn build(&self, dataset: &Arc<Dataset>, _: &Arc<Partition>, streams: Streams) -> Result<DeepWalk, StrategyError> {
        DeepWalk::new(self.clone(), dataset, streams)
    }
}

/// The system: its parameters and who owns which vertex (client `v` owns vertex `v`).
pub struct DeepWalk {
    params: Params,
    walked: Walked,
}

/// The one message: a device's neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours(Box<[u32]>);

impl Wire for Neighbours {
    const KINDS: &'static [Kind] = &[Kind {
        phase: "collect",
        name: "neighbours",
    }];

    fn kind(&self) -> usize {
        0
    }

    fn encoded_len(&self) -> usize {
        4 * self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &self.0);
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        if kind != 0 {
            return Err(DecodeError::UnknownKind(kind));
        }
        let mut reader = WireReader::new(bytes);
        let neighbours = reader.rest_u32()?;
        reader.finish()?;
        Ok(Neighbours(neighbours.into()))
    }
}

/// The server walks and learns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// The neighbours of each vertex, as far as it told.
    told: Vec<Box<[u32]>>,
    /// The key of its streams.
    key: [u8; 32],
}

/// The server's state.
#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    told: Vec<Box<[u32]>>,
    came: u64,
    is_collecting: bool,
    embeddings: Option<Embeddings>,
}

impl DeepWalk {
    /// The system on a data set of one graph.
    ///
    /// # Errors
    ///
    /// When there are several graphs, or the graph is directed or has no vertex.
    pub fn new(params: Params, dataset: &Arc<Dataset>, streams: Streams) -> Result<Self, StrategyError> {
        let problem = match dataset.graphs.as_slice() {
            [graph] if graph.is_directed() => "needs an undirected graph; read the data set as undirected",
            [graph] if graph.n_nodes() == 0 => "needs at least one vertex",
            [_] => {
                let walked = params.evaluation.split(dataset, streams)?;
                return Ok(DeepWalk { params, walked });
            }
            _ => "walks on one graph; choose a data set of one",
        };
        Err(StrategyError(format!("DeepWalk {problem}")))
    }

    fn n_nodes(&self) -> usize {
        self.walked.graph().n_nodes()
    }
}

/// Walks on `graph`: `walks_per_node` passes over the vertices in random order, a uniform walk of at most `walk_length` vertices
/// from each (Perozzi et al. 2014, Algorithm 1).
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
        for i in (1..n).rev() {
            order.swap(i, rng::index(&mut rng, i + 1));
        }
        let from = |&start: &u32| {
            let mut rng = stream(first + 1 + u64::from(start));
            let mut walk = Vec::with_capacity(length);
            let mut at = start;
            walk.push(at);
            while walk.len() < length && graph.degree(at) > 0 {
                let neighbours = graph.neighbours(at);
                at = neighbours[rng::index(&mut rng, neighbours.len())];
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
    type Message = Neighbours;
    type Work = Work;
    type Done = Result<Option<Embeddings>, StrategyError>;
    type Server = Server;
    type Client = ();

    fn server(&self, setup: &Setup<'_>) -> Result<Server, StrategyError> {
        let n = self.n_nodes();
        if setup.n_clients as usize != n {
            return Err(StrategyError(format!(
                "DeepWalk needs one client per vertex, {n}; got {} (use partition: NodePerClient)",
                setup.n_clients
            )));
        }
        Ok(Server {
            told: vec![Box::default(); n],
            came: 0,
            is_collecting: true,
            embeddings: None,
        })
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        let over = match event {
            Event::Start => {
                if let Some(deadline) = cx.deadline() {
                    cx.timer(deadline, TimerId(0));
                }
                false
            }
            Event::Message {
                from: Party::Client(id),
                message: Neighbours(neighbours),
            } => {
                if !server.is_collecting {
                    cx.late(Round(0));
                } else if let Some(told) = server.told.get_mut(id.0 as usize) {
                    *told = neighbours;
                    server.came += 1;
                }
                server.came == self.n_nodes() as u64
            }
            Event::Done(embeddings) => {
                server.embeddings = embeddings?;
                cx.finish();
                false
            }
            Event::Timer(_) | Event::Quiet => true,
            _ => false,
        };
        if over && server.is_collecting {
            server.is_collecting = false;
            let n = self.n_nodes() as u64;
            cx.round_done(RoundReport {
                cohort: n,
                completed: server.came,
                dropped: n - server.came,
                staleness_mean: 0.0,
            });
            if self.params.embedding == Embedding::Off || cx.dry_run() {
                cx.finish();
                return Ok(());
            }
            let mut key = [0; 32];
            cx.rng(KEY).fill_bytes(&mut key);
            let told = std::mem::take(&mut server.told);
            cx.compute(Work { told, key }, 0.0);
        }
        Ok(())
    }

    fn on_client(&self, (): &mut (), event: Event<Self>, cx: &mut Context<'_, '_, Self>) -> Result<(), StrategyError> {
        if let (Event::Start, Party::Client(id)) = (event, cx.me()) {
            cx.spend(0, f64::INFINITY);
            cx.send(Party::Server, Neighbours(self.walked.graph().neighbours(id.0).into()));
        }
        Ok(())
    }

    fn perform(&self, Work { told, key }: &Work) -> Result<Option<Embeddings>, StrategyError> {
        let told = told.iter().enumerate();
        let pairs: Vec<(u32, u32)> = told
            .flat_map(|(u, list)| list.iter().map(move |&v| (u as u32, v)))
            .collect();
        let (graph, _) = GraphBuilder::new(self.n_nodes() as u32)
            .build(&pairs)
            .map_err(|error| StrategyError(error.to_string()))?;
        let corpus = walks(&graph, self.params.walk_length, self.params.walks_per_node, *key);
        let mut rng = SimRng::from_seed(*key);
        // The walks use the streams from 0 on.
        rng.set_stream(u64::MAX);
        self.params.embedding.train(&corpus, self.n_nodes(), rng)
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![MechanismInfo {
            mechanism: "none: neighbours".to_owned(),
            unit: "one neighbour".to_owned(),
            delta: 0.0,
            composition: "none".to_owned(),
            claimed: None,
        }]
    }

    fn expected_messages(&self, _: &Setup<'_>, _: Kind, _: Round, _: Direction) -> Option<f64> {
        Some(self.n_nodes() as f64)
    }

    fn evaluate(&self, server: &Server, _: &Clients<'_, ()>, report: &Report<'_>, rng: &mut SimRng) -> Scores {
        match &server.embeddings {
            Some(vectors) => self.params.evaluation.read(vectors, &self.walked, report, rng),
            None => Scores::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..3, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(message) = Neighbours::decode(kind, &bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
