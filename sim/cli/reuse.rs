//! `folkmoot run --reuse`: what a directory holds already of the run that is asked for.

use crate::args::{Format, ResumeArgs, RunArgs, SayArgs};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output;
use crate::show::show_dir;
use folkmoot_metrics::RunDir;
use folkmoot_scenarios::run::{Cache, load};
use std::path::Path;

/// What a directory holds of a run.
pub(crate) enum There {
    Result(Box<RunDir>),
    Part,
}

/// What the directory of these arguments holds of the run that they ask for.
///
/// # Errors
/// The directory is of another run.
pub(crate) fn there(program: &Program, args: &RunArgs, dir: &Path) -> Result<There, Exit> {
    let run = RunDir::open(dir)?;
    let scenario = context::scenario(program, &args.card, args.seed, &args.observe)?;
    let dirs = data_dirs::for_card(&args.card.data, &args.card.card);
    let loaded = load(&scenario, &dirs, &Cache::default(), &mut ());
    let command = context::command(program, "run", &args.card, args.seed, args.dry_run);
    let loaded = loaded.map_err(|failure| Exit::failure(&failure, &command))?;
    let identity = context::identity(command);
    let made = &run.manifest;
    let differs = [
        (
            "version",
            made.version != identity.version || made.target != identity.target,
        ),
        ("card", run.scenario != scenario.resolved()),
        ("data", made.data_fingerprints != loaded.fingerprints()),
        ("--dry-run", made.dry_run != args.dry_run),
    ];
    if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
        return Err(Exit::usage(format!(
            "error: --reuse: {} is of another run: its {what} differs\n\
             help: choose another --out",
            dir.display()
        )));
    }
    Ok(match made.finished {
        true => There::Result(Box::new(run.completed())),
        false => There::Part,
    })
}

/// Prints a result as the run that made it did, or with all its messages and metrics.
pub(crate) fn print(program: &Program, run: &RunDir, say: SayArgs) -> Result<(), Exit> {
    match say.format {
        _ if !program.is_first() => Ok(()),
        Format::Json => output::print_json(&serde_json::json!({
            "dir": run.path.to_string_lossy(),
            "fingerprint": run.manifest.result_fingerprint,
            "summary": run.summary,
            "warnings": run.manifest.warnings,
        })),
        Format::Text if say.quiet => Ok(()),
        Format::Text => output::print(&show_dir(program, &run.path, None)?),
    }
}

/// The arguments that go on with the run.
pub(crate) fn resuming(args: RunArgs) -> ResumeArgs {
    ResumeArgs {
        dir: args.play.out.out.unwrap_or_default(),
        allow_changed_code: false,
        data: args.card.data,
        every: args.play.every,
        events: args.play.events,
        engine: args.play.engine,
        say: args.play.out.say,
    }
}
