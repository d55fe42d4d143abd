//! The figures of a sweep: each summary number over the axes, as a mean with its interval over
//! seeds.

mod axis;
mod matrix;
mod privacy;
mod rows;
mod runs;
mod view;

use axis::{above_it, alike, counted, place};
use rows::apart;
pub(crate) use runs::{first_run, first_run_dir, of_artifacts, of_clients, of_curves, of_splits};
use view::{Compared, MAX_POINTS, View};

use crate::curves;
use crate::interval::{bounded, over_seeds};
use crate::names::{Unit, capital, file_part, minus, point};
use crate::profile;
use crate::residuals::with_residuals;
use crate::scene::MAX_CURVES;
use folkmoot_metrics::estimate::FEW;
use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Path, Role, Series};
use folkmoot_metrics::findings;
use folkmoot_metrics::key::{base, reference_label};
use folkmoot_metrics::sweep_dir::PointRow;
use folkmoot_metrics::term::small;
use folkmoot_metrics::{Spread, SweepDir};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What answers most questions: arms over time and bytes, what a target took, the headline, curves
/// within runs, and what runs left.
pub(crate) const USUAL: [&str; 11] = [
    "curves-*",
    "target-*",
    "headline",
    "messages-and-bytes",
    "privacy-utility",
    "scatter",
    "by-*",
    "map",
    "maps",
    "distances",
    "changes",
];

/// From how many decades on a numeric axis of a sweep is logarithmic.
const X_DECADES: f64 = 1.4;
/// So is one of what was measured, beyond this: small values hide below large ones.
const Y_DECADES: f64 = 2.0;
/// Sentences about what was found, below the question.
const MOST_FINDINGS: usize = 2;

/// All figures for which the sweep has data: the headline first, then one a metric.
pub(crate) fn figures(sweep: &SweepDir) -> Vec<Figure> {
    let Some(view) = View::new(sweep) else {
        return Vec::new();
    };
    let compared = Compared::of(sweep);
    let view = View {
        compared: Some(Arc::new(compared)),
        ..view
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
        [first, second, ..] if complete && view.is_trade(first, second) => view.scatter(first, second),
        _ => None,
    };
    let parts = view.parts();
    let of = |metric: &'_ str| {
        let of_part = |(above, part): &(String, View<'_>)| Some(above_it(part.panel(metric)?, above));
        parts.iter().filter_map(of_part).collect::<Vec<Panel>>()
    };
    let paths = if complete { view.privacy(&headline) } else { Vec::new() };
    let panels: Vec<Panel> = headline.into_iter().filter(|_| complete).flat_map(of).collect();
    if !panels.is_empty() {
        let (panels, alike) = apart(panels);
        let mut figure = view.figure(name, "", with_residuals(panels));
        figure.notes.extend(alike);
        figures.push(figure);
    }
    if !paths.is_empty() {
        let mut figure = view.figure(
            "privacy-utility",
            "what an attacker reaches against what is learned",
            paths,
        );
        figure.notes.extend(
            view.numeric
                .then(|| format!("Beside points: {}.", small(&view.x_axis().label))),
        );
        figures.push(figure);
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
                with_residuals(vec![panel]),
            ));
        }
    }
    figures
}

/// Adds the title and the notes of a sweep to a figure. A figure without a title answers the card's
/// question: the question becomes its title, and the findings its first notes.
fn framed(sweep: &SweepDir, figure: Figure) -> Figure {
    let mut notes = Vec::new();
    let question = &sweep.manifest.question;
    let title = match figure.title.is_empty() {
        true if !question.is_empty() => {
            let found = findings::contrasts(sweep, &findings::arms(sweep));
            notes.extend(findings::sentences(&found, MOST_FINDINGS));
            question.clone()
        }
        true => capital(&sweep.manifest.name),
        false => capital(&figure.title),
    };
    notes.extend(figure.notes);
    let seeds: BTreeSet<u64> = sweep.points.iter().map(|point| point.seed).collect();
    notes.extend(over_seeds(seeds.len(), &figure.panels));
    notes.extend(unfinished(sweep));
    Figure { title, notes, ..figure }
}

