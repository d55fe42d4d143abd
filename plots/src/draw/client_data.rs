//! A panel of the data of clients, a column each: cells for the labels of their items, and bars for
//! the numbers of items and edges.

use super::legend::{self, Sample};
use super::style::{EDGE, GAP, SMALL, TEXT, TICK, data_color};
use crate::draw::heat::shade;
use crate::font::{LEADING, fit, width, wrap};
use crate::names::{Unit, capital, si};
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, GREY, GRID, PALETTE, Point, Scene};
use folkmoot_metrics::figure::{Axis, ClientDataPanel, Column};

/// Minimum and maximum height of a cell.
const CELL_HEIGHT_RANGE: (f64, f64) = (26.0, 64.0);
/// Height of all cells, with enough labels.
const CELLS_HEIGHT: f64 = 520.0;
/// Height of a panel of bars.
const BARS_HEIGHT: f64 = 190.0;
/// Least width of a cell that shows its number.
const MIN_WIDTH_FOR_TEXT: f64 = 90.0;

struct Frame<'a> {
    left: f64,
    right: f64,
    columns: &'a [Column],
}

impl Frame<'_> {
    fn x(&self, column: usize) -> f64 {
        self.left + (self.right - self.left) * column as f64 / self.columns.len() as f64
    }
}

/// Draws the panel at `origin` and returns its height.
pub(super) fn draw(scene: &mut Scene, split: &ClientDataPanel, origin: Point) -> f64 {
    let widest = split.labels.iter().map(|label| width(label, SMALL));
    let widest = widest.fold(width("100k", TEXT), f64::max).min(scene.panel * 0.22);
    let frame = Frame {
        left: origin.0 + EDGE + widest + GAP,
        right: origin.0 + scene.panel - EDGE,
        columns: &split.columns,
    };
    let mut y = origin.1;
    if !split.above.is_empty() {
        y = title(scene, &frame, &split.above, y);
    }
    if !split.labels.is_empty() {
        y = cells(scene, split, &frame, widest, y);
    }
    let size = |column: &Column| [column.size, 0.0];
    y = bars(
        scene,
        &frame,
        &format!("{} of a client", capital(&split.items)),
        y,
        &size,
    );
    let has_edges = split.columns.iter().any(|column| column.inner + column.cut > 0.0);
    if has_edges {
        let edges = |column: &Column| [column.inner, column.cut];
        y = bars(scene, &frame, "Edges of a client", y, &edges);
    }
    y = clients(scene, &frame, y);
    let sample = |index: usize| -> Sample<'_> {
        Box::new(move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            scene.rect((x0, y0 + 8.0), (x1 - 10.0, y1 - 8.0), ink(index));
        })
    };
    let entries = vec![
        ("inside its shard".to_owned(), sample(0)),
        ("to what others hold (cut)".to_owned(), sample(1)),
    ];
    let is_cut = split.columns.iter().any(|column| column.cut > 0.0);
    match has_edges && is_cut {
        true => legend::draw(scene, &entries, (origin.0, y), scene.panel) - origin.1,
        false => y - origin.1,
    }
}

fn ink(part: usize) -> crate::scene::Color {
    if part == 0 { data_color(0) } else { PALETTE[4] }
}

fn title(scene: &mut Scene, frame: &Frame<'_>, text: &str, y: f64) -> f64 {
    let mut y = y;
    for line in wrap(text, TEXT, frame.right - frame.left, 2) {
        scene.text((frame.left, y + TEXT * LEADING / 2.0), Anchor::Start, TEXT, BLACK, line);
        y += TEXT * LEADING;
    }
    y + GAP / 2.0
}

