//! FedWalk: unsupervised node embedding over devices that own one vertex each.
//!
//! Q. Pan, Y. Zhu. FedWalk: Communication Efficient Federated Unsupervised Node Embedding with Differential Privacy.
//! KDD 2022, Algorithm 1. <https://arxiv.org/abs/2205.15896>
//!
//! The paper's *device* is our client, and owns one vertex. Round 0 is phase A, the set-up; each later round starts one
//! walk at every client of its cohort.
//!
//! | exchange            | direction | payload                                       | bytes                   |
//! |---------------------|-----------|-----------------------------------------------|-------------------------|
//! | A `group_plan`      | downlink  | bin of every vertex, `u8`                     | \|V\|                   |
//! | A `degree_vector`   | uplink    | noisy neighbour counts by bin, `f32`          | 4 k                     |
//! | A `dictionary`      | downlink  | all those vectors                             | 4 k \|V\|               |
//! | A `ordered_matrix`  | uplink    | the neighbours' vectors by noisy degree       | 4 k \|N(v)\|            |
//! | A `tree_and_matrix` | downlink  | tree, and dissimilarities of all pairs        | 8 (\|V\|-1) + 4 \|V\|²  |
//! | B `start`           | downlink  | l, epsilon, p                                 | 12                      |
//! | B `walk`            | peer      | l, epsilon, p and the entries so far          | 12 + 4 × entries        |
//! | B `sequence`        | uplink    | the entries                                   | 4 l                     |
//! | B `row_request`     | uplink    | a vertex (`rows: Neighbours`, `OnRequest`)    | 4                       |
//! | B `row`             | downlink  | its dissimilarities                           | 4 + 4 \|V\|             |
//!
//! After the last walk the server learns by skip-gram; no message goes back.
//!
//! Deviations from the paper: walks are started in passes over the vertices, one a round, not all at once, and the server learns
//! from all sequences at the end, in the order in which they came. Where a vector never came, because its device was away, the
//! dictionary holds zeros, which ask for no pool; a missing matrix counts as that of a vertex without neighbours. A walk waits
//! at a device that lacks the tree or a row. Without `m_upload` there is no `ordered_matrix`, and `tree_and_matrix` is the tree
//! alone; `epsilon_matrix` adds fresh noise to it.

pub mod audit;
mod client;
pub mod clustering;
pub mod dictionary;
mod encoder;
pub mod message;
pub mod options;
pub mod params;
mod scores;
mod server;
mod summary;
pub mod theory;
mod walking;

pub use client::Client;
pub use encoder::Audit;
pub use message::Message;
pub use options::{Absent, Encoder, Linkage, Metric, Pool, Rows, SelfHop, Variant};
pub use params::Params;
pub use server::Server;

use crate::node_embedding::Walked;
use crate::settings::Settings;
use audit::Recovery;
use clustering::Published;
use dictionary::Dictionary;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_learning::Embeddings;
use folkmoot_learning::skip_gram::Corpus;
use folkmoot_privacy::RandomisedResponse;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The system: its parameters and who owns which vertex (client `v` owns vertex `v`).
pub struct FedWalk {
    params: Params,
    walked: Walked,
    n_bins: usize,
    n_isolated: usize,
    /// The encoder's mechanism, if it is randomised response.
    response: Option<RandomisedResponse>,
}

/// What is worked on in the background.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// A device orders its neighbours' vectors (phase A4).
    BuildMatrix {
        /// All vectors.
        dictionary: Arc<Dictionary>,
        /// Whose neighbours.
        vertex: u32,
    },
    /// The server clusters the vertices by their uploaded matrices.
    ClusterMatrices {
        /// By vertex; empty where none came.
        matrices: Vec<Box<[f32]>>,
        /// All vectors.
        dictionary: Arc<Dictionary>,
    },
    /// The server clusters the vertices by their degree vectors.
    ClusterVectors {
        /// All vectors.
        dictionary: Arc<Dictionary>,
    },
    /// The server learns from the walks.
    Learn {
        /// The walks.
        corpus: Arc<Corpus>,
        /// The key of its stream.
        key: [u8; 32],
    },
}

