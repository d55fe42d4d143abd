//! The curves of a run, or of all finished runs of a sweep, as one table in CSV.
//!
//! One row per value: a column per axis, then `seed,round,virtual_s,bytes,split,metric,value,n`.
//! Equal results give equal bytes. The Python package makes Parquet and TensorBoard files of it.

use crate::curves::{Curve, CurvePoint, curves};
use crate::run_dir::{ReadError, RunDir};
use crate::sweep_dir::{Axis, SWEEP, SweepDir};
use crate::table::{encode_cells, float_text};
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
    /// The value of each axis.
    pub values: Vec<String>,
    pub seed: u64,
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
            let unfinished = format!("{} rounds", run.tables.rounds.len());
            return Ok(Export {
                axes: Vec::new(),
                unfinished: (!run.manifest.finished).then_some(unfinished),
                runs: vec![ExportedRun::of(Vec::new(), &run)],
            });
        }
        let sweep = SweepDir::open(dir)?;
        let unfinished = sweep.unfinished();
        let SweepDir { manifest, points, .. } = sweep;
        let all = manifest.points();
        let rows = points.iter().filter_map(|row| all.get(row.point as usize));
        let runs = rows.map(|point| {
            let run = RunDir::open(&manifest.point_path(dir, point))?;
            Ok(ExportedRun::of(point.values.clone(), &run))
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
}

impl ExportedRun {
    fn of(values: Vec<String>, run: &RunDir) -> Self {
        ExportedRun {
            values,
            seed: run.manifest.seed,
            curves: curves(run),
        }
    }
}

#[cfg(test)]
mod tests;
