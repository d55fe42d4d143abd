//! The settings of a classifier and of its training, as cards write them.

use folkmoot_learning::layers::Readout;
use folkmoot_learning::{Adam, Csr, Decay, DegreeRule, Optimiser, Sgd};
use folkmoot_parts::{Broken, Rules, component};
use folkmoot_rounds::{STATISTICS, Trains};

/// From this rate on, Adam is warned of: the default of gradient descent.
const LARGE_FOR_ADAM: f64 = 0.1;

/// The network.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Type of graph layers.
    pub encoder: Encoder,
    /// Width of the hidden layers.
    #[component(default = 16, in = 1..=4_096)]
    pub hidden: u32,
    /// Number of graph layers.
    #[component(default = 2, in = 1..=64)]
    pub layers: u32,
    /// Graph readout (pooling). Without effect in node classification.
    pub readout: Pooling,
    /// Linear layers behind the graph layers; with none, the last graph layer gives the logits.
    #[component(default = 1, in = 0..=2)]
    pub head_layers: u32,
    /// Dropout probability in training.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f64,
}

/// Graph layers by name; each but the last is followed by a relu, and so is the last where a head
/// follows.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// Graph convolution (Kipf & Welling 2017).
    #[default]
    Gcn,
    /// Graph isomorphism network with a fixed epsilon of 0 (Xu et al. 2019).
    Gin,
    /// The same with batch normalisation inside each layer's network; its running statistics travel
    /// and are averaged with the weights.
    GinBatchNorm,
    /// First-order k-GNN (Morris et al. 2019).
    GraphConv,
    /// Topology-adaptive convolution (Du et al. 2017).
    Tag {
        /// Hops.
        #[component(default = 3, in = 1..=16)]
        hops: u32,
    },
    /// A linear layer, then propagation without weights (He et al. 2020).
    LightGcn,
    /// GraphSAGE with means (Hamilton et al. 2017).
    Sage,
    /// Graph attention, heads side by side (Veličković et al. 2018).
    Gat {
        /// Heads; they share `hidden` evenly.
        #[component(default = 4, in = 1..=64)]
        heads: u32,
    },
    /// Two channels of half the width each: a graph isomorphism network on both, and a graph
    /// convolution on what nodes bring of the structure about them (FedStar: Tan et al. 2023).
    /// Needs a head, and `inputs: Structured()`.
    Structured {
        /// So many of the last numbers that nodes bring are of the structure: `walks` and `degrees`
        /// of the inputs together. Where they bring no others, these go through both channels.
        #[component(default = 32, in = 1..=1_000)]
        structure: u32,
    },
    /// A linear layer for each node by itself: what features tell without the graph.
    Mlp,
}

impl Encoder {
    /// The matrix that the encoder propagates with, from a graph's adjacency.
    pub fn matrix(self, adjacency: &Csr) -> Csr {
        match self {
            Encoder::Gcn => adjacency.with_self_loops().normalised(DegreeRule::Masked),
            Encoder::Gin | Encoder::GinBatchNorm | Encoder::GraphConv | Encoder::Structured { .. } => adjacency.clone(),
            Encoder::Tag { .. } | Encoder::LightGcn => adjacency.normalised(DegreeRule::Masked),
            Encoder::Sage => adjacency.row_means(),
            Encoder::Gat { .. } => adjacency.with_self_loops(),
            Encoder::Mlp => Csr::from_arcs(adjacency.n_rows() as u32, &[], None).expect("no arc is none out of range"),
        }
    }
}

/// How the nodes of a graph become one row.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// The largest of each column.
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

