//! Sweeps: every combination of the axes under every seed, points in parallel.

use crate::algorithm::Machine;
use crate::arms;
use crate::explain::{Found, explain};
use crate::registry::Registry;
use crate::run::{Cache, Failure, Identity, Report, Watcher, load, run_into};
use crate::scenario::{Scenario, check};
use crate::swept::Swept;
use crate::text::{Problems, Source, apply};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::WriteError;
use folkmoot_metrics::sweep_dir::Claim;
use folkmoot_metrics::{Point, SweepManifest, SweepShard, SweepWriter, Unit};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A sweep laid out and checked: every point is a legal scenario. A scenario is made when its
/// point's turn comes, since a hundred thousand of them would take gigabytes.
pub struct Plan<'a> {
    /// What `sweep.json` says.
    pub manifest: SweepManifest,
    /// The points in order.
    pub points: Vec<Point>,
    /// Arms that differ in settings which they do not name, a line each: where in the card, which,
    /// and the way out.
    pub lints: Vec<String>,
    /// What strategies of arms take over from the card's own, a line each.
    pub notes: Vec<String>,
    /// Number of configurations that were checked, of all that differ in more than the seed.
    pub checked: (usize, usize),
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
        let choices = self.axes.iter().zip(&self.points[i].choices);
        let card = choices.into_iter().try_fold(self.card.clone(), |card, (axis, choice)| {
            axis.apply(&card, *choice, self.registry)
        });
        let source = apply(&card?, "seed", &self.points[i].seed.to_string())?;
        check(&self.manifest.name, &source, self.registry)
    }
}

/// Lays out a card's sweep, and checks its configurations: all, or about `most` of them. Then they
/// are spread evenly, and those that differ from the first in one axis alone are among them.
///
/// # Errors
///
/// When an axis' value makes a card that breaks a rule; the problem names the axis and the value.
pub fn plan<'a>(scenario: &Scenario, version: &str, registry: &'a Registry, most: usize) -> Result<Plan<'a>, Problems> {
    let manifest = SweepManifest {
        name: scenario.name().to_owned(),
        version: version.to_owned(),
        question: scenario.question().to_owned(),
        axes: scenario.axes().iter().map(Swept::named).collect(),
        seeds: scenario.seeds().to_vec(),
        headline: scenario.headline().to_vec(),
        contrasts: scenario.contrasts().to_vec(),
        figures: scenario.figures().to_vec(),
        units: scenario
            .axes()
            .iter()
            .filter_map(|axis| unit_of(axis, registry))
            .collect(),
        ..SweepManifest::default()
    };
    let card = match scenario.source().value("sweep") {
        Some(_) => apply(scenario.source(), "sweep", "()")?,
        None => scenario.source().clone(),
    };
    let mut plan = Plan {
        points: manifest.points(),
        manifest,
        lints: Vec::new(),
        notes: Vec::new(),
        checked: (0, 0),
        card,
        axes: scenario.axes().to_vec(),
        registry,
    };
    // All seeds are legal.
    let n_seeds = plan.manifest.seeds.len().max(1);
    let mut headline = plan.manifest.headline.clone();
    let firsts = (0..plan.points.len()).step_by(n_seeds);
    let stride = firsts.len().div_ceil(most.max(1)).max(1);
    plan.checked.1 = firsts.len();
    for (place, i) in firsts.enumerate() {
        let n_changed = plan.points[i].choices.iter().filter(|choice| **choice != 0).count();
        if place % stride != 0 && n_changed > 1 {
            continue;
        }
        plan.checked.0 += 1;
        let point = plan.scenario(i)?;
        for doubt in point.lints() {
            if !plan.lints.contains(doubt) {
                plan.lints.push(doubt.clone());
            }
        }
        if scenario.headline().is_empty() {
            // Arms may run different strategies, whose primary metrics differ.
            headline.extend(
                point
                    .answers()
                    .into_iter()
                    .filter(|name| !headline.contains(name))
                    .collect::<Vec<_>>(),
            );
        }
    }
    plan.manifest.headline = headline;
    for axis in scenario.axes() {
        for (choice, unnamed) in arms::unnamed(scenario.name(), &plan.card, axis, registry) {
            let warning = arms::warning(&unnamed);
            plan.lints
                .push(format!("{}{warning}", axis.place(scenario.source(), choice)));
            plan.manifest
                .warnings
                .push(format!("{}: {warning}", axis.label(choice)));
        }
        let names_strategy = |choice: &usize| axis.values[*choice].iter().any(|(path, _)| path == "strategy");
        for choice in (0..axis.values.len()).filter(names_strategy) {
            // A value may need those of other axes.
            let applied = axis.apply_with(&plan.card, choice, registry);
            let taken = applied.map(|(_, taken)| taken).unwrap_or_default();
            if !taken.is_empty() {
                let taken: Vec<String> = taken.iter().map(|(path, value)| format!("{path}: {value}")).collect();
                plan.notes.push(format!(
                    "{} takes over from the card's strategy: {}",
                    axis.label(choice),
                    taken.join(", ")
                ));
            }
        }
    }
    Ok(plan)
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

pub struct Done<'a> {
    pub point: &'a Point,
    /// How many are finished.
    pub n_done: usize,
    pub path: &'a Path,
    pub report: &'a Report,
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

/// Makes what is told of rounds: of a point, with the path of its run, or of data that are looked at
/// before any.
pub type Watching<'a> = dyn Fn(Option<(&Point, &Path)>) -> Box<dyn Watcher> + Sync + 'a;

