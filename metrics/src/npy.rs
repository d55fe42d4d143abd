//! NumPy's `.npy` format: arrays of integers, floats or bools, row by row, written and read.
//!
//! Layout: the magic bytes, a version, the length of a header that is a Python dictionary in text,
//! and the raw values. A file may be anything: what cannot be read is a message, and no memory is
//! asked for beyond what the file itself holds.
//!
//! Own code, because the bytes of artifacts are part of a result: the crates that write this format
//! write shapes and padding in their own ways, and those that read it hand out only the type asked
//! for.

/// An array as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// How many values there are along each dimension.
    pub shape: Vec<usize>,
    /// The values, the last dimension fastest.
    pub values: Values,
}

/// The values of an array, integers of all sizes as one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `b1`.
    Bools(Vec<bool>),
    /// `i1` to `i8` and `u1` to `u8`.
    Integers(Vec<i64>),
    /// `f4`.
    Floats(Vec<f32>),
    /// `f8`.
    Doubles(Vec<f64>),
    /// `U` and `S` of any length.
    Texts(Vec<String>),
}

const MAGIC: &[u8] = b"\x93NUMPY";

impl Array {
    /// Parses a whole `.npy` file. The values must fill what the header announces exactly; more
    /// than `most` are refused before they are widened, since each takes eight times the memory of
    /// a small one in the file.
    ///
    /// # Errors
    /// A message for what is no such file, is cut short, holds too many values or values of other
    /// types, or has columns first.
    pub fn parse(content: &[u8], most: usize) -> Result<Array, String> {
        let (header, data) = split(content)?;
        let (descr, shape) = described(header)?;
        if field(header, "fortran_order")?.starts_with("True") && shape.len() > 1 {
            return Err("the values must be stored row by row; save numpy.ascontiguousarray(…) of it".to_string());
        }
        let count = shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        let count = count.ok_or("the shape is too large")?;
        let values = decode(descr, data, (count, most))?;
        Ok(Array { shape, values })
    }

    /// The type, such as `<f4`, and the shape that the beginning of a `.npy` file announces.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for the header.
    pub fn announced(beginning: &[u8]) -> Result<(String, Vec<usize>), String> {
        let (descr, shape) = described(split(beginning)?.0)?;
        Ok((descr.to_string(), shape))
    }

    /// How many values there are.
    pub fn n_values(&self) -> usize {
        self.shape.iter().product()
    }

    /// The values as integers.
    ///
    /// # Errors
    /// A message with the array's `name` if they are floats or bools.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>, String> {
        match &self.values {
            Values::Integers(values) => Ok(values.clone()),
            _ => Err(format!("`{name}` must hold integers")),
        }
    }

    /// The values as `f32`.
    pub fn floats(&self) -> Vec<f32> {
        match &self.values {
            Values::Bools(values) => values.iter().map(|&set| f32::from(u8::from(set))).collect(),
            Values::Integers(values) => values.iter().map(|&value| value as f32).collect(),
            Values::Floats(values) => values.clone(),
            Values::Doubles(values) => values.iter().map(|&value| value as f32).collect(),
            Values::Texts(values) => vec![f32::NAN; values.len()],
        }
    }
}

/// The header of a `.npy` file, and the bytes of its values.
fn split(content: &[u8]) -> Result<(&str, &[u8]), String> {
    let rest = content.strip_prefix(MAGIC).ok_or("not an .npy array")?;
    let (header_len, rest) = match rest {
        [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err("an .npy array of unknown version, or cut short".to_string()),
    };
    let (header, data) = rest.split_at_checked(header_len).ok_or("the header is cut short")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    Ok((header, data))
}

/// The type and the shape in a header.
fn described(header: &str) -> Result<(&str, Vec<usize>), String> {
    let descr = field(header, "descr")?;
    let descr = descr
        .get(1..)
        .and_then(|rest| rest.split(['\'', '"']).next())
        .unwrap_or_default();
    Ok((descr, shape(header)?))
}

/// What follows `'name':` in the header.
fn field<'a>(header: &'a str, name: &str) -> Result<&'a str, String> {
    let quoted = [format!("'{name}':"), format!("\"{name}\":")];
    let found = quoted
        .iter()
        .find_map(|key| header.find(key).map(|at| header[at + key.len()..].trim_start()));
    found.ok_or_else(|| format!("the header has no `{name}`"))
}

