//! `points.csv`: the summaries of finished points, a row a point.

use super::Axis;
use crate::table::{Column, TableError, column, decode_cells, encode_cells, float_text, parse_number};
use std::collections::{BTreeMap, BTreeSet};

/// A row of `points.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct PointRow {
    pub point: u32,
    /// The value of each axis.
    pub values: Vec<String>,
    pub seed: u64,
    /// The point's `summary.json`.
    pub summary: BTreeMap<String, f64>,
}

/// What the columns of `points.csv` are; one in angle brackets stands for several.
pub const COLUMNS: [Column; 4] = [
    column(
        "point",
        "a whole number",
        "The point's number, from 0, the first axis outermost and the seed innermost.",
    ),
    column(
        "<axis>",
        "text",
        "The value of each axis, in a column that is called by the axis' path.",
    ),
    column("seed", "a whole number", "The seed."),
    column(
        "<number>",
        "a float or blank",
        "Each number of the points' summaries, and what their other files say besides, by name; blank where a point has none.",
    ),
];

pub(super) fn encode_points(axes: &[Axis], rows: &[PointRow]) -> Vec<u8> {
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.summary.keys()).collect();
    let mut header = vec!["point".to_owned()];
    header.extend(axes.iter().map(|axis| axis.path.clone()));
    header.push("seed".to_owned());
    header.extend(names.iter().map(|name| (*name).clone()));
    let cells = rows.iter().map(|row| {
        let mut cells = vec![row.point.to_string()];
        cells.extend(row.values.iter().cloned());
        cells.push(row.seed.to_string());
        cells.extend(
            names
                .iter()
                .map(|name| row.summary.get(*name).copied().map(float_text).unwrap_or_default()),
        );
        cells
    });
    encode_cells(&header, cells)
}

pub(super) fn decode_points(axes: &[Axis], bytes: &[u8]) -> Result<Vec<PointRow>, TableError> {
    let (header, rows) = decode_cells(bytes)?;
    let n_axes = axes.len();
    let start = || {
        ["point"]
            .into_iter()
            .chain(axes.iter().map(|axis| axis.path.as_str()))
            .chain(["seed"])
    };
    if !start().eq(header.iter().map(String::as_str).take(n_axes + 2)) {
        let rule = format!(
            "must begin with {}, got {}",
            start().collect::<Vec<_>>().join(","),
            header.join(",")
        );
        return Err(TableError {
            line: 1,
            column: None,
            rule,
        });
    }
    let row = |(line, record): &(u64, csv::StringRecord)| {
        let bad = |at: usize, rule: &str| TableError {
            line: *line,
            column: header.get(at).cloned(),
            rule: format!("{rule}, got {:?}", record.get(at).unwrap_or("")),
        };
        let text = |at: usize| record.get(at).unwrap_or("");
        let mut summary = BTreeMap::new();
        for (at, name) in header
            .iter()
            .enumerate()
            .skip(n_axes + 2)
            .filter(|(at, _)| !text(*at).is_empty())
        {
            let number = parse_number(text(at)).ok_or_else(|| bad(at, "must be blank, a number, inf or nan"))?;
            summary.insert(name.clone(), number);
        }
        Ok(PointRow {
            point: text(0).parse().map_err(|_| bad(0, "must be a whole number"))?,
            values: (1..=n_axes).map(|at| text(at).to_owned()).collect(),
            seed: text(n_axes + 1)
                .parse()
                .map_err(|_| bad(n_axes + 1, "must be a whole number"))?,
            summary,
        })
    };
    rows.iter().map(row).collect()
}
