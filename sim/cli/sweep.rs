//! `folkmoot sweep`: a card's axes under all its seeds.

use crate::args::{CardArgs, Format, OutArgs, ResumeArgs, SayArgs, SweepArgs};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::figures;
use crate::job::Job;
use crate::memory;
use crate::output::{print, print_json, warn};
use crate::signals::stop_flag;
use crate::sweep_table::describe;
use crate::text;
use crate::watch::{Progress, Stopwatch, bar};
use folkmoot_metrics::key::reference_label;
use folkmoot_metrics::run_dir::SCENARIO;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{Point, SweepDir, SweepManifest, SweepShard, SweepWriter, WriteError};
use folkmoot_scenarios::run::{Failure, Identity};
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::sweep::{Done, Making, Plan, PointFailure, plan, sweep_into};
use folkmoot_scenarios::text::Source;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) fn sweep(program: &Program, args: &SweepArgs) -> Result<(), Exit> {
    refuse_seed(args.seed.as_deref(), &args.card.set)?;
    if args.trace {
        return Err(Exit::usage(format!(
            "error: --trace: a run can be traced, and no sweep; trace one of its points: {} run {} --trace --seed SEED --set PATH=VALUE",
            program.name,
            context::quoted(&args.card.card)
        )));
    }
    let scenario = context::scenario(program, &args.card, None, &[])?;
    refuse_overridden(&args.card.set, &scenario)?;
    let command = context::command(program, "sweep", &args.card, None, args.dry_run);
    let card = scenario.shown(&program.registry)?;
    make(program, args, (&scenario, &card), command)
}

/// Goes on with a sweep directory by what it says itself.
pub(crate) fn resume(program: &Program, args: ResumeArgs) -> Result<(), Exit> {
    let ResumeArgs {
        dir,
        data,
        every,
        events,
        engine,
        say,
        allow_changed_code,
    } = args;
    if allow_changed_code {
        return Err(Exit::usage(
            "error: --allow-changed-code: the runs of a sweep are compared, so all of them need the same code; make the sweep \
             again in another folder with --out"
                .to_owned(),
        ));
    }
    if every.checkpoint_every.is_some() {
        return Err(Exit::usage(
            "error: --checkpoint-every: a sweep goes on by whole points, and saves the state of none".to_owned(),
        ));
    }
    let SweepManifest {
        name,
        command,
        dry_run,
        finished,
        ..
    } = SweepWriter::open(&dir)?.manifest().clone();
    // By its own word: a sweep that was killed after its last point has all of them, and no tables.
    if finished {
        if crate::resume::draw_missing(program, &dir, engine.threads, say.quiet)? {
            return Ok(());
        }
        return Err(WriteError::Finished { path: dir }.into());
    }
    let source = Source::read(&dir.join(SCENARIO))?;
    let scenario = check(&name, &source, &program.registry)?;
    let args = SweepArgs {
        card: CardArgs {
            card: name,
            set: Vec::new(),
            data,
        },
        seed: None,
        trace: false,
        dry_run,
        only_missing: true,
        shard: None,
        job: None,
        events,
        shards: None,
        engine,
        out: OutArgs { out: Some(dir), say },
    };
    make(program, &args, (&scenario, source.text()), command)
}

