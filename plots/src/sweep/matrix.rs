//! Panels of a sweep over two axes of names: a matrix where rows of bars would be too many, and
//! slopes between two choices.

use super::view::View;
use crate::names::Unit;
use folkmoot_metrics::Spread;
use folkmoot_metrics::estimate::Estimate;
use folkmoot_metrics::figure::{Axis, Heat, Lines, Panel, Role, Series};
use folkmoot_metrics::sweep_dir::PointRow;

/// Rows and columns that a matrix has at least; with fewer, rows of points are easier to compare.
const LEAST: usize = 3;
/// From so many numbers on.
const MANY: usize = 13;
/// Slopes of more arms than these could not be told apart.
const MOST_SLOPES: usize = 6;

impl<'a> View<'a> {
    /// The rows of a matrix, which are the values of the main axis, and its columns, each with its
    /// points; `None` where there are few of either, or many columns.
    pub(super) fn matrix(&self, metric: &str) -> Option<Panel> {
        let rows = &self.sweep.manifest.axes[self.main].values;
        let arms = self.arms();
        if rows.len().min(arms.len()) < LEAST || rows.len() * arms.len() < MANY {
            return None;
        }
        let (label, unit) = self.units().words(metric);
        let mut heat = Heat {
            title: format!("{label} {}", self.units().arrow(metric)).trim_end().to_owned(),
            rows: rows.clone(),
            columns: arms.iter().map(|(key, _)| self.arm_label(key)).collect(),
            ..Heat::default()
        };
        for row in rows {
            for (_, points) in &arms {
                let spread = self.spread(points, metric, row);
                heat.texts.push(Estimate::of_spread(&spread, unit).to_string());
                heat.values.push(spread.mean);
            }
        }
        Some(Panel::Heat(heat))
    }

    /// A score at both values of the main axis, joined for each arm.
    pub(super) fn slopes(&self, metric: &str) -> Option<Panel> {
        let values = &self.sweep.manifest.axes[self.main].values;
        let (label, unit) = self.units().words(metric);
        let arms = self.arms();
        let is_score = matches!(unit, Unit::Number | Unit::Share);
        if !is_score || values.len() != 2 || !(2..=MOST_SLOPES).contains(&arms.len()) {
            return None;
        }
        let mut series = Vec::new();
        for (index, (key, points)) in arms.iter().enumerate() {
            let spreads = [0, 1].map(|at: usize| self.spread(points, metric, &values[at]));
            let at = |place: usize| (place as f64, spreads[place].mean);
            let band = [0, 1].map(|place: usize| {
                let (lo, hi) = self.interval(metric, &spreads[place]).unwrap_or((f64::NAN, f64::NAN));
                // Apart, so that each is drawn as a whisker.
                [(place as f64, lo, hi), (place as f64, f64::NAN, f64::NAN)]
            });
            series.push(Series {
                band: band.concat(),
                ..Series::new(self.arm_label(key), Role::Data(index), vec![at(0), at(1)])
            });
            let dots = (0..2).flat_map(|place| {
                let dots = self.dots(points, metric, &values[place], &spreads[place]);
                dots.into_iter().map(move |(seed, y)| (seed, (place as f64, y)))
            });
            series.extend(Series::of_seeds(index, dots));
        }
        let path = &self.sweep.manifest.axes[self.main].path;
        Some(Panel::Lines(Lines {
            x: Axis {
                ticks: vec![(0.0, values[0].clone()), (1.0, values[1].clone())],
                range: Some((-0.2, 1.2)),
                log_beyond: None,
                ..Axis::new(self.units().words(path).0, Unit::Number)
            },
            y: Axis {
                better: self.units().arrow(metric),
                log_beyond: None,
                ..Axis::new(label, unit)
            },
            series,
        }))
    }

    fn spread(&self, points: &[&'a PointRow], metric: &str, value: &str) -> Spread {
        let at = points.iter().filter(|point| point.values[self.main] == value);
        Spread::of(
            &at.filter_map(|point| point.summary.get(metric).copied())
                .collect::<Vec<_>>(),
        )
    }
}
