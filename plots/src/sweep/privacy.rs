//! What an attacker reaches against what the model is worth: a path along the strength of the
//! protection for each arm.

use super::view::View;
use crate::names::minus;
use folkmoot_metrics::Spread;
use folkmoot_metrics::figure::{Axis, Lines, Panel, Path, Role, Series};

/// The ways of attack that a figure shows at most.
const MOST_ATTACKS: usize = 3;

impl View<'_> {
    /// A panel for each attack that has a blind guess to compare with, the headline's first: the
    /// attacker's number up, the first score of the headline across.
    pub(super) fn privacy(&self, headline: &[&str]) -> Vec<Panel> {
        let units = self.units();
        let is_score =
            |name: &&str| !units.is_attack(name) && !units.arrow(name).is_empty() && units.bounds(name).is_some();
        let Some(score) = headline.iter().copied().find(is_score) else {
            return Vec::new();
        };
        let is_attack = |name: &&str| units.blind(name).is_some() && units.arrow(name) == "↓";
        let named = headline.iter().copied().filter(is_attack);
        let others = self.metrics().into_iter().filter(is_attack);
        let mut attacks: Vec<&str> = Vec::new();
        for name in named.chain(others) {
            if !attacks.contains(&name) && self.varies(name) && self.varies(score) {
                attacks.push(name);
            }
        }
        attacks
            .into_iter()
            .take(MOST_ATTACKS)
            .filter_map(|name| self.path(score, name))
            .collect()
    }

    /// The panel of an attack; `None` where fewer than two of its points have both numbers.
    fn path(&self, score: &str, attack: &str) -> Option<Panel> {
        let units = self.units();
        let mut series = Vec::new();
        let arms = match self.numeric {
            true => self.arms(),
            // Names are no strength: each is a point of its own.
            false => Vec::new(),
        };
        for (index, (key, points)) in arms.iter().enumerate() {
            let [xs, ys] = [score, attack].map(|metric| self.means(points, metric));
            let label = match arms.len() {
                1 => String::new(),
                _ => self.arm_label(key),
            };
            let mut path = Series::new(label, Role::Data(index), Vec::new());
            for ((value, x), (_, y)) in xs.iter().zip(&ys) {
                path.points.push((x.mean, y.mean));
                path.marks.push(minus(value));
            }
            series.push(path);
        }
        if !self.numeric {
            for (index, (label, points)) in self.labelled().into_iter().enumerate() {
                let mean = |metric: &str| {
                    let numbers = points.iter().filter_map(|point| point.summary.get(metric).copied());
                    Spread::of(&numbers.collect::<Vec<f64>>()).mean
                };
                series.push(Series {
                    path: Path::Scattered,
                    ..Series::new(label, Role::Data(index), vec![(mean(score), mean(attack))])
                });
            }
        }
        let axis = |metric: &str| {
            let (label, unit) = units.words(metric);
            Axis {
                log_beyond: None,
                better: units.arrow(metric),
                ..Axis::new(label, unit)
            }
        };
        let points = |series: &Series| {
            let known = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            known.count()
        };
        series.retain(|series| points(series) > 0);
        (series.iter().map(points).sum::<usize>() > 1).then(|| {
            Panel::Lines(Lines {
                x: axis(score),
                y: Axis {
                    goal: units.blind(attack).map(|blind| (blind, "blind guess".to_owned())),
                    ..axis(attack)
                },
                series,
            })
        })
    }
}