/// What comes of it.
pub enum Done {
    /// A device's ordered matrix.
    Matrix(Box<[f32]>),
    /// The clustering, and how many edges the matrices gave away, if that was asked.
    Tree(Arc<Published>, Option<Recovery>),
    /// Vectors, if there was anything to learn.
    Vectors(Result<Option<Embeddings>, StrategyError>),
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

/// The mechanisms, in the order of [`Strategy::mechanisms`].
pub(crate) mod mechanism {
    pub(crate) const DEGREES: usize = 0;
    pub(crate) const MATRIX: usize = 1;
    pub(crate) const ENTRY: usize = 2;
}

impl FedWalk {
    /// The system on a data set of one graph.
    ///
    /// # Errors
    ///
    /// When there are several graphs, or the graph is directed or has no vertex: the walks need neighbours who know each
    /// other.
    pub fn new(params: Params, dataset: Arc<Dataset>, streams: Streams) -> Result<Self, StrategyError> {
        let [graph] = dataset.graphs.as_slice() else {
            let (name, n) = (&dataset.name, dataset.graphs.len());
            return Err(StrategyError(format!(
                "FedWalk walks on one graph, and {name} has {n}; choose another data set"
            )));
        };
        if graph.is_directed() {
            return Err(StrategyError(
                "FedWalk needs an undirected graph; read the data set as undirected".to_owned(),
            ));
        }
        let n_nodes = graph.n_nodes();
        if n_nodes == 0 {
            return Err(StrategyError("FedWalk needs at least one vertex".to_owned()));
        }
        if params.m_upload && params.reads_tree() && n_nodes > clustering::MAX_MATRIX_NODES {
            let most = clustering::MAX_MATRIX_NODES;
            return Err(StrategyError(format!(
                "the dissimilarities of {n_nodes} vertices are too many to hold, at most those of {most}; set m_upload: false to \
                 make the tree of the degree vectors, or pool: Vector and encoder: Identity to do without"
            )));
        }
        if params.encoder.is_scaled() && n_nodes > clustering::MAX_PAIRS_NODES {
            let most = clustering::MAX_PAIRS_NODES;
            return Err(StrategyError(format!(
                "the encoder needs the largest score of all pairs of {n_nodes} vertices, and takes at most {most}; choose another encoder"
            )));
        }
        let response = (params.encoder == Encoder::RandomisedResponse && n_nodes > 1)
            .then(|| RandomisedResponse::new(params.epsilon_encoder, n_nodes as u32, "one vertex"));
        let walked = params.evaluation.split(&dataset, streams)?;
        let n_isolated = (0..n_nodes as u32).filter(|&v| walked.graph().degree(v) == 0).count();
        Ok(FedWalk {
            n_bins: params.bins(n_nodes),
            response: response.transpose().map_err(|error| StrategyError(error.to_string()))?,
            params,
            walked,
            n_isolated,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The number of vertices, which is the number of clients.
    pub fn n_nodes(&self) -> usize {
        self.walked.dataset.graph().n_nodes()
    }

    /// All that a client knows of the graph: the neighbours of its own vertex.
    fn neighbours(&self, vertex: u32) -> &[u32] {
        self.walked.graph().neighbours(vertex)
    }

    /// A vertex' neighbours by bin.
    fn counts(&self, vertex: u32, plan: &[u8]) -> Vec<f64> {
        let mut counts = vec![0.0; self.n_bins];
        for &v in self.neighbours(vertex) {
            counts[usize::from(plan[v as usize])] += 1.0;
        }
        counts
    }

    /// Whether an edge joins `u` and `v`: the view from above, for scores.
    fn are_neighbours(&self, u: u32, v: u32) -> bool {
        self.walked.graph().has_edge(u, v)
    }

    /// Measures what the encoder costs, in the background of those who need it.
    fn measure(&self, published: &Published, dictionary: &Dictionary) {
        if self.params.encoder.reads_scores() {
            published.audit(dictionary, (self.params.encoder, self.params.epsilon_encoder));
        }
    }

    /// Walks started over the whole run.
    fn n_walks(&self, setup: &Setup<'_>) -> f64 {
        f64::from(setup.world.cohort.asked(setup.n_clients)) * f64::from(self.params.walks_per_node)
    }

    /// The share of starts that have somebody to walk to.
    fn connected_share(&self) -> f64 {
        1.0 - self.n_isolated as f64 / self.n_nodes() as f64
    }

    /// Expected device-to-device messages of a walk, if no device is ever away.
    fn messages_per_walk(&self, form: fn(u32, f64) -> f64) -> f64 {
        self.connected_share() * form(self.params.walk_length, self.params.predictor_prob)
    }
}

impl Settings for Params {
    type Strategy = FedWalk;

    fn rounds(&self) -> Option<u32> {
        Some(self.walks_per_node + 1)
    }

    fn build(&self, dataset: &Arc<Dataset>, _: &Arc<Partition>, streams: Streams) -> Result<FedWalk, StrategyError> {
        FedWalk::new(self.clone(), Arc::clone(dataset), streams)
    }
}

impl Strategy for FedWalk {
    type Message = Message;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;

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
        if setup.n_clients as usize != self.n_nodes() {
            return Err(StrategyError(format!(
                "FedWalk needs one client per vertex, {}; got {} (use partition: NodePerClient)",
                self.n_nodes(),
                setup.n_clients
            )));
        }
        Ok(Server::new(self.n_nodes(), self.n_bins))
    }

    fn client(&self, _: ClientId, _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: Event<Self>,
        cx: &mut ServerContext<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        server.handle(self, event, cx)
    }

    fn on_client(
        &self,
        client: &mut Client,
        event: Event<Self>,
        cx: &mut Context<'_, '_, Self>,
    ) -> Result<(), StrategyError> {
        client.handle(self, event, cx)
    }

    fn perform(&self, work: &Work) -> Done {
        let (metric, linkage) = (self.params.metric.into(), self.params.linkage.into());
        match work {
            Work::BuildMatrix { dictionary, vertex } => {
                Done::Matrix(dictionary.ordered_matrix(self.neighbours(*vertex), self.n_nodes()))
            }
            Work::ClusterMatrices { matrices, dictionary } => {
                let published = Published::of_matrices(matrices, self.n_bins, metric, linkage);
                self.measure(&published, dictionary);
                let matched = || {
                    let guesses = match self.params.epsilon_matrix {
                        None => audit::match_rows(dictionary, matrices, self.n_bins),
                        Some(_) => audit::match_nearest_rows(dictionary, matrices, self.n_bins),
                    };
                    Recovery::of(self.walked.graph(), guesses)
                };
                Done::Tree(Arc::new(published), self.params.attacks.then(matched))
            }
            Work::ClusterVectors { dictionary } => {
                let published = Published::of_vectors(dictionary.vectors(), self.n_bins, linkage);
                self.measure(&published, dictionary);
                Done::Tree(Arc::new(published), None)
            }
            Work::Learn { corpus, key } => {
                let rng = SimRng::from_seed(*key);
                Done::Vectors(self.params.embedding.train(corpus, self.n_nodes(), rng))
            }
        }
    }

    fn absence(&self, message: &Message) -> Absence {
        match (self.params.absent, message) {
            (Absent::Reroute { timeout_ms, .. }, Message::Walk(_)) => Absence::Tell {
                after: SimSpan::from_millis(timeout_ms),
            },
            (Absent::Reroute { .. } | Absent::Wait, _) => Absence::Wait,
            (Absent::GiveUp, _) => Absence::GiveUp,
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: &str, unit: &str, composition: &str, claimed| MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: unit.to_owned(),
            delta: 0.0,
            composition: composition.to_owned(),
            claimed,
        };
        vec![
            info(
                "laplace degree vector",
                "one neighbour",
                "basic",
                Some(self.params.epsilon_degree),
            ),
            info(
                "none: ordered matrix",
                "one neighbour",
                "none",
                Some(self.params.epsilon_degree),
            ),
            info(
                match self.params.encoder {
                    Encoder::AsPrinted => "exponential as printed: walk entry",
                    Encoder::Calibrated => "exponential calibrated: walk entry",
                    Encoder::Normalised => "exponential normalised: walk entry",
                    Encoder::RandomisedResponse => "randomised response: walk entry",
                    Encoder::Identity => "none: walk entry",
                },
                "one vertex",
                match self.params.encoder {
                    Encoder::Identity => "none",
                    _ => "basic",
                },
                Some(self.params.epsilon_encoder),
            ),
        ]
    }

    fn expected_messages(&self, setup: &Setup<'_>, kind: Kind, round: Round, direction: Direction) -> Option<f64> {
        let devices = self.n_nodes() as f64;
        let walks = f64::from(setup.world.cohort.asked(setup.n_clients));
        match (kind.name, direction) {
            ("group_plan" | "dictionary" | "tree_and_matrix", Direction::Downlink) => Some(devices),
            ("degree_vector" | "ordered_matrix", Direction::Uplink) => Some(devices),
            ("start", Direction::Downlink) | ("sequence", Direction::Uplink) => Some(walks),
            // A free hop to oneself makes the count depend on how often pools hold the holder.
            ("walk", Direction::Peer) if round.0 > 0 && self.params.self_hop == SelfHop::Message => {
                Some(walks * self.messages_per_walk(theory::expected_messages))
            }
            _ => None,
        }
    }

    fn evaluate(
        &self,
        server: &Server,
        clients: &Clients<'_, Client>,
        report: &Report<'_>,
        rng: &mut SimRng,
    ) -> Scores {
        summary::scores(self, server, clients, report, rng)
    }
}
