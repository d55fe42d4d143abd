//! The messages of secure aggregation; `secure` has their table.

use folkmoot_engine::prelude::*;
use std::sync::Arc;

/// Bytes of a public key and of a share of a 256-bit secret.
const KEY_LEN: usize = 32;
/// Bytes of two shares, a nonce and a tag, sealed.
const SEALED_LEN: usize = 2 * KEY_LEN + 12 + 16;

/// A message of secure aggregation.
#[derive(Clone, Debug, PartialEq)]
pub enum SecureMessage {
    /// A client's public keys: for seals, for masks.
    Keys([u64; 2]),
    /// The ids and keys of all whose keys came, ascending.
    Roster(Arc<[(u32, [u64; 2])]>),
    /// From a client: for whom, and two sealed shares; from the server: from whom.
    Shares(Vec<(u32, [u64; 2])>),
    /// Weights and samples, masked.
    Masked(Vec<u64>),
    /// A client's update has a number that fixed point cannot hold: its position and its bits.
    Withdrawal(u32, u32),
    /// Whose masked updates came, ascending.
    Survivors(Arc<[u32]>),
    /// Shares: of the own mask's seed where a client survived, of the mask key's secret where it did not.
    Unmasking(Vec<(u32, u64)>),
}

impl SecureMessage {
    /// The names of the kinds, in the order of the variants.
    pub const NAMES: [&'static str; 7] = [
        "keys",
        "roster",
        "shares",
        "masked_update",
        "withdrawal",
        "survivors",
        "unmasking",
    ];

    pub(in super::super) fn kind(&self) -> usize {
        match self {
            SecureMessage::Keys(_) => 0,
            SecureMessage::Roster(_) => 1,
            SecureMessage::Shares(_) => 2,
            SecureMessage::Masked(_) => 3,
            SecureMessage::Withdrawal(..) => 4,
            SecureMessage::Survivors(_) => 5,
            SecureMessage::Unmasking(_) => 6,
        }
    }

    pub(in super::super) fn encoded_len(&self) -> usize {
        match self {
            SecureMessage::Keys(_) => 2 * KEY_LEN,
            SecureMessage::Roster(roster) => (4 + 2 * KEY_LEN) * roster.len(),
            SecureMessage::Shares(shares) => (4 + SEALED_LEN) * shares.len(),
            SecureMessage::Masked(values) => 8 * values.len(),
            SecureMessage::Withdrawal(..) => 8,
            SecureMessage::Survivors(ids) => 4 * ids.len(),
            SecureMessage::Unmasking(shares) => (4 + KEY_LEN) * shares.len(),
        }
    }

    pub(in super::super) fn encode(&self, out: &mut Vec<u8>) {
        // A number in room for a longer one.
        let put = |out: &mut Vec<u8>, value: u64, room: usize| {
            out.extend_from_slice(&value.to_le_bytes());
            out.resize(out.len() + room - 8, 0);
        };
        match self {
            SecureMessage::Keys(keys) => keys.iter().for_each(|key| put(out, *key, KEY_LEN)),
            SecureMessage::Roster(roster) => {
                for (id, keys) in roster.iter() {
                    put_u32s(out, &[*id]);
                    keys.iter().for_each(|key| put(out, *key, KEY_LEN));
                }
            }
            SecureMessage::Shares(shares) => {
                for (id, [first, second]) in shares {
                    put_u32s(out, &[*id]);
                    put(out, *first, KEY_LEN);
                    put(out, *second, SEALED_LEN - KEY_LEN);
                }
            }
            SecureMessage::Masked(values) => values.iter().for_each(|value| put(out, *value, 8)),
            SecureMessage::Withdrawal(index, bits) => put_u32s(out, &[*index, *bits]),
            SecureMessage::Survivors(ids) => put_u32s(out, ids),
            SecureMessage::Unmasking(shares) => {
                for (id, share) in shares {
                    put_u32s(out, &[*id]);
                    put(out, *share, KEY_LEN);
                }
            }
        }
    }

    pub(in super::super) fn decode(kind: usize, reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            0 => SecureMessage::Keys([get(reader, KEY_LEN)?, get(reader, KEY_LEN)?]),
            1 => {
                let entry = |r: &mut WireReader<'_>| Ok((r.u32()?, [get(r, KEY_LEN)?, get(r, KEY_LEN)?]));
                SecureMessage::Roster(entries(reader, 4 + 2 * KEY_LEN, entry)?.into())
            }
            2 => {
                let entry = |r: &mut WireReader<'_>| Ok((r.u32()?, [get(r, KEY_LEN)?, get(r, SEALED_LEN - KEY_LEN)?]));
                SecureMessage::Shares(entries(reader, 4 + SEALED_LEN, entry)?)
            }
            3 => SecureMessage::Masked(entries(reader, 8, |r| get(r, 8))?),
            4 => SecureMessage::Withdrawal(reader.u32()?, reader.u32()?),
            5 => SecureMessage::Survivors(reader.rest_u32()?.into()),
            6 => SecureMessage::Unmasking(entries(reader, 4 + KEY_LEN, |r| Ok((r.u32()?, get(r, KEY_LEN)?)))?),
            _ => return Err(DecodeError::UnknownKind(kind)),
        })
    }
}

/// A number that stands in `room` bytes.
fn get(reader: &mut WireReader<'_>, room: usize) -> Result<u64, DecodeError> {
    let (low, high) = (reader.u32()?, reader.u32()?);
    for _ in 8..room {
        if reader.u8()? != 0 {
            return Err(DecodeError::Invalid("the room behind a number must be empty"));
        }
    }
    Ok(u64::from(high) << 32 | u64::from(low))
}

/// All that is left, in entries of `len` bytes.
fn entries<T>(
    reader: &mut WireReader<'_>,
    len: usize,
    read: impl Fn(&mut WireReader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let bytes = reader.rest();
    let chunks = bytes.chunks(len).map(|chunk| read(&mut WireReader::new(chunk)));
    chunks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_those_of_the_table_and_messages_survive() {
        let messages = [
            (SecureMessage::Keys([1, u64::MAX]), 64),
            (SecureMessage::Roster([(3, [1, 2]), (4, [5, 6])].into()), 136),
            (SecureMessage::Shares(vec![(9, [7, u64::MAX])]), 96),
            (SecureMessage::Masked(vec![u64::MAX, 0, 1]), 24),
            (SecureMessage::Withdrawal(7, 8), 8),
            (SecureMessage::Survivors([1, 2, 3].into()), 12),
            (SecureMessage::Unmasking(vec![(1, 2), (3, 4)]), 72),
        ];
        for (kind, (message, len)) in messages.into_iter().enumerate() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!((message.kind(), message.encoded_len(), bytes.len()), (kind, len, len));
            let mut reader = WireReader::new(&bytes);
            assert_eq!(SecureMessage::decode(kind, &mut reader), Ok(message));
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(kind in 0usize..8, bytes in prop::collection::vec(any::<u8>(), 0..150)) {
            let mut reader = WireReader::new(&bytes);
            if let Ok(message) = SecureMessage::decode(kind, &mut reader) && reader.finish().is_ok() {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
