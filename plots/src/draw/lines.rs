//! A panel of curves.

use super::legend::{self, Sample};
use super::style::{
    DATA_WIDTH, EDGE, GAP, MARKER, PANEL, TEXT, THEORY_WIDTH, TICK, above, darker, data_color, data_dash, theory_dash,
    x_axis,
};
use crate::figure::{Lines, Path, Role, Series};
use crate::font::{LEADING, width, wrap};
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, Color, Dash, GRID, Point, Scene};

/// What the curves are to reach is a dotted line.
const GOAL_DASH: Dash = &[6.0, 10.0];

/// From how many points on a curve has markers at some of them only.
const MANY_POINTS: usize = 24;

/// From how many points on a curve is drawn without dashes.
const TOO_MANY_FOR_DASHES: usize = 150;

/// The two axes fitted to all that the panel shows.
pub(super) fn scales(lines: &Lines) -> [Scale; 2] {
    let mut xs = Vec::new();
    let mut ys: Vec<f64> = lines.y.goal.iter().map(|(goal, _)| *goal).collect();
    for series in &lines.series {
        for &(x, y) in series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            xs.push(x);
            ys.push(y);
        }
        xs.extend(series.across.iter().flat_map(|&(_, lo, hi)| [lo, hi]));
    }
    let x = Scale::fit(&lines.x, &xs, 6);
    let mut y = Scale::fit(&lines.y, &ys, 6);
    if !y.log {
        // A logarithmic axis is chosen by the values alone; an interval that reaches below zero is
        // cut there.
        ys.extend(
            lines
                .series
                .iter()
                .flat_map(|series| series.band.iter().flat_map(|&(_, lo, hi)| [lo, hi])),
        );
        y = Scale::fit(
            &crate::figure::Axis {
                log_beyond: None,
                ..lines.y.clone()
            },
            &ys,
            6,
        );
    }
    [x, y]
}

/// Draws the panel at `origin` and returns its height; without its legend, where several panels
/// have one together.
pub(super) fn draw(scene: &mut Scene, lines: &Lines, origin: Point, with_legend: bool) -> f64 {
    let [x_scale, y_scale] = scales(lines);
    let label = wrap(&y_scale.label, TEXT, scene.area, 2);
    let widest = y_scale
        .ticks
        .iter()
        .map(|(_, text)| width(text, TEXT))
        .fold(0.0, f64::max);
    let label_width = label.len() as f64 * TEXT * LEADING;
    let left = origin.0 + EDGE + label_width + GAP + widest + GAP / 2.0 + TICK;
    let last = x_scale.ticks.last().map_or(0.0, |(_, text)| width(text, TEXT) / 2.0);
    let right = origin.0 + scene.panel - EDGE - last;
    let top = origin.1 + TEXT / 2.0 + above(scene, &lines.y.above, origin);
    let bottom = top + scene.area;
    let area = Area {
        left,
        right,
        top,
        bottom,
        x: &x_scale,
        y: &y_scale,
    };
    for (i, line) in label.into_iter().enumerate() {
        let x = origin.0 + EDGE + (i as f64 + 0.5) * TEXT * LEADING;
        scene.text_upwards((x, f64::midpoint(top, bottom)), TEXT, line);
    }
    y_axis(scene, &area);
    let y = x_axis(scene, &x_scale, (left, top), (right, bottom));
    lines.series.iter().for_each(|series| {
        area.band(scene, series);
        area.across(scene, series);
    });
    scene.frame((left, top), (right, bottom), BLACK, 3.0);
    if let Some(y) = lines.y.goal.as_ref().and_then(|(goal, _)| area.y_place(*goal)) {
        scene.dashed(&[(left, y), (right, y)], GOAL_DASH, BLACK, THEORY_WIDTH);
    }
    // Theory over the curves, so that a perfect match shows both; markers over all.
    let (data, theory): (Vec<&Series>, Vec<&Series>) = lines
        .series
        .iter()
        .partition(|series| matches!(series.role, Role::Data(_)));
    data.iter().chain(&theory).for_each(|series| area.curve(scene, series));
    let mut taken = Vec::new();
    data.iter().for_each(|series| area.markers(scene, series, &mut taken));
    match with_legend {
        true => legend::draw(scene, &entries(lines), (origin.0, y), scene.panel) - origin.1,
        false => y - origin.1,
    }
}

/// Draws the legend of panels that have the same one, over the width of them all; returns where it
/// ends.
pub(super) fn draw_legend(scene: &mut Scene, lines: &Lines, at: Point, room: f64) -> f64 {
    legend::draw(scene, &entries(lines), at, room)
}

