//! Where data files are looked for, and what is said when they are missing or wrong.

use folkmoot_parts::Broken;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::{GraphError, LabelError};

/// An ordered list of folders, each with the origin of its name (`--data`, `FOLKMOOT_DATA`, `./data`).
///
/// The binary fills it in; nothing here reads arguments or the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDirs {
    dirs: Vec<(String, PathBuf)>,
}

impl DataDirs {
    /// No folder at all: enough for generated and built-in graphs.
    pub fn new() -> DataDirs {
        DataDirs::default()
    }

    /// Adds a folder to be looked in after those already named.
    pub fn with(mut self, origin: &str, dir: impl Into<PathBuf>) -> DataDirs {
        self.dirs.push((origin.to_string(), dir.into()));
        self
    }

    /// The folders in the order in which they are looked in.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.dirs.iter().map(|(origin, dir)| (origin.as_str(), dir.as_path()))
    }

    /// The first folder's `relative` file or folder that exists; an absolute path is taken as it stands.
    ///
    /// # Errors
    /// [`DataError::Missing`], which lists every place looked in and how to get the set, as far as
    /// [`DatasetSpec::catalogue`](crate::DatasetSpec::catalogue) knows its path.
    pub fn locate(&self, relative: impl AsRef<Path>) -> Result<PathBuf, DataError> {
        let relative = relative.as_ref();
        let mut looked = Vec::new();
        if relative.is_absolute() {
            if relative.exists() {
                return Ok(relative.to_path_buf());
            }
            looked.push(("the path given".to_string(), relative.to_path_buf()));
        } else {
            for (origin, dir) in &self.dirs {
                let path = dir.join(relative);
                if path.exists() {
                    return Ok(path);
                }
                looked.push((origin.clone(), path));
            }
        }
        Err(DataError::Missing {
            what: relative.to_path_buf(),
            looked,
            get: crate::spec::how_to_get(relative),
        })
    }
}

/// Why a data set could not be loaded. None of these leaves anything behind; the caller may try another set.
#[derive(Debug, Error)]
pub enum DataError {
    /// No folder holds the file.
    #[error("{}", missing(.what, .looked, .get))]
    Missing {
        /// The path below a data folder.
        what: PathBuf,
        /// Every place looked in, with the origin of its folder.
        looked: Vec<(String, PathBuf)>,
        /// How to get the set, in a sentence.
        get: String,
    },
    /// The file exists but cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A text file breaks a rule of its format.
    #[error("{}:{line}: {message}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The rule and what was found.
        message: String,
    },
    /// A file breaks a rule of its format that belongs to no single line.
    #[error("{}: {message}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The rule and what was found.
        message: String,
    },
    /// The settings themselves break rules.
    #[error("{}", Broken::list(.0, "dataset.", "\n"))]
    Spec(Vec<Broken>),
    /// A generator asked for more than a graph can hold.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Where a data set was looked for, and how to get it.
fn missing(what: &Path, looked: &[(String, PathBuf)], get: &str) -> String {
    let mut text = format!("{} was not found", what.display());
    if looked.is_empty() {
        text += "; no data folder was named (--data DIR or FOLKMOOT_DATA)";
    }
    for (origin, path) in looked {
        text += &format!("\n  looked for {} ({origin})", path.display());
    }
    text + "\n  " + get
}

impl DataError {
    pub(crate) fn line(path: &Path, line: usize, message: impl Into<String>) -> DataError {
        DataError::Line {
            path: path.to_path_buf(),
            line,
            message: message.into(),
        }
    }

    pub(crate) fn format(path: &Path, message: impl Into<String>) -> DataError {
        DataError::Format {
            path: path.to_path_buf(),
            message: message.into(),
        }
    }

    pub(crate) fn graph(path: &Path, error: GraphError) -> DataError {
        DataError::format(path, error.to_string())
    }

    pub(crate) fn labels(path: &Path, error: LabelError) -> DataError {
        DataError::format(path, error.to_string())
    }
}
