//! What a sweep has come to: its headline by arm, what targets took, and what there is to warn of.

mod contrast;
#[cfg(test)]
mod tests;

pub use contrast::{Decision, Difference, Finding, LEVEL, best, contrasts, sentences, small};

use crate::curves::has_durations;
use crate::estimate::Estimate;
use crate::key::{base, reference_label};
use crate::metric::Unit;
use crate::run_dir::ReadError;
use crate::spread::Spread;
use crate::sweep_dir::{Axis, PointRow, SweepDir, WARNINGS};
use crate::target::{self, Target};
use crate::term::Better;
use crate::words::counted;
use std::collections::{BTreeMap, BTreeSet};

/// The points of a sweep that differ in their seed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm<'a> {
    /// The value of each axis.
    pub values: &'a [String],
    /// Its points, in their order.
    pub rows: Vec<&'a PointRow>,
}

/// A metric of every arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The metric, or the reference.
    pub name: String,
    /// The metric that it is a reference of, and the reference's label.
    pub reference: Option<(String, String)>,
    /// Which values are better; of a reference, none.
    pub better: Option<Better>,
    /// The number of each arm.
    pub cells: Vec<Cell>,
    /// The arms that are not significantly worse than the best, if others are.
    pub best: Vec<usize>,
}

/// A metric of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// As it is written; blank where the arm has no such number.
    pub estimate: Estimate,
    /// The mean over its seeds; NaN where there is none.
    pub mean: f64,
}

/// What it took to reach a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    pub score: String,
    /// What it was to be.
    pub value: f64,
    /// For each arm in how many of its runs it was reached, of how many; then the virtual time,
    /// bytes and rounds that it took there.
    pub arms: Vec<([usize; 2], [Cell; 3])>,
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

    /// The mean of a reference over its seeds.
    fn mean(&self, name: &str, unit: Unit) -> Cell {
        let numbers = self.numbers(name);
        Cell {
            estimate: Estimate::of_mean(&numbers, unit),
            mean: Spread::of(&numbers).mean,
        }
    }

    /// A metric of it, of this unit.
    pub fn cell(&self, name: &str, unit: Unit, sweep: &SweepDir) -> Cell {
        let numbers = self.numbers(name);
        let range = match unit {
            Unit::Number => sweep
                .manifest
                .terms
                .get(base(name))
                .map_or((None, None), |term| term.range),
            _ => (Some(0.0), None),
        };
        let estimate = match is_timeless(name, &numbers) {
            true => Estimate {
                mean: "no time".to_owned(),
                half: None,
                unit: "",
            },
            false => Estimate::of(&numbers, unit, range),
        };
        Cell {
            estimate,
            mean: Spread::of(&numbers).mean,
        }
    }
}

/// Whether these are times on an ideal network, where nothing takes any: its clock counts hops.
fn is_timeless(name: &str, numbers: &[f64]) -> bool {
    let all = || numbers.iter().all(|x| *x > 0.0 && !has_durations(*x));
    base(name).starts_with("virtual_s") && !numbers.is_empty() && all()
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

/// The primary metrics: those of the card, else those of its strategies. A sweep without any, as
/// recorded by earlier versions, shows what every run has.
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
    let (rivals, told) = (rivals(sweep, arms), contrasts(sweep, arms));
    for name in headline(sweep) {
        let all = sweep.points.iter().flat_map(|row| row.summary.keys());
        let references: BTreeMap<&String, &str> = all
            .filter_map(|other| Some((other, reference_label(other, &name)?)))
            .collect();
        let unit = sweep.manifest.units.get(base(&name)).copied().unwrap_or_default();
        let better = sweep.manifest.terms.get(base(&name)).and_then(|term| term.better);
        let cells = |name: &String| arms.iter().map(|arm| arm.cell(name, unit, sweep)).collect();
        let told = told.iter().find(|finding| finding.metric == name);
        let told = told.map_or(&[][..], |finding| &finding.differences);
        columns.push(Column {
            cells: cells(&name),
            name: name.clone(),
            reference: None,
            better,
            best: rivals
                .iter()
                .flat_map(|group| best(arms, group, &name, better, told))
                .collect(),
        });
        columns.extend(references.into_iter().map(|(reference, label)| Column {
            name: reference.clone(),
            reference: Some((name.clone(), label.to_owned())),
            better: None,
            cells: arms.iter().map(|arm| arm.mean(reference, unit)).collect(),
            best: Vec::new(),
        }));
    }
    columns
}