fn y_axis(scene: &mut Scene, area: &Area<'_>) {
    for y in area.y.minor.iter().filter_map(|value| area.y_place(*value)) {
        scene.line(vec![(area.left - TICK / 2.0, y), (area.left, y)], BLACK, 3.0);
    }
    for (value, text) in &area.y.ticks {
        let Some(y) = area
            .y_place(*value)
            .filter(|y| (area.top - 1.0..=area.bottom + 1.0).contains(y))
        else {
            continue;
        };
        scene.line(vec![(area.left, y), (area.right, y)], GRID, 2.0);
        scene.line(vec![(area.left - TICK, y), (area.left, y)], BLACK, 3.0);
        scene.text(
            (area.left - TICK - GAP / 2.0, y),
            Anchor::End,
            TEXT,
            BLACK,
            text.clone(),
        );
    }
}

fn stroke(series: &Series) -> (Color, Dash, f64) {
    match series.role {
        // Dashes along a curve of many points drown in its wiggles; its markers still tell it
        // apart.
        Role::Data(index) if series.points.len() > TOO_MANY_FOR_DASHES && series.path == Path::Joined => {
            (data_color(index), &[], DATA_WIDTH * 0.6)
        }
        Role::Data(index) if series.path == Path::Thin => (data_color(index), &[], DATA_WIDTH * 0.25),
        Role::Data(index) => (data_color(index), data_dash(index), DATA_WIDTH),
        Role::TheoryOf(index) => (darker(data_color(index)), theory_dash(0), THEORY_WIDTH),
        Role::Theory(index) => (BLACK, theory_dash(index), THEORY_WIDTH),
    }
}

/// The legend's entries; one for all theory that is drawn in the colour of its curve.
fn entries(lines: &Lines) -> Vec<(String, Sample<'_>)> {
    let mut entries: Vec<(String, Sample<'_>)> = Vec::new();
    for series in lines.series.iter().filter(|series| !series.label.is_empty()) {
        if entries
            .iter()
            .any(|(label, _)| *label == series.label && !matches!(series.role, Role::Data(_)))
        {
            continue;
        }
        let (color, dash, width) = match series.role {
            Role::TheoryOf(_) => (BLACK, theory_dash(0), THEORY_WIDTH),
            Role::Data(_) | Role::Theory(_) => stroke(series),
        };
        let sample = move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            let y = f64::midpoint(y0, y1);
            if !matches!(series.path, Path::Scattered | Path::Dots) {
                scene.dashed(&[(x0, y), (x1, y)], dash, color, width);
            }
            if let (Role::Data(index), Path::Joined | Path::Scattered) = (series.role, series.path) {
                scene.marker((f64::midpoint(x0, x1), y), index, color, MARKER);
            }
        };
        entries.push((series.label.clone(), Box::new(sample)));
    }
    if let Some((_, name)) = &lines.y.goal {
        let sample = |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            let y = f64::midpoint(y0, y1);
            scene.dashed(&[(x0, y), (x1, y)], GOAL_DASH, BLACK, THEORY_WIDTH);
        };
        entries.push((name.clone(), Box::new(sample)));
    }
    entries
}

/// The area between the axes.
struct Area<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Scale,
    y: &'a Scale,
}

