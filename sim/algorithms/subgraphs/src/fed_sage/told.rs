//! What clients and the server tell each other of generators.

use super::numbers::Numbers;
use super::settings::Plan;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::message::Extra;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers about one client's generator: a gradient, or the generator itself and behind it, of each
/// training node that is left, its embedding, and then of each how many neighbours it lacks. Which
/// of both they are their number tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Whose generator it is.
    pub whose: u32,
    /// The step that it stands before.
    pub step: u32,
    /// How many numbers it has, which are not made in a dry run. A real message's length tells
    /// that, so that it is carried and not counted; where a codec has packed them, it is counted.
    n_values: u32,
    /// Bytes that are counted of them.
    n_bytes: u64,
    #[serde(with = "shared")]
    values: Option<Arc<Numbers>>,
    /// In their place, what a codec has made of them.
    #[serde(with = "shared")]
    packed: Option<Arc<[u8]>>,
}

/// Bytes of what is told besides numbers.
pub(super) const HEAD: u64 = 8;

impl Told {
    /// Bytes that say how many numbers were packed.
    pub(super) const HOW_MANY: u64 = 4;

    pub(super) fn new((whose, step): (u32, u32), values: Numbers) -> Told {
        let n_values = values.len() as u32;
        Told {
            whose,
            step,
            n_values,
            n_bytes: 4 * u64::from(n_values),
            values: (n_values > 0).then(|| Arc::new(values)),
            packed: None,
        }
    }

    /// So many numbers that nobody makes, and the bytes that are counted of them.
    pub(super) fn dry((whose, step): (u32, u32), n_values: usize, n_bytes: u64) -> Told {
        Told {
            whose,
            step,
            n_values: n_values as u32,
            n_bytes,
            values: None,
            packed: None,
        }
    }

    /// That there is nothing to say.
    pub(super) fn nothing(head: (u32, u32)) -> Told {
        Told::dry(head, 0, 0)
    }

    /// The same with what a codec has made of its numbers in their place.
    pub(super) fn packed_as(self, bytes: Arc<[u8]>) -> Told {
        Told {
            n_bytes: Told::HOW_MANY + bytes.len() as u64,
            values: None,
            packed: Some(bytes),
            ..self
        }
    }

    /// What a codec has made of its numbers.
    pub(super) fn packed(&self) -> Option<&[u8]> {
        self.packed.as_deref()
    }

    /// How many numbers it has, made or not.
    pub(super) fn n_values(&self) -> usize {
        self.n_values as usize
    }

    /// Whether it has numbers that are made.
    pub(super) fn is_made(&self) -> bool {
        self.values.is_some() || self.packed.is_some()
    }

    /// The numbers; none in a dry run, and none where they are packed.
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
    const MATERIALISED: bool = false;

    fn encoded_len(&self) -> usize {
        HEAD as usize + 16 + self.values.encoded_len() + self.packed.encoded_len()
    }

    fn counted_len(&self) -> u64 {
        HEAD + self.n_bytes
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let is_packed = u32::from(self.packed.is_some());
        put_u32s(out, &[self.whose, self.step, self.n_values, is_packed]);
        out.extend_from_slice(&self.n_bytes.to_le_bytes());
        self.values.encode(out);
        self.packed.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let [whose, step, n_values] = [reader.u32()?, reader.u32()?, reader.u32()?];
        let is_packed = reader.u32()? > 0;
        let told = Told {
            n_bytes: reader.u64()?,
            ..Told::dry((whose, step), n_values as usize, 0)
        };
        Ok(match is_packed {
            true => Told {
                packed: Payload::decode(reader)?,
                ..told
            },
            false => Told {
                values: Payload::decode(reader)?,
                ..told
            },
        })
    }
}
