//! A figure as a list of shapes, laid out once and rendered as SVG, PNG and PDF.

use folkmoot_metrics::words::visible;

/// A colour, red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

pub(crate) const BLACK: Color = Color(0, 0, 0);
pub(crate) const WHITE: Color = Color(255, 255, 255);
pub(crate) const GREY: Color = Color(90, 90, 90);
/// What is to be seen last: single seeds, arms that are not looked at.
pub(crate) const FAINT: Color = Color(190, 190, 190);
pub(crate) const GRID: Color = Color(222, 222, 222);

/// The palette of Okabe and Ito without black, which is left to theory, and with its yellow
/// darkened to show on white; then five more.
pub(crate) const PALETTE: [Color; 12] = [
    Color(0, 114, 178),
    Color(213, 94, 0),
    Color(0, 158, 115),
    Color(204, 121, 167),
    Color(230, 159, 0),
    Color(86, 180, 233),
    Color(150, 135, 20),
    Color(110, 80, 180),
    Color(120, 60, 20),
    Color(125, 125, 125),
    Color(170, 20, 70),
    Color(0, 90, 75),
];

/// How many curves a panel can hold and still be read: as many as there are colours.
pub(crate) const MAX_CURVES: usize = PALETTE.len();

/// A point in pixels, from the upper left.
pub(crate) type Point = (f64, f64);

/// Which end of a text lies at its position; its middle height always does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Where a text of this width begins, from its place.
    pub(crate) fn before(self, width: f64) -> f64 {
        match self {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Line {
        points: Vec<Point>,
        color: Color,
        width: f64,
    },
    Polygon {
        points: Vec<Point>,
        color: Color,
        alpha: f64,
    },
    Text {
        at: Point,
        anchor: Anchor,
        size: f64,
        upwards: bool,
        color: Color,
        text: String,
    },
}

/// How a line is broken up: lengths drawn and left out, in turn.
pub(crate) type Dash = &'static [f64];

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The width of a panel, and the height of its area between the axes, in pixels: text and lines
    /// have their own sizes, whatever these.
    pub(crate) panel: f64,
    pub(crate) area: f64,
    /// What the width of the page stands for in print.
    pub(crate) width_mm: f64,
    pub(crate) shapes: Vec<Shape>,
    /// Which shapes are of an arm: the first, the one behind the last, and the arm's name. Pages
    /// bring an arm forward.
    pub(crate) arms: Vec<(usize, usize, String)>,
    /// What pages say of a place that somebody points at.
    pub(crate) spots: Vec<(Point, String)>,
}

/// A page with more places than these would be slow.
const MOST_SPOTS: usize = 600;

impl Scene {
    /// What the height of the page stands for in print.
    pub(crate) fn height_mm(&self) -> f64 {
        self.width_mm * f64::from(self.height) / f64::from(self.width.max(1))
    }

    /// Draws what is of one arm.
    pub(crate) fn of_arm<T>(&mut self, name: &str, draw: impl FnOnce(&mut Scene) -> T) -> T {
        let first = self.shapes.len();
        let drawn = draw(self);
        if !name.is_empty() && self.shapes.len() > first {
            self.arms.push((first, self.shapes.len(), name.to_owned()));
        }
        drawn
    }

    /// The arm that a shape is of.
    pub(crate) fn arm_of(&self, shape: usize) -> Option<&str> {
        let of = self.arms.iter().find(|(first, end, _)| (*first..*end).contains(&shape));
        of.map(|(.., name)| name.as_str())
    }

    /// What is to be said of a place.
    pub(crate) fn spot(&mut self, at: Point, text: String) {
        if self.spots.len() < MOST_SPOTS && at.0.is_finite() && at.1.is_finite() {
            self.spots.push((at, text));
        }
    }

