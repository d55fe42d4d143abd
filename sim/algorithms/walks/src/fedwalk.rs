//! FedWalk: unsupervised node embedding over devices that own one vertex each.
//!
//! Q. Pan, Y. Zhu. FedWalk: Communication Efficient Federated Unsupervised Node Embedding with
//! Differential Privacy. KDD 2022, Algorithm 1. <https://arxiv.org/abs/2205.15896>
//!
//! The paper's *device* is our client, and owns one vertex. Round 0 is phase A, the set-up; each
//! later round starts one walk at every client of its cohort.
//!
//! | exchange            | direction | payload                                       | bytes                   |
//! |---------------------|-----------|-----------------------------------------------|-------------------------|
//! | A `group_plan`      | downlink  | bin of every vertex, `u8`                     | \|V\|                   |
//! | A `degree_vector`   | uplink    | noisy neighbour counts by bin, `f32`          | 4 k                     |
//! | A `dictionary`      | downlink  | all those vectors                             | 4 k \|V\|               |
//! | A `ordered_matrix`  | uplink    | the neighbours' vectors by noisy degree       | 4 k \|N(v)\|            |
//! | A `tree_and_matrix` | downlink  | tree, and dissimilarities of all pairs        | 8 (\|V\|-1) + 4 \|V\|²  |
//! | A `rows_wanted`     | uplink    | the neighbours (`rows: Neighbours`)           | 4 \|N(v)\|              |
//! | A `rows`            | downlink  | their dissimilarities                         | 4 \|V\| \|N(v)\|        |
//! | B `start`           | downlink  | l, epsilon, p                                 | 12                      |
//! | B `walk`            | peer      | l, epsilon, p and the entries so far          | 12 + 4 × entries        |
//! | B `sequence`        | uplink    | the entries                                   | 4 l                     |
//! | B `row_request`     | uplink    | a vertex (`rows: Neighbours`, `OnRequest`)    | 4                       |
//! | B `row`             | downlink  | its dissimilarities                           | 4 + 4 \|V\|             |
//!
//! After the last walk the server learns by skip-gram; no message goes back. With a `codec` each
//! `f32` takes the bytes that the codec gives it, and the dictionary is called `packed_dictionary`.
//!
//! Deviations from the paper: walks are started in passes over the vertices, one a round, not all
//! at once, and the server learns from all sequences at the end, in the order in which they came.
//! Where a vector never came, because its device was away, the dictionary holds zeros, which ask
//! for no pool; a missing matrix counts as that of a vertex without neighbours. A walk waits at a
//! device that lacks the tree or a row. Without `m_upload` there is no `ordered_matrix`, and
//! `tree_and_matrix` is the tree alone; `epsilon_matrix` adds fresh noise to it. A device that gets
//! rows and not the whole matrix asks for them by name, which nothing protects: the privacy ledger
//! has a row for it. Of more than 50 000 vertices the matrix is counted and not made, as
//! [`clustering::Published::of_matrices`] has it.

pub mod audit;
mod client;
pub mod clustering;
pub mod dictionary;
pub mod encoder;
mod evaluator;
pub mod message;
pub mod options;
pub mod params;
mod scores;
mod server;
mod terms;
pub mod theory;
mod walking;

pub use client::Client;
pub use encoder::{Audit, Encoder, Entries};
pub use message::{Down, Peer, Up};
pub use options::{Absent, Curious, Linkage, Metric, Pool, Rows, SelfHop, Variant};
pub use params::Params;
pub use server::Server;

use crate::node_embedding::{self, Facts, OwnVertex, VertexOwners};
use clustering::Published;
use dictionary::Dictionary;
use evaluator::Watch;
use folkmoot_codecs::Damaged;
use folkmoot_draws::{Rng, SeedableRng};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Embeddings;
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_parts::Value;
use folkmoot_rounds::packed::Packed;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const LEARN: Purpose = Purpose(*b"fw-learn");
/// What a codec rounds at random.
const PACKING: Purpose = Purpose(*b"fw-packg");

/// The system: its parameters and the number of vertices. Client `v` owns vertex `v`.
pub struct FedWalk {
    params: Params,
    n_nodes: u32,
    n_bins: usize,
    /// How entries of walks are made.
    entries: Entries,
}

/// What is worked on in the background.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// A device orders its neighbours' vectors (phase A4).
    BuildMatrix {
        #[serde(with = "shared")]
        dictionary: Arc<Dictionary>,
    },
    /// The server clusters the vertices by their uploaded matrices.
    ClusterMatrices {
        /// By vertex; empty where none came.
        #[serde(with = "shared")]
        matrices: Arc<[Box<[f32]>]>,
        #[serde(with = "shared")]
        dictionary: Arc<Dictionary>,
    },
    /// The server clusters the vertices by their degree vectors.
    ClusterVectors {
        #[serde(with = "shared")]
        dictionary: Arc<Dictionary>,
    },
    /// The server learns from the walks.
    Learn {
        #[serde(with = "shared")]
        corpus: Arc<Corpus>,
    },
}

