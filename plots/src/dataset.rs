//! A data set as a picture: how degrees are spread, and how large the labels are.

use crate::names::Unit;
use folkmoot_metrics::figure::{Axis, Bar, Bars, Figure, Lines, Panel, Path, Role, Row, Series};

/// What of a data set is drawn.
#[derive(Clone, Debug)]
pub struct DatasetPicture {
    /// What it is called.
    pub name: String,
    /// The degree of every node, ascending.
    pub degrees: Vec<usize>,
    /// The share of items that have each label.
    pub labels: Vec<(String, f64)>,
    /// What the items are.
    pub labelled: String,
}

/// More labels than these would be too thin to read.
const N_LABELS: usize = 24;

pub(crate) fn figures(picture: &DatasetPicture) -> Vec<Figure> {
    let mut panels = Vec::new();
    let mut notes = Vec::new();
    let n_isolated = picture.degrees.partition_point(|&degree| degree == 0);
    let points = at_least(&picture.degrees);
    if !points.is_empty() {
        let degrees = Series {
            path: Path::Scattered,
            ..Series::new("", Role::Data(0), points)
        };
        let share = Axis {
            log_beyond: Some(1.5),
            ..Axis::new("Nodes of this degree or more", Unit::Share)
        };
        let degree = Axis {
            log_beyond: Some(1.0),
            ..Axis::new("Degree", Unit::Number)
        };
        panels.push(Panel::Lines(Lines {
            x: degree,
            y: share,
            series: vec![degrees],
        }));
    }
    if n_isolated > 0 {
        notes.push(format!("{n_isolated} nodes without an edge are not drawn"));
    }
    if !picture.labels.is_empty() {
        let mut labels = picture.labels.clone();
        // Equal ones stay in their order.
        labels.sort_by(|a, b| b.1.total_cmp(&a.1));
        if labels.len() > N_LABELS {
            notes.push(format!("the {N_LABELS} largest of {} labels", labels.len()));
            labels.truncate(N_LABELS);
        }
        let row = |(name, share): (String, f64)| Row {
            label: name,
            bars: vec![Bar {
                value: Some(share),
                ..Bar::default()
            }],
            remark: None,
            ..Row::default()
        };
        panels.push(Panel::Bars(Bars {
            x: Axis::amount(
                format!("Share of the {} with this label", picture.labelled),
                Unit::Share,
            ),
            groups: vec![String::new()],
            rows: labels.into_iter().map(row).collect(),
            stacked: false,
            references: Vec::new(),
            ..Bars::default()
        }));
    }
    if panels.is_empty() {
        return Vec::new();
    }
    vec![Figure {
        name: "dataset".to_owned(),
        title: picture.name.clone(),
        notes,
        panels,
    }]
}

/// For each degree from 1 on that occurs, the share of nodes that have it or more.
fn at_least(degrees: &[usize]) -> Vec<(f64, f64)> {
    let all = degrees.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, &degree) in degrees.iter().enumerate() {
        let is_new = points.last().is_none_or(|(last, _)| *last != degree as f64);
        if degree > 0 && is_new {
            points.push((degree as f64, (degrees.len() - at) as f64 / all));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(degrees: &[usize], n_labels: usize) -> Vec<String> {
        let label = |at: usize| (format!("class {at}"), (at + 1) as f64 / 100.0);
        let picture = DatasetPicture {
            name: "Set".to_owned(),
            degrees: degrees.to_vec(),
            labels: (0..n_labels).map(label).collect(),
            labelled: "nodes".to_owned(),
        };
        let svg = |figure: &Figure| crate::svg::part(&crate::draw::lay_out(figure, &crate::Look::default())).unwrap();
        figures(&picture).iter().map(svg).collect()
    }

    #[test]
    fn degrees_are_shares_of_all_nodes() {
        assert_eq!(at_least(&[0, 1, 1, 4]), [(1.0, 0.75), (4.0, 0.25)]);
        assert!(at_least(&[0, 0]).is_empty());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let few = &drawn(&[1, 2, 2], 3)[0];
        assert!(few.contains("class 2") && !few.contains("largest of") && !few.contains("without an edge"));
        let many = &drawn(&[0, 2, 2], N_LABELS + 1)[0];
        assert!(many.contains("largest of 25 labels") && many.contains("1 nodes without an edge"));
        // The smallest is the one left out.
        assert!(many.contains("class 24") && !many.contains("class 0<"), "{many}");
        assert!(drawn(&[], 0).is_empty());
    }
}
