//! What can go wrong with a run directory, and the way out.

use crate::table::TableError;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run or sweep directory could not be written. The run cannot go on.
#[derive(Debug)]
pub enum WriteError {
    /// Something lies at the path already; a run directory is never overwritten.
    Exists {
        /// The path asked for.
        path: PathBuf,
    },
    /// The system refused to create, write or rename a file.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file name given by a strategy is no plain relative path, or is given twice: the strategy's bug.
    BadName {
        /// The name.
        name: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// A finished run directory was to be written again.
    Finished {
        /// The directory.
        path: PathBuf,
    },
    /// The directory to go on with cannot be read.
    Read(Box<ReadError>),
    /// The writer thread ended without a reason of its own: a bug.
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
            "free some space or choose --out on another disk",
        ),
        Kind::QuotaExceeded => (
            "the disk quota is used up".into(),
            "free some space or choose --out on another disk",
        ),
        Kind::FileTooLarge => (
            "the file would be larger than the limit for files".into(),
            "raise the limit (ulimit -f) or choose --out on another disk",
        ),
        Kind::PermissionDenied => ("permission denied".into(), "choose --out in a folder you may write to"),
        Kind::ReadOnlyFilesystem => ("the disk is read-only".into(), "choose --out on another disk"),
        Kind::NotADirectory | Kind::AlreadyExists => {
            ("a file is in the way of a folder".into(), "choose another --out")
        }
        _ => (error.to_string(), "check the path, or choose another --out"),
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Exists { path } => {
                write!(
                    f,
                    "{}: already exists and is never overwritten; choose another --out",
                    path.display()
                )
            }
            WriteError::Io { path, source } => {
                let (cause, way_out) = plain_words(source);
                write!(f, "{}: cannot be written: {cause}; {way_out}", path.display())
            }
            WriteError::BadName { name, rule } => write!(f, "file name {name:?}: {rule}"),
            WriteError::Finished { path } => {
                write!(f, "{}: is finished, so there is nothing to go on with", path.display())
            }
            WriteError::Read(error) => error.fmt(f),
            WriteError::WriterLost => {
                f.write_str("the thread that writes the run directory ended early; please report it")
            }
        }
    }
}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            WriteError::Io { source, .. } => Some(source),
            WriteError::Read(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        WriteError::Read(Box::new(error))
    }
}

/// Why a run or sweep directory could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The path is no run directory (or no sweep directory).
    NotOne {
        /// The path.
        path: PathBuf,
        /// `run` or `sweep`.
        what: &'static str,
        /// The file that such a directory has and this path lacks.
        missing: &'static str,
    },
    /// A file cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A table breaks its format.
    Table {
        /// The file.
        path: PathBuf,
        /// Where and how.
        error: TableError,
    },
    /// A JSON file breaks its format.
    Json {
        /// The file.
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

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotOne { path, what, missing } => write!(
                f,
                "{}: is not a {what} directory: it has no {missing}; give the folder that `--out` named",
                path.display()
            ),
            ReadError::Io { path, source } => write!(f, "{}: cannot be read: {source}", path.display()),
            ReadError::Table { path, error } => write!(f, "{}: {error}", path.display()),
            ReadError::Json { path, line, rule } => write!(f, "{}: line {line}: {rule}", path.display()),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ReadError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
