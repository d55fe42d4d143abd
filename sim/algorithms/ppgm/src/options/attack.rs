//! The eavesdropper and its attacks, as a card names them.

use super::Choice;
use folkmoot_parts::{Rules, component};
use folkmoot_scores::inference::Attackers;

/// What the eavesdropper reads. `g` is a device's message to the other, `o` that to the service; of
/// a message of several rows the mean is read, but for `AllG`, and that of SimGNN's nodes beside
/// its graph vector. Where there is no message to the other device, only `o` is read.
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
    /// One of them, by a fair coin for each graph, and not told which.
    Random,
    /// Every row of the message to the other device; where it has a row for every node, as `G`.
    AllG,
    /// All that a match sends: every row of both devices' messages, as `AllG`, both messages to the
    /// service, and the score.
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

/// Of what the shadow set is a share.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowOf {
    /// Of the training graphs: the attacker knows variants of most functions.
    #[default]
    Graphs,
    /// Of the training graphs as well, but taken function by function: the attacker knows all
    /// variants of a few.
    Classes,
}

/// The attacker.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct Attack {
    /// Which property is inferred, such as `level`; all of them together where it is left out.
    pub property: Option<String>,
    /// What `attack_auc` is measured on; all others have their own name, but for `Everything`,
    /// which is read only if it is this.
    pub intercept: Intercept,
    /// The share of the training graphs whose properties the attacker knows.
    #[component(default = 0.1, above = 0, at_most = 1)]
    pub shadow: f64,
    /// How they are chosen.
    pub shadow_of: ShadowOf,
    /// Whether every number is brought to mean 0 and variance 1 over the shadow set before it is
    /// read.
    #[component(default = true)]
    pub standardise: bool,
    /// Linear layers of the attacker's perceptron, of the models' hidden width.
    #[component(default = 3, in = 1..=8)]
    pub layers: u32,
    /// The attacker's epochs.
    #[component(default = 100, in = 1..=100_000)]
    pub epochs: u32,
    /// The attacker's rate of Adam.
    #[component(default = 0.001, above = 0, in = 1e-8..=10, alias = "rate")]
    pub learning_rate: f64,
    /// Graphs a step of the attacker.
    #[component(default = 32, in = 1..=10_000)]
    pub batch: u32,
    /// `Last`: the attacker after all its epochs guesses all graphs that validate and test, as the
    /// text says. `BestValidation`: the attacker after the epoch in which it guesses those that
    /// validate best guesses those that test.
    #[component(default = Choice::Last)]
    pub choice: Choice,
    /// The attack is measured after every so many epochs of training besides; 0: before the first
    /// and with the chosen model alone.
    pub every: u32,
}

/// Whom every graph of interest meets.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Itself, as where both clients hold it.
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

/// Which properties are inferred.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inferred {
    /// That of the plain attacker.
    #[default]
    Attacked,
    /// That, and each part of the joint property by itself, such as the level.
    Each,
    /// Those, and what a decoder would begin with: among which quarter of the training graphs a
    /// graph falls by its nodes, edges and independent cycles, and by the mean of each feature of
    /// its nodes.
    Structure,
}

/// Attacks on the chosen model besides the plain one, after training; by default there are none.
///
/// The messages of one match of every graph are read once. Each share in `shadows` then has its own
/// attackers, those of `attackers` and the plain one's perceptron stopped early, on every
/// interception; `attacks.csv` has a row for each, and which was chosen by what its attacker knew.
/// `leak_auc` is the chosen one's over all interceptions: an eavesdropper may leave unread what
/// does not help.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct Thorough {
    /// Shares of the training graphs whose properties are known, each with its own attackers; none:
    /// no such attack.
    #[component(above = 0, at_most = 1)]
    pub shadows: Vec<f64>,
    /// What is read. Of an interception that a model does not allow nothing is said.
    #[component(default = vec![Intercept::G, Intercept::O, Intercept::Concat, Intercept::AllG, Intercept::Everything])]
    pub intercepts: Vec<Intercept>,
    /// Partners whom graphs meet in matches that are read besides, for the plain attacker's
    /// property: what mixing a new graph into every message to the service hides.
    /// `leak_auc_o_with_itself` beside `leak_auc_o`.
    pub partners: Vec<Partner>,
    /// Which properties are inferred.
    pub properties: Inferred,
    /// Who infers.
    pub attackers: Attackers,
    /// Whether messages are linked with each other and searched in a corpus of all graphs, by those
    /// who hold the model.
    pub linkage: bool,
    /// Whether arcs and features of nodes are decoded by those who know the plain attacker's shadow
    /// set: from nodes where they leave, else from the vectors that leave and the places of nodes
    /// in their order, beside what the places tell by themselves.
    pub decode: bool,
    /// Whether pairs of a graph with itself, or with another that is the same number for number,
    /// are left out of a second score of similarity, `similarity_auc_distinct`.
    pub distinct: bool,
    /// Whether what was read is kept, as `intercepted.npy`, with what each row is in
    /// `intercepted.csv`.
    pub messages: bool,
}

impl Thorough {
    fn rules(&self, rules: &mut Rules) {
        let attacks = !self.shadows.is_empty();
        let rule = "must name what is read where shadows has a share; leave it out for all that a match sends";
        rules.require(!(attacks && self.intercepts.is_empty()), "intercepts", rule);
        let rule = "must leave somebody who infers where shadows has a share: a penalty, a number of neighbours, trees or the network";
        rules.require(!(attacks && self.attackers.is_empty()), "attackers", rule);
        let rule = "needs a share in shadows: somebody who infers; leave it out, or set shadows: [1.0]";
        rules.require(attacks || self.partners.is_empty(), "partners", rule);
        let twice = (1..self.partners.len()).any(|at| self.partners[..at].contains(&self.partners[at]));
        rules.require(!twice, "partners", "must name each partner once");
    }
}
