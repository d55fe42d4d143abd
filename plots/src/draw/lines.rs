//! A panel of curves.

use super::area::Area;
use super::legend::{self, Sample};
use super::style::{
    DATA_WIDTH, EDGE, GAP, MARKER, PANEL, SMALL, TEXT, THEORY_WIDTH, TICK, above, darker, data_color, data_dash,
    theory_dash, x_axis,
};
use crate::font::{LEADING, width, wrap};
use crate::names::value_text;
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, Color, Dash, FAINT, GREY, GRID, Point, Scene};
use folkmoot_metrics::figure::{Lines, Path, Role, Series};
use folkmoot_metrics::term::small;

/// What the curves are to reach is a dotted line.
const GOAL_DASH: Dash = &[6.0, 10.0];

/// From how many points on a curve has markers at some of them only.
const MANY_POINTS: usize = 24;
/// Of so many points of a curve pages say their numbers.
const MOST_SPOTS: usize = 60;

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
            &folkmoot_metrics::figure::Axis {
                log_beyond: None,
                ..lines.y.clone()
            },
            &ys,
            6,
        );
    }
    [x, y]
}

/// So many curves have their names at their ends; more have a legend.
const MOST_LABELLED: usize = 5;
/// The room between two names at the ends of curves, over the size of text.
const LABEL_LINE: f64 = 1.15;

/// Where the names of curves stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// Elsewhere: at another panel, or in a legend of several.
    None,
    /// Below the axes.
    Legend,
    /// At the ends of curves.
    Ends,
}

/// Whether names have room at the ends of curves: few curves that have ends, and short names.
pub(super) fn names_at_ends(lines: &Lines, panel: f64) -> bool {
    let named: Vec<&Series> = lines.series.iter().filter(|series| !series.label.is_empty()).collect();
    let has_end = |series: &&Series| {
        !matches!(series.path, Path::Scattered | Path::Dots)
            && !matches!(series.role, Role::TheoryOf(_))
            && series.points.iter().any(|(x, y)| x.is_finite() && y.is_finite())
    };
    let widest = named
        .iter()
        .map(|series| width(&series.label, SMALL))
        .fold(0.0, f64::max);
    (2..=MOST_LABELLED).contains(&named.len()) && named.iter().all(has_end) && widest < 0.26 * panel
}

/// Draws the panel at `origin` and returns its height.
pub(super) fn draw(scene: &mut Scene, lines: &Lines, origin: Point, naming: Naming) -> f64 {
    let [x_scale, y_scale] = scales(lines);
    let room = match naming {
        Naming::Ends => {
            lines
                .series
                .iter()
                .map(|series| width(&series.label, SMALL))
                .fold(0.0, f64::max)
                + 2.0 * GAP
        }
        Naming::None | Naming::Legend => 0.0,
    };
    let label = wrap(&y_scale.label, TEXT, scene.area, 2);
    let widest = y_scale
        .ticks
        .iter()
        .map(|(_, text)| width(text, TEXT))
        .fold(0.0, f64::max);
    let label_width = label.len() as f64 * TEXT * LEADING;
    let left = origin.0 + EDGE + label_width + GAP + widest + GAP / 2.0 + TICK;
    let last = x_scale.ticks.last().map_or(0.0, |(_, text)| width(text, TEXT) / 2.0);
    let right = origin.0 + scene.panel - EDGE - last.max(room);
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
    for series in &lines.series {
        scene.of_arm(arm_of(lines, series), |scene| {
            area.band(scene, series);
            area.across(scene, series);
        });
    }
    scene.frame((left, top), (right, bottom), BLACK, 3.0);
    if let Some((name, y)) = lines
        .y
        .goal
        .as_ref()
        .and_then(|(goal, name)| Some((name, area.y_place(*goal).filter(|y| area.has_y(*y))?)))
    {
        scene.dashed(&[(left, y), (right, y)], GOAL_DASH, BLACK, THEORY_WIDTH);
        let is_high = y - top < SMALL * 1.4;
        let at = (left + GAP, y + if is_high { SMALL * 0.7 } else { -SMALL * 0.7 });
        if !name.is_empty() {
            scene.text(at, Anchor::Start, SMALL, GREY, name.clone());
        }
    }
    // Theory over the curves, so that a perfect match shows both; markers over all.
    let (data, theory): (Vec<&Series>, Vec<&Series>) = lines
        .series
        .iter()
        .partition(|series| matches!(series.role, Role::Data(_)));
    for series in data.iter().chain(&theory) {
        scene.of_arm(arm_of(lines, series), |scene| area.curve(scene, series));
    }
    let mut taken = Vec::new();
    for series in &data {
        scene.of_arm(arm_of(lines, series), |scene| area.markers(scene, series, &mut taken));
        area.spots(scene, lines, series);
    }
    area.marks(scene, &lines.series);
    if naming == Naming::Ends {
        area.names(scene, &lines.series);
    }
    match naming {
        Naming::Legend => legend::draw(scene, &entries(lines), (origin.0, y), scene.panel) - origin.1,
        Naming::Ends | Naming::None => y - origin.1,
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
    if series.is_faint {
        return (
            FAINT,
            &[],
            DATA_WIDTH * if series.path == Path::Thin { 0.25 } else { 0.6 },
        );
    }
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
        Role::Control(index) => (GREY, theory_dash(index), THEORY_WIDTH),
    }
}

