//! The eavesdropper and its attacks, as a card names them.

use super::Choice;
use folkmoot_parts::{Rules, component};
use folkmoot_scores::inference::Attackers;

/// What the eavesdropper intercepts: `g` is a device's message to the other device, `o` its message
/// to the service. Messages of several rows are averaged, except for `AllG`; for SimGNN the mean
/// node embedding is read together with the graph embedding. Without a message to the other device
/// only `o` is read.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Intercept {
    /// Both messages.
    #[default]
    Concat,
    /// The message to the other device.
    G,
    /// The message to the service.
    O,
    /// One of them, chosen by a fair coin per graph; the attacker does not know which.
    Random,
    /// Every row of the message to the other device; as `G` if the message has one row per node.
    AllG,
    /// Everything that a match sends: every row of both devices' messages (as `AllG`), both
    /// messages to the service, and the score.
    Everything,
}

impl Intercept {
    /// All of them, with their names in summaries.
    pub const ALL: [(Intercept, &'static str); 6] = [
        (Intercept::Concat, "concat"),
        (Intercept::G, "g"),
        (Intercept::O, "o"),
        (Intercept::Random, "random"),
        (Intercept::AllG, "all_g"),
        (Intercept::Everything, "everything"),
    ];

    pub(crate) fn name(self) -> &'static str {
        let (_, name) = Intercept::ALL[self as usize];
        name
    }

    /// Those that there is something to read for, where devices send each other messages or do not.
    pub(crate) fn allowed(exchanges: bool) -> impl Iterator<Item = Intercept> {
        let all = Intercept::ALL.into_iter().map(|(intercept, _)| intercept);
        all.filter(move |intercept| exchanges || !matches!(intercept, Intercept::G | Intercept::AllG))
    }
}

/// How the shadow set is drawn.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowOf {
    /// From the training graphs: the attacker knows variants of most functions.
    #[default]
    Graphs,
    /// From the training graphs, function by function: the attacker knows all variants of a few.
    Classes,
}

/// Property-inference attack.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Attack {
    /// Property to infer, such as `level`; by default all properties jointly.
    pub property: Option<String>,
    /// Interception of `attack_auc`. All others are reported under their own names; `Everything` is
    /// measured only if chosen here.
    pub intercept: Intercept,
    /// Fraction of the training graphs whose properties the attacker knows (shadow set).
    #[component(default = 0.1, above = 0, at_most = 1)]
    pub shadow: f64,
    /// How the shadow set is drawn.
    pub shadow_of: ShadowOf,
    /// Whether to standardise inputs to mean 0 and variance 1 over the shadow set.
    #[component(default = true)]
    pub standardise: bool,
    /// Number of linear layers of the attacker's perceptron, of the model's hidden width.
    #[component(default = 3, in = 1..=8)]
    pub layers: u32,
    /// Training epochs of the attacker.
    #[component(default = 100, in = 1..=100_000)]
    pub epochs: u32,
    /// Learning rate of the attacker (Adam).
    #[component(default = 0.001, above = 0, in = 1e-8..=10, alias = "rate")]
    pub learning_rate: f64,
    /// Batch size of the attacker, in graphs.
    #[component(default = 32, in = 1..=10_000)]
    pub batch: u32,
    /// `Last`: the attacker after all epochs, scored on validation and test graphs, as in the
    /// paper. `BestValidation`: the attacker of the epoch with the best validation score, scored on
    /// test graphs.
    #[component(default = Choice::Last)]
    pub choice: Choice,
    /// Also measure the attack after every this many training epochs; 0: only before the first
    /// epoch and with the chosen model.
    pub every: u32,
}

/// The graph that every target graph is matched with.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The graph itself, as when both clients hold it.
    Itself,
    /// One training graph, drawn once, in all matches.
    One,
}

impl Partner {
    /// What it is called in summaries.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Partner::Itself => "itself",
            Partner::One => "one",
        }
    }
}

/// Properties to infer.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inferred {
    /// The property of the basic attack.
    #[default]
    Attacked,
    /// Also each component of the joint property on its own, such as the level.
    Each,
    /// Also structural properties: the quartile of a graph among the training graphs by nodes,
    /// edges and independent cycles, and by the mean of each node feature.
    Structure,
}

/// Further attacks on the chosen model after training; none by default.
///
/// The messages of one match per graph are intercepted once. Each fraction in `shadows` has its own
/// attackers: those of `attackers` and the basic perceptron with early stopping, on every
/// interception. `attacks.csv` has a row for each and marks the one chosen on the shadow set.
/// `leak_auc` is the AUC of the chosen attacker over all interceptions.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Thorough {
    /// Fractions of the training graphs whose properties are known, each with its own attackers;
    /// empty: no such attack.
    #[component(above = 0, at_most = 1)]
    pub shadows: Vec<f64>,
    /// Interceptions to attack; those that a model does not have are skipped.
    #[component(default = vec![Intercept::G, Intercept::O, Intercept::Concat, Intercept::AllG, Intercept::Everything])]
    pub intercepts: Vec<Intercept>,
    /// Fixed partners for additional matches, for the property of the basic attack: measures the
    /// protection by mixing with a new graph in every message to the service. Compare
    /// `leak_auc_o_with_itself` with `leak_auc_o`.
    pub partners: Vec<Partner>,
    /// Properties to infer.
    pub properties: Inferred,
    /// Attackers.
    pub attackers: Attackers,
    /// Whether to link messages with each other and search them in a corpus of all graphs; the
    /// attacker holds the model.
    pub linkage: bool,
    /// Whether to decode arcs and node features, given the basic attack's shadow set: from node
    /// embeddings where they are sent, otherwise from the embeddings sent and node indices. The
    /// baseline uses the indices alone.
    pub decode: bool,
    /// Whether to add `similarity_auc_distinct`, which excludes pairs of identical graphs.
    pub distinct: bool,
    /// Whether to save the intercepted messages as `intercepted.npy`, with the row descriptions in
    /// `intercepted.csv`.
    pub messages: bool,
}

impl Thorough {
    fn rules(&self, rules: &mut Rules) {
        let attacks = !self.shadows.is_empty();
        let rule = "must name an interception if shadows is not empty; leave it out for everything that a match sends";
        rules.require(!(attacks && self.intercepts.is_empty()), "intercepts", rule);
        let rule =
            "must leave an attacker if shadows is not empty: a penalty, a number of neighbours, trees or the network";
        rules.require(!(attacks && self.attackers.is_empty()), "attackers", rule);
        let rule = "needs a fraction in shadows; leave it out, or set shadows: [1.0]";
        rules.require(attacks || self.partners.is_empty(), "partners", rule);
        let twice = (1..self.partners.len()).any(|at| self.partners[..at].contains(&self.partners[at]));
        rules.require(!twice, "partners", "must name each partner once");
    }
}
