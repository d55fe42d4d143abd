//! A scene as PNG, through a rasteriser of our own (`raster.rs`).

use crate::font::{self, HALF_X_HEIGHT};
use crate::png;
use crate::raster::Page;
use crate::scene::{Point, Scene, Shape};

/// The scene as the bytes of a PNG file that says this of itself, by key.
pub(crate) fn png(scene: &Scene, said: &[(&str, &str)]) -> Vec<u8> {
    let mut page = Page::new(scene.width, scene.height);
    scene.shapes.iter().for_each(|shape| paint(&mut page, shape));
    let per_metre = f64::from(scene.width) / scene.width_mm.max(1.0) * 1000.0;
    let size = (scene.width, scene.height);
    png::encode(&page.into_pixels(), size, per_metre.round() as u32, said)
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