impl Area<'_> {
    fn y_place(&self, value: f64) -> Option<f64> {
        self.y
            .place(value)
            .map(|place| self.bottom - place * (self.bottom - self.top))
    }

    fn place(&self, (x, y): (f64, f64)) -> Option<Point> {
        let x = self.x.place(x)?;
        Some((self.left + x * (self.right - self.left), self.y_place(y)?))
    }

    /// The stretches of a curve between its gaps.
    fn stretches(&self, points: &[(f64, f64)]) -> Vec<Vec<Point>> {
        let places: Vec<Option<Point>> = points.iter().map(|&point| self.place(point)).collect();
        let stretches = places
            .split(Option::is_none)
            .map(|part| part.iter().copied().flatten().collect::<Vec<_>>());
        stretches.filter(|stretch| !stretch.is_empty()).collect()
    }

    fn band(&self, scene: &mut Scene, series: &Series) {
        let (color, ..) = stroke(series);
        let y = |value: f64| self.bottom - self.y.place_clamped(value) * (self.bottom - self.top);
        let x = |value: f64| {
            self.x
                .place(value)
                .map(|place| self.left + place * (self.right - self.left))
        };
        // An interval without its neighbour's, as at a gap, has no width as a band: a bar marks it.
        let parts = series.band.split(|(_, lo, hi)| !(lo.is_finite() && hi.is_finite()));
        for part in parts {
            let edges: Vec<(f64, f64, f64)> = part
                .iter()
                .filter_map(|&(at, lo, hi)| Some((x(at)?, y(lo), y(hi))))
                .collect();
            if let [(x, lo, hi)] = edges[..] {
                scene.line(vec![(x, lo), (x, hi)], color, THEORY_WIDTH);
                for y in [lo, hi] {
                    scene.line(vec![(x - MARKER, y), (x + MARKER, y)], color, THEORY_WIDTH);
                }
            }
            let low = edges.iter().map(|&(x, lo, _)| (x, lo));
            let high = edges.iter().rev().map(|&(x, _, hi)| (x, hi));
            if edges.len() > 1 {
                scene.polygon(low.chain(high).collect(), color, 0.22);
            }
        }
    }

    /// The bars of intervals along x.
    fn across(&self, scene: &mut Scene, series: &Series) {
        let (color, ..) = stroke(series);
        for &(at, lo, hi) in &series.across {
            let (Some(lo), Some(hi)) = (self.place((lo, at)), self.place((hi, at))) else {
                continue;
            };
            scene.line(vec![lo, hi], color, THEORY_WIDTH);
            for (x, y) in [lo, hi] {
                scene.line(vec![(x, y - MARKER), (x, y + MARKER)], color, THEORY_WIDTH);
            }
        }
    }

    fn curve(&self, scene: &mut Scene, series: &Series) {
        if matches!(series.path, Path::Scattered | Path::Dots) {
            return;
        }
        let (color, dash, width) = stroke(series);
        for stretch in self.stretches(&series.points) {
            let path = match series.path {
                Path::Stairs => stairs(&stretch),
                Path::Joined | Path::Scattered | Path::Thin | Path::Dots => thin(stretch),
            };
            if let ([(x, y)], false) = (&path[..], matches!(series.role, Role::Data(_))) {
                // Theory for a single point: a short dash across it.
                scene.line(vec![(x - 40.0, *y), (x + 40.0, *y)], color, width);
            }
            scene.dashed(&path, dash, color, width);
        }
    }

    fn markers(&self, scene: &mut Scene, series: &Series, taken: &mut Vec<(usize, Point)>) {
        let Role::Data(index) = series.role else { return };
        let points: Vec<Point> = self.stretches(&series.points).concat();
        match series.path {
            Path::Joined => {}
            Path::Stairs | Path::Thin => return,
            Path::Dots => {
                let dot = |point: &Point| scene.marker(*point, 0, data_color(index), MARKER * 0.6);
                return points.iter().for_each(dot);
            }
            Path::Scattered => {
                let marker = |point: &Point| scene.marker(*point, index, data_color(index), MARKER * 0.8);
                return points.iter().for_each(marker);
            }
        }
        let every = if points.len() > MANY_POINTS {
            points.len().div_ceil(12)
        } else {
            1
        };
        // Staggered, so that the markers of curves that run together do not hide each other.
        let first = if every > 1 { index * every / 5 % every } else { 0 };
        for &point in points.iter().skip(first).step_by(every) {
            // Where curves meet, the later marker is smaller, so that the earlier one shows around
            // it.
            let near = |(of, other): &&(usize, Point)| {
                *of != index && libm::hypot(other.0 - point.0, other.1 - point.1) < MARKER * 0.7
            };
            let below = taken.iter().filter(near).count();
            let radius = MARKER * [1.0, 0.62, 0.4][below.min(2)];
            scene.marker(point, index, data_color(index), radius);
            taken.push((index, point));
        }
    }
}

/// The path of a distribution: level, then up.
fn stairs(points: &[Point]) -> Vec<Point> {
    let mut path: Vec<Point> = points.iter().take(1).copied().collect();
    for pair in points.windows(2) {
        path.extend([(pair[1].0, pair[0].1), pair[1]]);
    }
    path
}

/// The path without points that no eye can tell apart: of those in one column of pixels, the first,
/// the highest, the lowest and the last.
fn thin(points: Vec<Point>) -> Vec<Point> {
    if points.len() < 4 * PANEL as usize {
        return points;
    }
    let mut path = Vec::new();
    for column in points.chunk_by(|a, b| a.0.round() == b.0.round()) {
        let by_height = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
        path.extend(column.first());
        path.extend(column.iter().min_by(by_height));
        path.extend(column.iter().max_by(by_height));
        path.extend(column.last());
    }
    path
}
