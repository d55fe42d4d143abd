//! Figures of what the runs of a sweep left in their directories.

use super::{MAX_CURVES, View, above_it, framed, unfinished};
use crate::artifacts;
use crate::curves;
use crate::figure::{Figure, Panel};
use crate::names::{Units, heading};
use folkmoot_metrics::sweep_dir::PointRow;
use folkmoot_metrics::{ReadError, RunDir, SweepDir, read_curves};
use std::path::PathBuf;

/// Maps and matrices that runs left, an arm beside the other, each of its first seed; all such figures of the first run
/// where a sweep has seeds alone.
pub(crate) fn of_artifacts(sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
    let run_of = |row: &PointRow| point_dir(sweep, row).map(|dir| RunDir::open(&dir)).transpose();
    let Some(view) = View::new(sweep) else {
        // Seeds alone: the figures of the first stand for all.
        let run = sweep
            .points
            .first()
            .map(|row| Ok::<_, ReadError>((row.seed, run_of(row)?)));
        let Some((seed, Some(run))) = run.transpose()? else {
            return Ok(Vec::new());
        };
        let mut figures = artifacts::of_run(&run)?;
        for figure in &mut figures {
            figure.title = heading(&sweep.manifest.name, &figure.title);
            figure.notes = vec![format!("The run of seed {seed}.")];
            figure.notes.extend(unfinished(sweep));
        }
        return Ok(figures);
    };
    let mut arms: Vec<(String, &PointRow)> = Vec::new();
    for point in view.points() {
        let axes = std::iter::once(view.main).chain(view.others.iter().copied());
        let label = axes
            .map(|axis| point.values[axis].as_str())
            .collect::<Vec<_>>()
            .join(", ");
        if arms.iter().all(|(known, _)| *known != label) {
            arms.push((label, point));
        }
    }
    if arms.len() > MAX_CURVES {
        return Ok(Vec::new());
    }
    let mut runs = Vec::new();
    for (label, row) in arms {
        if let Some(run) = run_of(row)? {
            runs.push((label, run));
        }
    }
    let [maps, matrices] = artifacts::of_arms(&runs)?;
    let seed = view.points().first().map_or(0, |point| point.seed);
    let figures = [("maps", "maps", maps), ("distances", "distances", matrices)];
    let drawn = figures.into_iter().filter(|(.., panels)| !panels.is_empty());
    let figure = |(name, title, panels): (&str, &str, Vec<Panel>)| Figure {
        notes: std::iter::once(format!("Runs of seed {seed}."))
            .chain(unfinished(sweep))
            .collect(),
        ..view.figure(name, title, panels)
    };
    Ok(drawn.map(figure).collect())
}

/// The curves of the arms over rounds, virtual time and bytes, and what their targets took, side by side for each part of the sweep.
pub(crate) fn of_curves(sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
    let parts = match View::new(sweep) {
        Some(view) => (view.parts().iter())
            .map(|(above, part)| (above.clone(), part.labelled()))
            .collect(),
        None => vec![(String::new(), vec![(String::new(), sweep.points.iter().collect())])],
    };
    let headline = sweep.manifest.headline.iter().map(String::as_str);
    let scores: Vec<&str> = headline.chain(["test_accuracy"]).collect();
    let mut figures: Vec<Figure> = Vec::new();
    for (above, of_arms) in parts {
        let mut arms: Vec<curves::Arm<'_>> = Vec::new();
        let n_arms = of_arms.len();
        for (label, rows) in of_arms {
            let dirs = rows.iter().filter_map(|row| point_dir(sweep, row));
            let dirs = dirs.filter(|_| n_arms <= MAX_CURVES);
            arms.push(curves::Arm {
                label,
                summaries: rows.iter().map(|row| &row.summary).collect(),
                runs: dirs.map(|dir| read_curves(&dir)).collect::<Result<_, _>>()?,
            });
        }
        let units = Units(&sweep.manifest.units, &sweep.manifest.terms);
        for figure in curves::figures(&arms, &scores, units) {
            let panels: Vec<_> = (figure.panels.into_iter())
                .map(|panel| above_it(panel, &above))
                .collect();
            match figures.iter_mut().find(|known| known.name == figure.name) {
                Some(known) => known.panels.extend(panels),
                None => figures.push(Figure { panels, ..figure }),
            }
        }
    }
    Ok(figures.into_iter().map(|figure| framed(sweep, figure)).collect())
}

/// The run of the first point, if it is there.
pub(crate) fn first_run(sweep: &SweepDir) -> Result<Option<RunDir>, ReadError> {
    let dir = sweep.points.first().and_then(|row| point_dir(sweep, row));
    dir.map(|dir| RunDir::open(&dir)).transpose()
}

/// Where the run of a point lies; a sweep may have been copied without its runs.
fn point_dir(sweep: &SweepDir, row: &PointRow) -> Option<PathBuf> {
    let points = sweep.manifest.points();
    let dir = sweep.manifest.point_path(&sweep.path, points.get(row.point as usize)?);
    dir.is_dir().then_some(dir)
}
