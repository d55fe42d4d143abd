//! Matrices of a MATLAB 5 file, sparse or full, as lists of entries.

use crate::readers::format;

use super::element::{Element, Elements, Endian, MI_COMPRESSED, MI_MATRIX, inflate};

/// The descriptive text and the version that open every file.
const HEADER_LEN: usize = 128;
const CLASS_SPARSE: u32 = 5;
/// The flag of a matrix with imaginary parts.
const COMPLEX: u32 = 0x800;
/// Full matrices of numbers: double, single, and the integers of 8 to 64 bits.
const CLASSES_FULL: std::ops::RangeInclusive<u32> = 6..=15;

/// The stored entries `(row, column, value)` of a matrix, column after column; zeros may be among
/// them.
pub(super) struct Matrix {
    pub(super) n_rows: u32,
    pub(super) n_columns: u32,
    pub(super) entries: Vec<(u32, u32, f64)>,
}

/// Calls `found(name, read)` for every matrix of the file; `read` parses it, and is not called for
/// variables to ignore.
pub(super) fn visit(
    bytes: &[u8],
    mut found: impl FnMut(&str, &dyn Fn() -> Result<Matrix, String>) -> Result<(), String>,
) -> Result<(), String> {
    if let Some((name, way)) = format::binary(bytes).filter(|_| !bytes.starts_with(b"MATLAB 5")) {
        return Err(format!("{name}, not a MATLAB 5 file; {way}"));
    }
    if is_level_4(bytes) {
        return Err("a MATLAB 4 file; save it with `-v7`".to_string());
    }
    let Some((header, body)) = bytes.split_at_checked(HEADER_LEN) else {
        return Err(format!(
            "not a MATLAB 5 file: {} bytes are less than its header of {HEADER_LEN}",
            bytes.len()
        ));
    };
    let endian = match &header[HEADER_LEN - 4..] {
        [0x00, 0x01, b'I', b'M'] => Endian::Little,
        [0x01, 0x00, b'M', b'I'] => Endian::Big,
        [0x00, 0x02, b'I', b'M'] => return Err("a MATLAB 7.3 (HDF5) file; save it with `-v7` or earlier".to_string()),
        _ => return Err("not a MATLAB 5 file: the version and byte order in its header are unknown".to_string()),
    };
    let mut elements = Elements { bytes: body, endian };
    while let Some(element) = elements.next()? {
        if element.kind == MI_COMPRESSED {
            let unpacked = inflate(element.data)?;
            let mut inner = Elements {
                bytes: &unpacked,
                endian,
            };
            while let Some(element) = inner.next()? {
                visit_element(&element, endian, &mut found)?;
            }
        } else {
            visit_element(&element, endian, &mut found)?;
        }
    }
    Ok(())
}

