//! `folkmoot fork`: another run that begins with the state that an unfinished one has saved, in
//! another world.

use crate::args::ForkArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::events;
use crate::exit::Exit;
use crate::resume::{command, ended};
use crate::run;
use crate::watch::Stopwatch;
use folkmoot_engine::run::Saved;
use folkmoot_metrics::RunDir;
use folkmoot_metrics::run_dir::{Checkpoint, Parent, SCENARIO};
use folkmoot_scenarios::names;
use folkmoot_scenarios::run::{Cache, How, begin, load, play};
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Source, replace_if_present};
use std::path::PathBuf;

/// What the state is of, so that it cannot change under it, except what an algorithm allows: the
/// streams of the seed have dealt out the data.
const FIXED: [&str; 4] = ["dataset", "partition", "strategy", "seed"];

pub(crate) fn fork(program: &Program, args: &ForkArgs) -> Result<(), Exit> {
    let parent = &args.dir;
    let say = args.events.say(args.out.say);
    let repeat = repeat(program, args);
    let ready = || -> Result<_, Exit> {
        let run = RunDir::open(parent)?;
        if run.manifest.result_fingerprint.is_some() {
            return Err(Exit::usage(format!(
                "error: {} has ended, and a run keeps no checkpoint after its end; fork one that Ctrl-C, a signal or --max-memory has stopped\n\
                 help: make the run again: {}",
                parent.display(),
                run.manifest.command
            )));
        }
        let checkpoint = Checkpoint::read(parent, &run.manifest)?;
        let identity = context::identity(repeat.clone());
        let program_now = (identity.version.as_str(), identity.target.as_str());
        checkpoint.suits(parent, program_now, &run.scenario, None)?;
        let source = Source::new(&parent.join(SCENARIO).to_string_lossy(), &run.scenario)?;
        let mut source = names::present(&source, &program.registry);
        for setting in &args.set {
            source = names::set(&source, setting, &program.registry)?;
        }
        let scenario = check(&run.manifest.name, &source, &program.registry)?;
        same_but_for_its_world(&run.scenario, &scenario)?;
        let events = args.events.of(program)?;
        let mut watcher = Stopwatch::of(program, &scenario, say.quiet, &args.every).telling(events.clone());
        let failed = |failure| Exit::failure(&failure, &repeat);
        let dirs = data_dirs::for_run(&args.data, parent, &run.manifest);
        let loaded = load(&scenario, &dirs, &Cache::default(), &mut watcher).map_err(failed)?;
        let loaded = loaded.on(context::machine(&args.engine));
        checkpoint.suits(parent, program_now, &run.scenario, Some(&loaded.fingerprints()))?;
        let out = args.out.out.as_ref();
        let dir = program.is_first().then(|| context::out_dir(out, scenario.name()));
        let options = context::options(&args.engine, checkpoint.head.dry_run);
        let origin = Parent {
            dir: parent.to_string_lossy().into_owned(),
            checkpoint: checkpoint.fingerprint(),
        };
        let saved = Saved(checkpoint.sections);
        let begin = |dir: &PathBuf| begin(dir, &scenario, &loaded, options, &identity, Some((origin, &saved)));
        let writer = dir.as_ref().map(begin).transpose().map_err(failed)?;
        Ok((writer, dir, scenario, loaded, options, saved, watcher, events))
    };
    let (writer, dir, scenario, loaded, options, saved, mut watcher, events) = program.agree(ready())?;
    let how = How {
        options,
        saved: Some(&saved),
        ranks: &*program.ranks,
    };
    let dir = dir.unwrap_or_default();
    let run = (&scenario, &loaded);
    let played = events::within(events.as_ref(), &dir, run, || {
        play(writer, &scenario, &loaded, how, &mut watcher)
    });
    let report = played.map_err(|failure| ended(&failure, &dir, &repeat, &command(program, &dir, &args.data)))?;
    run::say(program, &dir, run, report.as_ref(), &args.engine, (say, false))
}

/// Refuses settings that the state does not suit.
fn same_but_for_its_world(parent: &str, scenario: &Scenario) -> Result<(), Exit> {
    let (mut before, now) = (Source::new("", parent)?, Source::new("", &scenario.resolved())?);
    let forkable = scenario.forkable().iter().map(|field| format!("strategy.{field}"));
    for path in forkable {
        if let Some(value) = now.value(&path) {
            before = replace_if_present(&before, &path, value)?;
        }
    }
    match FIXED.into_iter().find(|field| before.value(field) != now.value(field)) {
        None => Ok(()),
        Some(field) => Err(Exit::usage(format!(
            "error: {field} cannot change in a fork, since the checkpoint depends on it; a fork can change the environment: network, \
             devices, availability, dropout, cohort, deadline_ms, horizon_s, header_bytes, delta and noise"
        ))),
    }
}

/// The command that forks again.
fn repeat(program: &Program, args: &ForkArgs) -> String {
    let mut command = format!(
        "{} fork {}",
        context::quoted(&program.name),
        context::quoted(&args.dir.to_string_lossy())
    );
    for setting in &args.set {
        command += &format!(" --set {}", context::quoted(setting));
    }
    if let Some(data) = &args.data.data {
        command += &format!(" --data {}", context::quoted(&data.to_string_lossy()));
    }
    command
}
