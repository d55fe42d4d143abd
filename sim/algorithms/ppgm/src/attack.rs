//! What an eavesdropper infers: the property of a graph from what left its device, and the graph's arcs where nodes left it.
//!
//! Property inference follows section IV-A of the paper: the attacker knows the properties of a shadow set, a share of the
//! training graphs, learns a perceptron from what was sent of them, and guesses those of all graphs that validate and test. What is
//! read is brought to mean 0 and variance 1 over the shadow set first, of which the paper says nothing. The authors' program
//! (`cfg_inf.py`) is another attacker, which `AsReleased` comes close to: its shadow set are all graphs of a tenth of the functions,
//! it reads messages as they are, and it stops where it guesses graphs that validate best. What is left of the difference: it
//! draws new pairs for its shadow set in every epoch, reads both pairs of a graph, and keeps the model's dropout while it learns.
//!
//! That perceptron is one attacker, and who reads more with it may learn less. [`Thorough`] has several, chosen by what they know.

mod decode;
mod linkage;
mod messages;
mod property;
mod structure;
mod thorough;

pub use messages::Partner;
pub use structure::reconstruct;
pub use thorough::{Inferred, Thorough};

use super::params::Choice;
use folkmoot_parts::part;

/// What the eavesdropper reads. `g` is a device's message to the other, `o` that to the service; of a message of several rows the
/// mean is read, but for `AllG`, and that of SimGNN's nodes beside its graph vector. Where there is no message to the other device, only `o` is read.
#[part]
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
    /// All that a match sends: every row of both devices' messages, as `AllG`, both messages to the service, and the score.
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

    fn name(self) -> &'static str {
        let (_, name) = Intercept::ALL[self as usize];
        name
    }

    /// Those that there is something to read for, where devices send each other messages or do not.
    fn allowed(exchanges: bool) -> impl Iterator<Item = Intercept> {
        let all = Intercept::ALL.into_iter().map(|(intercept, _)| intercept);
        all.filter(move |intercept| exchanges || !matches!(intercept, Intercept::G | Intercept::AllG))
    }
}

/// Of what the shadow set is a share.
#[part]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowOf {
    /// Of the training graphs: the attacker knows variants of most functions.
    #[default]
    Graphs,
    /// Of the training graphs as well, but taken function by function: the attacker knows all variants of a few.
    Classes,
}

/// The attacker.
#[part]
#[derive(Clone, Debug, PartialEq)]
pub struct Attack {
    /// Which property is inferred, such as `level`; all of them together where it is left out.
    pub property: Option<String>,
    /// What `attack_auc` is measured on; all others have their own name, but for `Everything`, which is read only if it is this.
    pub intercept: Intercept,
    /// The share of the training graphs whose properties the attacker knows.
    #[part(default = 0.1, above = 0, at_most = 1)]
    pub shadow: f64,
    /// How they are chosen.
    pub shadow_of: ShadowOf,
    /// Whether every number is brought to mean 0 and variance 1 over the shadow set before it is read.
    #[part(default = true)]
    pub standardise: bool,
    /// Linear layers of the attacker's perceptron, of the models' hidden width.
    #[part(default = 3, in = 1..=8)]
    pub layers: u32,
    /// The attacker's epochs.
    #[part(default = 100, in = 1..=100_000)]
    pub epochs: u32,
    /// The attacker's rate of Adam.
    #[part(default = 0.001, above = 0, in = 1e-8..=10)]
    pub rate: f64,
    /// Graphs a step of the attacker.
    #[part(default = 32, in = 1..=10_000)]
    pub batch: u32,
    /// `Last`: the attacker after all its epochs guesses all graphs that validate and test, as the text says. `BestValidation`: the
    /// attacker after the epoch in which it guesses those that validate best guesses those that test.
    #[part(default = Choice::Last)]
    pub choice: Choice,
    /// The attack is measured after every so many epochs of training besides; 0: before the first and with the chosen model alone.
    pub every: u32,
}
