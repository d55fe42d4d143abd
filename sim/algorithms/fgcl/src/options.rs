//! What a card may choose in FGCL.

use folkmoot_classifiers::classifier::graph_layers::GraphLayers;
use folkmoot_classifiers::classifier::{self, LocalOptimiser, Pooling};
use folkmoot_learning::DegreeRule as Degrees;
use folkmoot_parts::{Chosen, component};

/// A set of options at once; those that a card states override it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As in the paper: unweighted mean of the updates; noisy edge weights and their degrees are
    /// not clipped.
    #[component(sets("protocol.weighting=Uniform", "degree_rule=Masked"))]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// Conventions of the benchmark that the paper builds on: no ReLU between graph layers, node
    /// features normalised to sum 1. Readout over features and embedding jointly; updates weighted
    /// by samples.
    #[component(sets("model.relu=false", "model.joint_readout=true", "normalise_features=true"))]
    AsReleased,
    /// Recommended form: one fixed draw of the views per graph, edge weights clipped to 0..=1,
    /// updates weighted by samples. Use with `partition: LabelSkew(..)`; controls are the settings
    /// `FgclWithoutNoise` and `NoEdges`.
    #[component(sets("views=Fixed", "degree_rule=Clamp01"))]
    Corrected,
}

/// Training arms of the paper's comparison.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Centralised training: the first client holds all training graphs. No noise. The optimiser
    /// state is kept between rounds.
    Centralised,
    /// Federated training on each client's own graphs, without noise.
    Federated,
    /// Federated training on one noisy view of each graph, without the contrastive loss.
    Noise {
        /// Privacy budget ε of one view.
        #[component(default = 1.0, at_least = 0.000001)]
        epsilon: f64,
    },
    /// Two noisy views of each graph, with the contrastive loss.
    #[default]
    Fgcl {
        /// Privacy budget ε of the first view and of views at inference.
        #[component(default = 1.0, at_least = 0.000001)]
        epsilon: f64,
        /// Privacy budget ε of the second view; by default that of the first.
        #[component(at_least = 0.000001)]
        epsilon_2: Option<f64>,
    },
    /// Contrastive loss without noise: the control that separates its gain from the effect of
    /// noise. The two views differ by dropout and by `contrast.drop_edges`.
    FgclWithoutNoise,
    /// Training on graphs with all edges removed: the control for the value of edges. No noise.
    NoEdges,
}

impl Setting {
    /// The budgets of the views of a graph that are noisy.
    pub fn epsilons(self) -> Vec<f64> {
        match self {
            Setting::Noise { epsilon } => vec![epsilon],
            Setting::Fgcl { epsilon, epsilon_2 } => vec![epsilon, epsilon_2.unwrap_or(epsilon)],
            Setting::Centralised | Setting::Federated | Setting::FgclWithoutNoise | Setting::NoEdges => Vec::new(),
        }
    }

    /// Whether there are two views and a contrastive term.
    pub fn is_contrastive(self) -> bool {
        matches!(self, Setting::Fgcl { .. } | Setting::FgclWithoutNoise)
    }
}

/// Order of the nodes in a graph and in its views.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeOrder {
    /// As in the data. Atoms follow their SMILES text, where adjacent atoms are mostly bonded, so
    /// node indices reveal edges.
    #[default]
    AsRead,
    /// Random permutation, drawn once per graph. Indices then reveal little; the network does not
    /// depend on node order.
    Shuffled,
}

/// How noise is drawn for the adjacency matrix.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// Once per unordered pair, mirrored.
    #[default]
    Symmetric,
    /// Once per ordered pair: an edge changes two entries, so a view costs twice its ε.
    PerEntry,
}

/// When views are drawn.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// At every use of a graph; each use spends its privacy budget again.
    #[default]
    Fresh,
    /// Once per graph, then reused.
    Fixed,
}

/// How negative noisy edge weights and non-positive degrees are handled.
///
/// The propagated weight is `w_uv / sqrt(d_u d_v)`. All rules except `Masked` keep it in −1..=1,
/// since no degree is less than a weight in it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeRule {
    /// Weights unchanged. A node with a non-positive degree gets the factor 0; the factor is
    /// unbounded for degrees just above 0.
    Masked,
    /// Weights unchanged; a degree is the sum of absolute weights.
    Abs,
    /// Weights clipped to 0..=1, the range without noise.
    #[default]
    Clamp01,
    /// Negative weights set to 0 (ReLU).
    Relu,
}