    /// All that is to be read.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.shapes.iter().filter_map(|shape| match shape {
            Shape::Text { text, .. } => Some(text.as_str()),
            Shape::Line { .. } | Shape::Polygon { .. } => None,
        })
    }

    pub(crate) fn line(&mut self, points: Vec<Point>, color: Color, width: f64) {
        if points.len() > 1 {
            self.shapes.push(Shape::Line { points, color, width });
        }
    }

    /// A line broken up by `dash`; whole where that is empty.
    pub(crate) fn dashed(&mut self, points: &[Point], dash: Dash, color: Color, width: f64) {
        if dash.is_empty() {
            return self.line(points.to_vec(), color, width);
        }
        let (mut part, mut left) = (0, dash[0]);
        let mut stroke: Vec<Point> = points.iter().take(1).copied().collect();
        for pair in points.windows(2) {
            let ((x, y), (x1, y1)) = (pair[0], pair[1]);
            let length = libm::hypot(x1 - x, y1 - y);
            let mut done = 0.0;
            while length - done > left {
                done += left;
                let at = (x + (x1 - x) * done / length, y + (y1 - y) * done / length);
                stroke.push(at);
                if part % 2 == 0 {
                    self.line(std::mem::take(&mut stroke), color, width);
                }
                part = (part + 1) % dash.len();
                left = dash[part];
                stroke = vec![at];
            }
            left -= length - done;
            stroke.push((x1, y1));
        }
        if part % 2 == 0 {
            self.line(stroke, color, width);
        }
    }

    pub(crate) fn polygon(&mut self, points: Vec<Point>, color: Color, alpha: f64) {
        if points.len() > 2 {
            self.shapes.push(Shape::Polygon { points, color, alpha });
        }
    }

    pub(crate) fn rect(&mut self, (x0, y0): Point, (x1, y1): Point, color: Color) {
        self.polygon(vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1)], color, 1.0);
    }

    pub(crate) fn frame(&mut self, (x0, y0): Point, (x1, y1): Point, color: Color, width: f64) {
        self.line(vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], color, width);
    }

    pub(crate) fn text(&mut self, at: Point, anchor: Anchor, size: f64, color: Color, text: impl Into<String>) {
        self.shapes.push(Shape::Text {
            at,
            anchor,
            size,
            upwards: false,
            color,
            text: visible(&text.into()).into_owned(),
        });
    }

    /// Text that reads from below.
    pub(crate) fn text_upwards(&mut self, at: Point, size: f64, text: impl Into<String>) {
        let (anchor, text) = (Anchor::Middle, visible(&text.into()).into_owned());
        self.shapes.push(Shape::Text {
            at,
            anchor,
            size,
            upwards: true,
            color: BLACK,
            text,
        });
    }

    /// The marker of data series `index`: six shapes, filled for the first six series and hollow
    /// for the next six.
    pub(crate) fn marker(&mut self, (x, y): Point, index: usize, color: Color, radius: f64) {
        let around = |n: usize, turn: f64, r: f64| -> Vec<Point> {
            let angle = |i: usize| (i as f64 / n as f64 + turn) * std::f64::consts::TAU;
            (0..n)
                .map(|i| (x + r * libm::sin(angle(i)), y - r * libm::cos(angle(i))))
                .collect()
        };
        let hollow = (index / 6) % 2 == 1;
        let outline = match index % 6 {
            0 => around(24, 0.0, radius),
            1 => around(4, 0.125, radius * 1.25),
            2 => around(3, 0.0, radius * 1.4),
            3 => around(4, 0.0, radius * 1.35),
            4 => around(3, 0.5, radius * 1.4),
            _ => {
                let arm = |turn: f64| around(2, turn, radius * 1.3);
                // A cross has no hollow form: it is turned instead.
                let turn = if hollow { 0.0 } else { 0.125 };
                self.line(arm(turn), color, radius * 0.6);
                return self.line(arm(turn + 0.25), color, radius * 0.6);
            }
        };
        self.polygon(outline.clone(), if hollow { WHITE } else { color }, 1.0);
        let closed = outline.iter().chain(&outline[..2]).copied().collect();
        self.line(
            closed,
            if hollow { color } else { WHITE },
            if hollow { 5.0 } else { 2.0 },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_their_share_of_a_line_round_corners() {
        let mut scene = Scene::default();
        scene.dashed(&[(0.0, 0.0), (50.0, 0.0), (50.0, 50.0)], &[10.0, 10.0], BLACK, 1.0);
        let length = |points: &[Point]| -> f64 {
            points
                .windows(2)
                .map(|pair| libm::hypot(pair[1].0 - pair[0].0, pair[1].1 - pair[0].1))
                .sum()
        };
        let lengths: Vec<f64> = scene
            .shapes
            .iter()
            .map(|shape| match shape {
                Shape::Line { points, .. } => length(points),
                _ => 0.0,
            })
            .collect();
        assert_eq!(lengths, [10.0; 5]);
    }
}
