//! The choices that GW-LDP's parameters offer.

use folkmoot_graphs::Graph;
use folkmoot_metrics::MetricKey;
use folkmoot_parts::{Rules, component};
use folkmoot_scores::classical::SvmGrid;
use folkmoot_scores::inference::Attackers;
use folkmoot_similarity::gw;
use folkmoot_similarity::transport::Sinkhorn;

/// Which form of the system.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// To the paper's letter.
    #[default]
    AsPublished,
    /// As the authors' code has it, where it says anything: five layers of GIN of width 64 with
    /// batch normalisation, and Gaussian noise.
    #[component(sets(
        "model=(encoder: GinBatchNorm, hidden: 64, layers: 5, readout: Sum, head_layers: 2, dropout: 0.5)",
        "representation=Hidden",
        "release=Gaussian()"
    ))]
    AsReleased,
    /// Mathematically sound: the encoder with 4 for a node, rectified.
    #[component(sets("release=MultiBit(epsilon: Node(4.0), rectify: true)"))]
    Corrected,
}

/// When embeddings are collected.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// In the last round.
    #[default]
    AtEnd,
    /// In every so many rounds, at least 1, and in the last.
    Every(#[component(required)] u32),
}

/// With whose weights a client embeds its graphs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedWith {
    /// Its own, after its training in the round of the collection, as published. They tell which
    /// client it is.
    #[default]
    Own,
    /// Those that the server sent in that round, the same for all.
    Global,
}

/// The distance of two rows of an embedding.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowDistance {
    /// Euclidean.
    #[default]
    Euclidean,
    /// 1 less the cosine; a row of zeros has cosine 0 with every other.
    Cosine,
    /// 1 less the correlation.
    Correlation,
}

/// How much each node of a graph weighs where graphs are compared by Gromov-Wasserstein: the `p`
/// and `q` of the formula.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWeights {
    /// All as much.
    #[default]
    Uniform,
    /// By its number of neighbours and 1 more, so that a node without any counts too. The authors
    /// of GWL (H. Xu et al. ICML 2019) take the degree alone in their program. Only a client knows
    /// the degrees of its nodes: it sends them as they are, beside the embedding, in 4 bytes a
    /// node, and the ledger charges them without limit.
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

/// How a Gromov-Wasserstein problem is solved.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// By conditional gradient from `p q'` with exact line search.
    #[default]
    ConditionalGradient {
        /// Go on by exchanges of two flows where no step improves a vertex.
        #[component(default = true)]
        exchange: bool,
        /// The start is disturbed by this share.
        #[component(default = 0.0, in = 0..1)]
        start_jitter: f64,
        /// Starts more, along each graph from end to end, of which the best counts: fewer values
        /// stay high, for about twice the work.
        #[component(default = false)]
        end_starts: bool,
        /// Disturbed starts besides, of which the best counts; needs `start_jitter`, and is at most
        /// 1000.
        #[component(default = 0)]
        restarts: u32,
    },
    /// With an entropy, by scaling.
    Entropic {
        /// Its weight.
        #[component(required, in = 1e-6..=1e6)]
        regularisation: f64,
        /// What two distances that are matched cost.
        loss: Loss,
    },
    /// By the proximal-point method: scaling with the entropy towards the plan before, which has no
    /// part in the end.
    ProximalPoint {
        /// Its weight: larger steps are smaller.
        #[component(default = 0.1, in = 1e-6..=1e6)]
        regularisation: f64,
        /// What two distances that are matched cost.
        loss: Loss,
        /// Steps at most.
        #[component(default = 100, in = 1..=100_000)]
        most_steps: u32,
    },
}

/// What two distances that are matched cost.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The square of their difference.
    #[default]
    Square,
    /// `a ln(a / b) − a + b`, the first of them that of the graph with the lower number, each
    /// raised by 1e-15 under the logarithm.
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

/// What graphs are compared by.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Gromov-Wasserstein of the embeddings that the server received.
    Released,
    /// The same before anything was done to them, which only whoever sees all devices could
    /// compute.
    Clean,
    /// Gromov-Wasserstein of hop counts; `n` for nodes without a path between them.
    Hops,
    /// The fused form: hop counts, and the squared distance of the network's inputs.
    Fused {
        /// The share of the hop counts.
        #[component(default = 0.5, in = 0..=1)]
        alpha: f64,
    },
    /// The shortest-path kernel, scaled to unit diagonal.
    ShortestPaths,
    /// The number of nodes alone.
    Size,
    /// The numbers of nodes and edges.
    SizeAndEdges,
    /// No distance: the class that most of a client's graphs that train or validate have, for all
    /// its test graphs. What the division among clients alone is worth.
    ClientMajority,
    /// The exact edit distance with unit costs, of graphs with at most 10 nodes.
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

/// How the graphs are told apart by their distances.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Which graphs are compared, by their place in the set or the number of their client, each
    /// once; all where none is named. The others train and nothing more.
    pub only: Vec<u32>,
    /// The distance of each pair of the graphs that `only` names is a score of its own,
    /// `distance_U_V` for `U` below `V`.
    pub pairs: bool,
    /// What they are compared by; by default with the control that knows the size alone.
    #[component(default = vec![Metric::Released, Metric::Clean, Metric::Size])]
    pub metrics: Vec<Metric>,
    /// The classes of test graphs by a support vector machine.
    pub svm: SvmChoice,
    /// The classes of test graphs by their nearest neighbours: how many.
    #[component(default = vec![5, 20], in = 1..=1_000)]
    pub neighbours: Vec<u32>,
    /// Whether distances and embeddings tell which client a graph is of.
    pub identity: Identity,
    /// Cluster the graphs by Gromov-Wasserstein about barycentres, into as many clusters as there
    /// are classes.
    pub clusters: bool,
    /// Draw a map of the graphs by t-SNE.
    pub map: bool,
    /// How many times each graph is changed by an edge and by a node less, to see how far it moves.
    #[component(default = 0, in = 0..=1_000)]
    pub changes: u32,
    /// Besides, start from the plans found with noise and go on without it: whether noise helps the
    /// solver.
    pub restart: bool,
    /// Compare after every collection, not only after the last.
    pub history: bool,
    /// Keep the matrices of distances as artifacts.
    #[component(default = true)]
    pub keep_matrices: bool,
}

/// A support vector machine on `exp(-gamma × distance)`.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum SvmChoice {
    /// None.
    Off,
    /// `C` and `gamma` chosen on a grid; then trained on the graphs that train and validate.
    #[default]
    Grid {
        /// What is tried.
        grid: SvmGrid,
        /// By what the point is chosen.
        choose_by: ChooseBy,
    },
}

/// Whether a graph is linked with its client.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Identity {
    /// It is not tried.
    #[default]
    Off,
    /// By every metric, how many of a graph's nearest others are of its client; and from what each
    /// embedding holds, for graphs that do not train, by who knows the clients of those that do.
    Linked {
        /// Who tries.
        attackers: Attackers,
    },
}

/// By what a point of a grid is chosen.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChooseBy {
    /// Cross-validation among the graphs that train and validate, in the grid's number of folds.
    #[default]
    Folds,
    /// The graphs that validate.
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
