//! A scene as a PDF page of its size in print, for papers; letters are outlines, as in an SVG.

use crate::font;
use crate::render::HALF_X_HEIGHT;
use crate::scene::{Color, Point, Scene, Shape};
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use std::collections::BTreeMap;

/// How hard to pack: as a PNG of the same figure.
const LEVEL: u8 = 6;

/// Points in a millimetre.
const POINTS: f32 = 72.0 / 25.4;

/// The scene as the bytes of a PDF file.
pub(crate) fn pdf(scene: &Scene) -> Vec<u8> {
    let (catalog, pages, page, content) = (Ref::new(1), Ref::new(2), Ref::new(3), Ref::new(4));
    let points_a_pixel = scene.width_mm as f32 * POINTS / scene.width.max(1) as f32;
    let (width, height) = (
        scene.width as f32 * points_a_pixel,
        scene.height as f32 * points_a_pixel,
    );
    let mut drawn = Content::new();
    // Pixels from the upper left.
    drawn.transform([points_a_pixel, 0.0, 0.0, -points_a_pixel, 0.0, height]);
    drawn.set_line_join(LineJoinStyle::RoundJoin);
    let mut shades = BTreeMap::new();
    scene
        .shapes
        .iter()
        .for_each(|shape| paint(&mut drawn, shape, &mut shades));
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut of_page = pdf.page(page);
    of_page
        .parent(pages)
        .media_box(Rect::new(0.0, 0.0, width, height))
        .contents(content);
    let mut resources = of_page.resources();
    let mut states = resources.ext_g_states();
    for (name, alpha) in shades.into_values() {
        states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>()
            .non_stroking_alpha(alpha);
    }
    states.finish();
    resources.finish();
    of_page.finish();
    let packed = compress_to_vec_zlib(&drawn.finish(), LEVEL);
    pdf.stream(content, &packed).filter(Filter::FlateDecode);
    pdf.finish()
}

/// The opacities that a page needs, by their bits, each with its name.
type Shades = BTreeMap<u32, (String, f32)>;

fn paint(drawn: &mut Content, shape: &Shape, shades: &mut Shades) {
    match shape {
        Shape::Line { points, color, width } => {
            let [red, green, blue] = shares(*color);
            drawn.set_stroke_rgb(red, green, blue).set_line_width(*width as f32);
            if outline(drawn, points) {
                drawn.stroke();
            }
        }
        Shape::Polygon { points, color, alpha } => {
            fill(drawn, *color, *alpha as f32, shades);
            if outline(drawn, points) {
                drawn.close_path().fill_nonzero();
            }
        }
        Shape::Text {
            at,
            anchor,
            size,
            upwards,
            color,
            text,
        } => {
            fill(drawn, *color, 1.0, shades);
            let (curves, width) = font::outlines(text, *size);
            let (along, across) = (anchor.before(width), HALF_X_HEIGHT * size);
            let placed = |(x, y): Point| match upwards {
                true => (at.0 + across + y, at.1 - along - x),
                false => (at.0 + along + x, at.1 + across + y),
            };
            let mut last = None;
            for [from, control, to] in curves {
                let [from, control, to] = [from, control, to].map(placed);
                if last != Some(from) {
                    drawn.move_to(from.0 as f32, from.1 as f32);
                }
                // A quadratic curve as a cubic one.
                let near = |end: Point| {
                    let part = |end: f64, control: f64| (end + 2.0 * (control - end) / 3.0) as f32;
                    (part(end.0, control.0), part(end.1, control.1))
                };
                let ((x1, y1), (x2, y2)) = (near(from), near(to));
                drawn.cubic_to(x1, y1, x2, y2, to.0 as f32, to.1 as f32);
                last = Some(to);
            }
            drawn.fill_nonzero();
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
    // Beyond this no reader of the format need go.
    const FAR: f64 = 16_000.0;
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
