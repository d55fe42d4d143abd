//! FGCL's settings, as a card states them.

use super::options::{Contrast, DegreeRule, Draws, Model, Setting, Supervised, Training, Variant, Views};
use crate::classifier::{Encoder, Inputs, Split};
use crate::rounds::Protocol;
use folkmoot_parts::{Rules, part};

/// The parameters of [`super::Fgcl`].
#[part(
    name = "Fgcl",
    about = "contrastive learning of graph classifiers under edge-level noise (2022)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Sets what a card leaves open; without one all is as in `AsPrinted`, but updates are weighted by samples.
    pub variant: Option<Variant>,
    /// Which arm of the comparison.
    pub setting: Setting,
    /// How noise is drawn.
    pub draws: Draws,
    /// When views are drawn.
    pub views: Views,
    /// What becomes of noisy weights.
    pub degree_rule: DegreeRule,
    /// The contrastive term; read with the settings `Fgcl` and `FgclWithoutNoise`.
    pub contrast: Contrast,
    /// Which views the classifier learns from.
    pub supervised: Supervised,
    /// The network.
    pub model: Model,
    /// A client's training in one round.
    pub training: Training,
    /// What nodes bring with them.
    pub inputs: Inputs,
    /// Divide each node's features by their sum, where that is positive.
    pub normalise_features: bool,
    /// Who trains, validates and tests: shares of the whole set, drawn before it is divided among clients, or the published split.
    pub split: Split,
    /// How rounds go.
    pub protocol: Protocol,
    /// Measure how well edges are guessed from views, and how many degrees are not positive.
    #[part(default = true)]
    pub attacks: bool,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_noisy = !self.setting.epsilons().is_empty();
        let knows_no_weights = matches!(self.model.encoder, Encoder::Sage | Encoder::Gat { .. });
        rules.require(
            !(is_noisy && knows_no_weights),
            "model.encoder",
            "must know weights of edges where there is noise: use Gcn, GraphConv, Tag, LightGcn or Gin, or a setting without noise",
        );
        rules.at("model", |rules| self.model.plain().rules(rules));
    }
}
