//! A scene as SVG and as PNG, through plotters' two backends.
//!
//! The PNG is drawn at twice its size and averaged down, since the bitmap backend has no soft edges. Its text is drawn
//! from the font's outlines here: the backend's own text ignores side bearings, which spaces letters unevenly.

use crate::font;
use crate::scene::{Anchor, Color, Point, Scene, Shape};
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, IntoFont, RGBAColor, TextStyle};

/// How much larger the PNG is drawn than it is saved.
const OVERSAMPLING: u32 = 2;

/// From the middle of a line of text down to its baseline, in ems: half of the font's x-height, as SVG's `0.5ex`.
const HALF_X_HEIGHT: f64 = 0.273;

fn rgba(color: Color, alpha: f64) -> RGBAColor {
    RGBAColor(color.0, color.1, color.2, alpha)
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn whole((x, y): Point) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

/// The scene as SVG text, with text as text.
pub(crate) fn svg(scene: &Scene) -> Result<Vec<u8>, String> {
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
    Ok(out.replacen("<svg ", "<svg stroke-linejoin=\"round\" ", 1).into_bytes())
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
        Shape::Text {
            at,
            anchor,
            size,
            upwards,
            color,
            text,
        } => {
            let h_pos = match anchor {
                Anchor::Start => HPos::Left,
                Anchor::Middle => HPos::Center,
                Anchor::End => HPos::Right,
            };
            // The backend divides the size by 1.24 to get that of an em.
            let color = rgba(*color, 1.0);
            let font = (font::FAMILIES, size * 1.24).into_font();
            let font = if *upwards {
                font.transform(FontTransform::Rotate270)
            } else {
                font
            };
            let style = TextStyle::from(font).color(&color).pos(Pos::new(h_pos, VPos::Center));
            backend.draw_text(text, &style, whole(*at)).map_err(told)
        }
    }
}

/// The scene as the bytes of a PNG file.
pub(crate) fn png(scene: &Scene) -> Result<Vec<u8>, String> {
    let scale = f64::from(OVERSAMPLING);
    let (width, height) = (scene.width * OVERSAMPLING, scene.height * OVERSAMPLING);
    let mut large = vec![255_u8; width as usize * height as usize * 3];
    {
        let mut backend = BitMapBackend::with_buffer_and_format(&mut large, (width, height)).map_err(told)?;
        for shape in &scene.shapes {
            png_shape(&mut backend, shape, scale)?;
        }
        backend.present().map_err(told)?;
    }
    encode_png(&average(&large, width as usize), (scene.width, scene.height))
}

fn png_shape(backend: &mut BitMapBackend<'_>, shape: &Shape, scale: f64) -> Result<(), String> {
    let large = |&(x, y): &Point| whole((x * scale, y * scale));
    match shape {
        Shape::Line { points, color, width } => {
            let style = rgba(*color, 1.0);
            let half = width * scale / 2.0;
            for pair in points.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                let length = libm::hypot(x1 - x0, y1 - y0);
                if length > 0.0 {
                    let (dx, dy) = (-(y1 - y0) / length * half, (x1 - x0) / length * half);
                    let (x0, y0, x1, y1) = (x0 * scale, y0 * scale, x1 * scale, y1 * scale);
                    let quad = [
                        (x0 + dx, y0 + dy),
                        (x1 + dx, y1 + dy),
                        (x1 - dx, y1 - dy),
                        (x0 - dx, y0 - dy),
                    ];
                    backend.fill_polygon(quad.map(whole), &style).map_err(told)?;
                }
            }
            // Round joints between the straight pieces; the ends stay flat, so that dashes keep their length.
            let joints = points.iter().skip(1).take(points.len().saturating_sub(2));
            joints.filter(|_| half >= 1.5).try_for_each(|joint| {
                backend
                    .draw_circle(large(joint), half as u32, &style, true)
                    .map_err(told)
            })
        }
        Shape::Polygon { points, color, alpha } => backend
            .fill_polygon(points.iter().map(large), &rgba(*color, *alpha))
            .map_err(told),
        Shape::Text {
            at,
            anchor,
            size,
            upwards,
            color,
            text,
        } => {
            let (glyphs, width) = font::glyphs(text, size * scale);
            let shift = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -width / 2.0,
                Anchor::End => -width,
            };
            let (x0, y0) = (at.0 * scale, at.1 * scale);
            let (along, across) = whole((shift, HALF_X_HEIGHT * size * scale));
            let (x0, y0) = whole((x0, y0));
            let (right, bottom) = backend.get_size();
            let mut outcome = Ok(());
            for glyph in glyphs {
                font::draw_glyph(glyph, |x, y, coverage| {
                    let (x, y) = (along + x, across + y);
                    let (x, y) = if *upwards { (x0 + y, y0 - x) } else { (x0 + x, y0 + y) };
                    let inside = x >= 0 && y >= 0 && x < right as i32 && y < bottom as i32;
                    if inside && coverage > 0.0 && outcome.is_ok() {
                        let color = plotters::style::Color::to_backend_color(&rgba(*color, coverage.min(1.0)));
                        outcome = backend.draw_pixel((x, y), color).map_err(told);
                    }
                });
            }
            outcome
        }
    }
}

/// The mean of each square of [`OVERSAMPLING`]² pixels.
fn average(large: &[u8], width: usize) -> Vec<u8> {
    let n = OVERSAMPLING as usize;
    let mut small = Vec::with_capacity(large.len() / (n * n));
    for rows in large.chunks_exact(width * 3 * n) {
        for x in 0..width / n {
            for channel in 0..3 {
                let pixels = (0..n * n).map(|i| rows[(i / n * width + x * n + i % n) * 3 + channel]);
                let sum: usize = pixels.map(usize::from).sum();
                small.push(((sum + n * n / 2) / (n * n)) as u8);
            }
        }
    }
    small
}

fn encode_png(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Flat areas and few colours: rows compress best as they are.
    encoder.set_filter(png::FilterType::NoFilter);
    encoder.set_compression(png::Compression::Default);
    // 85 mm for 1600 pixels, in pixels a metre: what a page layout takes as the natural size.
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: 18824,
        yppu: 18824,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header().map_err(told)?;
    writer.write_image_data(pixels).map_err(told)?;
    writer.finish().map_err(told)?;
    Ok(out)
}
