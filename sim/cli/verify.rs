//! `folkmoot verify`: does a directory's scenario give the same result again?

use crate::args::VerifyArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use crate::watch::Stopwatch;
use folkmoot_metrics::run_dir::{Manifest, PROGRAM};
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{RunDir, SweepDir, SweepWriter};
use folkmoot_scenarios::run::{Cache, load, run_into};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn verify(program: &Program, args: &VerifyArgs) -> Result<(), Exit> {
    let dirs: Vec<PathBuf> = match args.dir.join(SWEEP).is_file() {
        false => vec![args.dir.clone()],
        true => {
            let sweep = SweepDir::open(&args.dir)?;
            let writer = SweepWriter::open(&args.dir)?;
            sweep
                .manifest
                .points()
                .iter()
                .map(|point| writer.point_path(point))
                .collect()
        }
    };
    let cache = Cache::default();
    let mut differ = Vec::new();
    for dir in dirs {
        if let Some(difference) = verify_one(program, args, &dir, &cache)? {
            print(&format!("{}: {difference}", dir.display()))?;
            differ.push(dir);
        } else {
            print(&format!("{}: the same result hash", dir.display()))?;
        }
    }
    if differ.is_empty() {
        Ok(())
    } else {
        Err(Exit::failed(""))
    }
}

/// Runs one directory's scenario in a temporary place; what differs, if anything.
fn verify_one(program: &Program, args: &VerifyArgs, dir: &Path, cache: &Cache) -> Result<Option<String>, Exit> {
    let run = RunDir::open(dir)?;
    let Some(fingerprint) = run.manifest.result_fingerprint.clone() else {
        return Err(Exit::usage(format!(
            "error: {} is not finished, so there is nothing to verify",
            dir.display()
        )));
    };
    if let Some(parent) = &run.manifest.parent {
        return Err(Exit::usage(format!(
            "error: {} was forked from {}, whose state it began with; verify that run, and fork it again with: {}",
            dir.display(),
            parent.dir,
            run.manifest.command
        )));
    }
    let stored = run_fingerprint(dir)?;
    if stored != fingerprint {
        return Ok(Some(format!(
            "its files were changed: they give {stored}, the manifest says {fingerprint}"
        )));
    }
    let source = Source::new(&dir.join("scenario.ron").to_string_lossy(), &run.scenario)?;
    let scenario = check(&run.manifest.name, &source, &program.registry)?;
    let command = command(program, args);
    let failed = |failure| Exit::failure(&failure, &command);
    let dirs = data_dirs::for_run(&args.data, dir, &run.manifest);
    let loaded = load(&scenario, &dirs, cache, &mut ()).map_err(failed)?;
    let loaded = loaded.on(context::machine(&args.engine));
    if let Some(changed) = changed_data(&run.manifest, &loaded.fingerprints()) {
        return Ok(Some(changed));
    }
    let scratch = tempfile::Builder::new().prefix("folkmoot-verify-").tempdir();
    let scratch = scratch.map_err(|error| {
        let folder = std::env::temp_dir();
        Exit::usage(format!(
            "error: no temporary folder can be made in {}: {error}; set TMPDIR to one that can be written",
            folder.display()
        ))
    })?;
    let again = scratch.path().join("run");
    let identity = context::identity(command.clone());
    let mut watcher = Stopwatch::start(scenario.strategy().about.rounds.map(u64::from), "rounds", false);
    let options = context::options(&args.engine, run.manifest.dry_run);
    let report = run_into(&again, &scenario, &loaded, options, &identity, &mut watcher).map_err(failed)?;
    if report.fingerprint == fingerprint {
        return Ok(None);
    }
    let difference = folkmoot_metrics::compare::compare(dir, &again)?;
    let what = difference.map_or_else(|| "but no table does".to_owned(), |difference| difference.to_string());
    Ok(Some(format!("the result hashes differ; first {what}")))
}

/// The command that verifies again.
fn command(program: &Program, args: &VerifyArgs) -> String {
    let mut command = format!(
        "{} verify {}",
        program.name,
        context::quoted(&args.dir.to_string_lossy())
    );
    if let Some(data) = &args.data.data {
        command += &format!(" --data {}", context::quoted(&data.to_string_lossy()));
    }
    command
}

/// What to say if the data, or the user's own program, are not those that the run had: then nothing
/// else need be the same.
fn changed_data(run: &Manifest, now: &BTreeMap<String, String>) -> Option<String> {
    let then = &run.data_fingerprints;
    let (name, old) = then.iter().find(|(name, old)| now.get(*name) != Some(*old))?;
    let new = now.get(name).map_or("not there", String::as_str);
    if run.programs.contains_key(name) {
        return Some(format!(
            "{name}, or a file that it reads or imports, has changed since the run: its fingerprint was {old} and is {new}; \
             the run directory has the code of then in {PROGRAM}"
        ));
    }
    Some(format!(
        "the data {name} have changed since the run: their fingerprint was {old} and is {new}; \
         point --data to the folder with the data of then"
    ))
}

fn run_fingerprint(dir: &Path) -> Result<String, Exit> {
    Ok(RunDir::open(dir)?.fingerprint()?)
}
