//! The messages of an app's strategy: arrays by name behind a header.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | length of the header, `u32` |
//! | length | JSON without blanks: `[[name, dtype, shape], …]` |
//! | rest | the arrays in C order, little-endian, one after the other |

use crate::kept::KeptArray;
use crate::protocol::size;
use folkmoot_engine::prelude::*;
use folkmoot_engine::wire::Wire;
use std::sync::Arc;

/// A message, whichever way it goes.
#[derive(Clone, Debug)]
pub struct Message {
    /// The place of its kind and phase in what the app declares.
    pub(super) place: usize,
    content: Arc<[u8]>,
}

impl Message {
    pub(super) fn new(place: usize, arrays: &[KeptArray]) -> Message {
        let listed: Vec<_> = arrays
            .iter()
            .map(|array| (&array.name, &array.dtype, &array.shape))
            .collect();
        let header = serde_json::to_vec(&listed).expect("names and sizes are JSON");
        let n = arrays.iter().map(|array| array.bytes.len()).sum::<usize>();
        let mut content = Vec::with_capacity(4 + header.len() + n);
        put_u32s(&mut content, &[header.len() as u32]);
        content.extend(header);
        arrays.iter().for_each(|array| content.extend(&array.bytes));
        Message {
            place,
            content: content.into(),
        }
    }

    /// What it holds; `None` for bytes that are no message.
    pub(super) fn arrays(&self) -> Option<Vec<KeptArray>> {
        let (n, rest) = self.content.split_first_chunk::<4>()?;
        let (header, mut rest) = rest.split_at_checked(u32::from_le_bytes(*n) as usize)?;
        let listed: Vec<(String, String, Vec<usize>)> = serde_json::from_slice(header).ok()?;
        let mut arrays = Vec::with_capacity(listed.len());
        for (name, dtype, shape) in listed {
            let (bytes, after) = rest.split_at_checked(size(&dtype, &shape)?)?;
            rest = after;
            arrays.push(KeptArray {
                name,
                dtype,
                shape,
                bytes: bytes.to_vec(),
            });
        }
        rest.is_empty().then_some(arrays)
    }
}

impl Wire for Message {
    const KINDS: &'static [Declared] = &[Declared {
        place: 0,
        kind: Kind {
            phase: "strategy",
            name: "message",
            materialised: true,
        },
        about: "Arrays by name. The app declares each kind of message, and the ledger counts it by its own name and phase.",
        payload: "`header: u32, JSON` `arrays: bytes`",
    }];

    fn kind(&self) -> usize {
        self.place
    }

    fn encoded_len(&self) -> usize {
        self.content.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.content.encode(out);
    }

    fn decode(kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let content = Arc::decode(&mut WireReader::new(bytes))?;
        let message = Message { place: kind, content };
        match message.arrays() {
            Some(_) => Ok(message),
            None => Err(DecodeError::Invalid("a message of an app is a header and its arrays")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_header_and_the_bytes_of_its_arrays() {
        let array = |name: &str, dtype: &str, shape: Vec<usize>, bytes: &[u8]| KeptArray {
            name: name.to_owned(),
            dtype: dtype.to_owned(),
            shape,
            bytes: bytes.to_vec(),
        };
        let arrays = [
            array("n", "uint32", vec![], &[7, 0, 0, 0]),
            array("w", "float32", vec![2], &[0, 0, 128, 63, 0, 0, 0, 64]),
        ];
        let message = Message::new(3, &arrays);
        let header = br#"[["n","uint32",[]],["w","float32",[2]]]"#;
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        assert_eq!(bytes.len(), 4 + header.len() + 12);
        assert_eq!(&bytes[4..4 + header.len()], header);
        let read = Message::decode(3, &bytes).unwrap();
        assert_eq!((read.kind(), read.arrays().unwrap()), (3, arrays.to_vec()));
        for n in 0..bytes.len() {
            assert!(Message::decode(3, &bytes[..n]).is_err(), "{n} bytes");
        }
        bytes.push(0);
        assert!(Message::decode(3, &bytes).is_err());
    }
}
