//! The area between the axes of a panel, and what lies in it.

use crate::scale::Scale;
use crate::scene::Point;

/// The area between the axes.
pub(super) struct Area<'a> {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: &'a Scale,
    pub(super) y: &'a Scale,
}

impl Area<'_> {
    pub(super) fn y_place(&self, value: f64) -> Option<f64> {
        self.y
            .place(value)
            .map(|place| self.bottom - place * (self.bottom - self.top))
    }

    pub(super) fn x_place(&self, value: f64) -> Option<f64> {
        let place = self.x.place(value)?;
        Some(self.left + place * (self.right - self.left))
    }

    /// The place of a point in the area; `None` where it lies outside of chosen ends of an axis.
    pub(super) fn place(&self, (x, y): (f64, f64)) -> Option<Point> {
        let at = (self.x_place(x)?, self.y_place(y)?);
        (self.has_x(at.0) && self.has_y(at.1)).then_some(at)
    }

    pub(super) fn has_x(&self, x: f64) -> bool {
        (self.left - 1.0..=self.right + 1.0).contains(&x)
    }

    pub(super) fn has_y(&self, y: f64) -> bool {
        (self.top - 1.0..=self.bottom + 1.0).contains(&y)
    }

    /// The stretches of a curve between its gaps, as far as they lie in the area.
    pub(super) fn stretches(&self, points: &[(f64, f64)]) -> Vec<Vec<Point>> {
        let free = |&(x, y): &(f64, f64)| Some((self.x_place(x)?, self.y_place(y)?));
        let places: Vec<Option<Point>> = points.iter().map(free).collect();
        let mut stretches: Vec<Vec<Point>> = Vec::new();
        for part in places.split(Option::is_none) {
            let part: Vec<Point> = part.iter().copied().flatten().collect();
            match part[..] {
                [at] if self.has_x(at.0) && self.has_y(at.1) => stretches.push(vec![at]),
                _ => self.clip(&part, &mut stretches),
            }
        }
        stretches
    }

    /// Adds what lies of a stretch in the area (Liang and Barsky 1984, edge by edge).
    fn clip(&self, part: &[Point], stretches: &mut Vec<Vec<Point>>) {
        let mut is_open = false;
        for ends in part.windows(2) {
            let ((x0, y0), (x1, y1)) = (ends[0], ends[1]);
            let at = |share: f64| (x0 + share * (x1 - x0), y0 + share * (y1 - y0));
            let (mut from, mut to) = (0.0_f64, 1.0_f64);
            for (step, room) in [
                (x0 - x1, x0 - (self.left - 1.0)),
                (x1 - x0, self.right + 1.0 - x0),
                (y0 - y1, y0 - (self.top - 1.0)),
                (y1 - y0, self.bottom + 1.0 - y0),
            ] {
                match step {
                    step if step < 0.0 => from = from.max(room / step),
                    step if step > 0.0 => to = to.min(room / step),
                    _ if room < 0.0 => to = -1.0,
                    _ => {}
                }
            }
            if from > to {
                is_open = false;
                continue;
            }
            // Places of points inside are as they are: a share of them would round.
            let start = if from > 0.0 { at(from) } else { ends[0] };
            let end = if to < 1.0 { at(to) } else { ends[1] };
            match stretches.last_mut() {
                Some(stretch) if is_open && from <= 0.0 => stretch.push(end),
                _ => stretches.push(vec![start, end]),
            }
            is_open = to >= 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::figure::Axis;

    #[test]
    fn a_curve_ends_at_the_edges_of_the_area_and_begins_there_again() {
        let axis = Axis {
            range: Some((0.0, 10.0)),
            ..Axis::default()
        };
        let scale = Scale::fit(&axis, &[0.0, 10.0], 5);
        let area = Area {
            left: 0.0,
            right: 1000.0,
            top: 0.0,
            bottom: 1000.0,
            x: &scale,
            y: &scale,
        };
        let drawn = area.stretches(&[(-5.0, 5.0), (5.0, 5.0), (6.0, 20.0), (7.0, 5.0), (30.0, 5.0)]);
        assert_eq!(drawn.len(), 2, "{drawn:?}");
        assert_eq!((drawn[0][0], drawn[0][1]), ((-1.0, 500.0), (500.0, 500.0)));
        assert!((drawn[0][2].1 + 1.0).abs() < 1e-9, "up to the upper edge");
        assert!((drawn[1].last().unwrap().0 - 1001.0).abs() < 1e-9);
        assert_eq!(area.place((5.0, 5.0)), Some((500.0, 500.0)));
        assert_eq!(area.place((11.0, 5.0)), None);
        assert!(area.stretches(&[(11.0, 1.0), (12.0, 9.0)]).is_empty());
        assert_eq!(area.stretches(&[(1.0, 1.0)]).len(), 1, "a single point is a stretch");
    }
}
