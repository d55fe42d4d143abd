//! The settings of [`FedLinks`](Params), as a card writes them.

use crate::edge_score::EdgeScore;
use folkmoot_classifiers::classifier::graph_layers::GraphLayers;
use folkmoot_classifiers::classifier::{Inputs, Model, Scale, Training, sends_model_alone};
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Trains};

/// Settings of FedLinks.
#[component(
    name = "FedLinks",
    about = "federated link prediction: clients train a graph encoder and an edge decoder on their own edges",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Graph encoder.
    pub model: Encoder,
    /// Decoder: the score of an edge from the embeddings of its ends.
    pub decoder: Chosen<dyn EdgeScore>,
    /// Negative samples.
    pub negatives: Negatives,
    /// Local training: epochs, batch size (in edges), optimiser. Its loss must be `OfTask`: binary
    /// cross entropy over edges and negative samples.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test edges.
    pub split: Split,
    /// Edges between nodes of different clients.
    pub cross_edges: CrossEdges,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Models trained for comparison, from the same start, on the same split, for as many rounds
    /// and epochs. Their scores are reference values, such as `test_auc@centralised`.
    pub compared_with: Vec<Comparison>,
    /// Attacks on the trained model, after the run: the most training edges that attackers rank,
    /// drawn at random; 0 for no attack. Membership inference ranks them against test edges, link
    /// stealing against pairs without an edge.
    #[component(default = 0, in = 0..=10_000_000)]
    pub attacked_edges: u32,
}

/// Graph encoder.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// Type of graph layers. ReLU follows each layer except the last.
    pub encoder: Chosen<dyn GraphLayers>,
    /// Width of the hidden layers.
    #[component(default = 64, in = 1..=4_096)]
    pub hidden: u32,
    /// Width of the embeddings.
    #[component(default = 32, in = 1..=4_096)]
    pub outputs: u32,
    /// Number of graph layers.
    #[component(default = 2, in = 1..=64)]
    pub layers: u32,
    /// Dropout probability between layers, in training.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f64,
}

/// Negative samples: pairs of nodes without an edge.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negatives {
    /// Negative samples per training edge, drawn anew in each step. One end is uniform among the
    /// client's own nodes, the other among all nodes that it knows. A client avoids only edges that
    /// it trains on, so a held-out edge may be drawn.
    #[component(default = 1, in = 1..=1_000)]
    pub per_positive: u32,
    /// Random nodes of other clients whose features each client knows, to draw negative samples
    /// from. They are sent at a trusted set-up. A client that holds one node and knows its
    /// neighbours has no negative samples otherwise.
    #[component(default = 0, in = 0..=1_000_000)]
    pub strangers: u32,
    /// Negative samples that each held-out edge is ranked against, for MRR and hits at k. They share
    /// the first end of the edge and are no edges of the data set.
    #[component(default = 100, in = 1..=100_000)]
    pub ranked: u32,
}

/// Training, validation and test edges. Each edge is assigned once, independently, by a random
/// stream that depends on its ends alone. So partitions share the held-out edges.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Probability of the validation set.
    #[component(default = 0.05, in = 0..1)]
    pub validation: f64,
    /// Probability of the test set; below 1 together with `validation`.
    #[component(default = 0.1, in = 0..1)]
    pub test: f64,
    /// Training edges that are predicted, and whether messages pass along them.
    pub supervision: Supervision,
}

/// Training edges that are predicted in training.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supervision {
    /// All of them; messages pass along the same edges.
    #[default]
    Same,
    /// A random part, along which no messages pass.
    Apart {
        /// Probability that a training edge is predicted.
        #[component(default = 0.3, above = 0, below = 1)]
        fraction: f64,
    },
}

/// Edges between nodes of different clients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossEdges {
    /// No client knows them or trains on them.
    #[default]
    Unknown,
    /// Each client knows those of its own nodes, with the features of the other end, from a trusted
    /// set-up. Both clients train on them. With one node per client, each holds its ego network.
    Known,
}

/// A model trained for comparison.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// One model per client, trained on its own edges alone. Its embeddings cannot be compared with
    /// those of others, so only edges within clients are scored.
    #[default]
    Local,
    /// One model trained on the whole graph.
    Centralised,
}

/// Why whole clients cannot be protected where others hold their features.
const SHARED: &str = "a trusted set-up gives features of a client's nodes to other clients, and no clip bounds these; set cross_edges: Unknown and negatives.strangers: 0";

impl Params {
    fn rules(&self, rules: &mut Rules) {
        let rule = "must be OfTask(): link prediction has one loss, binary cross entropy";
        rules.require(self.training.loss == Training::default().loss, "training.loss", rule);
        self.protocol.suits(&self.trains(), rules);
    }

    fn trains(&self) -> Trains {
        Trains {
            passes: self.training.epochs,
            sends_model_alone: self.sends_model_alone(),
            ..Trains::default()
        }
    }

    pub(crate) fn sends_model_alone(&self) -> Result<(), &'static str> {
        match self.trusted() {
            Some(_) => Err(SHARED),
            None => sends_model_alone(&*self.model.encoder, Scale::Raw),
        }
    }

    /// What clients are given of others before the run.
    pub(crate) fn trusted(&self) -> Option<&'static str> {
        match (self.cross_edges, self.negatives.strangers) {
            (CrossEdges::Unknown, 0) => None,
            (CrossEdges::Known, 0) => {
                Some("clients receive the features of the nodes of others that their nodes have edges with")
            }
            (CrossEdges::Unknown, _) => Some("clients receive the features of random nodes of others"),
            (CrossEdges::Known, _) => Some(
                "clients receive the features of the nodes of others that their nodes have edges with, and of random ones",
            ),
        }
    }
}

impl Encoder {
    /// The same as classifiers describe it, without a head.
    pub(crate) fn model(&self) -> Model {
        Model {
            encoder: self.encoder.clone(),
            hidden: self.hidden,
            layers: self.layers,
            head_layers: 0,
            dropout: self.dropout,
            ..Model::default()
        }
    }

    fn rules(&self, rules: &mut Rules) {
        let mut own = Rules::default();
        self.encoder.rules(&self.model(), &mut own);
        for broken in own.into_broken() {
            match broken.path.as_str() {
                "head_layers" => {
                    let rule = "needs a head behind its layers, which an encoder of edges lacks; choose another type, such as Gcn()";
                    rules.require(false, "encoder", rule);
                }
                path => rules.require(false, path, broken.rule),
            }
        }
    }
}

impl Split {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!(
            "must be below 1 together with validation, so that training edges remain, got {} and {}",
            self.test, self.validation
        );
        rules.require(self.test + self.validation < 1.0, "test", rule);
    }
}
