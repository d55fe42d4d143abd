//! A scene as a PDF page of its size in print, for papers.
//!
//! Texts can be searched and copied: the file embeds the glyphs that it shows, as a font with a map
//! from glyphs to characters.

use crate::about::About;
use crate::font::{FAMILY, HALF_X_HEIGHT, Subset, width};
use crate::names::capital;
use crate::scene::{Color, Point, Scene, Shape};
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;

/// How hard to pack: as a PNG of the same figure.
const LEVEL: u8 = 6;

/// Points in a millimetre.
const POINTS: f32 = 72.0 / 25.4;

/// The numbers of the objects.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const INFO: Ref = Ref::new(5);
const FONT: Ref = Ref::new(6);
const GLYPHS: Ref = Ref::new(7);
const DESCRIPTOR: Ref = Ref::new(8);
const FONT_FILE: Ref = Ref::new(9);
const TO_UNICODE: Ref = Ref::new(10);

/// Beyond this no reader of the format need go.
const FAR: f64 = 16_000.0;

/// What the page calls its font.
const FONT_NAME: Name<'_> = Name(b"F");

/// The scene as the bytes of a PDF file.
pub(crate) fn pdf(scene: &Scene, about: &About<'_>) -> Vec<u8> {
    let points_a_pixel = scene.width_mm as f32 * POINTS / scene.width.max(1) as f32;
    let (page_width, page_height) = (
        scene.width as f32 * points_a_pixel,
        scene.height as f32 * points_a_pixel,
    );
    let mut page = Page {
        drawn: Content::new(),
        shades: BTreeMap::new(),
        font: scene.texts().next().map(|_| Subset::of(scene.texts())),
    };
    // Pixels from the upper left.
    page.drawn
        .transform([points_a_pixel, 0.0, 0.0, -points_a_pixel, 0.0, page_height]);
    page.drawn.set_line_join(LineJoinStyle::RoundJoin);
    scene.shapes.iter().for_each(|shape| page.paint(shape));
    let Page { drawn, shades, font } = page;
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut of_page = pdf.page(PAGE);
    of_page
        .parent(PAGES)
        .media_box(Rect::new(0.0, 0.0, page_width, page_height))
        .contents(CONTENT);
    let mut resources = of_page.resources();
    let mut states = resources.ext_g_states();
    for (name, alpha) in shades.into_values() {
        states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>()
            .non_stroking_alpha(alpha);
    }
    states.finish();
    if font.is_some() {
        resources.fonts().pair(FONT_NAME, FONT);
    }
    resources.finish();
    of_page.finish();
    let packed = compress_to_vec_zlib(&drawn.finish(), LEVEL);
    pdf.stream(CONTENT, &packed).filter(Filter::FlateDecode);
    if let Some(font) = &font {
        embed(&mut pdf, font);
    }
    let mut info = pdf.document_info(INFO);
    for (key, text) in about.said() {
        // Keys are words without spaces.
        let key: String = key.split([' ', '.']).map(capital).collect();
        let key = if key == "Software" { "Creator" } else { &key };
        info.pair(Name(key.as_bytes()), TextStr(text));
    }
    info.subject(TextStr(&about.description));
    info.finish();
    pdf.finish()
}

/// Writes the font: its glyphs, their widths, and the characters that they stand for.
fn embed(pdf: &mut Pdf, font: &Subset) {
    let unpacked = font.file();
    // A name that no other subset has.
    let mut sum = crc32fast::hash(unpacked);
    let letters = [(); 6].map(|()| {
        let letter = b'A' + (sum % 26) as u8;
        sum /= 26;
        char::from(letter)
    });
    let name = format!("{}+{}", String::from_iter(letters), FAMILY.replace(' ', ""));
    let name = Name(name.as_bytes());
    let system = || SystemInfo {
        registry: Str(b"Adobe"),
        ordering: Str(b"Identity"),
        supplement: 0,
    };
    pdf.type0_font(FONT)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(GLYPHS)
        .to_unicode(TO_UNICODE);
    let mut glyphs = pdf.cid_font(GLYPHS);
    glyphs
        .subtype(CidFontType::Type2)
        .base_font(name)
        .system_info(system())
        .font_descriptor(DESCRIPTOR)
        .cid_to_gid_map_predefined(Name(b"Identity"));
    glyphs.widths().consecutive(0, font.widths());
    glyphs.finish();
    let [left, below, right, above] = font.bounds();
    let [ascent, descent] = font.heights();
    pdf.font_descriptor(DESCRIPTOR)
        .name(name)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(left, below, right, above))
        .italic_angle(0.0)
        .ascent(ascent)
        .descent(descent)
        .cap_height(ascent)
        .stem_v(STEM)
        .font_file2(FONT_FILE);
    let packed = compress_to_vec_zlib(unpacked, LEVEL);
    pdf.stream(FONT_FILE, &packed)
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), unpacked.len() as i32);
    let mut characters = UnicodeCmap::new(Name(b"Characters"), system());
    for (glyph, c) in font.characters() {
        characters.pair(glyph, c);
    }
    let packed = compress_to_vec_zlib(&characters.finish(), LEVEL);
    pdf.cmap(TO_UNICODE, &packed).filter(Filter::FlateDecode);
}

/// The width of an upright stem, in thousandths of an em, for readers that replace the font.
const STEM: f32 = 90.0;

/// The opacities that a page needs, by their bits, each with its name.
type Shades = BTreeMap<u32, (String, f32)>;

/// A page that is being drawn.
struct Page {
    drawn: Content,
    shades: Shades,
    /// None where there is no text.
    font: Option<Subset>,
}

