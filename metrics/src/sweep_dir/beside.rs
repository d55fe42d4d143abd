//! Two sweeps as one: what both have, with an axis that says of which it is.

use super::{Axis, Contrast, SweepDir};
use crate::sweep_dir::PointRow;
use std::collections::{BTreeMap, BTreeSet};

/// The axis of two sweeps that are compared.
pub const SWEEPS: &str = "sweep";

/// Two sweeps side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The runs of configurations and seeds that both have, and the comparison of the second sweep
    /// with the first.
    pub both: SweepDir,
    /// The configurations that one of them has alone: its place, 0 or 1, and the value of each
    /// axis.
    pub alone: Vec<(usize, Vec<String>)>,
    /// The seeds that one of them has alone.
    pub seeds: Vec<(usize, u64)>,
    /// How many runs of both have the same numbers.
    pub n_same: usize,
}

impl SweepDir {
    /// This sweep and another one, called by these names.
    ///
    /// # Errors
    ///
    /// When they vary different fields or have no run in common, in words.
    pub fn beside(&self, other: &SweepDir, names: [&str; 2]) -> Result<Beside, String> {
        let sweeps = [self, other];
        let paths = sweeps.map(|sweep| {
            sweep
                .manifest
                .axes
                .iter()
                .map(|axis| axis.path.as_str())
                .collect::<Vec<_>>()
        });
        if paths[0] != paths[1] {
            let [a, b] = paths.map(|paths| paths.join(", "));
            return Err(format!(
                "the sweeps vary different fields: {a} in the first, {b} in the second"
            ));
        }
        type Runs<'a> = BTreeMap<(&'a [String], u64), &'a PointRow>;
        let runs = sweeps.map(|sweep| -> Runs<'_> {
            sweep
                .points
                .iter()
                .map(|row| ((row.values.as_slice(), row.seed), row))
                .collect()
        });
        let mut rows = Vec::new();
        for (at, sweep) in sweeps.into_iter().enumerate() {
            let common = sweep
                .points
                .iter()
                .filter(|row| runs[1 - at].contains_key(&(row.values.as_slice(), row.seed)));
            rows.extend(common.map(|row| (at, row)));
        }
        if rows.is_empty() {
            return Err("the sweeps have no run of the same configuration and seed".to_owned());
        }
        let is_same = |(at, row): &&(usize, &PointRow)| {
            let other = runs[1].get(&(row.values.as_slice(), row.seed));
            *at == 0 && other.is_some_and(|other| other.summary == row.summary)
        };
        let n_same = rows.iter().filter(is_same).count();
        let points = rows.iter().zip(0..).map(|((at, row), point)| PointRow {
            point,
            values: [names[*at].to_owned()]
                .into_iter()
                .chain(row.values.iter().cloned())
                .collect(),
            ..(*row).clone()
        });
        let points: Vec<PointRow> = points.collect();
        let has = |at: usize, values: &[String]| runs[at].keys().any(|(own, _)| *own == values);
        let mut alone: Vec<(usize, Vec<String>)> = Vec::new();
        let mut seeds: BTreeSet<(usize, u64)> = BTreeSet::new();
        for (at, sweep) in sweeps.into_iter().enumerate() {
            for row in &sweep.points {
                let configuration = (at, row.values.clone());
                if !has(1 - at, &row.values) && !alone.contains(&configuration) {
                    alone.push(configuration);
                }
                if !sweeps[1 - at].manifest.seeds.contains(&row.seed) {
                    seeds.insert((at, row.seed));
                }
            }
        }
        let mut manifest = self.manifest.clone();
        let axis = Axis {
            path: SWEEPS.to_owned(),
            values: names.map(str::to_owned).to_vec(),
            with: None,
        };
        manifest.axes.insert(0, axis);
        manifest.seeds = rows
            .iter()
            .map(|(_, row)| row.seed)
            .collect::<BTreeSet<u64>>()
            .into_iter()
            .collect();
        let own: Vec<&String> = manifest.headline.iter().collect();
        let more = other
            .manifest
            .headline
            .iter()
            .filter(|name| !own.contains(name))
            .cloned()
            .collect::<Vec<_>>();
        manifest.headline.extend(more);
        manifest.contrasts = vec![Contrast {
            axis: SWEEPS.to_owned(),
            value: names[1].to_owned(),
            baseline: names[0].to_owned(),
        }];
        for (name, unit) in &other.manifest.units {
            manifest.units.entry(name.clone()).or_insert(*unit);
        }
        for (name, term) in &other.manifest.terms {
            manifest.terms.entry(name.clone()).or_insert_with(|| term.clone());
        }
        manifest.question = String::new();
        manifest.finished = true;
        let both = SweepDir {
            path: self.path.clone(),
            manifest,
            points,
        };
        Ok(Beside {
            both,
            alone,
            seeds: seeds.into_iter().collect(),
            n_same,
        })
    }
}
