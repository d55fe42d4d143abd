//! The form in which messages travel: exact sizes without encoding, and an encoding that carries
//! all they hold.

use crate::shared;
pub use folkmoot_metrics::Kind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// A strategy's messages that go one way, all of them in one enum.
///
/// Messages are moved in normal runs; `--wire-check` delivers `decode(encode(m))` instead, and
/// every result must be the same. The kind travels in the header, so a payload holds no tag.
pub trait Wire: Sized + Clone + Send {
    /// Every kind with its place in the ledger's order, which the messages of all ways share. A
    /// kind that goes two ways has one place.
    const KINDS: &'static [Declared];

    /// The place of this message's kind.
    fn kind(&self) -> usize;

    /// How many bytes [`Wire::encode`] writes, exactly.
    fn encoded_len(&self) -> usize;

    /// Payload bytes that the ledger counts. Default: the encoding's. They differ where real
    /// parties would send each receiver its own cut of content that the simulation carries once for
    /// all.
    fn payload_len(&self) -> u64 {
        self.encoded_len() as u64
    }

    /// Sets what the ledger counts of a message that has just been decoded, and that counts bytes
    /// which do not travel ([`Counted`]), to what it was. Default: nothing, as there is nothing
    /// else than what is carried.
    fn set_counted(&mut self, _bytes: u64) {}

    /// Appends the payload, little-endian.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a payload of the kind at that place.
    ///
    /// # Errors
    ///
    /// When the bytes are not such a payload.
    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError>;
}

/// A kind of message as it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its place in the ledger's order.
    pub place: usize,
    /// What the ledger calls it.
    pub kind: Kind,
    /// What it is; blank where nobody says.
    pub about: &'static str,
    /// What it carries, each as `name: Type` in backticks; blank where it carries nothing.
    pub payload: &'static str,
}

/// No message at all: what goes a way that nothing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

impl Wire for Never {
    const KINDS: &'static [Declared] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }

    fn encoded_len(&self) -> usize {
        match *self {}
    }

    fn encode(&self, _: &mut Vec<u8>) {
        match *self {}
    }

    fn decode(kind: usize, _: &[u8]) -> Result<Self, DecodeError> {
        Err(DecodeError::UnknownKind(kind))
    }
}

/// The fault of a message whose size is not what it says.
pub(crate) const WRONG_LEN: &str = "encoded_len differs from the length of the encoding";

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// They ended `missing` bytes too early.
    #[error("the payload ends {missing} bytes too early")]
    TooShort {
        /// How many bytes are missing at least.
        missing: usize,
    },
    /// `extra` bytes were left over.
    #[error("the payload has {extra} bytes too many")]
    TooLong { extra: usize },
    /// There is no such kind.
    #[error("there is no message kind {0}")]
    UnknownKind(usize),
    /// A value breaks a rule of the layout.
    #[error("{0}")]
    Invalid(&'static str),
}

/// Reads little-endian values off a payload.
#[derive(Debug)]
pub struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        WireReader(bytes)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
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

    /// The next `u64`.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.take().map(u64::from_le_bytes)
    }

    /// The next `f32`.
    pub fn f32(&mut self) -> Result<f32, DecodeError> {
        self.take().map(f32::from_le_bytes)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left as bytes; never fails, as those beside it may.
    fn rest_u8(&mut self) -> Result<&'a [u8], DecodeError> {
        Ok(self.rest())
    }

    /// All that is left as `u32`s.
    pub fn rest_u32(&mut self) -> Result<Vec<u32>, DecodeError> {
        self.rest_words(u32::from_le_bytes)
    }

    /// All that is left as `u64`s.
    pub fn rest_u64(&mut self) -> Result<Vec<u64>, DecodeError> {
        let (words, odd) = self.rest().as_chunks::<8>();
        match odd.len() {
            0 => Ok(words.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()),
            n => Err(DecodeError::TooShort { missing: 8 - n }),
        }
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

/// A value that messages are made of.
pub trait Payload: Sized {
    /// Whether a message holds all that the ledger counts of it. Default: yes.
    const MATERIALISED: bool = true;

    /// How many bytes [`encode`](Self::encode) writes, exactly.
    fn encoded_len(&self) -> usize;

    /// Bytes that the ledger counts. Default: the encoding's.
    fn counted_len(&self) -> u64 {
        self.encoded_len() as u64
    }

    /// As [`Wire::set_counted`]. Default: nothing.
    fn set_counted(&mut self, _bytes: u64) {}

    /// Appends the value, little-endian.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads it back. Lists have no length of their own: they take all that is left.
    ///
    /// # Errors
    ///
    /// When the bytes are not such a value.
    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError>;
}

/// Nothing: 0 bytes.
impl Payload for () {
    fn encoded_len(&self) -> usize {
        0
    }

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// The same for many receivers. Where messages are kept or cross ranks, it is written once for all
/// of them ([`shared`]).
impl<T: Payload + Serialize + DeserializeOwned + Send + Sync + 'static> Payload for Arc<T> {
    fn encoded_len(&self) -> usize {
        (**self).encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        shared::put(self, self.encoded_len(), |out| (**self).encode(out), out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        shared::take(reader, |reader| T::decode(reader).map(Arc::new))
    }
}

/// None where nothing is left.
impl<T: Payload> Payload for Option<T> {
    fn encoded_len(&self) -> usize {
        self.as_ref().map_or(0, T::encoded_len)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        match reader.is_empty() {
            true => Ok(None),
            false => T::decode(reader).map(Some),
        }
    }
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Payload for $number {
            fn encoded_len(&self) -> usize {
                4
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
                reader.$number()
            }
        }
    )*};
}

