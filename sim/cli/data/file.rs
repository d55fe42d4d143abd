//! Files of data sets: names with a suffix, sizes and checksums.

use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Size and checksum of a file's content.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// Why one file could not be copied to another.
pub(super) enum CopyError {
    Reading(io::Error),
    Writing(io::Error),
    /// The content is longer than this number of bytes.
    TooMuch(u64),
}

/// Size and checksum of all that `from` has.
pub(super) fn sum_of(from: &mut dyn Read) -> io::Result<Sum> {
    copy_and_sum(from, &mut io::sink(), u64::MAX).map_err(|failed| match failed {
        CopyError::Reading(error) | CopyError::Writing(error) => error,
        CopyError::TooMuch(_) => io::ErrorKind::FileTooLarge.into(),
    })
}

/// Copies at most `most` bytes; returns their number and checksum.
pub(super) fn copy_and_sum(from: &mut dyn Read, to: &mut dyn Write, most: u64) -> Result<Sum, CopyError> {
    let mut context = Sha256::new();
    let mut bytes = 0;
    let mut block = vec![0; 1 << 16];
    loop {
        let n = match from.read(&mut block) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Reading(error)),
        };
        bytes += n as u64;
        if bytes > most {
            return Err(CopyError::TooMuch(most));
        }
        context.update(&block[..n]);
        to.write_all(&block[..n]).map_err(CopyError::Writing)?;
    }
    let digits = context.finalize();
    let digits = digits.iter().map(|byte| format!("{byte:02x}"));
    Ok(Sum {
        bytes,
        sha256: digits.collect(),
    })
}

/// `path` with a suffix after its file name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_path_buf().into_os_string();
    name.push(suffix);
    name.into()
}
