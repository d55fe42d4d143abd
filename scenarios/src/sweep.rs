//! Sweeps: every combination of the axes under every seed, points in parallel.

use crate::explain::{Found, explain};
use crate::registry::Registry;
use crate::run::{Cache, Failure, Identity, Watcher, load, run_into};
use crate::scenario::{Scenario, Swept, check};
use crate::text::{Problems, Source, apply, apply_axis};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::WriteError;
use folkmoot_metrics::{Axis, Point, SweepManifest, SweepWriter, Unit};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A sweep laid out and checked: every point is a legal scenario. A scenario is made when its point's turn comes, since a
/// hundred thousand of them would take gigabytes.
pub struct Plan<'a> {
    /// What `sweep.json` says.
    pub manifest: SweepManifest,
    /// The points in order.
    pub points: Vec<Point>,
    /// The card without its sweep, of which no point needs a copy.
    card: Source,
    axes: Vec<Swept>,
    registry: &'a Registry,
}

impl Plan<'_> {
    /// The scenario of the point number `i`.
    ///
    /// # Errors
    ///
    /// None that planning did not find.
    pub fn scenario(&self, i: usize) -> Result<Scenario, Problems> {
        let mut values = Vec::with_capacity(self.axes.len());
        let mut arm = i / self.manifest.seeds.len();
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[arm % axis.values.len()]);
            arm /= axis.values.len();
        }
        let mut source = self.card.clone();
        for (axis, value) in self.axes.iter().zip(values.into_iter().rev()) {
            source = apply_axis(&source, &axis.path, value)?;
        }
        source = apply(&source, "seed", &self.points[i].seed.to_string())?;
        check(&self.manifest.name, &source, self.registry)
    }
}

/// Lays out a card's sweep.
///
/// # Errors
///
/// When an axis' value makes a card that breaks a rule; the problem names the axis and the value.
pub fn plan<'a>(scenario: &Scenario, version: &str, registry: &'a Registry) -> Result<Plan<'a>, Problems> {
    let manifest = SweepManifest {
        name: scenario.name().to_owned(),
        version: version.to_owned(),
        axes: scenario.axes().iter().map(named).collect(),
        seeds: scenario.seeds().to_vec(),
        headline: scenario.headline().to_vec(),
        units: scenario
            .axes()
            .iter()
            .filter_map(|axis| unit_of(axis, registry))
            .collect(),
        finished: false,
    };
    let card = match scenario.source().value("sweep") {
        Some(_) => apply(scenario.source(), "sweep", "()")?,
        None => scenario.source().clone(),
    };
    check_arms(&manifest.name, &card, scenario.axes(), registry)?;
    Ok(Plan {
        points: manifest.points(),
        manifest,
        card,
        axes: scenario.axes().to_vec(),
        registry,
    })
}

/// Checks the card with every combination of the axes' values, the last axis changing fastest. All seeds are legal.
fn check_arms(name: &str, card: &Source, axes: &[Swept], registry: &Registry) -> Result<(), Problems> {
    let Some((axis, inner)) = axes.split_first() else {
        return check(name, card, registry).map(|_| ());
    };
    for value in &axis.values {
        check_arms(name, &apply_axis(card, &axis.path, value)?, inner, registry)?;
    }
    Ok(())
}

/// What an axis is measured in, by its path.
fn unit_of(axis: &Swept, registry: &Registry) -> Option<(String, Unit)> {
    let found = explain(&axis.path, registry).ok()?;
    let unit = found.iter().find_map(|found| match found {
        Found::Field { field, .. } => field.unit,
        _ => None,
    });
    Some((axis.path.clone(), Unit::of_setting(unit?)?))
}

/// An axis with the names of its values.
fn named(axis: &Swept) -> Axis {
    Axis {
        path: axis.path.clone(),
        values: axis.names.clone(),
    }
}

/// One finished point.
pub struct Done<'a> {
    /// Which.
    pub point: &'a Point,
    /// How many are finished.
    pub n_done: usize,
    /// Its summary.
    pub summary: &'a BTreeMap<String, f64>,
}

/// A point that failed, and why.
pub struct PointFailure {
    /// Its number, if it is one point's failure.
    pub point: Option<u32>,
    /// Why.
    pub failure: Failure,
}

impl From<Failure> for PointFailure {
    fn from(failure: Failure) -> Self {
        PointFailure { point: None, failure }
    }
}

impl From<WriteError> for PointFailure {
    fn from(error: WriteError) -> Self {
        Failure::Write(error).into()
    }
}

/// Runs all points, as many at once as there are threads, and writes the sweep directory.
///
/// # Errors
///
/// The first failure by point; finished points stay on the disk.
///
/// # Determinism
///
/// Each point is a run of its own: the order in which they finish changes nothing.
pub fn sweep_into(
    dir: &Path,
    plan: &Plan<'_>,
    dirs: &DataDirs,
    options: Options,
    identity: &Identity,
    watcher: &(dyn Fn() -> Box<dyn Watcher> + Sync),
    done: &(dyn Fn(&Done<'_>) + Sync),
) -> Result<(), PointFailure> {
    let cache = Cache::default();
    // What is missing is said before a directory is made.
    let scenario = |i| plan.scenario(i).map_err(|problems| Failure::Card(Box::new(problems)));
    for i in 0..plan.points.len() {
        let scenario = scenario(i)?;
        if !scenario.dataset().is_generated() {
            load(&scenario, dirs, &cache, &mut ())?;
        }
    }
    let mut sweep = SweepWriter::create(dir, plan.manifest.clone())?;
    let n_workers = options.threads.clamp(1, plan.points.len().max(1));
    let options = Options {
        threads: (options.threads / n_workers).max(1),
        ..options
    };
    let n_done = AtomicUsize::new(0);
    let failure = in_parallel(plan.points.len(), n_workers, |i| {
        let point = &plan.points[i];
        let scenario = scenario(i)?;
        let mut watcher = watcher();
        let loaded = load(&scenario, dirs, &cache, watcher.as_mut())?;
        let identity = Identity {
            command: format!("{} (point {} of the sweep)", identity.command, point.point),
            ..identity.clone()
        };
        let path = sweep.point_path(point);
        let report = run_into(&path, &scenario, &loaded, options, &identity, watcher.as_mut())?;
        let n_done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
        let summary = &report.summary;
        done(&Done { point, n_done, summary });
        Ok(())
    });
    if n_done.load(Ordering::Relaxed) == 0 && failure.is_some() {
        sweep.abandon();
    } else {
        sweep.collect()?;
    }
    match failure {
        None => Ok(()),
        Some((i, failure)) => Err(PointFailure {
            point: Some(plan.points[i].point),
            failure,
        }),
    }
}

/// Does `n` jobs in their order, as many at once as there are workers, until one fails; returns the first that failed.
pub fn in_parallel<E: Send>(
    n: usize,
    n_workers: usize,
    job: impl Fn(usize) -> Result<(), E> + Sync,
) -> Option<(usize, E)> {
    let next = AtomicUsize::new(0);
    let first_failure: Mutex<Option<(usize, E)>> = Mutex::new(None);
    let failed = || first_failure.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        while failed().is_none() {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return;
            }
            if let Err(error) = job(i) {
                let mut first = failed();
                if first.as_ref().is_none_or(|(j, _)| i < *j) {
                    *first = Some((i, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..n_workers).for_each(|_| {
            scope.spawn(work);
        });
    });
    failed().take()
}
