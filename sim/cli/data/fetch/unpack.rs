//! Moves a downloaded file to its place, compressed or unpacked, and computes its checksum.
//!
//! The size of an archive's content is bounded, and the archive decides no path: members are picked
//! by the names in the table of sources.

use super::super::file::{CopyError, Sum, copy_and_sum, sum_of, with_suffix};
use super::super::sources::{Content, Download, Form, last_part};
use super::{cannot_read, cannot_write, mismatch};
use crate::exit::Exit;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use zip::ZipArchive;

/// No file of a data set whose length is not known may be larger, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// Size and checksum of a file's uncompressed content.
pub(super) fn sum_of_file(path: &Path, is_compressed: bool) -> io::Result<Sum> {
    let file = BufReader::new(File::open(path)?);
    let mut content: Box<dyn Read> = match is_compressed {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    sum_of(&mut content)
}

/// Makes `wanted` of what came as `part`, which is then gone; a sum for each.
pub(super) fn unpack(download: &Download, wanted: &[&Content], part: &Path, folder: &Path) -> Result<Vec<Sum>, Exit> {
    let served = sum_of_file(part, false).map_err(|error| cannot_read(part, &error))?;
    let (bytes, sha256) = download.served();
    // What is wrong now stays wrong: the next fetch begins anew.
    let spoilt = |why: String| {
        let _ = fs::remove_file(part);
        Exit::failed(format!(
            "error: {}: what was sent is not what the table of sources names: {why}\n  the file has changed at its host or on the \
             way; what was sent is removed",
            download.url
        ))
    };
    if let Some(why) = mismatch(bytes, sha256, &served) {
        return Err(spoilt(why));
    }
    if download.form == Form::Plain {
        let path = folder.join(&wanted[0].path);
        let kept = File::open(part).and_then(|file| file.sync_all());
        kept.and_then(|()| fs::rename(part, &path))
            .map_err(|error| cannot_write(&path, &error))?;
        return Ok(vec![served]);
    }
    let mut made = Vec::new();
    for file in wanted {
        let path = folder.join(&file.path);
        let half = with_suffix(&path, ".new");
        let sum = make(download.form, file, part, &half).map_err(|failed| {
            let _ = fs::remove_file(&half);
            match failed {
                CopyError::Reading(error) => spoilt(format!("{} cannot be unpacked: {error}", file.path)),
                CopyError::Writing(error) => cannot_write(&half, &error),
                CopyError::TooMuch(most) => spoilt(format!("{} has more than {most} bytes", file.path)),
            }
        })?;
        if let Some(why) = mismatch(file.bytes, file.sha256.as_deref(), &sum) {
            let _ = fs::remove_file(&half);
            return Err(spoilt(format!("{}: {why}", file.path)));
        }
        made.push((half, path, sum));
    }
    // All are whole before one has its name.
    for (half, path, _) in &made {
        fs::rename(half, path).map_err(|error| cannot_write(path, &error))?;
    }
    fs::remove_file(part).map_err(|error| cannot_write(part, &error))?;
    Ok(made.into_iter().map(|(_, _, sum)| sum).collect())
}

/// Writes one file, and takes the sum of its uncompressed content.
fn make(form: Form, file: &Content, part: &Path, half: &Path) -> Result<Sum, CopyError> {
    let served = BufReader::new(File::open(part).map_err(CopyError::Reading)?);
    let mut to = File::create(half).map_err(CopyError::Writing)?;
    let most = file.bytes.unwrap_or(MOST_BYTES);
    let sum = match form {
        Form::Plain | Form::Gzip => {
            let mut packed = GzEncoder::new(&mut to, Compression::default());
            let sum = copy_and_sum(&mut { served }, &mut packed, most)?;
            packed.finish().map_err(CopyError::Writing)?;
            sum
        }
        Form::Gunzip => copy_and_sum(&mut MultiGzDecoder::new(served), &mut to, most)?,
        Form::Unzip => {
            let damaged = |error: zip::result::ZipError| CopyError::Reading(error.into());
            let mut archive = ZipArchive::new(served).map_err(damaged)?;
            let name = last_part(&file.path);
            let members = archive.file_names().filter_map(Result::ok);
            let members: Vec<String> = members
                .filter(|member| last_part(member) == name)
                .map(|member| member.into_owned())
                .collect();
            let [member] = &members[..] else {
                let why = format!("the archive has {} files of that name", members.len());
                return Err(CopyError::Reading(io::Error::other(why)));
            };
            copy_and_sum(&mut archive.by_name(member).map_err(damaged)?, &mut to, most)?
        }
    };
    to.sync_all().map_err(CopyError::Writing)?;
    Ok(sum)
}
