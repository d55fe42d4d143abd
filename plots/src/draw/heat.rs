//! A panel of a square matrix: a cell for every value, darker for larger ones.

use super::style::{EDGE, GAP, PANEL, SMALL, TEXT};
use crate::figure::Heat;
use crate::font::{LEADING, fit, width};
use crate::names::{rounded, short};
use crate::scene::{Anchor, BLACK, Color, Point, Scene, WHITE};

/// The side of the matrix.
const SIDE: f64 = 900.0;
/// The side of the scale beside it.
const BAR: f64 = 50.0;
/// With more rows than this, cells have no room for their values.
const MOST_WRITTEN: usize = 10;
/// With more rows than this, every row cannot have its label.
const MOST_LABELLED: usize = 24;

/// From near white to dark blue, for a share in 0..=1: even in lightness, so it reads without
/// colour.
pub(super) fn shade(share: f64) -> Color {
    let between = |from: f64, to: f64| (from + share * (to - from)).round() as u8;
    Color(between(240.0, 8.0), between(246.0, 48.0), between(252.0, 107.0))
}

/// Draws the panel at `origin` and returns its height.
pub(super) fn draw(scene: &mut Scene, heat: &Heat, origin: Point) -> f64 {
    let n = heat.labels.len();
    let finite = || heat.values.iter().copied().filter(|value| value.is_finite());
    let (lo, hi) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let share = |value: f64| if hi > lo { (value - lo) / (hi - lo) } else { 0.0 };
    let title = fit(&heat.title, TEXT, scene.panel - 2.0 * EDGE);
    scene.text(
        (origin.0 + EDGE, origin.1 + TEXT * LEADING / 2.0),
        Anchor::Start,
        TEXT,
        BLACK,
        title,
    );
    let top = origin.1 + TEXT * LEADING + GAP;
    let is_labelled = n <= MOST_LABELLED;
    let widest = heat
        .labels
        .iter()
        .map(|label| width(label, SMALL))
        .fold(0.0, f64::max)
        .min(scene.panel * 0.25);
    let left = origin.0 + EDGE + if is_labelled { widest + GAP } else { 0.0 };
    let side = SIDE * (scene.panel / PANEL).min(1.0);
    let cell = side / n as f64;
    for (at, &value) in heat.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let (x, y) = (left + (at % n) as f64 * cell, top + (at / n) as f64 * cell);
        scene.rect((x, y), (x + cell, y + cell), shade(share(value)));
        if n <= MOST_WRITTEN {
            let color = if share(value) > 0.5 { WHITE } else { BLACK };
            let size = SMALL.min(cell * 0.3);
            scene.text(
                (x + cell / 2.0, y + cell / 2.0),
                Anchor::Middle,
                size,
                color,
                written(value, lo.abs().max(hi.abs()), size, cell * 0.95),
            );
        }
    }
    scene.frame((left, top), (left + side, top + side), BLACK, 3.0);
    let mut bottom = top + side;
    if is_labelled {
        let size = SMALL.min(cell * 0.8);
        for (i, label) in heat.labels.iter().enumerate() {
            let y = top + (i as f64 + 0.5) * cell;
            scene.text((left - GAP, y), Anchor::End, size, BLACK, fit(label, size, widest));
            let x = left + (i as f64 + 0.5) * cell;
            scene.text(
                (x, bottom + GAP + size / 2.0),
                Anchor::Middle,
                size,
                BLACK,
                fit(label, size, cell * 0.95),
            );
        }
        bottom += GAP + size * LEADING;
    }
    if hi >= lo {
        scale(scene, (left + side + 3.0 * GAP, top), (lo, hi), side);
    }
    bottom + GAP - origin.1
}

/// A value with as many digits as `room` has space for, up to four; 0 for what rounding left beside
/// values up to `largest`.
fn written(value: f64, largest: f64, size: f64, room: f64) -> String {
    const ROUNDING: f64 = 1e-12;
    if value.abs() <= ROUNDING * largest {
        return short(0.0);
    }
    let fitting = (2..=4)
        .rev()
        .map(|n_digits| rounded(value, n_digits))
        .find(|text| width(text, size) <= room);
    fitting.unwrap_or_else(|| rounded(value, 1))
}

/// The scale: shades from the largest value down to the smallest.
fn scale(scene: &mut Scene, (left, top): Point, (lo, hi): (f64, f64), side: f64) {
    const STEPS: usize = 60;
    let step = side / STEPS as f64;
    for i in 0..STEPS {
        let y = top + i as f64 * step;
        let share = 1.0 - (i as f64 + 0.5) / STEPS as f64;
        scene.rect((left, y), (left + BAR, y + step), shade(share));
    }
    scene.frame((left, top), (left + BAR, top + side), BLACK, 3.0);
    for (value, y) in [
        (hi, top + TEXT / 2.0),
        (f64::midpoint(lo, hi), top + side / 2.0),
        (lo, top + side - TEXT / 2.0),
    ] {
        scene.text((left + BAR + GAP, y), Anchor::Start, TEXT, BLACK, short(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_as_many_digits_as_they_have_room_for() {
        let room = |text: &str| width(text, SMALL);
        assert_eq!(written(0.000_181_9, 0.005, SMALL, room("0.0001819")), "0.0001819");
        assert_eq!(written(0.000_181_9, 0.005, SMALL, room("0.00018")), "0.00018");
        assert_eq!(written(0.000_181_9, 0.005, SMALL, 0.0), "0.0002");
        assert_eq!(written(-0.000_018_19, 0.005, SMALL, room("−1.8e−5")), "−1.8e−5");
        assert_eq!(written(8.88e-16, 0.4, SMALL, 1e9), "0");
        assert_eq!(written(0.0, 0.0, SMALL, 1e9), "0");
        assert_eq!(written(13.0, 13.0, SMALL, 1e9), "13");
    }
}
