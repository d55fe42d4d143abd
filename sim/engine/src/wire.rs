//! The form in which messages travel: exact sizes without encoding, and an encoding that carries all they hold.

use folkmoot_metrics::Kind;
use std::fmt;

/// A strategy's messages, all of them in one enum.
///
/// Messages are moved in normal runs; `--wire-check` delivers `decode(encode(m))` instead, and every result must be the
/// same. The kind travels in the header, so a payload holds no tag.
pub trait Wire: Sized + Clone + Send {
    /// Every kind, in ledger order.
    const KINDS: &'static [Kind];

    /// The index of this message's kind in [`Wire::KINDS`].
    fn kind(&self) -> usize;

    /// How many bytes [`Wire::encode`] writes, exactly.
    fn encoded_len(&self) -> usize;

    /// Payload bytes that the ledger counts. Default: the encoding's. They differ where real parties would send each
    /// receiver its own cut of content that the simulation carries once for all.
    fn payload_len(&self) -> u64 {
        self.encoded_len() as u64
    }

    /// A key of content that many receivers get alike, such as the address of what an `Arc` holds: `--wire-check` then
    /// puts it through its encoding once and not once per receiver. Default: none.
    fn shared_key(&self) -> Option<usize> {
        None
    }

    /// Appends the payload, little-endian.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a payload of `KINDS[kind]`.
    ///
    /// # Errors
    ///
    /// When the bytes are not such a payload.
    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError>;
}

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// They ended `missing` bytes too early.
    TooShort {
        /// How many bytes are missing at least.
        missing: usize,
    },
    /// `extra` bytes were left over.
    TooLong {
        /// How many.
        extra: usize,
    },
    /// There is no such kind.
    UnknownKind(usize),
    /// A value breaks a rule of the layout.
    Invalid(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::TooShort { missing } => write!(f, "the payload ends {missing} bytes too early"),
            DecodeError::TooLong { extra } => write!(f, "the payload has {extra} bytes too many"),
            DecodeError::UnknownKind(kind) => write!(f, "there is no message kind {kind}"),
            DecodeError::Invalid(rule) => f.write_str(rule),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads little-endian values off a payload.
#[derive(Debug)]
pub struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        WireReader(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.0.split_first_chunk().ok_or_else(|| DecodeError::TooShort {
            missing: N - self.0.len(),
        })?;
        self.0 = rest;
        Ok(*head)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// The next `u32`.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next `f32`.
    pub fn f32(&mut self) -> Result<f32, DecodeError> {
        self.take().map(f32::from_le_bytes)
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left as `u32`s.
    pub fn rest_u32(&mut self) -> Result<Vec<u32>, DecodeError> {
        self.rest_words(u32::from_le_bytes)
    }

    /// All that is left as `f32`s.
    pub fn rest_f32(&mut self) -> Result<Vec<f32>, DecodeError> {
        self.rest_words(f32::from_le_bytes)
    }

    fn rest_words<T>(&mut self, word: fn([u8; 4]) -> T) -> Result<Vec<T>, DecodeError> {
        let (words, odd) = self.rest().as_chunks::<4>();
        match odd.len() {
            0 => Ok(words.iter().map(|&bytes| word(bytes)).collect()),
            n => Err(DecodeError::TooShort { missing: 4 - n }),
        }
    }

    /// Checks that nothing is left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            extra => Err(DecodeError::TooLong { extra }),
        }
    }
}

/// Appends `u32`s, little-endian.
pub fn put_u32s(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Appends `f32`s, little-endian.
pub fn put_f32s(out: &mut Vec<u8>, words: &[f32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_names_what_is_missing_or_left() {
        let mut reader = WireReader::new(&[1, 0, 0, 0, 9]);
        assert_eq!(reader.u32(), Ok(1));
        assert_eq!(reader.u32(), Err(DecodeError::TooShort { missing: 3 }));
        assert_eq!(reader.rest_u32(), Err(DecodeError::TooShort { missing: 3 }));
        let reader = WireReader::new(&[7]);
        assert_eq!(reader.finish(), Err(DecodeError::TooLong { extra: 1 }));
    }
}