/// What comes of it.
pub enum Done {
    /// A device's ordered matrix.
    Matrix(Box<[f32]>),
    Tree(Arc<Published>),
    /// Vectors, if there was anything to learn.
    Vectors(Result<Option<Embeddings>, StrategyError>),
}

/// A predicted hop: from which neighbour, and to which vertex. No device knows whether the two are
/// neighbours.
pub struct Predicted {
    /// The neighbour from whose pool the vertex was drawn.
    pub from: u32,
    pub to: u32,
}

/// The counters, in the order of [`Strategy::COUNTERS`].
pub(crate) mod counter {
    pub(crate) const PREDICTED_HOPS: usize = 0;
    pub(crate) const SELF_HOPS: usize = 1;
    pub(crate) const EMPTY_POOLS: usize = 2;
    pub(crate) const REROUTED: usize = 3;
    pub(crate) const GIVEN_UP: usize = 4;
    pub(crate) const HITS: usize = 5;
    pub(crate) const ENCODED: usize = 6;
    pub(crate) const CHANGED: usize = 7;
    pub(crate) const ROW_REQUESTS: usize = 8;
}

/// The mechanisms, in the order of [`Strategy::mechanisms`], and their noise.
pub(crate) mod mechanism {
    use folkmoot_engine::prelude::{Channel, Purpose};

    pub(crate) const DEGREES: Channel = Channel::new(0, Purpose(*b"fw-noise"));
    pub(crate) const MATRIX: Channel = Channel::new(1, Purpose(*b"fw-matrx"));
    pub(crate) const ENTRY: Channel = Channel::new(2, Purpose(*b"fw-encod"));
    /// Where rows are asked for.
    pub(crate) const REQUEST: Channel = Channel::new(3, Purpose(*b"fw-reqst"));
}

