//! Making one sweep of what several processes made.

use super::write::{is_finished, other_sweep, read_card};
use super::{Point, SweepManifest, SweepWriter, read_finished, read_sweep_manifest};
use crate::run_dir::{MANIFEST, ReadError, WriteError, list_files, read_bytes, write_whole};
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why parts do not make a sweep. They are left as they are.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A part cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The whole cannot be written, or a point is of something else.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Two parts are not of one sweep.
    #[error("{}: cannot be merged with {}: {difference}", .path.display(), .with.display())]
    Mixed {
        path: PathBuf,
        with: PathBuf,
        /// In what the one is not the other.
        difference: String,
    },
    /// Two parts have different results for a point.
    #[error("{} and {} are two results of one point; remove the one that is not to count", .a.display(), .b.display())]
    Twice { a: PathBuf, b: PathBuf },
    /// Points have no finished run.
    #[error("{} of {of} points are missing: {}", .missing.len(), some(.missing))]
    Gaps {
        missing: Vec<String>,
        /// How many points there are.
        of: usize,
        /// The command that makes the sweep, but for where it goes.
        command: String,
    },
}

/// The first names of a list.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = match names.len() > SHOWN {
        true => format!(", and {} more", names.len() - SHOWN),
        false => String::new(),
    };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// Makes a whole sweep of `first` and the `others` in `out`: in place, if that is the first and
/// there are no others, else as a new directory of copies.
///
/// # Errors
///
/// See [`MergeError`]. A new directory is removed again.
pub fn merge(first: &Path, others: &[PathBuf], out: &Path) -> Result<SweepWriter, MergeError> {
    let parts = [&[first.to_owned()], others].concat();
    let (manifest, card) = (&read_sweep_manifest(first)?, &read_card(first)?);
    for path in &parts {
        if let Some(difference) = other_sweep(&read_sweep_manifest(path)?, &read_card(path)?, manifest, card) {
            return Err(MergeError::Mixed {
                path: path.clone(),
                with: first.to_owned(),
                difference,
            });
        }
    }
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for point in manifest.points() {
        match find(&parts, manifest, &point)? {
            Some(dir) => found.push((point, dir)),
            None => missing.push(manifest.point_name(&point)),
        }
    }
    if !missing.is_empty() {
        return Err(MergeError::Gaps {
            missing,
            of: manifest.n_points(),
            command: manifest.command.clone(),
        });
    }
    if others.is_empty() && out == first {
        let writer = SweepWriter::open(first)?;
        writer.collect()?;
        return Ok(writer);
    }
    let writer = SweepWriter::create(out, manifest.clone(), card)?;
    let copied = found
        .iter()
        .try_for_each(|(point, dir)| copy(dir, &writer.point_path(point)));
    if let Err(error) = copied.and_then(|()| Ok(writer.collect().map(|_| ())?)) {
        // Only copies are in it, and why they are not whole matters more.
        let _ = fs::remove_dir_all(out);
        return Err(error);
    }
    Ok(writer)
}

/// The finished run of a point in one of the parts.
fn find(parts: &[PathBuf], manifest: &SweepManifest, point: &Point) -> Result<Option<PathBuf>, MergeError> {
    let mut found: Option<PathBuf> = None;
    for part in parts {
        let dir = manifest.point_path(part, point);
        if !is_finished(manifest, point, &dir)? {
            continue;
        }
        let print = |dir: &Path| Ok::<_, ReadError>(read_finished(dir)?.map(|(run, _)| run.result_fingerprint));
        match &found {
            None => found = Some(dir),
            Some(known) if print(known)? == print(&dir)? => {}
            Some(known) => {
                return Err(MergeError::Twice {
                    a: known.clone(),
                    b: dir,
                });
            }
        }
    }
    Ok(found)
}

/// Copies a run directory; its manifest comes last, so that what is not whole is not finished.
fn copy(from: &Path, to: &Path) -> Result<(), MergeError> {
    let mut names = list_files(from)?;
    names.retain(|name| name != MANIFEST);
    names.push(MANIFEST.to_owned());
    for name in names {
        write_whole(&to.join(&name), &read_bytes(&from.join(&name))?)?;
    }
    Ok(())
}
