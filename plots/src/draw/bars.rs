//! A panel of rows: bars for amounts, points with their intervals for scores. Dots where the axis of
//! amounts is logarithmic, since a bar without a zero says nothing.

use super::legend::{self, Sample};
use super::style::{EDGE, GAP, MARKER, SMALL, TEXT, THEORY_WIDTH, above, data_color, theory_dash, x_axis};
use crate::font::{fit, width, wrap};
use crate::names::value_text;
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, Color, FAINT, GREY, Point, Scene, WHITE};
use folkmoot_metrics::figure::{Bar, Bars, Panel, Row};
use folkmoot_metrics::term::small;
use std::collections::BTreeSet;

/// The height of one bar.
const THICK: f64 = 46.0;
/// The room between two rows.
const APART: f64 = 34.0;
/// The height of a line of a row's label over its size: tighter than text, so that the label holds
/// together.
const LINE: f64 = 1.1;
/// The share of a panel that labels of rows may take.
const LABELS: f64 = 0.34;
/// The share of a panel that the area between the axes has at least.
const PLOT: f64 = 0.3;
/// Points that take less than this share of their axis, because of references far from them, could
/// not be told apart.
const CROWDED: f64 = 0.35;
/// What single seeds say.
const SEED: Color = Color(140, 140, 140);

/// Draws the panel at `origin` and returns its height; without its legend, where several panels
/// have one together.
pub(super) fn draw(scene: &mut Scene, bars: &Bars, origin: Point, with_legend: bool) -> f64 {
    let all = || bars.rows.iter().flat_map(|row| &row.bars);
    let mut values: Vec<f64> = all()
        .flat_map(|bar| bar.value.into_iter().chain(bar.references.iter().copied().flatten()))
        .chain(all().flat_map(|bar| bar.dots.iter().copied()))
        .filter(|value| value.is_finite())
        .collect();
    if bars.stacked {
        // No part may reach as far as all of them together.
        let whole = |row: &Row| row.bars.iter().filter_map(|bar| bar.value).sum::<f64>();
        values.extend(bars.rows.iter().map(whole).filter(|sum| sum.is_finite()));
    }
    values.extend(bars.baseline.iter().map(|(value, _)| *value).filter(|_| bars.points));
    let mut scale = Scale::fit(&bars.x, &values, 5);
    if !scale.log {
        values.extend(all().filter_map(|bar| bar.interval).flat_map(|(lo, hi)| [lo, hi]));
        let axis = folkmoot_metrics::figure::Axis {
            log_beyond: None,
            from_zero: !bars.points,
            ..bars.x.clone()
        };
        scale = Scale::fit(&axis, &values, 5);
    }
    let room = scene.panel * LABELS;
    let labels: Vec<Vec<String>> = bars.rows.iter().map(|row| wrap(&row.label, TEXT, room, 2)).collect();
    let left = origin.0
        + EDGE
        + labels
            .iter()
            .flatten()
            .map(|text| width(text, TEXT))
            .fold(0.0, f64::max)
        + GAP;
    let room = (scene.panel * (1.0 - PLOT) - (left - origin.0)).max(room);
    let texts: Vec<Vec<String>> = bars.rows.iter().map(|row| side_texts(bars, row, room)).collect();
    let widest = texts
        .iter()
        .flatten()
        .map(|text| width(text, SMALL))
        .fold(TEXT, f64::max);
    let right = origin.0 + scene.panel - EDGE - widest - GAP;
    let n_slots = if bars.stacked { 1 } else { bars.groups.len().max(1) };
    let n_lines = labels.iter().map(Vec::len).max().unwrap_or(1);
    let pitch = (n_slots as f64 * THICK).max(n_lines as f64 * TEXT * LINE) + APART;
    let top = origin.1 + GAP + above(scene, &bars.x.above, origin);
    let bottom = top + pitch * bars.rows.len() as f64 + APART / 2.0;
    let mut y = x_axis(scene, &scale, (left, top), (right, bottom));
    let painter = Painter {
        scale: &scale,
        left,
        right,
        points: bars.points,
        arrows: bars.arrows,
        common: (0..bars.references.len())
            .map(|index| common(bars, index).is_some())
            .collect(),
    };
    let middle = |row: usize| top + APART / 4.0 + pitch * (row as f64 + 0.5);
    if bars.points {
        painter.rules(scene, bars, (top, bottom));
        painter.seeds(scene, bars, &middle);
    }
    for (i, (row, label)) in bars.rows.iter().zip(labels).enumerate() {
        let middle = middle(i);
        let first = middle - n_slots as f64 * THICK / 2.0;
        let above = (label.len() as f64 - 1.0) / 2.0;
        scene.of_arm(&row.label, |scene| {
            for (line, text) in label.into_iter().enumerate() {
                let y = middle + (line as f64 - above) * TEXT * LINE;
                scene.text((left - GAP, y), Anchor::End, TEXT, BLACK, text);
            }
        });
        let mut start = 0.0;
        for (group, bar) in row.bars.iter().enumerate() {
            let y0 = if bars.stacked {
                first
            } else {
                first + THICK * group as f64
            };
            let color = match (bars.groups.len(), row.is_baseline) {
                _ if row.is_faint || bars.faint_groups.get(group) == Some(&true) => FAINT,
                (1, true) => BLACK,
                _ => data_color(group),
            };
            // Rows are arms, unless each has a bar for every arm.
            let name = bars
                .groups
                .get(group)
                .filter(|name| !name.is_empty())
                .unwrap_or(&row.label);
            scene.of_arm(name, |scene| {
                painter.bar(scene, bar, (group, color), start, (y0 + 3.0, y0 + THICK - 3.0));
            });
            painter.spots(scene, bars, bar, name, y0 + THICK / 2.0);
            start += if bars.stacked { bar.value.unwrap_or(0.0) } else { 0.0 };
        }
        let step = n_slots as f64 * THICK / texts[i].len().max(1) as f64;
        for (slot, text) in texts[i].iter().enumerate() {
            let at = (right + GAP, first + step * (slot as f64 + 0.5));
            scene.text(at, Anchor::Start, SMALL, GREY, text.clone());
        }
    }
    scene.frame((left, top), (right, bottom), BLACK, 3.0);
    if with_legend {
        y = legend::draw(
            scene,
            &entries(bars, scale.log || bars.points),
            (origin.0, y),
            scene.panel,
        );
    }
    y - origin.1
}

