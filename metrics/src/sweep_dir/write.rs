//! Writing a sweep directory: alone, beside others, or where somebody left off.

use super::table::encode_points;
use super::{
    POINTS, POINTS_DIR, Point, SWEEP, SweepManifest, SweepShard, read_finished, read_points, read_sweep_manifest,
};
use crate::run_dir::{
    Disk, Files, MANIFEST, Manifest, ReadError, SCENARIO, SUMMARY, WriteError, commit, create_dirs, read_bytes,
    remove_empty_dirs, to_json,
};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// An open sweep directory. Points are written by [`RunWriter`](crate::RunWriter) at
/// [`SweepWriter::point_path`].
pub struct SweepWriter {
    dir: PathBuf,
    manifest: SweepManifest,
}

/// What a process that is about to make a point finds.
pub enum Claim {
    Finished,
    /// Another process is making it.
    Busy,
    /// Nobody is: it is the caller's as long as this is held.
    Yours(Lock),
}

/// The right to make a point. The system takes it from a process that dies.
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes it, by a file that is removed with it; none where another process has it.
    pub(super) fn take(path: PathBuf) -> io::Result<Option<Self>> {
        loop {
            let file = File::options().create(true).append(true).open(&path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                // Some file systems have no locks. There, shards see to it that nobody is in
                // another's way.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Whoever had it may have removed the file since it was opened here, and another
            // process made a new one.
            if is_at(&path, &file) {
                return Ok(Some(Lock { path, _file: file }));
            }
        }
    }
}

/// Whether an open file is the one of that name.
#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |known: fs::Metadata| (known.dev(), known.ino());
    let of_name = fs::metadata(path).map(number);
    of_name.is_ok_and(|of_name| file.metadata().is_ok_and(|known| number(known) == of_name))
}

/// Elsewhere nobody can tell.
#[cfg(not(unix))]
fn is_at(_: &Path, _: &File) -> bool {
    true
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Left over, it hinders nobody.
        let _ = fs::remove_file(&self.path);
    }
}

impl SweepWriter {
    /// Makes the sweep directory `dir`, with missing parents, and writes the card and an unfinished
    /// `sweep.json`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Exists`] when something lies at `dir`; [`WriteError::Io`] when the folder
    /// cannot be written. Then nothing is left behind.
    pub fn create(dir: &Path, manifest: SweepManifest, card: &str) -> Result<Self, WriteError> {
        if fs::symlink_metadata(dir).is_ok() {
            return Err(WriteError::Exists { path: dir.to_owned() });
        }
        let manifest = SweepManifest {
            finished: false,
            ..manifest
        };
        let created = create_dirs(&Files, &dir.join(POINTS_DIR))?;
        let files = [
            (dir.join(SCENARIO), card.as_bytes().to_vec()),
            (dir.join(SWEEP), to_json(&manifest)),
        ];
        if let Err(error) = commit(&Files, &files) {
            remove_empty_dirs(&created);
            return Err(error);
        }
        Ok(SweepWriter {
            dir: dir.to_owned(),
            manifest,
        })
    }

    /// Opens the sweep directory `dir` to make points that it lacks, or makes it if there is none:
    /// shards that start at the same moment do both.
    ///
    /// # Errors
    ///
    /// [`WriteError::OtherSweep`] when its points are of another card, program or data;
    /// [`WriteError::Read`] when it is no sweep directory or is damaged; [`WriteError::Io`].
    pub fn join(
        dir: &Path,
        manifest: SweepManifest,
        card: &str,
        shard: Option<SweepShard>,
    ) -> Result<Self, WriteError> {
        let manifest = SweepManifest {
            finished: false,
            ..manifest
        };
        if !dir.join(SWEEP).is_file() {
            refuse_foreign(dir)?;
            create_dirs(&Files, &dir.join(POINTS_DIR))?;
            // Processes of other machines may have the same number.
            let shard = shard.map_or(String::new(), |shard| format!("-{}-of-{}", shard.number, shard.of));
            let whose = format!("{}{shard}", std::process::id());
            place_new(&dir.join(SCENARIO), card.as_bytes(), &whose)?;
            place_new(&dir.join(SWEEP), &to_json(&manifest), &whose)?;
        }
        let writer = SweepWriter::open(dir)?;
        match other_sweep(&writer.manifest, &read_card(dir)?, &manifest, card) {
            None => Ok(writer),
            Some(difference) => Err(WriteError::OtherSweep {
                path: dir.to_owned(),
                difference,
            }),
        }
    }

