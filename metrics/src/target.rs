//! Targets: a score that is to be reached, and what that took.

use crate::curves::{Curve, CurvePoint};
use crate::key::{MetricKey, base};
use crate::sheet::Sheet;
use std::collections::BTreeMap;

/// Whether the target was reached, 1 or 0.
pub const REACHED: &str = "target_reached";
/// Finished rounds until it was.
pub const ROUNDS: &str = "rounds_to_target";
/// Virtual seconds until it was.
pub const TIME: &str = "virtual_s_to_target";
/// Bytes on the wire until it was, headers and retries included.
pub const BYTES: &str = "bytes_to_target";

/// The numbers whose sum a run had come to when it ended, where `metric` is what a target took;
/// none of any other metric.
pub fn totals(metric: &str) -> &'static [&'static str] {
    match base(metric) {
        TIME => &["virtual_s"],
        ROUNDS => &["rounds"],
        BYTES => &["payload_bytes", "header_bytes"],
        _ => &[],
    }
}

/// The least total of the runs that have a target and did not reach it, by their summaries.
///
/// Compared over the runs that arrive, an arm is favoured by leaving out its worst ones. Cut off at
/// this horizon, what a target took is known of every run (restricted mean survival time; Royston
/// and Parmar 2013).
pub fn horizon<'a>(metric: &str, runs: impl Iterator<Item = &'a BTreeMap<String, f64>>) -> Option<f64> {
    let missed = runs.filter(|run| has_target(metric, run) && !run.contains_key(metric));
    let total = |run: &BTreeMap<String, f64>| totals(metric).iter().map(|total| run.get(*total)).sum::<Option<f64>>();
    missed.filter_map(total).min_by(f64::total_cmp)
}

/// What a target took a run, cut off at the horizon if there is one.
pub fn restricted(metric: &str, horizon: Option<f64>, run: &BTreeMap<String, f64>) -> Option<f64> {
    let own = run.get(metric).copied();
    match horizon {
        Some(horizon) if has_target(metric, run) => Some(own.map_or(horizon, |own| own.min(horizon))),
        _ => own,
    }
}

fn has_target(metric: &str, run: &BTreeMap<String, f64>) -> bool {
    Target::of_name(metric, base(metric)).is_some_and(|target| run.contains_key(&target.name_of(REACHED)))
}

/// A score that is to be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What `summary.json` calls the score: `test_accuracy`.
    pub score: String,
    pub value: f64,
    /// It is to be at most that, as a loss; otherwise at least.
    pub at_most: bool,
}

impl Target {
    /// Whether a score of this value is as good as the target.
    pub fn is_met_by(&self, value: f64) -> bool {
        match self.at_most {
            true => value <= self.value,
            false => value >= self.value,
        }
    }

    /// The score's values over a run, if it was ever scored so.
    fn curve<'a>(&self, curves: &'a [Curve]) -> Option<&'a Curve> {
        curves.iter().find(|curve| curve.name() == self.score)
    }

    /// Where a run was first as good, by its curves.
    pub fn reached<'a>(&self, curves: &'a [Curve]) -> Option<&'a CurvePoint> {
        let points = &self.curve(curves)?.points;
        points.iter().find(|point| self.is_met_by(point.value))
    }

    /// The target that one of these numbers is of, by its name: whether it is to be at most that,
    /// the name does not say.
    pub fn of_name(name: &str, number: &str) -> Option<Target> {
        let key = MetricKey::parse(name);
        let ((score, _), value) = key.at.filter(|_| base(name) == number).zip(key.place())?;
        Some(Target {
            score: score.to_owned(),
            value,
            at_most: false,
        })
    }

    /// The name of one of the four numbers for this target: `rounds_to_target[test_accuracy=0.6]`.
    pub fn name_of(&self, number: &str) -> String {
        MetricKey::of(number)
            .at(&self.score, &self.value.to_string())
            .to_string()
    }

    /// Writes down what the target took; where it was not reached, that alone; nothing where there
    /// is no such score, as in a dry run.
    pub fn conclude(&self, curves: &[Curve], sheet: &mut Sheet) {
        if self.curve(curves).is_none() {
            // Where that part of the data is not scored at all, nothing was to be learned.
            if curves
                .iter()
                .any(|curve| self.score.starts_with(&MetricKey::of("").on(&curve.split).to_string()))
            {
                sheet.warn(format!("targets: the run has no score called {}", self.score));
            }
            return;
        }
        let at = (self.score.as_str(), self.value);
        let reached = self.reached(curves);
        sheet.point(REACHED, at, f64::from(u8::from(reached.is_some())));
        if let Some(point) = reached {
            sheet.point(ROUNDS, at, f64::from(point.round) + 1.0);
            sheet.point(TIME, at, point.virtual_s);
            sheet.point(BYTES, at, point.bytes as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(split: &str, values: &[f64]) -> Curve {
        let point = |(round, value): (u32, &f64)| CurvePoint {
            round: 2 * round + 1,
            virtual_s: f64::from(round) / 4.0,
            bytes: 100 * u64::from(round),
            value: *value,
            n: 1,
        };
        Curve {
            split: split.to_owned(),
            metric: "accuracy".to_owned(),
            points: (0..).zip(values).map(point).collect(),
        }
    }

    #[test]
    fn the_first_score_that_is_as_good_counts() {
        let curves = [curve("all", &[0.9]), curve("test", &[0.1, f64::NAN, 0.6, 0.5, 0.7])];
        let target = |value, at_most| Target {
            score: "test_accuracy".to_owned(),
            value,
            at_most,
        };
        let round = |target: Target| target.reached(&curves).map(|point| point.round);
        assert_eq!(
            [0.6, 0.65, 0.8].map(|value| round(target(value, false))),
            [Some(5), Some(9), None]
        );
        assert_eq!([0.2, 0.05].map(|value| round(target(value, true))), [Some(1), None]);
        let elsewhere = Target {
            score: "accuracy".to_owned(),
            ..target(0.9, false)
        };
        assert_eq!(round(elsewhere), Some(1));

        let mut sheet = Sheet::new();
        target(0.65, false).conclude(&curves, &mut sheet);
        target(0.8, false).conclude(&curves, &mut sheet);
        target(0.8, false).conclude(&[], &mut sheet);
        assert!(sheet.take_warnings().is_empty());
        let other = Curve {
            metric: "loss".to_owned(),
            ..curve("test", &[0.1])
        };
        target(0.8, false).conclude(&curves[..1], &mut sheet);
        assert!(sheet.take_warnings().is_empty());
        target(0.8, false).conclude(&[other], &mut sheet);
        assert_eq!(
            sheet.take_warnings(),
            ["targets: the run has no score called test_accuracy"]
        );
        let numbers = [
            ("target_reached[test_accuracy=0.65]", 1.0),
            ("rounds_to_target[test_accuracy=0.65]", 10.0),
            ("virtual_s_to_target[test_accuracy=0.65]", 1.0),
            ("bytes_to_target[test_accuracy=0.65]", 400.0),
            ("target_reached[test_accuracy=0.8]", 0.0),
        ];
        for (name, _) in numbers {
            let named = Target::of_name(name, base(name)).unwrap();
            assert_eq!(named.name_of(base(name)), name);
        }
        assert_eq!(Target::of_name("rounds_to_target[test_accuracy=x]", ROUNDS), None);
        assert_eq!(
            sheet.take_summary(),
            numbers.map(|(name, value)| (name.to_owned(), value))
        );
    }
}