impl Page {
    fn paint(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { points, color, width } => {
                let [red, green, blue] = shares(*color);
                self.drawn
                    .set_stroke_rgb(red, green, blue)
                    .set_line_width(*width as f32);
                if outline(&mut self.drawn, points) {
                    self.drawn.stroke();
                }
            }
            Shape::Polygon { points, color, alpha } => {
                fill(&mut self.drawn, *color, *alpha as f32, &mut self.shades);
                if outline(&mut self.drawn, points) {
                    self.drawn.close_path().fill_nonzero();
                }
            }
            Shape::Text {
                at: (x, y),
                anchor,
                size,
                upwards,
                color,
                text,
            } => {
                if x.is_nan() || y.is_nan() {
                    return;
                }
                let (along, across) = (anchor.before(width(text, *size)), HALF_X_HEIGHT * size);
                let near = |place: f64| place.clamp(-FAR, FAR) as f32;
                // Glyphs stand upwards, where the page counts downwards.
                let place = match upwards {
                    true => [0.0, -1.0, -1.0, 0.0, near(x + across), near(y - along)],
                    false => [1.0, 0.0, 0.0, -1.0, near(x + along), near(y + across)],
                };
                fill(&mut self.drawn, *color, 1.0, &mut self.shades);
                self.write(text, *size as f32, place);
            }
        }
    }

    fn write(&mut self, text: &str, size: f32, place: [f32; 6]) {
        let Some(font) = &self.font else {
            return;
        };
        let shown = font.shown(text);
        // Viewers find characters by their glyphs. Where one has none, an `ActualText` has the text.
        let characters = font.characters();
        let read = shown.iter().map(|(glyph, _)| characters.get(glyph).copied());
        let is_read = read.eq(text.chars().map(Some));
        if !is_read {
            self.drawn
                .begin_marked_content_with_properties(Name(b"Span"))
                .properties()
                .actual_text(TextStr(text));
        }
        self.drawn.begin_text().set_font(FONT_NAME, size).set_text_matrix(place);
        let mut positioned = self.drawn.show_positioned();
        let mut items = positioned.items();
        let mut run: Vec<u8> = Vec::new();
        for (glyph, moved) in shown {
            if moved != 0.0 {
                items.show(Str(&std::mem::take(&mut run))).adjust(moved);
            }
            run.extend(glyph.to_be_bytes());
        }
        items.show(Str(&run));
        items.finish();
        positioned.finish();
        self.drawn.end_text();
        if !is_read {
            self.drawn.end_marked_content();
        }
    }
}

fn shares(Color(red, green, blue): Color) -> [f32; 3] {
    [red, green, blue].map(|part| f32::from(part) / 255.0)
}

fn fill(drawn: &mut Content, color: Color, alpha: f32, shades: &mut Shades) {
    let n = shades.len();
    let (name, _) = shades
        .entry(alpha.to_bits())
        .or_insert_with(|| (format!("A{n}"), alpha));
    let [red, green, blue] = shares(color);
    drawn
        .set_parameters(Name(name.as_bytes()))
        .set_fill_rgb(red, green, blue);
}

/// Draws a path through points; false where there is none to draw.
fn outline(drawn: &mut Content, points: &[Point]) -> bool {
    if points.is_empty() || points.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
        return false;
    }
    for (i, (x, y)) in points.iter().enumerate() {
        let (x, y) = (x.clamp(-FAR, FAR) as f32, y.clamp(-FAR, FAR) as f32);
        match i {
            0 => drawn.move_to(x, y),
            _ => drawn.line_to(x, y),
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Anchor, BLACK};

    /// The streams of a file, unpacked.
    fn streams(file: &[u8]) -> Vec<Vec<u8>> {
        let find = |from: usize, what: &[u8]| {
            let at = file[from..].windows(what.len()).position(|part| part == what);
            at.map(|at| from + at)
        };
        let mut streams = Vec::new();
        let mut from = 0;
        while let Some(start) = find(from, b"\nstream\n") {
            let end = find(start, b"\nendstream").unwrap();
            streams.push(miniz_oxide::inflate::decompress_to_vec_zlib(&file[start + 8..end]).unwrap());
            from = end;
        }
        streams
    }

    fn of(texts: &[&str]) -> Vec<u8> {
        let mut scene = Scene {
            width: 800,
            height: 400,
            width_mm: 80.0,
            ..Scene::default()
        };
        for text in texts {
            scene.text((400.0, 100.0), Anchor::Middle, 42.0, BLACK, *text);
        }
        scene.text((f64::NAN, 100.0), Anchor::Middle, 42.0, BLACK, "Te");
        let about = About {
            title: String::new(),
            description: String::new(),
            source: None,
        };
        pdf(&scene, &about)
    }

    #[test]
    fn texts_can_be_searched_and_copied() {
        let file = of(&["Te"]);
        let [drawn, font, characters] = &streams(&file)[..] else {
            panic!("a page, its font and a map");
        };
        // Moved together, by 348 of 2048 units.
        let [drawn, characters] = [drawn, characters].map(|text| String::from_utf8_lossy(text));
        assert!(
            drawn.contains("/F 42 Tf") && drawn.contains("169.9") && drawn.matches("TJ").count() == 1,
            "{drawn}"
        );
        assert!(!drawn.contains("BDC"), "{drawn}");
        assert!(
            characters.contains("<0001> <0054>") && characters.contains("<0002> <0065>"),
            "{characters}"
        );
        assert!(font.starts_with(&[0, 1, 0, 0]));
        assert_eq!(of(&["Te"]), file);
    }

    #[test]
    fn what_no_glyph_stands_for_is_there_as_text() {
        let drawn = String::from_utf8_lossy(&streams(&of(&["算 a"]))[0]).into_owned();
        assert!(drawn.contains("/Span") && drawn.contains("/ActualText"), "{drawn}");
    }
}