    /// Opens a sweep directory again.
    ///
    /// # Errors
    ///
    /// When it is no sweep directory or its manifest is damaged.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        Ok(SweepWriter {
            dir: dir.to_owned(),
            manifest: read_sweep_manifest(dir)?,
        })
    }

    /// The manifest as it was when the directory was opened.
    pub fn manifest(&self) -> &SweepManifest {
        &self.manifest
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a point's run directory belongs.
    pub fn point_path(&self, point: &Point) -> PathBuf {
        self.manifest.point_path(&self.dir, point)
    }

    /// Claims a point, and removes what is left of an attempt at it.
    ///
    /// # Errors
    ///
    /// [`WriteError::OtherSweep`] when a finished run in its place is another one,
    /// [`WriteError::Read`] when it is damaged, [`WriteError::Io`].
    pub fn claim(&self, point: &Point) -> Result<Claim, WriteError> {
        let dir = self.point_path(point);
        if is_finished(&self.manifest, point, &dir)? {
            return Ok(Claim::Finished);
        }
        let path = self.dir.join(POINTS_DIR).join(format!(".{:04}.lock", point.point));
        let Some(lock) = Lock::take(path.clone()).map_err(|source| WriteError::io(&path, source))? else {
            return Ok(Claim::Busy);
        };
        // Whoever held the lock until now may have come to the end.
        if is_finished(&self.manifest, point, &dir)? {
            return Ok(Claim::Finished);
        }
        // Without a manifest it is no run directory, should the rest stay.
        let _ = fs::remove_file(dir.join(MANIFEST));
        match fs::remove_dir_all(&dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(WriteError::io(&dir, source)),
            _ => Ok(Claim::Yours(lock)),
        }
    }

    /// How many of a shard's points are finished.
    ///
    /// # Errors
    ///
    /// As [`SweepWriter::claim`].
    pub fn n_finished(&self, shard: SweepShard) -> Result<usize, WriteError> {
        let points = self.manifest.points().into_iter();
        let finished = points
            .filter(|point| shard.owns(point.point))
            .map(|point| is_finished(&self.manifest, &point, &self.point_path(&point)));
        finished.map(|finished| finished.map(usize::from)).sum()
    }

    /// Gives up a sweep that this process made, before any of its points is finished: removes what
    /// it made, unless there is a point by now that others make, or that finished rounds are kept
    /// of.
    pub fn abandon(self) {
        // What can't be removed is empty of results, and the reason for giving up matters more.
        if fs::remove_dir(self.dir.join(POINTS_DIR)).is_ok() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }

    /// Waits until no other process writes tables or figures of this sweep; they may be written as
    /// long as the file is held. `None` on a file system without locks.
    pub fn lock_tables(&self) -> Option<File> {
        let file = File::open(self.dir.join(SCENARIO)).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// Writes `points.csv` from the finished run directories, and marks the sweep as finished if
    /// that is all of them. Returns how many it is.
    ///
    /// # Errors
    ///
    /// [`WriteError::Read`] when a run directory is damaged, [`WriteError::Io`].
    pub fn collect(&self) -> Result<usize, WriteError> {
        let _lock = self.lock_tables();
        let mut manifest = self.manifest.clone();
        let rows = read_points(&self.dir, &mut manifest)?;
        manifest.finished = rows.len() == manifest.n_points();
        commit(&Files, &[(self.dir.join(POINTS), encode_points(&manifest.axes, &rows))])?;
        commit(&Files, &[(self.dir.join(SWEEP), to_json(&manifest))])?;
        if manifest.finished {
            self.remove_locks();
        }
        Ok(rows.len())
    }

    /// Removes the locks that processes have left that were killed, each as its holder would.
    fn remove_locks(&self) {
        for entry in fs::read_dir(self.dir.join(POINTS_DIR)).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|end| end == "lock") {
                drop(Lock::take(entry.path()));
            }
        }
    }
}

