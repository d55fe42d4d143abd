//! The settings of a classifier and of its training, as cards write them.

use super::graph_layers::GraphLayers;
use super::loss::Loss;
use folkmoot_graphs::Dataset;
use folkmoot_learning::layers::Readout;
use folkmoot_learning::{Adam, Decay, Optimiser, Sgd};
use folkmoot_parts::{Broken, Chosen, Rules, component};
use folkmoot_rounds::{STATISTICS, Trains};

/// From this rate on, Adam is warned of: the default of gradient descent.
const LARGE_FOR_ADAM: f64 = 0.1;

/// Graph neural network.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Type of graph layers. ReLU follows each layer except the last, and the last too if there is a
    /// head.
    pub encoder: Chosen<dyn GraphLayers>,
    /// Width of the hidden layers.
    #[component(default = 16, in = 1..=4_096)]
    pub hidden: u32,
    /// Number of graph layers.
    #[component(default = 2, in = 1..=64)]
    pub layers: u32,
    /// Graph readout (pooling). Without effect in node classification.
    pub readout: Pooling,
    /// Number of linear layers after the graph layers; with 0, the last graph layer outputs the
    /// logits.
    #[component(default = 1, in = 0..=2)]
    pub head_layers: u32,
    /// Dropout probability in training.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f64,
}

/// Graph readout.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Sum over nodes.
    #[default]
    Sum,
    /// Mean over nodes.
    Mean,
    /// Maximum over nodes.
    Max,
}

impl From<Pooling> for Readout {
    fn from(pooling: Pooling) -> Readout {
        match pooling {
            Pooling::Sum => Readout::Sum,
            Pooling::Mean => Readout::Mean,
            Pooling::Max => Readout::Max,
        }
    }
}

/// Node features.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// The data set's features.
    #[default]
    Features,
    /// The data set's features, divided per node by the sum of their absolute values, as for bags
    /// of words in GCN (Kipf & Welling 2017). Computed per node; nothing is sent. Zero rows are
    /// unchanged.
    RowNormalised,
    /// The data set's features except those derived from edges. For atoms, element and charge
    /// remain; degree, hydrogens, hybridisation, aromaticity and rings are removed.
    Intrinsic,
    /// One-hot degree; `most` and above share a column.
    Degree {
        /// Degree of the last column, which also covers higher degrees.
        #[component(default = 32, in = 1..=65_535)]
        most: u32,
    },
    /// A constant 1: only the graph structure is used.
    Constant,
    /// The data set's features (a constant 1 if it has none), followed by structural features
    /// (FedStar: Tan et al. 2023, section 4.1). These are random-walk return probabilities after 1,
    /// 2, … steps, and the one-hot degree.
    Structured {
        /// Number of random-walk steps.
        #[component(default = 16, in = 0..=1_000)]
        walks: u32,
        /// Number of degree columns: ≤ 1, 2, …; the last also covers higher degrees.
        #[component(default = 16, in = 0..=65_535)]
        degrees: u32,
    },
    /// The data set's features, or the one-hot degree if it has none. Allows one card for both
    /// kinds of data sets.
    FeaturesOrDegree {
        /// Degree of the last column, which also covers higher degrees.
        #[component(default = 32, in = 1..=65_535)]
        most: u32,
    },
}

impl Inputs {
    /// How many of the last numbers that a node brings are of the structure about it.
    pub(crate) fn n_structural(self) -> usize {
        match self {
            Inputs::Structured { walks, degrees } => walks as usize + degrees as usize,
            _ => 0,
        }
    }

    /// Whether features of a node are computed from edges, as its degree is: who knows the graph
    /// knows them, and noise on edges does not hide them.
    pub fn reveal_edges(self, dataset: &Dataset) -> bool {
        match self.resolved(dataset.features.is_some()) {
            Inputs::Degree { .. } | Inputs::Structured { .. } => true,
            Inputs::Constant | Inputs::Intrinsic => false,
            // A row is divided by all of its columns.
            Inputs::Features | Inputs::RowNormalised | Inputs::FeaturesOrDegree { .. } => {
                !dataset.structural_columns.is_empty()
            }
        }
    }

    /// What it means for a data set with or without features.
    pub fn resolved(self, has_features: bool) -> Inputs {
        match self {
            Inputs::FeaturesOrDegree { .. } if has_features => Inputs::Features,
            Inputs::FeaturesOrDegree { most } => Inputs::Degree { most },
            other => other,
        }
    }
}

