//! Rows and fields of a CSV file with a header; every message names line and column.

use std::path::{Path, PathBuf};

use super::classes::{self, Class};
use super::format::{self, Wanted};
use super::text::shown;
use crate::DataError;

/// A whole file, cut into records.
pub(super) struct Table {
    path: PathBuf,
    bytes: Vec<u8>,
    /// What separates fields: a comma, or what the header has where it has no comma.
    separator: u8,
    header: Vec<String>,
    /// Of a table that was made of another format, the line of the source for each line.
    origins: Option<Vec<usize>>,
}

impl Table {
    /// Reads a file and its header.
    pub(super) fn open(path: &Path) -> Result<Table, DataError> {
        let bytes = format::text(path, format::read_bytes(path)?, Wanted::Text)?;
        Table::of_bytes(path, bytes, None)
    }

    /// A table made of another format: comma-separated bytes whose line `k`, from 1, comes from the
    /// line `origins[k - 1]` of the file.
    pub(super) fn of_bytes(path: &Path, bytes: Vec<u8>, origins: Option<Vec<usize>>) -> Result<Table, DataError> {
        let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let separator = [b',', b'\t', b';']
            .into_iter()
            .find(|separator| first.contains(separator));
        let mut table = Table {
            path: path.to_path_buf(),
            separator: separator.filter(|_| origins.is_none()).unwrap_or(b','),
            bytes,
            header: Vec::new(),
            origins,
        };
        let header = table.records().next().transpose()?;
        let Some(header) = header else {
            return Err(table.error("the file holds no header; its first line must name the columns"));
        };
        let mut names: Vec<String> = Vec::new();
        for column in 0..header.fields.len() {
            let name = header.field(column)?.trim().to_string();
            if !name.is_empty() && names.contains(&name) {
                let rule = format!("two columns have the name \"{}\"", name.escape_debug());
                return Err(header.error(column, &rule));
            }
            names.push(name);
        }
        table.header = names;
        Ok(table)
    }

    pub(super) fn n_columns(&self) -> usize {
        self.header.len()
    }

    pub(super) fn header(&self, column: usize) -> &str {
        &self.header[column]
    }

    /// The position of the column `name`, which the card's `field` names.
    pub(super) fn column(&self, name: &str, field: &str) -> Result<usize, DataError> {
        self.header.iter().position(|header| header == name).ok_or_else(|| {
            let most = 12;
            let listed: Vec<&str> = self.header.iter().take(most).map(String::as_str).collect();
            let more = if self.header.len() > most { ", …" } else { "" };
            let rule = format!(
                "there is no column `{name}` ({field}); the header has {}{more}",
                listed.join(", ").escape_debug()
            );
            DataError::line(&self.path, 1, rule)
        })
    }

    pub(super) fn error(&self, rule: &str) -> DataError {
        DataError::format(&self.path, rule)
    }

    /// The rows below the header; blank lines are no rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = Result<Row<'_>, DataError>> {
        self.records().skip(1).map(|row| {
            let row = row?;
            let (got, expected) = (row.fields.len(), self.header.len());
            if got != expected {
                let rule = format!("expected {expected} fields as in the header, got {got}; quote fields with commas");
                return Err(DataError::line(&self.path, row.line, rule));
            }
            Ok(row)
        })
    }

    fn records(&self) -> impl Iterator<Item = Result<Row<'_>, DataError>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.separator)
            .from_reader(self.bytes.as_slice());
        // The reader's own count of lines runs behind after CRLF and blank lines.
        let (mut at, mut line) = (0, 1);
        std::iter::from_fn(move || {
            let mut fields = csv::ByteRecord::new();
            match reader.read_byte_record(&mut fields) {
                Ok(true) => {
                    let mut start = fields.position().map_or(0, csv::Position::byte) as usize;
                    while matches!(self.bytes.get(start), Some(b'\r' | b'\n')) {
                        start += 1;
                    }
                    line += self.bytes[at..start].iter().filter(|&&byte| byte == b'\n').count();
                    at = start;
                    let origin = self.origins.as_ref().and_then(|lines| lines.get(line - 1));
                    Some(Ok(Row {
                        table: self,
                        fields,
                        line: origin.copied().unwrap_or(line),
                    }))
                }
                Ok(false) => None,
                Err(error) => Some(Err(DataError::format(&self.path, error.to_string()))),
            }
        })
    }
}

pub(super) struct Row<'a> {
    table: &'a Table,
    fields: csv::ByteRecord,
    line: usize,
}

impl Row<'_> {
    /// The line on which the row begins, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// An error at a field: line, column's name, rule.
    pub(super) fn error(&self, column: usize, rule: &str) -> DataError {
        let name = self.table.header.get(column).map_or("", String::as_str);
        let message = if name.is_empty() {
            rule.to_string()
        } else {
            format!("column `{}`: {rule}", name.escape_debug())
        };
        DataError::line(&self.table.path, self.line, message)
    }

    pub(super) fn field(&self, column: usize) -> Result<&str, DataError> {
        let field = self.fields.get(column).unwrap_or_default();
        std::str::from_utf8(field).map_err(|_| self.error(column, "not a text in UTF-8"))
    }

    /// The class that a field names; `None` for a missing label.
    pub(super) fn class(&self, column: usize) -> Result<Option<Class>, DataError> {
        Class::parse(self.field(column)?).map_err(|rule| self.error(column, &rule))
    }

    /// A finite number.
    pub(super) fn number(&self, column: usize) -> Result<f32, DataError> {
        let field = self.field(column)?.trim();
        let number = field.parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.error(column, &format!("expected a finite number, got {}", shown(field))))
    }

    /// A number, NaN where the field is empty or says that it is missing.
    pub(super) fn number_or_missing(&self, column: usize) -> Result<f32, DataError> {
        match classes::is_missing(self.field(column)?) {
            true => Ok(f32::NAN),
            false => self.number(column),
        }
    }

    /// The part of a published split: 0 train, 1 validate, 2 test.
    pub(super) fn part(&self, column: usize) -> Result<u8, DataError> {
        match self.field(column)?.trim() {
            "Train" => Ok(0),
            "Valid" => Ok(1),
            "Test" => Ok(2),
            other => Err(self.error(column, &format!("expected Train, Valid or Test, got {}", shown(other)))),
        }
    }
}
