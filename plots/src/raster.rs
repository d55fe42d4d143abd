//! Shapes to pixels: how much of each pixel a shape covers, and its colour mixed in by that share.
//!
//! Edges add up to signed areas: every edge leaves, in each row it passes, how much of the pixel it
//! crosses lies to its right, and the sum from the left is the winding number, averaged over the
//! pixel. A bit for each pixel that holds such a share lets the rest of a row be skipped, or
//! filled, at a stroke. Nothing is computed but sums, products, quotients and square roots, whose
//! bits are the same on every CPU.

use crate::scene::{Color, Point};

/// How far, in pixels, a flattened curve or a rounded corner may lie beside the true one.
const FLATNESS: f64 = 0.1;

/// How finely a pixel's coverage is told apart: as by four times four samples. Files of more shades
/// are half as large again.
const SHADES: u32 = 16;

/// White paper, and the shape that is being drawn on it.
pub(crate) struct Page {
    width: usize,
    height: usize,
    /// Red, green and blue by pixel, row by row.
    pixels: Vec<u8>,
    /// By how much a pixel's coverage differs from that of its left neighbour; a row has one more
    /// than pixels.
    steps: Vec<f32>,
    /// A bit for each of `steps` that was added to; a row begins with a new word.
    touched: Vec<u64>,
    /// The rows that were added to.
    rows: std::ops::Range<usize>,
}

impl Page {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        Page {
            width,
            height,
            pixels: vec![255; width * height * 3],
            steps: vec![0.0; (width + 1) * height],
            touched: vec![0; (width + 1).div_ceil(64) * height],
            rows: height..0,
        }
    }

    pub(crate) fn into_pixels(self) -> Vec<u8> {
        self.pixels
    }

    /// Adds the inside of a closed outline. Where outlines overlap, the shape is what any of them
    /// covers, as long as they turn the same way.
    pub(crate) fn add_polygon(&mut self, outline: &[Point]) {
        let next = outline.iter().skip(1).chain(outline.first());
        outline
            .iter()
            .zip(next)
            .for_each(|(&from, &to)| self.add_edge(from, to));
    }

    /// Adds a line as wide as `2 * half`, with flat ends and round corners. One that ends with its
    /// own first piece is closed.
    pub(crate) fn add_stroke(&mut self, points: &[Point], half: f64) {
        let mut points = points.to_vec();
        points.dedup();
        let n = points.len();
        let is_closed = n > 3 && points[..2] == points[n - 2..];
        let mut before: Option<Point> = None;
        for (i, pair) in points.windows(2).enumerate() {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = libm::hypot(x1 - x0, y1 - y0);
            let (dx, dy) = ((y0 - y1) / length * half, (x1 - x0) / length * half);
            if let Some(before) = before {
                self.add_corner(pair[0], before, (dx, dy), half);
            }
            before = Some((dx, dy));
            if !(is_closed && i + 2 == n) {
                self.add_polygon(&[
                    (x0 + dx, y0 + dy),
                    (x1 + dx, y1 + dy),
                    (x1 - dx, y1 - dy),
                    (x0 - dx, y0 - dy),
                ]);
            }
        }
    }

    /// The piece of a disc that a bent line lacks at its outer side; the pieces of the line reach
    /// from `at` to both sides by `before` and `after`.
    fn add_corner(&mut self, at: Point, before: Point, after: Point, half: f64) {
        let turn = before.0 * after.1 - before.1 * after.0;
        let (from, to) = if turn < 0.0 {
            (before, after)
        } else {
            ((-after.0, -after.1), (-before.0, -before.1))
        };
        let mut arc = vec![from];
        round(from, to, half, &mut arc);
        let mut outline = vec![at];
        outline.extend(arc.into_iter().map(|(dx, dy)| (at.0 + dx, at.1 + dy)));
        self.add_polygon(&outline);
    }

    /// Adds the straight pieces of a quadratic curve as edges.
    pub(crate) fn add_curve(&mut self, from: Point, control: Point, to: Point) {
        let bend = libm::hypot(from.0 - 2.0 * control.0 + to.0, from.1 - 2.0 * control.1 + to.1);
        // A piece of one n-th lies beside the curve by a quarter of the bend over n squared.
        let n_pieces = (bend / (4.0 * FLATNESS)).sqrt().ceil().clamp(1.0, 64.0);
        let mut last = from;
        for i in 1..=n_pieces as u32 {
            let t = f64::from(i) / n_pieces;
            let (a, b, c) = ((1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t);
            let point = (
                a * from.0 + b * control.0 + c * to.0,
                a * from.1 + b * control.1 + c * to.1,
            );
            // The end itself, so that the next curve begins there to the bit.
            let point = if f64::from(i) == n_pieces { to } else { point };
            self.add_edge(last, point);
            last = point;
        }
    }

    /// Adds the edge of a shape. Closed outlines of edges that cover a pixel once leave a sum of 1
    /// there, or -1.
    pub(crate) fn add_edge(&mut self, from: Point, to: Point) {
        let (sign, (x0, y0), (x1, y1)) = if from.1 < to.1 {
            (1.0, from, to)
        } else {
            (-1.0, to, from)
        };
        let (top, bottom) = (y0.max(0.0), y1.min(self.height as f64));
        if top >= bottom {
            return;
        }
        let slope = (x1 - x0) / (y1 - y0);
        let rows = top as usize..(bottom.ceil() as usize).min(self.height);
        self.rows = self.rows.start.min(rows.start)..self.rows.end.max(rows.end);
        let (mut above, mut x) = (top, x0 + (top - y0) * slope);
        for row in rows {
            let next = (row + 1) as f64;
            let below = if next < bottom { next } else { bottom };
            let next_x = x0 + (below - y0) * slope;
            let ends = if slope < 0.0 { (next_x, x) } else { (x, next_x) };
            self.add_step(row, ends, sign * (below - above));
            (above, x) = (below, next_x);
        }
    }

    /// Adds an edge of height `height` that lies in one row and crosses it from `left` to `right`.
    fn add_step(&mut self, row: usize, (left, right): (f64, f64), height: f64) {
        let width = self.width as f64;
        if left >= width {
            return;
        }
        if right <= 0.0 {
            return self.touch(row, 0, height);
        }
        if left < 0.0 {
            self.touch(row, 0, height * -left / (right - left));
        }
        let mut start = left.max(0.0);
        for column in start as usize..self.width {
            let next = (column + 1) as f64;
            let end = if next < right { next } else { right };
            let part = if right > left {
                height * (end - start) / (right - left)
            } else {
                height
            };
            // Of the pixel itself, what lies right of the middle of this piece; of all that follow,
            // the whole.
            let rest = part * (f64::midpoint(start, end) - column as f64);
            self.touch(row, column, part - rest);
            self.touch(row, column + 1, rest);
            if right <= next {
                return;
            }
            start = next;
        }
    }

    fn touch(&mut self, row: usize, column: usize, step: f64) {
        self.steps[row * (self.width + 1) + column] += step as f32;
        self.touched[row * (self.width + 1).div_ceil(64) + column / 64] |= 1 << (column % 64);
    }

    /// Paints what was added, and begins anew.
    pub(crate) fn paint(&mut self, color: Color, alpha: f64) {
        let alpha = (alpha * 255.0).round() as u32;
        let n_words = (self.width + 1).div_ceil(64);
        for row in std::mem::replace(&mut self.rows, self.height..0) {
            let pixels = &mut self.pixels[row * self.width * 3..][..self.width * 3];
            let steps = &mut self.steps[row * (self.width + 1)..][..self.width + 1];
            let (mut start, mut covered) = (0, 0.0);
            for (i, word) in self.touched[row * n_words..][..n_words].iter_mut().enumerate() {
                let mut left = std::mem::take(word);
                while left != 0 {
                    let column = i * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    mix(&mut pixels[start * 3..column * 3], color, covered, alpha);
                    covered += std::mem::take(&mut steps[column]);
                    start = column;
                }
            }
            mix(&mut pixels[start * 3..], color, covered, alpha);
        }
    }
}

