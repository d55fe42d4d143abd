//! What an audit of papers found: verdicts counted, what is printed beside what was measured, and
//! tables as curves.

use crate::names::Unit;
use folkmoot_metrics::Spread;
use folkmoot_metrics::estimate::FEW;
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use folkmoot_metrics::figure::{TableCurve, TableFigure, TablePanel};

/// What was found of one paper.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is called.
    pub system: String,
    /// How many claims have each verdict.
    pub counts: Vec<usize>,
    /// Each number that is printed, with the mean of what was measured in its place.
    pub numbers: Vec<(f64, f64)>,
}

/// A panel of fewer numbers tells nothing that a table does not.
const FEWEST: usize = 3;

/// The two figures: `verdicts`, whose groups are called `names`, and `printed`, one panel for each
/// paper with enough numbers.
pub(crate) fn figures(names: &[String], found: &[Found]) -> Vec<Figure> {
    let row = |one: &Found| {
        let n: usize = one.counts.iter().sum();
        let bar = |count: &usize| Bar {
            value: Some(*count as f64 / n.max(1) as f64),
            ..Bar::default()
        };
        Row {
            label: one.system.clone(),
            bars: one.counts.iter().map(bar).collect(),
            remark: Some(format!("{n} claims")),
            ..Row::default()
        }
    };
    let bars = Bars {
        x: Axis::amount("Share of the claims", Unit::Share),
        groups: names.to_vec(),
        rows: found.iter().map(row).collect(),
        stacked: true,
        references: Vec::new(),
        ..Bars::default()
    };
    let panels: Vec<Panel> = found
        .iter()
        .filter(|one| one.numbers.len() >= FEWEST)
        .map(printed)
        .collect();
    let mut figures = vec![Figure {
        name: "verdicts".to_owned(),
        title: "What became of the claims".to_owned(),
        panels: vec![Panel::Bars(bars)],
        ..Figure::default()
    }];
    if !panels.is_empty() {
        figures.push(Figure {
            name: "printed".to_owned(),
            title: "Published and measured values".to_owned(),
            notes: vec!["Means over seeds; on the dashed line both are equal.".to_owned()],
            panels,
        });
    }
    figures
}

/// Tables as panels of curves, means over seeds: an interval where there are seeds enough for one,
/// else the seeds themselves.
pub(crate) fn of_table(table: &TableFigure) -> Figure {
    let axis = |label: &str| Axis {
        log_beyond: Some(3.0),
        ..Axis::new(label, Unit::Number)
    };
    let means = |curve: &TableCurve| -> Vec<(f64, Spread)> {
        curve.iter().map(|(x, values)| (*x, Spread::of(values))).collect()
    };
    let panel = |panel: &TablePanel| {
        let mut series = Vec::new();
        for (index, (name, curve)) in panel.rows.iter().enumerate() {
            let spreads = means(curve);
            let band = spreads.iter().map(|(x, spread)| {
                let (low, high) = spread
                    .interval_95()
                    .filter(|_| spread.n() >= FEW)
                    .unwrap_or((f64::NAN, f64::NAN));
                (*x, low, high)
            });
            let role = Role::Data(index);
            series.push(Series {
                band: band.collect(),
                ..Series::new(
                    name.clone(),
                    role,
                    spreads.iter().map(|(x, spread)| (*x, spread.mean)).collect(),
                )
            });
            let few = curve.iter().filter(|(_, values)| (2..FEW).contains(&values.len()));
            let dots: Vec<(f64, f64)> = few.flat_map(|(x, values)| values.iter().map(|y| (*x, *y))).collect();
            if !dots.is_empty() {
                series.push(Series {
                    path: Path::Dots,
                    ..Series::new("", role, dots)
                });
            }
        }
        if let Some((name, curve)) = &panel.beside {
            let line = means(curve).iter().map(|(x, spread)| (*x, spread.mean)).collect();
            series.push(Series::new(name.clone(), Role::Theory(0), line));
        }
        let (x, y) = (axis(&table.x), axis(&panel.y));
        Panel::Lines(Lines { x, y, series })
    };
    Figure {
        name: table.name.clone(),
        title: table.title.clone(),
        notes: vec![format!(
            "Means over seeds; band: 95 % interval (Student's t), dots: the seeds where there are fewer than {FEW}."
        )],
        panels: table.panels.iter().map(panel).collect(),
    }
}

fn printed(one: &Found) -> Panel {
    let printed = || one.numbers.iter().map(|(printed, _)| *printed);
    let least = printed().fold(f64::INFINITY, f64::min);
    let most = printed().fold(f64::NEG_INFINITY, f64::max);
    let measured = Series {
        path: Path::Scattered,
        ..Series::new("", Role::Data(0), one.numbers.clone())
    };
    let axis = |label: &str| Axis {
        log_beyond: None,
        ..Axis::new(label, Unit::Number)
    };
    Panel::Lines(Lines {
        x: axis("Published"),
        y: Axis {
            above: one.system.clone(),
            ..axis("Measured")
        },
        series: vec![
            measured,
            Series::new(
                "published = measured",
                Role::Theory(0),
                vec![(least, least), (most, most)],
            ),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(counts: &[usize], numbers: &[(f64, f64)]) -> Vec<String> {
        let found = Found {
            system: "S".to_owned(),
            counts: counts.to_vec(),
            numbers: numbers.to_vec(),
        };
        let names = ["holds", "does not"].map(str::to_owned);
        let svg = |figure: &Figure| crate::svg::part(&crate::draw::lay_out(figure, &crate::Look::default())).unwrap();
        figures(&names, &[found]).iter().map(svg).collect()
    }

    #[test]
    fn parts_that_make_a_whole_are_drawn_to_its_end() {
        // The axis must reach 100 %, which no part does by itself.
        let [verdicts] = &drawn(&[1, 1], &[])[..] else {
            panic!("numbers are drawn without any");
        };
        assert!(
            verdicts.contains("2 claims") && verdicts.contains(">100<"),
            "{verdicts}"
        );
    }

    #[test]
    fn printed_numbers_are_drawn_from_three_on() {
        let numbers = [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0)];
        assert_eq!(drawn(&[1, 1], &numbers[..2]).len(), 1);
        assert!(drawn(&[1, 1], &numbers)[1].contains("Measured"));
    }
}
