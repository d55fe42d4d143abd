//! The sweep directory: one run directory per point, and a table of their summaries.
//!
//! ```text
//! sweep.json       name, axes, seeds, headline metrics, whether every point is finished
//! points.csv       point, a column per axis, seed, then every summary number by name; a row a point
//! points/NNNN-<axes>/     run directories
//! figures/         means and 95 % intervals over seeds
//! ```
//!
//! Points are numbered with the first axis outermost and the seed innermost, so that the number of a point says all of
//! it, and every arm has the same seeds. `points.csv` holds finished points only and can always be made again from the
//! run directories: [`SweepWriter::collect`].

use crate::metric::Unit;
use crate::run_dir::{
    Disk, Files, MANIFEST, Manifest, ReadError, SUMMARY, WriteError, commit, create_dirs, from_json, read_bytes,
    remove_empty_dirs, to_json,
};
use crate::table::{TableError, decode_cells, encode_cells, number_text, parse_number};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The sweep manifest's file name.
pub const SWEEP: &str = "sweep.json";
/// The table of points.
pub const POINTS: &str = "points.csv";
/// The directory of the run directories.
pub const POINTS_DIR: &str = "points";

/// One axis of a sweep: a field of the scenario and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The field's path, as `--set` takes it, such as `strategy.epsilon`.
    pub path: String,
    /// Its values as text, numbers as the card writes them.
    pub values: Vec<String>,
}

/// What `sweep.json` says of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepManifest {
    /// The card's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The axes, outermost first.
    pub axes: Vec<Axis>,
    /// The seeds, the same in every arm.
    pub seeds: Vec<u64>,
    /// The summary names that answer the card's question, drawn first, as panels of one figure.
    #[serde(default)]
    pub headline: Vec<String>,
    /// What the axes and the metrics of the points are measured in, by path or name; those that are missing are plain numbers.
    #[serde(default)]
    pub units: BTreeMap<String, Unit>,
    /// Whether every point is finished and in `points.csv`.
    pub finished: bool,
}

/// One point of a sweep: which value of every axis, and which seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its number, from 0.
    pub point: u32,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The seed.
    pub seed: u64,
}

impl SweepManifest {
    /// All points in order: the first axis outermost, the seed innermost.
    pub fn points(&self) -> Vec<Point> {
        let mut arms: Vec<Vec<String>> = vec![Vec::new()];
        for axis in &self.axes {
            arms = arms
                .iter()
                .flat_map(|arm| {
                    axis.values
                        .iter()
                        .map(move |value| [arm.as_slice(), std::slice::from_ref(value)].concat())
                })
                .collect();
        }
        arms.iter()
            .flat_map(|values| self.seeds.iter().map(move |&seed| (values.clone(), seed)))
            .zip(0..)
            .map(|((values, seed), point)| Point { point, values, seed })
            .collect()
    }

    /// The name of a point's run directory: its number, the last part of each axis' path with its value, and the seed,
    /// such as `0003-epsilon=0.5-seed=7`. Signs that are awkward in file names become `_`; long names are cut.
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

/// A row of `points.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct PointRow {
    /// The point's number.
    pub point: u32,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The point's `summary.json`.
    pub summary: BTreeMap<String, f64>,
}

fn encode_points(axes: &[Axis], rows: &[PointRow]) -> Vec<u8> {
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.summary.keys()).collect();
    let mut header = vec!["point".to_owned()];
    header.extend(axes.iter().map(|axis| axis.path.clone()));
    header.push("seed".to_owned());
    header.extend(names.iter().map(|name| (*name).clone()));
    let cells = rows.iter().map(|row| {
        let mut cells = vec![row.point.to_string()];
        cells.extend(row.values.iter().cloned());
        cells.push(row.seed.to_string());
        cells.extend(
            names
                .iter()
                .map(|name| row.summary.get(*name).copied().map(number_text).unwrap_or_default()),
        );
        cells
    });
    encode_cells(&header, cells)
}