/// Makes the points of a sweep that are wanted, of the card with this text, by the command that
/// makes them all.
fn make(program: &Program, args: &SweepArgs, (scenario, card): (&Scenario, &str), command: String) -> Result<(), Exit> {
    let plan = plan(scenario, context::VERSION, &program.registry, usize::MAX)?;
    let dir = context::out_dir(args.out.out.as_ref(), &format!("{}-sweep", scenario.name()));
    if let Some(scheduler) = args.job {
        return print(&job(program, args, &plan, &dir).file(scheduler));
    }
    let variable = |name: &str| std::env::var(name).ok();
    let shard = args.shard.map(|shard| shard.resolve(&variable)).transpose();
    let shard = shard.map_err(|why| Exit::usage(format!("error: --shard: {why}")))?;
    let n_points = match shard {
        None => plan.points.len(),
        Some(shard) => plan.points.iter().filter(|point| shard.owns(point.point)).count(),
    };
    let identity = context::identity(command.clone());
    let say = args.events.say(args.out.say);
    let quiet = say.quiet;
    let events = args.events.of(program)?;
    if !quiet {
        announce(&plan, &identity, shard, n_points);
    }
    let bar = bar(Some(n_points as u64), "points", quiet);
    let total = Stopwatch::start(None, "", true);
    // Many points share a partition.
    let noted: Mutex<BTreeSet<String>> = Mutex::default();
    let progress = Mutex::new(Progress::of("runs"));
    let made = AtomicUsize::new(0);
    let done = |done: &Done<'_>| {
        for note in done.report.notes.iter().filter(|_| !quiet) {
            if noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(note.clone())
            {
                bar.suspend(|| warn(&format!("note: {}: {note}", configuration(&plan, done))));
            }
        }
        if let Some(events) = &events {
            events
                .of(run_fields(&plan, done.point))
                .tell_end(done.path, done.report);
        }
        bar.set_position(done.n_done as u64);
        made.fetch_add(1, Ordering::Relaxed);
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        let line = progress.line(done.n_done, n_points, total.seconds());
        line.iter()
            .filter(|_| !quiet && bar.is_hidden())
            .for_each(|line| warn(line));
    };
    let goes_on = goes_on(&command, &dir, shard);
    let stopped = |sweep: &SweepWriter| {
        bar.finish_and_clear();
        // Signalled at the very end it is finished all the same.
        if let Err(exit) = settle(sweep, shard, n_points, &goes_on) {
            match memory::exceeded() {
                Some(why) => exit.after(&format!("error: {why}")).now(),
                None => exit.now(),
            }
        }
    };
    let swept = sweep_into(
        &plan,
        &Making {
            dir: &dir,
            card,
            dirs: &data_dirs::for_command(&args.card.data, &identity.command),
            machine: &context::machine(&args.engine),
            options: context::options(&args.engine, args.dry_run),
            identity: &identity,
            only_missing: args.only_missing,
            shard,
            watcher: &|run| {
                let events = run.zip(events.as_ref()).map(|((point, dir), events)| {
                    let events = events.of(run_fields(&plan, point));
                    events.tell("start", json!({ "dir": dir.to_string_lossy() }));
                    events
                });
                Box::new(Stopwatch::start(None, "rounds", true).noting(!quiet).telling(events)) as Box<_>
            },
            done: &done,
            stop: &stop_flag(),
            stopped: &stopped,
        },
    );
    bar.finish_and_clear();
    if let (Some(events), Err(error)) = (&events, &swept) {
        events.tell(
            "failed",
            json!({ "point": error.point, "text": error.failure.to_string() }),
        );
    }
    let sweep = swept.map_err(|error| failed(&error, &command, &dir, &goes_on))?;
    let n_made = made.into_inner();
    if !quiet && n_made < n_points {
        warn(&format!(
            "note: {n_made} of {n_points} runs made; the others were finished, or another process makes them"
        ));
    }
    settle(&sweep, shard, n_points, &goes_on)?;
    warn_of_unknown_headlines(&SweepDir::open(&dir)?, scenario.headline());
    let Some(shard) = shard else {
        return conclude(program, &sweep, args.engine.threads, say);
    };
    let (shard, place) = (name_of(shard), dir.to_string_lossy());
    match say.format {
        Format::Json => print_json(&json!({ "dir": place, "shard": shard, "points": n_points })),
        Format::Text if quiet => Ok(()),
        Format::Text => print(&format!(
            "shard {shard} has its {}; when all shards have theirs: {} merge {}",
            text::counted(n_points, "point"),
            context::quoted(&program.name),
            context::quoted(&place)
        )),
    }
}

