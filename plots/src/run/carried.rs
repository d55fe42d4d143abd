//! What links carried over virtual time, by direction.

use super::shared::{bytes, figure};
use crate::names::Unit;
use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Path, Role, Series};
use folkmoot_metrics::{Direction, RunDir, has_durations};

/// How many steps a curve has at most: among more, the means of so many spans of equal length are
/// drawn.
const STEPS: usize = 300;

/// A span of virtual time, and the bytes that were sent for the rounds that it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    from: f64,
    to: f64,
    bytes: f64,
}

/// Bytes per second of virtual time, a curve for each direction that carried any.
///
/// Tables say what was sent for a round, and when it ended: the bytes of a round are spread evenly
/// over the time from the end of the one before to its own. What was sent for rounds that never
/// ended lies between the last end and that of the run.
pub(super) fn carried(run: &RunDir) -> Option<Figure> {
    let end = run
        .summary
        .get("virtual_s")
        .copied()
        .filter(|end| has_durations(*end))?;
    let ways = [Direction::Uplink, Direction::Downlink, Direction::Peer];
    let mut series = Vec::new();
    for (index, way) in ways.into_iter().enumerate() {
        let flows = flows(run, way, end);
        if flows.iter().any(|flow| flow.bytes > 0.0) {
            series.push(Series {
                path: Path::Stairs,
                ..Series::new(way.as_str(), Role::Data(index), rates(&flows, end))
            });
        }
    }
    if series.is_empty() {
        return None;
    }
    let lines = Lines {
        x: Axis {
            log_beyond: None,
            ..Axis::amount("Virtual time", Unit::Seconds)
        },
        y: Axis {
            log_beyond: None,
            ..Axis::amount("Sent in a second", Unit::Bytes)
        },
        series,
    };
    let mut figure = figure("carried", "what links carried", Panel::Lines(lines));
    figure.notes.push(
        "All clients together, with headers. What was sent for a round, evenly over the time from the end of the one before to its own."
            .to_owned(),
    );
    Some(figure)
}

/// The flows of a direction, one after the other from 0 to the end of the run; rounds that end at
/// one instant are one.
fn flows(run: &RunDir, way: Direction, end: f64) -> Vec<Flow> {
    let mut sums = vec![0.0; run.tables.rounds.len() + 1];
    for row in run.tables.messages.iter().filter(|row| row.direction == way) {
        // What belongs to a round without an end comes last.
        let at = run.tables.rounds.partition_point(|round| round.round < row.round);
        sums[at] += bytes(row);
    }
    let ends = run.tables.rounds.iter().map(|round| round.virtual_s).chain([end]);
    let mut flows: Vec<Flow> = Vec::new();
    let mut from = 0.0;
    // What was sent before the first instant that is not 0 joins what comes then.
    let mut before = 0.0;
    for (to, bytes) in ends.zip(sums) {
        match (to > from, flows.last_mut()) {
            (true, _) => {
                flows.push(Flow {
                    from,
                    to,
                    bytes: bytes + std::mem::take(&mut before),
                });
                from = to;
            }
            (false, Some(last)) => last.bytes += bytes,
            (false, None) => before += bytes,
        }
    }
    flows
}

