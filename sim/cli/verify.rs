//! `folkmoot verify`: does a directory's scenario give the same result again?

use crate::args::VerifyArgs;
use crate::context::{self, Program};
use crate::exit::Exit;
use crate::output::print;
use crate::watch::Stopwatch;
use folkmoot_metrics::sweep_dir::SWEEP;
use folkmoot_metrics::{RunDir, SweepDir, SweepWriter};
use folkmoot_scenarios::run::{Cache, load, run_into};
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;
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
            print(&format!("{}: the same fingerprint again", dir.display()))?;
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
    let Some(fingerprint) = run.manifest.result_fingerprint else {
        return Err(Exit::usage(format!(
            "error: {} is not finished, so there is nothing to verify",
            dir.display()
        )));
    };
    let stored = run_fingerprint(dir)?;
    if stored != fingerprint {
        return Ok(Some(format!(
            "its files were changed: they give {stored}, the manifest says {fingerprint}"
        )));
    }
    let source = Source::new(&dir.join("scenario.ron").to_string_lossy(), &run.scenario)?;
    let scenario = check(&run.manifest.name, &source, &program.registry)?;
    let command = format!("{} verify {}", program.name, args.dir.display());
    let failed = |failure| Exit::failure(&failure, &command);
    let loaded = load(&scenario, &context::data_dirs(&args.data), cache).map_err(failed)?;
    let scratch = Scratch::new();
    let identity = context::identity(command.clone());
    let mut watcher = Stopwatch::start(scenario.strategy().rounds().map(u64::from), "rounds", false);
    let options = context::options(&args.engine, false);
    let report = run_into(&scratch.0, &scenario, &loaded, options, &identity, &mut watcher).map_err(failed)?;
    if report.fingerprint == fingerprint {
        return Ok(None);
    }
    let difference = folkmoot_metrics::compare::compare(dir, &scratch.0)?;
    let what = difference.map_or_else(|| "but no table does".to_owned(), |difference| difference.to_string());
    Ok(Some(format!("the fingerprints differ; first {what}")))
}

fn run_fingerprint(dir: &Path) -> Result<String, Exit> {
    Ok(RunDir::open(dir)?.fingerprint()?)
}

/// A directory that is removed again.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Scratch(std::env::temp_dir().join(format!("folkmoot-verify-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of it lies in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
