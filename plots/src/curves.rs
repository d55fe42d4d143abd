//! The curves of a sweep: what its arms are worth by round, by virtual time and by bytes, and what
//! it took them to reach a target.

use crate::interval::bounded;
use crate::names::{Unit, Units, file_part, point, short};
use crate::scene::MAX_CURVES;
use folkmoot_metrics::estimate::{Estimate, FEW};
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use folkmoot_metrics::key::base;
use folkmoot_metrics::term::small;
use folkmoot_metrics::{Curve, CurvePoint, Spread, Target, has_durations, target};
use std::collections::{BTreeMap, BTreeSet};

/// An arm: its name, and the curves of its runs.
pub(crate) struct Arm<'a> {
    pub(crate) label: String,
    pub(crate) runs: Vec<Vec<Curve>>,
    /// The seeds of these runs.
    pub(crate) seeds: Vec<u64>,
    /// What stands behind its number of a metric: how it differs from a baseline, or that it is one.
    pub(crate) remarks: BTreeMap<String, (String, bool)>,
    pub(crate) summaries: Vec<&'a BTreeMap<String, f64>>,
}

/// The targets that the summaries of a sweep speak of.
pub(crate) fn targets<'a>(summaries: impl Iterator<Item = &'a BTreeMap<String, f64>>) -> Vec<(&'a str, f64)> {
    let names: BTreeSet<&str> = summaries
        .flat_map(|summary| summary.keys())
        .map(String::as_str)
        .collect();
    let of = |name| point(name).filter(|point| point.metric == target::REACHED);
    names
        .into_iter()
        .filter_map(of)
        .map(|point| (point.parameter, point.at))
        .collect()
}

/// Whether a number of a summary is one of a target's, which have figures and a table of their own.
pub(crate) fn is_of_target(name: &str) -> bool {
    [target::REACHED, target::ROUNDS, target::TIME, target::BYTES].contains(&base(name))
}

