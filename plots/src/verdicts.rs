//! What an audit of papers found: verdicts counted, and what is printed beside what was measured.

use crate::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};
use crate::names::Unit;

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

/// The two figures: `verdicts`, whose groups are called `names`, and `printed`, one panel for each paper with enough numbers.
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
        }
    };
    let bars = Bars {
        x: Axis::amount("Share of the claims", Unit::Share),
        groups: names.to_vec(),
        rows: found.iter().map(row).collect(),
        stacked: true,
        references: Vec::new(),
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
            title: "Printed numbers and what was measured".to_owned(),
            notes: vec!["means over seeds; on the dashed line both are equal".to_owned()],
            panels,
        });
    }
    figures
}

fn printed(one: &Found) -> Panel {
    let printed = || one.numbers.iter().map(|(printed, _)| *printed);
    let least = printed().fold(f64::INFINITY, f64::min);
    let most = printed().fold(f64::NEG_INFINITY, f64::max);
    let measured = Series {
        path: Path::Scattered,
        ..Series::new(one.system.clone(), Role::Data(0), one.numbers.clone())
    };
    let axis = |label: &str| Axis {
        log_beyond: None,
        ..Axis::new(label, Unit::Number)
    };
    Panel::Lines(Lines {
        x: axis("printed"),
        y: axis("measured"),
        series: vec![
            measured,
            Series::new("equal", Role::Theory(0), vec![(least, least), (most, most)]),
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
        let svg = |figure: &Figure| crate::render::svg(&crate::draw::lay_out(figure, &crate::Look::default()), "");
        let drawn = figures(&names, &[found]).iter().map(svg).collect::<Result<Vec<_>, _>>();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        drawn.unwrap_or_default().into_iter().map(text).collect()
    }

    #[test]
    fn parts_that_make_a_whole_are_drawn_to_its_end() {
        // The axis must reach 100 %, which no part does by itself.
        let [verdicts] = &drawn(&[1, 1], &[])[..] else {
            panic!("numbers are drawn without any");
        };
        assert!(
            verdicts.contains("2 claims") && verdicts.contains("aria-label=\"100\""),
            "{verdicts}"
        );
    }

    #[test]
    fn printed_numbers_are_drawn_from_three_on() {
        let numbers = [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0)];
        assert_eq!(drawn(&[1, 1], &numbers[..2]).len(), 1);
        assert!(drawn(&[1, 1], &numbers)[1].contains("measured"));
    }
}
