//! FGCL's settings, as a card states them.

use super::options::{Contrast, DegreeRule, Draws, Model, Setting, Supervised, Training, Variant, Views};
use crate::classifier::{Encoder, Inputs, Split};
use crate::rounds::{OpenProtocol, Protocol, Weighting};
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// The parameters of [`super::Fgcl`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Params {
    /// Sets what a card leaves open of `views`, `degree_rule`, `normalise_features`, `model.relu`, `model.joint_readout` and
    /// `protocol.weighting`. Default none: as `AsPrinted`, but with updates weighted by samples.
    pub variant: Option<Variant>,
    /// Which arm of the comparison. Default `Fgcl(epsilon: 1)`.
    pub setting: Setting,
    /// How noise is drawn. Default `Symmetric`.
    pub draws: Draws,
    /// When views are drawn. Default by the variant, `Fresh` or `Fixed`.
    pub views: Views,
    /// What becomes of noisy weights. Default by the variant, `Masked` or `Clamp01`.
    pub degree_rule: DegreeRule,
    /// The contrastive term; read with the settings `Fgcl` and `FgclWithoutNoise`.
    pub contrast: Contrast,
    /// Which views the classifier learns from. Default `BothViews`.
    pub supervised: Supervised,
    /// The network. Default: two layers of GCN of width 64.
    pub model: Model,
    /// A client's training in one round. Default: one epoch of steps with one graph each.
    pub training: Training,
    /// What nodes bring with them. Default `Features`.
    pub inputs: Inputs,
    /// Divide each node's features by their sum, where that is positive. Default by the variant, false or true.
    pub normalise_features: bool,
    /// Who trains, validates and tests: shares of the whole set, drawn before it is divided among clients, or the published split.
    /// Default `Shares(train: 0.8, validation: 0.1)`.
    pub split: Split,
    /// How rounds go. Default: 50 synchronous rounds.
    pub protocol: Protocol,
    /// Measure how well edges are guessed from views, and how many degrees are not positive. Default true.
    pub attacks: bool,
}

/// The same as a card writes it: what it leaves open goes by the variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Params")]
struct Written {
    variant: Option<Variant>,
    setting: Setting,
    draws: Draws,
    views: Option<Views>,
    degree_rule: Option<DegreeRule>,
    contrast: Contrast,
    supervised: Supervised,
    model: Model,
    training: Training,
    inputs: Inputs,
    normalise_features: Option<bool>,
    split: Split,
    protocol: OpenProtocol,
    attacks: bool,
}

impl Default for Written {
    fn default() -> Self {
        Written {
            variant: None,
            setting: Setting::default(),
            draws: Draws::default(),
            views: None,
            degree_rule: None,
            contrast: Contrast::default(),
            supervised: Supervised::default(),
            model: Model::default(),
            training: Training::default(),
            inputs: Inputs::default(),
            normalise_features: None,
            split: Split::default(),
            protocol: OpenProtocol::default(),
            attacks: true,
        }
    }
}

impl From<Written> for Params {
    fn from(written: Written) -> Self {
        let variant = written.variant;
        let is = |wanted| variant == Some(wanted);
        let corrected = is(Variant::Corrected);
        let benchmark = is(Variant::AsReleased);
        let views = if corrected { Views::Fixed } else { Views::Fresh };
        let rule = if corrected {
            DegreeRule::Clamp01
        } else {
            DegreeRule::Masked
        };
        let weighting = match is(Variant::AsPrinted) {
            true => Weighting::Uniform,
            false => Weighting::Samples,
        };
        Params {
            variant,
            setting: written.setting,
            draws: written.draws,
            views: written.views.unwrap_or(views),
            degree_rule: written.degree_rule.unwrap_or(rule),
            contrast: written.contrast,
            supervised: written.supervised,
            model: Model {
                relu: Some(written.model.relu.unwrap_or(!benchmark)),
                joint_readout: Some(written.model.joint_readout.unwrap_or(benchmark)),
                ..written.model
            },
            training: written.training,
            inputs: written.inputs,
            normalise_features: written.normalise_features.unwrap_or(benchmark),
            split: written.split,
            protocol: written.protocol.with_default(weighting),
            attacks: written.attacks,
        }
    }
}

impl From<Params> for Written {
    fn from(params: Params) -> Self {
        Written {
            variant: params.variant,
            setting: params.setting,
            draws: params.draws,
            views: Some(params.views),
            degree_rule: Some(params.degree_rule),
            contrast: params.contrast,
            supervised: params.supervised,
            model: params.model,
            training: params.training,
            inputs: params.inputs,
            normalise_features: Some(params.normalise_features),
            split: params.split,
            protocol: params.protocol.into(),
            attacks: params.attacks,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Written::default().into()
    }
}

/// A smaller budget asks for noise that no weight survives in `f32`.
const LEAST_EPSILON: f64 = 1e-6;

impl Params {
    /// Every rule that they break.
    pub(super) fn breaches(&self) -> Vec<Breach> {
        let below = |name: &str, breaches: Vec<Breach>| {
            let path = |(field, rule): Breach| (format!("{name}.{field}"), rule);
            breaches.into_iter().map(path).collect::<Vec<Breach>>()
        };
        let mut breaches = Vec::new();
        let written = match self.setting {
            Setting::Noise { epsilon } => [Some(epsilon), None],
            Setting::Fgcl { epsilon, epsilon_2 } => [Some(epsilon), epsilon_2],
            Setting::Centralised | Setting::Federated | Setting::FgclWithoutNoise => [None, None],
        };
        for (field, epsilon) in ["epsilon", "epsilon_2"].iter().zip(written) {
            if let Some(epsilon) = epsilon
                && !(epsilon.is_finite() && epsilon >= LEAST_EPSILON)
            {
                let rule = format!("must be finite and at least {LEAST_EPSILON}, got {epsilon}");
                breaches.push((format!("setting.{field}"), rule));
            }
        }
        breaches.extend(below("contrast", self.contrast.breaches()));
        breaches.extend(below("model", self.model.plain().check()));
        if !self.setting.epsilons().is_empty() && matches!(self.model.encoder, Encoder::Sage | Encoder::Gat { .. }) {
            let rule = "must know weights of edges where there is noise: use Gcn, GraphConv, Tag, LightGcn or Gin, or a setting without noise";
            breaches.push(("model.encoder".to_owned(), rule.to_owned()));
        }
        breaches.extend(below("training", self.training.plain().check()));
        breaches.extend(below("inputs", self.inputs.check()));
        breaches.extend(below("split", self.split.check()));
        breaches.extend(below("protocol", self.protocol.check()));
        breaches
    }
}

impl Contrast {
    fn breaches(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        for (field, value, most) in [("negatives", self.negatives, 1_000), ("queue", self.queue, 100_000)] {
            if !(1..=most).contains(&value) {
                breaches.push((field.to_owned(), format!("must lie in 1..={most}, got {value}")));
            }
        }
        if !((self.lambda as f32).is_finite() && self.lambda >= 0.0) {
            let rule = format!("must be finite and at least 0, got {}", self.lambda);
            breaches.push(("lambda".to_owned(), rule));
        }
        let temperature = self.temperature as f32;
        if !(temperature.is_finite() && temperature > 0.0) {
            let rule = format!("must be finite and greater than 0 as an f32, got {}", self.temperature);
            breaches.push(("temperature".to_owned(), rule));
        }
        breaches
    }
}
