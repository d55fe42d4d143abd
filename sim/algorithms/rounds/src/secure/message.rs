//! What the messages of secure aggregation are made of; `secure` has their table.

use folkmoot_engine::prelude::*;
use std::sync::Arc;

/// Bytes of a public key and of a share of a 256-bit secret.
const KEY_LEN: usize = 32;
/// Bytes of two shares, a nonce and a tag, sealed.
const SEALED_LEN: usize = 2 * KEY_LEN + 12 + 16;

/// A client's public keys: for seals, for masks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicKeys(pub [u64; 2]);

/// Ids and public keys, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Roster(pub Arc<[(u32, [u64; 2])]>);

/// The other client's id, and two sealed shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed(pub Vec<(u32, [u64; 2])>);

/// Ids and shares: of the own mask's seed where a client survived, of the mask key's secret where
/// it did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmasking(pub Vec<(u32, u64)>);

impl Payload for PublicKeys {
    fn encoded_len(&self) -> usize {
        2 * KEY_LEN
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|key| put(out, *key, KEY_LEN));
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(PublicKeys([get(reader, KEY_LEN)?, get(reader, KEY_LEN)?]))
    }
}

impl Payload for Roster {
    fn encoded_len(&self) -> usize {
        (4 + 2 * KEY_LEN) * self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for (id, keys) in self.0.iter() {
            put_u32s(out, &[*id]);
            PublicKeys(*keys).encode(out);
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let entry = |r: &mut WireReader<'_>| Ok((r.u32()?, PublicKeys::decode(r)?.0));
        Ok(Roster(entries(reader, 4 + 2 * KEY_LEN, entry)?.into()))
    }
}

impl Payload for Sealed {
    fn encoded_len(&self) -> usize {
        (4 + SEALED_LEN) * self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for (id, [first, second]) in &self.0 {
            put_u32s(out, &[*id]);
            put(out, *first, KEY_LEN);
            put(out, *second, SEALED_LEN - KEY_LEN);
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let entry = |r: &mut WireReader<'_>| Ok((r.u32()?, [get(r, KEY_LEN)?, get(r, SEALED_LEN - KEY_LEN)?]));
        Ok(Sealed(entries(reader, 4 + SEALED_LEN, entry)?))
    }
}

impl Payload for Unmasking {
    fn encoded_len(&self) -> usize {
        (4 + KEY_LEN) * self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for (id, share) in &self.0 {
            put_u32s(out, &[*id]);
            put(out, *share, KEY_LEN);
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let entry = |r: &mut WireReader<'_>| Ok((r.u32()?, get(r, KEY_LEN)?));
        Ok(Unmasking(entries(reader, 4 + KEY_LEN, entry)?))
    }
}

/// Appends a number in room for a longer one.
fn put(out: &mut Vec<u8>, value: u64, room: usize) {
    out.extend_from_slice(&value.to_le_bytes());
    out.resize(out.len() + room - 8, 0);
}

/// A number that stands in `room` bytes.
fn get(reader: &mut WireReader<'_>, room: usize) -> Result<u64, DecodeError> {
    let value = reader.u64()?;
    for _ in 8..room {
        if reader.u8()? != 0 {
            return Err(DecodeError::Invalid("the room behind a number must be empty"));
        }
    }
    Ok(value)
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
