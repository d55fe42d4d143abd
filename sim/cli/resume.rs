//! `folkmoot resume`: goes on with a run that was stopped or killed, from the state that it left,
//! or with a sweep by what it lacks.

use crate::args::{DataArgs, ResumeArgs};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::events;
use crate::exit::Exit;
use crate::figures;
use crate::memory;
use crate::output::print;
use crate::run;
use crate::sweep;
use crate::watch::Stopwatch;
use folkmoot_engine::prelude::RunError;
use folkmoot_engine::run::Saved;
use folkmoot_metrics::run_dir::{Checkpoint, FIGURES, PROGRAM, SCENARIO};
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{RunDir, RunWriter, SweepDir, WriteError};
use folkmoot_plots::{Drawing, Picture, pictures_of_run, pictures_of_sweep};
use folkmoot_scenarios::run::{Cache, Failure, How, load, play};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn resume(program: &Program, args: ResumeArgs) -> Result<(), Exit> {
    if args.dir.join(SWEEP).is_file() {
        return match program.ranks.size() {
            1 => sweep::resume(program, args),
            _ => Err(Exit::usage(context::ALONE)),
        };
    }
    let dir = &args.dir;
    let say = args.events.say(args.say);
    let is_finished = || RunDir::open(dir).is_ok_and(|run| run.manifest.finished);
    if program.ranks.size() == 1 && is_finished() && draw_missing(program, dir, args.engine.threads, say.quiet)? {
        return Ok(());
    }
    let command = command(program, dir, &args.data);
    let ready = || -> Result<_, Exit> {
        let mut writer = program.is_first().then(|| RunWriter::resume(dir)).transpose()?;
        let run = RunDir::open(dir)?;
        let checkpoint = Checkpoint::read(dir, &run.manifest)?;
        let identity = context::identity(command.clone());
        let program_now = (identity.version.as_str(), identity.target.as_str());
        checkpoint.suits(dir, program_now, &run.scenario, None)?;
        let source = Source::new(&dir.join(SCENARIO).to_string_lossy(), &run.scenario)?;
        let scenario = check(&run.manifest.name, &source, &program.registry)?;
        let events = args.events.of(program)?;
        let mut watcher = Stopwatch::of(program, &scenario, say.quiet, &args.every).telling(events.clone());
        let dirs = data_dirs::for_run(&args.data, dir, &run.manifest);
        let loaded = load(&scenario, &dirs, &Cache::default(), &mut watcher);
        let loaded = loaded.map_err(|failure| Exit::failure(&failure, &command))?;
        let loaded = loaded.on(context::machine(&args.engine));
        let mut prints = loaded.fingerprints();
        let changed = changed_code(&run.manifest.data_fingerprints, &prints, run.manifest.programs.keys());
        if let (Some((name, _)), false) = (changed.first(), args.allow_changed_code) {
            return Err(Exit::usage(format!(
                "error: {} cannot be resumed: {name}, or a module that it imports, was changed; {} has the code of then\n\
                 help: {command} --allow-changed-code",
                dir.display(),
                dir.join(PROGRAM).display()
            )));
        }
        for (name, now) in &changed {
            if let Some(writer) = &mut writer {
                writer.note_changed_program(name, now);
            }
            prints.remove(name);
        }
        checkpoint.suits(dir, program_now, &run.scenario, Some(&prints))?;
        let options = context::options(&args.engine, checkpoint.head.dry_run);
        if let Some(writer) = &mut writer {
            writer.go_on_with_trace(dir, &checkpoint.sections)?;
        }
        let saved = Saved(checkpoint.sections);
        Ok((writer, scenario, loaded, options, saved, watcher, events))
    };
    let (writer, scenario, loaded, options, saved, mut watcher, events) = program.agree(ready())?;
    let how = How {
        options,
        saved: Some(&saved),
        ranks: &*program.ranks,
    };
    let run = (&scenario, &loaded);
    let played = events::within(events.as_ref(), dir, run, || {
        play(writer, &scenario, &loaded, how, &mut watcher)
    });
    let report = played.map_err(|failure| ended(&failure, dir, &command, &command))?;
    run::say(program, dir, run, report.as_ref(), &args.engine, (say, false))
}

/// Draws the figures of a finished run or sweep that lacks some, since it was killed while they were
/// drawn; whether it did.
pub(crate) fn draw_missing(program: &Program, dir: &Path, threads: Option<u16>, quiet: bool) -> Result<bool, Exit> {
    let (known, drawing) = (program.registry.figures(), Drawing::default());
    let pictures = match dir.join(SWEEP).is_file() {
        true => pictures_of_sweep(&SweepDir::open(dir)?, known, &drawing)?,
        false => pictures_of_run(&RunDir::open(dir)?, known, &drawing)?,
    };
    let is_missing = |picture: &Picture| {
        let endings = ["svg", "png", "caption.txt"];
        let files = endings.map(|ending| dir.join(FIGURES).join(format!("{}.{ending}", picture.name)));
        files.iter().any(|file| !file.exists())
    };
    if !pictures.iter().any(is_missing) {
        return Ok(false);
    }
    let n_figures = figures::draw(program, dir, threads, quiet)?;
    if !quiet {
        let dir = dir.display();
        print(&format!(
            "the results in {dir} are complete; {n_figures} figure files were drawn"
        ))?;
    }
    Ok(true)
}

/// The programs with another fingerprint now than then, each with that of now.
fn changed_code<'a>(
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    programs: impl Iterator<Item = &'a String>,
) -> Vec<(String, String)> {
    let changed = programs.filter(|name| then.get(*name) != now.get(*name));
    changed
        .filter_map(|name| Some((name.clone(), now.get(name)?.clone())))
        .collect()
}

/// The command that goes on with a run.
pub(crate) fn command(program: &Program, dir: &Path, data: &DataArgs) -> String {
    let name = context::quoted(&program.name);
    let mut command = format!("{name} resume {}", context::quoted(&dir.to_string_lossy()));
    if let Some(data) = &data.data {
        command += &format!(" --data {}", context::quoted(&data.to_string_lossy()));
    }
    command
}

/// A run without a result: how to go on with it if it was stopped, or could not be written or
/// failed in the user's own code and has a state; how to repeat it otherwise.
pub(crate) fn ended(failure: &Failure, dir: &Path, repeat: &str, go_on: &str) -> Exit {
    match failure {
        Failure::Run(RunError::Stopped { .. }) => {
            memory::stopped(go_on).unwrap_or_else(|| Exit::failed(format!("{failure}\n  resume with: {go_on}")))
        }
        Failure::Write(WriteError::Io { .. }) if Checkpoint::is_in(dir) => {
            Exit::usage(format!("error: {failure}\n  then resume with: {go_on}"))
        }
        Failure::Run(RunError::Handler { .. }) if Checkpoint::is_in(dir) && dir.join(PROGRAM).is_dir() => Exit::failed(
            format!("error: {failure}\n  after a fix, resume with: {go_on} --allow-changed-code"),
        ),
        _ => Exit::failure(failure, repeat),
    }
}