/// Scaling of node features.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// No scaling.
    #[default]
    Raw,
    /// Each feature is standardised to mean 0 and variance 1 over the training nodes of each
    /// client, locally; nothing is sent. Constant features become 0. With label skew, the local
    /// scale may reveal the client, and so the class.
    Standardised,
    /// Each feature is standardised over the training nodes of all clients, so that the scale does
    /// not reveal the client. The first round does not train: its cohort sends node count, sums and
    /// squares, in 16 bytes per feature plus 8. Mean and variance then accompany every model, in 8
    /// bytes per feature. With `protocol.secure` the server learns only the totals; a client with a
    /// sum above 2^23 does not participate. The ledger charges these statistics as unbounded
    /// privacy loss.
    Federated,
}

/// Prediction target.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Graph classes if the data set has them, else node classes.
    #[default]
    Classes,
    /// Node classes, also in a set of graphs: a client's training graphs train with all their
    /// nodes.
    NodeLabels,
}

/// Training, validation and test sets.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Split {
    /// Random fractions of each client's labelled items; the rest is the test set. Every client
    /// with items trains on at least one, so with one item per client the test set is empty. Empty
    /// sets have no metrics.
    #[default]
    Shares {
        /// Training fraction.
        #[component(default = 0.8, above = 0, at_most = 1)]
        train: f64,
        /// Validation fraction; at most 1 together with `train`.
        #[component(default = 0.1)]
        validation: f64,
    },
    /// Each labelled item is assigned once, independently, as if the whole graph were split before
    /// partitioning. Overlapping shards agree: no client trains on another client's test items. A
    /// client may have no training items.
    Common {
        /// Probability of the training set.
        #[component(default = 0.8, above = 0, at_most = 1)]
        train: f64,
        /// Probability of the validation set; at most 1 together with `train`.
        #[component(default = 0.1)]
        validation: f64,
    },
    /// The split published with the data set.
    Published,
    /// Every labelled item is used for training; no validation or test set. Shards may overlap.
    All,
}

/// A client's training in one round. The optimiser starts afresh each time, except where
/// `optimiser_state` says otherwise.
///
/// Optimiser, epochs and rate have the highest validation accuracy of FedAvg that
/// `scenarios/classifiers/cards/fed-avg/defaults.ron` finds: the mean over Cora, Citeseer and
/// PubMed (10 Louvain clients) and MUTAG (10 IID clients), 10 seeds each.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Local epochs.
    #[component(default = 10, in = 1..=100_000)]
    pub epochs: u32,
    /// Batch size; shuffled in each epoch. Without it, full-batch training.
    #[component(at_least = 1, hint = "omit it for full-batch training")]
    pub batch_size: Option<u32>,
    /// Local optimiser.
    pub optimiser: LocalOptimiser,
    /// Local learning rate. The default is for `Sgd`; Adam needs about a tenth of it.
    #[component(default = 0.1, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2); decoupled with `AdamW`.
    #[component(default = 0.0, at_least = 0, f32)]
    pub weight_decay: f64,
    /// Training loss. Attackers that search for inputs by gradients assume `OfTask`.
    pub loss: Chosen<dyn Loss>,
    /// FedProx's mu: `mu / 2 ‖w − w_global‖²` is added to the loss (Li et al. 2020, equation 2).
    #[component(default = 0.0, at_least = 0, f32, alias = "proximal")]
    pub fedprox_mu: f64,
}

/// Local optimiser.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalOptimiser {
    /// Stochastic gradient descent.
    #[default]
    Sgd {
        /// Momentum coefficient.
        #[component(default = 0.0, in = 0..1)]
        momentum: f64,
    },
    /// Adam with betas 0.9 and 0.999 and epsilon 1e-8; L2 weight decay passes through the moments.
    /// With sparse inputs and moments reset each round, `AdamW` or `Sgd` train better: the first
    /// step moves even weights without gradient by the learning rate, due to decay.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
}

impl Model {
    /// What ties several settings.
    pub fn rules(&self, rules: &mut Rules) {
        self.encoder.rules(self, rules);
    }
}

/// What a model that clients train for nothing but its change is for a protocol, before there are
/// data; a training's own may be more.
pub fn trains(model: &Model, training: &Training, scale: Scale) -> Trains {
    Trains {
        passes: training.epochs,
        opens: scale == Scale::Federated,
        sends_model_alone: sends_model_alone(&*model.encoder, scale),
        has_items: true,
        ..Trains::default()
    }
}

/// Whether all that a client tells by training so is the change of a model; else what it tells
/// besides, with the way out.
///
/// # Errors
///
/// What else.
pub fn sends_model_alone(layers: &dyn GraphLayers, scale: Scale) -> Result<(), &'static str> {
    match (layers.has_statistics(), scale) {
        (_, Scale::Federated) => Err(
            "clients also tell statistics of what their nodes bring, in the first round, and no clip bounds these; set scale: Raw or Standardised",
        ),
        (true, _) => Err(STATISTICS),
        _ => Ok(()),
    }
}

