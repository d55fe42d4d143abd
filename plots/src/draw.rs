//! Laying out a figure: title, notes, panels side by side.
//!
//! A figure of one panel is 84 mm wide in print, as a column of a journal; one of several is 174 mm
//! wide, with at most three in a row. Text is at least 6 pt high. Legends lie below the axes and
//! never on the data; every text is measured before it is placed, and wrapped or cut to its room.

mod area;
mod bars;
mod client_data;
mod heat;
mod legend;
mod lines;
mod style;
mod timeline;

use crate::font::{LEADING, wrap};
use crate::scene::{Anchor, BLACK, GREY, Scene};
use folkmoot_metrics::figure::{Bars, Figure, Lines, Panel, Role, Series};
use lines::Naming;
use style::{AREA, BESIDE, COLUMN_MM, EDGE, GAP, LEAST, LOWEST, PAGE_MM, PANEL, PANEL_MM, POINTS, SMALL, TEXT, TITLE};

/// The lines that a note has at most.
const NOTE_LINES: usize = 6;
/// How many curves or rows a panel shows at most: more could not be told apart, nor printed.
const MOST: usize = 40;

/// Leaves out what is beyond [`MOST`] and says how much that is.
fn cut(panel: &mut Panel) -> usize {
    match panel {
        Panel::Lines(lines) => {
            let beyond = |series: &Series| matches!(series.role, Role::Data(n) | Role::TheoryOf(n) | Role::Theory(n) | Role::Control(n) if n >= MOST);
            let n_hidden = lines
                .series
                .iter()
                .filter(|series| matches!(series.role, Role::Data(_)) && beyond(series))
                .count();
            lines.series.retain(|series| !beyond(series));
            n_hidden
        }
        Panel::Bars(bars) => bars.rows.split_off(bars.rows.len().min(MOST)).len(),
        Panel::Heat(_) | Panel::ClientData(_) | Panel::Timeline(_) => 0,
    }
}

/// How figures look, where that is not left to the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// The width of a whole figure in print, in millimetres; by default 84 for one panel and 174
    /// for several.
    pub width_mm: Option<f64>,
    /// The height of the area between the axes, in millimetres; by default 0.45 of a panel's width,
    /// and at least 33.
    pub height_mm: Option<f64>,
    /// The size of text in print, in points; by default 6.6.
    pub font_pt: Option<f64>,
    /// Whether the title is left out.
    pub no_title: bool,
}

impl Look {
    /// Whether a page of this size can be drawn and read.
    ///
    /// # Errors
    ///
    /// What is too small or too large, and the way out.
    pub(crate) fn check(&self) -> Result<(), String> {
        const MOST: f64 = 20_000.0;
        let a_mm = self.pixels_a_mm();
        let (width, height) = (
            self.width_mm.unwrap_or(COLUMN_MM) * a_mm,
            self.height_mm.unwrap_or(0.0) * a_mm,
        );
        if width < LEAST {
            return Err(format!(
                "at this size of text no axis has room for its labels in {:.0} mm; make figures {:.0} mm wide, or text smaller",
                width / a_mm,
                (LEAST / a_mm).ceil()
            ));
        }
        if width.max(height) > MOST {
            return Err(format!(
                "at this size of text a figure has at most {:.0} mm on a side; make it smaller, or text larger",
                MOST / a_mm
            ));
        }
        Ok(())
    }

    /// Text has its size in pixels whatever the page is in print, so that it is the page that grows
    /// or shrinks.
    fn pixels_a_mm(&self) -> f64 {
        let plain_pt = TEXT * PANEL_MM * POINTS / PANEL;
        TEXT / self.font_pt.unwrap_or(plain_pt) * POINTS
    }

    /// An empty page for so many panels, and how many of them stand side by side.
    fn page(&self, n_panels: usize) -> (Scene, usize) {
        let pixels_a_mm = self.pixels_a_mm();
        let usual = if n_panels > 1 { PAGE_MM } else { COLUMN_MM };
        let width = self.width_mm.unwrap_or(usual) * pixels_a_mm;
        // Where panels have no room beside each other they stand below each other.
        let room = ((width / BESIDE) as usize).clamp(1, 3);
        let n_columns = match n_panels {
            // Two and one would leave a quarter of the page empty.
            3 if room == 2 => 1,
            4 => room.min(2),
            n => n.clamp(1, room),
        };
        let panel = (width / n_columns as f64).max(LEAST);
        let page = Scene {
            panel,
            area: self.height_mm.map_or((panel * AREA / PANEL).max(LOWEST), |height| {
                (height * pixels_a_mm).max(AREA * 0.3)
            }),
            width_mm: panel * n_columns as f64 / pixels_a_mm,
            ..Scene::default()
        };
        (page, n_columns)
    }

    fn title_of<'a>(&self, figure: &'a Figure) -> &'a str {
        if self.no_title { "" } else { &figure.title }
    }
}

