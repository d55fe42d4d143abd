//! PPGM's messages and their layouts. Matrices are row-major and without a shape, which the model
//! says.

use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::Packed;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

messages! {
    /// From the service to a device.
    pub enum Down {
        /// The trained model.
        0, "install", "model" => Model(parameters: Arc<[f32]>),
        /// The score of a match.
        4, "match", "score" => Score(id: MatchId, score: f32),
    }
}

messages! {
    /// From a device to the service.
    pub enum Up {
        /// A device's representation for the service.
        3, "match", "result" => Result(id: MatchId, representation: Vec<f32>),
        /// The same, compressed by the codec, with its number of rows.
        6, "match", "packed_result" => PackedResult(id: MatchId, n_rows: u32, representation: Packed),
    }
}

messages! {
    /// Between devices.
    pub enum Peer {
        /// Invitation to a match, for models without an exchange between devices.
        1, "match", "invite" => Invite(id: MatchId),
        /// Intermediate representation for the partner, with the exchange step from 0. The first of
        /// a match also invites to it.
        2, "match", "exchange" => Exchange(id: MatchId, step: u32, rows: Vec<f32>),
        /// The same, compressed by the codec, with its number of rows.
        5, "match", "packed_exchange" => PackedExchange(id: MatchId, step: u32, n_rows: u32, rows: Packed),
    }
}

/// A match: the device that began it, and that device's own number for it. 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatchId {
    /// The device that began it.
    pub initiator: u32,
    /// Its own number for it, from 0.
    pub serial: u32,
}

impl Payload for MatchId {
    fn encoded_len(&self) -> usize {
        8
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32s(out, &[self.initiator, self.serial]);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(MatchId {
            initiator: reader.u32()?,
            serial: reader.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The paper's sizes at m = 8 and d = 100, and what a match's number adds to them.
    #[test]
    fn payloads_have_the_sizes_of_the_papers_table_and_a_number() {
        let id = MatchId {
            initiator: 1,
            serial: 2,
        };
        assert_eq!(Peer::Exchange(id, 0, vec![0.0; 800]).encoded_len(), 3200 + 12);
        assert_eq!(Down::Model(vec![0.0; 223_300].into()).encoded_len(), 893_200);
        assert_eq!(Peer::Invite(id).encoded_len(), 8);
        assert_eq!(Up::Result(id, vec![0.0; 100]).encoded_len(), 400 + 8);
        assert_eq!(Down::Score(id, 0.5).encoded_len(), 4 + 8);
        let packed = Packed(vec![0; 1600].into());
        assert_eq!(Peer::PackedExchange(id, 0, 8, packed).encoded_len(), 1600 + 16);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..7, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            fn back<M: Wire>(kind: usize, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
                let message = M::decode(kind, bytes).ok()?;
                let mut again = Vec::new();
                message.encode(&mut again);
                Some((message.encoded_len(), again))
            }
            let all = [back::<Down>(kind, &bytes), back::<Up>(kind, &bytes), back::<Peer>(kind, &bytes)];
            for (len, again) in all.into_iter().flatten() {
                prop_assert_eq!(len, bytes.len());
                prop_assert_eq!(&again, &bytes);
            }
        }
    }
}
