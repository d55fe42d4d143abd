//! The choices that GW-LDP's parameters offer.

use folkmoot_graphs::Graph;
use folkmoot_metrics::MetricKey;
use folkmoot_parts::{Rules, component};
use folkmoot_scores::classical::SvmGrid;
use folkmoot_scores::inference::Attackers;
use folkmoot_similarity::gw;
use folkmoot_similarity::transport::Sinkhorn;

/// Variant of the algorithm.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As published.
    #[default]
    AsPublished,
    /// As in the authors' code where it is specified: five GIN layers of width 64 with batch
    /// normalisation, and Gaussian noise.
    #[component(sets(
        "model=(encoder: GinBatchNorm, hidden: 64, layers: 5, readout: Sum, head_layers: 2, dropout: 0.5)",
        "representation=Hidden",
        "release=Gaussian()"
    ))]
    AsReleased,
    /// Corrected: the multi-bit encoder with epsilon 4 per node, rectified.
    #[component(sets("release=MultiBit(epsilon: Node(4.0), rectify: true)"))]
    Corrected,
}

/// Rounds in which embeddings are collected.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// In the last round.
    #[default]
    AtEnd,
    /// Every given number of rounds (at least 1), and in the last round.
    Every(#[component(required)] u32),
}

/// Model with which a client embeds its graphs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedWith {
    /// Its local model after training in the collection round, as published. The embeddings reveal
    /// the client.
    #[default]
    Own,
    /// The global model of that round, the same for all clients.
    Global,
}

/// Distance between two rows of an embedding.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowDistance {
    /// Euclidean.
    #[default]
    Euclidean,
    /// 1 − cosine similarity; a row of zeros has cosine 0 with every other.
    Cosine,
    /// 1 − correlation.
    Correlation,
}

/// Node weights of a graph in Gromov-Wasserstein distances: `p` and `q` of the formula.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWeights {
    /// Equal weights.
    #[default]
    Uniform,
    /// Proportional to degree + 1, so that isolated nodes count too; the authors of GWL (H. Xu et
    /// al. ICML 2019) use the degree. The client sends the true degrees with the embedding, 4 bytes
    /// per node. The ledger charges them as unbounded privacy loss.
    Degree,
}

impl NodeWeights {
    /// What has to be known of a graph besides its distances: the degrees of its nodes, if
    /// anything.
    pub(super) fn degrees(self, graph: &Graph) -> Option<Vec<u32>> {
        let of_node = |node: u32| graph.neighbours(node).iter().filter(|other| **other != node).count() as u32;
        (self == NodeWeights::Degree).then(|| (0..graph.n_nodes() as u32).map(of_node).collect())
    }
}

/// Solver for Gromov-Wasserstein problems.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Conditional gradient from `p q'` with exact line search.
    #[default]
    ConditionalGradient {
        /// Continue with pairwise flow exchanges at vertices where no gradient step improves.
        #[component(default = true)]
        exchange: bool,
        /// Relative perturbation of the starting plan, as a fraction.
        #[component(default = 0.0, in = 0..1)]
        start_jitter: f64,
        /// Additional starts along each graph from end to end; the best result counts. Gives fewer
        /// overestimates at about twice the cost.
        #[component(default = false)]
        end_starts: bool,
        /// Number of additional perturbed starts, at most 1000; the best result counts. Needs
        /// `start_jitter`.
        #[component(default = 0)]
        restarts: u32,
    },
    /// Entropic regularisation, by Sinkhorn scaling.
    Entropic {
        /// Weight of the entropy.
        #[component(required, in = 1e-6..=1e6)]
        regularisation: f64,
        /// Loss between two matched distances.
        loss: Loss,
    },
    /// Proximal-point method: Sinkhorn scaling with relative entropy to the previous plan, without
    /// regularisation bias at convergence.
    ProximalPoint {
        /// Weight of the proximal term; larger values give smaller steps.
        #[component(default = 0.1, in = 1e-6..=1e6)]
        regularisation: f64,
        /// Loss between two matched distances.
        loss: Loss,
        /// Maximum number of steps.
        #[component(default = 100, in = 1..=100_000)]
        most_steps: u32,
    },
}

/// Loss between two matched distances.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Squared difference.
    #[default]
    Square,
    /// Kullback-Leibler divergence `a ln(a / b) − a + b`, where `a` belongs to the graph with the
    /// lower id. 1e-15 is added to both under the logarithm.
    KullbackLeibler,
}

impl Method {
    /// The options of the conditional gradient, or those of scaling.
    pub(super) fn options(self) -> Result<gw::Options, gw::Entropic> {
        let scaling = |regularisation, loss, proximal| {
            let default = gw::Entropic::default();
            gw::Entropic {
                sinkhorn: Sinkhorn {
                    epsilon: regularisation,
                    ..default.sinkhorn
                },
                proximal,
                loss: match loss {
                    Loss::Square => gw::Loss::Square,
                    Loss::KullbackLeibler => gw::Loss::KullbackLeibler,
                },
                ..default
            }
        };
        match self {
            Method::Entropic { regularisation, loss } => Err(scaling(regularisation, loss, false)),
            Method::ProximalPoint {
                regularisation,
                loss,
                most_steps,
            } => Err(gw::Entropic {
                max_steps: most_steps,
                ..scaling(regularisation, loss, true)
            }),
            Method::ConditionalGradient {
                exchange,
                start_jitter,
                end_starts,
                restarts,
            } => Ok(gw::Options {
                exchange,
                start_jitter,
                end_starts,
                restarts,
                ..gw::Options::default()
            }),
        }
    }

    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        if let Method::ConditionalGradient {
            start_jitter, restarts, ..
        } = *self
        {
            let rule = format!("must be 0 without start_jitter and at most 1000 with it, got {restarts}");
            rules.require(
                restarts <= 1000 && (restarts == 0 || start_jitter != 0.0),
                "restarts",
                rule,
            );
        }
    }
}

