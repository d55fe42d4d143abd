//! Scores by round, by virtual time and by bytes spent.

use super::shared::{bytes, figure, has_durations};
use crate::names::{Unit, Units, file_part, words};
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Role, Row, Series};
use folkmoot_metrics::{ReadingRow, RunDir, ScoreRow};
use std::collections::{BTreeMap, BTreeSet};

/// The share of clients online over time.
pub(super) fn availability(run: &RunDir) -> Option<Figure> {
    let y = Axis {
        log_beyond: None,
        ..Axis::new("Clients online".to_owned(), Unit::Share)
    };
    let rows = run
        .tables
        .readings
        .iter()
        .filter(|row| row.metric == ReadingRow::ONLINE);
    let points: Vec<(f64, f64)> = rows.map(|row| (row.virtual_s, row.value)).collect();
    let is_curve = points.len() > 1;
    let lines = Lines {
        x: Axis {
            log_beyond: None,
            ..Axis::new("Virtual time", Unit::Seconds)
        },
        y,
        series: vec![Series::new("clients".to_owned(), Role::Data(0), points)],
    };
    is_curve.then(|| figure("availability", "clients online over time", Panel::Lines(lines)))
}

/// The mean epsilon of a client so far, a curve per mechanism.
pub(super) fn epsilon_by_round(run: &RunDir) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for row in &run.tables.readings {
        let Some(mechanism) = row.metric.strip_prefix(ReadingRow::EPSILON) else {
            continue;
        };
        let point = (f64::from(row.round), row.value);
        let label = words(mechanism, Unit::Number);
        match series.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(label, Role::Data(series.len()), vec![point])),
        }
    }
    let is_curve = series.iter().any(|series| series.points.len() > 1);
    let lines = Lines {
        x: Axis::rounds(),
        y: Axis::new("Mean epsilon of a client so far".to_owned(), Unit::Number),
        series,
    };
    is_curve.then(|| figure("epsilon-by-round", "privacy spent over rounds", Panel::Lines(lines)))
}

/// The metric that a run scores first.
pub(super) fn first(run: &RunDir) -> Option<&str> {
    run.tables.scores.first().map(|row| row.metric.as_str())
}

/// For each metric its values by round, by virtual time and by bytes spent.
pub(super) fn scores(run: &RunDir) -> Vec<Figure> {
    let mut spent: BTreeMap<u32, f64> = BTreeMap::new();
    for row in &run.tables.messages {
        *spent.entry(row.round).or_default() += bytes(row);
    }
    let mut sum = 0.0;
    for round in spent.values_mut() {
        sum += *round;
        *round = sum;
    }
    let spent_until = |round: u32| spent.range(..=round).next_back().map_or(0.0, |(_, sum)| *sum);
    let by_round = |row: &ScoreRow| f64::from(row.round);
    let by_time = |row: &ScoreRow| row.virtual_s;
    let by_bytes = |row: &ScoreRow| spent_until(row.round);
    let linear = |label: &str, unit| Axis {
        log_beyond: None,
        ..Axis::new(label, unit)
    };
    type Measure<'a> = (&'a str, &'a str, Axis, &'a dyn Fn(&ScoreRow) -> f64);
    let measures: [Measure<'_>; 3] = [
        ("round", "round", Axis::rounds(), &by_round),
        ("time", "virtual time", linear("Virtual time", Unit::Seconds), &by_time),
        (
            "bytes",
            "bytes spent",
            linear("Bytes on the wire so far", Unit::Bytes),
            &by_bytes,
        ),
    ];
    let mut metrics: Vec<&str> = Vec::new();
    // Points of curves over a parameter are drawn from the summary.
    let by_round_only = |row: &&ScoreRow| !row.split.contains('=');
    for row in run.tables.scores.iter().filter(by_round_only) {
        if !metrics.contains(&row.metric.as_str()) {
            metrics.push(&row.metric);
        }
    }
    let units = Units(&run.manifest.units, &run.manifest.terms);
    let mut figures = Vec::new();
    for metric in metrics {
        let rows: Vec<&ScoreRow> = run.tables.scores.iter().filter(|row| row.metric == metric).collect();
        let (title, unit) = units.words(metric);
        for (suffix, against, x, measure) in &measures {
            // An ideal world has no durations: its clock counts hops.
            if *suffix == "time" && !has_durations(run) {
                continue;
            }
            let places: BTreeSet<u64> = rows.iter().map(|row| measure(row).to_bits()).collect();
            let seen = rows.iter().any(|row| row.value.is_finite() && measure(row).is_finite());
            // A single point says something by round; on another axis it only says where the end
            // was.
            if !seen || (places.len() < 2 && *suffix != "round") {
                continue;
            }
            let series = splits(&rows, measure);
            let name = format!("score-{}-by-{suffix}", file_part(metric));
            if places.len() == 1 && series.iter().all(|series| series.points.len() == 1) {
                let title = format!("{title} at round {}", rows[0].round);
                figures.push(figure(
                    &name,
                    &title,
                    Panel::Bars(final_scores(units.words(metric), &series)),
                ));
                continue;
            }
            let lines = Lines {
                x: x.clone(),
                y: Axis::new(title.clone(), unit),
                series,
            };
            figures.push(figure(&name, &format!("{title} by {against}"), Panel::Lines(lines)));
        }
    }
    figures
}

/// A bar per part of the data, for a score that was taken once.
fn final_scores((label, unit): (String, Unit), series: &[Series]) -> Bars {
    let row = |series: &Series| {
        let value = series
            .points
            .first()
            .map(|(_, value)| *value)
            .filter(|value| !value.is_nan());
        Row {
            label: series.label.clone(),
            bars: vec![Bar {
                value,
                ..Bar::default()
            }],
            remark: None,
            ..Row::default()
        }
    };
    let x = Axis {
        log_beyond: None,
        ..Axis::amount(label, unit)
    };
    Bars {
        x,
        groups: vec![String::new()],
        rows: series.iter().map(row).collect(),
        ..Bars::default()
    }
}

/// A curve per part of the data.
fn splits(rows: &[&ScoreRow], measure: &dyn Fn(&ScoreRow) -> f64) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let point = (measure(row), row.value);
        match series.iter_mut().find(|series| series.label == row.split) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(row.split.clone(), Role::Data(series.len()), vec![point])),
        }
    }
    series
}
