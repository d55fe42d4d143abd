//! The settings of a classifier and of its training, as cards write them.

use folkmoot_engine::world::Breach;
use folkmoot_learning::layers::Readout;
use folkmoot_learning::{Adam, Csr, Decay, DegreeRule, Optimiser, Sgd};
use serde::{Deserialize, Serialize};

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// The graph layers. Default `Gcn`.
    pub encoder: Encoder,
    /// Width of the hidden layers, 1..=4096. Default 16.
    pub hidden: u32,
    /// Graph layers, 1..=64. Default 2.
    pub layers: u32,
    /// How the nodes of a graph become one row; without effect where nodes are classified. Default `Mean`.
    pub readout: Pooling,
    /// Linear layers behind the graph layers, 0..=2; with none, the last graph layer gives the logits. Default 1.
    pub head_layers: u32,
    /// The probability that a hidden value is dropped in training, in 0..1. Default 0.
    pub dropout: f64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            encoder: Encoder::Gcn,
            hidden: 16,
            layers: 2,
            readout: Pooling::Mean,
            head_layers: 1,
            dropout: 0.0,
        }
    }
}

/// Graph layers by name; each but the last is followed by a relu, and so is the last where a head follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Encoder {
    /// Graph convolution (Kipf & Welling 2017).
    #[default]
    Gcn,
    /// Graph isomorphism network with a fixed epsilon of 0 (Xu et al. 2019).
    Gin,
    /// The same with batch normalisation inside each layer's network; its running statistics travel and are averaged with the
    /// weights.
    GinBatchNorm,
    /// First-order k-GNN (Morris et al. 2019).
    GraphConv,
    /// Topology-adaptive convolution (Du et al. 2017).
    Tag {
        /// Hops, 1..=16. Default 3.
        #[serde(default = "three")]
        hops: u32,
    },
    /// A linear layer, then propagation without weights (He et al. 2020).
    LightGcn,
    /// GraphSAGE with means (Hamilton et al. 2017).
    Sage,
    /// Graph attention, heads side by side (Veličković et al. 2018).
    Gat {
        /// Heads, 1..=64; they share `hidden` evenly. Default 4.
        #[serde(default = "four")]
        heads: u32,
    },
}

fn three() -> u32 {
    3
}
fn four() -> u32 {
    4
}

impl Encoder {
    /// The matrix that the encoder propagates with, from a graph's adjacency.
    pub fn matrix(self, adjacency: &Csr) -> Csr {
        match self {
            Encoder::Gcn => adjacency.with_self_loops().normalised(DegreeRule::Masked),
            Encoder::Gin | Encoder::GinBatchNorm | Encoder::GraphConv => adjacency.clone(),
            Encoder::Tag { .. } | Encoder::LightGcn => adjacency.normalised(DegreeRule::Masked),
            Encoder::Sage => adjacency.row_means(),
            Encoder::Gat { .. } => adjacency.with_self_loops(),
        }
    }
}

/// How the nodes of a graph become one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pooling {
    /// Their sum.
    Sum,
    /// Their mean.
    #[default]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Inputs {
    /// The data set's features.
    #[default]
    Features,
    /// The degree, one-hot; `most` and above share a column.
    Degree {
        /// 1..=65535. Default 32.
        #[serde(default = "thirty_two")]
        most: u32,
    },
    /// A single 1: only the shape of a graph counts.
    Constant,
    /// The data set's features; for a set without any, the degree as above. So one card serves sets of both kinds.
    FeaturesOrDegree {
        /// 1..=65535. Default 32.
        #[serde(default = "thirty_two")]
        most: u32,
    },
}

impl Inputs {
    /// What it means for a data set with or without features.
    pub(crate) fn resolved(self, has_features: bool) -> Inputs {
        match self {
            Inputs::FeaturesOrDegree { .. } if has_features => Inputs::Features,
            Inputs::FeaturesOrDegree { most } => Inputs::Degree { most },
            other => other,
        }
    }
}

fn thirty_two() -> u32 {
    32
}

/// Who trains, validates and tests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Split {
    /// Shares of each client's labelled items, drawn; the rest tests. A client with any item trains on at least one, so with one
    /// item each nothing tests. A part without items has no scores.
    Shares {
        /// In (0, 1]. Default 0.8.
        #[serde(default = "four_fifths")]
        train: f64,
        /// At least 0, with `train` at most 1. Default 0.1.
        #[serde(default = "tenth")]
        validation: f64,
    },
    /// The split that the data set was published with.
    Published,
    /// Every labelled item trains, and nothing validates or tests; shards may overlap.
    All,
}

fn four_fifths() -> f64 {
    0.8
}
fn tenth() -> f64 {
    0.1
}

impl Default for Split {
    fn default() -> Self {
        Split::Shares {
            train: four_fifths(),
            validation: tenth(),
        }
    }
}

/// A client's training in one round. The optimiser starts afresh each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Passes over the training items, 1..=100000. Default 1.
    pub epochs: u32,
    /// Items of a step, at least 1, in an order drawn for each epoch. Default: all at once.
    pub batch_size: Option<u32>,
    /// Default `Sgd()`.
    pub optimiser: LocalOptimiser,
    /// The learning rate, finite and greater than 0. Default 0.01.
    pub rate: f64,
    /// Times the weight, added to its gradient; decoupled with `AdamW`. Finite and at least 0. Default 0.
    pub weight_decay: f64,
    /// FedProx' mu: `mu / 2 ‖w − w_global‖²` is added to the loss (Li et al. 2020, equation 2). Finite and at least 0. Default 0.
    pub proximal: f64,
}