fn shape(header: &str) -> Result<Vec<usize>, String> {
    let text = field(header, "shape")?;
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.split_once(')'))
        .ok_or("the shape is not a tuple")?
        .0;
    let sides = inner.split(',').map(str::trim).filter(|side| !side.is_empty());
    let sides = sides.map(|side| {
        side.parse()
            .map_err(|_| "the shape is not a tuple of whole numbers".to_string())
    });
    sides.collect()
}

/// The file of an array of `f32`, little-endian.
pub fn npy_f32(values: &[f32], shape: &[usize]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f4", shape, &data)
}

/// The file of an array of `u32`, little-endian.
pub fn npy_u32(values: &[u32], shape: &[usize]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<u4", shape, &data)
}

/// The file, in format 1.0, of an array of values of the type that NumPy calls `descr`, such as
/// `<f4`, whose bytes are `data`.
pub fn npy(descr: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}",
        sizes.join(" ")
    );
    // The data begin at a multiple of 64 bytes, after the magic, the version, the header's length
    // and a line end.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = Vec::with_capacity(10 + header.len() + data.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(data);
    out
}

fn decode(descr: &str, data: &[u8], (count, most): (usize, usize)) -> Result<Values, String> {
    let big = descr.starts_with('>');
    let kind = descr.trim_start_matches(['<', '>', '=', '|']);
    if let Some(length) = kind.strip_prefix(['U', 'S']).and_then(|length| length.parse().ok()) {
        return texts(kind.starts_with('U'), length, data, (count, most), big).map(Values::Texts);
    }
    let width = match kind.as_bytes() {
        [b'b' | b'i' | b'u' | b'f', width @ (b'1' | b'2' | b'4' | b'8')] => usize::from(width - b'0'),
        _ => {
            return Err(format!(
                "values of type \"{}\" are not read; use integers, floats, bools or texts of one length (numpy's `U`), as \
                 astype(str) makes them",
                descr.escape_debug()
            ));
        }
    };
    if count.checked_mul(width) != Some(data.len()) {
        return Err(format!(
            "{count} values of {width} bytes are announced, but {} bytes are stored",
            data.len()
        ));
    }
    if count > most {
        return Err(format!(
            "{count} values are stored, and no more than {most} can be taken"
        ));
    }
    // Every number is widened to eight little-endian bytes, whatever its size and order.
    let word = |chunk: &[u8]| {
        let mut bytes = [0_u8; 8];
        bytes[..width].copy_from_slice(chunk);
        if big {
            bytes[..width].reverse();
        }
        u64::from_le_bytes(bytes)
    };
    let words = data.chunks_exact(width).map(word);
    let sign_shift = 64 - 8 * width as u32;
    match kind {
        "b1" => Ok(Values::Bools(words.map(|word| word != 0).collect())),
        "f4" => Ok(Values::Floats(words.map(|word| f32::from_bits(word as u32)).collect())),
        "f8" => Ok(Values::Doubles(words.map(f64::from_bits).collect())),
        "u8" => {
            let fitting: Option<Vec<i64>> = words.map(|word| i64::try_from(word).ok()).collect();
            fitting
                .map(Values::Integers)
                .ok_or_else(|| "a value does not fit 63 bits".to_string())
        }
        _ if kind.starts_with('u') => Ok(Values::Integers(words.map(|word| word as i64).collect())),
        _ if kind.starts_with('i') => Ok(Values::Integers(
            words.map(|word| ((word << sign_shift) as i64) >> sign_shift).collect(),
        )),
        _ => Err(format!("values of type \"{}\" are not read", descr.escape_debug())),
    }
}

