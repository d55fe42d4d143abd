//! GW-LDP's settings, as a card states them.

use super::options::{Collect, EmbedWith, Evaluation, Method, Metric, NodeWeights, RowDistance, Variant};
use super::release::Release;
use folkmoot_classifiers::classifier::{
    self, Inputs, LocalOptimiser, Model, NodeRows, Pooling, Scale, Split, Target, Training,
};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Aggregation, Protocol, Trains};

/// The parameters of [`super::GwLdp`]. Defaults are the paper's.
///
/// A field that a card writes takes the place of the paper's as a whole: in
/// `protocol: (evaluate_every: 10)` the rounds are [`Protocol`]'s 50, not 200.
#[component(
    name = "GwLdp",
    about = "graph comparison by Gromov-Wasserstein distances of locally private embeddings (Jin & Chen 2022)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Variant of the algorithm; sets `model`, `representation` and `release` where the card omits
    /// them.
    pub variant: Variant,
    /// Graph neural network. By default two GCN layers of width 16 that output node logits; their
    /// mean is the logits of the graph.
    #[component(default = Model { head_layers: 0, readout: Pooling::Mean, ..Model::default() })]
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    #[component(default = Training { epochs: 1, optimiser: LocalOptimiser::Adam, learning_rate: 0.01, weight_decay: 5e-4, ..Training::default() })]
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of node features.
    pub scale: Scale,
    /// Labels used in training; an embedding has one column per label. Graphs are
    /// evaluated by their own classes.
    pub target: Target,
    /// Training, validation and test sets.
    #[component(default = Split::Shares { train: 0.7, validation: 0.2 })]
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    #[component(default = Protocol { rounds: 200, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Representation of a node in an embedding.
    pub representation: NodeRows,
    /// Model that computes the embeddings.
    pub embed_with: EmbedWith,
    /// Release of embeddings: perturbation before sending.
    pub release: Chosen<dyn Release>,
    /// Compression of released embeddings, for a release of real values (signs have their own
    /// encoding). Post-processing, without privacy cost. The codec must send every value.
    pub codec: Chosen<dyn Codec>,
    /// Rounds in which embeddings are collected.
    pub collect: Collect,
    /// Distance between two rows of an embedding.
    pub distance: RowDistance,
    /// Node weights.
    pub node_weights: NodeWeights,
    /// Solver for Gromov-Wasserstein problems.
    pub solver: Method,
    /// Evaluation of the distances between graphs.
    pub evaluation: Evaluation,
}

/// Why its clients cannot be hidden by a clip.
pub(super) const TOLD: &str =
    "clients also tell embeddings of their graphs, which `release` bounds and no clip does; use FedAvg";

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let rule = "must be at least 1 round, got Every(0); AtEnd collects once";
        rules.require(self.collect != Collect::Every(0), "collect", rule);
        if self.collect == Collect::AtEnd && self.protocol.aggregation != Aggregation::Synchronous {
            let rule = "must not be AtEnd with protocol.aggregation: Buffered(): the last round ends before its clients have answered; set Every(1)";
            rules.require(false, "collect", rule);
        }
        let Evaluation {
            clusters,
            changes,
            restart,
            ref metrics,
            ..
        } = self.evaluation;
        if self.solver.options().is_err() && (clusters || changes > 0 || restart) {
            let rule = "must be ConditionalGradient() for evaluation.clusters, .changes and .restart; omit those or change the solver";
            rules.require(false, "solver", rule);
        }
        if restart
            && ![Metric::Released, Metric::Clean]
                .iter()
                .all(|metric| metrics.contains(metric))
        {
            let rule = "needs Released and Clean among evaluation.metrics: it restarts one from the plans of the other";
            rules.require(false, "evaluation.restart", rule);
        }
        if self.scale == Scale::Standardised {
            let looks_at_inputs = metrics.iter().any(|metric| matches!(metric, Metric::Fused { .. })) || changes > 0;
            let rule = "must be Raw for Fused() among evaluation.metrics and for evaluation.changes, which read unscaled features";
            rules.require(!looks_at_inputs, "scale", rule);
        }
        let trains = Trains {
            sends_model_alone: Err(TOLD),
            ..classifier::trains(&self.model, &self.training, self.scale)
        };
        self.protocol.suits(&trains, rules);
        if !rules.is_broken("codec") {
            let rule =
                "must send every value, as Half(), Bfloat(), Uniform() and Qsgd() do: an embedding is sent only once";
            rules.require(self.codec.suits_models(), "codec", rule);
        }
        if self.representation == NodeRows::Hidden && !rules.is_broken("release") {
            let name = self.release.text().split('(').next().unwrap_or_default();
            let rule =
                format!("must not be {name}() for unbounded rows; set representation: Probabilities or HiddenSoftmax");
            rules.require(!self.release.needs_bounds(), "release", rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::Loss;
    use super::*;
    use folkmoot_parts::Value;

    #[test]
    fn what_would_be_left_undone_is_refused() {
        let params = Params {
            protocol: Protocol {
                aggregation: ron::from_str("Buffered(size: 2)").unwrap(),
                ..Protocol::default()
            },
            solver: Method::Entropic {
                regularisation: 0.1,
                loss: Loss::Square,
            },
            evaluation: Evaluation {
                metrics: vec![Metric::Clean],
                restart: true,
                ..Evaluation::default()
            },
            ..Params::default()
        };
        let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
        assert_eq!(fields, ["collect", "solver", "evaluation.restart"]);
    }

    #[test]
    fn every_broken_rule_is_named() {
        let params = Params {
            representation: NodeRows::Hidden,
            scale: Scale::Standardised,
            evaluation: Evaluation {
                changes: 1,
                ..Evaluation::default()
            },
            collect: Collect::Every(0),
            solver: Method::ConditionalGradient {
                exchange: true,
                start_jitter: 0.0,
                end_starts: false,
                restarts: 3,
            },
            ..Params::default()
        };
        let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
        assert_eq!(fields, ["solver.restarts", "collect", "scale", "release"]);
    }
}
