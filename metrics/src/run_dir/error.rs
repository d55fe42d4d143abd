//! What can go wrong with a run directory, and the way out.

use crate::table::TableError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run or sweep directory could not be written. The run cannot go on.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Something lies at the path already; a run directory is never overwritten.
    #[error("{}: already exists and is never overwritten; choose another --out", .path.display())]
    Exists {
        /// The path asked for.
        path: PathBuf,
    },
    /// The system refused to create, write or rename a file.
    #[error("{}: cannot be written: {}; {}", .path.display(), plain_words(.source).0, plain_words(.source).1)]
    Io {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
    /// A file name given by a strategy is no plain relative path, or is given twice: the strategy's
    /// bug.
    #[error("file name {name:?}: {rule}")]
    BadName {
        name: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// A finished run directory was to be written again.
    #[error("{}: is finished, so there is nothing to resume", .path.display())]
    Finished { path: PathBuf },
    /// What lies there was made of something else.
    #[error("{}: is of another sweep: {difference}; choose another --out", .path.display())]
    OtherSweep {
        /// The sweep or run directory.
        path: PathBuf,
        /// In what it is not what was asked for.
        difference: String,
    },
    /// Another process writes the directory.
    #[error("{}: is being written by another process; wait for its end, or end it", .path.display())]
    Busy { path: PathBuf },
    /// The directory to go on with cannot be read.
    #[error(transparent)]
    Read(Box<ReadError>),
    /// The writer thread ended without a reason of its own: a bug.
    #[error("the thread that writes the run directory ended early; please report it")]
    WriterLost,
}

impl WriteError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        WriteError::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// The system's reason in plain words, and the way out.
fn plain_words(error: &io::Error) -> (String, &'static str) {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull => (
            "the disk is full".into(),
            "free some space or choose a folder on another disk",
        ),
        Kind::QuotaExceeded => (
            "the disk quota is used up".into(),
            "free some space or choose a folder on another disk",
        ),
        Kind::FileTooLarge => (
            "the file would be larger than the limit for files".into(),
            "raise the limit (ulimit -f) or choose a folder on another disk",
        ),
        Kind::PermissionDenied => ("permission denied".into(), "choose a folder you may write to"),
        Kind::ReadOnlyFilesystem => ("the disk is read-only".into(), "choose a folder on another disk"),
        Kind::NotADirectory | Kind::AlreadyExists => {
            ("a file is in the way of a folder".into(), "choose another folder")
        }
        _ => (error.to_string(), "check the path, or choose another folder"),
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        WriteError::Read(Box::new(error))
    }
}

/// Why a run or sweep directory could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The path is no run directory (or no sweep directory).
    #[error("{}: is not a {what} directory: it has no {missing}; give the folder that `--out` named", .path.display())]
    NotOne {
        path: PathBuf,
        /// `run` or `sweep`.
        what: &'static str,
        /// The file that such a directory has and this path lacks.
        missing: &'static str,
    },
    /// A file cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A table breaks its format.
    #[error("{}: {error}", .path.display())]
    Table { path: PathBuf, error: TableError },
    /// A JSON file breaks its format.
    #[error("{}: line {line}: {rule}", .path.display())]
    Json {
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The rule that is broken.
        rule: String,
    },
}

impl ReadError {
    pub(crate) fn json(path: &Path, error: &serde_json::Error) -> Self {
        // serde_json ends its message with the position, which stands before it here.
        let text = error.to_string();
        let rule = text
            .rsplit_once(" at line ")
            .map_or(text.as_str(), |(rule, _)| rule)
            .to_owned();
        ReadError::Json {
            path: path.to_owned(),
            line: error.line(),
            rule,
        }
    }
}