numbers!(u32 f32);

macro_rules! lists {
    ($($number:ty, $put:ident, $rest:ident, $($list:ty),*;)*) => {$(
        $(impl Payload for $list {
            fn encoded_len(&self) -> usize {
                size_of_val(&**self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                $put(out, self);
            }

            fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
                Ok(reader.$rest()?.into())
            }
        })*

        impl Payload for Arc<[$number]> {
            fn encoded_len(&self) -> usize {
                size_of_val(&**self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                shared::put(self, self.encoded_len(), |out| $put(out, self), out);
            }

            fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
                shared::take(reader, |reader| Ok(reader.$rest()?.into()))
            }
        }
    )*};
}

lists! {
    u32, put_u32s, rest_u32, Vec<u32>, Box<[u32]>;
    f32, put_f32s, rest_f32, Vec<f32>, Box<[f32]>;
    u64, put_u64s, rest_u64, Vec<u64>;
    u8, put_bytes, rest_u8,;
}

fn put_u64s(out: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// Content of which the ledger counts so many payload bytes, whatever is carried: what real parties
/// would send and the simulation holds once for all, or, as `Counted<()>`, does not make at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<T> {
    pub content: T,
    /// What is counted. It does not travel: a receiver under `--wire-check` finds 0.
    pub bytes: u64,
}

impl<T: Payload> Payload for Counted<T> {
    const MATERIALISED: bool = false;

    fn encoded_len(&self) -> usize {
        self.content.encoded_len()
    }

    fn counted_len(&self) -> u64 {
        self.bytes
    }

    fn set_counted(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.content.encode(out);
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let content = T::decode(reader)?;
        Ok(Counted { content, bytes: 0 })
    }
}

/// Declares the messages that go one way: an enum with its [`Wire`](crate::wire::Wire) and a table
/// of its kinds.
///
/// A line is `place, phase, name => Variant(field: Type, …)`, and its doc comment is what
/// `folkmoot explain` says of the kind; each type is a [`Payload`](crate::wire::Payload), and one
/// that takes all that is left stands last.
///
/// ```
/// use folkmoot_engine::prelude::*;
///
/// messages! {
///     /// What clients tell each other.
///     pub enum Peer {
///         /// A rumour, with the hops it has made and who has told it.
///         0, "spread", "rumour" => Rumour(hops: u32, told: Vec<u32>),
///     }
/// }
/// assert_eq!(Peer::Rumour(1, vec![2, 3]).encoded_len(), 12);
/// ```
#[macro_export]
macro_rules! messages {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident $(<$($generic:ident : $bound:path),+>)? {
            $(
                $(#[doc = $about:literal])*
                $place:literal, $phase:expr, $kind:expr => $variant:ident $(($($field:ident : $type:ty),+))?
            ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        ///
        /// | phase | kind | payload |
        /// |---|---|---|
        $(#[doc = concat!("| ", stringify!($phase), " | ", stringify!($kind), " | ", $($("`", stringify!($field), ": ", stringify!($type), "` ",)+)? "|")])+
        #[derive(Clone, Debug)]
        $vis enum $name $(<$($generic: $bound),+>)? {
            $($(#[doc = $about])* $variant $(($($type),+))?,)+
        }

        impl $(<$($generic: $bound + Clone + Send),+>)? $crate::wire::Wire for $name $(<$($generic),+>)? {
            const KINDS: &'static [$crate::wire::Declared] = &[$($crate::wire::Declared {
                place: $place,
                kind: $crate::wire::Kind {
                    phase: $phase,
                    name: $kind,
                    materialised: true $($(&& <$type as $crate::wire::Payload>::MATERIALISED)+)?,
                },
                about: concat!($($about),*).trim_ascii(),
                payload: concat!($($("`", stringify!($field), ": ", stringify!($type), "` ",)+)?).trim_ascii(),
            }),+];

            #[inline]
            fn kind(&self) -> usize {
                match self {
                    $(Self::$variant $(($($field),+))? => { $($(let _ = $field;)+)? $place })+
                }
            }

            #[inline]
            fn encoded_len(&self) -> usize {
                match self {
                    $(Self::$variant $(($($field),+))? => 0 $($(+ $crate::wire::Payload::encoded_len($field))+)?,)+
                }
            }

            #[inline]
            fn payload_len(&self) -> u64 {
                match self {
                    $(Self::$variant $(($($field),+))? => 0 $($(+ $crate::wire::Payload::counted_len($field))+)?,)+
                }
            }

            fn set_counted(&mut self, bytes: u64) {
                match self {
                    $(Self::$variant $(($($field),+))? => {
                        let _ = bytes;
                        $($($crate::wire::Payload::set_counted($field, bytes);)+)?
                    })+
                }
            }

            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($field),+))? => { let _ = &out; $($($crate::wire::Payload::encode($field, out);)+)? })+
                }
            }

            fn decode(kind: usize, bytes: &[u8]) -> Result<Self, $crate::wire::DecodeError> {
                let mut reader = $crate::wire::WireReader::new(bytes);
                let message = match kind {
                    $($place => {
                        $($(let $field = <$type as $crate::wire::Payload>::decode(&mut reader)?;)+)?
                        Self::$variant $(($($field),+))?
                    })+
                    _ => return Err($crate::wire::DecodeError::UnknownKind(kind)),
                };
                reader.finish()?;
                Ok(message)
            }
        }
    };
}

