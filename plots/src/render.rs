//! A scene as SVG, through plotters' backend, and as PNG, through a rasteriser of our own
//! (`raster.rs`).

use crate::raster::Page;
use crate::scene::{Color, Point, Scene, Shape};
use crate::{font, png};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::RGBAColor;
use std::collections::BTreeSet;

/// From the middle of a line of text down to its baseline, in ems: half of the font's x-height, as
/// SVG's `0.5ex`.
pub(crate) const HALF_X_HEIGHT: f64 = 0.273;

fn rgba(color: Color, alpha: f64) -> RGBAColor {
    RGBAColor(color.0, color.1, color.2, alpha)
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn whole((x, y): Point) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

/// The scene as SVG text. Letters are outlines, each of them once, and every text says what it
/// reads. Every id begins with `prefix`.
pub(crate) fn svg(scene: &Scene, prefix: &str) -> Result<Vec<u8>, String> {
    let mut out = String::new();
    {
        let mut backend = SVGBackend::with_string(&mut out, (scene.width, scene.height));
        let page = [
            (0, 0),
            (scene.width as i32, 0),
            (scene.width as i32, scene.height as i32),
            (0, scene.height as i32),
        ];
        backend
            .fill_polygon(page, &rgba(Color(255, 255, 255), 1.0))
            .map_err(told)?;
        for shape in &scene.shapes {
            svg_shape(&mut backend, shape)?;
        }
        backend.present().map_err(told)?;
    }
    // Inherited by every line: without it, sharp turns of a noisy curve grow spikes.
    let pixels = format!("<svg width=\"{}\" height=\"{}\" ", scene.width, scene.height);
    let height_mm = scene.width_mm * f64::from(scene.height) / f64::from(scene.width.max(1));
    let size = match scene.is_sized {
        true => format!("width=\"{:.2}mm\" height=\"{height_mm:.2}mm\"", scene.width_mm),
        false => format!("width=\"{}\" height=\"{}\"", scene.width, scene.height),
    };
    let printed = format!("<svg {size} stroke-linejoin=\"round\" ");
    let out = out.replacen(&pixels, &printed, 1);
    let end = out.rfind("</svg>").unwrap_or(out.len());
    Ok(format!("{}{}{}", &out[..end], texts(scene, prefix), &out[end..]).into_bytes())
}

/// The texts of a scene: their glyphs, and where each stands.
fn texts(scene: &Scene, prefix: &str) -> String {
    let mut known = BTreeSet::new();
    let (mut glyphs, mut texts) = (String::new(), String::new());
    for shape in &scene.shapes {
        let Shape::Text {
            at,
            anchor,
            size,
            upwards,
            color,
            text,
        } = shape
        else {
            continue;
        };
        let (places, width) = font::places(text, *size);
        let along = anchor.before(width);
        let across = HALF_X_HEIGHT * size;
        let turn = match upwards {
            true => format!("translate({:.1} {:.1}) rotate(-90)", at.0 + across, at.1 - along),
            false => format!("translate({:.1} {:.1})", at.0 + along, at.1 + across),
        };
        let scale = size / font::units_per_em();
        let Color(red, green, blue) = color;
        texts += &format!(
            "<g fill=\"#{red:02X}{green:02X}{blue:02X}\" transform=\"{turn} scale({scale:.6} -{scale:.6})\" role=\"img\" aria-label=\"{}\">\n",
            escaped(text)
        );
        for (glyph, x) in places {
            let path = font::path(glyph);
            if path.is_empty() {
                continue;
            }
            if known.insert(glyph) {
                glyphs += &format!("<path id=\"{prefix}glyph{glyph}\" d=\"{path}\"/>\n");
            }
            texts += &format!("<use href=\"#{prefix}glyph{glyph}\" x=\"{:.0}\"/>\n", x / scale);
        }
        texts += "</g>\n";
    }
    format!("<defs>\n{glyphs}</defs>\n{texts}")
}

/// A text as an attribute's value.
fn escaped(text: &str) -> String {
    let sign = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(sign).collect()
}

fn svg_shape(backend: &mut SVGBackend<'_>, shape: &Shape) -> Result<(), String> {
    match shape {
        Shape::Line { points, color, width } => {
            let style = plotters::style::ShapeStyle::from(rgba(*color, 1.0)).stroke_width(width.round() as u32);
            backend
                .draw_path(points.iter().map(|&point| whole(point)), &style)
                .map_err(told)
        }
        Shape::Polygon { points, color, alpha } => backend
            .fill_polygon(points.iter().map(|&point| whole(point)), &rgba(*color, *alpha))
            .map_err(told),
        // Texts lie over everything else, and are written behind it.
        Shape::Text { .. } => Ok(()),
    }
}

/// The scene as the bytes of a PNG file.
pub(crate) fn png(scene: &Scene) -> Vec<u8> {
    let mut page = Page::new(scene.width, scene.height);
    scene.shapes.iter().for_each(|shape| paint(&mut page, shape));
    png::encode(&page.into_pixels(), scene.width, scene.height)
}

fn paint(page: &mut Page, shape: &Shape) {
    match shape {
        Shape::Line { points, color, width } => {
            let points = near(points);
            // Upright and level lines lie on whole pixels, so that their edges are sharp.
            if points.windows(2).all(|pair| is_straight(pair[0], pair[1])) {
                let width = width.round().max(1.0);
                page.add_stroke(&sharp(&points, width / 2.0), width / 2.0);
            } else {
                page.add_stroke(&points, width / 2.0);
            }
            page.paint(*color, 1.0);
        }
        Shape::Polygon { points, color, alpha } => {
            let mut points = near(points);
            let mut sides = points.iter().zip(points.iter().cycle().skip(1));
            if sides.all(|(&from, &to)| is_straight(from, to)) {
                points.iter_mut().for_each(|(x, y)| (*x, *y) = (x.round(), y.round()));
            }
            page.add_polygon(&points);
            page.paint(*color, *alpha);
        }
        Shape::Text {
            at,
            anchor,
            size,
            upwards,
            color,
            text,
        } => {
            let (curves, width) = font::outlines(text, *size);
            let along = anchor.before(width);
            let across = HALF_X_HEIGHT * size;
            for (x, y) in near(&[*at]) {
                // The baseline lies on a whole pixel, so that the feet of letters are sharp.
                let (x0, y0) = match upwards {
                    true => ((x + across).round(), y - along),
                    false => (x + along, (y + across).round()),
                };
                let placed = |(x, y): Point| if *upwards { (x0 + y, y0 - x) } else { (x0 + x, y0 + y) };
                for &[from, control, to] in &curves {
                    page.add_curve(placed(from), placed(control), placed(to));
                }
            }
            page.paint(*color, 1.0);
        }
    }
}

/// The points, those far off any page brought nearer; none where one is no number.
fn near(points: &[Point]) -> Vec<Point> {
    const FAR: f64 = 1e6;
    if points.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
        return Vec::new();
    }
    let near = |&(x, y): &Point| (x.clamp(-FAR, FAR), y.clamp(-FAR, FAR));
    points.iter().map(near).collect()
}

fn is_straight(from: Point, to: Point) -> bool {
    from.0 == to.0 || from.1 == to.1
}

/// The points of upright and level pieces, moved so that the edges of a line that reaches `half` to
/// both sides, and its ends, lie between pixels.
fn sharp(points: &[Point], half: f64) -> Vec<Point> {
    let edge = |at: f64, beside: bool| if beside { (at - half).round() + half } else { at.round() };
    let moved = |i: usize| {
        let (x, y) = points[i];
        let ends = [i.checked_sub(1), Some(i + 1)];
        let near = || ends.iter().flatten().filter_map(|&i| points.get(i));
        (edge(x, near().any(|to| to.0 == x)), edge(y, near().any(|to| to.1 == y)))
    };
    (0..points.len()).map(moved).collect()
}

#[cfg(test)]
mod tests;
