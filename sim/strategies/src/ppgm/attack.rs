//! What an eavesdropper infers: the property of a graph from what left its device, and the graph's arcs where nodes left it.
//!
//! Property inference follows section IV-A of the paper: the attacker knows the properties of a shadow set, a share of the
//! training graphs, learns a perceptron from what was sent of them, and guesses those of all graphs that validate and test. What is
//! read is brought to mean 0 and variance 1 over the shadow set first, of which the paper says nothing.

mod property;
mod structure;

pub use structure::reconstruct;

use super::options::Variant;
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
    /// Linear layers of the attacker's perceptron, 1..=8, of the models' hidden width. By the variant 3 or 2.
    pub layers: u32,
    /// The attacker's epochs, 1..=100000. Default 100.
    pub epochs: u32,
    /// The attacker's rate of Adam, greater than 0, within 1e-8..=10. Default 0.001.
    pub rate: f64,
    /// The attack is measured after every so many epochs of training besides; 0: before the first and with the chosen model
    /// alone. Default 0.
    pub every: u32,
}

/// The same as a card writes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Attack")]
pub(super) struct WrittenAttack {
    property: Option<String>,
    intercept: Option<Intercept>,
    shadow: f64,
    layers: Option<u32>,
    epochs: u32,
    rate: f64,
    every: u32,
}

impl Default for WrittenAttack {
    fn default() -> Self {
        WrittenAttack {
            property: None,
            intercept: None,
            shadow: 0.1,
            layers: None,
            epochs: 100,
            rate: 0.001,
            every: 0,
        }
    }
}

impl WrittenAttack {
    pub(super) fn resolve(self, variant: Variant) -> Attack {
        Attack {
            property: self.property,
            intercept: self.intercept.unwrap_or(match variant {
                Variant::AsPrinted => Intercept::Random,
                Variant::AsReleased | Variant::Corrected => Intercept::Concat,
            }),
            shadow: self.shadow,
            layers: self.layers.unwrap_or(match variant {
                Variant::AsReleased => 2,
                Variant::AsPrinted | Variant::Corrected => 3,
            }),
            epochs: self.epochs,
            rate: self.rate,
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
            layers: Some(attack.layers),
            epochs: attack.epochs,
            rate: attack.rate,
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
            (1e-8..=10.0).contains(&rate),
            "rate",
            format!("must be greater than 0, within 1e-8..=10, got {rate}"),
        );
        breaches
    }
}
