//! The settings of AdaFGL, as cards write them.

use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{Inputs, Model, Scale, Split, Training};
use folkmoot_classifiers::federated::OptimiserState;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::Protocol;

/// The parameters of AdaFGL.
#[component(
    name = "AdaFgl",
    about = "federated averaging, then a network of each client's own for its graph, by what the common model says of it (ICDE 2024)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The network that all train.
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// How these are scaled, for both steps.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// What becomes of a client's optimiser between its rounds.
    pub optimiser_state: OptimiserState,
    /// What each client makes of the common model by itself.
    pub personal: Personal,
    /// Who asks, when the run is over, what the first step has given away: the common model, and
    /// what the server was sent. Networks that clients make by themselves are not asked.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

impl Params {
    /// What ties several settings: what is sent is sent in the first step.
    fn rules(&self, rules: &mut Rules) {
        self.protocol.suits(&self.first().trains(), rules);
    }
}

/// The second step, which each client makes by itself when the last round is over; it takes no
/// virtual time.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Personal {
    /// Which network a client makes.
    pub branch: Branch,
    /// Passes over all nodes; with 0 it answers with what its networks say before they learn.
    #[component(default = 200, in = 0..=100_000)]
    pub epochs: u32,
    /// Adam's rate.
    #[component(default = 0.01, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Times the weight, added to its gradient.
    #[component(default = 0.0005, at_least = 0, f32)]
    pub weight_decay: f64,
    /// The width of the perceptrons.
    #[component(default = 64, in = 1..=4096)]
    pub hidden: u32,
    /// The probability that a number within a perceptron is dropped in a pass.
    #[component(default = 0.5, in = 0..1)]
    pub dropout: f64,
    /// How often features are passed along edges.
    #[component(default = 3, in = 0..=16)]
    pub steps: u32,
    /// Alpha: the weight of the client's edges, beside which those that likeness makes have
    /// `1 − alpha`.
    #[component(default = 0.05, in = 0..=1, f32)]
    pub alpha: f64,
    /// Beta: how much nodes of which the common model says alike are alike among those unlike their
    /// neighbours, beside which what is learned counts `1 − beta`.
    #[component(default = 0.2, in = 0..=1, f32)]
    pub beta: f64,
    /// A cosine above which two nodes are alike.
    #[component(default = 0.999, in = 0..=1, f32)]
    pub alike: f64,
}

/// Which network a client makes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Branch {
    /// The one for nodes that are like their neighbours where `homophily` is at least so much, else
    /// the other, as in the authors' code.
    #[default]
    Chosen {
        /// The share of hidden labels that are told rightly.
        #[component(default = 0.9, in = 0..=1)]
        at: f64,
    },
    /// Both, whose answers count by `homophily` and the rest, as in OpenFGL.
    Mixed,
}
