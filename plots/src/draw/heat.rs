//! A panel of a matrix: a cell for every value, darker for larger ones.

use super::style::{EDGE, GAP, SMALL, TEXT};
use crate::font::{LEADING, fit, width, wrap};
use crate::names::{rounded, short};
use crate::scene::{Anchor, BLACK, Color, Point, Scene, WHITE};
use folkmoot_metrics::figure::Heat;

/// The width of a matrix at most.
const SIDE: f64 = 900.0;
/// The side of the scale beside it.
const BAR: f64 = 50.0;
/// The height of a cell in which a value is written.
const TALLEST: f64 = 90.0;
/// With more rows than this, cells have no room for their values.
const MOST_WRITTEN: usize = 10;

/// From near white to dark blue, for a share in 0..=1: even in lightness, so it reads without
/// colour.
pub(super) fn shade(share: f64) -> Color {
    let between = |from: f64, to: f64| (from + share * (to - from)).round() as u8;
    Color(between(240.0, 8.0), between(246.0, 48.0), between(252.0, 107.0))
}

/// Draws the panel at `origin` and returns its height.
pub(super) fn draw(scene: &mut Scene, heat: &Heat, origin: Point) -> f64 {
    let (n_rows, n_columns) = (heat.rows.len(), heat.columns.len());
    let finite = || heat.values.iter().copied().filter(|value| value.is_finite());
    let (lo, hi) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let share = |value: f64| if hi > lo { (value - lo) / (hi - lo) } else { 0.0 };
    let mut top = origin.1;
    for line in wrap(&heat.title, TEXT, scene.panel - 2.0 * EDGE, 2) {
        let at = (origin.0 + EDGE, top + TEXT * LEADING / 2.0);
        scene.text(at, Anchor::Start, TEXT, BLACK, line);
        top += TEXT * LEADING;
    }
    top += GAP;
    let widest = |labels: &[String]| labels.iter().map(|label| width(label, SMALL)).fold(0.0, f64::max);
    let most = scene.panel * 0.25;
    let beside = widest(&heat.rows).min(most);
    let left = origin.0 + EDGE + beside + GAP;
    let ends = [hi, f64::midpoint(lo, hi), lo].map(|value| rounded(value, 3));
    let beyond = 4.0 * GAP + BAR + ends.iter().map(|text| width(text, TEXT)).fold(0.0, f64::max);
    let across = SIDE.min(origin.0 + scene.panel - EDGE - beyond - left);
    let cell = match n_rows == n_columns && n_rows > MOST_WRITTEN {
        true => (across / n_columns as f64, across / n_rows as f64),
        false => {
            let wide = across / n_columns as f64;
            (wide, wide.min(TALLEST))
        }
    };
    let down = cell.1 * n_rows as f64;
    for (at, &value) in heat.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let (x, y) = (
            left + (at % n_columns) as f64 * cell.0,
            top + (at / n_columns) as f64 * cell.1,
        );
        scene.rect((x, y), (x + cell.0, y + cell.1), shade(share(value)));
        let room = cell.0 * 0.95;
        let whole = heat.texts.get(at).filter(|text| width(text, SMALL) <= room).cloned();
        let text = whole.or_else(|| written(value, lo.abs().max(hi.abs()), SMALL, room));
        if let Some(text) = text.filter(|_| cell.1 > SMALL) {
            let color = if share(value) > 0.5 { WHITE } else { BLACK };
            let at = (x + cell.0 / 2.0, y + cell.1 / 2.0);
            scene.text(at, Anchor::Middle, SMALL, color, text);
        }
    }
    scene.frame((left, top), (left + across, top + down), BLACK, 3.0);
    // Labels are as large as other small text; where cells are smaller, some have none.
    for (row, label) in heat.rows.iter().enumerate().step_by((SMALL / cell.1).ceil() as usize) {
        let at = (left - GAP, top + (row as f64 + 0.5) * cell.1);
        scene.text(at, Anchor::End, SMALL, BLACK, fit(label, SMALL, beside));
    }
    let is_upright = widest(&heat.columns) > cell.0 * 0.95 && n_columns <= MOST_WRITTEN;
    let (every, below) = match is_upright {
        true => (1, widest(&heat.columns).min(most)),
        false => ((widest(&heat.columns) * 1.2 / cell.0).ceil().max(1.0) as usize, SMALL),
    };
    for (column, label) in heat.columns.iter().enumerate().step_by(every) {
        let x = left + (column as f64 + 0.5) * cell.0;
        let y = top + down + GAP;
        if is_upright {
            let label = fit(label, SMALL, below);
            scene.text_upwards((x, y + width(&label, SMALL) / 2.0), SMALL, label);
        } else {
            scene.text((x, y + SMALL / 2.0), Anchor::Middle, SMALL, BLACK, label.clone());
        }
    }
    if hi >= lo {
        scale(scene, (left + across + 3.0 * GAP, top), ends, down);
    }
    top + down + 2.0 * GAP + below * LEADING - origin.1
}

/// A value with as many digits as `room` has space for, up to four; 0 for what rounding left beside
/// values up to `largest`. Nothing where there is room for none.
fn written(value: f64, largest: f64, size: f64, room: f64) -> Option<String> {
    const ROUNDING: f64 = 1e-12;
    let texts: Vec<String> = match value.abs() <= ROUNDING * largest {
        true => vec![short(0.0)],
        false => (1..=4).rev().map(|n_digits| rounded(value, n_digits)).collect(),
    };
    texts.into_iter().find(|text| width(text, size) <= room)
}

/// The scale: shades from the largest value down to the smallest.
fn scale(scene: &mut Scene, (left, top): Point, ends: [String; 3], side: f64) {
    const STEPS: usize = 60;
    let step = side / STEPS as f64;
    for i in 0..STEPS {
        let y = top + i as f64 * step;
        let share = 1.0 - (i as f64 + 0.5) / STEPS as f64;
        scene.rect((left, y), (left + BAR, y + step), shade(share));
    }
    scene.frame((left, top), (left + BAR, top + side), BLACK, 3.0);
    let places = [top + TEXT / 2.0, top + side / 2.0, top + side - TEXT / 2.0];
    for (text, y) in ends.into_iter().zip(places) {
        scene.text((left + BAR + GAP, y), Anchor::Start, TEXT, BLACK, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_as_many_digits_as_they_have_room_for() {
        let room = |text: &str| width(text, SMALL);
        let cases = [
            (0.000_181_9, 0.005, room("0.0001819"), Some("0.0001819")),
            (0.000_181_9, 0.005, room("0.00018"), Some("0.00018")),
            (0.000_181_9, 0.005, 0.0, None),
            (-0.000_018_19, 0.005, room("−1.8e−5"), Some("−1.8e−5")),
            (8.88e-16, 0.4, 1e9, Some("0")),
            (0.0, 0.0, 1e9, Some("0")),
            (13.0, 13.0, 1e9, Some("13")),
        ];
        for (value, largest, room, expected) in cases {
            assert_eq!(written(value, largest, SMALL, room).as_deref(), expected);
        }
    }
}