/// Texts of `length` characters, or bytes, each; zeros fill the shorter ones.
fn texts(
    is_unicode: bool,
    length: usize,
    data: &[u8],
    (count, most): (usize, usize),
    big: bool,
) -> Result<Vec<String>, String> {
    let width = if is_unicode {
        length.checked_mul(4)
    } else {
        Some(length)
    };
    let width = width.ok_or("the texts are too long")?;
    if count.checked_mul(width) != Some(data.len()) {
        return Err(format!(
            "{count} texts of {width} bytes are announced, but {} bytes are stored",
            data.len()
        ));
    }
    if count > most {
        return Err(format!(
            "{count} values are stored, and no more than {most} can be taken"
        ));
    }
    if width == 0 {
        return Ok(vec![String::new(); count]);
    }
    let word = |chunk: &[u8]| {
        let bytes = [chunk[0], chunk[1], chunk[2], chunk[3]];
        if big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    let text = |chunk: &[u8]| {
        if !is_unicode {
            return String::from_utf8_lossy(chunk).trim_end_matches('\0').to_owned();
        }
        let chars = chunk
            .chunks_exact(4)
            .map(|chunk| char::from_u32(word(chunk)).unwrap_or(char::REPLACEMENT_CHARACTER));
        chars.collect::<String>().trim_end_matches('\0').to_owned()
    };
    Ok(data.chunks_exact(width).map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_length_are_read_without_what_fills_them() {
        let unicode: Vec<u8> = ['a', '\0', 'é', 'b']
            .into_iter()
            .flat_map(|c| u32::from(c).to_le_bytes())
            .collect();
        let expected = Values::Texts(vec!["a".to_string(), "éb".to_string()]);
        assert_eq!(parse(&npy("<U2", &[2], &unicode)).unwrap().values, expected);
        let bytes = parse(&npy("|S3", &[2], b"abcd\0\0")).unwrap().values;
        assert_eq!(bytes, Values::Texts(vec!["abc".to_string(), "d".to_string()]));
        assert!(
            parse(&npy("<U2", &[3], &unicode))
                .unwrap_err()
                .contains("3 texts of 8 bytes")
        );
        assert_eq!(
            parse(&npy("<U0", &[2], &[])).unwrap().values,
            Values::Texts(vec![String::new(); 2])
        );
    }

    fn parse(content: &[u8]) -> Result<Array, String> {
        Array::parse(content, usize::MAX)
    }

    #[test]
    fn more_values_than_can_be_taken_are_refused() {
        let file = npy("|i1", &[100], &[1; 100]);
        let error = Array::parse(&file, 99).unwrap_err();
        assert_eq!(error, "100 values are stored, and no more than 99 can be taken");
        assert!(Array::parse(&file, 100).is_ok());
    }

    use proptest::prelude::*;

    #[test]
    fn an_array_has_the_header_that_numpy_reads() {
        let bytes = npy_f32(&[1.0, -2.0], &[1, 2]);
        assert_eq!(bytes.len(), 128 + 8);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let header = String::from_utf8(bytes[10..128].to_vec()).unwrap();
        assert_eq!(
            header.trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2,), }"
        );
        assert_eq!(&bytes[128..], [0, 0, 128, 63, 0, 0, 0, 192]);
        assert_eq!(npy_u32(&[], &[0]).len(), 128);
    }

    #[test]
    fn what_is_written_is_read() {
        let array = parse(&npy_f32(&[1.0, -2.0, 0.5, 4.0, 5.0, 6.0], &[2, 3])).unwrap();
        assert_eq!((array.shape.as_slice(), array.floats()[1]), (&[2, 3][..], -2.0));
        let parsed = |descr: &str, data: &[u8]| parse(&npy(descr, &[data.len() / 2], data)).unwrap().values;
        assert_eq!(parsed("<u2", &[1, 2, 255, 255]), Values::Integers(vec![513, 65_535]));
        assert_eq!(parsed(">i2", &[1, 2, 255, 255]), Values::Integers(vec![258, -1]));
        let double = npy("<f8", &[1], &0.1f64.to_le_bytes());
        assert_eq!(parse(&double).unwrap().values, Values::Doubles(vec![0.1]));
        assert_eq!(
            parse(&npy("|b1", &[2], &[0, 1])).unwrap().values,
            Values::Bools(vec![false, true])
        );
    }

    /// Every type, as wide as it is stored, of both signs and both orders, and what does not fit.
    #[test]
    fn integers_of_every_width_keep_their_values() {
        let whole = |descr: &str, data: &[u8]| {
            let array = parse(&npy(descr, &[1], data))?;
            assert_eq!(array.n_values(), 1);
            array.integers("x")
        };
        assert_eq!(whole("|i1", &[0x80]), Ok(vec![-128]));
        assert_eq!(whole("|u1", &[0x80]), Ok(vec![128]));
        assert_eq!(whole("<i4", &[0xFE, 0xFF, 0xFF, 0xFF]), Ok(vec![-2]));
        assert_eq!(whole("<u4", &[0xFE, 0xFF, 0xFF, 0xFF]), Ok(vec![4_294_967_294]));
        assert_eq!(whole("<i8", &(-5_i64).to_le_bytes()), Ok(vec![-5]));
        assert_eq!(whole(">u8", &7_u64.to_be_bytes()), Ok(vec![7]));
        let error = whole("<u8", &u64::MAX.to_le_bytes()).unwrap_err();
        assert_eq!(error, "a value does not fit 63 bits");
        assert_eq!(whole("<f4", &[0; 4]).unwrap_err(), "`x` must hold integers");
        assert_eq!(
            whole("<f2", &[0; 2]).unwrap_err(),
            "values of type \"<f2\" are not read"
        );
    }

    /// A header of format 2.0 or 3.0 has four bytes of length; columns first is the same as rows
    /// first in one dimension.
    #[test]
    fn later_formats_and_single_columns_are_read() {
        let file = npy("<u2", &[2], &[1, 0, 2, 0]);
        for version in [2, 3] {
            let mut later = [MAGIC, &[version, 0], &file[8..10], &[0, 0], &file[10..]].concat();
            assert_eq!(parse(&later).unwrap().integers("x"), Ok(vec![1, 2]));
            later[6] = 4;
            assert!(parse(&later).is_err());
        }
        let columns = |shape: &[usize]| {
            let bytes = npy("|u1", shape, &[1, 2]);
            let at = bytes.windows(5).position(|word| word == b"False").unwrap();
            parse(&[&bytes[..at], b"True ", &bytes[at + 5..]].concat())
        };
        assert_eq!(columns(&[2]).unwrap().integers("x"), Ok(vec![1, 2]));
        let refused = columns(&[1, 2]).unwrap_err();
        assert!(
            refused.starts_with("the values must be stored row by row; save"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_no_array_is_a_message() {
        let whole = npy_f32(&[0.0; 4], &[2, 2]);
        (0..whole.len()).for_each(|cut| assert!(parse(&whole[..cut]).is_err(), "{cut}"));
        for (shape, expected) in [
            (
                &[3, 2][..],
                "6 values of 4 bytes are announced, but 16 bytes are stored",
            ),
            (&[usize::MAX, 2], "the shape is too large"),
            (
                &[1 << 62],
                "4611686018427387904 values of 4 bytes are announced, but 16 bytes are stored",
            ),
        ] {
            assert_eq!(parse(&npy("<f4", shape, &[0; 16])).unwrap_err(), expected);
        }
        assert_eq!(parse(b"PK").unwrap_err(), "not an .npy array");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_array_or_a_message(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..144, byte: u8) {
            let _ = parse(&[MAGIC, &[1, 0], &bytes].concat());
            let mut file = npy_f32(&[1.0; 4], &[2, 2]);
            file[at] = byte;
            let _ = parse(&file);
        }
    }
}