/// Says what is about to be made.
fn announce(plan: &Plan<'_>, identity: &Identity, shard: Option<SweepShard>, n_points: usize) {
    identity
        .warnings
        .iter()
        .chain(&plan.lints)
        .for_each(|warning| warn(&format!("warning: {warning}")));
    let (points, seeds) = (plan.points.len(), plan.manifest.seeds.len());
    warn(&format!(
        "{}: {} × {} = {}{}",
        plan.manifest.name,
        text::counted(points / seeds.max(1), "configuration"),
        text::counted(seeds, "seed"),
        text::counted(points, "run"),
        shard.map_or(String::new(), |shard| format!(
            "; shard {} has {n_points} of them",
            name_of(shard)
        ))
    ));
}

/// What a scheduler is to do, in one thread a shard unless more are asked for.
fn job<'a>(program: &Program, args: &SweepArgs, plan: &'a Plan<'_>, dir: &Path) -> Job<'a> {
    const MOST: u32 = 16;
    let n_points = plan.points.len();
    Job {
        name: &plan.manifest.name,
        n_points,
        n_shards: args.shards.unwrap_or((n_points as u32).clamp(1, MOST)),
        words: context::words(program, "sweep", &args.card, None, args.dry_run),
        out: dir.to_string_lossy().into_owned(),
        threads: args.engine.threads.unwrap_or(1),
    }
}

fn name_of(shard: SweepShard) -> String {
    format!("{}/{}", shard.number, shard.of)
}

/// The command that makes what is missing.
fn goes_on(command: &str, dir: &Path, shard: Option<SweepShard>) -> String {
    let dir = context::quoted(&dir.to_string_lossy());
    let what = shard.map_or("--only-missing".to_owned(), |shard| {
        format!("--shard {}", name_of(shard))
    });
    format!("{command} --out {dir} {what}")
}

/// Writes the tables of a sweep, unless this is a shard of it, which leaves them to who joins them.
/// An end if there are not `n_points`: then some were given up, or another process is making them.
fn settle(sweep: &SweepWriter, shard: Option<SweepShard>, n_points: usize, goes_on: &str) -> Result<(), Exit> {
    let n_done = match shard {
        None => sweep.collect(),
        Some(shard) => sweep.n_finished(shard),
    };
    let n_done = n_done.map_err(|error| Exit::usage(format!("error: {error}")))?;
    match n_done < n_points {
        true => Err(Exit::failed(format!(
            "unfinished: {n_done} of {} are there\n  resume with: {goes_on}",
            text::counted(n_points, "point")
        ))),
        false => Ok(()),
    }
}

/// The end of a sweep of which a point has failed, or that could not begin.
fn failed(error: &PointFailure, command: &str, dir: &Path, goes_on: &str) -> Exit {
    let exit = Exit::failure(&error.failure, command);
    let is_there = dir.join(SWEEP).is_file();
    match (&error.failure, error.point) {
        (_, Some(point)) => {
            let exit = exit.after(&format!(
                "point {point} of the sweep has no result; finished points stay"
            ));
            match is_there {
                true => exit.and(Exit::usage(format!("  resume with: {goes_on}"))),
                false => exit,
            }
        }
        (Failure::Write(WriteError::Exists { .. }), None) if is_there => {
            exit.and(Exit::usage(format!("  make the points that it lacks with: {goes_on}")))
        }
        _ => exit,
    }
}

/// Draws a sweep whose tables are written, and prints its table.
pub(crate) fn conclude(program: &Program, sweep: &SweepWriter, threads: Option<u16>, say: SayArgs) -> Result<(), Exit> {
    let SayArgs { format, quiet } = say;
    let dir = sweep.dir();
    let lock = sweep.lock_tables();
    let n_figures = figures::draw(program, dir, threads, quiet)?;
    drop(lock);
    let result = SweepDir::open(dir)?;
    if !quiet {
        figures::warn_of_unknown_figures(program, dir)?;
        figures::warn_of_lacking_glyphs(dir)?;
    }
    match format {
        Format::Json => print_json(&json(dir, &result)),
        Format::Text if quiet => Ok(()),
        Format::Text => print(&format!(
            "{}\n\nresults and {n_figures} figure files in {}\nas a page: {} report {}",
            describe(&program.name, &result),
            dir.display(),
            context::quoted(&program.name),
            context::quoted(&dir.to_string_lossy())
        )),
    }
}

