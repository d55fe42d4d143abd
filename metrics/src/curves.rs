//! What was reached when, and at what price: every score of a run beside the time and the bytes
//! spent until then.
//!
//! Promises: one sum of bytes for tables, exports and figures; integers, so that it is exact; the
//! order of `scores.csv`. Leaves out: means over seeds, which are the business of whoever has
//! several runs.

use crate::key::score_name;
use crate::records::{MessageRow, ScoreRow};
use crate::run_dir::{ReadError, RunDir, read_scores, read_table};
use std::collections::BTreeMap;
use std::path::Path;

/// One value of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The round that was scored.
    pub round: u32,
    /// Virtual seconds since the start.
    pub virtual_s: f64,
    /// Bytes on the wire in that round and all before it: payload, headers and retries of every
    /// message in either direction.
    pub bytes: u64,
    pub value: f64,
    /// How many samples it is over.
    pub n: u64,
}

/// One metric on one part of the data, as often as it was scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The part of the data, or `all`.
    pub split: String,
    pub metric: String,
    /// Its values in the order of `scores.csv`.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// What `summary.json` calls the last of its values: `test_accuracy`.
    pub fn name(&self) -> String {
        score_name(&self.split, &self.metric)
    }
}

/// Whether so much virtual time is a duration: the clock of an ideal world, in which nothing takes
/// time, counts hops in nanoseconds.
pub fn has_durations(virtual_s: f64) -> bool {
    virtual_s >= 1e-3
}

/// The curves of a run, in the order in which its scores first name them.
pub fn curves(run: &RunDir) -> Vec<Curve> {
    curves_of(&run.tables.scores, &run.tables.messages)
}

/// Those of a finished run in `dir`, of which only the two tables are read.
///
/// # Errors
///
/// When they are missing or damaged.
pub fn read_curves(dir: &Path) -> Result<Vec<Curve>, ReadError> {
    Ok(curves_of(&read_scores(dir, false)?.0, &read_table(dir, false)?))
}

/// The same of a run's tables.
pub fn curves_of(scores: &[ScoreRow], messages: &[MessageRow]) -> Vec<Curve> {
    let mut spent: BTreeMap<u32, u64> = BTreeMap::new();
    for row in messages {
        let sum = spent.entry(row.round).or_default();
        // Files that somebody changed may hold anything.
        *sum = sum.saturating_add(row.payload_bytes).saturating_add(row.header_bytes);
    }
    let mut so_far = 0_u64;
    for sum in spent.values_mut() {
        so_far = so_far.saturating_add(*sum);
        *sum = so_far;
    }
    let mut curves: Vec<Curve> = Vec::new();
    let mut places = BTreeMap::new();
    for row in scores {
        let place = *places.entry((&row.split, &row.metric)).or_insert(curves.len());
        if place == curves.len() {
            curves.push(Curve {
                split: row.split.clone(),
                metric: row.metric.clone(),
                points: Vec::new(),
            });
        }
        curves[place].points.push(CurvePoint {
            round: row.round,
            virtual_s: row.virtual_s,
            bytes: spent.range(..=row.round).next_back().map_or(0, |(_, &sum)| sum),
            value: row.value,
            n: row.n,
        });
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Tables;
    use crate::testing::{TempDir, manifest, result};
    use crate::{RunResult, RunWriter};

    fn written(result: &RunResult) -> RunDir {
        let dir = TempDir::new();
        let path = dir.path().join("run");
        let writer = RunWriter::create(&path, "()", manifest()).unwrap();
        writer.finish(result).unwrap();
        RunDir::open(&path).unwrap()
    }

    fn score(round: u32, split: &str, value: f64) -> ScoreRow {
        ScoreRow {
            round,
            virtual_s: f64::from(round) / 2.0,
            split: split.into(),
            metric: "accuracy".into(),
            value,
            n: 10,
        }
    }

    /// Rounds 0 to 3 with 480 bytes each.
    fn run_with(scores: Vec<ScoreRow>) -> RunDir {
        written(&RunResult {
            tables: Tables {
                scores,
                ..result(4).tables
            },
            ..result(4)
        })
    }

    #[test]
    fn bytes_are_those_of_all_rounds_until_the_scored_one() {
        let mut run = run_with(vec![
            score(0, "test", 0.1),
            score(2, "test", 0.5),
            score(9, "test", 0.6),
        ]);
        let bytes = |run: &RunDir| {
            curves(run)[0]
                .points
                .iter()
                .map(|point| point.bytes)
                .collect::<Vec<_>>()
        };
        assert_eq!(bytes(&run), [480, 3 * 480, 4 * 480]);
        // Set-up may be counted out of order, and rounds may pass without a message.
        run.tables.messages.retain(|row| row.round != 2);
        run.tables.messages.reverse();
        assert_eq!(bytes(&run), [480, 2 * 480, 3 * 480]);
        run.tables.messages.retain(|row| row.round != 0);
        assert_eq!(bytes(&run), [0, 480, 2 * 480]);
        run.tables.messages[0].payload_bytes = u64::MAX;
        assert_eq!(bytes(&run), [0, 480, u64::MAX]);
        run.tables.messages.clear();
        assert_eq!(bytes(&run), [0, 0, 0]);
    }

    #[test]
    fn curves_stand_in_the_order_in_which_scores_name_them() {
        let run = run_with(vec![
            score(1, "test", 0.1),
            score(1, "all", 0.2),
            score(2, "all", 0.3),
            score(2, "test", 0.4),
        ]);
        let found = curves(&run);
        let names: Vec<_> = found
            .iter()
            .map(|curve| (curve.split.as_str(), curve.metric.as_str()))
            .collect();
        assert_eq!(names, [("test", "accuracy"), ("all", "accuracy")]);
        let point = |round, value| CurvePoint {
            round,
            virtual_s: f64::from(round) / 2.0,
            bytes: (u64::from(round) + 1) * 480,
            value,
            n: 10,
        };
        assert_eq!(found[0].points, [point(1, 0.1), point(2, 0.4)]);
        assert_eq!(found[1].points, [point(1, 0.2), point(2, 0.3)]);
    }

    #[test]
    fn a_run_without_scores_has_no_curves() {
        assert_eq!(curves(&run_with(Vec::new())), []);
    }
}