/// What the legends of several panels say together, if a name looks alike in all of them.
fn common_legend(panels: &[Panel]) -> Option<Lines> {
    let lines = panels.iter().map(|panel| match panel {
        Panel::Lines(lines) => Some(lines),
        Panel::Bars(_) | Panel::Heat(_) | Panel::ClientData(_) | Panel::Timeline(_) => None,
    });
    let all: Option<Vec<&Lines>> = lines.collect();
    let all = all.filter(|all| all.len() > 1)?;
    let mut common = all[0].clone();
    common.series.retain(|series| !series.label.is_empty());
    for lines in &all[1..] {
        for series in lines.series.iter().filter(|series| !series.label.is_empty()) {
            let mut is_known = false;
            for known in &common.series {
                let (is_named, is_drawn) = (known.label == series.label, known.role == series.role);
                let is_theory = matches!((known.role, series.role), (Role::TheoryOf(_), Role::TheoryOf(_)));
                if is_named != is_drawn && !is_theory {
                    return None;
                }
                is_known |= is_named && is_drawn;
            }
            if !is_known {
                common.series.push(series.clone());
            }
        }
    }
    (!common.series.is_empty()).then_some(common)
}

/// The letter of the panel at this place.
pub(crate) fn letter(place: usize) -> char {
    u8::try_from(place).map_or('z', |place| char::from(b'a' + place.min(25)))
}

/// Panels of a figure have letters.
fn letter_it(panel: &mut Panel, letter: char) {
    let above = match panel {
        Panel::Lines(lines) => &mut lines.y.above,
        Panel::Bars(bars) => &mut bars.x.above,
        Panel::ClientData(split) => &mut split.above,
        Panel::Heat(heat) => &mut heat.title,
        Panel::Timeline(_) => return,
    };
    *above = format!("({letter}) {above}").trim_end().to_owned();
}

/// Theory and controls look alike in all panels where they have the same name, and in none where
/// they have another.
fn number_references(panels: &mut [Panel]) {
    let mut known: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for panel in panels {
        let Panel::Lines(lines) = panel else { continue };
        for series in &mut lines.series {
            let names = match series.role {
                Role::Theory(_) => &mut known[0],
                Role::Control(_) => &mut known[1],
                Role::Data(_) | Role::TheoryOf(_) => continue,
            };
            let place = names.iter().position(|name| *name == series.label);
            let index = place.unwrap_or_else(|| {
                names.push(series.label.clone());
                names.len() - 1
            });
            series.role = match series.role {
                Role::Theory(_) => Role::Theory(index),
                _ => Role::Control(index),
            };
        }
    }
}

/// Curves of quantities that have the same bounds get the same range, so that they can be compared.
fn share_ranges(panels: &mut [Panel]) {
    let mut known: Vec<((f64, f64), Vec<f64>)> = Vec::new();
    for panel in panels.iter() {
        let Panel::Lines(lines) = panel else { continue };
        let Some(bounds) = lines.y.bounds else { continue };
        let values = lines.series.iter().flat_map(|series| &series.points).map(|(_, y)| *y);
        let values = values.filter(|y| y.is_finite());
        let ends = [
            values.clone().fold(f64::INFINITY, f64::min),
            values.fold(f64::NEG_INFINITY, f64::max),
        ];
        match known.iter_mut().find(|(of, _)| *of == bounds) {
            Some((_, all)) => all.extend(ends),
            None => known.push((bounds, ends.to_vec())),
        }
    }
    for panel in panels {
        let Panel::Lines(lines) = panel else { continue };
        let ends = known.iter().find(|(of, _)| Some(*of) == lines.y.bounds);
        lines
            .y
            .reach
            .extend(ends.iter().flat_map(|(_, ends)| ends.iter().copied()));
    }
}

/// What panels have in common, once they are ready to be drawn.
struct Shared {
    /// The legend of panels of curves, unless the names stand at the curves of one.
    lines: Option<Lines>,
    is_named: bool,
    /// The legend of references of rows.
    references: Option<Bars>,
}

/// Makes panels ready: their letters and ranges, and what is left out of them, which is noted.
fn prepared(figure: &Figure, panel: f64) -> (Vec<Panel>, Vec<String>, Shared) {
    let mut notes = figure.notes.clone();
    let mut panels = figure.panels.clone();
    let n_hidden = panels.iter_mut().map(cut).max().unwrap_or(0);
    if n_hidden > 0 {
        notes.push(format!("The first {MOST} are drawn; {n_hidden} more are in the table."));
    }
    let left_out = |panel: &Panel| match panel {
        Panel::Lines(lines) => lines::scales(lines).iter().any(|scale| scale.left_out),
        Panel::Bars(_) | Panel::Heat(_) | Panel::ClientData(_) | Panel::Timeline(_) => false,
    };
    if panels.iter().any(left_out) {
        notes.push("Zeros have no place on a logarithmic axis and are left out.".to_owned());
    }
    for panel in &mut panels {
        if let Panel::Bars(bars) = panel {
            notes.extend(bars::without_far_references(bars));
            notes.extend(bars::outside(bars));
        }
    }
    if panels.len() > 1 {
        for (place, panel) in panels.iter_mut().enumerate() {
            letter_it(panel, letter(place));
        }
    }
    share_ranges(&mut panels);
    number_references(&mut panels);
    let lines = common_legend(&panels);
    // One of the panels that have the same names has them at its curves.
    let is_named = lines.as_ref().is_some_and(|lines| lines::names_at_ends(lines, panel));
    let references = bars::with_common_references(&mut panels);
    let lines = lines.filter(|_| !is_named);
    let shared = Shared {
        lines,
        is_named,
        references,
    };
    (panels, notes, shared)
}

