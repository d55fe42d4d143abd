//! Figures of an audit: verdicts per paper, published versus measured values.

use crate::names::Unit;
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};

/// Audit result of one paper.
#[derive(Clone, Debug)]
pub struct PaperResult {
    /// Its name.
    pub system: String,
    /// Number of claims per verdict.
    pub counts: Vec<usize>,
    /// Each published value, with the mean of the measured ones.
    pub numbers: Vec<(f64, f64)>,
}

/// Least numbers of a panel; a table is enough for fewer.
const FEWEST: usize = 3;

/// The two figures: `verdicts`, whose groups are called `names`, and `printed`, a panel for each
/// paper with enough published values.
pub(crate) fn figures(names: &[String], found: &[PaperResult]) -> Vec<Figure> {
    let row = |one: &PaperResult| {
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
        .map(published)
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

fn published(one: &PaperResult) -> Panel {
    let values = || one.numbers.iter().map(|(published, _)| *published);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
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
        let found = PaperResult {
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
