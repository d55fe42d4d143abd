//! What panels have in common: sizes, colours, dashes, the text above a plot and the axis below it.

use crate::font::{LEADING, fit, width, wrap};
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, Color, Dash, GRID, PALETTE, Point, Scene};

/// The width of a panel, and the height of its area between the axes.
pub(super) const PANEL: f64 = 1600.0;
pub(super) const AREA: f64 = 720.0;
/// Narrower, no axis has room for its labels.
pub(super) const LEAST: f64 = PANEL * 0.4;
/// Narrower, panels stand below each other: 50 mm.
pub(super) const BESIDE: f64 = PANEL / PANEL_MM * 50.0;
/// Lower, the area between the axes of a narrow panel would be flat: 33 mm.
pub(super) const LOWEST: f64 = PANEL / PANEL_MM * 33.0;
/// What the pixels of a panel stand for in print, in millimetres: text is then 6.6 points high, and
/// small text 6.
pub(super) const PANEL_MM: f64 = 85.0;
/// What a figure is wide in print: of one panel as a column of a journal, of several as its page.
pub(super) const COLUMN_MM: f64 = 84.0;
pub(super) const PAGE_MM: f64 = 174.0;
/// Points in a millimetre.
pub(super) const POINTS: f64 = 72.0 / 25.4;
/// The size of ordinary text.
pub(super) const TEXT: f64 = 44.0;
/// The size of notes and of values beside bars.
pub(super) const SMALL: f64 = 40.0;
/// The size of the title.
pub(super) const TITLE: f64 = 50.0;
/// The room at every side.
pub(super) const EDGE: f64 = 32.0;
/// The length of a tick.
pub(super) const TICK: f64 = 12.0;
/// The room between an axis, its tick labels and its label.
pub(super) const GAP: f64 = 16.0;

/// The broken lines of measured curves; theory's differ by being thin and without markers.
pub(super) const DATA_DASHES: [Dash; 4] = [
    &[],
    &[10.0, 10.0],
    &[44.0, 12.0, 8.0, 12.0],
    &[24.0, 8.0, 8.0, 8.0, 8.0, 8.0],
];
/// The broken lines of theory.
pub(super) const THEORY_DASHES: [Dash; 3] = [&[22.0, 12.0], &[10.0, 6.0], &[40.0, 14.0, 8.0, 14.0]];

pub(super) const DATA_WIDTH: f64 = 6.0;
pub(super) const THEORY_WIDTH: f64 = 5.0;
pub(super) const MARKER: f64 = 12.0;

pub(super) fn data_color(index: usize) -> Color {
    PALETTE[index % PALETTE.len()]
}

pub(super) fn data_dash(index: usize) -> Dash {
    DATA_DASHES[index % DATA_DASHES.len()]
}

pub(super) fn theory_dash(index: usize) -> Dash {
    THEORY_DASHES[index % THEORY_DASHES.len()]
}

/// A darker shade, for theory drawn over the curve it belongs to.
pub(super) fn darker(Color(r, g, b): Color) -> Color {
    let half = |c: u8| (f64::from(c) * 0.5) as u8;
    Color(half(r), half(g), half(b))
}

/// What stands above a panel, if anything does; returns the height that it takes.
pub(super) fn above(scene: &mut Scene, text: &str, origin: Point) -> f64 {
    if text.is_empty() {
        return 0.0;
    }
    let title = fit(text, TEXT, scene.panel - 2.0 * EDGE);
    let at = (origin.0 + EDGE, origin.1 + TEXT * LEADING / 2.0);
    scene.text(at, Anchor::Start, TEXT, BLACK, title);
    TEXT * LEADING + GAP
}

/// The horizontal axis below a plot from `(left, _)` to `(right, bottom)`: grid, ticks, labels.
/// Returns where it ends.
pub(super) fn x_axis(scene: &mut Scene, scale: &Scale, (left, top): Point, (right, bottom): Point) -> f64 {
    let place = |value: f64| scale.place(value).map(|place| left + place * (right - left));
    for x in scale.minor.iter().filter_map(|value| place(*value)) {
        scene.line(vec![(x, bottom), (x, bottom + TICK / 2.0)], BLACK, 3.0);
    }
    let mut free_from = 0.0;
    for (value, text) in &scale.ticks {
        let Some(x) = place(*value).filter(|x| (left - 1.0..=right + 1.0).contains(x)) else {
            continue;
        };
        scene.line(vec![(x, top), (x, bottom)], GRID, 2.0);
        scene.line(vec![(x, bottom), (x, bottom + TICK)], BLACK, 3.0);
        let half = width(text, TEXT) / 2.0;
        // A label that would touch its neighbour is left out; its tick says enough.
        if x - half >= free_from {
            scene.text(
                (x, bottom + TICK + GAP / 2.0 + TEXT / 2.0),
                Anchor::Middle,
                TEXT,
                BLACK,
                text.clone(),
            );
            free_from = x + half + TEXT / 2.0;
        }
    }
    let mut y = bottom + TICK + GAP / 2.0 + TEXT + GAP;
    for line in wrap(&scale.label, TEXT, (right - left).max(scene.panel * 0.6), 2) {
        let middle = f64::midpoint(left, right);
        scene.text((middle, y + TEXT / 2.0), Anchor::Middle, TEXT, BLACK, line);
        y += TEXT * LEADING;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multiples::MOST;

    /// Red, green and blue without the curve of screens.
    fn linear(Color(red, green, blue): Color) -> [f64; 3] {
        let one = |c: u8| match f64::from(c) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => libm::pow((c + 0.055) / 1.055, 2.4),
        };
        [one(red), one(green), one(blue)]
    }

    fn times(matrix: [[f64; 3]; 3], of: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
    }

    /// Lightness and the two hues of CIELAB under D65.
    fn lab(color: [f64; 3]) -> [f64; 3] {
        let xyz = times(
            [
                [0.4124, 0.3576, 0.1805],
                [0.2126, 0.7152, 0.0722],
                [0.0193, 0.1192, 0.9505],
            ],
            color,
        );
        let part = |t: f64| match t > 0.008856 {
            true => libm::cbrt(t),
            false => 7.787 * t + 16.0 / 116.0,
        };
        let [x, y, z] = [part(xyz[0] / 0.95047), part(xyz[1]), part(xyz[2] / 1.08883)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..MOST).flat_map(|a| (0..a).map(move |b| (b, a)))
    }

    fn apart(seen: impl Fn([f64; 3]) -> [f64; 3], (a, b): (usize, usize)) -> f64 {
        let [a, b] = [a, b].map(|index| lab(seen(linear(data_color(index)))));
        libm::sqrt(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum())
    }

    /// The matrix for full deuteranopia: G. M. Machado, M. M. Oliveira and L. A. F. Fernandes 2009,
    /// table 1. A difference of 2.3 is just noticed.
    #[test]
    fn colours_differ_for_those_who_see_no_green() {
        const NO_GREEN: [[f64; 3]; 3] = [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ];
        let seen = |color| times(NO_GREEN, color).map(|c| c.clamp(0.0, 1.0));
        for pair in pairs() {
            assert!(apart(seen, pair) > 15.0, "{pair:?}: {}", apart(seen, pair));
        }
    }

    #[test]
    fn curves_of_one_grey_differ_in_dash() {
        let seen = |[red, green, blue]: [f64; 3]| [0.2126 * red + 0.7152 * green + 0.0722 * blue; 3];
        for (a, b) in pairs().filter(|pair| apart(seen, *pair) < 10.0) {
            assert!(data_dash(a) != data_dash(b), "{a} and {b}");
        }
    }
}