/// The message kinds of a strategy in ledger order, given those of each way.
///
/// # Panics
///
/// When two kinds share a place or a place is left out: the strategy's bug.
pub(crate) fn in_order(placed: [&[Declared]; 3]) -> Vec<Kind> {
    let mut places: BTreeMap<usize, Kind> = BTreeMap::new();
    for Declared { place, kind, .. } in placed.concat() {
        let before = places.insert(place, kind);
        assert!(
            before.is_none_or(|before| before == kind),
            "two kinds of message have place {place}"
        );
    }
    assert!(
        places.keys().copied().eq(0..places.len()),
        "the places of messages are 0, 1, 2 and so on"
    );
    places.into_values().collect()
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

    fn round_trip<P: Payload + PartialEq + std::fmt::Debug>(value: P, bytes: &[u8]) {
        let mut out = Vec::new();
        value.encode(&mut out);
        assert_eq!((out.as_slice(), value.encoded_len()), (bytes, bytes.len()), "{value:?}");
        assert_eq!(
            (value.counted_len(), P::MATERIALISED),
            (bytes.len() as u64, true),
            "{value:?}"
        );
        let mut reader = WireReader::new(bytes);
        assert_eq!(P::decode(&mut reader).as_ref(), Ok(&value));
        assert!(reader.is_empty() && reader.finish().is_ok());
    }

    #[test]
    fn every_payload_is_read_as_it_was_written() {
        let half = [0, 0, 0, 63];
        round_trip((), &[]);
        round_trip(258_u32, &[2, 1, 0, 0]);
        round_trip(0.5_f32, &half);
        round_trip(vec![1_u32, 2], &[1, 0, 0, 0, 2, 0, 0, 0]);
        round_trip(vec![0.5_f32], &half);
        round_trip(vec![3_u64], &[3, 0, 0, 0, 0, 0, 0, 0]);
        round_trip(vec![1_u32].into_boxed_slice(), &[1, 0, 0, 0]);
        round_trip(vec![0.5_f32].into_boxed_slice(), &half);
        round_trip(Arc::<[u32]>::from([7]), &[7, 0, 0, 0]);
        round_trip(Arc::<[f32]>::from([0.5]), &half);
        round_trip(Arc::<[u8]>::from([9, 8]), &[9, 8]);
        round_trip(Arc::new(9_u32), &[9, 0, 0, 0]);
        round_trip(Some(9_u32), &[9, 0, 0, 0]);
        round_trip(None::<u32>, &[]);
        let mut reader = WireReader::new(&[5, 0, 0, 0, 63, 4, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((reader.u8(), reader.f32(), reader.is_empty()), (Ok(5), Ok(0.5), false));
        assert_eq!(reader.u64(), Ok(0x0100_0000_0000_0004));
        assert_eq!(
            WireReader::new(&[0; 9]).rest_u64(),
            Err(DecodeError::TooShort { missing: 7 })
        );
    }

    #[test]
    fn what_is_counted_may_be_more_than_what_is_carried() {
        let counted = Counted {
            content: 7_u32,
            bytes: 1_000,
        };
        let mut out = Vec::new();
        counted.encode(&mut out);
        assert_eq!((out.as_slice(), counted.encoded_len()), (&[7, 0, 0, 0][..], 4));
        assert_eq!((counted.counted_len(), Counted::<u32>::MATERIALISED), (1_000, false));
        let heard = Counted::<u32>::decode(&mut WireReader::new(&out));
        assert_eq!(heard, Ok(Counted { content: 7, bytes: 0 }));
    }
}
