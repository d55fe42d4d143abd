//! The figures of a sweep: each summary number over the axes, as a mean with its interval over seeds.

use crate::artifacts;
use crate::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use crate::file_part;
use crate::names::{Unit, Units, heading, minus};
use crate::profile::{self, MAX_CURVES};
use folkmoot_metrics::sweep_dir::{POINTS_DIR, PointRow};
use folkmoot_metrics::{ReadError, RunDir, Spread, SweepDir};
use std::collections::{BTreeMap, BTreeSet};

/// Between a metric's name and that of a prediction for it.
const REFERENCE: char = '@';

/// As many points as there are different markers.
const MAX_POINTS: usize = 12;

/// From how many decades on a numeric axis of a sweep is logarithmic.
const X_DECADES: f64 = 1.4;
/// So is one of what was measured, beyond this: small values hide below large ones.
const Y_DECADES: f64 = 2.0;

/// All figures for which the sweep has data: the headline first, then one a metric.
pub(crate) fn figures(sweep: &SweepDir) -> Vec<Figure> {
    let Some(view) = View::new(sweep) else {
        return Vec::new();
    };
    let mut figures = Vec::new();
    let classic = ["peer_messages_per_walk", "payload_bytes"];
    let (name, headline): (&str, Vec<&str>) = if sweep.manifest.headline.is_empty() {
        ("messages-and-bytes", classic.to_vec())
    } else {
        ("headline", sweep.manifest.headline.iter().map(String::as_str).collect())
    };
    let complete = !sweep.manifest.headline.is_empty() || headline.iter().all(|metric| view.has(metric));
    let scatter = match headline[..] {
        [first, second, ..] if complete => view.scatter(first, second),
        _ => None,
    };
    let panels: Vec<Panel> = headline
        .into_iter()
        .filter(|_| complete)
        .filter_map(|metric| view.panel(metric))
        .collect();
    if !panels.is_empty() {
        figures.push(view.figure(name, "", panels));
    }
    figures.extend(scatter.map(|panel| view.figure("scatter", "", vec![panel])));
    for mut figure in profile::figures(&view.profile_arms(), view.units()) {
        let title = std::mem::take(&mut figure.title);
        let drawn = view.figure(&figure.name, &title, figure.panels);
        figure.notes.extend(drawn.notes);
        figures.push(Figure {
            notes: figure.notes,
            ..drawn
        });
    }
    for (metric, panel) in view.families() {
        figures.push(view.figure(
            &format!("sweep-{}", file_part(metric)),
            &view.units().words(metric).0,
            vec![panel],
        ));
    }
    for metric in view.metrics() {
        if let Some(panel) = view.panel(metric).filter(|_| view.varies(metric)) {
            figures.push(view.figure(
                &format!("sweep-{}", file_part(metric)),
                &view.units().words(metric).0,
                vec![panel],
            ));
        }
    }
    figures
}

/// Maps and matrices that runs left, an arm beside the other, each of its first seed; all such figures of the first run
/// where a sweep has seeds alone.
pub(crate) fn of_artifacts(sweep: &SweepDir) -> Result<Vec<Figure>, ReadError> {
    let run_of = |row: &PointRow| {
        let points = sweep.manifest.points();
        let point = points.into_iter().find(|point| point.point == row.point);
        let dir = point.map(|point| sweep.path.join(POINTS_DIR).join(sweep.manifest.point_name(&point)));
        // A sweep may have been copied without its runs.
        dir.filter(|dir| dir.is_dir()).map(|dir| RunDir::open(&dir)).transpose()
    };
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

/// What every figure of a sweep says that lacks points.
fn unfinished(sweep: &SweepDir) -> Option<String> {
    let there = sweep.unfinished()?;
    Some(format!("The sweep is not finished: {there}."))
}

/// A sweep, and which of its axes goes where.
struct View<'a> {
    sweep: &'a SweepDir,
    /// The axis along x, or down the rows of bars.
    main: usize,
    /// Whether that axis' values are numbers.
    numeric: bool,
    /// The other axes with more than one value: a curve for each combination.
    others: Vec<usize>,
}

impl<'a> View<'a> {
    /// `None` where no axis has two values: then there is nothing to compare.
    fn new(sweep: &'a SweepDir) -> Option<Self> {
        let axes = &sweep.manifest.axes;
        let varied = |axis: &usize| {
            let values: BTreeSet<&String> = sweep
                .points
                .iter()
                .filter_map(|point| point.values.get(*axis))
                .collect();
            values.len() > 1
        };
        let varied: Vec<usize> = (0..axes.len()).filter(varied).collect();
        let numeric = |axis: &usize| axes[*axis].values.iter().all(|value| number(value).is_some());
        let main = varied.iter().copied().find(numeric);
        let is_numeric = main.is_some();
        let main = main.or(varied.first().copied())?;
        let others = varied.into_iter().filter(|axis| *axis != main).collect();
        Some(View {
            sweep,
            main,
            numeric: is_numeric,
            others,
        })
    }