/// What nodes bring with them.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// The data set's features.
    #[default]
    Features,
    /// The data set's features, those of each node divided by the sum of their absolute values, as
    /// bags of words are for graph convolutions (Kipf & Welling 2017): every node does so for
    /// itself, and nothing is sent. A node without any stays as it is.
    RowNormalised,
    /// The data set's features but those that its reader knows to be made of edges. Of an atom
    /// element and charge are left; its degree, hydrogens, hybridisation, aromaticity and rings are
    /// not.
    Intrinsic,
    /// The degree, one-hot; `most` and above share a column.
    Degree {
        /// The last column is of this degree and above.
        #[component(default = 32, in = 1..=65_535)]
        most: u32,
    },
    /// A single 1: only the shape of a graph counts.
    Constant,
    /// The data set's features, or a single 1 where it has none, and behind them what the graph is
    /// like about a node (FedStar: Tan et al. 2023, section 4.1): the probabilities that a random
    /// walk that begins there is back after 1, 2, and so on steps, and the degree, one-hot.
    Structured {
        /// Steps of the longest walk.
        #[component(default = 16, in = 0..=1_000)]
        walks: u32,
        /// Columns of the degree: 1 and below, 2, and so on, the last of this degree and above.
        #[component(default = 16, in = 0..=65_535)]
        degrees: u32,
    },
    /// The data set's features; for a set without any, the degree as above. So one card serves sets
    /// of both kinds.
    FeaturesOrDegree {
        /// The last column is of this degree and above.
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

    /// What it means for a data set with or without features.
    pub fn resolved(self, has_features: bool) -> Inputs {
        match self {
            Inputs::FeaturesOrDegree { .. } if has_features => Inputs::Features,
            Inputs::FeaturesOrDegree { most } => Inputs::Degree { most },
            other => other,
        }
    }
}

/// How the numbers that nodes bring are scaled.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Not at all.
    #[default]
    Raw,
    /// Every number to mean 0 and variance 1 over the nodes that a client trains on, by each client
    /// for itself: nothing is sent. A number that is the same for all of these becomes 0. Where
    /// labels are skewed, what a client scales by may tell the network whose a graph is, and so its
    /// class.
    Standardised,
    /// The same over the nodes that all clients train on, so that a scale tells nothing of whose a
    /// graph is. The first round, which trains nothing, asks the clients of its cohort for the
    /// number of these nodes and the sum and squares of each number, in 16 bytes a number and 8
    /// more; mean and variance then come with every model, in 8 bytes a number. With
    /// `protocol.secure` the server learns the sums over clients alone; a sum above 2^23 does not
    /// fit there, and its client takes no part. The ledger charges statistics without limit.
    Federated,
}

/// Which classes are told apart.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Those of graphs where a set has such, else those of nodes.
    #[default]
    Classes,
    /// Those of the nodes, in a set of graphs too: a client's training graphs train with all their
    /// nodes.
    NodeLabels,
}

/// Who trains, validates and tests.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Split {
    /// Shares of each client's labelled items, drawn; the rest tests. A client with any item trains
    /// on at least one, so with one item each nothing tests. A part without items has no scores.
    #[default]
    Shares {
        /// The share that trains.
        #[component(default = 0.8, above = 0, at_most = 1)]
        train: f64,
        /// The share that validates; with `train` at most 1.
        #[component(default = 0.1)]
        validation: f64,
    },
    /// What each labelled item is for is drawn once, wherever it is and by itself, as where a whole
    /// graph is split before it is shared out: shards may overlap, and nobody trains on what
    /// another tests. A client may get nothing to train on.
    Common {
        /// The probability that it trains.
        #[component(default = 0.8, above = 0, at_most = 1)]
        train: f64,
        /// The probability that it validates; with `train` at most 1.
        #[component(default = 0.1)]
        validation: f64,
    },
    /// The split that the data set was published with.
    Published,
    /// Every labelled item trains, and nothing validates or tests; shards may overlap.
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
    #[component(at_least = 1, hint = "leave it out to take all at once")]
    pub batch_size: Option<u32>,
    /// Local optimiser.
    pub optimiser: LocalOptimiser,
    /// The learning rate. The default is for `Sgd`; Adam learns at about a tenth of it.
    #[component(default = 0.1, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2); decoupled with `AdamW`.
    #[component(default = 0.0, at_least = 0, f32)]
    pub weight_decay: f64,
    /// FedProx' mu: `mu / 2 ‖w − w_global‖²` is added to the loss (Li et al. 2020, equation 2).
    #[component(default = 0.0, at_least = 0, f32, alias = "proximal")]
    pub fedprox_mu: f64,
}

