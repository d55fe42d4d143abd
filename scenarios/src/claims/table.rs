//! Tables of measured numbers, and the figures that are drawn of them.

use super::{Measure, RunKey, refused};
use crate::registry::Registry;
use crate::text::{Problems, Source};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Tables whose columns are numbers, drawn beside each other: a panel a table, a curve a row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name below `figures/`.
    pub name: String,
    pub title: String,
    /// What the columns are.
    pub x: String,
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What is measured, along y.
    pub y: String,
    /// The title of its table.
    pub table: String,
    /// What a dashed line stands for that is the same for all rows, and the title of the table of
    /// it.
    #[serde(default)]
    pub beside: Option<(String, String)>,
}

/// A table of means over seeds: one card's number by two of its axes, or several of its numbers by
/// one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub title: String,
    pub card: String,
    #[serde(default)]
    pub set: Vec<String>,
    /// The value of each axis that neither rows nor columns name.
    #[serde(default)]
    pub arm: BTreeMap<String, String>,
    /// The number of the summary.
    #[serde(default)]
    pub metric: String,
    /// In its place, several numbers, each a column: its heading, and its name in the summary.
    #[serde(default)]
    pub metrics: Vec<(String, String)>,
    /// What they are multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// The axis of the rows.
    pub rows: String,
    /// The axis of the columns; without it there is one column.
    #[serde(default)]
    pub columns: String,
    /// In the place of an axis, settings, each a column: its heading, and the settings besides.
    #[serde(default)]
    pub forms: Vec<(String, Vec<String>)>,
}

/// One difference from print over whole grids of printed numbers, in place of one verdict a cell
/// ([`crate::audit::overall`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overall {
    /// Its name in `found`, in braces.
    pub id: String,
    /// Which runs it is over.
    pub title: String,
    /// The ids of the grids.
    pub grids: Vec<String>,
    /// Settings besides those of the grids' runs.
    #[serde(default)]
    pub set: Vec<String>,
}

/// The cells of a table.
pub struct Cells {
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// What stands in each row and column.
    pub numbers: Vec<Vec<Measure>>,
}

fn one() -> f64 {
    1.0
}

impl Table {
    /// What it is made of.
    ///
    /// # Errors
    ///
    /// When the card has no such axis, or the table names neither one number nor several.
    pub fn cells(&self, registry: &Registry) -> Result<Cells, Problems> {
        let run = RunKey {
            card: self.card.clone(),
            arm: self.arm.clone(),
            set: self.set.clone(),
        };
        let (scenario, source) = run.card(registry)?;
        let names = |path: &String| match scenario.axes().iter().find(|axis| axis.path == *path) {
            Some(axis) => Ok(axis.names.clone()),
            None => Err(refused(&source, format!("the card has no axis {path}"))),
        };
        let rows = names(&self.rows)?;
        if !self.forms.is_empty() && (self.metric.is_empty() || !self.metrics.is_empty() || !self.columns.is_empty()) {
            let why = "a table with `forms` has a `metric` and no other columns";
            return Err(refused(&source, why.to_owned()));
        }
        let one = [(self.metric.clone(), Vec::new())];
        let forms = if self.forms.is_empty() { &one[..] } else { &self.forms };
        // Of each column its heading, the number, and the value of its axis, if it is one.
        let columns: Vec<(String, &String, Option<String>)> =
            match (self.metric.is_empty(), self.metrics.is_empty(), self.columns.is_empty()) {
                (false, true, true) => vec![(self.metric.clone(), &self.metric, None)],
                (false, true, false) => {
                    let names = names(&self.columns)?.into_iter();
                    names.map(|name| (name.clone(), &self.metric, Some(name))).collect()
                }
                (true, false, true) => {
                    let named = self.metrics.iter();
                    named.map(|(name, metric)| (name.clone(), metric, None)).collect()
                }
                _ => {
                    let why = "a table has a `metric`, with an axis of `columns` or none, or `metrics`, each a column";
                    return Err(refused(&source, why.to_owned()));
                }
            };
        let cell = |row: &String, metric: &String, value: &Option<String>, settings: &[String]| {
            let mut run = run.clone();
            run.set.extend_from_slice(settings);
            run.arm.insert(self.rows.clone(), row.clone());
            if let Some(value) = value {
                run.arm.insert(self.columns.clone(), value.clone());
            }
            let metric = metric.clone();
            Measure { run, metric }
        };
        let cells = rows.iter().map(|row| {
            let of_forms = forms
                .iter()
                .flat_map(|(_, settings)| columns.iter().map(move |column| (column, settings)));
            of_forms
                .map(|((_, metric, value), settings)| cell(row, metric, value, settings))
                .collect()
        });
        let numbers = cells.collect();
        let columns = match self.forms.is_empty() {
            true => columns.into_iter().map(|(name, ..)| name).collect(),
            false => self.forms.iter().map(|(name, _)| name.clone()).collect(),
        };
        Ok(Cells { rows, columns, numbers })
    }

    /// Where the columns lie on an axis.
    ///
    /// # Errors
    ///
    /// When the card has no such axis, or a value of it is no number.
    pub fn places(&self, registry: &Registry) -> Result<Vec<f64>, Problems> {
        let columns = self.cells(registry)?.columns;
        let place = |column: &String| match column.parse::<f64>() {
            Ok(place) if place.is_finite() => Ok(place),
            _ => {
                let why = format!(
                    "{:?} is drawn along {}, whose value {column} is no number",
                    self.title, self.columns
                );
                Err(refused(&Source::new(&self.card, "")?, why))
            }
        };
        columns.iter().map(place).collect()
    }
}
