//! FGCL's settings, as a card states them.

use super::options::{Contrast, DegreeRule, Draws, Model, NodeOrder, Setting, Supervised, Training, Variant, Views};
use folkmoot_classifiers::classifier::graph_layers::Propagation;
use folkmoot_classifiers::classifier::{Inputs, Split};
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
    /// Preset for options that the card leaves out. Without it as `AsPublished`, except that
    /// updates are weighted by samples and noisy weights are clipped to 0..=1.
    pub variant: Option<Variant>,
    /// Training arm.
    pub setting: Setting,
    /// How noise on the adjacency matrix is drawn.
    pub draws: Draws,
    /// When views are drawn.
    pub views: Views,
    /// How noisy edge weights and degrees are handled.
    pub degree_rule: DegreeRule,
    /// Contrastive loss; used by the settings `Fgcl` and `FgclWithoutNoise`.
    pub contrast: Contrast,
    /// Views that the classification loss uses.
    pub supervised: Supervised,
    /// Graph neural network.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Order of the nodes in a graph.
    pub node_order: NodeOrder,
    /// Divide each node's features by their sum where it is positive.
    pub normalise_features: bool,
    /// Training, validation and test sets: fractions of the whole set, drawn before partitioning,
    /// or the published split.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    #[component(default = Protocol { rounds: 50, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Run the attacks on views (edge inference) and on updates (membership and edge inference),
    /// and count non-positive degrees.
    #[component(default = true)]
    pub attacks: bool,
}

/// Why its clients cannot be hidden by a clip.
pub(super) const TOLD: &str = "clients also reveal graphs at inference, as noisy views or unprotected, which clipping of updates does not bound; use FedAvg";

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
            "must not depend on edges under edge noise, as Degree, FeaturesOrDegree and Structured may: use Features, Intrinsic or \
             Constant, or a setting without noise",
        );
        let layers = &*self.model.encoder;
        let knows_no_weights = layers.needs_edges() || layers.propagation() == Propagation::Means;
        rules.require(
            !(is_noisy && knows_no_weights),
            "model.encoder",
            "must support edge weights under edge noise: use Gcn, GraphConv, Tag, LightGcn or Gin, or a setting without noise",
        );
        // All layers in one have no dropout between them.
        let alike = layers.n_made(2) == 1 && self.contrast.drop_edges == 0.0;
        rules.require(
            !(self.setting == Setting::FgclWithoutNoise && alike),
            "contrast.drop_edges",
            "must be above 0 with LightGcn and FgclWithoutNoise: that encoder has no dropout, so both views would be identical",
        );
        rules.require(
            !(self.drops_edges() && knows_no_weights),
            "contrast.drop_edges",
            "must be 0 with this encoder, which does not support edge weights: use Gcn, GraphConv, Tag, LightGcn or Gin",
        );
        rules.at("model", |rules| self.model.plain().rules(rules));
        let trains = Trains {
            sends_model_alone: Err(TOLD),
            ..Trains::default()
        };
        self.protocol.suits(&trains, rules);
    }
}
