//! What a sweep has come to besides its headline: what it took to reach targets, and what there is to warn of.

use crate::text;
use folkmoot_metrics::sweep_dir::PointRow;
use folkmoot_metrics::{SweepDir, Target, target};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of points by the values of their axes, in the order of the points.
pub(crate) fn arms(sweep: &SweepDir) -> Vec<(&[String], Vec<&PointRow>)> {
    let mut arms: Vec<(&[String], Vec<&PointRow>)> = Vec::new();
    for row in &sweep.points {
        match arms.iter_mut().find(|(values, _)| *values == row.values.as_slice()) {
            Some((_, rows)) => rows.push(row),
            None => arms.push((&row.values, vec![row])),
        }
    }
    arms
}

/// A table for each target of a sweep: rounds, virtual time and bytes of each arm, in how many of its runs.
pub(crate) fn targets(sweep: &SweepDir) -> Vec<String> {
    let names: BTreeSet<&str> = sweep
        .points
        .iter()
        .flat_map(|row| row.summary.keys())
        .map(String::as_str)
        .collect();
    let of_target = |name: &str| {
        let (score, value) = name
            .strip_prefix(target::REACHED)?
            .strip_prefix('[')?
            .strip_suffix(']')?
            .split_once('=')?;
        let named = Target {
            score: score.to_owned(),
            value: value.parse().ok()?,
            at_most: false,
        };
        Some(of_target(sweep, &named))
    };
    names.into_iter().filter_map(of_target).collect()
}

fn of_target(sweep: &SweepDir, target: &Target) -> String {
    let mut header: Vec<&str> = sweep
        .manifest
        .axes
        .iter()
        .map(|axis| text::last_part(&axis.path))
        .collect();
    let n_left = header.len();
    header.extend(["reached", "rounds", "virtual s", "bytes on the wire"]);
    let of_arm = |(values, rows): &(&[String], Vec<&PointRow>)| {
        let numbers = |number: &str| -> Vec<f64> {
            let name = target.name_of(number);
            rows.iter().filter_map(|row| row.summary.get(&name).copied()).collect()
        };
        let reached: f64 = numbers(target::REACHED).iter().sum();
        let took = [target::ROUNDS, target::TIME, target::BYTES].map(|number| match numbers(number) {
            numbers if numbers.is_empty() => "not reached".to_owned(),
            numbers => text::mean_and_interval(&numbers, true),
        });
        let cells = [format!("{reached} of {}", rows.len())].into_iter().chain(took);
        values.iter().cloned().chain(cells).collect()
    };
    let lines: Vec<Vec<String>> = arms(sweep).iter().map(of_arm).collect();
    format!(
        "to {} {}\n{}",
        target.score,
        target.value,
        text::table(&header, &lines, n_left)
    )
}

/// What the runs of a sweep warn of, a line for each arm and thing: numbers in it are those of the first run that says it.
pub(crate) fn warnings(sweep: &SweepDir) -> Vec<String> {
    let warned = match sweep.warnings() {
        Ok(warned) => warned,
        Err(error) => return vec![format!("what runs warn of cannot be read: {error}")],
    };
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
            n => format!("; likewise in {} more", text::counted(n, "run")),
        };
        format!("{arm}seed {seed}: {warning}{others}")
    };
    order.iter().map(line).collect()
}
