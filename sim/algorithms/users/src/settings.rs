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
    about = "one node per user: what local privacy lets each send, once, and a graph network at the server (LPGNN, Blink)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// What users release of their features.
    pub features: Chosen<dyn FeatureRelease>,
    /// How a report of features is packed on its way, where it is numbers (`ClearFeatures`,
    /// `LaplaceFeatures`, `GaussianFeatures`): they have been released by then, so that rounding
    /// them costs no privacy. It must send every number. Bits are short as they are.
    pub codec: Chosen<dyn Codec>,
    /// What they release of their classes, if they have one to tell.
    pub labels: Chosen<dyn LabelRelease>,
    /// What they release of their neighbours.
    pub edges: Chosen<dyn EdgeRelease>,
    /// The public range of every feature; a user whose own lies outside moves it to the nearest
    /// end, which is counted.
    #[component(default = (0.0, 1.0))]
    pub range: (f64, f64),
    /// Who tells its class, and what of that validates.
    pub split: Split,
    /// Steps of KProp on features: each replaces a row by the sum over neighbours, weighed by
    /// `1 / √(d_i d_j)`, so that noise averages out.
    #[component(default = 0, in = 0..=64)]
    pub feature_steps: u32,
    /// The same on labels, for `Drop`.
    #[component(default = 4, in = 0..=64)]
    pub label_steps: u32,
    /// What the network is trained towards.
    pub loss: LabelLoss,
    /// Graph neural network.
    pub network: Network,
    /// How it is trained.
    pub training: Training,
    /// Train two controls too: on what users would send without privacy, and on what was sent
    /// without its edges.
    pub controls: bool,
    /// Edges, and as many pairs without one, that an attacker ranks; drawn.
    #[component(default = 50_000, in = 100..=5_000_000)]
    pub attacked_pairs: u32,
}

/// Who tells its class.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The share of users with a class who train.
    #[component(default = 0.5, above = 0, below = 1)]
    pub train: f64,
    /// The share who validate; with `train` below 1. Their classes are released too. All others
    /// test, and never tell theirs.
    #[component(default = 0.25, in = 0..1)]
    pub validation: f64,
}

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let (low, high) = self.range;
        let rule = format!("must be two finite numbers, the lower first, got ({low}, {high})");
        rules.require(low < high && (high - low).is_finite(), "range", rule);
        if rules.is_broken("codec") || rules.is_broken("features") {
            return;
        }
        let rule = "must send every number, as Half(), Bfloat(), Uniform() and Qsgd() do: features are sent once, and what is left out of them never comes";
        rules.require(self.codec.suits_models(), "codec", rule);
        let is_number = self.codec.is_plain() || self.features.numbers().is_some();
        let rule = format!(
            "packs numbers, and {}() sends bits, which are short as they are; leave it out, or set features: LaplaceFeatures(), GaussianFeatures() or ClearFeatures()",
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
            "classes are told without noise, so there is none to correct for; leave it out, or set labels: LabelResponse()",
        );
        doubt(
            self.training.check_every > self.training.epochs,
            "training.check_every",
            "is more than epochs, so only the last network is looked at; lower it",
        );
        lints
    }
}

impl Split {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!(
            "must leave somebody to test, with train below 1, got {} and {}",
            self.train, self.validation
        );
        rules.require(self.train + self.validation < 1.0, "validation", rule);
    }
}
