//! Cards of a folder of scenarios, run by the library as the program runs them, for tests of a
//! crate that has no program.

use folkmoot_engine::run::Options;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::RunDir;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::run::{Cache, Failure, Identity, Watcher, load, run_into};
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Problems, Source, apply_setting};
use std::path::{Path, PathBuf};

/// A registry, and the folder where its cards lie.
pub struct Cards {
    registry: Registry,
    dir: PathBuf,
}

impl Cards {
    /// Those in `scenarios/FOLDER` of the repository, for a crate below `sim/algorithms` whose
    /// manifest is in `manifest_dir`.
    pub fn new(registry: Registry, manifest_dir: &str, folder: &str) -> Self {
        let scenarios = Path::new(manifest_dir).join("../../../scenarios");
        Cards {
            registry,
            dir: scenarios.join(folder).join("cards"),
        }
    }

    /// A card by its name with settings as `--set` takes them.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn scenario(&self, card: &str, settings: &[&str]) -> Result<Scenario, Problems> {
        self.checked(card, Source::read(&self.dir.join(format!("{card}.ron")))?, settings)
    }

    /// A card by its text.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn scenario_of(&self, text: &str) -> Result<Scenario, Problems> {
        self.checked("c.ron", Source::new("c.ron", text)?, &[])
    }

    fn checked(&self, name: &str, mut source: Source, settings: &[&str]) -> Result<Scenario, Problems> {
        for setting in settings {
            source = apply_setting(&source, setting)?;
        }
        check(name, &source, &self.registry)
    }
}

/// Runs a scenario into a new directory and reads what it leaves; `data` is where data sets are
/// looked for, and `()` is a watcher, too.
///
/// # Errors
///
/// Why it has no result.
pub fn played(scenario: &Scenario, data: &[PathBuf], out: &Path, watcher: &mut dyn Watcher) -> Result<RunDir, Failure> {
    let dirs = data
        .iter()
        .fold(DataDirs::new(), |dirs, dir| dirs.with("the test's", dir));
    let loaded = load(scenario, &dirs, &Cache::default(), watcher)?;
    let identity = Identity {
        version: "0".to_owned(),
        target: "a test's".to_owned(),
        command: "a test".to_owned(),
        warnings: Vec::new(),
    };
    run_into(out, scenario, &loaded, Options::default(), &identity, watcher)?;
    Ok(RunDir::open(out).expect("a run that was written can be read"))
}
