//! Frames between a run and a worker process: a header in JSON, then arrays.
//!
//! The README of this crate describes them for a worker in another language. Both sides are on one
//! machine, and numbers are little-endian.

use crate::region::Region;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io::{self, Read, Write};

/// The version that both sides must have.
pub const PROTOCOL: u32 = 1;
/// Arrays of more bytes go through shared memory, where there is one.
pub const INLINE: usize = 64 * 1024;
/// A header of more bytes is none.
const MOST_HEADER: u32 = 1 << 30;
const ALIGNMENT: u64 = 64;
/// The names of element types, with their sizes in bytes.
const DTYPES: [(&str, usize); 12] = [
    ("bool", 1),
    ("int8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("uint8", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
];

/// An array in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<'a> {
    pub name: Cow<'a, str>,
    /// The element type as NumPy names it, such as `float32`.
    pub dtype: Cow<'a, str>,
    pub shape: Vec<usize>,
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Array<'a> {
    /// A vector of 32-bit floats.
    pub fn floats(name: &'a str, values: &'a [f32]) -> Array<'a> {
        Array {
            name: name.into(),
            dtype: "float32".into(),
            shape: vec![values.len()],
            bytes: bytemuck::cast_slice(values).into(),
        }
    }

    /// Numbers of an element type that is `T`.
    pub fn numbers<T: bytemuck::NoUninit>(
        name: &'a str,
        dtype: &'a str,
        shape: Vec<usize>,
        values: &'a [T],
    ) -> Array<'a> {
        Array {
            name: name.into(),
            dtype: dtype.into(),
            shape,
            bytes: bytemuck::cast_slice(values).into(),
        }
    }

    /// Its numbers, if it is a vector of 32-bit floats.
    pub fn as_floats(&self) -> Option<Vec<f32>> {
        let is_floats = self.dtype == "float32" && self.shape.len() == 1;
        is_floats.then(|| {
            let each = self.bytes.chunks_exact(4);
            each.map(|bytes| f32::from_le_bytes(bytes.try_into().expect("4 bytes")))
                .collect()
        })
    }

    /// Its numbers, if it is a vector of 64-bit floats.
    pub fn as_doubles(&self) -> Option<Vec<f64>> {
        let is_doubles = self.dtype == "float64" && self.shape.len() == 1;
        is_doubles.then(|| {
            let each = self.bytes.chunks_exact(8);
            each.map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")))
                .collect()
        })
    }
}

/// A request or a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<'a> {
    /// With the field `kind`.
    pub header: Map<String, Value>,
    pub arrays: Vec<Array<'a>>,
}

impl<'a> Frame<'a> {
    /// A frame of a kind with these further fields.
    ///
    /// # Panics
    ///
    /// If `fields` is no object.
    pub fn new(kind: &str, fields: Value) -> Frame<'a> {
        let Value::Object(mut header) = fields else {
            panic!("the fields of a frame are an object");
        };
        header.insert("kind".to_owned(), kind.into());
        Frame {
            header,
            arrays: Vec::new(),
        }
    }

    /// The same with these arrays.
    pub fn with(self, arrays: Vec<Array<'a>>) -> Frame<'a> {
        Frame { arrays, ..self }
    }

    pub fn kind(&self) -> &str {
        self.header.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// A field that is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.header.get(field).and_then(Value::as_str)
    }

    /// The array of that name, taken out.
    pub fn take(&mut self, name: &str) -> Option<Array<'a>> {
        let at = self.arrays.iter().position(|array| array.name == name)?;
        Some(self.arrays.remove(at))
    }

    /// Writes it, with its large arrays in the region if there is one.
    ///
    /// # Errors
    ///
    /// When the other side is gone or the region cannot grow.
    pub fn write(&self, to: &mut impl Write, mut region: Option<&mut Region>) -> io::Result<()> {
        let (mut offset, mut listed, mut inline) = (0, Vec::new(), 0);
        for array in &self.arrays {
            let n = array.bytes.len() as u64;
            let place = match &mut region {
                Some(region) if array.bytes.len() > INLINE => {
                    region.write(offset, &array.bytes)?;
                    let place = offset;
                    offset = (offset + n).next_multiple_of(ALIGNMENT);
                    Some(place)
                }
                _ => {
                    inline += n;
                    None
                }
            };
            listed.push(serde_json::json!([array.name, array.dtype, array.shape, place]));
        }
        let mut header = self.header.clone();
        header.insert("arrays".to_owned(), Value::Array(listed.clone()));
        let text = serde_json::to_vec(&header)?;
        let mut start = Vec::with_capacity(12 + text.len());
        start.extend((text.len() as u32).to_le_bytes());
        start.extend(inline.to_le_bytes());
        start.extend(text);
        to.write_all(&start)?;
        for (array, listed) in self.arrays.iter().zip(listed) {
            if listed[3].is_null() {
                to.write_all(&array.bytes)?;
            }
        }
        to.flush()
    }

    /// Reads one; `None` where the stream has ended.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no frame.
    pub fn read(from: &mut impl Read, region: Option<&Region>) -> io::Result<Option<Frame<'static>>> {
        let mut start = [0; 12];
        match from.read(&mut start)? {
            0 => return Ok(None),
            n => from.read_exact(&mut start[n..])?,
        }
        let (n_header, n_body) = start.split_at(4);
        let n_header = u32::from_le_bytes(n_header.try_into().expect("4 bytes"));
        let n_body = u64::from_le_bytes(n_body.try_into().expect("8 bytes"));
        if n_header > MOST_HEADER {
            return Err(wrong("its header is too long"));
        }
        let text = exactly(from, n_header as usize)?;
        let mut header: Map<String, Value> = serde_json::from_slice(&text)?;
        let listed: Vec<(String, String, Vec<usize>, Option<u64>)> =
            serde_json::from_value(header.remove("arrays").unwrap_or_default())?;
        let (mut arrays, mut left) = (Vec::with_capacity(listed.len()), n_body);
        for (name, dtype, shape, place) in listed {
            let n = size(&dtype, &shape).ok_or_else(|| wrong(&format!("array {name} has no size")))?;
            let bytes = match (place, region) {
                (None, _) => {
                    left = left
                        .checked_sub(n as u64)
                        .ok_or_else(|| wrong("its arrays are longer than its body"))?;
                    exactly(from, n)?
                }
                (Some(offset), Some(region)) => region.read(offset, n)?,
                (Some(_), None) => return Err(wrong("it names shared memory that there is not")),
            };
            arrays.push(Array {
                name: name.into(),
                dtype: dtype.into(),
                shape,
                bytes: bytes.into(),
            });
        }
        match left {
            0 => Ok(Some(Frame { header, arrays })),
            _ => Err(wrong("its body is longer than its arrays")),
        }
    }
}