fn decode_points(axes: &[Axis], bytes: &[u8]) -> Result<Vec<PointRow>, TableError> {
    let (header, rows) = decode_cells(bytes)?;
    let n_axes = axes.len();
    let start = || {
        ["point"]
            .into_iter()
            .chain(axes.iter().map(|axis| axis.path.as_str()))
            .chain(["seed"])
    };
    if !start().eq(header.iter().map(String::as_str).take(n_axes + 2)) {
        let rule = format!(
            "must begin with {}, got {}",
            start().collect::<Vec<_>>().join(","),
            header.join(",")
        );
        return Err(TableError {
            line: 1,
            column: None,
            rule,
        });
    }
    let row = |(line, record): &(u64, csv::StringRecord)| {
        let bad = |at: usize, rule: &str| TableError {
            line: *line,
            column: header.get(at).cloned(),
            rule: format!("{rule}, got {:?}", record.get(at).unwrap_or("")),
        };
        let text = |at: usize| record.get(at).unwrap_or("");
        let mut summary = BTreeMap::new();
        for (at, name) in header
            .iter()
            .enumerate()
            .skip(n_axes + 2)
            .filter(|(at, _)| !text(*at).is_empty())
        {
            let number = parse_number(text(at)).ok_or_else(|| bad(at, "must be blank, a number, inf or nan"))?;
            summary.insert(name.clone(), number);
        }
        Ok(PointRow {
            point: text(0).parse().map_err(|_| bad(0, "must be a whole number"))?,
            values: (1..=n_axes).map(|at| text(at).to_owned()).collect(),
            seed: text(n_axes + 1)
                .parse()
                .map_err(|_| bad(n_axes + 1, "must be a whole number"))?,
            summary,
        })
    };
    rows.iter().map(row).collect()
}

/// An open sweep directory. Points are written by [`RunWriter`](crate::RunWriter) at [`SweepWriter::point_path`].
pub struct SweepWriter {
    dir: PathBuf,
    manifest: SweepManifest,
}

impl SweepWriter {
    /// Makes the sweep directory `dir`, with missing parents, and writes an unfinished `sweep.json`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Exists`] when something lies at `dir`; [`WriteError::Io`] when the folder cannot be written. Then
    /// nothing is left behind.
    pub fn create(dir: &Path, manifest: SweepManifest) -> Result<Self, WriteError> {
        SweepWriter::create_on(&Files, dir, manifest)
    }

    fn create_on(disk: &dyn Disk, dir: &Path, manifest: SweepManifest) -> Result<Self, WriteError> {
        if fs::symlink_metadata(dir).is_ok() {
            return Err(WriteError::Exists { path: dir.to_owned() });
        }
        let manifest = SweepManifest {
            finished: false,
            ..manifest
        };
        let points = dir.join(POINTS_DIR);
        let created = create_dirs(disk, &points)?;
        if let Err(error) = commit(disk, &[(dir.join(SWEEP), to_json(&manifest))]) {
            remove_empty_dirs(&created);
            return Err(error);
        }
        Ok(SweepWriter {
            dir: dir.to_owned(),
            manifest,
        })
    }

    /// Opens a sweep directory again, to run the points that are missing.
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

    /// The manifest.
    pub fn manifest(&self) -> &SweepManifest {
        &self.manifest
    }

    /// Where a point's run directory belongs.
    pub fn point_path(&self, point: &Point) -> PathBuf {
        self.dir.join(POINTS_DIR).join(self.manifest.point_name(point))
    }

    /// Gives the sweep up before any of its points is finished: removes what it made.
    pub fn abandon(self) {
        // What can't be removed is empty of results, and the reason for giving up matters more.
        let _ = fs::remove_dir_all(&self.dir);
    }

    /// The points that have no finished run directory yet.
    ///
    /// # Errors
    ///
    /// When a run directory's manifest cannot be read.
    pub fn missing(&self) -> Result<Vec<Point>, ReadError> {
        let mut missing = Vec::new();
        for point in self.manifest.points() {
            if read_finished(&self.point_path(&point))?.is_none() {
                missing.push(point);
            }
        }
        Ok(missing)
    }

    /// Writes `points.csv` from the finished run directories, and marks the sweep as finished if that is all of them.
    /// Returns whether it is.
    ///
    /// # Errors
    ///
    /// [`WriteError::Read`] when a run directory is damaged, [`WriteError::Io`].
    pub fn collect(&mut self) -> Result<bool, WriteError> {
        let points = self.manifest.points();
        let mut rows = Vec::with_capacity(points.len());
        for point in &points {
            if let Some((manifest, summary)) = read_finished(&self.point_path(point))? {
                self.manifest.units.extend(manifest.units);
                let Point { point, values, seed } = point.clone();
                rows.push(PointRow {
                    point,
                    values,
                    seed,
                    summary,
                });
            }
        }
        self.manifest.finished = rows.len() == points.len();
        commit(
            &Files,
            &[(self.dir.join(POINTS), encode_points(&self.manifest.axes, &rows))],
        )?;
        commit(&Files, &[(self.dir.join(SWEEP), to_json(&self.manifest))])?;
        Ok(self.manifest.finished)
    }
}

/// The numbers of a point by name.
type Summary = BTreeMap<String, f64>;

