//! What an app's strategy declares: its messages, mechanisms and whether clients start.

use folkmoot_engine::prelude::*;
use folkmoot_privacy::{DELTA, Gaussian, Mechanism, NoiseForm, NoisyCounts, ReleaseError};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Of messages of clients that are not declared as released.
pub(super) const UNPROTECTED: Channel = Channel::new(0, Purpose(*b"py-sent "));

/// A kind of message.
#[derive(Debug, Deserialize)]
pub(super) struct DeclaredMessage {
    pub(super) name: String,
    direction: String,
    phases: Vec<String>,
    absent: String,
    pub(super) is_released: bool,
}

/// A mechanism.
#[derive(Debug, Deserialize)]
struct DeclaredMechanism {
    name: String,
    noise: Noise,
    unit: String,
}

#[derive(Debug, Deserialize)]
struct Noise {
    noise: String,
    scale: f64,
    clip: f64,
}

/// All that an app declares.
#[derive(Debug, Deserialize)]
pub(super) struct Declared {
    messages: Vec<DeclaredMessage>,
    mechanisms: Vec<DeclaredMechanism>,
    pub(super) starts_clients: bool,
}

impl Declared {
    pub(super) fn read(functions: &Value) -> Result<Declared, StrategyError> {
        let declared = functions.pointer("/strategy/declared").cloned().unwrap_or_default();
        let unread = |error| StrategyError(format!("what the app declares cannot be read: {error}"));
        serde_json::from_value(declared).map_err(unread)
    }

    /// Each message in each of its phases, in the order of their places in the ledger.
    fn placed(&self) -> impl Iterator<Item = (&DeclaredMessage, &str)> {
        let phases = |message: &'_ DeclaredMessage| message.phases.len();
        let each = self
            .messages
            .iter()
            .flat_map(move |message| (0..phases(message)).map(move |at| (message, at)));
        each.map(|(message, at)| (message, message.phases[at].as_str()))
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        let kind = |(message, phase): (&DeclaredMessage, &str)| Kind {
            phase: kept(phase),
            name: kept(&message.name),
            materialised: true,
        };
        self.placed().map(kind).collect()
    }

    /// The place of a message in a phase.
    pub(super) fn place(&self, name: &str, phase: &str) -> Option<usize> {
        self.placed()
            .position(|(message, of)| message.name == name && of == phase)
    }

    pub(super) fn message(&self, place: usize) -> Option<&DeclaredMessage> {
        self.placed().nth(place).map(|(message, _)| message)
    }

    pub(super) fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: String, unit: &str| MechanismInfo {
            mechanism,
            unit: unit.to_owned(),
            claimed: None,
        };
        let of_clients = info("none: messages".to_owned(), "one shard");
        let declared = self.mechanisms.iter().map(|declared| {
            let noise = match declared.noise.noise.as_str() {
                "laplace" => "Laplace noise",
                _ => "Gaussian noise",
            };
            info(format!("{noise}: {}", declared.name), &declared.unit)
        });
        std::iter::once(of_clients).chain(declared).collect()
    }

    /// Values clipped and summed over rows, the mechanism that makes them noisy, and its channel.
    pub(super) fn mechanism(
        &self,
        name: &str,
        rows: &[f64],
        n_rows: usize,
    ) -> Result<(Vec<f64>, Noisy), StrategyError> {
        let at = self.mechanisms.iter().position(|declared| declared.name == name);
        let at = at.ok_or_else(|| StrategyError(format!("there is no mechanism {name}")))?;
        let Noise { noise, scale, clip } = &self.mechanisms[at].noise;
        let unit = kept(&self.mechanisms[at].unit);
        let is_laplace = noise == "laplace";
        let width = rows.len() / n_rows.max(1);
        let mut sum = vec![0.0; width];
        for row in rows.chunks_exact(width.max(1)) {
            let norm = match is_laplace {
                true => row.iter().map(|x| x.abs()).sum::<f64>(),
                false => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
            };
            let factor = if norm > *clip { clip / norm } else { 1.0 };
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
        }
        let wrong = |error| StrategyError(format!("mechanism {name}: {error}"));
        let noise = match is_laplace {
            true => NoisyCounts::new(*scale, *clip, unit).map(By::Laplace),
            false => Gaussian::new(scale * clip, *clip, DELTA, unit).map(By::Gaussian),
        };
        let noise = noise.map_err(wrong)?;
        let channel = Channel::new(1 + at, Purpose(*b"py-noise"));
        Ok((sum, Noisy { channel, noise }))
    }
}

impl DeclaredMessage {
    pub(super) fn absence(&self) -> Absence {
        match self.absent.as_str() {
            "tell" => Absence::Tell { after: SimSpan::ZERO },
            "drop" => Absence::GiveUp,
            _ => Absence::Wait,
        }
    }

    pub(super) fn goes(&self, direction: &str) -> bool {
        self.direction == direction
    }
}

/// A mechanism with where it is charged.
pub(super) struct Noisy {
    pub(super) channel: Channel,
    noise: By,
}

enum By {
    Gaussian(Gaussian),
    Laplace(NoisyCounts),
}

impl Mechanism for Noisy {
    type Input = [f64];
    type Release = Vec<f64>;

    fn release_in(&self, form: NoiseForm, values: &[f64], rng: &mut SimRng) -> Result<Vec<f64>, ReleaseError> {
        match &self.noise {
            By::Gaussian(noise) => noise.release_in(form, values, rng),
            By::Laplace(noise) => noise.release_in(form, values, rng),
        }
    }

    fn cost(&self) -> folkmoot_privacy::PrivacyCost {
        match &self.noise {
            By::Gaussian(noise) => noise.cost(),
            By::Laplace(noise) => noise.cost(),
        }
    }

    fn law(&self) -> folkmoot_privacy::Law {
        match &self.noise {
            By::Gaussian(noise) => noise.law(),
            By::Laplace(noise) => noise.law(),
        }
    }
}

/// A name for as long as the program runs: the ledger's are names in the program's text elsewhere.
/// Each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}
