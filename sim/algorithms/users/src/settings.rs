//! The settings of a [`LocalGnn`](crate::LocalGnn), as a card writes them.

use crate::edges::EdgeRelease;
use crate::features::FeatureRelease;
use crate::labels::LabelRelease;
use crate::network::Network;
use crate::train::{LabelLoss, Training};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Broken, Chosen, Rules, component};

/// The parameters of [`LocalGnn`](crate::LocalGnn). Defaults are those of LPGNN.
#[component(
    name = "LocalGnn",
    about = "one node per user: each sends one locally private report, and the server trains a graph neural network (LPGNN, Blink)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Mechanism for the features of users.
    pub features: Chosen<dyn FeatureRelease>,
    /// Codec of feature reports that are numbers (`ClearFeatures`, `LaplaceFeatures`,
    /// `GaussianFeatures`). Rounding follows the release, so it costs no privacy. It must send
    /// every number. Bit reports are already compact.
    pub codec: Chosen<dyn Codec>,
    /// Mechanism for the classes of users that train or validate.
    pub labels: Chosen<dyn LabelRelease>,
    /// Mechanism for the neighbour lists of users.
    pub edges: Chosen<dyn EdgeRelease>,
    /// Public range (low, high) of every feature; values outside are clipped and counted.
    #[component(default = (0.0, 1.0))]
    pub range: (f64, f64),
    /// Training, validation and test users.
    pub split: Split,
    /// Number of KProp steps on features. Each step replaces a row by the sum over neighbours
    /// weighted by `1 / √(d_i d_j)`, which averages out noise.
    #[component(default = 0, in = 0..=64)]
    pub feature_steps: u32,
    /// Number of KProp steps on labels, for `Drop`.
    #[component(default = 4, in = 0..=64)]
    pub label_steps: u32,
    /// Training loss.
    pub loss: LabelLoss,
    /// Graph neural network.
    pub network: Network,
    /// Training of the network.
    pub training: Training,
    /// Also train two baselines: without privacy, and on the private reports without edges.
    pub controls: bool,
    /// Number of edges, and of non-edges, that the link attack ranks; drawn at random.
    #[component(default = 50_000, in = 100..=5_000_000)]
    pub attacked_pairs: u32,
}

/// Training, validation and test users.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Fraction of the labelled users in the training set.
    #[component(default = 0.5, above = 0, below = 1)]
    pub train: f64,
    /// Fraction in the validation set, whose classes are released too; below 1 together with
    /// `train`. All others are test users and never release their class.
    #[component(default = 0.25, in = 0..1)]
    pub validation: f64,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let (low, high) = self.range;
        let rule = format!("must be two finite numbers in ascending order, got ({low}, {high})");
        rules.require(low < high && (high - low).is_finite(), "range", rule);
        if rules.is_broken("codec") || rules.is_broken("features") {
            return;
        }
        let rule = "must send every number, as Half(), Bfloat(), Uniform() and Qsgd() do: features are sent once, so omitted values are never sent";
        rules.require(self.codec.suits_models(), "codec", rule);
        let is_number = self.codec.is_plain() || self.features.numbers().is_some();
        let rule = format!(
            "compresses numbers, and {}() sends bits, which are already compact; leave it out, or set features: LaplaceFeatures(), GaussianFeatures() or ClearFeatures()",
            self.features.text().split('(').next().unwrap_or_default()
        );
        rules.require(is_number, "codec", rule);
    }

    /// What is allowed and hardly meant.
    pub(crate) fn lints(&self) -> Vec<Broken> {
        let mut lints = Vec::new();
        let mut doubt = |is_so: bool, path: &str, rule: &str| {
            if is_so {
                let (path, rule) = (path.to_owned(), rule.to_owned());
                lints.push(Broken { path, rule });
            }
        };
        doubt(
            self.loss != LabelLoss::CrossEntropy && self.labels.epsilon().is_none(),
            "loss",
            "classes are reported without noise, so there is nothing to correct; leave it out, or set labels: LabelResponse()",
        );
        doubt(
            self.training.check_every > self.training.epochs,
            "training.check_every",
            "is more than epochs, so only the last network is validated; lower it",
        );
        lints
    }
}

impl Split {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!(
            "must be below 1 together with train, so that test users remain, got {} and {}",
            self.train, self.validation
        );
        rules.require(self.train + self.validation < 1.0, "validation", rule);
    }
}
