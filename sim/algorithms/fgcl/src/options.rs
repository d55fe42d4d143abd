//! What a card may choose in FGCL.

use folkmoot_classifiers::classifier::{self, Encoder, LocalOptimiser, Pooling};
use folkmoot_learning::DegreeRule as Degrees;
use folkmoot_parts::component;

/// A set of options at once; those that a card states override it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The paper to the letter: the plain mean of the updates, and noisy weights divided by
    /// whatever degrees they have.
    #[component(sets("protocol.weighting=Uniform", "degree_rule=Masked"))]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// The conventions of the benchmark that the paper builds on: no relu between graph layers,
    /// features of a node with the sum 1, a readout over features and embedding together, the mean
    /// weighted by samples.
    #[component(sets("model.relu=false", "model.joint_readout=true", "normalise_features=true"))]
    AsReleased,
    /// The sound form: views drawn once for each graph, weights cut to 0..1, the mean weighted by
    /// samples. Its split is that of `partition: LabelSkew(..)`, and its controls the settings
    /// `FgclWithoutNoise` and `NoEdges`.
    #[component(sets("views=Fixed", "degree_rule=Clamp01"))]
    Corrected,
}

/// The arms of the paper's table.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// All training graphs lie at the first client, and the others have none. No noise. It is one
    /// training: its optimiser goes on from round to round.
    Centralised,
    /// Every client trains on its own graphs. No noise.
    Federated,
    /// The same on one noisy view of each graph, without a contrastive term.
    Noise {
        /// The budget of a view.
        #[component(default = 1.0, at_least = 0.000001)]
        epsilon: f64,
    },
    /// Two noisy views of each graph, and the contrastive term.
    #[default]
    Fgcl {
        /// The budget of the first view and of views at inference.
        #[component(default = 1.0, at_least = 0.000001)]
        epsilon: f64,
        /// The budget of the second view; as the first where it is left out.
        #[component(at_least = 0.000001)]
        epsilon_2: Option<f64>,
    },
    /// The contrastive term alone, on graphs as they are: the control that tells its gain from that
    /// of the noise. The two views differ by dropout, and by the edges that `contrast.drop_edges`
    /// takes away.
    FgclWithoutNoise,
    /// Every client trains on the nodes of its graphs, of which none is joined to another: the
    /// control that tells what edges are worth at all. No noise, and nothing that noise on edges
    /// would have to hide.
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

/// In which order the nodes of a graph stand, in what its client learns from and in its views.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeOrder {
    /// As in the data. Atoms come in the order of their SMILES text, in which neighbours mostly are
    /// joined: places alone tell of edges.
    #[default]
    AsRead,
    /// In a random one, drawn once for each graph: places tell little, as those far apart are of
    /// large graphs, and networks see no order.
    Shuffled,
}

/// How noise is drawn for a table of pairs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// Once for each unordered pair, mirrored.
    #[default]
    Symmetric,
    /// Once for each ordered pair: an edge changes two values, so a view costs twice its epsilon.
    PerEntry,
}

/// When views are drawn.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// At every use of a graph, which spends its budget again.
    #[default]
    Fresh,
    /// Once for each graph, and used again ever after.
    Fixed,
}

/// What becomes of noisy weights, of which many are negative, and of degrees that are not positive.
///
/// A propagated weight is `w_uv / sqrt(d_u d_v)`. All rules but `Masked` keep it in −1..=1, since
/// no degree is less than a weight in it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeRule {
    /// Weights as they are; a node whose degree is not positive has the factor 0, and one whose
    /// degree is just above 0 a factor without bound.
    Masked,
    /// Weights as they are; a degree is the sum of their sizes.
    Abs,
    /// Weights cut to 0..=1, as those of a graph are.
    #[default]
    Clamp01,
    /// Negative weights are 0.
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

/// The contrastive term.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Negatives of a step, k.
    #[component(default = 10, in = 1..=1_000)]
    pub negatives: u32,
    /// Views of earlier graphs that are kept to draw negatives from, N.
    #[component(default = 100, in = 1..=100_000)]
    pub queue: u32,
    /// Which view leaves a full queue.
    pub order: Order,
    /// Begin the queue anew in each round, with new views of the last graphs, each charged again.
    /// The paper fills it once, before the first training, and maintains it ever after.
    pub refill: bool,
    /// The share of edges that each of the two views loses in `FgclWithoutNoise`, drawn at every
    /// use.
    #[component(default = 0.0, in = 0..1)]
    pub drop_edges: f64,
    /// The weight of the term, lambda.
    #[component(default = 0.01, at_least = 0, f32)]
    pub lambda: f64,
    /// The temperature tau.
    #[component(default = 1.0, above = 0, f32)]
    pub temperature: f64,
    /// Whether the positive pair stands in the denominator, too.
    #[component(default = true)]
    pub include_positive: bool,
    /// Whether negatives are held constant.
    pub stop_gradient: bool,
}

/// Which view leaves a full queue.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest, as the paper does, though it speaks of a stack.
    #[default]
    Fifo,
    /// The youngest, as in a stack.
    Lifo,
}

/// Which views the classifier learns from.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervised {
    /// Both: the mean of their losses.
    #[default]
    BothViews,
    /// The first.
    FirstView,
}

/// The network: graph layers, a readout, one linear layer.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The graph layers; with noise one of `Gcn`, `GraphConv` (k-GNN), `Tag`, `LightGcn` and `Gin`,
    /// the others know no weights.
    pub encoder: Encoder,
    /// Width of the hidden layers and of an embedding.
    #[component(default = 64, in = 1..=4_096)]
    pub hidden: u32,
    /// Number of graph layers.
    #[component(default = 2, in = 1..=64)]
    pub layers: u32,
    /// Whether a relu follows every graph layer.
    #[component(default = true)]
    pub relu: bool,
    /// How the nodes of a graph become one row.
    #[component(default = Pooling::Mean)]
    pub readout: Pooling,
    /// Whether nodes go through a linear layer and a relu before that, together with their
    /// features.
    pub joint_readout: bool,
    /// The probability that a hidden value is dropped in training: before each graph layer but the
    /// first, and before the linear layer.
    #[component(default = 0.3, in = 0..1)]
    pub dropout: f64,
}

impl Model {
    /// What it has in common with the classifiers of other strategies, whose rules hold here, too.
    pub(super) fn plain(&self) -> classifier::Model {
        classifier::Model {
            encoder: self.encoder,
            hidden: self.hidden,
            layers: self.layers,
            readout: self.readout,
            head_layers: 1,
            dropout: self.dropout,
        }
    }
}

/// A client's training in one round. The optimiser starts afresh each time, but in
/// [`Setting::Centralised`].
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training graphs.
    #[component(default = 1, in = 1..=100_000)]
    pub epochs: u32,
    /// Graphs of a step, in an order drawn for each epoch.
    #[component(default = 1, at_least = 1)]
    pub batch_size: u32,
    /// Local optimiser.
    #[component(default = LocalOptimiser::Adam)]
    pub optimiser: LocalOptimiser,
    /// The learning rate.
    #[component(default = 1.5e-3, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2); decoupled with `AdamW`.
    #[component(default = 1e-3, at_least = 0, f32)]
    pub weight_decay: f64,
    /// FedProx' mu.
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
        }
    }
}
