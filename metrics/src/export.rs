//! Results for other programs: the curves of a run, or of all points of a sweep, in the forms that they read.
//!
//! | form | what it holds |
//! |------|---------------|
//! | long CSV | a row a value: a column per axis, then `seed,round,virtual_s,bytes,split,metric,value,n` |
//! | Parquet  | the same table with its types: names as text, counts and seeds as whole numbers, the rest as floats; so axes of numbers alone, others as text |
//! | TensorBoard | a folder a point with one file of scalars: step = round, wall time = virtual seconds, tag = `metric/split`; beside each, `metric_by_bytes/split`, whose step is the bytes spent |
//!
//! Promises: equal results have equal bytes. Leaves out: where they are written.

mod events;
mod parquet;

use crate::curves::{Curve, CurvePoint, curves};
use crate::run_dir::{ReadError, RunDir};
use crate::sweep_dir::{Axis, SWEEP, SweepDir};
use crate::table::{encode_cells, float_text, parse_number};
use parquet::Column;
use std::path::Path;

/// The columns behind the axes.
const COLUMNS: [&str; 8] = ["seed", "round", "virtual_s", "bytes", "split", "metric", "value", "n"];

/// A value of a curve, with the curve and the run it belongs to.
type Row<'a> = (&'a ExportedRun, &'a Curve, CurvePoint);

/// What is exported of a run or a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The axes; a run has none.
    pub axes: Vec<Axis>,
    /// The run, or a sweep's finished points in order.
    pub runs: Vec<ExportedRun>,
    /// What to say of what lacks a part.
    pub unfinished: Option<String>,
}

/// One run of an [`Export`].
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedRun {
    /// The name of its folder in a sweep, or nothing.
    pub name: String,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Its scores.
    pub curves: Vec<Curve>,
}

impl Export {
    /// Reads a run or sweep directory.
    ///
    /// # Errors
    ///
    /// Those of [`RunDir::open`] and [`SweepDir::open`].
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        if !dir.join(SWEEP).is_file() {
            let run = RunDir::open(dir)?;
            let unfinished = format!("{} rounds", run.rounds.len());
            return Ok(Export {
                axes: Vec::new(),
                unfinished: (!run.manifest.finished).then_some(unfinished),
                runs: vec![ExportedRun::of(String::new(), Vec::new(), &run)],
            });
        }
        let sweep = SweepDir::open(dir)?;
        let unfinished = sweep.unfinished();
        let SweepDir { manifest, points, .. } = sweep;
        let all = manifest.points();
        let rows = points.iter().filter_map(|row| all.get(row.point as usize));
        let runs = rows.map(|point| {
            let run = RunDir::open(&manifest.point_path(dir, point))?;
            Ok(ExportedRun::of(manifest.point_name(point), point.values.clone(), &run))
        });
        Ok(Export {
            runs: runs.collect::<Result<_, ReadError>>()?,
            axes: manifest.axes,
            unfinished,
        })
    }

    /// The names of the table's columns.
    fn header(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.path.as_str()).chain(COLUMNS).collect()
    }

    /// The table's rows.
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.runs.iter().flat_map(|run| {
            let curves = run.curves.iter();
            curves.flat_map(move |curve| curve.points.iter().map(move |&point| (run, curve, point)))
        })
    }

    /// The table as CSV.
    pub fn long_csv(&self) -> Vec<u8> {
        let cells = |(run, curve, point): Row<'_>| {
            let own = [
                run.seed.to_string(),
                point.round.to_string(),
                float_text(point.virtual_s),
                point.bytes.to_string(),
                curve.split.clone(),
                curve.metric.clone(),
                float_text(point.value),
                point.n.to_string(),
            ];
            run.values.iter().cloned().chain(own).collect()
        };
        encode_cells(&self.header(), self.rows().map(cells))
    }

    /// The table as Parquet.
    pub fn parquet<'a>(&'a self) -> Vec<u8> {
        let rows: Vec<Row<'a>> = self.rows().collect();
        let texts = |of: &dyn Fn(&Row<'a>) -> &'a str| Column::Text(rows.iter().map(of).collect());
        let counts = |of: &dyn Fn(&Row<'a>) -> u64| {
            Column::Count(rows.iter().map(|row| of(row).try_into().unwrap_or(i64::MAX)).collect())
        };
        let numbers = |of: &dyn Fn(&Row<'a>) -> f64| Column::Number(rows.iter().map(of).collect());
        let axis = |(at, axis): (usize, &Axis)| match axis.values.iter().all(|value| parse_number(value).is_some()) {
            true => numbers(&|(run, ..)| parse_number(&run.values[at]).unwrap_or(f64::NAN)),
            false => texts(&|(run, ..)| &run.values[at]),
        };
        let mut columns: Vec<Column<'_>> = self.axes.iter().enumerate().map(axis).collect();
        columns.extend([
            Column::Seed(rows.iter().map(|(run, ..)| run.seed).collect()),
            counts(&|(.., point)| point.round.into()),
            numbers(&|(.., point)| point.virtual_s),
            counts(&|(.., point)| point.bytes),
            texts(&|(_, curve, _)| &curve.split),
            texts(&|(_, curve, _)| &curve.metric),
            numbers(&|(.., point)| point.value),
            counts(&|(.., point)| point.n),
        ]);
        parquet::encode(&self.header(), &columns, rows.len())
    }

    /// Files for TensorBoard: their paths, with `/` between the parts, and their bytes.
    pub fn tensorboard(&self) -> Vec<(String, Vec<u8>)> {
        let path = |run: &ExportedRun| match run.name.as_str() {
            "" => events::FILE.to_owned(),
            name => format!("{name}/{}", events::FILE),
        };
        self.runs
            .iter()
            .map(|run| (path(run), events::encode(&run.curves)))
            .collect()
    }
}

impl ExportedRun {
    fn of(name: String, values: Vec<String>, run: &RunDir) -> Self {
        ExportedRun {
            name,
            values,
            seed: run.manifest.seed,
            curves: curves(run),
        }
    }
}

#[cfg(test)]
mod tests;