/// Which arms compete: those that differ on the axis of the sweep's contrasts alone. All, where it
/// has none, or contrasts on several axes.
fn rivals(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Vec<usize>> {
    let manifest = &sweep.manifest;
    let compared: BTreeSet<&str> = manifest.contrasts.iter().map(|one| one.axis.as_str()).collect();
    let is_fixed: Vec<bool> = manifest
        .axes
        .iter()
        .map(|axis| compared.len() == 1 && !is_with(axis, &compared))
        .collect();
    let mut groups: BTreeMap<Vec<&String>, Vec<usize>> = BTreeMap::new();
    for (at, arm) in arms.iter().enumerate() {
        let fixed = arm.values.iter().zip(&is_fixed).filter(|(_, is_fixed)| **is_fixed);
        groups
            .entry(fixed.map(|(value, _)| value).collect())
            .or_default()
            .push(at);
    }
    groups.into_values().collect()
}

/// Whether an axis is one of these, or varies along with one.
fn is_with(axis: &Axis, axes: &BTreeSet<&str>) -> bool {
    let with = axis.with.as_deref();
    axes.contains(axis.path.as_str()) || with.is_some_and(|with| axes.contains(with))
}

/// What each target of a sweep took each arm.
pub fn targets(sweep: &SweepDir, arms: &[Arm<'_>]) -> Vec<Reached> {
    let names: BTreeSet<&String> = sweep.points.iter().flat_map(|row| row.summary.keys()).collect();
    let of_name = |name: &String| {
        let target = Target::of_name(name, target::REACHED)?;
        let of_arm = |arm: &Arm<'_>| {
            let n: f64 = arm.numbers(name).iter().sum();
            let numbers = [
                (target::TIME, Unit::Seconds),
                (target::BYTES, Unit::Bytes),
                (target::ROUNDS, Unit::Count),
            ];
            let took = numbers.map(|(number, unit)| arm.cell(&target.name_of(number), unit, sweep));
            ([n as usize, arm.rows.len()], took)
        };
        Some(Reached {
            arms: arms.iter().map(of_arm).collect(),
            score: target.score.clone(),
            value: target.value,
        })
    };
    names.into_iter().filter_map(of_name).collect()
}

/// Arms with the same numbers in all runs: what they change had no effect. A dry run, which trains
/// nothing, shows no effect of most settings.
fn alike(sweep: &SweepDir) -> Vec<String> {
    /// So many are named.
    const MOST: usize = 5;
    if sweep.manifest.dry_run {
        return Vec::new();
    }
    let arms = arms(sweep);
    let equal = |a: &Arm<'_>, b: &Arm<'_>| {
        a.rows.len() == b.rows.len()
            && a.rows
                .iter()
                .zip(&b.rows)
                .all(|(a, b)| a.seed == b.seed && a.summary == b.summary)
    };
    let mut groups: Vec<Vec<&Arm<'_>>> = Vec::new();
    for arm in &arms {
        match groups.iter_mut().find(|group| equal(group[0], arm)) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups.retain(|group| group.len() > 1);
    let line = |group: &Vec<&Arm<'_>>| {
        let names = group.iter().take(MOST).map(|arm| arm.values.join(", "));
        let more = match group.len().saturating_sub(MOST) {
            0 => String::new(),
            n => format!(" and {}", counted(n, "other")),
        };
        format!(
            "these arms have the same numbers in every run, so what they change had no effect here: {}{more}",
            names.collect::<Vec<_>>().join("; ")
        )
    };
    groups.iter().map(line).collect()
}

/// The warnings of a sweep, then those of its runs, a line for each arm and thing: numbers in it
/// are those of the first run that says it.
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
    let of_sweep = sweep.manifest.warnings.iter().cloned();
    Ok(of_sweep.chain(alike(sweep)).chain(of_runs).collect())
}
