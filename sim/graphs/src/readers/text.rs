//! Lines and fields of text files.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::read_bytes;
use crate::DataError;

/// A whole text file.
pub(crate) struct Text {
    pub(crate) path: PathBuf,
    bytes: Vec<u8>,
}

impl Text {
    /// Reads a file; an empty one is an error.
    pub(crate) fn open(path: &Path) -> Result<Text, DataError> {
        Ok(Text {
            path: path.to_path_buf(),
            bytes: read_bytes(path)?,
        })
    }

    /// The lines with their numbers from 1, without line ends (LF or CRLF) and surrounding blanks; the blank lines at the
    /// very end are left out.
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
                    "not a line of text (invalid UTF-8)",
                )),
            })
    }

    /// A BLAKE3 hash of the bytes, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }

    pub(crate) fn error(&self, line: usize, message: impl Into<String>) -> DataError {
        DataError::line(&self.path, line, message)
    }

    /// Parses one field as a number; `what` says what the number is, such as `a node id`.
    pub(crate) fn number<T: FromStr>(&self, line: usize, field: &str, what: &str) -> Result<T, DataError> {
        field.parse().map_err(|_| {
            let shown: String = field.chars().take(40).collect();
            self.error(line, format!("expected {what}, got \"{}\"", shown.escape_debug()))
        })
    }
}

/// Renumbers the distinct `values` to `0..n` in ascending order; returns the codes and the values they stand for.
pub(super) fn compact<T: Ord + Copy>(values: &[T]) -> (Vec<u32>, Vec<T>) {
    let mut distinct = values.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let code = |value: &T| distinct.binary_search(value).map_or(0, |at| at as u32);
    (values.iter().map(code).collect(), distinct)
}
