//! Where data files are looked for.

use std::path::{Path, PathBuf};

use crate::DataError;

const GET_OWN: &str = "help: check the path, which is relative to the card (or the current folder) or to a data folder \
    (--data DIR or FOLKMOOT_DATA) unless it is absolute";

/// An ordered list of folders, each with the origin of its name (`--data`, `FOLKMOOT_DATA`,
/// `./data`), and one for the user's own files, such as the folder of the card.
///
/// The binary fills it in; nothing here reads arguments or the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDirs {
    dirs: Vec<(String, PathBuf)>,
    own: Option<(String, PathBuf)>,
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

    /// States the folder where [`locate_own`](Self::locate_own) looks first, and its origin, such
    /// as `beside the card`.
    pub fn with_own(mut self, origin: &str, dir: impl Into<PathBuf>) -> DataDirs {
        self.own = Some((origin.to_string(), dir.into()));
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
    /// [`DataError::Missing`], which lists every place looked in.
    pub fn locate(&self, relative: impl AsRef<Path>) -> Result<PathBuf, DataError> {
        self.find(relative.as_ref(), false, GET_OWN)
    }

    /// As [`locate`](Self::locate) for a file of a published set; `how_to_get` ends the message if
    /// there is none.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn locate_set(&self, relative: impl AsRef<Path>, how_to_get: &str) -> Result<PathBuf, DataError> {
        self.find(relative.as_ref(), false, how_to_get)
    }

    /// As [`locate`](Self::locate) for a path that the user wrote: in the user's folder, then in
    /// the others.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn locate_own(&self, relative: impl AsRef<Path>) -> Result<PathBuf, DataError> {
        self.find(relative.as_ref(), true, GET_OWN)
    }

    fn find(&self, relative: &Path, is_own: bool, get: &str) -> Result<PathBuf, DataError> {
        let own = self.own.iter().filter(|_| is_own);
        let mut looked = Vec::new();
        if relative.is_absolute() {
            if relative.exists() {
                return Ok(relative.to_path_buf());
            }
            looked.push(("the path given".to_string(), relative.to_path_buf()));
        } else {
            for (origin, dir) in own.chain(&self.dirs) {
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
            get: get.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::test_files::Folder;

    #[test]
    fn a_path_of_ones_own_is_looked_for_beside_the_card_first() {
        let folder = Folder::new("data-dirs");
        let in_data = folder.file("data/edges.txt", "0 1\n");
        let only_data = folder.file("data/other.txt", "0 1\n");
        let beside = folder.file("cards/edges.txt", "0 1\n");
        let dirs = DataDirs::new()
            .with("--data", folder.0.join("data"))
            .with_own("beside the card", folder.0.join("cards"));
        assert_eq!(dirs.locate_own("edges.txt").unwrap(), beside);
        assert_eq!(dirs.locate("edges.txt").unwrap(), in_data);
        assert_eq!(dirs.locate_own("other.txt").unwrap(), only_data);
        let error = dirs.locate_own("none.txt").unwrap_err().to_string();
        let places: Vec<&str> = error.lines().filter(|line| line.contains("looked for")).collect();
        assert!(places[0].ends_with("cards/none.txt (beside the card)"), "{error}");
        assert!(places[1].ends_with("data/none.txt (--data)"), "{error}");
        assert!(!dirs.locate("none.txt").unwrap_err().to_string().contains("beside"));
        let absolute = folder.0.join("none.txt");
        assert!(
            dirs.locate_own(absolute)
                .unwrap_err()
                .to_string()
                .contains("the path given")
        );
    }
}
