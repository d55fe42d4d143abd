//! The sweep directory: one run directory per point, and a table of their summaries.
//!
//! ```text
//! sweep.json       name, axes, seeds, headline metrics, the command, whether every point is finished
//! scenario.ron     the card with its sweep
//! points.csv       point, a column per axis, seed, then every summary number by name; a row a point. Of one graph in pieces also `cut_edges`, from
//!                  the run's manifest; of clients that are scored one by one the worst 10 % and the spread, from `client_scores.csv`
//! points/NNNN-<axes>/     run directories
//! figures/         means over seeds, with 95 % intervals from five seeds on, and captions
//! ```
//!
//! Points are numbered with the first axis outermost and the seed innermost, so that the number of
//! a point says all of it, and every arm has the same seeds. `points.csv` holds finished points
//! only and can always be made again from the run directories: [`SweepWriter::collect`].
//!
//! Several processes may compute one sweep. Each claims a point before it computes it
//! ([`SweepWriter::claim`]). A [`SweepShard`] computes points of no other shard, so that machines
//! whose file system has no locks can share the work. Contents of an unfinished point are leftovers
//! of a terminated process and are recomputed. [`merge`] joins the directories of several
//! processes.

mod beside;
mod merge;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use beside::{Beside, SWEEPS};
pub use merge::{MergeError, merge};
pub use table::{COLUMNS as POINTS_COLUMNS, PointRow};
pub use write::{Claim, Lock, SweepWriter};

use crate::answer::{complete, lints};
use crate::metric::Unit;
use crate::run_dir::{
    MANIFEST, Manifest, ReadError, SUMMARY, decode_summary, from_json, read_bytes, read_manifest, read_table,
};
use crate::tables::Tables;
use crate::term::Meaning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use table::decode_points;

/// The sweep manifest's file name.
pub const SWEEP: &str = "sweep.json";
/// The table of points.
pub const POINTS: &str = "points.csv";
/// The number of warnings, if there are any. A summary counts those that are part of its hash, a
/// point of a sweep all of them.
pub const WARNINGS: &str = "warnings";
/// The directory of the run directories.
pub const POINTS_DIR: &str = "points";

/// One axis of a sweep: a field of the scenario and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The field's path, as `--set` takes it, such as `strategy.epsilon`.
    pub path: String,
    /// Its values as text, numbers as the card writes them.
    pub values: Vec<String>,
    /// The path of an earlier axis that it moves along with: both have their first values together,
    /// both their second, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

/// Two values of an axis whose runs are compared, the other axes having the same values on both
/// sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// The path of the axis.
    pub axis: String,
    /// The value of interest.
    pub value: String,
    /// The value that it is compared with.
    pub baseline: String,
}

/// Content of `sweep.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepManifest {
    /// The card's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The question that the card asks.
    #[serde(default)]
    pub question: String,
    /// The axes, outermost first.
    pub axes: Vec<Axis>,
    /// The seeds, the same in every arm.
    pub seeds: Vec<u64>,
    /// The summary names that answer the card's question, drawn first, as panels of one figure:
    /// those that the card states, else the primary metrics of the strategies that its arms run.
    #[serde(default)]
    pub headline: Vec<String>,
    /// The comparisons that the card's question asks for, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// What the axes and the metrics of the points are measured in, by path or name; those that are
    /// missing are plain numbers.
    #[serde(default)]
    pub units: BTreeMap<String, Unit>,
    /// What the metrics of the points mean, by name; those that are missing say nothing of
    /// themselves.
    #[serde(default)]
    pub terms: BTreeMap<String, Meaning>,
    /// The names of the figures that answer the card's question, `*` standing for anything; without
    /// any, those that answer most questions.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The target that the program was built for.
    #[serde(default)]
    pub target: String,
    /// Whether its points are dry runs.
    #[serde(default)]
    pub dry_run: bool,
    /// The fingerprint of each data set that is read from files, by its settings.
    #[serde(default)]
    pub data_fingerprints: BTreeMap<String, String>,
    /// The command that makes the sweep, but for where it goes.
    #[serde(default)]
    pub command: String,
    /// What a reader of the comparison should know: arms that differ in settings which they do not
    /// name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether every point is finished and in `points.csv`.
    pub finished: bool,
}

