//! The settings of FedGCN, as cards write them.

use crate::codec;
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{self, Encoder, Inputs, Model, Scale, Split, Training};
use folkmoot_codecs::Codec;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Secure, Trains};

/// Why clients cannot be hidden who tell their neighbours something.
pub(super) const TOLD: &str =
    "clients also tell rows and sums of their nodes in the first round, which no clip bounds; set hops: 0";

/// The parameters of FedGCN.
#[component(
    name = "FedGcn",
    about = "federated averaging after one exchange of what neighbours at other clients sum up to (NeurIPS 2023)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Steps along edges from which a client is told: 0 is federated averaging on the cut graph; 1
    /// gives it the sums of its own nodes, 2 those of the nodes that it borders on as well. Where
    /// there is something to tell, the first round exchanges it and trains nothing.
    #[component(default = 2, in = 0..=2)]
    pub hops: u32,
    /// What is told.
    pub carries: Carries,
    /// What a neighbour counts in a sum.
    pub weights: Weights,
    /// Who tells whom.
    pub between: Between,
    /// What of its sums a client sends to the server; without effect among peers, with features and
    /// under secure aggregation.
    pub upload: Upload,
    /// How what is told is sent: as it is, or with fewer bits a number. Under secure aggregation
    /// masked sums go as they are, and answers by this.
    pub codec: Chosen<dyn Codec>,
    /// The network; where sums are told, its graph layers are graph convolutions.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Who asks, when the run is over, what the training has given away; clients answer from what
    /// they hold and were told.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// What is told.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// What neighbours sum up to, as the paper has it.
    #[default]
    Sums,
    /// The features and neighbours of single nodes, as the authors' code has it.
    Features,
}

/// What a neighbour counts in a sum; without effect with features.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// As in a graph convolution, by the degrees of the whole graph.
    #[default]
    Normalised,
    /// One, as in FedGraph; layers behind the first go by the degrees that a client knows.
    Plain,
}

/// Who tells whom.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Clients tell the server, which answers.
    #[default]
    Server,
    /// Clients tell those whom they border on; the server hears only that they are ready.
    Peers,
}

/// What of its sums a client sends to the server.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// Its share of each sum that it has a part in.
    #[default]
    Rows,
    /// Of these only such as more than one client has a part in and needs.
    Border,
    /// Its share of the sums of all nodes of the graph, zeros and all, as FedGraph does.
    Dense,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let sums = self.hops > 0 && self.carries == Carries::Sums;
        let rule =
            "must be Gcn where sums are told, which its first layer begins with; or set carries: Features or hops: 0";
        rules.require(
            !sums || self.model.encoder == Encoder::Gcn,
            "model.encoder",
            rule.to_owned(),
        );
        let features = self.hops > 0 && self.carries == Carries::Features;
        let rule = "must be at most 1 where features go among peers, who know nothing of the neighbours of their neighbours; or set between: Server";
        rules.require(
            !features || self.between == Between::Server || self.hops < 2,
            "hops",
            rule.to_owned(),
        );
        let rule = "must be Off where features go to the server, which cannot be added up; or set carries: Sums";
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
