//! Lines and fields of text files.

use ndarray::Array2;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::format::{self, Wanted};
use crate::DataError;

/// A whole text file.
pub(crate) struct Text {
    pub(crate) path: PathBuf,
    bytes: Vec<u8>,
}

/// A matrix as a text file holds it, row after row.
pub(super) struct Rows<T> {
    pub(super) n_rows: usize,
    pub(super) n_columns: usize,
    pub(super) values: Vec<T>,
}

impl Rows<f32> {
    pub(super) fn array(self, path: &Path) -> Result<Array2<f32>, DataError> {
        Array2::from_shape_vec((self.n_rows, self.n_columns), self.values)
            .map_err(|error| DataError::format(path, error.to_string()))
    }
}

impl Text {
    /// Reads a file, decoded; an empty one and one in a foreign format are errors.
    pub(crate) fn open(path: &Path) -> Result<Text, DataError> {
        Text::wanted(path, Wanted::Text)
    }

    /// As [`open`](Self::open); the message about a foreign format says how to write an edge list
    /// from it.
    pub(super) fn of_edges(path: &Path) -> Result<Text, DataError> {
        Text::wanted(path, Wanted::Edges)
    }

    fn wanted(path: &Path, wanted: Wanted) -> Result<Text, DataError> {
        Ok(Text {
            path: path.to_path_buf(),
            bytes: format::text(path, format::read_bytes(path)?, wanted)?,
        })
    }

    /// The lines with their numbers from 1, without line ends (LF or CRLF) and surrounding blanks;
    /// the blank lines at the very end are left out.
    ///
    /// # Errors
    /// Each item fails if its line is not UTF-8.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Result<(usize, &str), DataError>> {
        let end = self
            .bytes
            .iter()
            .rposition(|byte| !byte.is_ascii_whitespace())
            .map_or(0, |at| at + 1);
        self.bytes[..end]
            .split(|&byte| byte == b'\n')
            .take_while(move |_| end > 0)
            .enumerate()
            .map(|(at, line)| match std::str::from_utf8(line) {
                Ok(text) => Ok((at + 1, text.trim())),
                Err(_) => Err(DataError::line(
                    &self.path,
                    at + 1,
                    format!("not a text in UTF-8; {}", format::in_utf8(&self.path)),
                )),
            })
    }

    /// The lines that hold data, with their numbers: blank lines and comments are left out.
    pub(crate) fn data_lines(&self) -> impl Iterator<Item = Result<(usize, &str), DataError>> {
        self.lines()
            .filter(|line| !matches!(line, Ok((_, line)) if line.is_empty() || line.starts_with(['#', '%'])))
    }

    /// A BLAKE3 hash of the decoded bytes, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }

    pub(crate) fn error(&self, line: usize, message: impl Into<String>) -> DataError {
        DataError::line(&self.path, line, message)
    }

    /// Parses one field as a number; `what` says what the number is, such as `a node id`.
    pub(crate) fn number<T: FromStr>(&self, line: usize, field: &str, what: &str) -> Result<T, DataError> {
        field
            .parse()
            .map_err(|_| self.error(line, format!("expected {what}, got {}", shown(field))))
    }

    /// The rows of a matrix: fields separated by commas, as many in each line as in the first; each
    /// is called a `what` and is read, with the number of its line, by `read`.
    pub(super) fn rows<T>(
        &self,
        what: &str,
        read: impl Fn(usize, &str) -> Result<T, DataError>,
    ) -> Result<Rows<T>, DataError> {
        let (mut n_rows, mut n_columns, mut values) = (0, 0, Vec::new());
        for line in self.lines() {
            let (number, line) = line?;
            let before = values.len();
            for field in line.split(',') {
                values.push(read(number, field.trim())?);
            }
            let n = values.len() - before;
            if n_rows > 0 && n != n_columns {
                let message = format!("expected {n_columns} {what}s as in the first line, got {n}");
                return Err(self.error(number, message));
            }
            (n_rows, n_columns) = (n_rows + 1, n);
        }
        Ok(Rows {
            n_rows,
            n_columns,
            values,
        })
    }

    /// A matrix of finite numbers, each called a `what`.
    pub(super) fn matrix(&self, what: &str) -> Result<Rows<f32>, DataError> {
        self.rows(what, |line, field| {
            let value: f32 = self.number(line, field, "a number")?;
            match value.is_finite() {
                true => Ok(value),
                false => Err(self.error(line, format!("every {what} must be finite, got {value}"))),
            }
        })
    }

    /// Parses one field as a count or an id, which numpy and pandas may write as `3.0`.
    pub(crate) fn whole<T: TryFrom<u64>>(&self, line: usize, field: &str, what: &str) -> Result<T, DataError> {
        whole(field)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| self.error(line, format!("expected {what}, got {}", shown(field))))
    }
}

/// A number that is whole and not negative, in any notation.
pub(super) fn whole(field: &str) -> Option<u64> {
    if let Ok(number) = field.parse() {
        return Some(number);
    }
    let number: f64 = field.parse().ok()?;
    // Above this not every whole number is a float, so that two ids could become one.
    let is_whole = number.fract() == 0.0 && (0.0..2_f64.powi(53)).contains(&number);
    is_whole.then_some(number as u64)
}

/// A field in quotes, cut short.
pub(super) fn shown(field: &str) -> String {
    let short: String = field.chars().take(40).collect();
    format!("\"{}\"", short.escape_debug())
}

/// The fields of a line: separated by commas or semicolons where it has one, else by blanks;
/// without quotes around them and without a comment. A comment begins a field; between separators,
/// where `C #1` is a field, a blank follows its sign.
pub(crate) fn fields(line: &str) -> Vec<&str> {
    let separator = [',', ';'].into_iter().find(|&separator| line.contains(separator));
    let is_comment = |&(at, c): &(usize, char)| {
        let ends = line[at + c.len_utf8()..].starts_with(char::is_whitespace) || at + c.len_utf8() == line.len();
        matches!(c, '#' | '%') && line[..at].ends_with(char::is_whitespace) && (separator.is_none() || ends)
    };
    let comment = line.char_indices().find(is_comment);
    let line = comment.map_or(line, |(at, _)| line[..at].trim_end());
    match separator {
        Some(separator) => line.split(separator).map(unquoted).collect(),
        None => line.split_ascii_whitespace().map(unquoted).collect(),
    }
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| field.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(field)
}
