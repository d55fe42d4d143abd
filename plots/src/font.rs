//! The one font of all figures: how wide a text is, how to break or cut it, and its outlines.
//!
//! The font comes with the program, because a bare machine has none. Text widths are measured in
//! it. PNG files are painted from its outlines; SVG and PDF files embed its glyphs that they show
//! (`subset.rs`), so that they look the same wherever they are opened.

mod subset;

pub(crate) use subset::Subset;

use crate::scene::Point;
use ab_glyph::{Font, FontRef, Glyph, GlyphId, OutlineCurve, ScaleFont, point};
use folkmoot_metrics::words::visible;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// DejaVu Sans 2.37; its licence lies beside it.
static BYTES: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

/// Its name, and the fonts that stand in for it where an SVG is opened without it; none is wider.
pub(crate) const FAMILY: &str = "DejaVu Sans";
const STAND_INS: &str = "Verdana,sans-serif";

/// From the middle of a line of text down to its baseline, in ems: half of the font's x-height, as
/// SVG's `0.5ex`.
pub(crate) const HALF_X_HEIGHT: f64 = 0.273;

/// The height of a line of text over its size.
pub(crate) const LEADING: f64 = 1.3;

fn font() -> &'static FontRef<'static> {
    static FONT: OnceLock<FontRef<'static>> = OnceLock::new();
    FONT.get_or_init(|| FontRef::try_from_slice(BYTES).expect("the font shipped with the crate is a valid one"))
}

/// The characters of `text` that the font lacks, each once; PNG and PDF files show boxes in their
/// place.
pub(crate) fn lacking(text: &str) -> BTreeSet<char> {
    let is_lacking = |c: &char| !c.is_whitespace() && font().glyph_id(*c).0 == 0;
    visible(text).chars().filter(is_lacking).collect()
}

/// Units of the font in an em.
fn units_per_em() -> f32 {
    font().units_per_em().unwrap_or(2048.0)
}

/// Scales so that `size` is that of an em, as in CSS.
fn px_scale(size: f64) -> f32 {
    size as f32 * font().height_unscaled() / units_per_em()
}

/// The width of `text` at `size` pixels an em.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    glyphs(text, size).1
}

/// The glyphs of `text` with their places on a baseline that starts at the origin, and the width of
/// it all.
fn glyphs(text: &str, size: f64) -> (Vec<Glyph>, f64) {
    let font = font().as_scaled(px_scale(size));
    let mut x = 0.0_f32;
    let mut last = None;
    let mut glyphs = Vec::with_capacity(text.len());
    for c in text.chars() {
        let id = font.glyph_id(c);
        x += last.map_or(0.0, |last| font.kern(last, id));
        glyphs.push(id.with_scale_and_position(font.scale(), point(x, 0.0)));
        x += font.h_advance(id);
        last = Some(id);
    }
    (glyphs, f64::from(x))
}

/// The outlines of `text` on a baseline that starts at the origin, as quadratic curves with their
/// control points in the middle, and the width of it all.
pub(crate) fn outlines(text: &str, size: f64) -> (Vec<[Point; 3]>, f64) {
    let (glyphs, width) = glyphs(text, size);
    let mut curves = Vec::new();
    for glyph in glyphs {
        let scale = font().as_scaled(glyph.scale).scale_factor();
        let outline = font().outline(glyph.id).map_or(Vec::new(), |outline| outline.curves);
        let placed = |point: ab_glyph::Point| {
            let (x, y) = (point.x * scale.horizontal, point.y * -scale.vertical);
            (f64::from(glyph.position.x + x), f64::from(y))
        };
        curves.extend(outline.into_iter().map(|curve| match curve {
            OutlineCurve::Quad(from, control, to) => [from, control, to].map(placed),
            // A TrueType font has no cubic curves.
            OutlineCurve::Line(from, to) | OutlineCurve::Cubic(from, _, _, to) => [from, from, to].map(placed),
        }));
    }
    (curves, width)
}

/// `text` with hidden characters written as in a card, cut with an ellipsis where it is wider than
/// `limit`.
pub(crate) fn fit(text: &str, size: f64, limit: f64) -> String {
    let text = visible(text).into_owned();
    if width(&text, size) <= limit {
        return text;
    }
    let mut kept: Vec<char> = text.chars().collect();
    loop {
        kept.pop();
        let short: String = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if kept.is_empty() || width(&short, size) <= limit {
            return short;
        }
    }
}

/// `text` in at most `max_lines` lines of at most `limit` pixels, broken at spaces; the last is cut
/// if need be.
pub(crate) fn wrap(text: &str, size: f64, limit: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in &unbroken(text) {
        let full = lines.len() >= max_lines;
        match lines.last_mut() {
            Some(line) if full || width(&format!("{line} {word}"), size) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fit(line, size, limit)).collect()
}

/// The words of a text; a number, its half-width and its unit are one, and signs stay with what is
/// before them.
fn unbroken(text: &str) -> Vec<String> {
    const SIGNS: [&str; 4] = ["±", "=", "↑", "↓"];
    const UNITS: [&str; 10] = ["%", "s", "ms", "min", "h", "B", "kB", "MB", "GB", "points"];
    let mut words: Vec<String> = Vec::new();
    let ends_in_digit = |word: &String| word.ends_with(|c: char| c.is_ascii_digit());
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
        match words.last_mut() {
            Some(last)
                if SIGNS.contains(&word)
                    || last.ends_with(['±', '='])
                    || (UNITS.contains(&bare) && ends_in_digit(last)) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_parted_from_its_unit() {
        let words = unbroken("lower (−2.9 ± 0.5 s); its 95 % interval, 3 s, at δ = 1 ↑");
        let expected = [
            "lower",
            "(−2.9 ± 0.5 s);",
            "its",
            "95 %",
            "interval,",
            "3 s,",
            "at",
            "δ = 1 ↑",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_text_that_fits_is_left_alone_and_one_that_does_not_ends_in_an_ellipsis() {
        assert_eq!(fit("ε = 1", 40.0, 1000.0), "ε = 1");
        let cut = fit("a very long label of an axis", 40.0, 200.0);
        assert!(cut.ends_with('…') && width(&cut, 40.0) <= 200.0);
        assert_eq!(fit("a\nb", 40.0, 1000.0), "a\\nb");
    }

    #[test]
    fn what_the_font_lacks_is_known() {
        assert_eq!(lacking("Zürich ε ↑ ± Київ naïve\n"), BTreeSet::new());
        assert_eq!(lacking("算法 算 x"), BTreeSet::from(['算', '法']));
    }

    #[test]
    fn wrapping_keeps_every_word_unless_it_must_cut() {
        let lines = wrap("bytes sent by all clients", 40.0, 300.0, 3);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), "bytes sent by all clients");
        let lines = wrap("bytes sent by all clients of the population", 40.0, 300.0, 2);
        assert!(lines.len() == 2 && lines[1].ends_with('…'));
    }
}