/// So many bytes. Memory is taken as they come, since the announced number may be wrong.
fn exactly(from: &mut impl Read, n: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(n.min(1 << 20));
    from.by_ref().take(n as u64).read_to_end(&mut bytes)?;
    match bytes.len() == n {
        true => Ok(bytes),
        false => Err(wrong("it ends too early")),
    }
}

/// The bytes of an array.
pub(crate) fn size(dtype: &str, shape: &[usize]) -> Option<usize> {
    let (_, size) = DTYPES.iter().find(|(name, _)| *name == dtype)?;
    shape.iter().try_fold(*size, |all, n| all.checked_mul(*n))
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a frame: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams, index};
    use serde_json::json;

    fn written(frame: &Frame<'_>, region: Option<&mut Region>) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.write(&mut bytes, region).unwrap();
        bytes
    }

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let (few, many) = ([1.5, -2.0], vec![0.25; INLINE]);
        let frame = Frame::new("train", json!({"client": 3}))
            .with(vec![Array::floats("few", &few), Array::floats("many", &many)]);
        let folder = tempfile::tempdir().unwrap();
        let mut region = Region::create(&folder.path().join("region")).unwrap();
        for shares in [false, true] {
            let bytes = written(&frame, shares.then_some(&mut region));
            assert_eq!(bytes.len() < INLINE, shares);
            let mut read = Frame::read(&mut bytes.as_slice(), Some(&region)).unwrap().unwrap();
            assert_eq!(read, frame);
            assert_eq!(read.take("few").unwrap().as_floats().unwrap(), few);
            assert!(read.take("few").is_none());
        }
        assert!(Frame::read(&mut [].as_slice(), None).unwrap().is_none());
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let whole = written(
            &Frame::new("hello", json!({})).with(vec![Array::floats("x", &[1.0])]),
            None,
        );
        for n in 1..whole.len() {
            assert!(Frame::read(&mut &whole[..n], None).is_err(), "{n} bytes");
        }
        let mut longer = whole.clone();
        longer[4] += 1;
        longer.push(0);
        assert!(Frame::read(&mut longer.as_slice(), None).is_err());
        let text = br#"{"kind":"x","arrays":[["a","complex64",[1],null]]}"#;
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend(8_u64.to_le_bytes());
        bytes.extend(text);
        let error = Frame::read(&mut bytes.as_slice(), None).unwrap_err().to_string();
        assert_eq!(error, "not a frame: array a has no size");
        // More bytes than any machine has are announced, and none comes.
        let text = br#"{"kind":"x","arrays":[["a","float64",[1152921504606846976],null]]}"#;
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend((1_u64 << 63).to_le_bytes());
        bytes.extend(text);
        let error = Frame::read(&mut bytes.as_slice(), None).unwrap_err().to_string();
        assert_eq!(error, "not a frame: it ends too early");
        let region = Region::create(&tempfile::tempdir().unwrap().path().join("region")).unwrap();
        assert!(region.read(0, 1 << 60).is_err() && region.read(u64::MAX, 2).is_err());
    }

    #[test]
    fn damaged_frames_are_read_or_refused_and_never_a_panic() {
        let values = [1.0, 2.0];
        let arrays = vec![Array::floats("x", &values), Array::floats("y", &values)];
        let whole = written(
            &Frame::new("train", json!({"client": 3, "round": 2})).with(arrays),
            None,
        );
        let mut rng = Streams::new(7).global(Purpose(*b"damages "));
        let mut n_read = 0;
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=index(&mut rng, 3) {
                let at = index(&mut rng, bytes.len());
                match index(&mut rng, 4) {
                    0 => bytes[at] = index(&mut rng, 256) as u8,
                    1 => bytes[at] ^= 1 << index(&mut rng, 8),
                    2 => bytes.insert(at, b"0123456789,[]{}\""[index(&mut rng, 16)]),
                    _ => drop(bytes.remove(at)),
                }
            }
            n_read += usize::from(Frame::read(&mut bytes.as_slice(), None).is_ok());
        }
        assert!((1..20_000).contains(&n_read), "{n_read}");
    }
}