/// Paints pixels that are all covered alike; `alpha` counts to 255.
fn mix(pixels: &mut [u8], Color(r, g, b): Color, covered: f32, alpha: u32) {
    let shade = ((covered.abs() * SHADES as f32 + 0.5) as u32).min(SHADES);
    let share = (shade * alpha + SHADES / 2) / SHADES;
    let mixed =
        |below: u8, above: u8| ((u32::from(below) * (255 - share) + u32::from(above) * share + 127) / 255) as u8;
    let pixels = pixels.as_chunks_mut().0.iter_mut();
    match share {
        0 => {}
        255 => pixels.for_each(|pixel| *pixel = [r, g, b]),
        _ => {
            pixels.for_each(|pixel: &mut [u8; 3]| *pixel = [mixed(pixel[0], r), mixed(pixel[1], g), mixed(pixel[2], b)])
        }
    }
}

/// The points after `from` on the arc about the origin to `to`, by halves until it is as good as
/// round.
fn round(from: Point, to: Point, radius: f64, arc: &mut Vec<Point>) {
    let (x, y) = (from.0 + to.0, from.1 + to.1);
    let length = libm::hypot(x, y);
    if radius - length / 2.0 > FLATNESS {
        // Opposite points have no middle: a quarter turn from `from` lies outside.
        let middle = if length > radius * 1e-6 {
            (x / length * radius, y / length * radius)
        } else {
            (from.1, -from.0)
        };
        round(from, middle, radius, arc);
        round(middle, to, radius, arc);
    } else {
        arc.push(to);
    }
}

#[cfg(test)]
mod tests;
