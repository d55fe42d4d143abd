//! Figures of what the runs of a sweep left in their directories.

use super::{Compared, MAX_CURVES, View, above_it, framed, unfinished};
use crate::artifacts;
use crate::curves;
use crate::names::{Units, capital};
use crate::run::fairness_of_arms;
use crate::split;
use folkmoot_metrics::figure::{Figure, Panel};
use folkmoot_metrics::sweep_dir::PointRow;
use folkmoot_metrics::{
    ClientScoreRow, Division, PartitionRow, ReadError, RunDir, SweepDir, read_curves, read_partition, read_table,
};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// More ways to share data out than this are too many for a figure.
const MAX_WAYS: usize = 16;

/// Maps and matrices that runs left, an arm beside the other, each of its first seed; all such
/// figures of the first run where a sweep has seeds alone.
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
            figure.title = capital(&figure.title);
            figure.notes = vec![format!("The run of seed {seed}.")];
            figure.notes.extend(unfinished(sweep));
        }
        return Ok(figures);
    };
    let mut arms: Vec<(String, &PointRow)> = Vec::new();
    for point in view.points() {
        let label = view
            .axes()
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

/// The curves of the arms over rounds, virtual time and bytes, and what their targets took, side by
/// side for each part of the sweep.
pub(crate) fn of_curves(sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
    let parts = match View::new(sweep) {
        Some(view) => (view.parts_of_curves().iter())
            .map(|(above, part)| (above.clone(), part.labelled()))
            .collect(),
        None => vec![(String::new(), vec![(String::new(), sweep.points.iter().collect())])],
    };
    let compared = Compared::of(sweep);
    let headline = sweep.manifest.headline.iter().map(String::as_str);
    let scores: Vec<&str> = headline.chain(["test_accuracy"]).collect();
    let mut figures: Vec<Figure> = Vec::new();
    for (above, of_arms) in parts {
        let mut arms: Vec<curves::Arm<'_>> = Vec::new();
        let n_arms = of_arms.len();
        for (label, rows) in of_arms {
            let dirs = rows.iter().filter_map(|row| Some((row.seed, point_dir(sweep, row)?)));
            let (seeds, dirs): (Vec<u64>, Vec<PathBuf>) = dirs.filter(|_| n_arms <= MAX_CURVES).unzip();
            arms.push(curves::Arm {
                label,
                summaries: rows.iter().map(|row| &row.summary).collect(),
                remarks: compared.remarks(&rows),
                runs: dirs.iter().map(|dir| read_curves(dir)).collect::<Result<_, _>>()?,
                seeds,
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

/// How the data of the first seed are shared out: a panel for each way that there is, named by
/// those axes which make it.
pub(crate) fn of_splits(sweep: &SweepDir) -> Result<Option<Figure>, ReadError> {
    let Some(seed) = sweep.points.first().map(|point| point.seed) else {
        return Ok(None);
    };
    // The ways, and the points that have them.
    let mut ways: Vec<(Division, Vec<PartitionRow>, Vec<&PointRow>)> = Vec::new();
    for point in sweep.points.iter().filter(|point| point.seed == seed) {
        let split = point_dir(sweep, point).map(|dir| read_partition(&dir)).transpose()?;
        let Some((division, rows)) = split.flatten() else {
            continue;
        };
        match ways.iter_mut().find(|way| (&way.0, &way.1) == (&division, &rows)) {
            Some((.., points)) => points.push(point),
            None => ways.push((division, rows, vec![point])),
        }
    }
    if ways.len() > MAX_WAYS {
        return Ok(None);
    }
    let view = View::new(sweep);
    let axes: Vec<usize> = view.iter().flat_map(View::axes).collect();
    let is_one = |axis: &usize, points: &[&PointRow]| {
        points
            .iter()
            .all(|point| point.values[*axis] == points[0].values[*axis])
    };
    let mut making = axes;
    making.retain(|axis| ways.len() > 1 && ways.iter().all(|(.., points)| is_one(axis, points)));
    let named = |(division, rows, points): (Division, Vec<PartitionRow>, Vec<&PointRow>)| {
        let values: Vec<&str> = making.iter().map(|axis| points[0].values[*axis].as_str()).collect();
        let name = view.as_ref().map(|view| view.label_of(making.iter().copied(), &values));
        (name.unwrap_or_default(), division, rows)
    };
    let arms: Vec<_> = ways.into_iter().map(named).collect();
    let (panels, mut notes) = split::side_by_side(&arms);
    notes.insert(0, format!("Runs of seed {seed}."));
    notes.extend(unfinished(sweep));
    let figure = Figure {
        name: "partition".to_owned(),
        title: capital("how the data are shared out"),
        notes,
        panels,
    };
    Ok((!figure.panels.is_empty()).then_some(figure))
}

/// How the clients of each arm fare, those of all seeds together, side by side for each part of the
/// sweep.
pub(crate) fn of_clients(sweep: &SweepDir) -> Result<Option<Figure>, ReadError> {
    let Some(view) = View::new(sweep) else {
        return Ok(None);
    };
    let mut whole: Option<Figure> = None;
    let [mut scored, mut unscored] = [BTreeSet::new(), BTreeSet::new()];
    for (above, part) in view.parts_of_curves() {
        let arms = part.labelled();
        if arms.len() > MAX_CURVES {
            continue;
        }
        let mut accuracies = Vec::new();
        for (label, points) in arms {
            let mut all = Vec::new();
            for dir in points.into_iter().filter_map(|point| point_dir(sweep, point)) {
                let rows: Vec<ClientScoreRow> = read_table(&dir, true)?;
                // One client is no curve.
                all.extend(rows.iter().map(|row| row.accuracy).filter(|_| rows.len() > 1));
            }
            match all.is_empty() {
                true => unscored.insert(label.clone()),
                false => scored.insert(label.clone()),
            };
            accuracies.push((label, all));
        }
        let Some(figure) = fairness_of_arms(accuracies) else {
            continue;
        };
        let panels: Vec<Panel> = (figure.panels.into_iter())
            .map(|panel| above_it(panel, &above))
            .collect();
        match &mut whole {
            Some(whole) => whole.panels.extend(panels),
            None => whole = Some(Figure { panels, ..figure }),
        }
    }
    let figure = |mut figure: Figure| {
        figure.title = capital(&figure.title);
        let said = "Clients with test items, of all seeds together, each with the model that it answers with.";
        figure.notes.push(said.to_owned());
        let names: Vec<&str> = unscored.difference(&scored).map(String::as_str).collect();
        if !names.is_empty() {
            figure.notes.push(format!(
                "Without several clients that are scored one by one: {}.",
                names.join(", ")
            ));
        }
        figure.notes.extend(unfinished(sweep));
        figure
    };
    Ok(whole.map(figure))
}

/// The run of the first point, if it is there.
pub(crate) fn first_run(sweep: &SweepDir) -> Result<Option<RunDir>, ReadError> {
    first_run_dir(sweep).map(|dir| RunDir::open(&dir)).transpose()
}

/// Where that run lies.
pub(crate) fn first_run_dir(sweep: &SweepDir) -> Option<PathBuf> {
    sweep.points.first().and_then(|row| point_dir(sweep, row))
}

/// Where the run of a point lies; a sweep may have been copied without its runs.
fn point_dir(sweep: &SweepDir, row: &PointRow) -> Option<PathBuf> {
    let points = sweep.manifest.points();
    let dir = sweep.manifest.point_path(&sweep.path, points.get(row.point as usize)?);
    dir.is_dir().then_some(dir)
}
