//! What a sweep has come to: its headline by arm, what targets took, and what there is to warn of.

mod apart;

pub use apart::{Apart, apart};

use crate::key::reference_label;
use crate::run_dir::ReadError;
use crate::spread::Spread;
use crate::sweep_dir::{PointRow, SweepDir, WARNINGS};
use crate::target::{self, Target};
use crate::words::{counted, mean_and_interval};
use std::collections::{BTreeMap, BTreeSet};

/// The points of a sweep that differ in their seed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm<'a> {
    /// The value of each axis.
    pub values: &'a [String],
    /// Its points, in their order.
    pub rows: Vec<&'a PointRow>,
}

/// A number of every arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The number, or the reference.
    pub name: String,
    /// The number that it is a reference of, and what it is called.
    pub reference: Option<(String, String)>,
    /// What each arm says; means of no numbers where it says nothing.
    pub cells: Vec<Cell>,
}

/// What an arm says of a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The mean over its seeds, with the interval.
    pub text: String,
    /// That mean.
    pub mean: f64,
}

/// What it took to reach a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The score.
    pub score: String,
    /// What it was to be.
    pub value: f64,
    /// For each arm in how many of its runs it was reached; then the rounds, virtual seconds and bytes that it took there.
    pub arms: Vec<(String, [Cell; 3])>,
}

/// The last part of each axis' path: what stands above the values of arms.
pub fn axes(sweep: &SweepDir) -> Vec<&str> {
    let axes = sweep.manifest.axes.iter();
    axes.map(|axis| crate::words::last_part(&axis.path)).collect()
}

impl Arm<'_> {
    /// Whether a run of it warns of something.
    pub fn is_warned(&self) -> bool {
        self.rows.iter().any(|row| row.summary.contains_key(WARNINGS))
    }

    /// What its runs say of a number, those that have it.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.rows
            .iter()
            .filter_map(|row| row.summary.get(name).copied())
            .collect()
    }

    fn cell(&self, name: &str, if_none: &str, with_interval: bool) -> Cell {
        let numbers = self.numbers(name);
        let text = match numbers.is_empty() {
            true => if_none.to_owned(),
            false => mean_and_interval(&numbers, with_interval),
        };
        let mean = Spread::of(&numbers).mean;
        Cell { text, mean }
    }
}

/// The arms of a sweep, in the order of the points.
pub fn arms(sweep: &SweepDir) -> Vec<Arm<'_>> {
    let mut arms: Vec<Arm<'_>> = Vec::new();
    for row in &sweep.points {
        match arms.iter_mut().find(|arm| arm.values == row.values.as_slice()) {
            Some(arm) => arm.rows.push(row),
            None => arms.push(Arm {
                values: &row.values,
                rows: vec![row],
            }),
        }
    }
    arms
}

/// The primary metrics: those of the card, else those of its strategies. A sweep without any, as recorded by earlier versions, shows what
/// every run has.
fn headline(sweep: &SweepDir) -> Vec<String> {
    match sweep.manifest.headline.as_slice() {
        [] => ["messages_sent", "messages_dropped", "payload_bytes", "virtual_s"]
            .map(str::to_owned)
            .to_vec(),
        names => names.to_vec(),
    }
}

/// Every headline number, each followed by what it is compared with.
pub fn columns(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Column> {
    let mut columns = Vec::new();
    for name in headline(sweep) {
        let all = sweep.points.iter().flat_map(|row| row.summary.keys());
        let references: BTreeMap<&String, &str> = all
            .filter_map(|other| Some((other, reference_label(other, &name)?)))
            .collect();
        // What an arm has not, while others do, does not apply to it; a reference may be one arm's alone.
        columns.push(Column {
            cells: arms.iter().map(|arm| arm.cell(&name, "n/a", true)).collect(),
            name: name.clone(),
            reference: None,
        });
        columns.extend(references.into_iter().map(|(reference, label)| Column {
            name: reference.clone(),
            reference: Some((name.clone(), label.to_owned())),
            cells: arms.iter().map(|arm| arm.cell(reference, "", false)).collect(),
        }));
    }
    columns
}

/// What each target of a sweep took each arm.
pub fn targets(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Reached> {
    let names: BTreeSet<&String> = sweep.points.iter().flat_map(|row| row.summary.keys()).collect();
    let of_name = |name: &String| {
        let target = Target::of_name(name, target::REACHED)?;
        let of_arm = |arm: &Arm<'_>| {
            let n: f64 = arm.numbers(name).iter().sum();
            let took = [target::ROUNDS, target::TIME, target::BYTES]
                .map(|number| arm.cell(&target.name_of(number), "not reached", true));
            (format!("{n} of {}", arm.rows.len()), took)
        };
        Some(Reached {
            arms: arms.iter().map(of_arm).collect(),
            score: target.score.clone(),
            value: target.value,
        })
    };
    names.into_iter().filter_map(of_name).collect()
}

/// The warnings of a sweep, then those of its runs, a line for each arm and thing: numbers in it are those of the first run that says it.
///
/// # Errors
///
/// When a run's manifest is damaged.
pub fn warnings(sweep: &SweepDir) -> Result<Vec<String>, ReadError> {
    let warned = sweep.warnings()?;
    let mut order: Vec<(&[String], String)> = Vec::new();
    let mut said: BTreeMap<(&[String], String), (u64, String, usize)> = BTreeMap::new();
    for (row, warning) in warned
        .iter()
        .flat_map(|(row, all)| all.iter().map(move |warning| (row, warning)))
    {
        let kind: String = warning.chars().filter(|c| !c.is_ascii_digit()).collect();
        let key = (row.values.as_slice(), kind);
        let entry = said.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            (row.seed, warning.clone(), 0)
        });
        entry.2 += 1;
    }
    let line = |key: &(&[String], String)| {
        let (seed, warning, n_runs) = &said[key];
        let arm = match key.0 {
            [] => String::new(),
            values => format!("{}, ", values.join(", ")),
        };
        let others = match n_runs - 1 {
            0 => String::new(),
            n => format!("; likewise in {} more", counted(n, "run")),
        };
        format!("{arm}seed {seed}: {warning}{others}")
    };
    let of_runs = order.iter().map(line);
    Ok(sweep.manifest.warnings.iter().cloned().chain(of_runs).collect())
}
