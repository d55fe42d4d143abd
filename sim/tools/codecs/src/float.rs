//! Numbers as floats of other lengths.

use crate::bits::{put_f32, take_f32};
use crate::{Codec, Damaged, Shape, n_values};
use folkmoot_draws::SimRng;
use folkmoot_parts::component;
use half::{bf16, f16};

/// Uncompressed `f32` values, four bytes each.
#[component(name = "Plain", about = "uncompressed f32, four bytes per value")]
#[derive(Clone, Copy, Debug)]
pub struct Plain {}

/// The nearest half-precision number (IEEE 754 binary16), ties to even; clipped to ±65 504.
#[component(name = "Half", about = "half precision (f16), two bytes per value")]
#[derive(Clone, Copy, Debug)]
pub struct Half {}

/// The nearest bfloat16 number (8-bit exponent, eight significant bits), ties to even; clipped to
/// the largest finite value.
#[component(name = "Bfloat", about = "bfloat16, two bytes per value")]
#[derive(Clone, Copy, Debug)]
pub struct Bfloat {}

impl Codec for Plain {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        values.iter().for_each(|x| put_f32(*x, out));
    }

    fn decode(&self, mut bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let values = (0..n_values(shapes)).map(|_| take_f32(&mut bytes)).collect();
        ended(bytes, values)
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(4 * n_values(shapes) as u64)
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn suits_models(&self) -> bool {
        true
    }

    fn packs_singly(&self) -> bool {
        true
    }
}

impl Codec for Half {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        let (low, high) = (f16::MIN.to_f32(), f16::MAX.to_f32());
        for x in values {
            out.extend_from_slice(&f16::from_f32(x.clamp(low, high)).to_le_bytes());
        }
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        halves(bytes, shapes, |pair| f16::from_le_bytes(pair).to_f32())
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(2 * n_values(shapes) as u64)
    }

    fn suits_models(&self) -> bool {
        true
    }

    fn packs_singly(&self) -> bool {
        true
    }
}

impl Codec for Bfloat {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        let (low, high) = (bf16::MIN.to_f32(), bf16::MAX.to_f32());
        for x in values {
            out.extend_from_slice(&bf16::from_f32(x.clamp(low, high)).to_le_bytes());
        }
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        halves(bytes, shapes, |pair| bf16::from_le_bytes(pair).to_f32())
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(2 * n_values(shapes) as u64)
    }

    fn suits_models(&self) -> bool {
        true
    }

    fn packs_singly(&self) -> bool {
        true
    }
}

fn halves(mut bytes: &[u8], shapes: &[Shape], number: impl Fn([u8; 2]) -> f32) -> Result<Vec<f32>, Damaged> {
    let one = |_| {
        let (pair, rest) = bytes.split_first_chunk().ok_or(Damaged::TooShort)?;
        bytes = rest;
        let x = number(*pair);
        match x.is_finite() {
            true => Ok(x),
            false => Err(Damaged::Invalid("a number is not finite")),
        }
    };
    let values = (0..n_values(shapes)).map(one).collect();
    ended(bytes, values)
}

/// What was read, if nothing is left.
fn ended(rest: &[u8], values: Result<Vec<f32>, Damaged>) -> Result<Vec<f32>, Damaged> {
    match (values, rest.is_empty()) {
        (Ok(_), false) => Err(Damaged::TooLong),
        (values, _) => values,
    }
}