    fn points(&self) -> &'a [PointRow] {
        &self.sweep.points
    }

    fn units(&self) -> Units<'_> {
        Units(&self.sweep.manifest.units)
    }

    /// A curve for each combination of the axes' values, for figures over a parameter within the runs.
    fn profile_arms(&self) -> Vec<profile::Arm<'a>> {
        let mut arms: Vec<profile::Arm<'_>> = Vec::new();
        for point in self.points() {
            let axes = std::iter::once(self.main).chain(self.others.iter().copied());
            let parts: Vec<String> = axes
                .map(|axis| {
                    let value = &point.values[axis];
                    let path = self
                        .units()
                        .words(&self.sweep.manifest.axes[axis].path)
                        .0
                        .to_lowercase();
                    number(value).map_or_else(|| value.clone(), |_| format!("{path} = {}", minus(value)))
                })
                .collect();
            let label = parts.join(", ");
            match arms.iter_mut().find(|arm| arm.label == label) {
                Some(arm) => arm.runs.push(&point.summary),
                None => arms.push(profile::Arm {
                    label,
                    runs: vec![&point.summary],
                }),
            }
        }
        arms
    }

    /// The metrics that each run has several values of, over the only axis, a curve per value of the parameter.
    fn families(&self) -> Vec<(&'a str, Panel)> {
        if !self.numeric || !self.others.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<&str> = self
            .points()
            .iter()
            .flat_map(|point| point.summary.keys())
            .map(String::as_str)
            .collect();
        let mut families: BTreeMap<(&str, &str), Vec<(f64, &str)>> = BTreeMap::new();
        for name in names.into_iter().filter(|name| !profile::is_std(name)) {
            if let Some(point) = profile::point(name) {
                let members = families.entry((point.metric, point.parameter)).or_default();
                members.push((point.at, name));
            }
        }
        let drawn = families.into_iter().filter_map(|((metric, parameter), mut members)| {
            members.sort_by(|a, b| a.0.total_cmp(&b.0));
            let varies = members.iter().any(|(_, name)| self.varies(name));
            (varies && members.len() <= MAX_CURVES).then(|| (metric, self.family(metric, parameter, &members)))
        });
        drawn.collect()
    }

    fn family(&self, metric: &str, parameter: &str, members: &[(f64, &str)]) -> Panel {
        let points: Vec<&PointRow> = self.points().iter().collect();
        let at = |value: &str| number(value).unwrap_or(f64::NAN);
        let series = members.iter().enumerate().map(|(index, (value, name))| {
            let means = self.means(&points, name);
            let label = format!(
                "{} {}",
                self.units().words(parameter).0.to_lowercase(),
                minus(&value.to_string())
            );
            let curve = means.iter().map(|(x, mean)| (at(x), mean.mean)).collect();
            let band = means.iter().filter_map(|(x, mean)| {
                let (lo, hi) = mean.interval_95()?;
                Some((at(x), lo, hi))
            });
            Series {
                band: band.collect(),
                ..Series::new(label, Role::Data(index), curve)
            }
        });
        let (label, unit) = self.units().words(metric);
        Panel::Lines(Lines {
            x: self.x_axis(),
            y: Axis {
                log_beyond: Some(Y_DECADES),
                ..Axis::new(label, unit)
            },
            series: series.collect(),
        })
    }

    /// Every metric of the sweep, without predictions and points of curves, which have figures of their own.
    fn metrics(&self) -> BTreeSet<&'a str> {
        let names = self.points().iter().flat_map(|point| point.summary.keys());
        names
            .map(String::as_str)
            .filter(|name| !name.contains(REFERENCE) && !name.contains('['))
            .collect()
    }

    fn has(&self, metric: &str) -> bool {
        self.points().iter().any(|point| point.summary.contains_key(metric))
    }

    /// The names of the predictions for a metric, with their labels.
    fn references(&self, metric: &str) -> Vec<(&'a str, &'a str)> {
        let names: BTreeSet<&str> = self
            .points()
            .iter()
            .flat_map(|point| point.summary.keys())
            .map(String::as_str)
            .collect();
        let split = |name: &'a str| name.split_once(REFERENCE).map(|(of, label)| (name, of, label));
        names
            .into_iter()
            .filter_map(split)
            .filter(|(_, of, _)| *of == metric)
            .map(|(name, _, label)| (name, label))
            .collect()
    }

    /// Whether a metric or a prediction for it has two values that a figure could show.
    fn varies(&self, metric: &str) -> bool {
        let names = [metric]
            .into_iter()
            .chain(self.references(metric).into_iter().map(|(name, _)| name));
        names.into_iter().any(|name| {
            let values = self
                .points()
                .iter()
                .filter_map(|point| point.summary.get(name))
                .filter(|x| x.is_finite());
            values.map(|x| x.to_bits()).collect::<BTreeSet<u64>>().len() > 1
        })
    }

    /// The combinations of the other axes' values in the order of the points, each with its points.
    fn arms(&self) -> Vec<(Vec<&'a str>, Vec<&'a PointRow>)> {
        let mut arms: Vec<(Vec<&str>, Vec<&PointRow>)> = Vec::new();
        for point in self.points() {
            let key: Vec<&str> = self.others.iter().map(|&axis| point.values[axis].as_str()).collect();
            match arms.iter_mut().find(|(known, _)| *known == key) {
                Some((_, points)) => points.push(point),
                None => arms.push((key, vec![point])),
            }
        }
        arms
    }

    fn arm_label(&self, key: &[&str]) -> String {
        let parts = self.others.iter().zip(key).map(|(&axis, value)| match number(value) {
            Some(_) => format!(
                "{} = {}",
                self.units()
                    .words(&self.sweep.manifest.axes[axis].path)
                    .0
                    .to_lowercase(),
                minus(value)
            ),
            None => (*value).to_owned(),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The values of the main axis in their order, each with the mean of `name` over its points.
    fn means(&self, points: &[&PointRow], name: &str) -> Vec<(&'a str, Spread)> {
        let mut values: Vec<(&str, Vec<f64>)> = Vec::new();
        for value in &self.sweep.manifest.axes[self.main].values {
            let at = points.iter().filter(|point| point.values[self.main] == *value);
            // A number that is not finite has no place on an axis, nor has a mean that contains it: a gap.
            values.push((value, at.filter_map(|point| point.summary.get(name).copied()).collect()));
        }
        let mut means: Vec<_> = values
            .iter()
            .map(|(value, numbers)| (*value, Spread::of(numbers)))
            .collect();
        if self.numeric {
            means.sort_by(|a, b| number(a.0).unwrap_or(0.0).total_cmp(&number(b.0).unwrap_or(0.0)));
        }
        means
    }

    /// The panel of a metric, if there is a finite mean to show.
    fn panel(&self, metric: &str) -> Option<Panel> {
        let finite = |(_, points): &(Vec<&str>, Vec<&PointRow>)| {
            self.means(points, metric).iter().any(|(_, mean)| mean.mean.is_finite())
        };
        let seen = self.arms().iter().any(finite);
        let panel = || {
            if self.numeric {
                self.lines(metric)
            } else {
                self.bars(metric)
            }
        };
        seen.then(panel)
    }

    /// The second metric of a headline over the first, a point for each value of the only axis, which are no numbers: what one
    /// choice costs in the one it wins in the other. `None` where there are fewer than two points or too many.
    fn scatter(&self, across: &str, up: &str) -> Option<Panel> {
        if self.numeric || !self.others.is_empty() {
            return None;
        }
        let points: Vec<&PointRow> = self.points().iter().collect();
        let [xs, ys] = [across, up].map(|metric| self.means(&points, metric));
        let placed = xs
            .iter()
            .zip(&ys)
            .filter(|((_, x), (_, y))| x.mean.is_finite() && y.mean.is_finite());
        let series: Vec<Series> = placed
            .enumerate()
            .map(|(index, ((value, x), (_, y)))| Series {
                band: y.interval_95().map(|(lo, hi)| (x.mean, lo, hi)).into_iter().collect(),
                across: x.interval_95().map(|(lo, hi)| (y.mean, lo, hi)).into_iter().collect(),
                path: Path::Scattered,
                ..Series::new(*value, Role::Data(index), vec![(x.mean, y.mean)])
            })
            .collect();
        let axis = |metric: &str| {
            let (label, unit) = self.units().words(metric);
            Axis::new(label, unit)
        };
        (2..=MAX_POINTS).contains(&series.len()).then(|| {
            Panel::Lines(Lines {
                x: axis(across),
                y: axis(up),
                series,
            })
        })
    }

    fn lines(&self, metric: &str) -> Panel {
        let mut series = Vec::new();
        let arms = self.arms();
        let at = |value: &str| number(value).unwrap_or(f64::NAN);
        for (index, (key, points)) in arms.iter().enumerate() {
            let means = self.means(points, metric);
            let label = if arms.len() == 1 {
                "simulated".to_owned()
            } else {
                self.arm_label(key)
            };
            let curve = means.iter().map(|(value, mean)| (at(value), mean.mean)).collect();
            let band = means.iter().map(|(value, mean)| {
                let (lo, hi) = mean.interval_95().unwrap_or((f64::NAN, f64::NAN));
                (at(value), lo, hi)
            });
            series.push(Series {
                band: band.collect(),
                ..Series::new(label, Role::Data(index), curve)
            });
        }
        for (index, (name, label)) in self.references(metric).into_iter().enumerate() {
            let curves: Vec<Vec<(f64, f64)>> = arms
                .iter()
                .map(|(_, points)| {
                    self.means(points, name)
                        .iter()
                        .map(|(value, mean)| (at(value), mean.mean))
                        .collect()
                })
                .collect();
            // A prediction that does not depend on the other axes is one curve, not one in each arm.
            let same = curves.iter().all(|curve| alike(curve, &curves[0]));
            for curve in curves.into_iter().take(if same { 1 } else { usize::MAX }) {
                series.push(Series::new(label, Role::Theory(index), curve));
            }
        }
        if series.len() == 1 {
            series[0].label.clear();
        }
        let (label, unit) = self.units().words(metric);
        Panel::Lines(Lines {
            x: self.x_axis(),
            y: Axis {
                log_beyond: Some(Y_DECADES),
                ..Axis::new(label, unit)
            },
            series,
        })
    }

    fn x_axis(&self) -> Axis {
        let axis = &self.sweep.manifest.axes[self.main];
        let (label, unit) = self.units().words(&axis.path);
        let mut values: Vec<(f64, String)> = axis
            .values
            .iter()
            .filter_map(|value| Some((number(value)?, minus(value))))
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        let plain = values
            .iter()
            .all(|(value, text)| value.abs() < 1e5 && text.chars().count() < 7);
        let label = match unit {
            // The ticks are the card's own numbers, in base units.
            Unit::Bytes if plain => format!("{label} (bytes)"),
            Unit::Seconds if plain => format!("{label} (s)"),
            _ => label,
        };
        let unit = if plain { Unit::Number } else { unit };
        let ticks = if plain && values.len() <= 10 {
            values
        } else {
            Vec::new()
        };
        Axis {
            log_beyond: Some(X_DECADES),
            ticks,
            ..Axis::new(label, unit)
        }
    }

    fn bars(&self, metric: &str) -> Panel {
        let arms = self.arms();
        let references = self.references(metric);
        let per_arm: Vec<Vec<(&str, Spread)>> = arms.iter().map(|(_, points)| self.means(points, metric)).collect();
        let predicted: Vec<Vec<Vec<(&str, Spread)>>> = arms
            .iter()
            .map(|(_, points)| references.iter().map(|(name, _)| self.means(points, name)).collect())
            .collect();
        let rows = self.sweep.manifest.axes[self.main]
            .values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let bar = |arm: usize| {
                    let mean = per_arm[arm][at].1;
                    let references = predicted[arm].iter().map(|means| Some(means[at].1.mean)).collect();
                    Bar {
                        value: (!mean.mean.is_nan()).then_some(mean.mean),
                        interval: mean.interval_95(),
                        references,
                    }
                };
                Row {
                    label: value.clone(),
                    bars: (0..arms.len()).map(bar).collect(),
                    remark: None,
                }
            });
        let (label, unit) = self.units().words(metric);
        let group = |(key, _): &(Vec<&str>, Vec<&PointRow>)| self.arm_label(key);
        Panel::Bars(Bars {
            x: Axis::amount(label, unit),
            groups: arms.iter().map(group).collect(),
            rows: rows.collect(),
            stacked: false,
            references: references.iter().map(|(_, label)| (*label).to_owned()).collect(),
        })
    }

    fn figure(&self, name: &str, title: &str, panels: Vec<Panel>) -> Figure {
        let manifest = &self.sweep.manifest;
        let title = heading(&manifest.name, title);
        let seeds: BTreeSet<u64> = self.points().iter().map(|point| point.seed).collect();
        let mut notes = Vec::new();
        if seeds.len() > 1 {
            let drawn = match panels.as_slice() {
                [Panel::Bars(_), ..] => "whiskers",
                _ => "band",
            };
            notes.push(format!(
                "Mean over {} seeds; {drawn}: 95 % interval (Student's t).",
                seeds.len()
            ));
        }
        notes.extend(unfinished(self.sweep));
        Figure {
            name: name.to_owned(),
            title,
            notes,
            panels,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Whether two curves are one in a drawing; sums over seeds in another order may differ in the last bits.
fn alike(a: &[(f64, f64)], b: &[(f64, f64)]) -> bool {
    let close = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && close(a.1, b.1))
}
