//! Panels of a sweep whose main axis has no numbers: a row for each of its values.

use super::view::View;
use crate::curves;
use crate::names::{Unit, value_text};
use folkmoot_metrics::Spread;
use folkmoot_metrics::figure::{Axis, Bar, Bars, Panel, Row};
use folkmoot_metrics::sweep_dir::PointRow;
use std::collections::BTreeSet;

/// Of more seeds than these, single ones are not drawn beside an interval.
const MOST_SEEDS: usize = 12;

impl<'a> View<'a> {
    /// A row for each value of the main axis: bars for amounts, points for scores.
    pub(super) fn bars(&self, metric: &str) -> Panel {
        let arms = self.arms();
        let references = self.references(metric);
        let (label, unit) = self.units().words(metric);
        let is_score = matches!(unit, Unit::Number | Unit::Share);
        let axis = &self.sweep.manifest.axes[self.main];
        let row = |value: &String| {
            let of_value = |points: &[&'a PointRow]| -> Vec<&'a PointRow> {
                points
                    .iter()
                    .copied()
                    .filter(|point| point.values[self.main] == *value)
                    .collect()
            };
            let bar = |(_, points): &(Vec<&str>, Vec<&'a PointRow>)| {
                let points = of_value(points);
                let spread = |name: &str| {
                    let numbers = points.iter().filter_map(|point| point.summary.get(name).copied());
                    Spread::of(&numbers.collect::<Vec<f64>>())
                };
                let mean = spread(metric);
                let dots = match is_score && (2..=MOST_SEEDS).contains(&mean.n()) {
                    true => self.by_seed(&points, metric),
                    false => {
                        let dots = self.dots(&points, metric, value, &mean);
                        dots.into_iter().map(|(_, number)| number).collect()
                    }
                };
                Bar {
                    value: (!mean.mean.is_nan()).then_some(mean.mean),
                    interval: self.interval(metric, &mean),
                    dots,
                    references: references.iter().map(|(name, _)| Some(spread(name).mean)).collect(),
                }
            };
            let remark = |points: &[&'a PointRow]| self.compared.as_ref()?.remark(metric, &of_value(points));
            let remark = match arms.as_slice() {
                [(_, points)] => remark(points),
                _ => None,
            };
            Row {
                label: value.clone(),
                bars: arms.iter().map(bar).collect(),
                is_baseline: remark.as_ref().is_some_and(|(_, is_baseline)| *is_baseline),
                remark: remark.map(|(text, _)| text),
                ..Row::default()
            }
        };
        let rows: Vec<Row> = axis.values.iter().map(row).collect();
        let baseline = curves::baseline_of(&rows);
        let group = |(key, _): &(Vec<&str>, Vec<&PointRow>)| self.arm_label(key);
        let x = match is_score {
            true => Axis {
                log_beyond: None,
                ..Axis::new(label, unit)
            },
            false => Axis::amount(label, unit),
        };
        Panel::Bars(Bars {
            x: Axis {
                better: self.units().arrow(metric),
                ..x
            },
            groups: arms.iter().map(group).collect(),
            references: references.iter().map(|(_, label)| label.replace('_', " ")).collect(),
            points: is_score,
            seeds: self.seeds(),
            is_compared: rows.iter().any(|row| row.remark.is_some()),
            rows,
            baseline,
            ..Bars::default()
        })
    }

    /// The seeds of the sweep, in ascending order.
    fn seeds(&self) -> Vec<u64> {
        let seeds: BTreeSet<u64> = self.sweep.points.iter().map(|point| point.seed).collect();
        seeds.into_iter().collect()
    }

    /// The number of each seed of the sweep, in their order; NaN where a point has none.
    fn by_seed(&self, points: &[&PointRow], metric: &str) -> Vec<f64> {
        let number = |seed: u64| {
            points
                .iter()
                .find(|point| point.seed == seed)?
                .summary
                .get(metric)
                .copied()
        };
        self.seeds()
            .into_iter()
            .map(|seed| number(seed).unwrap_or(f64::NAN))
            .collect()
    }
}

/// The panels whose values differ, if there are any, and what is said of the others.
pub(super) fn apart(panels: Vec<Panel>) -> (Vec<Panel>, Option<String>) {
    let is_level = |panel: &Panel| {
        panel.bars().is_some_and(|bars| {
            let all = bars.rows.iter().flat_map(|row| &row.bars);
            let mut values = all.flat_map(|bar| bar.value.into_iter().chain(bar.dots.iter().copied()));
            let first = values.next();
            bars.rows.len() > 1 && values.all(|value| Some(value) == first)
        })
    };
    let (level, rest): (Vec<Panel>, Vec<Panel>) = panels.into_iter().partition(is_level);
    if rest.is_empty() {
        return (level, None);
    }
    let said = level.iter().filter_map(Panel::bars).filter_map(|bars| {
        let value = bars.rows.first()?.bars.first()?.value?;
        Some(format!("{} {}", bars.x.label, value_text(bars.x.unit, value)))
    });
    let said: Vec<String> = said.collect();
    let said = (!said.is_empty()).then(|| format!("The same for all, and not drawn: {}.", said.join("; ")));
    (rest, said)
}