/// Whether a file begins with the header of a level 4 matrix: type, rows, columns, imaginary part,
/// length of the name, in 20 bytes.
fn is_level_4(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<20>() else {
        return false;
    };
    let holds = |word: fn([u8; 4]) -> u32, machine: u32| {
        let field = |at: usize| word([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (kind, imaginary, name_len) = (field(0), field(12), field(16));
        let digits = (kind / 1000, kind / 100 % 10, kind / 10 % 10, kind % 10);
        let named = bytes
            .get(20..)
            .and_then(|rest| rest.get((name_len as usize).checked_sub(1)?));
        kind < 5_000
            && digits.0 == machine
            && digits.1 == 0
            && digits.2 <= 5
            && digits.3 <= 2
            && imaginary <= 1
            && named == Some(&0)
    };
    holds(u32::from_le_bytes, 0) || holds(u32::from_be_bytes, 1)
}

fn visit_element(
    element: &Element<'_>,
    endian: Endian,
    found: &mut impl FnMut(&str, &dyn Fn() -> Result<Matrix, String>) -> Result<(), String>,
) -> Result<(), String> {
    if element.kind != MI_MATRIX || element.data.is_empty() {
        return Ok(());
    }
    let mut parts = Elements {
        bytes: element.data,
        endian,
    };
    let flags = parts.expect("array flags")?.indices(endian, "array flags")?;
    let Some(class) = flags.first().map(|flags| flags & 0xff) else {
        return Err("the array flags of a matrix are empty".to_string());
    };
    const KINDS: [&str; 4] = ["a cell array", "a structure", "an object", "text"];
    let kind = (class as usize).checked_sub(1).and_then(|at| KINDS.get(at));
    if class != CLASS_SPARSE && !CLASSES_FULL.contains(&class) && kind.is_none() {
        // Functions and newer objects are laid out otherwise; none of them is a graph.
        return Ok(());
    }
    let dimensions = parts.expect("dimensions")?.indices(endian, "dimensions")?;
    let name = String::from_utf8_lossy(parts.expect("name")?.data).into_owned();
    let within = |message| format!("variable `{}`: {message}", name.escape_debug());
    if let Some(kind) = kind {
        let rule = format!("{kind} is not read; write classes as numbers: [~, ~, labels] = unique(labels)");
        return found(&name, &|| Err(within(rule.clone())));
    }
    let is_complex = flags[0] & COMPLEX != 0;
    let rest = parts.bytes;
    found(&name, &|| {
        let [n_rows, n_columns] = dimensions[..] else {
            return Err(within(format!("expected 2 dimensions, got {}", dimensions.len())));
        };
        if is_complex {
            return Err(within(
                "complex numbers are not read; save its real part, or its absolute values".to_string(),
            ));
        }
        let parts = Elements { bytes: rest, endian };
        let read = if class == CLASS_SPARSE { sparse } else { full };
        let entries = read(parts, n_rows, n_columns).map_err(within)?;
        Ok(Matrix {
            n_rows,
            n_columns,
            entries,
        })
    })
}

/// Sparse: row indices, column bounds, values; the arrays may be longer than the last bound.
fn sparse(mut parts: Elements<'_>, n_rows: u32, n_columns: u32) -> Result<Vec<(u32, u32, f64)>, String> {
    let endian = parts.endian;
    let rows = parts.expect("row indices")?.indices(endian, "row indices")?;
    let bounds = parts.expect("column bounds")?.indices(endian, "column bounds")?;
    let values = parts.expect("values")?.numbers(endian)?;
    if bounds.len() as u64 != u64::from(n_columns) + 1 {
        return Err(format!(
            "{n_columns} columns need {} bounds, got {}",
            u64::from(n_columns) + 1,
            bounds.len()
        ));
    }
    let n_entries = bounds[n_columns as usize] as usize;
    if bounds[0] != 0 || bounds.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err("the column bounds must rise from 0".to_string());
    }
    if rows.len() < n_entries || values.len() < n_entries {
        let (n_indices, n_values) = (rows.len(), values.len());
        return Err(format!(
            "{n_entries} entries are announced, but {n_indices} row indices and {n_values} values are stored"
        ));
    }
    let mut entries = Vec::with_capacity(n_entries);
    for column in 0..n_columns {
        let range = bounds[column as usize] as usize..bounds[column as usize + 1] as usize;
        for at in range {
            if rows[at] >= n_rows {
                return Err(format!("row index {} must be below {n_rows}", rows[at]));
            }
            entries.push((rows[at], column, values[at]));
        }
    }
    Ok(entries)
}

/// Full: all values, column after column.
fn full(mut parts: Elements<'_>, n_rows: u32, n_columns: u32) -> Result<Vec<(u32, u32, f64)>, String> {
    let endian = parts.endian;
    let values = parts.expect("values")?.numbers(endian)?;
    if u64::from(n_rows) * u64::from(n_columns) != values.len() as u64 {
        return Err(format!(
            "{n_rows} x {n_columns} values are announced, but {} are stored",
            values.len()
        ));
    }
    let place = |at: usize| ((at % n_rows as usize) as u32, (at / n_rows as usize) as u32);
    let stored = values.into_iter().enumerate().filter(|(_, value)| *value != 0.0);
    Ok(stored.map(|(at, value)| (place(at).0, place(at).1, value)).collect())
}
