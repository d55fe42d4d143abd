//! One `.npy` array of one or two dimensions, row by row, of integers, floats or bools.
//!
//! Layout: the magic bytes, a version, the length of a header that is a Python dictionary in text, and the raw values.

/// The values of an array; its shape matters only through their number.
#[derive(Debug)]
pub(super) enum Array {
    Bools(Vec<bool>),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
}

const MAGIC: &[u8] = b"\x93NUMPY";

impl Array {
    /// Parses a whole `.npy` file. The values must fill what the header announces exactly; more than `most` are
    /// refused before they are widened, since each takes eight times the memory of a small one in the file.
    pub(super) fn parse(content: Vec<u8>, most: usize) -> Result<Array, String> {
        let rest = content.strip_prefix(MAGIC).ok_or("not an .npy array")?;
        let (header_len, rest) = match rest {
            [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            _ => return Err("an .npy array of unknown version, or cut short".to_string()),
        };
        let (header, data) = rest.split_at_checked(header_len).ok_or("the header is cut short")?;
        let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
        let shape = shape(header)?;
        if field(header, "fortran_order")?.starts_with("True") && shape.len() > 1 {
            return Err("the values must be stored row by row".to_string());
        }
        let count = shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        let count = count.ok_or("the shape is too large")?;
        let descr = field(header, "descr")?;
        let descr = descr
            .get(1..)
            .and_then(|rest| rest.split(['\'', '"']).next())
            .unwrap_or_default();
        decode(descr, data, (count, most))
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Array::Bools(values) => values.len(),
            Array::Integers(values) => values.len(),
            Array::Floats(values) => values.len(),
        }
    }

    /// The values as integers; floats and bools are refused.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<i64>, String> {
        match self {
            Array::Integers(values) => Ok(values.clone()),
            _ => Err(format!("`{name}` must hold integers")),
        }
    }

    /// The values as `f32`.
    pub(super) fn floats(&self) -> Vec<f32> {
        match self {
            Array::Bools(values) => values.iter().map(|&set| f32::from(u8::from(set))).collect(),
            Array::Integers(values) => values.iter().map(|&value| value as f32).collect(),
            Array::Floats(values) => values.clone(),
        }
    }

    /// The values as a mask over the nodes.
    pub(super) fn mask(&self, name: &str, n_nodes: u32) -> Result<Vec<bool>, String> {
        match self {
            Array::Bools(values) if values.len() == n_nodes as usize => Ok(values.clone()),
            Array::Bools(values) => Err(format!(
                "`{name}` must have one entry per node ({n_nodes}), got {}",
                values.len()
            )),
            _ => Err(format!("`{name}` must hold bools")),
        }
    }
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

fn decode(descr: &str, data: &[u8], (count, most): (usize, usize)) -> Result<Array, String> {
    let big = descr.starts_with('>');
    let kind = descr.trim_start_matches(['<', '>', '=', '|']);
    let width = match kind.as_bytes() {
        [b'b' | b'i' | b'u' | b'f', width @ (b'1' | b'2' | b'4' | b'8')] => usize::from(width - b'0'),
        _ => {
            return Err(format!(
                "values of type \"{}\" are not read; use integers, floats or bools",
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
        "b1" => Ok(Array::Bools(words.map(|word| word != 0).collect())),
        "f4" => Ok(Array::Floats(words.map(|word| f32::from_bits(word as u32)).collect())),
        "f8" => Ok(Array::Floats(words.map(|word| f64::from_bits(word) as f32).collect())),
        "u8" => {
            let fitting: Option<Vec<i64>> = words.map(|word| i64::try_from(word).ok()).collect();
            fitting
                .map(Array::Integers)
                .ok_or_else(|| "a value does not fit 63 bits".to_string())
        }
        _ if kind.starts_with('u') => Ok(Array::Integers(words.map(|word| word as i64).collect())),
        _ if kind.starts_with('i') => Ok(Array::Integers(
            words.map(|word| ((word << sign_shift) as i64) >> sign_shift).collect(),
        )),
        _ => Err(format!("values of type \"{}\" are not read", descr.escape_debug())),
    }
}