impl Default for Training {
    fn default() -> Self {
        Training {
            epochs: 1,
            batch_size: None,
            optimiser: LocalOptimiser::default(),
            rate: 0.01,
            weight_decay: 0.0,
            proximal: 0.0,
        }
    }
}

/// How a client follows its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum LocalOptimiser {
    /// Gradient descent.
    Sgd {
        /// In 0..1. Default 0.
        #[serde(default)]
        momentum: f64,
    },
    /// Adam with betas 0.9 and 0.999 and epsilon 1e-8; decay passes through the moments.
    Adam,
    /// Adam with decoupled decay.
    AdamW,
}

impl Default for LocalOptimiser {
    fn default() -> Self {
        LocalOptimiser::Sgd { momentum: 0.0 }
    }
}

/// Collects the rules broken.
struct Breaches(Vec<Breach>);

impl Breaches {
    fn require(&mut self, holds: bool, field: &str, rule: String) {
        if !holds {
            self.0.push((field.to_owned(), rule));
        }
    }

    fn in_range(&mut self, field: &str, value: u32, least: u32, most: u32) {
        let rule = format!("must lie in {least}..={most}, got {value}");
        self.require((least..=most).contains(&value), field, rule);
    }

    fn share(&mut self, field: &str, value: f64) {
        self.require(
            (0.0..1.0).contains(&value),
            field,
            format!("must lie in 0..1, got {value}"),
        );
    }
}

impl Model {
    /// Every rule that it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Breaches(Vec::new());
        breaches.in_range("hidden", self.hidden, 1, 4096);
        breaches.in_range("layers", self.layers, 1, 64);
        breaches.in_range("head_layers", self.head_layers, 0, 2);
        breaches.share("dropout", self.dropout);
        match self.encoder {
            Encoder::Tag { hops } => breaches.in_range("encoder.hops", hops, 1, 16),
            Encoder::Gat { heads } => {
                breaches.in_range("encoder.heads", heads, 1, 64);
                let rule = format!(
                    "must divide hidden, {}, evenly, got {heads}; change either",
                    self.hidden
                );
                breaches.require(heads > 0 && self.hidden.is_multiple_of(heads), "encoder.heads", rule);
            }
            _ => {}
        }
        breaches.0
    }
}

impl Inputs {
    /// Every rule that it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Breaches(Vec::new());
        if let Inputs::Degree { most } | Inputs::FeaturesOrDegree { most } = *self {
            breaches.in_range("most", most, 1, 65_535);
        }
        breaches.0
    }
}

impl Split {
    /// Every rule that it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Breaches(Vec::new());
        if let Split::Shares { train, validation } = *self {
            let rule = format!("must be greater than 0 and at most 1, got {train}");
            breaches.require(train > 0.0 && train <= 1.0, "train", rule);
            // Shares that add up to 1 in decimals may do so a little beyond it in binary.
            let rule = format!("must be at least 0 and with train at most 1, got {validation}");
            let fits = validation >= 0.0 && (train.is_nan() || train + validation <= 1.0 + 1e-12);
            breaches.require(fits, "validation", rule);
        }
        breaches.0
    }
}

impl Training {
    /// Every rule that it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Breaches(Vec::new());
        breaches.in_range("epochs", self.epochs, 1, 100_000);
        breaches.require(
            self.batch_size != Some(0),
            "batch_size",
            "must be at least 1, got 0; leave it out to take all at once".to_owned(),
        );
        if let LocalOptimiser::Sgd { momentum } = self.optimiser {
            breaches.share("optimiser.momentum", momentum);
        }
        let rate = self.rate as f32;
        let rule = format!("must be finite and greater than 0 as an f32, got {}", self.rate);
        breaches.require(rate.is_finite() && rate > 0.0, "rate", rule);
        for (field, value) in [("weight_decay", self.weight_decay), ("proximal", self.proximal)] {
            let rule = format!("must be finite and at least 0, got {value}");
            breaches.require((value as f32).is_finite() && value >= 0.0, field, rule);
        }
        breaches.0
    }

    /// The optimiser of a round.
    pub fn build(&self) -> Optimiser {
        let (rate, decay) = (self.rate as f32, self.weight_decay as f32);
        let adam = |decay| {
            Optimiser::Adam(Adam {
                rate,
                decay,
                ..Adam::default()
            })
        };
        match self.optimiser {
            LocalOptimiser::Sgd { momentum } => Optimiser::Sgd(Sgd {
                rate,
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
            rate: 1e-60,
            weight_decay: -1.0,
            proximal: f64::INFINITY,
        };
        let split = Split::Shares {
            train: 0.0,
            validation: 1.5,
        };
        let breaches = [
            model.check(),
            training.check(),
            split.check(),
            Inputs::Degree { most: 0 }.check(),
        ];
        let fields: Vec<String> = breaches.into_iter().flatten().map(|(field, _)| field).collect();
        let expected = [
            "layers",
            "head_layers",
            "dropout",
            "encoder.heads",
            "epochs",
            "batch_size",
            "optimiser.momentum",
            "rate",
            "weight_decay",
            "proximal",
            "train",
            "validation",
            "most",
        ];
        assert_eq!(fields, expected);
        let split = Split::Shares {
            train: 0.9,
            validation: 0.1,
        };
        assert!(split.check().is_empty() && Split::default().check().is_empty());
        assert!(Model::default().check().is_empty() && Training::default().check().is_empty());
    }
}
