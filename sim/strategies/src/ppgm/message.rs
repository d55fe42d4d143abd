//! PPGM's messages and their layouts.

use folkmoot_engine::prelude::*;
use folkmoot_engine::wire::{put_f32s, put_u32s};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A match: who began it, and the how-manieth of that device it is. 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatchId {
    /// The device that began it.
    pub initiator: u32,
    /// Its own number for it, from 0.
    pub serial: u32,
}

/// Everything that travels. Numbers are little-endian, matrices row-major and without a shape, which the model says.
#[derive(Clone, Debug)]
pub enum Message {
    /// The trained model, `f32`.
    Model(Arc<[f32]>),
    /// To a device, by the model that exchanges nothing: take part in a match.
    Invite {
        /// Which match.
        id: MatchId,
        /// How often it may be sent again. The sender's own note: it does not travel.
        retries: u32,
    },
    /// Between devices, after an exchange's number: what one sends the other, `f32`. The first of a match invites to it.
    Exchange(Exchange),
    /// To the service: a device's representation, `f32`.
    Result {
        /// Of which match.
        id: MatchId,
        /// Its numbers.
        data: Vec<f32>,
    },
    /// To a device: the score.
    Score {
        /// Of which match.
        id: MatchId,
        /// The score.
        score: f32,
    },
}

/// What one device sends the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Of which match.
    pub id: MatchId,
    /// The exchange's number, from 0.
    pub step: u32,
    /// Its numbers.
    pub data: Vec<f32>,
    /// How often it may be sent again. The sender's own note: it does not travel.
    pub retries: u32,
}

const fn kind(phase: &'static str, name: &'static str) -> Kind {
    Kind { phase, name }
}

impl Wire for Message {
    const KINDS: &'static [Kind] = &[
        kind("install", "model"),
        kind("match", "invite"),
        kind("match", "exchange"),
        kind("match", "result"),
        kind("match", "score"),
    ];

    fn kind(&self) -> usize {
        match self {
            Message::Model(_) => 0,
            Message::Invite { .. } => 1,
            Message::Exchange(_) => 2,
            Message::Result { .. } => 3,
            Message::Score { .. } => 4,
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Message::Model(parameters) => 4 * parameters.len(),
            Message::Invite { .. } => 8,
            Message::Exchange(exchange) => 12 + 4 * exchange.data.len(),
            Message::Result { data, .. } => 8 + 4 * data.len(),
            Message::Score { .. } => 12,
        }
    }

    fn shared_key(&self) -> Option<usize> {
        match self {
            Message::Model(parameters) => Some(Arc::as_ptr(parameters).cast::<u8>().addr()),
            _ => None,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Model(parameters) => put_f32s(out, parameters),
            Message::Invite { id, .. } => id.encode(out),
            Message::Exchange(exchange) => {
                exchange.id.encode(out);
                put_u32s(out, &[exchange.step]);
                put_f32s(out, &exchange.data);
            }
            Message::Result { id, data } => {
                id.encode(out);
                put_f32s(out, data);
            }
            Message::Score { id, score } => {
                id.encode(out);
                put_f32s(out, &[*score]);
            }
        }
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = WireReader::new(bytes);
        let message = match kind {
            0 => Message::Model(reader.rest_f32()?.into()),
            1 => Message::Invite {
                id: MatchId::decode(&mut reader)?,
                retries: 0,
            },
            2 => Message::Exchange(Exchange {
                id: MatchId::decode(&mut reader)?,
                step: reader.u32()?,
                data: reader.rest_f32()?,
                retries: 0,
            }),
            3 => Message::Result {
                id: MatchId::decode(&mut reader)?,
                data: reader.rest_f32()?,
            },
            4 => Message::Score {
                id: MatchId::decode(&mut reader)?,
                score: reader.f32()?,
            },
            _ => return Err(DecodeError::UnknownKind(kind)),
        };
        reader.finish()?;
        Ok(message)
    }
}

impl MatchId {
    fn encode(self, out: &mut Vec<u8>) {
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
        let exchange = Exchange {
            id,
            step: 0,
            data: vec![0.0; 800],
            retries: 0,
        };
        assert_eq!(Message::Exchange(exchange).encoded_len(), 3200 + 12);
        assert_eq!(Message::Model(vec![0.0; 223_300].into()).encoded_len(), 893_200);
        assert_eq!(Message::Invite { id, retries: 2 }.encoded_len(), 8);
        let data = vec![0.0; 100];
        assert_eq!(Message::Result { id, data }.encoded_len(), 400 + 8);
        assert_eq!(Message::Score { id, score: 0.5 }.encoded_len(), 4 + 8);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..7, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(message) = Message::decode(kind, &bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(message.encoded_len(), bytes.len());
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