/// One point of a sweep: which value of every axis, and which seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its number, from 0.
    pub point: u32,
    /// Which of the values of each axis, from 0.
    pub choices: Vec<usize>,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The seed.
    pub seed: u64,
}

impl SweepManifest {
    /// All points in order: the first axis outermost, the seed innermost.
    pub fn points(&self) -> Vec<Point> {
        let mut arms: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in &self.axes {
            let leader = axis
                .with
                .as_ref()
                .and_then(|with| self.axes.iter().position(|axis| axis.path == *with));
            let extended = arms.iter().flat_map(|arm| {
                let choices = match leader.and_then(|leader| arm.get(leader)) {
                    Some(choice) => *choice..*choice + 1,
                    None => 0..axis.values.len(),
                };
                choices.map(|choice| [arm.as_slice(), &[choice]].concat())
            });
            arms = extended.collect();
        }
        let value = |(axis, choice): (&Axis, &usize)| axis.values.get(*choice).cloned().unwrap_or_default();
        arms.iter()
            .flat_map(|choices| self.seeds.iter().map(move |&seed| (choices.clone(), seed)))
            .zip(0..)
            .map(|((choices, seed), point)| Point {
                point,
                values: self.axes.iter().zip(&choices).map(value).collect(),
                choices,
                seed,
            })
            .collect()
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        let free = self.axes.iter().filter(|axis| axis.with.is_none());
        let sizes = free.map(|axis| axis.values.len());
        sizes.fold(self.seeds.len(), usize::saturating_mul)
    }

    /// The path of a point's run directory in the sweep directory `dir`.
    pub fn point_path(&self, dir: &Path, point: &Point) -> PathBuf {
        dir.join(POINTS_DIR).join(self.point_name(point))
    }

    /// The name of a point's run directory: its number, the last segment of each axis' path with
    /// its value, and the seed, such as `0003-epsilon=0.5-seed=7`. Characters that are awkward in
    /// file names become `_`; long names are cut.
    pub fn point_name(&self, point: &Point) -> String {
        let axes = self.axes.iter().zip(&point.values);
        let parts = axes.map(|(axis, value)| format!("{}={value}", axis.path.rsplit('.').next().unwrap_or_default()));
        let text = parts
            .chain([format!("seed={}", point.seed)])
            .collect::<Vec<_>>()
            .join("-");
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "=-._".contains(c) {
                c
            } else {
                '_'
            }
        };
        let text: String = text.chars().map(plain).take(120).collect();
        format!("{:04}-{text}", point.point)
    }
}

/// One of N processes of a sweep; point `p` belongs to shard `p mod N + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepShard {
    /// Its number, from 1.
    pub number: u32,
    /// N, the number of processes.
    pub of: u32,
}

impl SweepShard {
    /// Whether the point of this number belongs to the shard.
    pub fn owns(self, point: u32) -> bool {
        point % self.of == self.number - 1
    }
}

/// The numbers of a point by name.
type Summary = BTreeMap<String, f64>;

/// Manifest and summary of the run directory `dir`; `None` where there is none or the run is not
/// finished.
fn read_finished(dir: &Path) -> Result<Option<(Manifest, Summary)>, ReadError> {
    let path = dir.join(MANIFEST);
    let manifest: Manifest = match read_bytes(&path) {
        // Another process may be removing what was left unfinished.
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => from_json(&path, &bytes?)?,
    };
    if !manifest.finished {
        return Ok(None);
    }
    let path = dir.join(SUMMARY);
    let summary = decode_summary(&path, &read_bytes(&path)?)?;
    Ok(Some((manifest, summary)))
}

