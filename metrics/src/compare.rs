//! The first difference between two run directories, as `folkmoot compare` tells it.

use crate::artifacts::JOBS;
use crate::records::{ReadingRow, ScoreRow};
use crate::run_dir::{ARTIFACTS, ReadError, RunDir, SUMMARY, result_files};
use crate::run_dir::{encode_summary, read_bytes};
use crate::table::{Cells, Row, bare, decode_cells};
use std::fmt;
use std::path::Path;

/// The first place where two run directories differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file, by its path below the directories.
    pub file: String,
    /// The line in that file, counted from 1; `None` when the file as a whole differs.
    pub line: Option<u64>,
    /// The column of a table, or the name in the summary.
    pub column: Option<String>,
    /// What the first directory has there; `None` if nothing.
    pub a: Option<String>,
    /// What the second directory has there; `None` if nothing.
    pub b: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ": line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", {column}")?;
        }
        let (a, b) = (
            self.a.as_deref().unwrap_or("nothing"),
            self.b.as_deref().unwrap_or("nothing"),
        );
        write!(f, ": {a} against {b}")
    }
}

/// The first difference between the results in `a` and `b`, or `None` if they are equal.
///
/// Compared are trainings of a user's own program, then the files of the fingerprint, in its order:
/// the tables cell by cell, the summary name by name, artifacts by size and first differing byte.
/// The scenario, the manifest and the timing are not results.
///
/// # Errors
///
/// When either is no run directory or is damaged.
pub fn compare(a: &Path, b: &Path) -> Result<Option<Difference>, ReadError> {
    let dirs = [RunDir::open(a)?, RunDir::open(b)?];
    let names = [result_files(a)?, result_files(b)?];
    let readings = ReadingRow::FILE.to_owned();
    let mut all: Vec<&String> = names[0].iter().collect();
    all.insert(
        1 + all.iter().position(|name| *name == ScoreRow::FILE).unwrap_or_default(),
        &readings,
    );
    // Artifacts that only the second has come last; the tables are in both lists.
    all.extend(names[1].iter().filter(|name| !names[0].contains(name)));
    // A training that differs is the cause of results that do.
    let jobs = format!("{ARTIFACTS}/{}", JOBS.file);
    if names.iter().all(|names| names.contains(&jobs)) {
        all.insert(0, &jobs);
    }
    for name in all {
        let found = if *name == jobs {
            compare_tables(name, a, b)?
                .map(|found| named_by_job(found, a))
                .transpose()?
        } else if name == SUMMARY {
            compare_summaries(&dirs[0], &dirs[1])
        } else if name.ends_with(".csv") && !name.contains('/') {
            compare_tables(name, a, b)?
        } else {
            compare_bytes(name, a, b)?
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The difference of a training, with its round and client.
fn named_by_job(found: Difference, dir: &Path) -> Result<Difference, ReadError> {
    let (_, rows) = cells(&found.file, dir)?;
    let row = rows.iter().find(|(line, _)| Some(*line) == found.line);
    let job = row.map(|(_, row)| format!("training of client {} in round {}", &row[1], &row[0]));
    Ok(Difference {
        column: job.or(found.column.clone()),
        ..found
    })
}

fn compare_tables(name: &str, a: &Path, b: &Path) -> Result<Option<Difference>, ReadError> {
    let ((header, left), (_, right)) = (cells(name, a)?, cells(name, b)?);
    for row in 0..left.len().max(right.len()) {
        let (Some((line, a)), Some((_, b))) = (left.get(row), right.get(row)) else {
            let text = |row: Option<&(u64, csv::StringRecord)>| {
                row.map(|(_, record)| record.iter().collect::<Vec<_>>().join(","))
            };
            let line = left.get(row).or(right.get(row)).map(|(line, _)| *line);
            let (a, b) = (text(left.get(row)), text(right.get(row)));
            return Ok(Some(Difference {
                file: name.to_owned(),
                line,
                column: None,
                a,
                b,
            }));
        };
        let number = |row: &csv::StringRecord, column| row.get(column).map(|cell| bare(cell.as_bytes()).to_owned());
        if let Some(column) = (0..header.len()).find(|&column| number(a, column) != number(b, column)) {
            return Ok(Some(Difference {
                file: name.to_owned(),
                line: Some(*line),
                column: Some(header[column].clone()),
                a: a.get(column).map(str::to_owned),
                b: b.get(column).map(str::to_owned),
            }));
        }
    }
    Ok(None)
}

/// A table's cells; none where an unfinished run has not written the table yet. Readings that an
/// earlier version wrote among the scores count as those of `readings.csv`.
fn cells(name: &str, dir: &Path) -> Result<Cells, ReadError> {
    let table = |name: &str| match dir.join(name) {
        path if path.exists() => decode_cells(&read_bytes(&path)?).map_err(|error| ReadError::Table { path, error }),
        _ => Ok((Vec::new(), Vec::new())),
    };
    let (header, mut rows) = table(name)?;
    let is_reading = |row: &csv::StringRecord| match (row.get(2), row.get(3)) {
        (Some(split), Some(metric)) => ReadingRow::split(metric) == Some(split),
        _ => false,
    };
    if name == ScoreRow::FILE {
        rows.retain(|(_, row)| !is_reading(row));
    } else if name == ReadingRow::FILE && rows.is_empty() {
        let (_, scores) = table(ScoreRow::FILE)?;
        let among = scores.into_iter().filter(|(_, row)| is_reading(row));
        let without_split = |row: csv::StringRecord| {
            row.iter()
                .enumerate()
                .filter(|(at, _)| *at != 2)
                .map(|(_, cell)| cell)
                .collect()
        };
        rows = among.map(|(line, row)| (line, without_split(row))).collect();
    }
    Ok((header, rows))
}

fn compare_summaries(a: &RunDir, b: &RunDir) -> Option<Difference> {
    // The text is compared, not the number, so that two NaN are equal and 0 differs from -0.
    let text = |dir: &RunDir, name: &String| dir.summary.get(name).map(|value| crate::table::number_text(*value));
    let names: std::collections::BTreeSet<&String> = a.summary.keys().chain(b.summary.keys()).collect();
    let name = names.into_iter().find(|name| text(a, name) != text(b, name))?;
    let summary = if a.summary.contains_key(name) {
        &a.summary
    } else {
        &b.summary
    };
    let lines = String::from_utf8_lossy(&encode_summary(summary)).into_owned();
    let key = format!("  {}:", serde_json::Value::from(name.as_str()));
    let line = lines
        .lines()
        .position(|line| line.starts_with(&key))
        .map(|idx| idx as u64 + 1);
    let (a, b) = (text(a, name), text(b, name));
    Some(Difference {
        file: SUMMARY.to_owned(),
        line,
        column: Some(name.clone()),
        a,
        b,
    })
}

fn compare_bytes(name: &str, a: &Path, b: &Path) -> Result<Option<Difference>, ReadError> {
    let bytes = |dir: &Path| {
        let path = dir.join(name);
        if path.exists() {
            read_bytes(&path).map(Some)
        } else {
            Ok(None)
        }
    };
    let (left, right) = (bytes(a)?, bytes(b)?);
    if left == right {
        return Ok(None);
    }
    let at = match (&left, &right) {
        (Some(left), Some(right)) => left.iter().zip(right).position(|(a, b)| a != b),
        _ => None,
    };
    let text = |bytes: Option<Vec<u8>>| {
        bytes.map(|bytes| match at.and_then(|at| Some((at, bytes.get(at)?))) {
            Some((at, byte)) => format!("byte {byte} at {at}"),
            None => format!("{} bytes", bytes.len()),
        })
    };
    Ok(Some(Difference {
        file: name.to_owned(),
        line: None,
        column: None,
        a: text(left),
        b: text(right),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::{RunResult, RunWriter};
    use crate::testing::{TempDir, manifest, result};

    fn difference(change: impl Fn(&mut RunResult)) -> Option<String> {
        let temp = TempDir::new();
        let (a, b) = (temp.path().join("a"), temp.path().join("b"));
        let mut changed = result(3);
        changed.tables.timing.clear();
        change(&mut changed);
        RunWriter::create(&a, "s", manifest())
            .unwrap()
            .finish(&result(3))
            .unwrap();
        RunWriter::create(&b, "s", manifest())
            .unwrap()
            .finish(&changed)
            .unwrap();
        compare(&a, &b).unwrap().map(|difference| difference.to_string())
    }

    #[test]
    fn the_first_difference_is_told_by_file_line_and_column() {
        assert_eq!(difference(|_| ()), None);
        let told = |change: &dyn Fn(&mut RunResult)| difference(change).unwrap();
        assert_eq!(
            told(&|result| {
                result.tables.messages[1].sent = 9;
                result.summary.clear();
            }),
            "messages.csv: line 3, sent: 4 against 9"
        );
        assert_eq!(
            told(&|result| result.tables.scores.truncate(1)),
            "scores.csv: line 3: 2,0.5,test,accuracy,0.3333333333333333,100 against nothing"
        );
        assert_eq!(
            told(&|result| {
                result.summary.insert("payload_bytes".into(), 1.0);
            }),
            "summary.json: line 3, payload_bytes: 800 against 1"
        );
        assert_eq!(
            told(&|result| result.artifacts[0].bytes[1] = b'x'),
            "artifacts/tree.json: byte 125 at 1 against byte 120 at 1"
        );
        assert_eq!(
            told(&|result| result.artifacts.truncate(1)),
            "artifacts/embeddings/last.npy: 3 bytes against nothing"
        );
    }

    #[test]
    fn a_folder_without_a_manifest_is_an_error() {
        let temp = TempDir::new();
        assert!(matches!(
            compare(temp.path(), temp.path()),
            Err(ReadError::NotOne { .. })
        ));
    }
}