impl FedWalk {
    /// The system on a graph of which everybody knows `facts`.
    ///
    /// # Errors
    ///
    /// The first rule that the parameters break, and when there are more vertices than they allow.
    pub fn new(params: Params, facts: &Facts) -> Result<Self, StrategyError> {
        if let Some(broken) = params.broken().first() {
            return Err(StrategyError(broken.to_string()));
        }
        let n_nodes = facts.n_nodes as usize;
        let entries = params.encoder.entries(facts.n_nodes, params.epsilon_encoder)?;
        if entries.is_scaled() && n_nodes > clustering::MAX_PAIRS_NODES {
            let most = clustering::MAX_PAIRS_NODES;
            return Err(StrategyError(format!(
                "the encoder needs the largest score of all pairs of {n_nodes} vertices, and takes at most {most}; choose another encoder"
            )));
        }
        Ok(FedWalk {
            n_nodes: facts.n_nodes,
            n_bins: params.bins(n_nodes),
            entries,
            params,
        })
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The number of vertices, which is the number of clients.
    pub fn n_nodes(&self) -> usize {
        self.n_nodes as usize
    }

    fn counts(&self, neighbours: &[u32], plan: &[u8]) -> Vec<f64> {
        let mut counts = vec![0.0; self.n_bins];
        for &v in neighbours {
            counts[usize::from(plan[v as usize])] += 1.0;
        }
        counts
    }

    /// Rows of as many numbers as there are bins, packed one by one: a dictionary is then made of
    /// vectors as they came.
    fn pack(&self, rows: &[f32], rng: &mut SimRng) -> Packed {
        let (mut bytes, shape) = (Vec::new(), [[1, self.n_bins]]);
        for row in rows.chunks_exact(self.n_bins) {
            self.params.codec.encode(row, &shape, rng, &mut bytes);
        }
        Packed(bytes.into())
    }

    /// The rows that a device has packed.
    fn open(&self, packed: &Packed, from: ClientId) -> Result<Box<[f32]>, StrategyError> {
        let shape = [[1, self.n_bins]];
        let row = message::packed_bytes(&*self.params.codec, 1, self.n_bins) as usize;
        let opened = packed.0.chunks(row).map(|row| self.params.codec.decode(row, &shape));
        let opened: Result<Vec<Vec<f32>>, Damaged> = opened.collect();
        let opened = opened.map_err(|why| StrategyError(format!("device {}: a degree vector: {why}", from.0)))?;
        Ok(opened.into_iter().flatten().collect())
    }

    /// The bytes of a row of dissimilarities.
    fn row_bytes(&self) -> u64 {
        message::packed_bytes(&*self.params.codec, 1, self.n_nodes())
    }

    /// The tree of what devices have uploaded.
    fn of_matrices(&self, matrices: &Arc<[Box<[f32]>]>, dictionary: &Dictionary, cx: &JobContext) -> Published {
        let (metric, linkage) = (self.params.metric.into(), self.params.linkage.into());
        let published = Published::of_known(matrices, dictionary.vectors(), self.n_bins, (metric, linkage));
        published.packed(&*self.params.codec, &mut cx.rng(PACKING))
    }

    /// The tree of the degree vectors alone.
    fn of_vectors(&self, dictionary: &Dictionary) -> Published {
        Published::of_vectors(dictionary.vectors(), self.n_bins, self.params.linkage.into())
    }

    /// The tree, once the encoder's cost is measured, in the background of those who need it.
    fn measured(&self, published: Published, dictionary: &Dictionary) -> Done {
        if let Entries::ByScore { scale, .. } = &self.entries {
            published.audit(dictionary, scale);
        }
        Done::Tree(Arc::new(published))
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = FedWalk;

    fn about(&self) -> About {
        About {
            // 2: recall and precision of edges from embeddings are part of the result.
            results_version: 2,
            rounds: Some(self.walks_per_node + 1),
            terms: [terms::TERMS, node_embedding::TERMS].concat(),
            split: Some(node_embedding::SPLIT_DESCRIPTION.to_owned()),
            headline: &["micro_f1", "peer_messages_per_walk", "payload_bytes"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(source)
    }

    fn build(&self, facts: &Facts) -> Result<FedWalk, StrategyError> {
        FedWalk::new(self.clone(), facts)
    }

    fn share(&self, _: &Facts, _: &FedWalk, source: &Source<'_>) -> Result<Shared<FedWalk>, StrategyError> {
        let walked = Arc::new(self.evaluation.split(source.dataset, source.streams)?);
        Ok(Shared {
            shards: Box::new(VertexOwners {
                walked: Arc::clone(&walked),
                knows_two_hops: self.pool == Pool::Oracle,
            }),
            evaluator: Box::new(Watch::new(walked)),
        })
    }
}

impl Strategy for FedWalk {
    type Down = Down;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = OwnVertex<'a>;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;
    type Sight = Predicted;

    const COUNTERS: &'static [&'static str] = &[
        "predicted_hops",
        "self_hops",
        "empty_pools",
        "rerouted_walks",
        "walks_given_up",
        "predicted_neighbours",
        "encoded_entries",
        "changed_entries",
        "row_requests",
    ];

    fn server(&self, setup: &Setup<'_>) -> Result<Server, StrategyError> {
        let selection = setup.selection();
        if let Some(metric) = selection.metrics().first() {
            return Err(StrategyError(format!(
                "cohort: {} needs the {metric} of each client, which walks do not report; use All, Size, Fraction or Poisson",
                selection.name()
            )));
        }
        Ok(Server::new(self.n_nodes(), self.n_bins))
    }

    fn client(&self, own: OwnVertex<'_>, setup: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::new(self, own, setup))
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        own: OwnVertex<'_>,
        client: &mut Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, own, event, cx)
    }

    fn perform(&self, own: Option<OwnVertex<'_>>, work: &Work, cx: &JobContext) -> Done {
        match work {
            Work::BuildMatrix { dictionary } => {
                let neighbours = own.expect("devices build matrices").neighbours();
                Done::Matrix(dictionary.ordered_matrix(neighbours, self.n_nodes()))
            }
            Work::ClusterMatrices { matrices, dictionary } => {
                self.measured(self.of_matrices(matrices, dictionary, cx), dictionary)
            }
            Work::ClusterVectors { dictionary } => self.measured(self.of_vectors(dictionary), dictionary),
            Work::Learn { corpus } => {
                let mut key = [0; 32];
                cx.rng(LEARN).fill_bytes(&mut key);
                let rng = SimRng::from_seed(key);
                Done::Vectors(self.params.embedding.train(corpus, self.n_nodes(), rng))
            }
        }
    }

    /// Pools say where walks go, so that a tree they are read off is made. No message depends on
    /// entries or embeddings.
    fn placeholder(&self, own: Option<OwnVertex<'_>>, work: &Work, cx: &JobContext) -> Done {
        let tree = |published: Published| Done::Tree(Arc::new(published.for_pools()));
        match work {
            Work::BuildMatrix { .. } => self.perform(own, work, cx),
            Work::Learn { .. } => Done::Vectors(Ok(None)),
            Work::ClusterMatrices { .. } | Work::ClusterVectors { .. } if !self.params.draws_from_tree() => {
                tree(Published::empty())
            }
            Work::ClusterMatrices { matrices, dictionary } => tree(self.of_matrices(matrices, dictionary, cx)),
            Work::ClusterVectors { dictionary } => tree(self.of_vectors(dictionary)),
        }
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        match (self.params.absent, message) {
            (Absent::Reroute { timeout_ms, .. }, Letter::Peer(_)) => Absence::Tell {
                after: SimSpan::from_millis(timeout_ms),
            },
            (Absent::Reroute { .. } | Absent::Wait, _) => Absence::Wait,
            (Absent::GiveUp, _) => Absence::GiveUp,
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: &str, unit: &str, claimed| MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: unit.to_owned(),
            claimed,
        };
        let encoder = format!("{}: walk entry", self.params.encoder.mechanism());
        let (degree, entry) = (Some(self.params.epsilon_degree), Some(self.params.epsilon_encoder));
        let mut mechanisms = vec![
            info("laplace degree vector", "one neighbour", degree),
            info("none: ordered matrix", "one neighbour", degree),
            info(&encoder, "one vertex", entry),
        ];
        if self.params.asks_for_rows() {
            mechanisms.push(info("none: row request", "one neighbour", None));
        }
        mechanisms
    }
}