/// What every figure of a sweep says that lacks points.
fn unfinished(sweep: &SweepDir) -> Option<String> {
    let there = sweep.unfinished()?;
    Some(format!("The sweep is not finished: {there}."))
}

impl<'a> View<'a> {
    /// The metrics that each run has several values of, over the only axis, a curve per value of
    /// the parameter.
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
        for name in names
            .into_iter()
            .filter(|name| !profile::is_std(name) && !curves::is_of_target(name))
        {
            if let Some(point) = point(name) {
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
        let points = self.points();
        let series = members.iter().enumerate().map(|(index, (value, name))| {
            let means = self.means(points, name);
            let label = format!(
                "{} {}",
                self.units().words(parameter).0.to_lowercase(),
                minus(&value.to_string())
            );
            let curve = means.iter().map(|(x, mean)| (place(x), mean.mean)).collect();
            let band = means.iter().filter_map(|(x, mean)| {
                let (lo, hi) = self.interval(name, mean)?;
                Some((place(x), lo, hi))
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

    /// Every metric of the sweep, without predictions and points of curves, which have figures of
    /// their own.
    fn metrics(&self) -> BTreeSet<&'a str> {
        let names = self.points().iter().flat_map(|point| point.summary.keys());
        names.map(String::as_str).filter(|name| base(name) == *name).collect()
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
        names
            .into_iter()
            .filter_map(|name| Some((name, reference_label(name, metric)?)))
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
        self.label_of(self.others.iter().copied(), key)
    }

    /// The values of the main axis in their order, each with the mean of `name` over its points.
    fn means(&self, points: &[&PointRow], name: &str) -> Vec<(&'a str, Spread)> {
        let mut values: Vec<(&str, Vec<f64>)> = Vec::new();
        for value in &self.sweep.manifest.axes[self.main].values {
            let at = points.iter().filter(|point| point.values[self.main] == *value);
            // A number that is not finite has no place on an axis, nor has a mean that contains it:
            // a gap.
            values.push((value, at.filter_map(|point| point.summary.get(name).copied()).collect()));
        }
        let mut means: Vec<_> = values
            .iter()
            .map(|(value, numbers)| (*value, Spread::of(numbers)))
            .collect();
        if self.numeric {
            means.sort_by(|a, b| place(a.0).total_cmp(&place(b.0)));
        }
        means
    }

    /// The interval of a mean, as far as the metric can be there; none of few seeds, which are
    /// drawn themselves.
    fn interval(&self, metric: &str, mean: &Spread) -> Option<(f64, f64)> {
        bounded(
            mean.interval_95().filter(|_| mean.n() >= FEW),
            self.units().range(metric),
        )
    }

    /// What few seeds say of a metric at a value of the main axis, each with its number.
    fn dots(&self, points: &[&PointRow], metric: &str, value: &str, mean: &Spread) -> Vec<(u64, f64)> {
        if !(2..FEW).contains(&mean.n()) {
            return Vec::new();
        }
        let at = points.iter().filter(|point| point.values[self.main] == value);
        at.filter_map(|point| Some((point.seed, *point.summary.get(metric)?)))
            .collect()
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
                let denser = self.matrix(metric).or_else(|| self.slopes(metric));
                denser.unwrap_or_else(|| self.bars(metric))
            }
        };
        seen.then(panel)
    }

    /// Whether more of one number may cost the other: two scores alike say nothing over each other.
    fn is_trade(&self, first: &str, second: &str) -> bool {
        let units = self.units();
        let is_score = |name: &str| units.bounds(name).is_some() && !units.arrow(name).is_empty();
        !(is_score(first) && is_score(second) && units.arrow(first) == units.arrow(second))
    }

    /// The second metric of a headline over the first, a point for each value of the only axis,
    /// which are no numbers: what one choice costs in the one it wins in the other. `None` where
    /// there are fewer than two points or too many.
    fn scatter(&self, across: &str, up: &str) -> Option<Panel> {
        if self.numeric || !self.others.is_empty() {
            return None;
        }
        let points = self.points();
        let [xs, ys] = [across, up].map(|metric| self.means(points, metric));
        let placed = xs
            .iter()
            .zip(&ys)
            .filter(|((_, x), (_, y))| x.mean.is_finite() && y.mean.is_finite());
        let mut series = Vec::new();
        let mut n_values = 0;
        for ((value, x), (_, y)) in placed {
            series.push(Series {
                band: self
                    .interval(up, y)
                    .map(|(lo, hi)| (x.mean, lo, hi))
                    .into_iter()
                    .collect(),
                across: self
                    .interval(across, x)
                    .map(|(lo, hi)| (y.mean, lo, hi))
                    .into_iter()
                    .collect(),
                path: Path::Scattered,
                ..Series::new(*value, Role::Data(n_values), vec![(x.mean, y.mean)])
            });
            let [xs, ys] = [(across, x), (up, y)].map(|(metric, mean)| self.dots(points, metric, value, mean));
            if !xs.is_empty() && xs.len() == ys.len() {
                let dots = xs.iter().zip(&ys).map(|((seed, x), (_, y))| (*seed, (*x, *y)));
                series.extend(Series::of_seeds(n_values, dots));
            }
            n_values += 1;
        }
        let axis = |metric: &str| {
            let (label, unit) = self.units().words(metric);
            Axis {
                better: self.units().arrow(metric),
                ..Axis::new(label, unit)
            }
        };
        let varies = |values: &[(&str, Spread)]| values.iter().any(|(_, mean)| mean.mean != values[0].1.mean);
        ((2..=MAX_POINTS).contains(&n_values) && varies(&xs) && varies(&ys)).then(|| {
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
        for (index, (key, points)) in arms.iter().enumerate() {
            let means = self.means(points, metric);
            let label = if arms.len() == 1 {
                "simulated".to_owned()
            } else {
                self.arm_label(key)
            };
            let curve = means.iter().map(|(value, mean)| (place(value), mean.mean)).collect();
            let band = means.iter().map(|(value, mean)| {
                let (lo, hi) = self.interval(metric, mean).unwrap_or((f64::NAN, f64::NAN));
                (place(value), lo, hi)
            });
            series.push(Series {
                band: band.collect(),
                ..Series::new(label, Role::Data(index), curve)
            });
            let dots = means.iter().flat_map(|(value, mean)| {
                self.dots(points, metric, value, mean)
                    .into_iter()
                    .map(|(seed, y)| (seed, (place(value), y)))
            });
            series.extend(Series::of_seeds(index, dots));
        }
        for (index, (name, label)) in self.references(metric).into_iter().enumerate() {
            let curves: Vec<Vec<(f64, f64)>> = arms
                .iter()
                .map(|(_, points)| {
                    self.means(points, name)
                        .iter()
                        .map(|(value, mean)| (place(value), mean.mean))
                        .collect()
                })
                .collect();
            // A prediction that does not depend on the other axes is one curve, not one in each
            // arm.
            let same = curves.iter().all(|curve| alike(curve, &curves[0]));
            for curve in curves.into_iter().take(if same { 1 } else { usize::MAX }) {
                let role = match label.to_lowercase().starts_with("theor") {
                    true => Role::Theory(index),
                    false => Role::Control(index),
                };
                series.push(Series::new(label.replace('_', " "), role, curve));
            }
        }
        if series.iter().filter(|series| series.path == Path::Joined).count() == 1 {
            series[0].label.clear();
        }
        let (label, unit) = self.units().words(metric);
        Panel::Lines(Lines {
            x: self.x_axis(),
            y: Axis {
                log_beyond: Some(Y_DECADES),
                better: self.units().arrow(metric),
                bounds: self.units().bounds(metric),
                ..Axis::new(label, unit)
            },
            series,
        })
    }

    fn x_axis(&self) -> Axis {
        let axis = &self.sweep.manifest.axes[self.main];
        let (mut label, unit) = self.units().words(&axis.path);
        let known = || axis.values.iter().filter_map(|value| counted(value));
        if let Some(word) = known().filter_map(|(.., word)| word).next_back() {
            label = capital(word);
        }
        let mut values: Vec<(f64, String)> = known().map(|(value, text, _)| (value, minus(text))).collect();
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

    fn figure(&self, name: &str, title: &str, panels: Vec<Panel>) -> Figure {
        let figure = Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            notes: Vec::new(),
            panels,
        };
        framed(self.sweep, figure)
    }
}
