//! What travels along links, and what whoever measures is shown.

use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::Packed;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

messages! {
    /// From client to client.
    pub enum Peer {
        /// The model on its walk: number of steps, walk index (upper half) with the remaining hops
        /// of a jump (lower half), and weights.
        0, "walk", "token" => Token(step: u32, walk_and_jump: u32, weights: Arc<[f32]>),
        /// The same with weights compressed by `codec`, followed by uncompressed non-trainable
        /// numbers.
        2, "walk", "packed_token" => PackedToken(step: u32, walk_and_jump: u32, weights: Packed),
    }
}

messages! {
    /// To whoever measures.
    pub enum Up {
        /// Progress of a walk and its model, for evaluation only; counts no bytes.
        1, "measurement", "report" => Report(report: Counted<Seen>),
    }
}

/// A walk as it is seen: which, its steps, whether it has ended, and its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub(super) id: u32,
    pub(super) step: u32,
    pub(super) is_over: bool,
    #[serde(with = "shared")]
    pub(super) model: Arc<[f32]>,
}

impl Payload for Seen {
    fn encoded_len(&self) -> usize {
        12 + self.model.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.id, self.step, u32::from(self.is_over)]);
        self.model.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(Seen {
            id: reader.u32()?,
            step: reader.u32()?,
            is_over: reader.u32()? != 0,
            model: Arc::decode(reader)?,
        })
    }
}