/// Whether the gradient of a graph is of nothing else; else why not, with the way out.
///
/// # Errors
///
/// Why not.
pub fn hides_items(layers: &dyn GraphLayers, scale: Scale) -> Result<(), &'static str> {
    match (layers.has_statistics(), scale) {
        (_, Scale::Federated | Scale::Standardised) => {
            Err("a scale is made of all graphs of a client, so that no clip bounds what one adds; set scale: Raw")
        }
        (true, _) => Err("a batch normalisation mixes the items of a step; use an encoder without it"),
        _ => Ok(()),
    }
}

impl Split {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        if let Split::Shares { train, validation } | Split::Common { train, validation } = *self {
            // Shares that add up to 1 in decimals may do so a little beyond it in binary.
            let fits = validation >= 0.0 && (train.is_nan() || train + validation <= 1.0 + 1e-12);
            let rule = format!("must be at least 0, and at most 1 together with train, got {validation}");
            rules.require(fits, "validation", rule);
        }
    }

    /// What is allowed and hardly meant; a strategy's parameters hold it as `split`.
    pub fn lints(&self) -> Vec<Broken> {
        let sum = match *self {
            Split::Shares { train, validation } | Split::Common { train, validation } => train + validation,
            _ => return Vec::new(),
        };
        let lint = Broken {
            path: "split".to_owned(),
            rule: "train and validation add up to 1, so no item is left to test; lower one of them".to_owned(),
        };
        if sum >= 1.0 - 1e-12 { vec![lint] } else { Vec::new() }
    }
}

impl Training {
    /// What is allowed and hardly meant; a strategy's parameters hold it as `training`.
    pub fn lints(&self) -> Vec<Broken> {
        let is_dragged = self.optimiser == LocalOptimiser::Adam && self.weight_decay > 0.0;
        let doubt = || Broken {
            path: "training.optimiser".to_owned(),
            rule: format!(
                "Adam normalises weight_decay ({}) too: a weight without gradient shrinks to 0 by the learning rate per step; set optimiser: AdamW or Sgd(), or weight_decay: 0",
                self.weight_decay
            ),
        };
        let is_adam = !matches!(self.optimiser, LocalOptimiser::Sgd { .. });
        let large = || Broken {
            path: "training.learning_rate".to_owned(),
            rule: format!(
                "{} is large for Adam, whose first steps move every weight by the learning rate; set learning_rate: 0.01",
                self.learning_rate
            ),
        };
        let lints = [
            is_dragged.then(doubt),
            (is_adam && self.learning_rate >= LARGE_FOR_ADAM).then(large),
        ];
        lints.into_iter().flatten().collect()
    }

    /// The optimiser of a round.
    pub fn build(&self) -> Optimiser {
        let (rate, decay) = (self.learning_rate as f32, self.weight_decay as f32);
        let adam = |decay| {
            Optimiser::Adam(Adam {
                learning_rate: rate,
                decay,
                ..Adam::default()
            })
        };
        match self.optimiser {
            LocalOptimiser::Sgd { momentum } => Optimiser::Sgd(Sgd {
                learning_rate: rate,
                momentum: momentum as f32,
                weight_decay: decay,
            }),
            LocalOptimiser::Adam => adam(Decay::L2(decay)),
            LocalOptimiser::AdamW => adam(Decay::Decoupled(decay)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph_layers::Gat;
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn every_broken_rule_is_named() {
        let model = Model {
            encoder: Chosen::new(Gat { heads: 3 }),
            hidden: 16,
            layers: 0,
            head_layers: 3,
            dropout: 1.0,
            ..Model::default()
        };
        let training = Training {
            epochs: 0,
            batch_size: Some(0),
            optimiser: LocalOptimiser::Sgd { momentum: f64::NAN },
            learning_rate: 1e-60,
            weight_decay: -1.0,
            fedprox_mu: f64::INFINITY,
            ..Training::default()
        };
        let split = Split::Shares {
            train: 0.0,
            validation: 1.5,
        };
        let broken = [
            model.broken(),
            training.broken(),
            split.broken(),
            Inputs::Degree { most: 0 }.broken(),
        ];
        let fields: Vec<String> = broken.into_iter().flatten().map(|broken| broken.path).collect();
        let expected = [
            "layers",
            "head_layers",
            "dropout",
            "encoder.heads",
            "epochs",
            "batch_size",
            "optimiser.momentum",
            "learning_rate",
            "weight_decay",
            "fedprox_mu",
            "train",
            "validation",
            "most",
        ];
        assert_eq!(fields, expected);
        let split = Split::Shares {
            train: 0.9,
            validation: 0.1,
        };
        assert!(split.broken().is_empty() && Split::default().broken().is_empty());
        assert!(Model::default().broken().is_empty() && Training::default().broken().is_empty());
    }
}
