//! Memory that a run shares with one worker: a file that one side writes and the other reads.
//!
//! The worker maps it. This side uses positioned reads and writes: a copy as a mapping takes one,
//! and no unsafe code.

use crate::connection::{read_at, write_at};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A file that grows with what is written.
#[derive(Debug)]
pub struct Region {
    file: File,
    size: u64,
}

impl Region {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// When the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Region> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Region { file, size: 0 })
    }

    /// Writes bytes at an offset.
    ///
    /// # Errors
    ///
    /// When there is no memory left.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        if end > self.size {
            self.size = end.next_power_of_two();
            self.file.set_len(self.size)?;
        }
        write_at(&self.file, bytes, offset)
    }

    /// So many bytes at an offset.
    ///
    /// # Errors
    ///
    /// When there are not so many.
    pub fn read(&self, offset: u64, n: usize) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(n as u64);
        let size = self.file.metadata()?.len();
        if end.is_none_or(|end| end > size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; n];
        read_at(&self.file, &mut bytes, offset)?;
        Ok(bytes)
    }
}
