//! Metrics that one run has several values of: `metric[parameter=value]` in its summary is a point
//! of a curve over the parameter.

use crate::interval::bounded;
use crate::names::{Point, Units, file_part, point};
use crate::scene::MAX_CURVES;
use folkmoot_metrics::estimate::FEW;
use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Path, Role, Series};
use folkmoot_metrics::key::STD;
use folkmoot_metrics::{MetricKey, Spread};
use std::collections::{BTreeMap, BTreeSet};

/// The reference of a metric that is its value before training: the place of epoch 0.
const BEFORE: &str = "untrained";

/// Whether `name` is the standard deviation of another metric: drawn as that one's band.
pub(crate) fn is_std(name: &str) -> bool {
    MetricKey::parse(name).suffix == Some(STD)
}

/// One curve's summaries: a label, and the summaries of the runs that it is the mean of.
pub(crate) struct Arm<'a> {
    pub(crate) label: String,
    pub(crate) runs: Vec<&'a BTreeMap<String, f64>>,
}

/// A figure per parameter, with a panel per metric and a curve per arm; none where the arms are too
/// many.
pub(crate) fn figures(arms: &[Arm<'_>], units: Units<'_>) -> Vec<Figure> {
    let names: BTreeSet<&str> = arms
        .iter()
        .flat_map(|arm| arm.runs.iter().flat_map(|summary| summary.keys()))
        .map(String::as_str)
        .collect();
    let points: Vec<Point<'_>> = names
        .into_iter()
        .filter(|name| !is_std(name))
        .filter_map(point)
        .collect();
    let parameters: BTreeSet<&str> = points.iter().map(|point| point.parameter).collect();
    let of = |parameter: &&str| {
        let metrics: BTreeSet<&str> = points
            .iter()
            .filter(|point| point.parameter == *parameter)
            .map(|point| point.metric)
            .collect();
        let panels = metrics
            .into_iter()
            .filter_map(|metric| panel(arms, units, &points, (parameter, metric)));
        let panels: Vec<Panel> = panels.collect();
        let label = units.words(parameter).0.to_lowercase();
        let has_bands = |panel: &Panel| matches!(panel, Panel::Lines(lines) if lines.series.iter().any(|series| !series.band.is_empty()));
        let of_single_runs = arms.iter().all(|arm| arm.runs.len() == 1);
        let note = "Band: a standard deviation on either side, over repetitions within the run.".to_owned();
        let notes: Vec<String> = (of_single_runs && panels.iter().any(has_bands))
            .then_some(note)
            .into_iter()
            .collect();
        (!panels.is_empty()).then(|| Figure {
            name: format!("by-{}", file_part(parameter)),
            title: format!("by {label}"),
            notes,
            panels,
        })
    };
    if arms.len() > MAX_CURVES {
        return Vec::new();
    }
    parameters.iter().filter_map(of).collect()
}

fn panel(arms: &[Arm<'_>], units: Units<'_>, points: &[Point<'_>], (parameter, metric): (&str, &str)) -> Option<Panel> {
    let mut places: Vec<f64> = points
        .iter()
        .filter(|point| point.parameter == parameter && point.metric == metric)
        .map(|point| point.at)
        .collect();
    let before = (parameter == "epoch").then(|| MetricKey::of(metric).against(BEFORE).to_string());
    let has_before = |summary: &&BTreeMap<String, f64>| before.as_ref().is_some_and(|name| summary.contains_key(name));
    if !places.is_empty() && arms.iter().flat_map(|arm| &arm.runs).any(has_before) {
        places.push(0.0);
    }
    places.sort_by(f64::total_cmp);
    places.dedup();
    let std = MetricKey {
        suffix: Some(STD),
        ..MetricKey::of(metric)
    }
    .to_string();
    let mut series = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let mut curve = Series::new(arm.label.clone(), Role::Data(index), Vec::new());
        let thin = Series {
            path: Path::Thin,
            ..Series::new("", Role::Data(index), Vec::new())
        };
        let is_few = (2..FEW).contains(&arm.runs.len());
        let mut each = vec![thin; if is_few { arm.runs.len() } else { 0 }];
        for &at in &places {
            let find = |metric: &str, summary: &BTreeMap<String, f64>| {
                let is_before = |name: &str| at == 0.0 && before.as_deref() == Some(name);
                let is_it = |name: &str| point(name) == Some(Point { metric, parameter, at }) || is_before(name);
                summary.iter().find(|(name, _)| is_it(name)).map(|(_, value)| *value)
            };
            let values: Vec<f64> = arm.runs.iter().filter_map(|summary| find(metric, summary)).collect();
            let mean = Spread::of(&values);
            curve.points.push((at, mean.mean));
            let spread = match arm.runs.as_slice() {
                [run] => find(&std, run).map(|std| (mean.mean - std, mean.mean + std)),
                runs => mean.interval_95().filter(|_| runs.len() >= FEW),
            };
            for (each, run) in each.iter_mut().zip(&arm.runs) {
                each.points.extend(find(metric, run).map(|value| (at, value)));
            }
            if let Some((lo, hi)) = bounded(spread, units.range(metric)) {
                curve.band.push((at, lo, hi));
            }
        }
        // An arm that has no such number has no place in the legend either.
        if curve.points.iter().any(|(_, y)| y.is_finite()) {
            series.extend(each);
            series.push(curve);
        }
    }
    if let [_] = arms {
        series.iter_mut().for_each(|series| series.label.clear());
    }
    // What is the same everywhere is a number, which stands in the table.
    let mut values = series
        .iter()
        .flat_map(|series| &series.points)
        .map(|(_, y)| *y)
        .filter(|y| y.is_finite());
    let first = values.next();
    let seen = values.any(|value| Some(value) != first);
    let (label, unit) = units.words(metric);
    let (x_label, x_unit) = units.words(parameter);
    (seen && places.len() > 1).then(|| {
        Panel::Lines(Lines {
            x: Axis {
                log_beyond: Some(1.4),
                ..Axis::new(x_label, x_unit)
            },
            y: Axis {
                log_beyond: None,
                better: units.arrow(metric),
                bounds: units.bounds(metric),
                ..Axis::new(label, unit)
            },
            series,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let expected = Point {
            metric: "micro_f1",
            parameter: "train_ratio",
            at: 0.1,
        };
        assert_eq!(point("micro_f1[train_ratio=0.1]"), Some(expected));
        for name in [
            "micro_f1",
            "micro_f1[train_ratio]",
            "[a=1]",
            "x[=1]",
            "x[a=b]",
            "x[a=1",
            "x[a=inf]",
        ] {
            assert_eq!(point(name), None, "{name}");
        }
        assert!(is_std("micro_f1_std[train_ratio=0.1]") && is_std("x_std") && !is_std("std_x[a=1]"));
    }

    #[test]
    fn a_curve_over_epochs_begins_before_training() {
        let summary = |parameter: &str| {
            BTreeMap::from([
                (format!("auc[{parameter}=5]"), 0.7),
                (format!("auc[{parameter}=10]"), 0.8),
                ("auc@untrained".to_owned(), 0.5),
            ])
        };
        let curve = |parameter: &str| {
            let summary = summary(parameter);
            let arm = Arm {
                label: "arm".to_owned(),
                runs: vec![&summary],
            };
            match figures(&[arm], Units(&BTreeMap::new(), &BTreeMap::new()))
                .remove(0)
                .panels
                .remove(0)
            {
                Panel::Lines(mut lines) => lines.series.remove(0).points,
                _ => panic!("no curve"),
            }
        };
        assert_eq!(curve("epoch"), [(0.0, 0.5), (5.0, 0.7), (10.0, 0.8)]);
        assert_eq!(curve("share"), [(5.0, 0.7), (10.0, 0.8)]);
    }

    #[test]
    fn a_run_has_bands_of_its_own_and_several_have_intervals() {
        let summary = |offset: f64| {
            let at = |x: f64| {
                [
                    (format!("f1[share={x}]"), x + offset),
                    (format!("f1_std[share={x}]"), 0.05),
                ]
            };
            [0.5, 0.25].into_iter().flat_map(at).collect::<BTreeMap<String, f64>>()
        };
        let runs: Vec<_> = (0..5).map(|i| summary(0.1 * f64::from(i))).collect();
        let draw = |runs: &[&BTreeMap<String, f64>]| {
            let arm = Arm {
                label: "arm".to_owned(),
                runs: runs.to_vec(),
            };
            let mut figures = figures(&[arm], Units(&BTreeMap::new(), &BTreeMap::new()));
            assert_eq!(figures.len(), 1);
            match figures.remove(0).panels.remove(0) {
                Panel::Lines(lines) => lines.series,
                _ => panic!("no curve"),
            }
        };
        let single = &draw(&[&runs[0]])[0];
        assert_eq!(single.points, [(0.25, 0.25), (0.5, 0.5)]);
        assert_eq!(single.band, [(0.25, 0.2, 0.3), (0.5, 0.45, 0.55)]);
        // Two are drawn themselves, and their mean without an interval; of five there is one.
        let [first, second, both] = &draw(&[&runs[0], &runs[1]])[..] else {
            panic!("a line each and one for the mean");
        };
        assert_eq!((first.path, second.path, both.band.len()), (Path::Thin, Path::Thin, 0));
        assert!((both.points[0].1 - 0.3).abs() < 1e-12);
        let [five] = &draw(&runs.iter().collect::<Vec<_>>())[..] else {
            panic!("the mean alone");
        };
        let (_, low, high) = five.band[0];
        // A standard error of 0.1 sqrt(2.5 / 5), 2.776 times on both sides.
        assert!((high - low - 2.0 * 2.776 * 0.070_711).abs() < 1e-4, "{low} to {high}");
        assert!(figures(&[], Units(&BTreeMap::new(), &BTreeMap::new())).is_empty());
    }
}
