//! Where data files are looked for.

use std::path::{Path, PathBuf};

use crate::DataError;
use crate::sources::how_to_get;

/// An ordered list of folders, each with the origin of its name (`--data`, `FOLKMOOT_DATA`,
/// `./data`).
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

    /// The first folder's `relative` file or folder that exists; an absolute path is taken as it
    /// stands.
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
            get: how_to_get(relative),
        })
    }
}
