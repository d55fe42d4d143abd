//! What a card may choose in FGCL.

use crate::classifier::{self, Encoder, LocalOptimiser, Pooling};
use folkmoot_learning::DegreeRule as Degrees;
use serde::{Deserialize, Serialize};

/// A set of options at once; those that a card states override it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// The paper to the letter: the plain mean of the updates.
    AsPrinted,
    /// The conventions of the benchmark that the paper builds on: no relu between graph layers, features of a node with the sum 1,
    /// a readout over features and embedding together, the mean weighted by samples.
    AsReleased,
    /// The sound form: views drawn once for each graph, weights cut to 0..1, the mean weighted by samples. Its split is that of
    /// `partition: LabelSkew(..)`, and its control the setting `FgclWithoutNoise`.
    Corrected,
}

/// The arms of the paper's table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Setting {
    /// All training graphs lie at the first client, and the others have none. No noise.
    Centralised,
    /// Every client trains on its own graphs. No noise.
    Federated,
    /// The same on one noisy view of each graph, without a contrastive term.
    Noise {
        /// The budget of a view, finite and at least 1e-6. Default 1.
        #[serde(default = "one")]
        epsilon: f64,
    },
    /// Two noisy views of each graph, and the contrastive term.
    Fgcl {
        /// The budget of the first view and of views at inference, finite and at least 1e-6. Default 1.
        #[serde(default = "one")]
        epsilon: f64,
        /// The budget of the second view. Default: as the first.
        #[serde(default)]
        epsilon_2: Option<f64>,
    },
    /// The contrastive term alone, on graphs as they are: the control that tells its gain from that of the noise. The two views
    /// differ by dropout only.
    FgclWithoutNoise,
}

fn one() -> f64 {
    1.0
}

impl Default for Setting {
    fn default() -> Self {
        Setting::Fgcl {
            epsilon: one(),
            epsilon_2: None,
        }
    }
}

impl Setting {
    /// The budgets of the views of a graph that are noisy.
    pub fn epsilons(self) -> Vec<f64> {
        match self {
            Setting::Noise { epsilon } => vec![epsilon],
            Setting::Fgcl { epsilon, epsilon_2 } => vec![epsilon, epsilon_2.unwrap_or(epsilon)],
            Setting::Centralised | Setting::Federated | Setting::FgclWithoutNoise => Vec::new(),
        }
    }

    /// Whether there are two views and a contrastive term.
    pub fn is_contrastive(self) -> bool {
        matches!(self, Setting::Fgcl { .. } | Setting::FgclWithoutNoise)
    }
}

/// How noise is drawn for a table of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draws {
    /// Once for each unordered pair, mirrored.
    #[default]
    Symmetric,
    /// Once for each ordered pair: an edge changes two values, so a view costs twice its epsilon.
    PerEntry,
}

/// When views are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Views {
    /// At every use of a graph, which spends its budget again.
    Fresh,
    /// Once for each graph, and used again ever after.
    Fixed,
}

/// What becomes of noisy weights, of which many are negative, and of degrees that are not positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DegreeRule {
    /// Weights as they are; a node whose degree is not positive has the factor 0.
    Masked,
    /// Weights as they are; a degree is the sum of their sizes.
    Abs,
    /// Weights cut to 0..=1.
    Clamp01,
    /// Negative weights are 0.
    Relu,
}

impl DegreeRule {
    /// Changes a weight.
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contrast {
    /// Negatives of a step, k, 1..=1000. Default 10.
    pub negatives: u32,
    /// Views of earlier graphs that are kept to draw negatives from, N, 1..=100000. Default 100.
    pub queue: u32,
    /// Which view leaves a full queue. Default `Fifo`.
    pub order: Order,
    /// The weight of the term, lambda, finite and at least 0. Default 0.01.
    pub lambda: f64,
    /// The temperature tau, finite and greater than 0. Default 1.
    pub temperature: f64,
    /// Whether the positive pair stands in the denominator, too. Default true.
    pub include_positive: bool,
    /// Whether negatives are held constant. Default false.
    pub stop_gradient: bool,
}

impl Default for Contrast {
    fn default() -> Self {
        Contrast {
            negatives: 10,
            queue: 100,
            order: Order::Fifo,
            lambda: 0.01,
            temperature: 1.0,
            include_positive: true,
            stop_gradient: false,
        }
    }
}

/// Which view leaves a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The oldest, as the paper does, though it speaks of a stack.
    #[default]
    Fifo,
    /// The youngest, as in a stack.
    Lifo,
}

/// Which views the classifier learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Supervised {
    /// Both: the mean of their losses.
    #[default]
    BothViews,
    /// The first.
    FirstView,
}

/// The network: graph layers, a readout, one linear layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// The graph layers; with noise one of `Gcn`, `GraphConv` (k-GNN), `Tag`, `LightGcn` and `Gin`, the others know no weights.
    /// Default `Gcn`.
    pub encoder: Encoder,
    /// Width of the hidden layers and of an embedding, 1..=4096. Default 64.
    pub hidden: u32,
    /// Graph layers, 1..=64. Default 2.
    pub layers: u32,
    /// Whether a relu follows every graph layer. Default true, by the variant `AsReleased` false.
    pub relu: Option<bool>,
    /// How the nodes of a graph become one row. Default `Mean`.
    pub readout: Pooling,
    /// Whether nodes go through a linear layer and a relu before that, together with their features. Default false, by the variant
    /// `AsReleased` true.
    pub joint_readout: Option<bool>,
    /// The probability that a hidden value is dropped in training, in 0..1: before each graph layer but the first, and before
    /// the linear layer. Default 0.3.
    pub dropout: f64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            encoder: Encoder::Gcn,
            hidden: 64,
            layers: 2,
            relu: None,
            readout: Pooling::Mean,
            joint_readout: None,
            dropout: 0.3,
        }
    }
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

/// A client's training in one round. The optimiser starts afresh each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Passes over the training graphs, 1..=100000. Default 1.
    pub epochs: u32,
    /// Graphs of a step, at least 1, in an order drawn for each epoch. Default 1.
    pub batch_size: u32,
    /// Default `Adam`.
    pub optimiser: LocalOptimiser,
    /// The learning rate, finite and greater than 0. Default 0.0015.
    pub rate: f64,
    /// Times the weight, added to its gradient; decoupled with `AdamW`. Finite and at least 0. Default 0.001.
    pub weight_decay: f64,
    /// FedProx' mu, finite and at least 0. Default 0.
    pub proximal: f64,
}

impl Default for Training {
    fn default() -> Self {
        Training {
            epochs: 1,
            batch_size: 1,
            optimiser: LocalOptimiser::Adam,
            rate: 1.5e-3,
            weight_decay: 1e-3,
            proximal: 0.0,
        }
    }
}

impl Training {
    /// The same as other strategies write it.
    pub(super) fn plain(&self) -> classifier::Training {
        classifier::Training {
            epochs: self.epochs,
            batch_size: Some(self.batch_size),
            optimiser: self.optimiser,
            rate: self.rate,
            weight_decay: self.weight_decay,
            proximal: self.proximal,
        }
    }
}
