//! Writing a run directory, from the first check that it can be written to the fingerprint.

use super::canonical::with_readings;
use super::checkpoint::{STATE, TRACED, encode_checkpoint, program};
use super::disk::{Disk, Files, commit, create_dirs, lock, remove_empty_dirs, settle};
use super::error::WriteError;
use super::manifest::{Manifest, encode_summary, fingerprint, to_json};
use super::read::{RunDir, read_manifest};
use super::{ARTIFACTS, CHECKPOINT, FAILED_JOBS, MANIFEST, PROGRAM, SCENARIO, SUMMARY};
use crate::ledger::Kind;
use crate::metric::Unit;
use crate::records::{MessageRow, PartitionRow, RoundRow, ScoreRow};
use crate::table::{Row, encode};
use crate::tables::{RunTable, TableRole, Tables};
use crate::term::Meaning;
use crate::trace::{About, Event, Followed, Mark, TRACE, TraceFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A file that a strategy leaves for reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path below `artifacts/`, with `/` between the parts, such as `embeddings/round-5.npy`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// All that a finished run leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Without `partition`, which [`RunWriter::save_partition`] writes before the run.
    pub tables: Tables,
    pub readings_after: u64,
    /// `summary.json`: names in lower case, units last; `metric@label` is a reference for `metric`.
    pub summary: BTreeMap<String, f64>,
    /// The names of the summary that are no part of the fingerprint, for the manifest.
    pub unhashed: Vec<String>,
    /// Files below `artifacts/`, in any order.
    pub artifacts: Vec<Artifact>,
    pub public_facts: BTreeMap<String, serde_json::Value>,
    pub units: BTreeMap<String, Unit>,
    pub terms: BTreeMap<String, Meaning>,
    pub trusted: Vec<String>,
    /// Added to the manifest's notes.
    pub notes: Vec<String>,
    /// Added to the manifest's warnings.
    pub warnings: Vec<String>,
}

/// An open run directory. Dropping it before [`RunWriter::finish`] gives the run up: the directory
/// stays, unfinished, if a finished round or a checkpoint has reached the disk, and is removed
/// otherwise.
pub struct RunWriter {
    dir: PathBuf,
    /// `scenario.ron`.
    scenario: String,
    manifest: Manifest,
    disk: Box<dyn Disk>,
    /// The directories made for this run, outermost first, to be removed with it.
    created: Vec<PathBuf>,
    /// Whether the directory holds something worth keeping.
    keep: bool,
    /// The hash of each table as last saved, so that only what changed is written again.
    saved: BTreeMap<&'static str, blake3::Hash>,
    /// What happens, where it is traced.
    trace: Option<TraceFile>,
    /// Of the directory, as long as it is written.
    _lock: Option<fs::File>,
}

impl RunWriter {
    /// `manifest.json` as it was written last.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Makes the run directory `dir`, with missing parents, and writes `scenario.ron` and an
    /// unfinished `manifest.json`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Exists`] when something lies at `dir`; [`WriteError::Io`] when the folder
    /// cannot be written. Then nothing is left behind.
    pub fn create(dir: &Path, scenario_text: &str, manifest: Manifest) -> Result<Self, WriteError> {
        RunWriter::create_on(Box::new(Files), dir, scenario_text, manifest)
    }

    pub(crate) fn create_on(
        disk: Box<dyn Disk>,
        dir: &Path,
        scenario_text: &str,
        manifest: Manifest,
    ) -> Result<Self, WriteError> {
        // A dangling link counts as something that lies there, too.
        if fs::symlink_metadata(dir).is_ok() {
            return Err(WriteError::Exists { path: dir.to_owned() });
        }
        let created = create_dirs(&*disk, dir)?;
        if created.last().is_none_or(|last| last != dir) {
            // Someone else made it between the check and now.
            remove_empty_dirs(&created);
            return Err(WriteError::Exists { path: dir.to_owned() });
        }
        let manifest = Manifest {
            finished: false,
            result_fingerprint: None,
            ..manifest
        };
        let mut run = RunWriter {
            dir: dir.to_owned(),
            scenario: scenario_text.to_owned(),
            manifest,
            disk,
            created,
            keep: false,
            saved: BTreeMap::new(),
            trace: None,
            _lock: None,
        };
        run.commit(vec![
            (SCENARIO.to_owned(), run.scenario.as_bytes().to_vec()),
            (MANIFEST.to_owned(), to_json(&run.manifest)),
        ])?;
        run._lock = Some(lock_of(dir)?);
        Ok(run)
    }

