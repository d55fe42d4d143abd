//! Reading a run directory back.

use super::canonical::with_readings;
use super::error::ReadError;
use super::manifest::{Division, Manifest, decode_summary, fingerprint, from_json, hashed_summary};
use super::{ARTIFACTS, MANIFEST, SCENARIO, SUMMARY};
use crate::records::{PartitionRow, ReadingRow, ScoreRow};
use crate::table::{Row, decode};
use crate::tables::{TableRole, Tables};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run directory, read whole but for its artifacts.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDir {
    /// Where it lies.
    pub path: PathBuf,
    /// `scenario.ron`, as text.
    pub scenario: String,
    /// `manifest.json`.
    pub manifest: Manifest,
    /// Tables that are missing are empty; of `readings`, what an earlier version wrote among the
    /// scores is there.
    pub tables: Tables,
    /// `summary.json`.
    pub summary: BTreeMap<String, f64>,
    /// The paths below `artifacts/`, sorted, with `/` between their parts.
    pub artifacts: Vec<String>,
}

impl RunDir {
    /// Reads the run directory at `path`. In one that is not finished, tables that were never saved
    /// are empty.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotOne`] without a manifest; [`ReadError::Io`], [`ReadError::Table`] or
    /// [`ReadError::Json`] naming the file, and the line and the rule where its content is to
    /// blame.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let manifest = read_manifest(path)?;
        let summary = path.join(SUMMARY);
        let mut tables = Tables::read(path, manifest.finished)?;
        readings_apart(&mut tables.scores, &mut tables.readings);
        Ok(RunDir {
            scenario: String::from_utf8_lossy(&read_bytes(&path.join(SCENARIO))?).into_owned(),
            tables,
            summary: match read_optional(&summary, !manifest.finished)? {
                Some(bytes) => decode_summary(&summary, &bytes)?,
                None => BTreeMap::new(),
            },
            artifacts: list_artifacts(path)?,
            path: path.to_owned(),
            manifest,
        })
    }

    /// The content of one of [`RunDir::artifacts`].
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`].
    pub fn artifact(&self, name: &str) -> Result<Vec<u8>, ReadError> {
        read_bytes(&self.path.join(ARTIFACTS).join(name))
    }

    /// The fingerprint of the files as they lie on the disk now; equal to the manifest's unless one
    /// was changed.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] when a file is missing, as in a run that is not finished.
    pub fn fingerprint(&self) -> Result<String, ReadError> {
        let files: Vec<(String, Vec<u8>)> = result_files(&self.path)?
            .into_iter()
            .map(|name| {
                let path = self.path.join(&name);
                let bytes = read_bytes(&path)?;
                match name.as_str() {
                    SUMMARY => Ok((name, hashed_summary(&path, bytes, &self.manifest.unhashed)?)),
                    ScoreRow::FILE => {
                        let readings = read_optional(&self.path.join(ReadingRow::FILE), true)?.unwrap_or_default();
                        Ok((name, with_readings(bytes, &readings, self.manifest.readings_after)))
                    }
                    _ => Ok((name, bytes)),
                }
            })
            .collect::<Result<_, ReadError>>()?;
        Ok(fingerprint(
            files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())),
        ))
    }
}

/// The names of the files that make up a run's result, in the fingerprint's order.
pub(crate) fn result_files(dir: &Path) -> Result<Vec<String>, ReadError> {
    let tables = Tables::ALL.iter().filter(|table| table.role == TableRole::Result);
    let tables = tables.map(|table| table.file).chain([SUMMARY]);
    let artifacts = list_artifacts(dir)?
        .into_iter()
        .map(|name| format!("{ARTIFACTS}/{name}"));
    Ok(tables.map(str::to_owned).chain(artifacts).collect())
}

/// `manifest.json` of the run directory `dir`.
///
/// # Errors
///
/// When `dir` is no run directory or its manifest is damaged.
pub fn read_manifest(dir: &Path) -> Result<Manifest, ReadError> {
    let path = dir.join(MANIFEST);
    match read_bytes(&path) {
        Ok(bytes) => from_json(&path, &bytes),
        Err(ReadError::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Err(ReadError::NotOne {
                path: dir.to_owned(),
                what: "run",
                missing: MANIFEST,
            })
        }
        Err(error) => Err(error),
    }
}

/// The bytes of a plain file, or of one that a link leads to. A pipe or a device, which might never
/// end, is refused.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let bytes = fs::metadata(path).and_then(|found| match found.is_file() {
        true => fs::read(path),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no plain file; remove it, or put the file of the run there again",
        )),
    });
    bytes.map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })
}

/// The file's bytes; `None` if it is missing and `may_lack` allows that.
fn read_optional(path: &Path, may_lack: bool) -> Result<Option<Vec<u8>>, ReadError> {
    match read_bytes(path) {
        Err(ReadError::Io { source, .. }) if may_lack && source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// How the data of the run directory `dir` are shared out, and `partition.csv`; none where it does
/// not say.
///
/// # Errors
///
/// When `dir` is no run directory or is damaged.
pub fn read_partition(dir: &Path) -> Result<Option<(Division, Vec<PartitionRow>)>, ReadError> {
    let rows = read_table(dir, true)?;
    Ok(read_manifest(dir)?.division.map(|division| (division, rows)))
}

/// A table of the run directory `dir`; empty if it is missing and `may_lack` allows that.
///
/// # Errors
///
/// When it is damaged, or missing.
pub fn read_table<R: Row>(dir: &Path, may_lack: bool) -> Result<Vec<R>, ReadError> {
    let path = dir.join(R::FILE);
    match read_optional(&path, may_lack)? {
        Some(bytes) => decode(&bytes).map_err(|error| ReadError::Table { path, error }),
        None => Ok(Vec::new()),
    }
}

/// The scores of the run directory `dir`, and the engine's readings, which earlier versions wrote
/// among them.
///
/// # Errors
///
/// When a table is damaged, or that of the scores is missing and `may_lack` does not allow that.
pub(crate) fn read_scores(dir: &Path, may_lack: bool) -> Result<(Vec<ScoreRow>, Vec<ReadingRow>), ReadError> {
    let (mut scores, mut readings) = (read_table(dir, may_lack)?, read_table(dir, true)?);
    readings_apart(&mut scores, &mut readings);
    Ok((scores, readings))
}

/// Moves readings that an earlier version wrote among the scores to where they belong.
fn readings_apart(scores: &mut Vec<ScoreRow>, readings: &mut Vec<ReadingRow>) {
    let among = scores.extract_if(.., |row| ReadingRow::split(&row.metric) == Some(&row.split));
    readings.extend(among.map(|row| ReadingRow {
        round: row.round,
        virtual_s: row.virtual_s,
        metric: row.metric,
        value: row.value,
        n: row.n,
    }));
}

/// The paths below `artifacts/`, sorted bytewise.
fn list_artifacts(dir: &Path) -> Result<Vec<String>, ReadError> {
    list_files(&dir.join(ARTIFACTS))
}

/// The paths below a folder, sorted bytewise; none where there is no such folder. Links are taken
/// for files, so that none leads around in a circle.
pub(crate) fn list_files(dir: &Path) -> Result<Vec<String>, ReadError> {
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), String::new())];
    while let Some((path, prefix)) = open.pop() {
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if prefix.is_empty() && error.kind() == io::ErrorKind::NotFound => break,
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        for entry in entries {
            let entry = entry.map_err(|source| ReadError::Io {
                path: path.clone(),
                source,
            })?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(|source| ReadError::Io {
                path: entry.path(),
                source,
            })?;
            if kind.is_dir() {
                open.push((entry.path(), format!("{name}/")));
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}
