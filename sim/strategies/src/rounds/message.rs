//! What travels in rounds.
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `model` | downlink | what the round asks for, then the weights as `f32` | order + 4 × n_params |
//! | `update` | uplink | training samples as `u32`, then the weights or their change as `f32` | 4 + 4 × n_params |
//! | named by the strategy | uplink | what it adds to an update, in rounds that ask for it | its own |
//!
//! With secure aggregation other messages take the place of `update`; `secure` has their table.
//!
//! The round of a model, and so of the answer to it, stands in the header.

use super::secure::SecureMessage;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A strategy's own part of the messages in rounds.
pub trait Payload: State + Sync + Clone + 'static {
    /// Its name in the ledger, where it travels as a message of its own.
    const NAME: &'static str;

    /// How many bytes [`encode`](Self::encode) writes, exactly.
    fn encoded_len(&self) -> usize;

    /// Appends the payload, little-endian.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads it back; as part of a model, other bytes follow.
    ///
    /// # Errors
    ///
    /// When the bytes are not such a payload.
    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError>;
}

/// Nothing: 0 bytes.
impl Payload for () {
    const NAME: &'static str = "nothing";

    fn encoded_len(&self) -> usize {
        0
    }

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// The messages of a round, with orders `O` and extras `E`.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<O, E> {
    /// The global model, to a client of the cohort.
    Model {
        /// What the server asks for besides training.
        order: O,
        /// The weights.
        parameters: Arc<[f32]>,
    },
    /// What a client learned.
    Update(Update),
    /// What a client sends beside its update.
    Extra(E),
    /// Whatever secure aggregation sends in place of updates.
    Secure(SecureMessage),
}

/// What a client learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// How many samples it has learned from.
    pub n_samples: u32,
    /// Its weights, or their change since the model that it was sent.
    pub values: Vec<f32>,
}

const PHASE: &str = "rounds";
/// Kinds before those of secure aggregation.
const N_PLAIN: usize = 3;

const fn secure(kind: usize) -> Kind {
    Kind {
        phase: PHASE,
        name: SecureMessage::NAMES[kind],
    }
}

impl<O: Payload, E: Payload> Wire for Message<O, E> {
    const KINDS: &'static [Kind] = &[
        Kind {
            phase: PHASE,
            name: "model",
        },
        Kind {
            phase: PHASE,
            name: "update",
        },
        Kind {
            phase: PHASE,
            name: E::NAME,
        },
        secure(0),
        secure(1),
        secure(2),
        secure(3),
        secure(4),
        secure(5),
        secure(6),
    ];

    fn kind(&self) -> usize {
        match self {
            Message::Model { .. } => 0,
            Message::Update(_) => 1,
            Message::Extra(_) => 2,
            Message::Secure(message) => N_PLAIN + message.kind(),
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Message::Model { order, parameters } => order.encoded_len() + 4 * parameters.len(),
            Message::Update(update) => 4 + 4 * update.values.len(),
            Message::Extra(extra) => extra.encoded_len(),
            Message::Secure(message) => message.encoded_len(),
        }
    }

    fn shared_key(&self) -> Option<usize> {
        match self {
            Message::Model { parameters, .. } => Some(Arc::as_ptr(parameters).addr()),
            _ => None,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Model { order, parameters } => {
                order.encode(out);
                put_f32s(out, parameters);
            }
            Message::Update(update) => {
                put_u32s(out, &[update.n_samples]);
                put_f32s(out, &update.values);
            }
            Message::Extra(extra) => extra.encode(out),
            Message::Secure(message) => message.encode(out),
        }
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = WireReader::new(bytes);
        let message = match kind {
            0 => Message::Model {
                order: O::decode(&mut reader)?,
                parameters: reader.rest_f32()?.into(),
            },
            1 => Message::Update(Update {
                n_samples: reader.u32()?,
                values: reader.rest_f32()?,
            }),
            2 => Message::Extra(E::decode(&mut reader)?),
            _ => Message::Secure(SecureMessage::decode(kind - N_PLAIN, &mut reader)?),
        };
        reader.finish()?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_those_of_the_table() {
        let model = Message::<(), ()>::Model {
            order: (),
            parameters: vec![1.5, -0.0].into(),
        };
        let update = Message::<(), ()>::Update(Update {
            n_samples: 3,
            values: vec![1.0],
        });
        for (message, bytes) in [
            (model, vec![0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]),
            (update, vec![3, 0, 0, 0, 0, 0, 0x80, 0x3f]),
            (Message::Extra(()), vec![]),
        ] {
            let mut encoded = Vec::new();
            message.encode(&mut encoded);
            assert_eq!(encoded, bytes);
            assert_eq!(message.encoded_len(), bytes.len());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..12, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(message) = Message::<(), ()>::decode(kind, &bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
