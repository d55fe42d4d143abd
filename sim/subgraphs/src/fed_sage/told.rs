//! What clients and the server tell each other of generators.

use super::numbers::Numbers;
use super::settings::Plan;
use folkmoot_engine::prelude::*;
use folkmoot_strategies::rounds::message::Extra;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers about one client's generator: a gradient, or the generator itself and behind it, of each training node that is left, its embedding, and then of each how many neighbours
/// it lacks. Which of both they are their number tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Whose generator it is.
    pub whose: u32,
    /// The step that it stands before.
    pub step: u32,
    /// How many numbers it has, which are not made in a dry run. A real message's length tells that, so that it is carried and not counted.
    n_values: u32,
    /// The numbers.
    #[serde(with = "shared")]
    values: Option<Arc<Numbers>>,
}

/// Bytes of what is told besides numbers.
pub(super) const HEAD: u64 = 8;

impl Told {
    pub(super) fn new((whose, step): (u32, u32), values: Numbers) -> Told {
        let n_values = values.len() as u32;
        Told {
            whose,
            step,
            n_values,
            values: (n_values > 0).then(|| Arc::new(values)),
        }
    }

    /// So many numbers that nobody makes.
    pub(super) fn dry((whose, step): (u32, u32), n_values: usize) -> Told {
        Told {
            whose,
            step,
            n_values: n_values as u32,
            values: None,
        }
    }

    /// How many numbers it has, made or not.
    pub(super) fn n_values(&self) -> usize {
        self.n_values as usize
    }

    /// Whether it has numbers that are made.
    pub(super) fn is_made(&self) -> bool {
        self.values.is_some()
    }

    /// The numbers; none in a dry run.
    pub(super) fn values(&self) -> Cow<'_, [f32]> {
        self.values.as_ref().map_or(Cow::default(), |values| values.all())
    }

    /// Writes the numbers from a place on, where they are made.
    pub(super) fn read(&self, from: usize, to: &mut [f32]) {
        if let Some(values) = &self.values {
            values.read(from, to);
        }
    }

    /// A generator of so many numbers, and those behind it; `None` where none is made.
    pub(super) fn generator(&self, n_shared: usize) -> Option<(&[f32], &[f32])> {
        match self.values.as_deref()? {
            Numbers::Plain(values) => values.split_at_checked(n_shared),
            Numbers::Generator { weights, rows } => Some((weights, rows)),
            Numbers::Gradient(_) | Numbers::Sum(_) => None,
        }
    }

    /// Whether it is a generator and not a gradient, where generators have so many numbers.
    pub(super) fn is_generator(&self, n_shared: usize) -> bool {
        self.n_values() > n_shared
    }

    /// Of how many nodes it has embeddings.
    pub(super) fn n_nodes(&self, plan: &Plan, n_shared: usize) -> usize {
        self.n_values().saturating_sub(n_shared) / (plan.latent + 1)
    }
}

impl Extra for Told {
    const NAME: &'static str = "generator";
}

impl Payload for Told {
    const CARRIED: bool = false;

    fn encoded_len(&self) -> usize {
        HEAD as usize + 4 + self.values.encoded_len()
    }

    fn counted_len(&self) -> u64 {
        HEAD + 4 * u64::from(self.n_values)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.whose, self.step, self.n_values]);
        self.values.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Told {
            whose: reader.u32()?,
            step: reader.u32()?,
            n_values: reader.u32()?,
            values: Payload::decode(reader)?,
        })
    }
}