impl Shared {
    /// Draws a panel and returns its height; where `is_last` of the first row, with the names that
    /// all of them have.
    fn draw(&self, scene: &mut Scene, panel: &Panel, origin: (f64, f64), is_last: bool) -> f64 {
        match panel {
            Panel::Lines(lines) => {
                let naming = match self.is_named || self.lines.is_some() {
                    true if self.is_named && is_last => Naming::Ends,
                    true => Naming::None,
                    false if lines::names_at_ends(lines, scene.panel) => Naming::Ends,
                    false => Naming::Legend,
                };
                lines::draw(scene, lines, origin, naming)
            }
            Panel::Bars(bars) => bars::draw(scene, bars, origin, self.references.is_none()),
            Panel::Heat(heat) => heat::draw(scene, heat, origin),
            Panel::Timeline(timeline) => timeline::draw(scene, timeline, origin),
            Panel::ClientData(split) => client_data::draw(scene, split, origin),
        }
    }

    /// Draws what all panels have below them, and returns where it ends.
    fn draw_legends(&self, scene: &mut Scene, mut y: f64, width: f64) -> f64 {
        if let Some(lines) = &self.lines {
            y = lines::draw_legend(scene, lines, (0.0, y - EDGE), width) + EDGE;
        }
        if let Some(bars) = &self.references {
            y = bars::draw_legend(scene, bars, (0.0, y - EDGE), width) + EDGE;
        }
        y
    }
}

/// Lays a figure out.
pub(crate) fn lay_out(figure: &Figure, look: &Look) -> Scene {
    let (mut scene, n_columns) = look.page(figure.panels.len());
    let width = scene.panel * n_columns as f64;
    let mut y = EDGE;
    for line in wrap(look.title_of(figure), TITLE, width - 2.0 * EDGE, 2) {
        scene.text((EDGE, y + TITLE * LEADING / 2.0), Anchor::Start, TITLE, BLACK, line);
        y += TITLE * LEADING;
    }
    let (panels, notes, shared) = prepared(figure, scene.panel);
    for line in notes
        .iter()
        .flat_map(|note| wrap(note, SMALL, width - 2.0 * EDGE, NOTE_LINES))
    {
        scene.text((EDGE, y + SMALL * LEADING / 2.0), Anchor::Start, SMALL, GREY, line);
        y += SMALL * LEADING;
    }
    y += GAP;
    for (nth, row) in panels.chunks(n_columns).enumerate() {
        let heights = row.iter().enumerate().map(|(column, panel)| {
            let origin = (scene.panel * column as f64, y);
            let is_last = column + 1 == row.len() && nth == 0;
            shared.draw(&mut scene, panel, origin, is_last)
        });
        y += heights.fold(0.0, f64::max) + EDGE;
    }
    y = shared.draw_legends(&mut scene, y, width);
    scene.width = width as u32;
    scene.height = y.ceil() as u32;
    scene
}

/// A figure in parts.
pub(crate) struct Parts {
    pub(crate) panels: Vec<Scene>,
    /// What panels have in common.
    pub(crate) legend: Option<Scene>,
    pub(crate) notes: Vec<String>,
}

/// Lays the panels of a figure out, each by itself.
pub(crate) fn lay_out_parts(figure: &Figure, look: &Look) -> Parts {
    let (empty, _) = look.page(1);
    let (panels, notes, shared) = prepared(figure, empty.panel);
    let ended = |mut scene: Scene, y: f64| {
        scene.width = scene.panel as u32;
        scene.height = y.ceil() as u32;
        scene
    };
    let part = |(at, panel): (usize, &Panel)| {
        let mut scene = empty.clone();
        let height = shared.draw(&mut scene, panel, (0.0, EDGE), at + 1 == panels.len());
        ended(scene, height + 2.0 * EDGE)
    };
    let drawn = panels.iter().enumerate().map(part).collect();
    let has_legend = shared.lines.is_some() || shared.references.is_some();
    let legend = has_legend.then(|| {
        let mut scene = empty.clone();
        let y = shared.draw_legends(&mut scene, EDGE, empty.panel);
        ended(scene, y)
    });
    Parts {
        panels: drawn,
        legend,
        notes,
    }
}