/// How a client follows its gradient.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalOptimiser {
    /// Gradient descent.
    #[default]
    Sgd {
        /// The share of the last step that is kept.
        #[component(default = 0.0, in = 0..1)]
        momentum: f64,
    },
    /// Adam with betas 0.9 and 0.999 and epsilon 1e-8; decay passes through the moments. A first
    /// step moves every weight by the rate, whose gradient is 0 but for the decay too: with sparse
    /// inputs and moments that are new in each round, `AdamW` or `Sgd` learn better.
    Adam,
    /// Adam with decoupled decay.
    AdamW,
}

impl Model {
    /// What ties several settings.
    pub fn rules(&self, rules: &mut Rules) {
        if let Encoder::Gat { heads } = self.encoder {
            let rule = format!(
                "must divide hidden, {}, evenly, got {heads}; change either",
                self.hidden
            );
            rules.require(heads > 0 && self.hidden.is_multiple_of(heads), "encoder.heads", rule);
        }
        if let Encoder::Structured { .. } = self.encoder {
            let rule = "must be at least 1 with Structured, whose channels end side by side".to_owned();
            rules.require(self.head_layers > 0, "head_layers", rule);
            let rule = format!("must be even with Structured, which halves it, got {}", self.hidden);
            rules.require(self.hidden.is_multiple_of(2), "hidden", rule);
        }
    }
}

/// What a model that clients train for nothing but its change is for a protocol, before there are
/// data; a training's own may be more.
pub fn trains(model: &Model, training: &Training, scale: Scale) -> Trains {
    Trains {
        passes: training.epochs,
        opens: scale == Scale::Federated,
        sends_model_alone: sends_model_alone(model.encoder, scale),
        ..Trains::default()
    }
}

/// Whether all that a client tells by training so is the change of a model; else what it tells
/// besides, with the way out.
///
/// # Errors
///
/// What else.
pub fn sends_model_alone(encoder: Encoder, scale: Scale) -> Result<(), &'static str> {
    match (encoder, scale) {
        (_, Scale::Federated) => Err(
            "clients also tell statistics of what their nodes bring, in the first round, and no clip bounds these; set scale: Raw or Standardised",
        ),
        (Encoder::GinBatchNorm, _) => Err(STATISTICS),
        _ => Ok(()),
    }
}

/// Whether the gradient of a graph is of nothing else; else why not, with the way out.
///
/// # Errors
///
/// Why not.
pub fn hides_items(encoder: Encoder, scale: Scale) -> Result<(), &'static str> {
    match (encoder, scale) {
        (_, Scale::Federated | Scale::Standardised) => {
            Err("a scale is made of all graphs of a client, so that no clip bounds what one adds; set scale: Raw")
        }
        (Encoder::GinBatchNorm, _) => Err("a batch normalisation mixes the items of a step; use an encoder without it"),
        _ => Ok(()),
    }
}

impl Split {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        if let Split::Shares { train, validation } | Split::Common { train, validation } = *self {
            // Shares that add up to 1 in decimals may do so a little beyond it in binary.
            let fits = validation >= 0.0 && (train.is_nan() || train + validation <= 1.0 + 1e-12);
            let rule = format!("must be at least 0 and with train at most 1, got {validation}");
            rules.require(fits, "validation", rule);
        }
    }
}

impl Training {
    /// What is allowed and hardly meant; a strategy's parameters hold it as `training`.
    pub fn lints(&self) -> Vec<Broken> {
        let is_dragged = self.optimiser == LocalOptimiser::Adam && self.weight_decay > 0.0;
        let doubt = || Broken {
            path: "training.optimiser".to_owned(),
            rule: format!(
                "Adam divides weight_decay, {}, by its own size: a weight that no input reaches goes to 0 by the rate a step; \
                 set optimiser: AdamW or Sgd(), or weight_decay: 0",
                self.weight_decay
            ),
        };
        let is_adam = !matches!(self.optimiser, LocalOptimiser::Sgd { .. });
        let large = || Broken {
            path: "training.learning_rate".to_owned(),
            rule: format!(
                "{} is large for Adam, whose first steps move every weight by the rate itself; set learning_rate: 0.01",
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
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn every_broken_rule_is_named() {
        let model = Model {
            encoder: Encoder::Gat { heads: 3 },
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