/// Draws the legend of panels that have the same one, over the width of them all; returns where it
/// ends.
pub(super) fn draw_legend(scene: &mut Scene, bars: &Bars, at: Point, room: f64) -> f64 {
    legend::draw(scene, &entries(bars, bars.points), at, room)
}

/// Gives references one place in all panels, and so one mark; `None` where bars have names of their
/// own, or panels are of other kinds.
pub(super) fn with_common_references(panels: &mut [Panel]) -> Option<Bars> {
    let mut names: Vec<String> = Vec::new();
    for panel in panels.iter() {
        match panel {
            Panel::Bars(bars) if bars.groups.iter().all(String::is_empty) => {
                names.extend(bars.references.iter().cloned())
            }
            _ => return None,
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    for panel in panels.iter_mut() {
        let Panel::Bars(bars) = panel else { return None };
        let place = |name: &String| bars.references.iter().position(|known| known == name);
        let places: Vec<Option<usize>> = names.iter().map(place).collect();
        for bar in bars.rows.iter_mut().flat_map(|row| &mut row.bars) {
            let at = |place: &Option<usize>| place.and_then(|place| *bar.references.get(place)?);
            bar.references = places.iter().map(at).collect();
        }
        bars.references.clone_from(&names);
    }
    match panels {
        [Panel::Bars(first), _, ..] if !names.is_empty() => Some(first.clone()),
        _ => None,
    }
}

/// Removes references that lie far from all points, except the nearest one. Returns a note with the
/// values of those that it removed.
pub(super) fn without_far_references(bars: &mut Bars) -> Option<String> {
    let all = || bars.rows.iter().flat_map(|row| &row.bars);
    let measured = all().flat_map(|bar| {
        let interval = bar.interval.into_iter().flat_map(|(lo, hi)| [lo, hi]);
        bar.value.into_iter().chain(bar.dots.iter().copied()).chain(interval)
    });
    let (lo, hi) = (measured.filter(|value| value.is_finite()))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
    // How far a reference is from the points.
    let away = |value: f64| (lo - value).max(value - hi).max(0.0);
    let mut common: Vec<(usize, f64)> = (0..bars.references.len())
        .filter_map(|index| Some((index, common(bars, index)?)))
        .collect();
    common.sort_by(|a, b| away(a.1).total_cmp(&away(b.1)));
    let is_far = |(_, value): &(usize, f64)| hi - lo < CROWDED * (hi - lo + away(*value));
    let far: Vec<(usize, f64)> = common.into_iter().skip(1).filter(is_far).collect();
    if far.is_empty() || !bars.points {
        return None;
    }
    let text =
        |(index, value): &(usize, f64)| format!("{} {}", bars.references[*index], value_text(bars.x.unit, *value));
    let said: Vec<String> = far.iter().map(text).collect();
    let is_kept = |index: usize| far.iter().all(|(gone, _)| *gone != index);
    let mut index = 0..;
    bars.references.retain(|_| index.next().is_some_and(is_kept));
    for bar in bars.rows.iter_mut().flat_map(|row| &mut row.bars) {
        let mut index = 0..;
        bar.references.retain(|_| index.next().is_some_and(is_kept));
    }
    Some(format!(
        "Off the axis of {}: {}.",
        small(&bars.x.label),
        said.join(", ")
    ))
}

/// A note with the values outside of chosen ends of the axis.
pub(super) fn outside(bars: &Bars) -> Option<String> {
    let (from, to) = bars.x.range?;
    let mut said = Vec::new();
    for row in &bars.rows {
        for (bar, group) in row.bars.iter().zip(&bars.groups) {
            if let Some(value) = bar
                .value
                .filter(|value| value.is_finite() && !(from..=to).contains(value))
            {
                let name = [row.label.as_str(), group].map(str::trim).join(" ");
                said.push(format!("{} {}", name.trim(), value_text(bars.x.unit, value)));
            }
        }
    }
    let label = small(&bars.x.label);
    (!said.is_empty() && !bars.stacked).then(|| format!("Off the axis of {label}: {}.", said.join(", ")))
}

/// What stands behind a row: its remark, or each bar's value.
fn side_texts(bars: &Bars, row: &Row, room: f64) -> Vec<String> {
    match &row.remark {
        Some(remark) => vec![fit(remark, SMALL, room)],
        None => row
            .bars
            .iter()
            .map(|bar| bar.value.map_or("n/a".to_owned(), |x| value_text(bars.x.unit, x)))
            .collect(),
    }
}

fn entries(bars: &Bars, dots: bool) -> Vec<(String, Sample<'_>)> {
    let mut entries: Vec<(String, Sample<'_>)> = Vec::new();
    let drawn = |group: usize| {
        bars.rows
            .iter()
            .any(|row| row.bars[group].value.is_some_and(|value| value != 0.0))
    };
    let named = |(group, name): &(usize, &String)| !name.is_empty() && (!bars.stacked || drawn(*group));
    for (group, name) in bars.groups.iter().enumerate().filter(named) {
        let sample = move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            if dots {
                scene.marker(
                    (f64::midpoint(x0, x1), f64::midpoint(y0, y1)),
                    group,
                    data_color(group),
                    MARKER,
                );
            } else {
                filled(scene, (x0, y0 + 8.0), (x1 - 10.0, y1 - 8.0), (group, data_color(group)));
            }
        };
        entries.push((name.clone(), Box::new(sample)));
    }
    for (index, name) in bars.references.iter().enumerate() {
        let sample = move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            let y = f64::midpoint(y0, y1);
            match common(bars, index) {
                Some(_) => scene.dashed(&[(x0, y), (x1, y)], theory_dash(index), GREY, THEORY_WIDTH),
                None => {
                    scene.dashed(&[(x0, y), (x1, y)], theory_dash(index), BLACK, THEORY_WIDTH);
                    mark(scene, (f64::midpoint(x0, x1), y), index);
                }
            }
        };
        entries.push((name.clone(), Box::new(sample)));
    }
    entries
}

/// A box in the colour and the pattern of a group, so that it is known without its colour, too.
pub(super) fn filled(scene: &mut Scene, (x0, y0): Point, (x1, y1): Point, (group, color): (usize, Color)) {
    let stripes = |scene: &mut Scene, ink: Color, rising: bool, step: f64| {
        let height = y1 - y0;
        let n = ((x1 - x0 + height) / step) as usize;
        for start in (0..=n).map(|i| x0 - height + step * i as f64) {
            // From (start, one edge) to (start + height, the other), cut to the box.
            let (from, to) = (start.max(x0), (start + height).min(x1));
            let y = |x: f64| if rising { y1 - (x - start) } else { y0 + (x - start) };
            if from < to {
                scene.line(vec![(from, y(from)), (to, y(to))], ink, 4.0);
            }
        }
    };
    match group % 4 {
        0 => scene.rect((x0, y0), (x1, y1), color),
        1 => {
            scene.rect((x0, y0), (x1, y1), color);
            stripes(scene, WHITE, true, 20.0);
        }
        2 => {
            scene.rect((x0, y0), (x1, y1), WHITE);
            stripes(scene, color, false, 14.0);
        }
        _ => scene.rect((x0, y0), (x1, y1), WHITE),
    }
    scene.frame((x0, y0), (x1, y1), color, 4.0);
}

/// The value of a reference that is the same for every row of points: a line through them all.
fn common(bars: &Bars, index: usize) -> Option<f64> {
    let values = bars.rows.iter().flat_map(|row| &row.bars);
    let mut values = values.map(|bar| *bar.references.get(index)?);
    let first = values.next()??;
    let is_same = |value: Option<f64>| value.is_some_and(|x| (x - first).abs() <= 1e-9 * first.abs().max(x.abs()));
    (bars.points && values.all(is_same)).then_some(first)
}

struct Painter<'a> {
    scale: &'a Scale,
    left: f64,
    right: f64,
    points: bool,
    arrows: bool,
    /// Which references are lines through all rows.
    common: Vec<bool>,
}