/// A figure for each score of which there are curves among those asked for, then one for each
/// target.
pub(crate) fn figures(arms: &[Arm<'_>], scores: &[&str], units: Units<'_>) -> Vec<Figure> {
    let targets = targets(arms.iter().flat_map(|arm| arm.summaries.iter().copied()));
    let curves = (arms.len() <= MAX_CURVES).then(|| {
        let mut wanted: Vec<&str> = targets.iter().map(|(score, _)| *score).collect();
        wanted.extend(scores);
        let mut seen = BTreeSet::new();
        wanted.retain(|score| seen.insert(*score));
        wanted
            .into_iter()
            .filter_map(|score| of_score(arms, score, &targets, units))
    });
    let of_targets = targets.iter().map(|target| of_target(arms, *target, units));
    curves.into_iter().flatten().chain(of_targets).collect()
}

/// What a score is drawn over.
const X_NAMES: [&str; 3] = ["round", "virtual time", "bytes"];
/// More bands than these hide each other: their arms have the interval at the end alone.
const MOST_BANDS: usize = 2;

/// A score by round, by virtual time and by bytes.
fn of_score(arms: &[Arm<'_>], score: &str, targets: &[(&str, f64)], units: Units<'_>) -> Option<Figure> {
    let runs: Vec<Vec<&Curve>> = arms
        .iter()
        .map(|arm| {
            arm.runs
                .iter()
                .filter_map(|run| run.iter().find(|curve| curve.name() == score))
                .collect()
        })
        .collect();
    let seeds: Vec<Vec<u64>> = (arms.iter())
        .map(|arm| {
            let runs = arm.runs.iter().zip(&arm.seeds);
            let scored = runs.filter(|(run, _)| run.iter().any(|curve| curve.name() == score));
            scored.map(|(_, seed)| *seed).collect()
        })
        .collect();
    let points = || runs.iter().flatten().flat_map(|curve| &curve.points);
    let has_path = runs.iter().flatten().any(|curve| curve.points.len() > 1);
    let has_time = points().any(|point| has_durations(point.virtual_s));
    type X = (Axis, fn(&CurvePoint) -> f64, bool);
    let xs: [X; 3] = [
        (Axis::rounds(), |point| f64::from(point.round) + 1.0, true),
        (
            Axis::amount("Virtual time", Unit::Seconds),
            |point| point.virtual_s,
            has_time,
        ),
        (
            Axis::amount("Bytes on the wire", Unit::Bytes),
            |point| point.bytes as f64,
            true,
        ),
    ];
    // What grows with rounds alike in every run says nothing that rounds do not.
    let follows_rounds = |place: fn(&CurvePoint) -> f64| {
        let mut factors = points().map(|point| place(point) / (f64::from(point.round) + 1.0));
        let first = factors.next();
        factors.all(|factor| first.is_some_and(|first| (factor - first).abs() <= 1e-6 * first.abs()))
    };
    let (label, unit) = units.words(score);
    let goal = targets.iter().find(|(of, _)| *of == score);
    let is_worth = |(nth, (_, place, _)): &(usize, X)| *nth == 0 || !follows_rounds(*place);
    type Numbered = Vec<(usize, X)>;
    let (xs, dropped): (Numbered, Numbered) = xs
        .into_iter()
        .enumerate()
        .filter(|(_, (.., is_there))| *is_there)
        .partition(is_worth);
    let dropped: Vec<&str> = dropped.iter().map(|(nth, _)| X_NAMES[*nth]).collect();
    let by: Vec<&str> = xs.iter().map(|(nth, _)| X_NAMES[*nth]).collect();
    let by = match by.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => by.concat(),
    };
    let panels = xs.into_iter().map(|(_, (x, place, _))| {
        let series = arms.iter().zip(runs.iter().zip(&seeds)).enumerate();
        let series =
            series.flat_map(|(index, (arm, runs))| series_of(&arm.label, index, runs, place, units.range(score)));
        let mut series: Vec<Series> = series.collect();
        if arms.len() > MOST_BANDS {
            series
                .iter_mut()
                .for_each(|series| series.band.drain(..series.band.len().saturating_sub(1)).for_each(drop));
        }
        Panel::Lines(Lines {
            x: Axis { log_beyond: None, ..x },
            y: Axis {
                log_beyond: None,
                better: units.arrow(score),
                goal: goal.map(|(_, at)| (*at, format!("target {}", short(*at)))),
                ..Axis::new(label.clone(), unit)
            },
            series,
        })
    });
    let ideal = (!has_time).then(|| "An ideal world: messages and work take no time.".to_owned());
    let dropped =
        (!dropped.is_empty()).then(|| format!("Proportional to rounds, and not drawn: {}.", dropped.join(", ")));
    has_path.then(|| Figure {
        name: format!("curves-{}", file_part(score)),
        title: format!("{label} by {by}"),
        notes: ideal.into_iter().chain(dropped).collect(),
        panels: panels.collect(),
    })
}

/// The mean over runs at each round that all of them have scored, with its interval; of few runs
/// each as a thin line instead.
fn series_of(
    label: &str,
    index: usize,
    (runs, seeds): (&Vec<&Curve>, &Vec<u64>),
    place: fn(&CurvePoint) -> f64,
    range: (f64, f64),
) -> Vec<Series> {
    let mut by_round: BTreeMap<u32, Vec<&CurvePoint>> = BTreeMap::new();
    for point in runs.iter().flat_map(|curve| &curve.points) {
        by_round.entry(point.round).or_default().push(point);
    }
    by_round.retain(|_, points| points.len() == runs.len());
    let mut mean = Series::new(label, Role::Data(index), Vec::new());
    for points in by_round.values() {
        let of =
            |value: fn(&CurvePoint) -> f64| Spread::of(&points.iter().map(|point| value(point)).collect::<Vec<_>>());
        let (x, y) = (of(place).mean, of(|point| point.value));
        mean.points.push((x, y.mean));
        if runs.len() >= FEW
            && let Some((lo, hi)) = bounded(y.interval_95(), range)
        {
            mean.band.push((x, lo, hi));
        }
    }
    let thin = |(at, curve): (usize, &&Curve)| Series {
        path: Path::Thin,
        seeds: seeds.get(at).copied().into_iter().collect(),
        ..Series::new(
            "",
            Role::Data(index),
            curve.points.iter().map(|point| (place(point), point.value)).collect(),
        )
    };
    if mean.points.is_empty() {
        return Vec::new(); // Nor has it a place in the legend.
    }
    let is_few = (2..FEW).contains(&runs.len());
    let each = runs.iter().enumerate().filter(|_| is_few).map(thin);
    each.chain([mean]).collect()
}

/// The value of the row that others are compared with, and its name.
pub(crate) fn baseline_of(rows: &[Row]) -> Option<(f64, String)> {
    let row = rows.iter().find(|row| row.is_baseline)?;
    Some((row.bars.first()?.value?, row.label.clone()))
}

/// What it took each arm to reach a target: rounds, virtual time and bytes, in how many runs.
fn of_target(arms: &[Arm<'_>], (score, at): (&str, f64), units: Units<'_>) -> Figure {
    let named = Target {
        score: score.to_owned(),
        value: at,
        at_most: false,
    };
    let (words, _) = units.words(score);
    let numbers = [
        (target::ROUNDS, "Rounds", Unit::Count),
        (target::TIME, "Virtual time", Unit::Seconds),
        (target::BYTES, "Bytes on the wire", Unit::Bytes),
    ];
    let panels = numbers.into_iter().filter_map(|(number, label, unit)| {
        let name = named.name_of(number);
        let rows = arms.iter().map(|arm| {
            let each = arm.summaries.iter().map(|summary| summary.get(&name).copied());
            let dots: Vec<f64> = each.map(|value| value.unwrap_or(f64::NAN)).collect();
            let values: Vec<f64> = dots.iter().copied().filter(|value| !value.is_nan()).collect();
            let (mean, n_runs) = (Spread::of(&values), dots.len());
            let mut label = arm.label.clone();
            if values.len() < n_runs {
                label += &format!(" ({} of {n_runs} runs)", values.len());
            }
            let remark = arm.remarks.get(&name).cloned();
            let (text, is_baseline) = remark.unwrap_or_else(|| (Estimate::of_spread(&mean, unit).to_string(), false));
            let is_many = values.len() >= FEW;
            Row {
                label,
                bars: vec![Bar {
                    value: (!values.is_empty()).then_some(mean.mean),
                    interval: mean.interval_95().filter(|_| is_many).map(|(lo, hi)| (lo.max(0.0), hi)),
                    dots: if n_runs > 1 { dots } else { Vec::new() },
                    references: Vec::new(),
                }],
                remark: (!values.is_empty()).then_some(text),
                is_baseline,
                ..Row::default()
            }
        });
        let rows: Vec<Row> = rows.collect();
        let values = || rows.iter().filter_map(|row| row.bars[0].value);
        let is_ideal = number == target::TIME && !values().any(has_durations);
        (values().next().is_some() && !is_ideal).then(|| {
            Panel::Bars(Bars {
                x: Axis {
                    log_beyond: None,
                    ..Axis::amount(label, unit)
                },
                groups: vec![String::new()],
                points: true,
                is_compared: rows.iter().any(|row| row.is_baseline),
                baseline: baseline_of(&rows),
                rows,
                ..Bars::default()
            })
        })
    });
    let panels: Vec<Panel> = panels.collect();
    Figure {
        name: format!("target-{}-{}", file_part(score), file_part(&at.to_string())),
        title: String::new(),
        notes: vec![match panels.is_empty() {
            true => format!("No run has reached {} {}.", small(&words), short(at)),
            false => format!("What it took to reach {} {}.", small(&words), short(at)),
        }],
        panels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The curve of a run whose rounds cost `price` bytes.
    fn curve(values: &[f64], price: u64) -> Curve {
        let point = |(round, value): (u32, &f64)| CurvePoint {
            round,
            virtual_s: f64::from(round + 1),
            bytes: price * u64::from(round + 1),
            value: *value,
            n: 1,
        };
        Curve {
            split: "test".to_owned(),
            metric: "accuracy".to_owned(),
            points: (0..).zip(values).map(point).collect(),
        }
    }

    fn lines(figure: &Figure) -> Vec<&Lines> {
        let lines = figure.panels.iter().map(|panel| match panel {
            Panel::Lines(lines) => lines,
            other => panic!("{other:?}"),
        });
        lines.collect()
    }

    #[test]
    fn means_are_of_the_rounds_that_all_runs_have() {
        let none = BTreeMap::new();
        let arm = |runs: Vec<Vec<Curve>>| Arm {
            label: "a".to_owned(),
            summaries: vec![&none; runs.len()],
            remarks: BTreeMap::new(),
            seeds: Vec::new(),
            runs,
        };
        let few = [arm(vec![
            vec![curve(&[0.1, 0.3, 0.9], 10)],
            vec![curve(&[0.3, 0.5], 30)],
        ])];
        let units = BTreeMap::new();
        let drawn = figures(&few, &["test_accuracy", "nothing"], Units(&units, &BTreeMap::new()));
        assert_eq!(drawn.len(), 1);
        let panels = lines(&drawn[0]);
        // One thin line each, then the mean, which ends with the shorter run.
        let near = |points: &[(f64, f64)], expected: [(f64, f64); 2]| {
            points.len() == 2
                && points
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-12)
        };
        let mean = |panel: &Lines| panel.series[2].points.clone();
        assert_eq!(
            (panels.len(), panels[0].series.len(), panels[0].series[0].path),
            (2, 3, Path::Thin),
            "virtual time grows as rounds do"
        );
        assert!(
            near(&mean(panels[0]), [(1.0, 0.2), (2.0, 0.4)]),
            "{:?}",
            mean(panels[0])
        );
        assert!(
            near(&mean(panels[1]), [(20.0, 0.2), (40.0, 0.4)]),
            "{:?}",
            mean(panels[1])
        );
        assert!(panels[0].series[2].band.is_empty());
        let many = [arm((0..5)
            .map(|i| vec![curve(&[0.1, 0.2 + f64::from(i)], 1)])
            .collect())];
        let drawn = figures(&many, &["test_accuracy"], Units(&units, &BTreeMap::new()));
        assert_eq!(
            (
                lines(&drawn[0])[0].series.len(),
                lines(&drawn[0])[0].series[0].band.len()
            ),
            (1, 2)
        );
    }

    #[test]
    fn a_target_counts_the_runs_that_reach_it() {
        let summary = |rounds: Option<f64>| {
            let mut summary = BTreeMap::from([(
                "target_reached[test_accuracy=0.6]".to_owned(),
                rounds.map_or(0.0, |_| 1.0),
            )]);
            summary.extend(rounds.map(|rounds| ("rounds_to_target[test_accuracy=0.6]".to_owned(), rounds)));
            summary
        };
        let (first, second) = (summary(Some(4.0)), summary(None));
        let arms = [Arm {
            label: "a".to_owned(),
            runs: Vec::new(),
            seeds: Vec::new(),
            remarks: BTreeMap::new(),
            summaries: vec![&first, &second],
        }];
        assert_eq!(targets(arms[0].summaries.iter().copied()), [("test_accuracy", 0.6)]);
        let units = BTreeMap::new();
        let drawn = figures(&arms, &[], Units(&units, &BTreeMap::new()));
        let [Figure { name, panels, .. }] = &drawn[..] else {
            panic!("{drawn:?}")
        };
        let [Panel::Bars(bars)] = &panels[..] else {
            panic!("{panels:?}")
        };
        assert_eq!(name, "target-test-accuracy-0-6");
        assert_eq!(
            (bars.rows[0].label.as_str(), bars.rows[0].bars[0].value),
            ("a (1 of 2 runs)", Some(4.0))
        );
    }
}