    /// Opens the unfinished run directory `dir` again, to go on with a run from its checkpoint.
    ///
    /// # Errors
    ///
    /// [`WriteError::Read`] when it is no run directory or is damaged, [`WriteError::Finished`]
    /// when there is nothing left to do, [`WriteError::Busy`] when another process writes it. The
    /// directory is left as it is.
    pub fn resume(dir: &Path) -> Result<Self, WriteError> {
        // A folder that is no run has nothing to lock; one that is may be finished by whoever has
        // the lock.
        read_manifest(dir)?;
        let lock = lock_of(dir)?;
        let RunDir { manifest, scenario, .. } = RunDir::open(dir)?;
        if manifest.finished {
            return Err(WriteError::Finished { path: dir.to_owned() });
        }
        let disk = Box::new(Files);
        Ok(RunWriter {
            dir: dir.to_owned(),
            scenario,
            manifest,
            disk,
            created: vec![],
            keep: true,
            saved: BTreeMap::new(),
            trace: None,
            _lock: Some(lock),
        })
    }

    /// Begins a trace that follows these clients.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn begin_trace(&mut self, clients: Followed) -> Result<(), WriteError> {
        let about = About {
            version: self.manifest.version.clone(),
            scenario: self.manifest.name.clone(),
            seed: self.manifest.seed,
            clients,
        };
        self.trace = Some(TraceFile::create(&growing(&self.dir), &about)?);
        Ok(())
    }

    /// Goes on with the trace of a run in the directory `from`, this one or another, if the state
    /// that it left was of a traced run. What came after the state is cut off: it will happen
    /// again.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] when it is not there, or shorter than it was.
    pub fn go_on_with_trace(&mut self, from: &Path, sections: &[(String, Vec<u8>)]) -> Result<(), WriteError> {
        let Some((_, mark)) = sections.iter().find(|(name, _)| name == TRACED) else {
            return Ok(());
        };
        let (old, new) = (growing(from), growing(&self.dir));
        let mark: Mark = serde_json::from_slice(mark).map_err(|error| WriteError::io(&old, error.into()))?;
        self.trace = Some(match from == self.dir {
            true => TraceFile::resume(&new, mark)?,
            false => TraceFile::fork(&old, &new, mark)?,
        });
        Ok(())
    }

    /// Adds what has happened, if the run is traced, and returns how many events had no place in
    /// the trace so far.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn add_events(&mut self, events: &[Event], kinds: &[Kind]) -> Result<u64, WriteError> {
        let Some(trace) = &mut self.trace else {
            return Ok(0);
        };
        trace.add_events(events, kinds)?;
        Ok(trace.n_left_out())
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the directory will stay if the run ends now.
    pub fn is_kept(&self) -> bool {
        self.keep
    }

    /// Writes how the data are shared out. The directory stays no longer for that.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn save_partition(&self, rows: &[PartitionRow]) -> Result<(), WriteError> {
        let (name, bytes) = table(rows);
        self.commit(vec![(name.to_owned(), bytes)])
    }

    /// Writes copies of the sources of the user's own programs. The directory stays no longer for
    /// that.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn save_sources<'a>(&self, sources: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<(), WriteError> {
        for (name, bytes) in sources {
            let path = self.dir.join(PROGRAM).join(name);
            let folder = path.parent().unwrap_or(&self.dir);
            fs::create_dir_all(folder).map_err(|source| WriteError::io(folder, source))?;
            fs::write(&path, bytes).map_err(|source| WriteError::io(&path, source))?;
        }
        Ok(())
    }

    /// Notes that a program was changed before the run is resumed, with its fingerprint now.
    pub fn note_changed_program(&mut self, name: &str, fingerprint: &str) {
        let changed = &mut self.manifest.changed_programs;
        changed.insert(name.to_owned(), fingerprint.to_owned());
        self.manifest
            .data_fingerprints
            .insert(name.to_owned(), fingerprint.to_owned());
    }

    /// Rewrites the tables of finished rounds; a table that has not changed since is left alone.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`]; the tables on the disk are then those saved before, or, when renaming
    /// failed, a mixture of old and new whole files.
    pub fn save_progress(
        &mut self,
        rounds: &[RoundRow],
        messages: &[MessageRow],
        scores: &[ScoreRow],
    ) -> Result<(), WriteError> {
        let tables = [table(rounds), table(messages), table(scores)];
        let changed: Vec<_> = tables
            .into_iter()
            .map(|(name, bytes)| (name, blake3::hash(&bytes), bytes))
            .filter(|(name, hash, _)| self.saved.get(name) != Some(hash))
            .collect();
        let hashes: Vec<_> = changed.iter().map(|(name, hash, _)| (*name, *hash)).collect();
        let placed = self.commit(
            changed
                .into_iter()
                .map(|(name, _, bytes)| (name.to_owned(), bytes))
                .collect(),
        );
        // Renaming may have failed after the rounds were in place: then they are saved all the
        // same.
        self.keep |= !rounds.is_empty() && self.dir.join(RoundRow::FILE).is_file();
        placed?;
        self.saved.extend(hashes);
        Ok(())
    }

    /// Writes the state of the run, in sections, in the place of what was there before. From now on
    /// the directory stays.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`], or [`WriteError::Read`] where the program's own file cannot be read; the
    /// state that was there before then is there still.
    pub fn save_checkpoint(&mut self, sections: &[(String, Vec<u8>)]) -> Result<(), WriteError> {
        let mark = self.trace.as_mut().map(TraceFile::mark).transpose()?;
        let mark = mark.map(|mark| (TRACED, to_json(&mark)));
        let sections = sections.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        // A forked run has the parent's section still.
        let sections = sections.filter(|(name, _)| *name != TRACED);
        let sections: Vec<(&str, &[u8])> = sections
            .chain(mark.iter().map(|(name, bytes)| (*name, bytes.as_slice())))
            .collect();
        let bytes = encode_checkpoint(&self.manifest, program()?, &self.scenario, &sections);
        self.commit(vec![(format!("{CHECKPOINT}/{STATE}"), bytes)])?;
        settle(&self.dir.join(CHECKPOINT));
        self.keep = true;
        Ok(())
    }

    /// Writes everything and marks the run as finished, with the fingerprint of its result, which
    /// it returns. The checkpoint, of no use any more, is removed.
    ///
    /// # Errors
    ///
    /// [`WriteError::BadName`], [`WriteError::Io`]. The directory then stays, unfinished, if a
    /// finished round is on the disk, and is removed otherwise.
    pub fn finish(mut self, result: &RunResult) -> Result<String, WriteError> {
        // First of all, so that not even a bug of the strategy costs the rounds.
        self.save_progress(&result.tables.rounds, &result.tables.messages, &result.tables.scores)?;
        let mut artifacts: Vec<(String, Vec<u8>)> = Vec::with_capacity(result.artifacts.len());
        for artifact in &result.artifacts {
            check_name(&artifact.path)?;
            artifacts.push((format!("{ARTIFACTS}/{}", artifact.path), artifact.bytes.clone()));
        }
        artifacts.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(twins) = artifacts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(WriteError::BadName {
                name: twins[0].0.clone(),
                rule: "must be given once, got it twice",
            });
        }
        let (hashed, beside): (Vec<_>, Vec<_>) = result
            .tables
            .files()
            .into_iter()
            .partition(|(table, _)| table.role == TableRole::Result);
        let named = |(table, bytes): (RunTable, Vec<u8>)| (table.file.to_owned(), bytes);
        let mut files: Vec<(String, Vec<u8>)> = hashed.into_iter().map(named).collect();
        files.push((SUMMARY.to_owned(), encode_summary(&result.summary)));
        files.append(&mut artifacts);
        let mut summary = result.summary.clone();
        summary.retain(|name, _| !result.unhashed.contains(name));
        let summary = encode_summary(&summary);
        let tables = &result.tables;
        let scores = with_readings(encode(&tables.scores), &encode(&tables.readings), result.readings_after);
        let print = fingerprint(files.iter().map(|(name, bytes)| match name.as_str() {
            SUMMARY => (SUMMARY, summary.as_slice()),
            ScoreRow::FILE => (ScoreRow::FILE, scores.as_slice()),
            name => (name, bytes.as_slice()),
        }));
        files.extend(beside.into_iter().map(named));
        files.retain(|(name, _)| !self.saved.contains_key(name.as_str()));
        self.commit(files)?;
        if let Some(trace) = self.trace.take() {
            trace.finish(&self.dir.join(TRACE))?;
        }
        // The manifest comes last: whoever reads `finished: true` finds everything else in place.
        let mut manifest = self.manifest.clone();
        manifest.public_facts.clone_from(&result.public_facts);
        manifest.unhashed.clone_from(&result.unhashed);
        manifest.readings_after = result.readings_after;
        manifest.units.clone_from(&result.units);
        manifest.terms.clone_from(&result.terms);
        manifest.trusted.clone_from(&result.trusted);
        manifest.notes.extend(result.notes.iter().cloned());
        manifest.warnings.extend(result.warnings.iter().cloned());
        manifest.finished = true;
        manifest.result_fingerprint = Some(print.clone());
        self.commit(vec![(MANIFEST.to_owned(), to_json(&manifest))])?;
        self.keep = true;
        // Left over, it would only be ignored: a finished run is not resumed.
        let _ = fs::remove_dir_all(self.dir.join(CHECKPOINT));
        Ok(print)
    }

    fn commit(&self, files: Vec<(String, Vec<u8>)>) -> Result<(), WriteError> {
        // Made again, the folder would lack what was written before.
        if !self.dir.is_dir() {
            let gone = io::Error::new(io::ErrorKind::NotFound, "it was removed while the run went on");
            return Err(WriteError::io(&self.dir, gone));
        }
        let files: Vec<_> = files
            .into_iter()
            .map(|(name, bytes)| (self.dir.join(name), bytes))
            .collect();
        commit(&*self.disk, &files)
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if !self.keep && !self.dir.join(FAILED_JOBS).is_dir() {
            // Only directories that this run made; a failure to remove them must not hide why the
            // run ended.
            let _ = fs::remove_dir_all(&self.dir);
            remove_empty_dirs(&self.created);
        }
    }
}

/// Where a trace grows until the run is over.
fn growing(dir: &Path) -> PathBuf {
    dir.join(CHECKPOINT).join("trace.json")
}

/// Locks the directory for this process, by the scenario, which is written once.
fn lock_of(dir: &Path) -> Result<fs::File, WriteError> {
    let path = dir.join(SCENARIO);
    let locked = lock(&path).map_err(|source| WriteError::io(&path, source))?;
    locked.ok_or_else(|| WriteError::Busy { path: dir.to_owned() })
}

fn table<R: Row>(rows: &[R]) -> (&'static str, Vec<u8>) {
    (R::FILE, encode(rows))
}

/// A name must stay inside the directory and be spelled alike on every system.
fn check_name(name: &str) -> Result<(), WriteError> {
    let bad = |rule| {
        Err(WriteError::BadName {
            name: name.to_owned(),
            rule,
        })
    };
    if name.is_empty() || name.contains('\\') || name.contains('\0') {
        return bad("must be a path of plain names with / between them");
    }
    if !Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return bad("must be a relative path without ..");
    }
    if name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return bad("must have no empty part and no part that starts with a dot");
    }
    Ok(())
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
