//! Models as codecs pack them: the numbers that learn by the codec, and behind them those that do
//! not, such as running statistics, as they are.

use folkmoot_codecs::{Codec, Damaged, Shape, feedback, n_values};
use folkmoot_engine::prelude::*;
use folkmoot_learning::is_finite;
use folkmoot_parts::Broken;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a codec has made of numbers; the last field of a message, as it goes on to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packed(#[serde(with = "shared")] pub Arc<[u8]>);

impl Payload for Packed {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Packed(reader.rest().into()))
    }
}

/// What is doubtful about whole models that are packed so, where a hidden layer has so many
/// columns; `path` is the codec's. Feedback is a way out where it is taken.
pub fn lints(path: &str, codec: &dyn Codec, hidden: u32, takes_feedback: bool) -> Vec<Broken> {
    let n = hidden as usize;
    let doubt = |error: f64| Broken {
        path: path.to_owned(),
        rule: format!(
            "may distort an {n} × {n} weight matrix by up to {} times its norm; use more levels{}",
            (10.0 * error.sqrt()).round() / 10.0,
            if takes_feedback {
                ", a smaller bucket or error feedback"
            } else {
                " or a smaller bucket"
            }
        ),
    };
    let error = codec.most_error(n * n).filter(|error| *error > 1.0);
    error.map(doubt).into_iter().collect()
}

/// Those of `messages`, which `codec` packs, whose size depends on the numbers, as
/// [`Strategy::sized_by_values`] lists them.
pub fn sized_by_values(codec: &dyn Codec, messages: &[&'static str]) -> Vec<&'static str> {
    match codec.encoded_len(&[[1, 1]]) {
        None => messages.to_vec(),
        Some(_) => Vec::new(),
    }
}

/// A model as it was sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Sent {
    Plain(#[serde(with = "shared")] Arc<[f32]>),
    /// As a codec has packed it.
    Packed(#[serde(with = "shared")] Arc<[u8]>),
}

/// How models of one form are packed.
pub struct Packing<'a> {
    codec: &'a dyn Codec,
    /// Of the numbers that learn.
    shapes: Vec<Shape>,
}

impl<'a> Packing<'a> {
    /// By a codec, of numbers that learn and stand in matrices of these shapes.
    pub fn new(codec: &'a dyn Codec, shapes: Vec<Shape>) -> Packing<'a> {
        Packing { codec, shapes }
    }

    /// Packs finite numbers, of which the first learn. With a `memory` what was left out before is
    /// added to those, and what is left out now is kept there.
    ///
    /// # Panics
    ///
    /// If there are fewer numbers than learn, or the memory is not empty and holds another number
    /// of them.
    pub fn pack(&self, values: &[f32], memory: Option<&mut Vec<f32>>, rng: &mut SimRng) -> Packed {
        let (learning, others) = values.split_at(n_values(&self.shapes));
        let mut bytes = Vec::new();
        match memory {
            Some(memory) => feedback(self.codec, learning, memory, &self.shapes, rng, &mut bytes),
            None => self.codec.encode(learning, &self.shapes, rng, &mut bytes),
        }
        bytes.extend(others.iter().flat_map(|x| x.to_le_bytes()));
        Packed(bytes.into())
    }

    /// The numbers that were packed, as far as the codec has kept them; `n_others` do not learn.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of an encoding.
    pub fn open(&self, bytes: &[u8], n_others: usize) -> Result<Vec<f32>, Damaged> {
        let at = bytes.len().checked_sub(4 * n_others).ok_or(Damaged::TooShort)?;
        let (packed, others) = bytes.split_at(at);
        let mut values = self.codec.decode(packed, &self.shapes)?;
        let (words, _) = others.as_chunks();
        values.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
        Ok(values)
    }
}

/// The position of the first number that is not finite, which is looked for only where there is
/// one.
pub fn first_not_finite(values: &[f32]) -> Option<usize> {
    match is_finite(values) {
        true => None,
        false => values.iter().position(|x| !x.is_finite()),
    }
}