/// Distance by which graphs are compared.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Gromov-Wasserstein distance of the embeddings that the server received.
    Released,
    /// Gromov-Wasserstein distance of the embeddings before perturbation: a reference that no
    /// single participant can compute.
    Clean,
    /// Gromov-Wasserstein distance of hop counts; `n` for nodes without a path between them.
    Hops,
    /// Fused Gromov-Wasserstein: hop counts, and the squared distance of node features.
    Fused {
        /// Weight of the hop counts, as a fraction.
        #[component(default = 0.5, in = 0..=1)]
        alpha: f64,
    },
    /// Shortest-path kernel, normalised to unit diagonal.
    ShortestPaths,
    /// Number of nodes only (control).
    Size,
    /// Numbers of nodes and edges.
    SizeAndEdges,
    /// Baseline without distances: the majority class of a client's training and validation graphs,
    /// predicted for its test graphs. Measures the value of the partition alone.
    ClientMajority,
    /// Exact graph edit distance with unit costs, for graphs with at most 10 nodes.
    EditDistance,
}

impl Metric {
    /// What stands behind the `@` in names of scores; nothing for what the server computes.
    pub(super) fn label(self) -> Option<&'static str> {
        match self {
            Metric::Released => None,
            Metric::Clean => Some("clean"),
            Metric::Hops => Some("hops"),
            Metric::Fused { .. } => Some("fused"),
            Metric::ShortestPaths => Some("shortest_paths"),
            Metric::Size => Some("size"),
            Metric::SizeAndEdges => Some("size_and_edges"),
            Metric::ClientMajority => Some("client_majority"),
            Metric::EditDistance => Some("edit_distance"),
        }
    }

    /// The name of a score under this metric.
    pub(super) fn named(self, score: &str) -> String {
        match self.label() {
            None => score.to_owned(),
            Some(label) => MetricKey::of(score).against(label).to_string(),
        }
    }
}

/// Of so many graphs every pair's distance may be a score.
const MOST_IN_PAIRS: usize = 16;

/// Evaluation of the distances between graphs.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Graphs to compare, by index in the data set or by client id, each once; all if empty. The
    /// others are only trained on.
    pub only: Vec<u32>,
    /// Record the distance of each pair of graphs in `only` as a metric `distance_U_V`, `U` below
    /// `V`.
    pub pairs: bool,
    /// Distances to evaluate; by default including graph size as a control.
    #[component(default = vec![Metric::Released, Metric::Clean, Metric::Size])]
    pub metrics: Vec<Metric>,
    /// Classification of test graphs by a support vector machine.
    pub svm: SvmChoice,
    /// Values of k for k-nearest-neighbour classification of test graphs.
    #[component(default = vec![5, 20], in = 1..=1_000)]
    pub neighbours: Vec<u32>,
    /// Attack that links a graph to its client from distances and embeddings.
    pub identity: Identity,
    /// Cluster the graphs by Gromov-Wasserstein barycentres, with as many clusters as classes.
    pub clusters: bool,
    /// Compute a t-SNE map of the graphs.
    pub map: bool,
    /// Number of random single-edge and single-node deletions per graph, to measure how far it
    /// moves. 0: off.
    #[component(default = 0, in = 0..=1_000)]
    pub changes: u32,
    /// Also restart the solver without noise from the plans found with noise, to test whether noise
    /// helps the solver.
    pub restart: bool,
    /// Evaluate after every collection, not only after the last.
    pub history: bool,
    /// Keep the distance matrices as artifacts.
    #[component(default = true)]
    pub keep_matrices: bool,
}

/// Support vector machine with kernel `exp(-gamma × distance)`.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum SvmChoice {
    /// Off.
    Off,
    /// `C` and `gamma` from a grid search; the final model is trained on training and validation
    /// graphs.
    #[default]
    Grid {
        /// Grid of `C` and `gamma`.
        grid: SvmGrid,
        /// Selection criterion.
        choose_by: ChooseBy,
    },
}

/// Attack that links a graph to its client.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Identity {
    /// Off.
    #[default]
    Off,
    /// Per distance: fraction of nearest graphs from the same client. From each embedding of a
    /// graph outside the training set: its client, by attackers that know the clients of the
    /// training graphs.
    Linked {
        /// Attackers.
        attackers: Attackers,
    },
}

/// Selection criterion of the grid search.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChooseBy {
    /// Cross-validation on training and validation graphs, with the grid's number of folds.
    #[default]
    Folds,
    /// The validation graphs.
    Validation,
}

impl Evaluation {
    /// What no range says.
    fn rules(&self, rules: &mut Rules) {
        let twice =
            |(i, metric): (usize, &Metric)| self.metrics[..i].iter().any(|other| other.label() == metric.label());
        let is_once = !self.metrics.iter().enumerate().any(twice);
        rules.require(is_once, "metrics", "must name each metric once");
        let twice = |(i, id): (usize, &u32)| self.only[..i].contains(id);
        let is_once = !self.only.iter().enumerate().any(twice);
        rules.require(is_once, "only", "must name each graph once");
        let rule = format!("needs 2 to {MOST_IN_PAIRS} graphs in only, got {}", self.only.len());
        rules.require(
            !self.pairs || (2..=MOST_IN_PAIRS).contains(&self.only.len()),
            "pairs",
            rule,
        );
    }
}
