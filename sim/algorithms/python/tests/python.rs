//! Runs whose training is Python code: results, failures, what they keep.
//!
//! They need a Python with NumPy: `FOLKMOOT_PYTHON`, else `python3`. Without one a test says on
//! stderr that it did not run; with `FOLKMOOT_NEEDS_PYTHON` set it fails.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test that called")]

#[path = "python/adversaries.rs"]
mod adversaries;
#[path = "python/determinism.rs"]
mod determinism;
#[path = "python/failures.rs"]
mod failures;
#[path = "python/flower.rs"]
mod flower;
#[path = "python/items.rs"]
mod items;
#[path = "python/labels.rs"]
mod labels;
#[path = "python/own_data.rs"]
mod own_data;
#[path = "python/protocols.rs"]
mod protocols;
#[path = "python/server.rs"]
mod server;
#[path = "python/strategies.rs"]
mod strategies;
#[path = "python/travels.rs"]
mod travels;

use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::Alone;
use folkmoot_engine::run::{Options, Pause, Saved};
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::Checkpoint;
use folkmoot_metrics::{RunDir, RunWriter, TimingRow};
use folkmoot_scenarios::algorithm::Machine;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::run::{Cache, Failure, How, Identity, Loaded, Watcher, begin, load, play};
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Source, apply_setting};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The app that most tests run.
pub const SOFTMAX: &str = include_str!("../../../python/folkmoot/examples/softmax.py");

const CARD: &str = "(
    dataset: ContextualSbm(n_nodes: 90, n_classes: 3, n_features: 12),
    partition: Multilevel(n_clients: 5),
    strategy: Python(config: {\"epochs\": 2, \"momentum\": 0.5}, split: Shares(train: 0.6, validation: 0.1), protocol: (rounds: 4)),
    network: Links(uplink: (latency_ms: Uniform(low: 10, high: 90)), downlink: (latency_ms: Uniform(low: 10, high: 90))),
    devices: LogNormal(median_ops_per_s: 1e6, sigma: 1.0),
)";

/// An app in a folder of its own, with an interpreter for it.
pub struct Desk {
    pub folder: TempDir,
    pub card: &'static str,
    pub machine: Machine,
}

/// `None` where there is no Python with NumPy, which is then said.
pub fn desk(app: &str) -> Option<Desk> {
    let chosen = std::env::var_os("FOLKMOOT_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let tried = Command::new(&chosen).args(["-c", "import numpy"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        let told = format!(
            "{} has no NumPy: a test of Python workers did not run",
            chosen.display()
        );
        assert!(std::env::var_os("FOLKMOOT_NEEDS_PYTHON").is_none(), "{told}");
        // Past the capture of passing tests.
        let line = format!("NOT RUN: {told}; set FOLKMOOT_PYTHON\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("client.py"), app).unwrap();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let python = folder.path().join("python");
    let script = format!(
        "#!/bin/sh\nPYTHONPATH='{}' exec '{}' \"$@\"\n",
        package.display(),
        chosen.display()
    );
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let machine = Machine {
        python,
        threads: 2,
        ..Machine::plain()
    };
    Some(Desk {
        folder,
        card: CARD,
        machine,
    })
}

/// Stops after so many rounds, with a checkpoint.
struct StopAfter(Option<usize>);

impl Watcher for StopAfter {
    fn lap(&mut self, _: &str) {}

    fn progress(&mut self, _: usize) {}

    fn pause(&mut self, _: SimTime, rounds: usize) -> Pause {
        match self.0 {
            Some(after) if rounds >= after => Pause::Stop,
            _ => Pause::GoOn,
        }
    }

    fn timing(&mut self) -> Vec<TimingRow> {
        Vec::new()
    }
}

impl Desk {
    /// The card with settings, and its data.
    fn loaded(&self, settings: &[&str]) -> Result<(Scenario, Loaded), Failure> {
        let registry = Registry::with(&[
            folkmoot_rounds::register,
            folkmoot_classifiers::register,
            folkmoot_python::register,
        ]);
        let mut source = Source::new("c.ron", self.card).unwrap();
        for setting in settings {
            source = apply_setting(&source, setting).unwrap();
        }
        let scenario = check("c.ron", &source, &registry).unwrap_or_else(|problems| panic!("{problems}"));
        let dirs = DataDirs::new().with_own("beside the card", self.folder.path());
        let loaded = load(&scenario, &dirs, &Cache::default(), &mut ())?.on(self.machine.clone());
        Ok((scenario, loaded))
    }

    /// The seconds of each client, measured once.
    pub fn calibrated(&self) -> Vec<f64> {
        let (scenario, loaded) = self.loaded(&[]).unwrap();
        let seconds = scenario.strategy().calibrate(&loaded.source(scenario.seed()), 1);
        seconds.unwrap().unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the card with settings, in the folder `name`; until so many rounds, or from where a run
    /// in that folder stopped.
    pub fn go(
        &self,
        name: &str,
        settings: &[&str],
        (threads, until): (usize, Option<usize>),
    ) -> Result<RunDir, Failure> {
        let (scenario, loaded) = self.loaded(settings)?;
        let options = Options {
            threads,
            ..Options::default()
        };
        let identity = Identity {
            version: "0".to_owned(),
            target: "a test's".to_owned(),
            command: "a test".to_owned(),
            warnings: Vec::new(),
        };
        let dir = self.path(name);
        let (writer, saved) = match dir.is_dir() {
            false => (begin(&dir, &scenario, &loaded, options, &identity, None)?, None),
            true => {
                let writer = RunWriter::resume(&dir).unwrap();
                let checkpoint = Checkpoint::read(&dir, writer.manifest()).unwrap();
                (writer, Some(Saved(checkpoint.sections)))
            }
        };
        let how = How {
            options,
            saved: saved.as_ref(),
            ranks: &Alone,
        };
        play(Some(writer), &scenario, &loaded, how, &mut StopAfter(until))?;
        Ok(RunDir::open(&dir).unwrap())
    }

    /// A whole run.
    pub fn whole(&self, name: &str, settings: &[&str]) -> RunDir {
        let run = self.go(name, settings, (2, None));
        run.unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// What repeating a failed job says, by a module of the package.
    pub fn replayed(&self, module: &str, job: &Path) -> Output {
        let mut command = Command::new(&self.machine.python);
        command.args(["-m", module, "--replay"]).arg(job);
        command.output().unwrap()
    }

    /// Why a run fails.
    pub fn failure(&self, settings: &[&str]) -> String {
        match self.go("failed", settings, (2, None)) {
            Ok(_) => panic!("it runs"),
            Err(failure) => failure.to_string(),
        }
    }
}

/// The result hash.
pub fn hash(run: &RunDir) -> String {
    run.fingerprint().unwrap()
}