/// The name of the arm that a curve is of, whose seeds have no name of their own; blank for what is
/// of none.
fn arm_of<'a>(lines: &'a Lines, series: &'a Series) -> &'a str {
    let (Role::Data(index) | Role::TheoryOf(index)) = series.role else {
        return "";
    };
    let named = lines
        .series
        .iter()
        .find(|other| other.role == Role::Data(index) && !other.label.is_empty());
    named.map_or("", |series| &series.label)
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
            Role::Data(_) | Role::Theory(_) | Role::Control(_) => stroke(series),
        };
        let sample = move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            let y = f64::midpoint(y0, y1);
            if !matches!(series.path, Path::Scattered | Path::Dots) {
                scene.dashed(&[(x0, y), (x1, y)], dash, color, width);
            }
            if let (Role::Data(index), Path::Joined | Path::Scattered, false) =
                (series.role, series.path, series.is_faint)
            {
                scene.marker((f64::midpoint(x0, x1), y), index, color, MARKER);
            }
        };
        entries.push((series.label.clone(), Box::new(sample)));
    }
    entries
}

impl Area<'_> {
    /// The names of curves beside their ends, moved apart where these are close.
    fn names(&self, scene: &mut Scene, all: &[Series]) {
        let end = |series: &Series| {
            let mut points = series.points.iter().rev();
            points.find_map(|&point| self.place(point))
        };
        let named = all.iter().filter(|series| !series.label.is_empty());
        let mut ends: Vec<(&Series, Point)> = named.filter_map(|series| Some((series, end(series)?))).collect();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let step = SMALL * LABEL_LINE;
        let mut places: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
        // Downwards until none overlap, then up again from the bottom of the area.
        for i in 1..places.len() {
            places[i] = places[i].max(places[i - 1] + step);
        }
        let mut lowest = self.bottom - SMALL / 2.0;
        for place in places.iter_mut().rev() {
            *place = place.min(lowest);
            lowest = *place - step;
        }
        for ((series, (x, y)), place) in ends.into_iter().zip(places) {
            let (color, ..) = stroke(series);
            if (place - y).abs() > step / 2.0 || x < self.right - MARKER * 2.0 {
                let near = self.right + GAP * 0.9;
                scene.line(vec![(x.max(self.right), y), (near, place)], color, 2.0);
            }
            let color = if series.is_faint { GREY } else { color };
            let at = (self.right + GAP * 1.2, place);
            scene.of_arm(&series.label, |scene| {
                scene.text(at, Anchor::Start, SMALL, color, series.label.clone());
            });
        }
    }

    fn band(&self, scene: &mut Scene, series: &Series) {
        let (color, ..) = stroke(series);
        let y = |value: f64| self.bottom - self.y.place_clamped(value) * (self.bottom - self.top);
        let x = |value: f64| self.x_place(value).filter(|x| self.has_x(*x));
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
            let ends = [(lo, at), (hi, at)];
            for stretch in self.stretches(&ends) {
                scene.line(stretch, color, THEORY_WIDTH);
            }
            for (x, y) in ends.into_iter().filter_map(|end| self.place(end)) {
                scene.line(vec![(x, y - MARKER), (x, y + MARKER)], color, THEORY_WIDTH);
            }
        }
    }

    /// What pages say of points: the arm, the seed where it is of one, and both numbers.
    fn spots(&self, scene: &mut Scene, lines: &Lines, series: &Series) {
        if series.is_faint {
            return;
        }
        let name = arm_of(lines, series);
        let every = series.points.len().div_ceil(MOST_SPOTS).max(1);
        for (at, &(x, y)) in series.points.iter().enumerate().step_by(every) {
            let Some(place) = self.place((x, y)) else { continue };
            let seed = series.seeds.get(at).or(series.seeds.first());
            let interval = series.band.iter().find(|(at, low, _)| *at == x && low.is_finite());
            let said = [
                name.to_owned(),
                seed.map_or(String::new(), |seed| format!("seed {seed}")),
                format!("{} {}", small(&lines.x.label), value_text(lines.x.unit, x)),
            ];
            let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
            let interval = interval.map_or(String::new(), |(_, low, high)| {
                format!(
                    " ({} to {})",
                    value_text(lines.y.unit, *low),
                    value_text(lines.y.unit, *high)
                )
            });
            scene.spot(
                place,
                format!("{}: {}{interval}", said.join(", "), value_text(lines.y.unit, y)),
            );
        }
    }

    /// What stands beside points, where it hides no other such text.
    fn marks(&self, scene: &mut Scene, all: &[Series]) {
        let mut taken: Vec<[f64; 4]> = Vec::new();
        for series in all {
            let color = if series.is_faint { GREY } else { stroke(series).0 };
            for (point, mark) in series.points.iter().zip(&series.marks) {
                let Some((x, y)) = self.place(*point) else { continue };
                let long = width(mark, SMALL);
                let places = [(x + MARKER * 1.5, y - SMALL * 0.6), (x + MARKER * 1.5, y + SMALL * 0.6)];
                let free = places.into_iter().find(|&(left, middle)| {
                    let own = [left, left + long, middle - SMALL / 2.0, middle + SMALL / 2.0];
                    let is_apart = |other: &[f64; 4]| {
                        own[1] < other[0] || other[1] < own[0] || own[3] < other[2] || other[3] < own[2]
                    };
                    let is_inside = own[1] < self.right && own[2] > self.top && own[3] < self.bottom;
                    let is_free = is_inside && taken.iter().all(is_apart);
                    if is_free {
                        taken.push(own);
                    }
                    is_free
                });
                if let Some(at) = free {
                    scene.text(at, Anchor::Start, SMALL, color, mark.clone());
                }
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
            for part in self.within(&path) {
                scene.dashed(&part, dash, color, width);
            }
        }
    }

    /// The parts of a path that lie in the area, cut at its edges.
    fn within(&self, path: &[Point]) -> Vec<Vec<Point>> {
        let [(left, right), (top, bottom)] = [(self.left, self.right), (self.top, self.bottom)];
        let is_inside =
            |&(x, y): &Point| (left - 0.5..=right + 0.5).contains(&x) && (top - 0.5..=bottom + 0.5).contains(&y);
        if path.iter().all(is_inside) {
            return vec![path.to_vec()];
        }
        let mut parts: Vec<Vec<Point>> = Vec::new();
        for pair in path.windows(2) {
            // The share of the way from one end to the other at which it enters and leaves.
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let (dx, dy) = (x1 - x0, y1 - y0);
            let (mut from, mut to) = (0.0_f64, 1.0_f64);
            for (step, room) in [(-dx, x0 - left), (dx, right - x0), (-dy, y0 - top), (dy, bottom - y0)] {
                match step {
                    0.0 if room < 0.0 => to = -1.0,
                    0.0 => {}
                    step if step < 0.0 => from = from.max(room / step),
                    step => to = to.min(room / step),
                }
            }
            if from > to {
                continue;
            }
            let (start, end) = ((x0 + from * dx, y0 + from * dy), (x0 + to * dx, y0 + to * dy));
            match parts.last_mut() {
                Some(part) if part.last() == Some(&start) => part.push(end),
                _ => parts.push(vec![start, end]),
            }
        }
        parts
    }

    fn markers(&self, scene: &mut Scene, series: &Series, taken: &mut Vec<(usize, Point)>) {
        let Role::Data(index) = series.role else { return };
        if series.is_faint && !matches!(series.path, Path::Dots | Path::Scattered) {
            return;
        }
        let (x, y) = (self.left - 0.5..=self.right + 0.5, self.top - 0.5..=self.bottom + 0.5);
        let mut points: Vec<Point> = self.stretches(&series.points).concat();
        points.retain(|point| x.contains(&point.0) && y.contains(&point.1));
        let color = if series.is_faint { FAINT } else { data_color(index) };
        match series.path {
            Path::Joined => {}
            Path::Stairs | Path::Thin => return,
            Path::Dots => {
                let dot = |point: &Point| scene.marker(*point, 0, color, MARKER * 0.6);
                return points.iter().for_each(dot);
            }
            Path::Scattered => {
                let marker = |point: &Point| scene.marker(*point, index, color, MARKER * 0.8);
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
