//! Sweeps: every combination of the axes under every seed, points in parallel.

use crate::registry::Registry;
use crate::run::{Cache, Failure, Identity, Watcher, load, run_into};
use crate::scenario::{Scenario, Swept, check};
use crate::text::{Problems, apply, apply_axis};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::WriteError;
use folkmoot_metrics::{Axis, Point, SweepManifest, SweepWriter};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A sweep laid out and checked: every point is a legal scenario.
pub struct Plan {
    /// What `sweep.json` says.
    pub manifest: SweepManifest,
    /// The points in order, each with its scenario.
    pub points: Vec<(Point, Scenario)>,
}

/// Lays out a card's sweep.
///
/// # Errors
///
/// When an axis' value makes a card that breaks a rule; the problem names the axis and the value.
pub fn plan(scenario: &Scenario, version: &str, registry: &Registry) -> Result<Plan, Problems> {
    let manifest = SweepManifest {
        name: scenario.name().to_owned(),
        version: version.to_owned(),
        axes: scenario.axes().iter().map(named).collect(),
        seeds: scenario.seeds().to_vec(),
        headline: scenario.headline().to_vec(),
        finished: false,
    };
    let mut points = Vec::new();
    for point in manifest.points() {
        let mut source = scenario.source().clone();
        for (axis, name) in scenario.axes().iter().zip(&point.values) {
            let at = axis.names.iter().position(|other| other == name);
            source = apply_axis(&source, &axis.path, &axis.values[at.unwrap_or_default()])?;
        }
        source = apply(&source, "seed", &point.seed.to_string())?;
        points.push((point, check(scenario.name(), &source, registry)?));
    }
    Ok(Plan { manifest, points })
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
    plan: &Plan,
    dirs: &DataDirs,
    options: Options,
    identity: &Identity,
    watcher: &(dyn Fn() -> Box<dyn Watcher> + Sync),
    done: &(dyn Fn(&Done<'_>) + Sync),
) -> Result<(), PointFailure> {
    let cache = Cache::default();
    // What is missing is said before a directory is made.
    for (_, scenario) in &plan.points {
        if !scenario.dataset().is_generated() {
            load(scenario, dirs, &cache)?;
        }
    }
    let mut sweep = SweepWriter::create(dir, plan.manifest.clone())?;
    let n_workers = options.threads.clamp(1, plan.points.len().max(1));
    let options = Options {
        threads: (options.threads / n_workers).max(1),
        ..options
    };
    let (next, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let first_failure: Mutex<Option<(usize, Failure)>> = Mutex::new(None);
    let failed = || first_failure.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        while failed().is_none() {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some((point, scenario)) = plan.points.get(i) else {
                return;
            };
            let result = load(scenario, dirs, &cache).and_then(|loaded| {
                let command = format!("{} (point {} of the sweep)", identity.command, point.point);
                let identity = Identity {
                    command,
                    ..identity.clone()
                };
                run_into(
                    &sweep.point_path(point),
                    scenario,
                    &loaded,
                    options,
                    &identity,
                    watcher().as_mut(),
                )
            });
            match result {
                Ok(report) => {
                    let n_done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
                    done(&Done {
                        point,
                        n_done,
                        summary: &report.summary,
                    });
                }
                Err(failure) => {
                    let mut first = failed();
                    if first.as_ref().is_none_or(|(j, _)| i < *j) {
                        *first = Some((i, failure));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..n_workers).for_each(|_| {
            scope.spawn(work);
        });
    });
    let failure = failed().take();
    if n_done.load(Ordering::Relaxed) == 0 && failure.is_some() {
        sweep.abandon();
    } else {
        sweep.collect()?;
    }
    match failure {
        None => Ok(()),
        Some((i, failure)) => Err(PointFailure {
            point: Some(plan.points[i].0.point),
            failure,
        }),
    }
}