/// Whether the directory of a point has the finished run of that point. A run whose summary is cut
/// short, as after a power failure, is not finished.
pub(super) fn is_finished(sweep: &SweepManifest, point: &Point, dir: &Path) -> Result<bool, WriteError> {
    let run = match read_finished(dir) {
        Err(ReadError::Json { path, .. }) if path.ends_with(SUMMARY) => return Ok(false),
        found => found?,
    };
    let Some((run, _)) = run else {
        return Ok(false);
    };
    match other_run(sweep, point, &run) {
        None => Ok(true),
        Some(difference) => Err(WriteError::OtherSweep {
            path: dir.to_owned(),
            difference,
        }),
    }
}

/// In what a run is not the one that a point asks for, if it is not.
fn other_run(sweep: &SweepManifest, point: &Point, run: &Manifest) -> Option<String> {
    other("seed", &run.seed, &point.seed)
        .or_else(|| other("version", &run.version, &sweep.version))
        .or_else(|| other("target", &run.target, &sweep.target))
        .or_else(|| other("dry run", &run.dry_run, &sweep.dry_run))
}

/// In what the points of one sweep are not those of another, if they are not.
pub(super) fn other_sweep(here: &SweepManifest, card: &str, there: &SweepManifest, other_card: &str) -> Option<String> {
    if card.is_empty() {
        return Some("an older version made it, which did not keep the card".to_owned());
    }
    let lines = || {
        let (mut a, mut b) = (card.lines(), other_card.lines());
        loop {
            match (a.next(), b.next()) {
                (None, None) => return None,
                (a, b) if a == b => {}
                (a, b) => {
                    let [a, b] = [a, b].map(|line| line.map_or("no line", str::trim));
                    let plain = [a, b].map(|line| line.trim_end_matches(','));
                    return Some(format!("its card says {}, not {}", plain[0], plain[1]));
                }
            }
        }
    };
    other("version", &here.version, &there.version)
        .or_else(|| other("target", &here.target, &there.target))
        .or_else(|| other("card", &here.name, &there.name))
        .or_else(lines)
        .or_else(|| other("dry run", &here.dry_run, &there.dry_run))
        .or_else(|| {
            let (here, there) = (&here.data_fingerprints, &there.data_fingerprints);
            let changed = there.iter().find(|(name, print)| here.get(*name) != Some(*print));
            changed.map(|(name, _)| format!("the data set {name} has changed since"))
        })
        .or_else(|| (here.points() != there.points()).then(|| "it has other points".to_owned()))
}

fn other<T: PartialEq + std::fmt::Display>(what: &str, is: &T, should: &T) -> Option<String> {
    (is != should).then(|| format!("its {what} is {is}, not {should}"))
}

/// The card of a sweep directory; of one that an older version made, which kept none, the empty
/// text.
pub(super) fn read_card(dir: &Path) -> Result<String, ReadError> {
    match read_bytes(&dir.join(SCENARIO)) {
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        bytes => Ok(String::from_utf8_lossy(&bytes?).into_owned()),
    }
}

/// A folder without `sweep.json` may become a sweep only if there is nothing in it but what another
/// process has begun with.
fn refuse_foreign(dir: &Path) -> Result<(), WriteError> {
    let begun = |name: &str| name == POINTS_DIR || name == SCENARIO || name.starts_with('.');
    let entries = match fs::read_dir(dir) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|source| WriteError::io(dir, source))?,
    };
    let is_foreign = entries
        .flatten()
        .any(|entry| !begun(&entry.file_name().to_string_lossy()));
    // Another process may have begun and gone on in the meantime.
    match is_foreign && !dir.join(SWEEP).is_file() {
        true => Err(WriteError::Exists { path: dir.to_owned() }),
        false => Ok(()),
    }
}

/// Writes a file whole unless there is one of that name: of several processes, one is first and the
/// others leave it at that.
fn place_new(path: &Path, bytes: &[u8], whose: &str) -> Result<(), WriteError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{whose}.tmp"));
    let placed = Files
        .write(&staged, bytes)
        .and_then(|()| match fs::hard_link(&staged, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Some file systems have no links; there, files of the same content take each other's
            // place.
            Err(_) => Files.rename(&staged, path),
            Ok(()) => Ok(()),
        });
    let _ = fs::remove_file(&staged);
    placed.map_err(|source| WriteError::io(path, source))
}