/// A seed set by hand would be replaced by those of the sweep.
fn refuse_seed(seed: Option<&str>, settings: &[String]) -> Result<(), Exit> {
    let mut settings = settings.iter().filter_map(|setting| setting.split_once('='));
    let set = settings.find(|(path, _)| path.trim() == "seed");
    let refused = |how: &str, seed: &str| {
        Err(Exit::usage(format!(
            "error: {how}: a sweep takes its seeds from sweep.seeds; write --set sweep.seeds=[{}]",
            seed.trim()
        )))
    };
    match (seed, set) {
        (Some(seed), _) => refused("--seed", seed),
        (None, Some((_, seed))) => refused("--set seed", seed),
        (None, None) => Ok(()),
    }
}

/// A setting that every point sets anew would come to nothing.
fn refuse_overridden(settings: &[String], scenario: &Scenario) -> Result<(), Exit> {
    for path in settings
        .iter()
        .filter_map(|setting| Some(setting.split_once('=')?.0.trim()))
    {
        if let Some((axis, by)) = scenario
            .axes()
            .iter()
            .find_map(|axis| Some((axis, axis.overrides(path)?)))
        {
            let place = match axis.path == by {
                true => format!("sweep.axes.\"{by}\""),
                false => "sweep.arms".to_owned(),
            };
            return Err(Exit::usage(format!(
                "error: --set {path}: the sweep itself sets {by} in every run, so this value would never be used\n\
                 help: set {place} instead; or write --set 'sweep=()' before it, for runs that differ in their seeds alone"
            )));
        }
    }
    Ok(())
}

/// Warns of names that the card's headline has and no run: which numbers there are is known only now
/// that runs have ended.
fn warn_of_unknown_headlines(sweep: &SweepDir, named: &[String]) {
    let mut known: Vec<&str> = sweep
        .points
        .iter()
        .flat_map(|row| row.summary.keys().map(String::as_str))
        .collect();
    known.sort_unstable();
    known.dedup();
    for name in named
        .iter()
        // A number that only references have, as `name@clean`, has columns too.
        .filter(|name| {
            !known
                .iter()
                .any(|known| known == name || reference_label(known, name).is_some())
        })
    {
        warn(&format!(
            "warning: sweep.headline: no run has a number called `{name}`{}",
            folkmoot_scenarios::text::suggest(name, &known)
        ));
    }
}

/// The values of a point and its seed.
fn configuration(plan: &Plan<'_>, done: &Done<'_>) -> String {
    let axes = plan.manifest.axes.iter().zip(&done.point.values);
    let axes: Vec<String> = axes
        .map(|(axis, value)| format!("{} = {value}", text::last_part(&axis.path)))
        .collect();
    let seed = format!("seed {}", done.point.seed);
    match axes.is_empty() {
        true => seed,
        false => format!("{}, {seed}", axes.join(", ")),
    }
}

/// Which run of a sweep an event is of.
fn run_fields(plan: &Plan<'_>, point: &Point) -> serde_json::Value {
    let axes = plan.manifest.axes.iter().zip(&point.values);
    let axes: BTreeMap<&str, &str> = axes.map(|(axis, value)| (axis.path.as_str(), value.as_str())).collect();
    json!({ "point": point.point, "axes": axes, "seed": point.seed })
}

fn json(dir: &Path, sweep: &SweepDir) -> serde_json::Value {
    let points: Vec<serde_json::Value> = sweep
        .points
        .iter()
        .map(|row| {
            let axes = sweep
                .manifest
                .axes
                .iter()
                .map(|axis| axis.path.clone())
                .zip(row.values.iter().cloned());
            let axes: BTreeMap<String, String> = axes.collect();
            json!({ "point": row.point, "axes": axes, "seed": row.seed, "summary": row.summary })
        })
        .collect();
    json!({ "dir": dir.to_string_lossy(), "points": points })
}