/// Manifest and summary of the run directory `dir`; `None` where there is none or the run is not finished.
fn read_finished(dir: &Path) -> Result<Option<(Manifest, Summary)>, ReadError> {
    let path = dir.join(MANIFEST);
    if !path.exists() {
        return Ok(None);
    }
    let manifest: Manifest = from_json(&path, &read_bytes(&path)?)?;
    if !manifest.finished {
        return Ok(None);
    }
    let path = dir.join(SUMMARY);
    let summary = crate::run_dir::decode_summary(&path, &read_bytes(&path)?)?;
    Ok(Some((manifest, summary)))
}

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
    /// Where it lies.
    pub path: PathBuf,
    /// `sweep.json`.
    pub manifest: SweepManifest,
    /// `points.csv`; empty as long as no point was collected.
    pub points: Vec<PointRow>,
}

impl SweepDir {
    /// Reads the sweep directory at `path`.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotOne`] without `sweep.json`; otherwise the file, and the line and the rule where its content is to
    /// blame.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let manifest = read_sweep_manifest(path)?;
        let table = path.join(POINTS);
        let points = if table.exists() || manifest.finished {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::{RunWriter, write_whole};
    use crate::testing::{TempDir, manifest, result};

    fn sweep() -> SweepManifest {
        let axis = |path: &str, values: &[&str]| Axis {
            path: path.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        SweepManifest {
            name: "smoke/sweep".into(),
            version: "0.1.0".into(),
            axes: vec![
                axis("strategy.epsilon", &["0.5", "1e1"]),
                axis("variant", &["AsPrinted", "a b/c"]),
            ],
            seeds: vec![1, 2],
            headline: vec!["payload_bytes".into()],
            units: BTreeMap::new(),
            finished: false,
        }
    }

    #[test]
    fn points_count_with_the_seed_innermost() {
        let points = sweep().points();
        assert_eq!(points.len(), 8);
        assert_eq!(
            points[3],
            Point {
                point: 3,
                values: vec!["0.5".into(), "a b/c".into()],
                seed: 2
            }
        );
        assert_eq!(sweep().point_name(&points[3]), "0003-epsilon=0.5-variant=a_b_c-seed=2");
        let alone = SweepManifest {
            axes: vec![],
            ..sweep()
        };
        assert_eq!(alone.points().len(), 2);
    }

    #[test]
    fn points_are_collected_from_finished_runs_only() {
        let temp = TempDir::new();
        let dir = temp.path().join("sweeps/a");
        let mut writer = SweepWriter::create(&dir, sweep()).unwrap();
        assert!(matches!(
            SweepWriter::create(&dir, sweep()),
            Err(WriteError::Exists { .. })
        ));
        assert_eq!(SweepDir::open(&dir).unwrap().points, vec![]);
        let points = sweep().points();
        let run = |writer: &SweepWriter, point: &Point| {
            let mut result = result(1);
            result
                .summary
                .insert("a,\"b\"@Theorem 4.2".into(), f64::from(point.point) / 3.0);
            if point.point == 5 {
                result.summary.clear();
                result.summary.insert("z".into(), f64::INFINITY);
            }
            let manifest = Manifest {
                seed: point.seed,
                ..manifest()
            };
            RunWriter::create(&writer.point_path(point), "s", manifest)
                .unwrap()
                .finish(&result)
                .unwrap();
        };
        points[1..].iter().for_each(|point| run(&writer, point));
        assert!(!writer.collect().unwrap());
        let mut writer = SweepWriter::open(&dir).unwrap();
        assert_eq!(writer.missing().unwrap(), points[..1]);
        run(&writer, &points[0]);
        assert!(writer.collect().unwrap());
        let back = SweepDir::open(&dir).unwrap();
        assert!(back.manifest.finished);
        assert_eq!(back.points.len(), 8);
        assert_eq!(back.points[2].summary["a,\"b\"@Theorem 4.2"], 2.0 / 3.0);
        assert_eq!(back.points[5].summary, [("z".to_owned(), f64::INFINITY)].into());
        assert_eq!((&back.points[7].values, back.points[7].seed), (&points[7].values, 2));
        let text = fs::read_to_string(dir.join(POINTS)).unwrap();
        let header = "point,strategy.epsilon,variant,seed,\"a,\"\"b\"\"@Theorem 4.2\",accuracy_final,payload_bytes,z\n";
        assert!(text.starts_with(header), "{text}");
    }

    #[test]
    fn a_damaged_table_of_points_is_refused_by_line_and_column() {
        let temp = TempDir::new();
        let dir = temp.path().join("s");
        assert!(
            SweepDir::open(temp.path())
                .unwrap_err()
                .to_string()
                .contains("is not a sweep directory")
        );
        SweepWriter::create(&dir, sweep()).unwrap();
        write_whole(
            &dir.join(POINTS),
            b"point,strategy.epsilon,variant,seed,x\n0,1,A,1,2\n1,1,A,one,2\n",
        )
        .unwrap();
        let error = SweepDir::open(&dir).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("points.csv: line 3, column seed: must be a whole number"),
            "{error}"
        );
    }
}
