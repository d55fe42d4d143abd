//! A file as a slice of bytes: the one place where this crate asks the system for its memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::DataError;

/// A file that is mapped into memory, for reading.
pub(crate) struct Map {
    path: PathBuf,
    map: Mmap,
}

impl Map {
    /// Maps a file.
    ///
    /// # Errors
    /// [`DataError::Read`] if the system does not let it be read, [`DataError::Format`] if it is a
    /// folder or the like.
    #[allow(unsafe_code, reason = "what a file holds may change under whoever maps it")]
    pub(crate) fn open(path: &Path) -> Result<Map, DataError> {
        let failed = |source| DataError::Read {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(DataError::format(path, "is no file"));
        }
        // SAFETY: the bytes are only read, by the process that maps them. Nothing here writes such
        // a file in place: it is written under another name and renamed, so that whoever has the
        // old one mapped keeps it. A user who cuts or overwrites a file during a run ends the run,
        // by a signal of the system or by a digest that does not hold; no value is read as anything
        // but numbers, for which all bits are good.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Map {
            path: path.to_path_buf(),
            map,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file, from the start of a page.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}
