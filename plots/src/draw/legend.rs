//! The legend: a grid of samples and names below a panel.

use super::style::{EDGE, GAP, SMALL, TEXT};
use crate::font::{LEADING, fit, width};
use crate::scene::{Anchor, BLACK, Point, Scene};

/// How a sample is drawn into the box given by its upper left and lower right.
pub(super) type Sample<'a> = Box<dyn Fn(&mut Scene, Point, Point) + 'a>;

/// The width of a sample.
const SAMPLE: f64 = 90.0;

/// Draws `entries` in columns below `top`, in so much room; returns where the legend ends.
pub(super) fn draw(scene: &mut Scene, entries: &[(String, Sample<'_>)], (left, top): Point, room: f64) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let most = if room > scene.panel { 8 } else { 4 };
    let room = room - 2.0 * EDGE;
    // A long legend is set smaller, so that it does not outgrow the figure.
    let size = if entries.len() > 6 { SMALL } else { TEXT };
    let texts: Vec<String> = entries
        .iter()
        .map(|(text, _)| fit(text, size, room - SAMPLE - GAP))
        .collect();
    let widest = texts.iter().map(|text| width(text, size)).fold(0.0, f64::max);
    let cell = SAMPLE + GAP + widest + 2.5 * GAP;
    let n_columns = (((room + 2.5 * GAP) / cell) as usize).clamp(1, most);
    let n_rows = entries.len().div_ceil(n_columns);
    let row_height = size * LEADING;
    for (i, ((name, sample), text)) in entries.iter().zip(texts).enumerate() {
        // Down the columns, so that what belongs together stays together.
        let (column, row) = (i / n_rows, i % n_rows);
        let (x, y) = (left + EDGE + column as f64 * cell, top + GAP + row as f64 * row_height);
        scene.of_arm(name, |scene| {
            sample(scene, (x, y), (x + SAMPLE, y + row_height));
            let at = (x + SAMPLE + GAP, y + row_height / 2.0);
            scene.text(at, Anchor::Start, size, BLACK, text);
        });
    }
    top + GAP + n_rows as f64 * row_height
}
