//! GW-LDP's settings, as a card states them.

use super::options::{Collect, Evaluation, Method, RowDistance, Variant};
use super::release::{Epsilon, Release, Sampled};
use crate::classifier::{Encoder, Inputs, LocalOptimiser, Model, NodeRows, Pooling, Split, Training};
use crate::rounds::Protocol;
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// The parameters of [`super::GwLdp`]. Defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Params {
    /// Sets `model`, `representation` and `release` where a card does not. Default `AsPrinted`.
    pub variant: Variant,
    /// The network. Default by the variant: two layers of GCN of width 16 whose rows are the logits of nodes, their mean those of a
    /// graph; as released, five layers of GIN of width 64 with batch normalisation.
    pub model: Model,
    /// A client's training in one round. Default: one step of Adam at the rate 0.01 with a weight decay of 5e-4.
    pub training: Training,
    /// What nodes bring with them. Default `Features`.
    pub inputs: Inputs,
    /// Who trains, validates and tests. Default `Shares(train: 0.7, validation: 0.2)`.
    pub split: Split,
    /// How rounds go. Default: 200 synchronous rounds, updates weighted by samples.
    pub protocol: Protocol,
    /// What represents a node. Default by the variant: `Probabilities`, as released `Hidden`.
    pub representation: NodeRows,
    /// How embeddings leave their device. Default by the variant: the multi-bit encoder with 1/n for a graph; as released, normal
    /// noise; corrected, the encoder with 4 for a node, rectified.
    pub release: Release,
    /// When embeddings are collected. Default `AtEnd`.
    pub collect: Collect,
    /// The distance of two rows of an embedding. Default `Euclidean`.
    pub distance: RowDistance,
    /// How Gromov-Wasserstein problems are solved. Default `ConditionalGradient()`.
    pub solver: Method,
    /// What the distances are good for.
    pub evaluation: Evaluation,
}

/// The same as a card writes it: what it leaves open goes by the variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Params")]
struct Written {
    variant: Variant,
    model: Option<Model>,
    training: Option<Training>,
    inputs: Inputs,
    split: Option<Split>,
    protocol: Option<Protocol>,
    representation: Option<NodeRows>,
    release: Option<Release>,
    collect: Collect,
    distance: RowDistance,
    solver: Method,
    evaluation: Evaluation,
}

fn model(variant: Variant) -> Model {
    match variant {
        Variant::AsPrinted | Variant::Corrected => Model {
            head_layers: 0,
            ..Model::default()
        },
        Variant::AsReleased => Model {
            encoder: Encoder::GinBatchNorm,
            hidden: 64,
            layers: 5,
            readout: Pooling::Sum,
            head_layers: 2,
            dropout: 0.5,
        },
    }
}

fn release(variant: Variant) -> Release {
    match variant {
        Variant::AsPrinted => Release::default(),
        Variant::AsReleased => Release::Gaussian { std: None },
        Variant::Corrected => Release::MultiBit {
            entries: Sampled::Row,
            epsilon: Epsilon::Node(4.0),
            n_sampled: None,
            rectify: true,
        },
    }
}

fn training() -> Training {
    Training {
        optimiser: LocalOptimiser::Adam,
        weight_decay: 5e-4,
        ..Training::default()
    }
}

impl From<Written> for Params {
    fn from(written: Written) -> Self {
        let variant = written.variant;
        let representation = match variant {
            Variant::AsReleased => NodeRows::Hidden,
            Variant::AsPrinted | Variant::Corrected => NodeRows::Probabilities,
        };
        Params {
            variant,
            model: written.model.unwrap_or_else(|| model(variant)),
            training: written.training.unwrap_or_else(training),
            inputs: written.inputs,
            split: written.split.unwrap_or(Split::Shares {
                train: 0.7,
                validation: 0.2,
            }),
            protocol: written.protocol.unwrap_or(Protocol {
                rounds: 200,
                ..Protocol::default()
            }),
            representation: written.representation.unwrap_or(representation),
            release: written.release.unwrap_or_else(|| release(variant)),
            collect: written.collect,
            distance: written.distance,
            solver: written.solver,
            evaluation: written.evaluation,
        }
    }
}

impl From<Params> for Written {
    fn from(params: Params) -> Self {
        Written {
            variant: params.variant,
            model: Some(params.model),
            training: Some(params.training),
            inputs: params.inputs,
            split: Some(params.split),
            protocol: Some(params.protocol),
            representation: Some(params.representation),
            release: Some(params.release),
            collect: params.collect,
            distance: params.distance,
            solver: params.solver,
            evaluation: params.evaluation,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Written::default().into()
    }
}

impl Params {
    /// Every rule they break.
    pub(super) fn breaches(&self) -> Vec<Breach> {
        let below = |name: &str, breaches: Vec<Breach>| {
            let path = |(field, rule): Breach| (format!("{name}.{field}"), rule);
            breaches.into_iter().map(path).collect::<Vec<Breach>>()
        };
        let mut breaches = [
            below("model", self.model.check()),
            below("training", self.training.check()),
            below("inputs", self.inputs.check()),
            below("split", self.split.check()),
            below("protocol", self.protocol.check()),
            self.release.check(),
            self.solver.check(),
            self.evaluation.check(),
        ]
        .concat();
        if self.collect == Collect::Every(0) {
            let rule = "must be at least 1 round, got Every(0); AtEnd collects once".to_owned();
            breaches.push(("collect".to_owned(), rule));
        }
        if matches!(self.release, Release::MultiBit { .. }) && self.representation == NodeRows::Hidden {
            let rule =
                "must not be MultiBit() for rows without bounds; set representation: Probabilities or HiddenSoftmax";
            breaches.push(("release".to_owned(), rule.to_owned()));
        }
        breaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_leaves_open_goes_by_the_variant() {
        let of = |variant| {
            Params::from(Written {
                variant,
                ..Written::default()
            })
        };
        let printed = of(Variant::AsPrinted);
        assert_eq!(printed, Params::default());
        assert_eq!((printed.model.head_layers, printed.protocol.rounds), (0, 200));
        let released = of(Variant::AsReleased);
        assert_eq!(released.representation, NodeRows::Hidden);
        assert_eq!(released.model.encoder, Encoder::GinBatchNorm);
        assert_eq!(released.release, Release::Gaussian { std: None });
        assert!(matches!(
            of(Variant::Corrected).release,
            Release::MultiBit { rectify: true, .. }
        ));
        for params in [printed, released, of(Variant::Corrected)] {
            assert!(params.breaches().is_empty(), "{:?}", params.breaches());
            assert_eq!(Params::from(Written::from(params.clone())), params);
        }
    }

    #[test]
    fn every_broken_rule_is_named() {
        let params = Params {
            representation: NodeRows::Hidden,
            collect: Collect::Every(0),
            solver: Method::ConditionalGradient {
                exchange: true,
                start_jitter: 0.0,
                restarts: 3,
            },
            ..Params::default()
        };
        let fields: Vec<String> = params.breaches().into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["solver.restarts", "collect", "release"]);
    }
}
