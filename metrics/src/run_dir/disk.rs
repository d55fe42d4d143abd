//! Files written whole: to a temporary name in the same directory, flushed, then renamed into
//! place.

use super::error::WriteError;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the writers ask of the file system; a trait so that tests can let any step fail.
pub(crate) trait Disk: Send {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }
    /// Writes `bytes` to a new or truncated file and flushes it to the device.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = fs::File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}

/// Sees to it that what was renamed in a directory stays renamed, whatever the power does. Not
/// every system can.
pub(crate) fn settle(dir: &Path) {
    let _ = fs::File::open(dir).and_then(|dir| dir.sync_all());
}

/// Locks a file for this process; the system lets go of it when the process ends, however it ends.
/// `None` where another has it.
pub(crate) fn lock(path: &Path) -> io::Result<Option<fs::File>> {
    let file = fs::File::open(path)?;
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        // A disk without locks, as some that are shared by a network: two who write one directory
        // there are not told.
        Err(fs::TryLockError::Error(_)) | Ok(()) => Ok(Some(file)),
    }
}

/// The file system itself.
pub(crate) struct Files;

impl Disk for Files {}

/// The name under which a file is written until it is whole.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

/// Creates `path` and its missing parents; returns those created, outermost first.
pub(crate) fn create_dirs(disk: &dyn Disk, path: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && !dir.is_dir())
        .collect();
    let mut created = Vec::new();
    for dir in missing.into_iter().rev() {
        match disk.create_dir(dir) {
            Ok(()) => created.push(dir.to_owned()),
            // Another writer, such as a neighbouring point of a sweep, was first.
            Err(_) if dir.is_dir() => {}
            Err(source) => {
                remove_empty_dirs(&created);
                return Err(WriteError::io(dir, source));
            }
        }
    }
    Ok(created)
}

/// Removes directories that [`create_dirs`] made, as far as they are empty.
pub(crate) fn remove_empty_dirs(created: &[PathBuf]) {
    for dir in created.iter().rev() {
        // A directory that is no longer empty belongs to someone else by now.
        let _ = fs::remove_dir(dir);
    }
}

/// Puts all of `files` into place: first each is written under its temporary name, then all are
/// renamed, so that a disk that fills up leaves the old set untouched. On failure no temporary file
/// is left.
pub(crate) fn commit(disk: &dyn Disk, files: &[(PathBuf, Vec<u8>)]) -> Result<(), WriteError> {
    let staged = files.iter().try_for_each(|(path, bytes)| {
        let parent = path.parent().unwrap_or(Path::new(""));
        create_dirs(disk, parent)?;
        disk.write(&temporary(path), bytes)
            .map_err(|source| WriteError::io(path, source))
    });
    let placed = staged.and_then(|()| {
        files.iter().try_for_each(|(path, _)| {
            disk.rename(&temporary(path), path)
                .map_err(|source| WriteError::io(path, source))
        })
    });
    if placed.is_err() {
        for (path, _) in files {
            // Most of them do not exist; one that cannot be removed changes nothing about the error
            // to report.
            let _ = fs::remove_file(temporary(path));
        }
    }
    placed
}

/// Writes one file whole, making its directory if that is missing: readers see the old bytes or the
/// new ones, never a part.
///
/// # Errors
///
/// [`WriteError::Io`]; then no temporary file is left and an older file of that name is untouched.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    commit(&Files, &[(path.to_owned(), bytes.to_vec())])
}
