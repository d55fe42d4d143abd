//! What an eavesdropper infers: the property of a graph from what left its device, and the graph's arcs where nodes left it.
//!
//! Property inference follows section IV-A of the paper: the attacker knows the properties of a shadow set, a share of the
//! training graphs, learns a perceptron from what was sent of them, and guesses those of all graphs that validate and test. What is
//! read is brought to mean 0 and variance 1 over the shadow set first, of which the paper says nothing. The authors' program
//! (`cfg_inf.py`) is another attacker, which `AsReleased` comes close to: its shadow set are all graphs of a tenth of the functions,
//! it reads messages as they are, and it stops where it guesses graphs that validate best. What is left of the difference: it
//! draws new pairs for its shadow set in every epoch, reads both pairs of a graph, and keeps the model's dropout while it learns.

mod property;
mod structure;

pub use structure::reconstruct;

use super::options::Variant;
use super::params::Choice;
use folkmoot_engine::world::Breach;
use serde::{Deserialize, Serialize};

/// What the eavesdropper reads. `g` is a device's message to the other, `o` that to the service; of a message of several rows the
/// mean is read, but for `AllG`. Where there is no message to the other device, only `o` is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
}

impl Intercept {
    /// All of them, with their names in summaries.
    pub const ALL: [(Intercept, &'static str); 5] = [
        (Intercept::Concat, "concat"),
        (Intercept::G, "g"),
        (Intercept::O, "o"),
        (Intercept::Random, "random"),
        (Intercept::AllG, "all_g"),
    ];
}

/// Of what the shadow set is a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShadowOf {
    /// Of the training graphs: the attacker knows variants of most functions.
    #[default]
    Graphs,
    /// Of the training graphs as well, but taken function by function: the attacker knows all variants of a few.
    Classes,
}

/// The attacker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Which property is inferred, such as `level`; all of them together if absent, which is the default.
    pub property: Option<String>,
    /// What `attack_auc` is measured on; all others have their own name. By the variant `Random` or `Concat`.
    pub intercept: Intercept,
    /// The share of the training graphs whose properties the attacker knows, above 0 and at most 1. Default 0.1.
    pub shadow: f64,
    /// How they are chosen. By the variant `Graphs` or `Classes`.
    pub shadow_of: ShadowOf,
    /// Whether every number is brought to mean 0 and variance 1 over the shadow set before it is read. By the variant true or false.
    pub standardise: bool,
    /// Linear layers of the attacker's perceptron, 1..=8, of the models' hidden width. By the variant 3 or 2.
    pub layers: u32,
    /// The attacker's epochs, 1..=100000. Default 100.
    pub epochs: u32,
    /// The attacker's rate of Adam, greater than 0, within 1e-8..=10. By the variant 0.001 or 0.0005.
    pub rate: f64,
    /// Graphs a step of the attacker, 1..=10000. By the variant 32 or 10.
    pub batch: u32,
    /// `Last`: the attacker after all its epochs guesses all graphs that validate and test, as the text says. `BestValidation`: the
    /// attacker after the epoch in which it guesses those that validate best guesses those that test. By the variant `Last` or
    /// `BestValidation`.
    pub choice: Choice,
    /// The attack is measured after every so many epochs of training besides; 0: before the first and with the chosen model
    /// alone. Default 0.
    pub every: u32,
}

/// The same as a card writes it: what it leaves open goes by the variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Attack")]
pub(super) struct WrittenAttack {
    property: Option<String>,
    intercept: Option<Intercept>,
    shadow: f64,
    shadow_of: Option<ShadowOf>,
    standardise: Option<bool>,
    layers: Option<u32>,
    epochs: u32,
    rate: Option<f64>,
    batch: Option<u32>,
    choice: Option<Choice>,
    every: u32,
}

impl Default for WrittenAttack {
    fn default() -> Self {
        WrittenAttack {
            property: None,
            intercept: None,
            shadow: 0.1,
            shadow_of: None,
            standardise: None,
            layers: None,
            epochs: 100,
            rate: None,
            batch: None,
            choice: None,
            every: 0,
        }
    }
}

impl WrittenAttack {
    pub(super) fn resolve(self, variant: Variant) -> Attack {
        let released = variant == Variant::AsReleased;
        let intercept = match variant {
            Variant::AsPrinted => Intercept::Random,
            Variant::AsReleased | Variant::Corrected => Intercept::Concat,
        };
        let (shadow_of, choice) = match released {
            true => (ShadowOf::Classes, Choice::BestValidation),
            false => (ShadowOf::Graphs, Choice::Last),
        };
        Attack {
            property: self.property,
            intercept: self.intercept.unwrap_or(intercept),
            shadow: self.shadow,
            shadow_of: self.shadow_of.unwrap_or(shadow_of),
            standardise: self.standardise.unwrap_or(!released),
            layers: self.layers.unwrap_or(if released { 2 } else { 3 }),
            epochs: self.epochs,
            rate: self.rate.unwrap_or(if released { 0.0005 } else { 0.001 }),
            batch: self.batch.unwrap_or(if released { 10 } else { 32 }),
            choice: self.choice.unwrap_or(choice),
            every: self.every,
        }
    }
}

impl From<Attack> for WrittenAttack {
    fn from(attack: Attack) -> Self {
        WrittenAttack {
            property: attack.property,
            intercept: Some(attack.intercept),
            shadow: attack.shadow,
            shadow_of: Some(attack.shadow_of),
            standardise: Some(attack.standardise),
            layers: Some(attack.layers),
            epochs: attack.epochs,
            rate: Some(attack.rate),
            batch: Some(attack.batch),
            choice: Some(attack.choice),
            every: attack.every,
        }
    }
}

impl Attack {
    /// Every rule it breaks.
    pub(super) fn check(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((field.to_owned(), rule));
            }
        };
        let Attack {
            shadow,
            layers,
            epochs,
            rate,
            batch,
            ..
        } = *self;
        need(
            shadow > 0.0 && shadow <= 1.0,
            "shadow",
            format!("must be greater than 0 and at most 1, got {shadow}"),
        );
        need(
            (1..=8).contains(&layers),
            "layers",
            format!("must lie in 1..=8, got {layers}"),
        );
        need(
            (1..=100_000).contains(&epochs),
            "epochs",
            format!("must lie in 1..=100000, got {epochs}"),
        );
        need(
            (1..=10_000).contains(&batch),
            "batch",
            format!("must lie in 1..=10000, got {batch}"),
        );
        need(
            (1e-8..=10.0).contains(&rate),
            "rate",
            format!("must be greater than 0, within 1e-8..=10, got {rate}"),
        );
        breaches
    }
}
