//! FGCL's settings, as a card states them.

use super::options::{Contrast, DegreeRule, Draws, Model, NodeOrder, Setting, Supervised, Training, Variant, Views};
use folkmoot_classifiers::classifier::{Encoder, Inputs, Split};
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Protocol, Trains};

/// The parameters of [`super::Fgcl`].
#[component(
    name = "Fgcl",
    about = "contrastive learning of graph classifiers under edge-level noise (2022)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Sets what a card leaves open; without one all is as in `AsPublished`, but updates are
    /// weighted by samples and noisy weights are cut to 0..1.
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
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// In which order the nodes of a graph stand.
    pub node_order: NodeOrder,
    /// Divide each node's features by their sum, where that is positive.
    pub normalise_features: bool,
    /// Who trains, validates and tests: shares of the whole set, drawn before it is divided among
    /// clients, or the published split.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    #[component(default = Protocol { rounds: 50, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Measure how well edges are guessed from views, how well members and edges are told from
    /// updates, and how many degrees are not positive.
    #[component(default = true)]
    pub attacks: bool,
}

/// Why its clients cannot be hidden by a clip.
pub(super) const TOLD: &str =
    "clients also show graphs when the model is put to use, as views or as they are, which no clip bounds; use FedAvg";

impl Params {
    /// Whether views are graphs that have lost some of their edges.
    pub(super) fn drops_edges(&self) -> bool {
        self.setting == Setting::FgclWithoutNoise && self.contrast.drop_edges > 0.0
    }

    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let is_noisy = !self.setting.epsilons().is_empty();
        let counts_edges = matches!(
            self.inputs,
            Inputs::Degree { .. } | Inputs::FeaturesOrDegree { .. } | Inputs::Structured { .. }
        );
        rules.require(
            !(is_noisy && counts_edges),
            "inputs",
            "must not count edges, as Degree, FeaturesOrDegree and Structured may, where there is noise on them: use Features, Intrinsic or \
             Constant, or a setting without noise",
        );
        let knows_no_weights = matches!(
            self.model.encoder,
            Encoder::Sage | Encoder::Gat { .. } | Encoder::Structured { .. }
        );
        rules.require(
            !(is_noisy && knows_no_weights),
            "model.encoder",
            "must know weights of edges where there is noise: use Gcn, GraphConv, Tag, LightGcn or Gin, or a setting without noise",
        );
        let alike = self.model.encoder == Encoder::LightGcn && self.contrast.drop_edges == 0.0;
        rules.require(
            !(self.setting == Setting::FgclWithoutNoise && alike),
            "contrast.drop_edges",
            "must be above 0 with LightGcn and FgclWithoutNoise: nothing is dropped inside that encoder, so that both views would be the \
             same",
        );
        rules.require(
            !(self.drops_edges() && knows_no_weights),
            "contrast.drop_edges",
            "must be 0 with this encoder, which knows no weights of edges: use Gcn, GraphConv, Tag, LightGcn or Gin",
        );
        rules.at("model", |rules| self.model.plain().rules(rules));
        let trains = Trains {
            sends_model_alone: Err(TOLD),
            ..Trains::default()
        };
        self.protocol.suits(&trains, rules);
    }
}
