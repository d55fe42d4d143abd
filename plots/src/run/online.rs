//! Who was there when: how many clients were online over time, and the absences of some.

use super::shared::figure;
use crate::names::Unit;
use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Path, Role, Series, Span, Timeline, Track};
use folkmoot_metrics::trace::Slice;
use folkmoot_metrics::{RunDir, has_durations};

/// So many clients have a row of their own.
const MOST: usize = 24;

/// How many steps the curve has at most: among more, those of so many spans of equal length are
/// drawn.
const STEPS: usize = 600;

/// Clients online over virtual time beside the absences of some of them.
pub(super) fn online(run: &RunDir) -> Option<Figure> {
    let end = run
        .summary
        .get("virtual_s")
        .copied()
        .filter(|end| has_durations(*end))?;
    let clients: Vec<&[folkmoot_metrics::AbsenceRow]> =
        run.tables.absences.chunk_by(|a, b| a.client == b.client).collect();
    if clients.is_empty() {
        return None;
    }
    let share = Series {
        path: Path::Stairs,
        ..Series::new("clients", Role::Data(0), counts(run, clients.len(), end))
    };
    let lines = Lines {
        x: Axis {
            log_beyond: None,
            ..Axis::amount("Virtual time", Unit::Seconds)
        },
        y: Axis {
            log_beyond: None,
            whole: true,
            ..Axis::amount("Clients online", Unit::Count)
        },
        series: vec![share],
    };
    let mut before = 0.0;
    let round = |row: &folkmoot_metrics::RoundRow| {
        let span = Span {
            slice: Slice::Round,
            from: before,
            to: row.virtual_s,
        };
        before = row.virtual_s;
        span
    };
    let shown = clients.len().min(MOST);
    let chosen = |i: &usize| (i + 1) * shown / clients.len() > i * shown / clients.len();
    let track = |i: usize| Track {
        label: format!("client {}", clients[i][0].client),
        spans: clients[i]
            .iter()
            .filter(|row| row.from_s < row.until_s)
            .map(|row| Span {
                slice: Slice::Away,
                from: row.from_s,
                to: row.until_s,
            })
            .collect(),
    };
    let timeline = Timeline {
        x: lines.x.clone(),
        end,
        rounds: run.tables.rounds.iter().map(round).collect(),
        tracks: (0..clients.len()).filter(chosen).map(track).collect(),
    };
    let mut figure = figure("online", "who was online when", Panel::Lines(lines));
    figure.panels.push(Panel::Timeline(timeline));
    if clients.len() < run.tables.clients.len() {
        let (shown, all) = (clients.len(), run.tables.clients.len());
        figure
            .notes
            .push(format!("Of {shown} of {all} clients, evenly chosen."));
    }
    if shown < clients.len() {
        figure
            .notes
            .push(format!("{shown} of {} clients have a row.", clients.len()));
    }
    Some(figure)
}

/// How many of `n` clients were online from each instant on at which that changed.
fn counts(run: &RunDir, n: usize, end: f64) -> Vec<(f64, f64)> {
    let away = run.tables.absences.iter().filter(|row| row.from_s < row.until_s);
    let mut changes: Vec<(f64, i64)> = away
        .flat_map(|row| [(row.from_s, -1), (row.until_s, 1)])
        .filter(|(at, _)| *at < end)
        .collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut online, mut points) = (n as i64, vec![(0.0, n as f64)]);
    for group in changes.chunk_by(|a, b| a.0 == b.0) {
        online += group.iter().map(|(_, change)| change).sum::<i64>();
        points.push((group[0].0, online as f64));
    }
    points.push((end, online as f64));
    if points[1].0 == 0.0 {
        points.remove(0);
    }
    if points.len() <= STEPS {
        return points;
    }
    let at = |i: usize| {
        let time = end * i as f64 / STEPS as f64;
        let known = points.partition_point(|point| point.0 <= time);
        (time, points[known.saturating_sub(1)].1)
    };
    (0..=STEPS).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::{AbsenceRow, RunResult, RunWriter, Tables};
    use std::collections::BTreeMap;

    fn drawn(name: &str, absences: Vec<AbsenceRow>, virtual_s: f64) -> Option<Figure> {
        let dir = std::env::temp_dir().join(format!("folkmoot-online-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let result = RunResult {
            tables: Tables {
                absences,
                ..Tables::default()
            },
            summary: BTreeMap::from([("virtual_s".to_owned(), virtual_s)]),
            ..RunResult::default()
        };
        RunWriter::create(&dir, "s", Default::default())
            .unwrap()
            .finish(&result)
            .unwrap();
        let figure = online(&RunDir::open(&dir).unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
        figure
    }

    fn row(client: u32, from_s: f64, until_s: f64) -> AbsenceRow {
        AbsenceRow {
            client,
            from_s,
            until_s,
        }
    }

    #[test]
    fn the_curve_counts_who_is_not_away() {
        let rows = vec![row(0, 0.0, 2.0), row(0, 5.0, 9.0), row(1, 2.0, 6.0), row(2, 0.0, 0.0)];
        let figure = drawn("few", rows, 9.0).unwrap();
        let [Panel::Lines(lines), Panel::Timeline(timeline)] = &figure.panels[..] else {
            panic!()
        };
        let expected = [(0.0, 2.0), (2.0, 2.0), (5.0, 1.0), (6.0, 2.0), (9.0, 2.0)];
        assert_eq!(lines.series[0].points, expected);
        let spans: Vec<usize> = timeline.tracks.iter().map(|track| track.spans.len()).collect();
        assert_eq!(spans, [2, 1, 0]);
    }

    #[test]
    fn many_steps_become_some_and_an_ideal_world_has_no_picture() {
        let many =
            (0..200).flat_map(|c| (0..50).map(move |i| row(c, f64::from(c + 7 * i), f64::from(c + 7 * i) + 0.5)));
        let figure = drawn("many", many.collect(), 600.0).unwrap();
        let [Panel::Lines(lines), Panel::Timeline(timeline)] = &figure.panels[..] else {
            panic!()
        };
        assert_eq!((lines.series[0].points.len(), timeline.tracks.len()), (STEPS + 1, MOST));
        assert_eq!(
            figure.notes.last().map(String::as_str),
            Some("24 of 200 clients have a row.")
        );
        assert!(drawn("ideal", vec![row(0, 0.0, 1e-9)], 1e-9).is_none());
        assert!(drawn("none", Vec::new(), 9.0).is_none());
    }
}
