//! The settings of AdaFGL, as cards write them.

use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{Inputs, Model, Scale, Split, Training};
use folkmoot_classifiers::federated::OptimiserState;
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::Protocol;

/// The parameters of AdaFGL.
#[component(
    name = "AdaFgl",
    about = "federated averaging, then a personalised network per client guided by the global model's predictions (ICDE 2024)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Network of the global model.
    pub model: Model,
    /// Local training in the first step: epochs, batch size, optimiser. The second step learns by the
    /// paper's losses.
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Scaling of the node features, for both steps.
    pub scale: Scale,
    /// Training, validation and test sets.
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    pub protocol: Protocol,
    /// Whether a client's optimiser state is kept between rounds.
    pub optimiser_state: OptimiserState,
    /// Second step: local training of the personalised network.
    pub personal: Personal,
    /// Attacks on the first step after the run: on the global model and the updates. Personalised
    /// networks are not attacked.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

impl Params {
    /// What ties several settings: what is sent is sent in the first step.
    fn rules(&self, rules: &mut Rules) {
        self.protocol.suits(&self.first().trains(), rules);
    }
}

/// Second step: each client trains a personalised network after the last round; it takes no virtual
/// time.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Personal {
    /// Architecture of the personalised network.
    pub branch: Branch,
    /// Full-batch training epochs; with 0 the untrained networks predict.
    #[component(default = 200, in = 0..=100_000)]
    pub epochs: u32,
    /// Learning rate (Adam).
    #[component(default = 0.01, above = 0, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Weight decay (L2).
    #[component(default = 0.0005, at_least = 0, f32)]
    pub weight_decay: f64,
    /// Hidden width of the multilayer perceptrons.
    #[component(default = 64, in = 1..=4096)]
    pub hidden: u32,
    /// Dropout probability in training.
    #[component(default = 0.5, in = 0..1)]
    pub dropout: f64,
    /// Number of propagation steps of the features.
    #[component(default = 3, in = 0..=16)]
    pub steps: u32,
    /// Weight α of the client's edges; edges from prediction similarity have the weight 1 − α.
    #[component(default = 0.05, in = 0..=1, f32)]
    pub alpha: f64,
    /// Weight β of prediction similarity in the signed propagation for heterophilous nodes; the
    /// learned similarity has the weight 1 − β.
    #[component(default = 0.2, in = 0..=1, f32)]
    pub beta: f64,
    /// Cosine threshold above which two nodes are similar.
    #[component(default = 0.999, in = 0..=1, f32)]
    pub alike: f64,
}

/// Architecture of the personalised network.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Branch {
    /// Homophilous network if `homophily` is at least `at`, otherwise the heterophilous network, as
    /// in the authors' code.
    #[default]
    Chosen {
        /// Threshold on the fraction of hidden labels predicted correctly by label propagation.
        #[component(default = 0.9, in = 0..=1)]
        at: f64,
    },
    /// Both, mixed by `homophily` and 1 − `homophily`, as in OpenFGL.
    Mixed,
}
