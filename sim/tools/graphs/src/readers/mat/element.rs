//! The elements of a MATLAB 5 file: a tag (type, length) and data, padded to eight bytes.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::readers::limits::MAX_UNPACKED;

pub(super) const MI_MATRIX: u32 = 14;
pub(super) const MI_COMPRESSED: u32 = 15;

/// Order of the bytes in every number of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    pub(super) fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// One element: its type and its data, borrowed from the file.
pub(super) struct Element<'a> {
    pub(super) kind: u32,
    pub(super) data: &'a [u8],
}

/// Walks over consecutive elements.
pub(super) struct Elements<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) endian: Endian,
}

impl<'a> Elements<'a> {
    /// The next element, or `None` at the end. The declared length must lie within the bytes at
    /// hand.
    pub(super) fn next(&mut self) -> Result<Option<Element<'a>>, String> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let (Some(&first), Some(&second)) = (
            self.bytes.first_chunk::<4>(),
            self.bytes.get(4..).and_then(|b| b.first_chunk::<4>()),
        ) else {
            return Err("the file ends within the tag of an element: it is cut short".to_string());
        };
        let word = self.endian.word(first);
        let (kind, start, len) = match word >> 16 {
            0 => (word, 8, self.endian.word(second) as usize),
            // A small element keeps its length in the upper half of the first word and its data in
            // place of the second.
            len if len <= 4 => (word & 0xffff, 4, len as usize),
            len => return Err(format!("a small element claims {len} bytes, but holds at most 4")),
        };
        let rest = &self.bytes[start..];
        let Some(data) = rest.get(..len) else {
            return Err(format!(
                "an element claims {len} bytes, but {} are left: the file is cut short or damaged",
                rest.len()
            ));
        };
        // Only compressed elements are not padded; a last element may lack its padding.
        let end = if kind == MI_COMPRESSED {
            start + len
        } else {
            (start + len).next_multiple_of(8)
        };
        self.bytes = self.bytes.get(end..).unwrap_or_default();
        Ok(Some(Element { kind, data }))
    }

    /// The next element of a matrix, which must exist; `what` names it in the message.
    pub(super) fn expect(&mut self, what: &str) -> Result<Element<'a>, String> {
        self.next()?
            .ok_or_else(|| format!("the {what} of a matrix are missing"))
    }
}

/// Unpacks the data of a compressed element, up to a limit: what is unpacked is real, what a header
/// claims is not.
pub(super) fn inflate(data: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    let mut limited = ZlibDecoder::new(data).take(MAX_UNPACKED + 1);
    limited
        .read_to_end(&mut unpacked)
        .map_err(|error| format!("a compressed element is damaged or cut short ({error})"))?;
    if unpacked.len() as u64 > MAX_UNPACKED {
        return Err(format!(
            "a compressed element unpacks to more than {MAX_UNPACKED} bytes"
        ));
    }
    Ok(unpacked)
}

/// Applies one conversion to every `N`-byte number of `data`.
fn convert<const N: usize, T>(data: &[u8], endian: Endian, from: impl Fn([u8; N]) -> T) -> Result<Vec<T>, String> {
    if !data.len().is_multiple_of(N) {
        return Err(format!("{} bytes do not hold whole numbers of {N} bytes", data.len()));
    }
    let little = |chunk: &[u8]| {
        let mut bytes = [0; N];
        bytes.copy_from_slice(chunk);
        if endian == Endian::Big {
            bytes.reverse();
        }
        from(bytes)
    };
    Ok(data.chunks_exact(N).map(little).collect())
}

impl Element<'_> {
    /// The numbers of the element as `f64`, whatever their stored type.
    pub(super) fn numbers(&self, endian: Endian) -> Result<Vec<f64>, String> {
        match self.kind {
            1 => convert(self.data, endian, |b: [u8; 1]| f64::from(b[0] as i8)),
            2 => convert(self.data, endian, |b: [u8; 1]| f64::from(b[0])),
            3 => convert(self.data, endian, |b| f64::from(i16::from_le_bytes(b))),
            4 => convert(self.data, endian, |b| f64::from(u16::from_le_bytes(b))),
            5 => convert(self.data, endian, |b| f64::from(i32::from_le_bytes(b))),
            6 => convert(self.data, endian, |b| f64::from(u32::from_le_bytes(b))),
            7 => convert(self.data, endian, |b| f64::from(f32::from_le_bytes(b))),
            9 => convert(self.data, endian, f64::from_le_bytes),
            12 => convert(self.data, endian, |b| i64::from_le_bytes(b) as f64),
            13 => convert(self.data, endian, |b| u64::from_le_bytes(b) as f64),
            kind => Err(format!("elements of type {kind} are not numbers")),
        }
    }

    /// The numbers of the element as counts or indices: whole and in the range of `u32`.
    pub(super) fn indices(&self, endian: Endian, what: &str) -> Result<Vec<u32>, String> {
        let whole = |number: f64| {
            let index = number as u32;
            if f64::from(index) == number {
                Ok(index)
            } else {
                Err(format!("{what} must be whole and not negative, got {number}"))
            }
        };
        self.numbers(endian)?.into_iter().map(whole).collect()
    }
}
