//! A codec: it compresses what is sent.

use folkmoot::codecs::{Codec, Damaged, Shape, n_values};
use folkmoot::draws::SimRng;
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// All numbers, the last first.
#[component(name = "Backwards", about = "all numbers, the last first")]
#[derive(Clone, Copy, Debug)]
struct Backwards {}

impl Codec for Backwards {
    fn encode(&self, values: &[f32], _: &[Shape], _: &mut SimRng, out: &mut Vec<u8>) {
        out.extend(values.iter().rev().flat_map(|x| x.to_le_bytes()));
    }

    fn decode(&self, bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        match numbers.len().cmp(&n_values(shapes)) {
            std::cmp::Ordering::Less => Err(Damaged::TooShort),
            std::cmp::Ordering::Equal if rest.is_empty() => {
                Ok(numbers.iter().rev().map(|bytes| f32::from_le_bytes(*bytes)).collect())
            }
            _ => Err(Damaged::TooLong),
        }
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        Some(4 * n_values(shapes) as u64)
    }

    fn suits_models(&self) -> bool {
        true
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_component::<dyn Codec, Backwards>()?;
    registry.add_card("codec", include_str!("../cards/codec.ron"))
}
