//! The settings of FedGCN, as cards write them.

use crate::codec;
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{self, Inputs, Model, Scale, Split, Training};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Secure, Trains};

/// Why clients cannot be hidden who tell their neighbours something.
pub(super) const TOLD: &str = "clients also send rows and sums of their nodes in the first round, which clipping of updates does not bound; set hops: 0";

/// The parameters of FedGCN.
#[component(
    name = "FedGcn",
    about = "federated averaging after one exchange of neighbour feature sums between clients (NeurIPS 2023)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Number of hops exchanged across clients. 0: federated averaging on the cut graph; 1: sums
    /// for a client's own nodes; 2: also sums for adjacent nodes of other clients. If above 0, the
    /// first round exchanges data and trains nothing.
    #[component(default = 2, in = 0..=2)]
    pub hops: u32,
    /// Data exchanged before training.
    pub carries: Carries,
    /// Weights of neighbours in a sum.
    pub weights: Weights,
    /// Route of the exchange.
    pub between: Between,
    /// Sums that a client uploads to the server; no effect with `between: Peers`, with features or
    /// under secure aggregation.
    pub upload: Upload,
    /// Codec of the exchange: uncompressed, or fewer bits per number. Under secure aggregation
    /// masked sums are sent uncompressed and only answers are encoded.
    pub codec: Chosen<dyn Codec>,
    /// Network; its graph layers must be graph convolutions if sums are exchanged.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Attacks on the trained model after the run; clients evaluate it on their data and what they
    /// received.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Data exchanged before training.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Sums over neighbours, as in the paper.
    #[default]
    Sums,
    /// Features and neighbours of individual nodes, as in the authors' code.
    Features,
}

/// Weights of neighbours in a sum; no effect with features.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// As in a graph convolution, normalised by the degrees of the whole graph.
    #[default]
    Normalised,
    /// Weight 1, as in FedGraph; later layers use the degrees that a client knows.
    Plain,
}

/// Route of the exchange.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Clients send to the server, which answers.
    #[default]
    Server,
    /// Clients send directly to adjacent clients; the server only learns that they are ready.
    Peers,
}

/// Sums that a client uploads to the server.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// Its partial sum for each node with a contribution of the client.
    #[default]
    Rows,
    /// Only partial sums that several clients contribute to or need.
    Border,
    /// Its partial sums for all nodes of the graph, including zeros, as FedGraph does.
    Dense,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let sums = self.hops > 0 && self.carries == Carries::Sums;
        let rule = "must be Gcn if sums are exchanged, since they are the input of its first layer; or set carries: Features or hops: 0";
        rules.require(
            !sums || self.model.encoder.reads_sums_alone(),
            "model.encoder",
            rule.to_owned(),
        );
        let features = self.hops > 0 && self.carries == Carries::Features;
        let rule = "must be at most 1 if peers exchange features, since they do not know two-hop neighbours; or set between: Server";
        rules.require(
            !features || self.between == Between::Server || self.hops < 2,
            "hops",
            rule.to_owned(),
        );
        let rule =
            "must be Off if features go to the server, since they cannot be aggregated as sums; or set carries: Sums";
        let is_hidden = features && self.between == Between::Server && self.protocol.secure != Secure::Off;
        rules.require(!is_hidden, "protocol.secure", rule.to_owned());
        codec::require(&self.codec, "codec", rules);
        self.protocol.suits(&self.trains(), rules);
    }

    /// What is trained, for a protocol.
    fn trains(&self) -> Trains {
        let opens = self.hops > 0;
        let trains = classifier::trains(&self.model, &self.training, Scale::Raw);
        Trains {
            opens,
            sends_model_alone: if opens { Err(TOLD) } else { trains.sends_model_alone },
            // Clients hold nodes of others, too.
            has_items: false,
            ..trains
        }
    }
}

/// What the exchange does, by settings and facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) hops: u32,
    pub(super) carries: Carries,
    pub(super) weights: Weights,
    pub(super) between: Between,
    pub(super) upload: Upload,
    pub(super) is_secure: bool,
    pub(super) n_features: usize,
}

impl Plan {
    pub(super) fn of(params: &Params, n_features: usize) -> Plan {
        Plan {
            hops: params.hops,
            carries: params.carries,
            weights: params.weights,
            between: params.between,
            upload: params.upload,
            is_secure: params.protocol.secure != Secure::Off,
            n_features,
        }
    }

    /// Whether rows of sums come with the degree of their node: where those of others' nodes are
    /// read, and weighted.
    pub(super) fn has_degrees(&self) -> bool {
        self.hops == 2 && self.weights == Weights::Normalised && self.carries == Carries::Sums
    }

    /// Whether shares are masked and added up.
    pub(super) fn is_masked(&self) -> bool {
        self.is_secure && self.between == Between::Server && self.carries == Carries::Sums
    }
}