impl DegreeRule {
    pub fn repair(self, weight: f32) -> f32 {
        match self {
            DegreeRule::Masked | DegreeRule::Abs => weight,
            DegreeRule::Clamp01 => weight.clamp(0.0, 1.0),
            DegreeRule::Relu => weight.max(0.0),
        }
    }

    /// The sums that degrees are.
    pub fn degrees(self) -> Degrees {
        match self {
            DegreeRule::Abs => Degrees::Abs,
            _ => Degrees::Masked,
        }
    }
}

/// Contrastive loss.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Number of negatives per step, k.
    #[component(default = 10, in = 1..=1_000)]
    pub negatives: u32,
    /// Size N of the queue: views of earlier graphs from which negatives are drawn.
    #[component(default = 100, in = 1..=100_000)]
    pub queue: u32,
    /// Which view is evicted from a full queue.
    pub order: Order,
    /// Refill the queue in each round with new views of the last graphs, each charged to the
    /// privacy budget again. The paper fills it once, before training.
    pub refill: bool,
    /// Fraction of edges dropped from each of the two views in `FgclWithoutNoise`, drawn at every
    /// use.
    #[component(default = 0.0, in = 0..1)]
    pub drop_edges: f64,
    /// Weight λ of the contrastive loss.
    #[component(default = 0.01, at_least = 0, f32)]
    pub lambda: f64,
    /// Temperature τ.
    #[component(default = 1.0, above = 0, f32)]
    pub temperature: f64,
    /// Whether the denominator includes the positive pair.
    #[component(default = true)]
    pub include_positive: bool,
    /// Whether gradients are stopped at the negatives.
    pub stop_gradient: bool,
}

/// Which view is evicted from a full queue.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest, as in the paper (which calls the queue a stack).
    #[default]
    Fifo,
    /// The newest, as in a stack.
    Lifo,
}

/// Views that the classification loss uses.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervised {
    /// Both: mean of the two losses.
    #[default]
    BothViews,
    /// The first only.
    FirstView,
}

/// Network: graph layers, readout, one linear layer.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Type of the graph layers. With noise one of `Gcn`, `GraphConv` (k-GNN), `Tag`, `LightGcn`
    /// and `Gin`; the others ignore edge weights.
    pub encoder: Chosen<dyn GraphLayers>,
    /// Width of the hidden layers and of the graph embedding.
    #[component(default = 64, in = 1..=4_096)]
    pub hidden: u32,
    /// Number of graph layers.
    #[component(default = 2, in = 1..=64)]
    pub layers: u32,
    /// Whether a ReLU follows every graph layer.
    #[component(default = true)]
    pub relu: bool,
    /// Readout: how node embeddings are pooled into one graph embedding.
    #[component(default = Pooling::Mean)]
    pub readout: Pooling,
    /// Whether a linear layer and a ReLU over node embeddings and features precede the readout.
    pub joint_readout: bool,
    /// Dropout probability in training: before each graph layer except the first, and before the
    /// linear layer.
    #[component(default = 0.3, in = 0..1)]
    pub dropout: f64,
}

impl Model {
    /// What it has in common with the classifiers of other strategies, whose rules hold here, too.
    pub(super) fn plain(&self) -> classifier::Model {
        classifier::Model {
            encoder: self.encoder.clone(),
            hidden: self.hidden,
            layers: self.layers,
            readout: self.readout,
            head_layers: 1,
            dropout: self.dropout,
        }
    }
}

/// Local training in one round. The optimiser state is reset each round, except in
/// [`Setting::Centralised`].
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Local epochs per round.
    #[component(default = 1, in = 1..=100_000)]
    pub epochs: u32,
    /// Batch size in graphs; the order is shuffled in each epoch.
    #[component(default = 1, at_least = 1)]
    pub batch_size: u32,
    /// Local optimiser.
    #[component(default = LocalOptimiser::Adam)]
    pub optimiser: LocalOptimiser,
    /// Learning rate.
    #[component(default = 1.5e-3, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2); decoupled with `AdamW`.
    #[component(default = 1e-3, at_least = 0, f32)]
    pub weight_decay: f64,
    /// Coefficient μ of the FedProx proximal term.
    #[component(default = 0.0, at_least = 0, f32, alias = "proximal")]
    pub fedprox_mu: f64,
}

impl Training {
    /// The same as other strategies write it.
    pub(super) fn plain(&self) -> classifier::Training {
        classifier::Training {
            epochs: self.epochs,
            batch_size: Some(self.batch_size),
            optimiser: self.optimiser,
            learning_rate: self.learning_rate,
            weight_decay: self.weight_decay,
            fedprox_mu: self.fedprox_mu,
            ..classifier::Training::default()
        }
    }
}