/// How a sweep is made, as opposed to what its points are.
pub struct Making<'a> {
    pub dir: &'a Path,
    /// The card with its sweep, to be kept in the directory.
    pub card: &'a str,
    pub dirs: &'a DataDirs,
    /// What runs may use besides threads.
    pub machine: &'a Machine,
    /// How to run. There are no more threads than these, whatever the number of points.
    pub options: Options,
    /// Who runs, and by which command.
    pub identity: &'a Identity,
    /// Make only what a directory lacks that is there already.
    pub only_missing: bool,
    /// Make only these points, and what they lack; others make the rest, and nobody writes tables
    /// but who joins them.
    pub shard: Option<SweepShard>,
    pub watcher: &'a Watching<'a>,
    /// Told of finished points.
    pub done: &'a (dyn Fn(&Done<'_>) + Sync),
    /// Once it is set no point is begun.
    pub stop: &'a AtomicBool,
    /// Called once `stop` is set, while points are under way: by ending the process it gives them
    /// up. If it returns, they come to their end.
    pub stopped: &'a dyn Fn(&SweepWriter),
}

/// Makes points, as many at once as there are threads. Their tables are left to
/// [`SweepWriter::collect`], and so is to say whether others have made what they were at.
///
/// # Errors
///
/// The first failure by point; finished points stay on the disk.
///
/// # Determinism
///
/// Each point is a run of its own: the order in which they finish changes nothing.
pub fn sweep_into(plan: &Plan<'_>, making: &Making<'_>) -> Result<SweepWriter, PointFailure> {
    let cache = Cache::default();
    let scenario = |i| plan.scenario(i).map_err(|problems| Failure::Card(Box::new(problems)));
    let mut manifest = SweepManifest {
        target: making.identity.target.clone(),
        dry_run: making.options.dry_run,
        command: making.identity.command.clone(),
        ..plan.manifest.clone()
    };
    let is_ours = |point: &Point| making.shard.is_none_or(|shard| shard.owns(point.point));
    // What is missing is said before a directory is made. A shard looks at a point of each arm,
    // too: all are to agree on the data.
    let n_seeds = plan.manifest.seeds.len();
    for i in (0..plan.points.len()).filter(|i| is_ours(&plan.points[*i]) || i % n_seeds == 0) {
        let scenario = scenario(i)?;
        let is_read = !scenario.dataset().is_generated();
        let strategy = scenario.strategy();
        let about = &strategy.about;
        if is_read || !about.edge_lists.is_empty() || !about.models.is_empty() || !about.programs.is_empty() {
            let loaded = load(&scenario, making.dirs, &cache, (making.watcher)(None).as_mut())?;
            let prints = &mut manifest.data_fingerprints;
            if is_read {
                let words: Vec<&str> = scenario.dataset_text().split_whitespace().collect();
                prints
                    .entry(words.join(" "))
                    .or_insert_with(|| loaded.dataset.fingerprint());
            }
            prints.extend(loaded.sums);
        }
    }
    let (dir, card) = (making.dir, making.card);
    let joins = making.only_missing || making.shard.is_some();
    let sweep = match joins {
        true => SweepWriter::join(dir, manifest, card, making.shard)?,
        false => SweepWriter::create(dir, manifest, card)?,
    };
    let mut points: Vec<(usize, &Point)> = (0..).zip(&plan.points).filter(|(_, point)| is_ours(point)).collect();
    // Seed by seed: what settings share is then at hand, and whoever stops early has compared them
    // all.
    points.sort_by_key(|(i, _)| i % n_seeds);
    let n_workers = making.options.threads.clamp(1, points.len().max(1));
    let options = Options {
        threads: (making.options.threads / n_workers).max(1),
        ..making.options
    };
    let n_done = AtomicUsize::new(0);
    let mut is_told = false;
    let meanwhile = || {
        if making.stop.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            (making.stopped)(&sweep);
        }
    };
    let failure = in_parallel(points.len(), n_workers, meanwhile, |at| {
        let (i, point) = points[at];
        if making.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let _lock = match sweep.claim(point).map_err(Failure::Write)? {
            Claim::Yours(lock) => lock,
            Claim::Busy => return Ok(()),
            Claim::Finished => {
                n_done.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        };
        let scenario = scenario(i)?;
        let path = sweep.point_path(point);
        let mut watcher = (making.watcher)(Some((point, &path)));
        let loaded = load(&scenario, making.dirs, &cache, watcher.as_mut())?.on(making.machine.clone());
        let identity = Identity {
            command: format!("{} (point {} of the sweep)", making.identity.command, point.point),
            ..making.identity.clone()
        };
        let report = run_into(&path, &scenario, &loaded, options, &identity, watcher.as_mut())?;
        let n_done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
        (making.done)(&Done {
            point,
            n_done,
            path: &path,
            report: &report,
        });
        Ok(())
    });
    let Some((at, failure)) = failure else {
        return Ok(sweep);
    };
    if n_done.into_inner() == 0 && !joins {
        sweep.abandon();
    } else if making.shard.is_none() {
        // Without a table, too, points stay; why one has failed matters more.
        let _ = sweep.collect();
    }
    Err(PointFailure {
        point: Some(points[at].1.point),
        failure,
    })
}

/// How often to look up from work that others do.
const TICK: Duration = Duration::from_millis(20);

/// Does `n` jobs in their order, as many at once as there are workers, until one fails; returns the
/// first that failed. The calling thread does no job, but what is to be done `meanwhile`, again and
/// again.
pub fn in_parallel<E: Send>(
    n: usize,
    n_workers: usize,
    mut meanwhile: impl FnMut(),
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
        let workers: Vec<_> = (0..n_workers).map(|_| scope.spawn(work)).collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            meanwhile();
            std::thread::sleep(TICK);
        }
    });
    failed().take()
}