/// A row of cells for each label, darker for more items; returns where they end.
fn cells(scene: &mut Scene, split: &ClientDataPanel, frame: &Frame<'_>, widest: f64, y: f64) -> f64 {
    let most = split
        .columns
        .iter()
        .flat_map(|column| &column.items)
        .copied()
        .fold(0.0, f64::max);
    let text = format!(
        "{} by label, up to {} of one label at a client",
        capital(&split.items),
        si(most.ceil())
    );
    let top = title(scene, frame, &text, y);
    let height = (CELLS_HEIGHT / split.labels.len() as f64).clamp(CELL_HEIGHT_RANGE.0, CELL_HEIGHT_RANGE.1);
    // Labels are as large as other small text; where rows are lower, some have none.
    let every = (SMALL / height).ceil() as usize;
    for (row, label) in split.labels.iter().enumerate() {
        let y = top + height * row as f64;
        if row.is_multiple_of(every) {
            let at = (frame.left - GAP, y + height / 2.0);
            scene.text(at, Anchor::End, SMALL, BLACK, fit(label, SMALL, widest));
        }
        for (at, column) in split.columns.iter().enumerate() {
            let n = column.items[row];
            if !(n > 0.0 && most > 0.0) {
                continue;
            }
            let (x0, x1) = (frame.x(at), frame.x(at + 1));
            // Square root, so small counts stay visible.
            let share = (n / most).sqrt();
            scene.rect((x0, y), (x1, y + height), shade(0.06 + 0.94 * share));
            if x1 - x0 >= MIN_WIDTH_FOR_TEXT && height >= SMALL {
                let color = if share > 0.6 { crate::scene::WHITE } else { BLACK };
                let text = fit(&si(n.round()), SMALL, x1 - x0);
                scene.text(
                    (f64::midpoint(x0, x1), y + height / 2.0),
                    Anchor::Middle,
                    SMALL,
                    color,
                    text,
                );
            }
        }
    }
    let bottom = top + height * split.labels.len() as f64;
    scene.frame((frame.left, top), (frame.right, bottom), BLACK, 3.0);
    bottom + 2.0 * GAP
}

/// A bar for each column, of two parts on top of each other; returns where they end.
fn bars(scene: &mut Scene, frame: &Frame<'_>, text: &str, y: f64, parts: &dyn Fn(&Column) -> [f64; 2]) -> f64 {
    let top = title(scene, frame, text, y);
    let bottom = top + BARS_HEIGHT;
    let sums: Vec<f64> = frame.columns.iter().map(|column| parts(column).iter().sum()).collect();
    let axis = Axis {
        log_beyond: None,
        ..Axis::amount("", Unit::Count)
    };
    let scale = Scale::fit(&axis, &sums, 3);
    let place = |value: f64| bottom - scale.place_clamped(value) * BARS_HEIGHT;
    for (value, text) in &scale.ticks {
        let y = place(*value);
        scene.line(vec![(frame.left, y), (frame.right, y)], GRID, 2.0);
        scene.line(vec![(frame.left - TICK, y), (frame.left, y)], BLACK, 3.0);
        scene.text(
            (frame.left - TICK - GAP / 2.0, y),
            Anchor::End,
            SMALL,
            BLACK,
            text.clone(),
        );
    }
    for (at, column) in frame.columns.iter().enumerate() {
        let (x0, x1) = (frame.x(at), frame.x(at + 1));
        let apart = if x1 - x0 > 12.0 { (x1 - x0) * 0.12 } else { 0.0 };
        let mut from = 0.0;
        for (index, part) in parts(column).into_iter().enumerate().filter(|(_, part)| *part > 0.0) {
            scene.rect((x0 + apart, place(from + part)), (x1 - apart, place(from)), ink(index));
            from += part;
        }
    }
    scene.frame((frame.left, top), (frame.right, bottom), BLACK, 3.0);
    bottom + 2.0 * GAP
}

/// The numbers of clients below all; returns where they end.
fn clients(scene: &mut Scene, frame: &Frame<'_>, y: f64) -> f64 {
    let y = y - GAP;
    let mut free_from = 0.0;
    for (at, column) in frame.columns.iter().enumerate() {
        let text = column.client.to_string();
        let (x, half) = (f64::midpoint(frame.x(at), frame.x(at + 1)), width(&text, SMALL) / 2.0);
        if x - half < free_from {
            continue;
        }
        scene.line(vec![(x, y - GAP), (x, y - GAP + TICK)], BLACK, 3.0);
        scene.text((x, y + SMALL / 2.0), Anchor::Middle, SMALL, BLACK, text);
        // Far enough apart to be read one by one.
        free_from = x + half + 2.0 * SMALL;
    }
    let y = y + SMALL * LEADING;
    let middle = f64::midpoint(frame.left, frame.right);
    scene.text((middle, y + TEXT / 2.0), Anchor::Middle, TEXT, GREY, "Client");
    y + TEXT * LEADING
}
