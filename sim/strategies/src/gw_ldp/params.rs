//! GW-LDP's settings, as a card states them.

use super::options::{Collect, Evaluation, Method, Metric, RowDistance, Variant};
use super::release::{Epsilon, Release, Sampled};
use crate::classifier::{Encoder, Inputs, LocalOptimiser, Model, NodeRows, Pooling, Split, Training};
use crate::rounds::{Aggregation, Protocol};
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The parameters of [`super::GwLdp`]. Defaults are the paper's.
///
/// A field that a card writes takes the place of the paper's as a whole: in `protocol: (evaluate_every: 10)` the rounds are
/// [`Protocol`]'s 50, not 200.
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
    #[serde(deserialize_with = "given", serialize_with = "bare")]
    release: Option<Release>,
    collect: Collect,
    distance: RowDistance,
    solver: Method,
    evaluation: Evaluation,
}

/// What a card writes: never `None`, which would read as no noise and mean the variant's.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Release>, D::Error> {
    Release::deserialize(deserializer).map(Some)
}

fn bare<S: Serializer>(release: &Option<Release>, serializer: S) -> Result<S::Ok, S::Error> {
    release.unwrap_or_default().serialize(serializer)
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
        if self.collect == Collect::AtEnd && matches!(self.protocol.aggregation, Aggregation::Buffered { .. }) {
            let rule = "must not be AtEnd with protocol.aggregation: Buffered(), whose last round ends before those asked in it have \
                        answered; set Every(1)";
            breaches.push(("collect".to_owned(), rule.to_owned()));
        }
        let Evaluation {
            clusters,
            changes,
            restart,
            ref metrics,
            ..
        } = self.evaluation;
        if matches!(self.solver, Method::Entropic { .. }) && (clusters || changes > 0 || restart) {
            let rule = "must be ConditionalGradient() for evaluation.clusters, .changes and .restart; leave them out or change it";
            breaches.push(("solver".to_owned(), rule.to_owned()));
        }
        if restart
            && ![Metric::Released, Metric::Clean]
                .iter()
                .all(|metric| metrics.contains(metric))
        {
            let rule =
                "needs Released and Clean among evaluation.metrics: it goes from the plans of the one to the other";
            breaches.push(("evaluation.restart".to_owned(), rule.to_owned()));
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

    /// Who asks for no noise by a name that is none must not get the variant's.
    #[test]
    fn no_release_is_not_the_variants() {
        let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let error = options.from_str::<Params>("(release: None)").unwrap_err().to_string();
        assert!(error.contains("None") && error.contains("Plain"), "{error}");
        let params = options.from_str::<Params>("(release: Plain)").unwrap();
        assert_eq!(params.release, Release::Plain);
        let text = options.to_string(&params).unwrap();
        assert_eq!(options.from_str::<Params>(&text), Ok(params), "{text}");
    }

    #[test]
    fn what_would_be_left_undone_is_refused() {
        let params = Params {
            protocol: Protocol {
                aggregation: ron::from_str("Buffered(size: 2)").unwrap(),
                ..Protocol::default()
            },
            solver: Method::Entropic { regularisation: 0.1 },
            evaluation: Evaluation {
                metrics: vec![Metric::Clean],
                restart: true,
                ..Evaluation::default()
            },
            ..Params::default()
        };
        let fields: Vec<String> = params.breaches().into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["collect", "solver", "evaluation.restart"]);
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
