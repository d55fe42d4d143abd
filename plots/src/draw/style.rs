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