impl Painter<'_> {
    fn x(&self, value: f64) -> f64 {
        self.left + self.scale.place_clamped(value) * (self.right - self.left)
    }

    /// Whether a value lies between the ends of the axis. Zero is at the low end of a logarithmic
    /// one.
    fn has(&self, value: f64) -> bool {
        let tolerance = 1e-9;
        let place = match self.scale.log && value <= 0.0 {
            true => Some(0.0),
            false => self.scale.place(value),
        };
        place.is_some_and(|place| (-tolerance..=1.0 + tolerance).contains(&place))
    }

    /// The line of an interval, with caps where its ends lie on the axis.
    fn interval(&self, scene: &mut Scene, (lo, hi): (f64, f64), middle: f64, color: Color) {
        let (from, to) = (self.x(lo), self.x(hi));
        if from < to || self.has(lo) {
            scene.line(vec![(from, middle), (to, middle)], color, THEORY_WIDTH);
        }
        for x in [lo, hi].into_iter().filter(|end| self.has(*end)).map(|end| self.x(end)) {
            scene.line(vec![(x, middle - MARKER), (x, middle + MARKER)], color, THEORY_WIDTH);
        }
    }

    /// The value that others are compared with, and the references that all rows have, from top to
    /// bottom.
    fn rules(&self, scene: &mut Scene, bars: &Bars, (top, bottom): (f64, f64)) {
        for (index, _) in bars.references.iter().enumerate() {
            if let Some(value) = common(bars, index).filter(|value| self.has(*value)) {
                let x = self.x(value);
                scene.dashed(&[(x, top), (x, bottom)], theory_dash(index), GREY, THEORY_WIDTH);
            }
        }
        if let Some((value, _)) = bars.baseline.as_ref().filter(|(value, _)| self.has(*value)) {
            let x = self.x(*value);
            scene.line(vec![(x, top), (x, bottom)], BLACK, THEORY_WIDTH * 0.6);
        }
    }

    /// What each seed says in every row, joined from row to row.
    fn seeds(&self, scene: &mut Scene, bars: &Bars, middle: &dyn Fn(usize) -> f64) {
        let dots: Vec<&[f64]> = match bars.rows.iter().map(|row| row.bars.as_slice()).collect::<Vec<_>>() {
            rows if rows.iter().all(|row| row.len() == 1) => rows.iter().map(|row| row[0].dots.as_slice()).collect(),
            _ => return,
        };
        let n_seeds = dots.first().map_or(0, |dots| dots.len());
        if dots.len() < 2 || dots.iter().any(|dots| dots.len() != n_seeds) {
            return;
        }
        for seed in 0..n_seeds {
            let places = dots
                .iter()
                .enumerate()
                .map(|(row, dots)| (self.x(dots[seed]), middle(row), dots[seed]));
            let places: Vec<(f64, f64, f64)> = places.collect();
            for part in places
                .split(|(.., value)| !self.has(*value))
                .filter(|part| part.len() > 1)
            {
                let line = part.iter().map(|&(x, y, _)| (x, y)).collect();
                scene.line(line, FAINT, THEORY_WIDTH * 0.5);
            }
        }
    }

    /// The way from what was claimed to what it is.
    fn arrow(&self, scene: &mut Scene, bar: &Bar, color: Color, y: f64) {
        let from = bar
            .references
            .first()
            .copied()
            .flatten()
            .map_or(self.left, |claimed| self.x(claimed));
        let Some(value) = bar.value else { return };
        let to = match value.is_finite() {
            true => self.x(value),
            false => self.right + GAP * 0.8,
        };
        if to - from < MARKER * 2.0 {
            return;
        }
        scene.line(vec![(from, y), (to, y)], color, THEORY_WIDTH);
        if !value.is_finite() {
            scene.polygon(
                vec![
                    (to, y),
                    (to - MARKER * 1.4, y - MARKER),
                    (to - MARKER * 1.4, y + MARKER),
                ],
                color,
                1.0,
            );
        }
    }

    /// What pages say of a bar and of its seeds.
    fn spots(&self, scene: &mut Scene, bars: &Bars, bar: &Bar, name: &str, middle: f64) {
        let written = |x: f64| value_text(bars.x.unit, x);
        for (at, dot) in bar.dots.iter().enumerate().filter(|(_, dot)| self.has(**dot)) {
            let seed = bars.seeds.get(at).filter(|_| bars.seeds.len() == bar.dots.len());
            let seed = seed.map_or("a seed".to_owned(), |seed| format!("seed {seed}"));
            scene.spot((self.x(*dot), middle), format!("{name}, {seed}: {}", written(*dot)));
        }
        if let Some(value) = bar.value.filter(|value| self.has(*value)) {
            let interval = bar.interval.map_or(String::new(), |(low, high)| {
                format!(" ({} to {})", written(low), written(high))
            });
            scene.spot((self.x(value), middle), format!("{name}: {}{interval}", written(value)));
        }
    }

    /// A point with its interval, and what the seeds say.
    fn point(&self, scene: &mut Scene, bar: &Bar, (group, color): (usize, Color), middle: f64) {
        for dot in bar.dots.iter().filter(|dot| self.has(**dot)) {
            scene.marker((self.x(*dot), middle), 0, SEED, MARKER * 0.6);
        }
        if let Some(interval) = bar.interval {
            self.interval(scene, interval, middle, color);
        }
        if let Some(value) = bar.value.filter(|value| self.has(*value)) {
            scene.marker((self.x(value), middle), group, color, MARKER * 1.2);
        }
    }

    /// Draws a bar of a group from `start` on between two heights.
    fn bar(&self, scene: &mut Scene, bar: &Bar, (group, color): (usize, Color), start: f64, (y0, y1): (f64, f64)) {
        let middle = f64::midpoint(y0, y1);
        if self.arrows {
            self.arrow(scene, bar, color, middle);
        }
        if self.points {
            self.point(scene, bar, (group, color), middle);
            return self.references(scene, bar, (y0, y1));
        }
        if let Some(value) = bar.value.filter(|value| value.is_finite()) {
            let (from, to) = (self.x(start), self.x(start + value));
            if self.scale.log && value > 0.0 && self.has(value) {
                scene.marker((to, middle), group, color, MARKER);
            } else if !self.scale.log && (to - from).abs() >= 0.5 {
                filled(scene, (from.min(to), y0), (from.max(to), y1), (group, color));
            }
        }
        if let Some((lo, hi)) = bar.interval {
            let halo = vec![(self.x(lo), middle), (self.x(hi), middle)];
            scene.line(halo, WHITE, THEORY_WIDTH + 5.0);
            self.interval(scene, (lo, hi), middle, BLACK);
        }
        for dot in bar.dots.iter().filter(|dot| self.has(**dot)) {
            scene.marker((self.x(*dot), middle), 0, BLACK, MARKER * 0.55);
        }
        self.references(scene, bar, (y0, y1));
    }

    fn references(&self, scene: &mut Scene, bar: &Bar, (y0, y1): (f64, f64)) {
        let middle = f64::midpoint(y0, y1);
        let single = bar.references.iter().zip(&self.common).enumerate();
        for (index, (reference, _)) in single.filter(|(_, (_, is_common))| !**is_common) {
            if let Some(value) = reference.filter(|value| self.has(*value)) {
                let x = self.x(value);
                scene.line(vec![(x, y0 - 8.0), (x, y1 + 8.0)], WHITE, THEORY_WIDTH + 5.0);
                scene.dashed(
                    &[(x, y0 - 8.0), (x, y1 + 8.0)],
                    reference_dash(index),
                    BLACK,
                    THEORY_WIDTH,
                );
                mark(scene, (x, middle), index);
            }
        }
    }
}

/// The sign of a reference: dashes alone tell two apart.
fn mark(scene: &mut Scene, at: Point, index: usize) {
    // The hollow ones; what was measured has dots and bars.
    scene.marker(at, 6 + index % 6, BLACK, MARKER * 0.8);
}

/// A reference across a bar is short, so its dashes are, too.
fn reference_dash(index: usize) -> &'static [f64] {
    if index.is_multiple_of(2) {
        &[14.0, 8.0]
    } else {
        &[5.0, 5.0]
    }
}