/// The rows of the finished points in a sweep directory; what their numbers are measured in and
/// mean comes into the manifest.
fn read_points(dir: &Path, manifest: &mut SweepManifest) -> Result<Vec<PointRow>, ReadError> {
    let mut rows = Vec::new();
    for point in manifest.points() {
        let run_dir = manifest.point_path(dir, &point);
        if let Some((run, mut summary)) = read_finished(&run_dir)? {
            manifest.units.extend(run.units);
            manifest.terms.extend(run.terms);
            let n_lints = lints(&summary)
                .iter()
                .filter(|lint| run.warnings.contains(lint))
                .count();
            if n_lints > 0 {
                *summary.entry(WARNINGS.to_owned()).or_insert(0.0) += n_lints as f64;
            }
            let tables = Tables {
                client_scores: read_table(&run_dir, true)?,
                controls: read_table(&run_dir, true)?,
                ..Tables::default()
            };
            complete(
                (run.division.as_ref(), &tables),
                &mut summary,
                &mut manifest.units,
                &mut manifest.terms,
            );
            rows.push(PointRow {
                point: point.point,
                values: point.values,
                seed: point.seed,
                summary,
            });
        }
    }
    for ratio in RATIOS_WITHOUT_CODEC {
        if rows.iter().any(|row| row.summary.contains_key(ratio)) {
            rows.iter_mut().for_each(|row| {
                row.summary.entry(ratio.to_owned()).or_insert(1.0);
            });
        }
    }
    Ok(rows)
}

/// Compression ratios, 1 for runs without a codec if others of the sweep have one.
const RATIOS_WITHOUT_CODEC: [&str; 2] = ["compression_up", "compression_down"];

fn read_sweep_manifest(dir: &Path) -> Result<SweepManifest, ReadError> {
    let path = dir.join(SWEEP);
    if !path.is_file() {
        return Err(ReadError::NotOne {
            path: dir.to_owned(),
            what: "sweep",
            missing: SWEEP,
        });
    }
    from_json(&path, &read_bytes(&path)?)
}

/// A sweep directory, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepDir {
    /// Its path.
    pub path: PathBuf,
    /// `sweep.json`. Of an unfinished sweep it says what the points themselves say by now: shards
    /// write their points alone.
    pub manifest: SweepManifest,
    /// `points.csv`, or what it would hold as long as the sweep is not finished.
    pub points: Vec<PointRow>,
}

impl SweepDir {
    /// Reads the sweep directory at `path`.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotOne`] without `sweep.json`; otherwise the file, and the line and the rule
    /// where its content is to blame.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut manifest = read_sweep_manifest(path)?;
        let table = path.join(POINTS);
        let points = if !manifest.finished && path.join(POINTS_DIR).is_dir() {
            let points = read_points(path, &mut manifest)?;
            manifest.finished = points.len() == manifest.n_points();
            points
        } else if table.exists() || manifest.finished {
            // A sweep may have been copied without its runs.
            decode_points(&manifest.axes, &read_bytes(&table)?)
                .map_err(|error| ReadError::Table { path: table, error })?
        } else {
            Vec::new()
        };
        Ok(SweepDir {
            path: path.to_owned(),
            manifest,
            points,
        })
    }

    /// What the runs of some points warn of: each point's row, and its warnings. A sweep may have
    /// been copied without its runs.
    ///
    /// # Errors
    ///
    /// When a run's manifest is damaged.
    pub fn warnings(&self) -> Result<Vec<(&PointRow, Vec<String>)>, ReadError> {
        let points = self.manifest.points();
        let dir = |row: &PointRow| Some(self.manifest.point_path(&self.path, points.get(row.point as usize)?));
        let mut warned = Vec::new();
        for row in &self.points {
            if let Some(dir) = dir(row).filter(|dir| dir.is_dir()) {
                let warnings = read_manifest(&dir)?.warnings;
                warned.extend((!warnings.is_empty()).then_some((row, warnings)));
            }
        }
        Ok(warned)
    }

    /// What to say of a sweep that lacks points.
    pub fn unfinished(&self) -> Option<String> {
        let words = || format!("{} of {} points", self.points.len(), self.manifest.n_points());
        (!self.manifest.finished).then(words)
    }
}