/// Bytes per second from each instant on at which that changes, or over spans of equal length where
/// those are many.
fn rates(flows: &[Flow], end: f64) -> Vec<(f64, f64)> {
    let rate = |flow: &Flow| flow.bytes / (flow.to - flow.from);
    let mut points: Vec<(f64, f64)> = match flows.len() <= STEPS {
        true => flows.iter().map(|flow| (flow.from, rate(flow))).collect(),
        false => {
            let mut sums = vec![0.0; STEPS];
            let length = end / STEPS as f64;
            for flow in flows {
                let first = ((flow.from / length) as usize).min(STEPS - 1);
                let last = ((flow.to / length) as usize).min(STEPS - 1);
                for (step, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
                    let from = flow.from.max(step as f64 * length);
                    let to = flow.to.min((step + 1) as f64 * length);
                    *sum += rate(flow) * (to - from).max(0.0);
                }
            }
            let at = |(step, sum): (usize, f64)| (step as f64 * length, sum / length);
            sums.into_iter().enumerate().map(at).collect()
        }
    };
    let last = points.last().map_or(0.0, |point| point.1);
    points.push((end, last));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::{MessageRow, RoundRow, RunResult, RunWriter, Tables};
    use std::collections::BTreeMap;

    fn drawn(name: &str, ends: &[f64], sent: &[(u32, Direction, u64)], virtual_s: f64) -> Option<Figure> {
        let dir = std::env::temp_dir().join(format!("folkmoot-carried-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let messages = sent.iter().map(|(round, direction, payload_bytes)| MessageRow {
            round: *round,
            direction: *direction,
            phase: "rounds".to_owned(),
            kind: "model".to_owned(),
            sent: 1,
            delivered: 1,
            dropped: 0,
            in_flight: 0,
            retried: 0,
            payload_bytes: *payload_bytes,
            header_bytes: 0,
            expected_messages: None,
            materialised: true,
        });
        let rounds = (0..).zip(ends).map(|(round, end)| RoundRow {
            round,
            virtual_s: *end,
            cohort: 1,
            completed: 1,
            dropped: 0,
            late: 0,
            staleness_mean: 0.0,
        });
        let result = RunResult {
            tables: Tables {
                messages: messages.collect(),
                rounds: rounds.collect(),
                ..Tables::default()
            },
            summary: BTreeMap::from([("virtual_s".to_owned(), virtual_s)]),
            ..RunResult::default()
        };
        RunWriter::create(&dir, "s", Default::default())
            .unwrap()
            .finish(&result)
            .unwrap();
        let figure = carried(&RunDir::open(&dir).unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
        figure
    }

    fn curves(figure: &Figure) -> Vec<(String, Vec<(f64, f64)>)> {
        let Panel::Lines(lines) = &figure.panels[0] else {
            panic!("lines");
        };
        let of = |series: &Series| (series.label.clone(), series.points.clone());
        lines.series.iter().map(of).collect()
    }

    #[test]
    fn rates_are_bytes_over_the_time_of_their_round() {
        let (up, down) = (Direction::Uplink, Direction::Downlink);
        // Rounds 1 and 2 end at one instant, and round 3 never does.
        let sent = [(0, down, 40), (0, up, 8), (1, up, 6), (2, up, 2), (3, up, 5)];
        let figure = drawn("few", &[4.0, 6.0, 6.0], &sent, 16.0).unwrap();
        let expected = [
            ("uplink", vec![(0.0, 2.0), (4.0, 4.0), (6.0, 0.5), (16.0, 0.5)]),
            ("downlink", vec![(0.0, 10.0), (4.0, 0.0), (6.0, 0.0), (16.0, 0.0)]),
        ];
        assert_eq!(
            curves(&figure),
            expected.map(|(name, points)| (name.to_owned(), points))
        );
    }

    #[test]
    fn many_rounds_are_drawn_as_spans_of_equal_length_with_all_their_bytes() {
        let ends: Vec<f64> = (1..=1_000).map(|i| 0.5 * f64::from(i)).collect();
        let sent: Vec<(u32, Direction, u64)> = (0..1_000)
            .map(|round| (round, Direction::Peer, u64::from(round)))
            .collect();
        let figure = drawn("many", &ends, &sent, 500.0).unwrap();
        let (_, points) = &curves(&figure)[0];
        assert_eq!(points.len(), STEPS + 1);
        let drawn: f64 = points.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0)).sum();
        assert!((drawn - 499_500.0).abs() < 1e-6, "{drawn}");
    }

    #[test]
    fn an_ideal_world_has_no_rates() {
        assert!(drawn("ideal", &[3e-9], &[(0, Direction::Uplink, 8)], 3e-9).is_none());
        assert!(drawn("silent", &[3.0], &[], 3.0).is_none());
    }
}
