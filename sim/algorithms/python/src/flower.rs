//! Flower apps as they are: a ServerApp in a process of its own, and a ClientApp that workers call.
//!
//! [`Flower`] is the algorithm of a card, and [`AppClients`] the data set for it: clients whose
//! data the app loads itself. The Python side is `folkmoot.flower`, which implements Flower's
//! `Grid`.
//!
//! - **Time.** The server's calls of the grid are requests of its process (`process`), answered
//!   when virtual time has come to their end (`server`). Each message to a client is a job.
//! - **Bytes.** The ledger counts what Flower's own serialisation of a message has (`message`).
//! - **Checkpoints.** The state of the server's process cannot be saved. The answers that it had
//!   are, and a new process gets them again; that it asks the same is checked.
//! - **Left out.** The server computes in no virtual time, as any server here.

mod calibrate;
mod evaluator;
mod message;
mod process;
mod server;
mod strategy;

pub use strategy::App;

use crate::app::{seed, told};
use crate::pool::{Launch, Pool, Trouble};
use crate::protocol::Frame;
use evaluator::Reported;
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataError, DataSource, Dataset, Graph};
use folkmoot_parts::{Free, Rules, component};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The file that a folder of an app has.
const PROJECT: &str = "pyproject.toml";
const START: Purpose = Purpose(*b"flwr-app");

/// Settings of an app of Flower.
#[component(
    name = "Flower",
    about = "a Flower app (ServerApp and ClientApp), unmodified, under the virtual clock",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Flower {
    /// Folder of the app, with a `pyproject.toml`: beside the card, in the current folder or in a
    /// data folder.
    #[component(default = ".")]
    pub app: String,
    /// Values that replace those in `[tool.flwr.app.config]`, as `flwr run --run-config` takes them;
    /// keys with dots for nested tables.
    pub run_config: BTreeMap<String, Free>,
    /// Work of a client for one message.
    pub cost: Cost,
    /// Effect of an exception in the ClientApp.
    pub client_errors: ClientErrors,
    /// Number of worker processes; without it, as many as the run has threads. No result depends on
    /// it.
    #[component(in = 1..=1024)]
    pub workers: Option<u32>,
    /// Address space of each process; without it, unlimited.
    #[component(above = 0, unit = "GB")]
    pub memory_gb: Option<f64>,
    /// Largest size of the replies that the ServerApp has received, which a checkpoint contains. A
    /// run with more goes on, but cannot be resumed.
    #[component(default = 1.0, above = 0, at_most = 1000, unit = "GB")]
    pub log_gb: f64,
}

/// Work of a client for one message. It takes work / speed of the device.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// In proportion to the size of the message. The default is one pass over 1000 examples with 6
    /// operations per parameter and example in training, 2 in evaluation, at 4 bytes per
    /// parameter.
    #[default]
    PerByte {
        /// For a `train` message.
        #[component(default = 1500.0, at_least = 0, unit = "operations per byte")]
        train: f64,
        /// For an `evaluate` message.
        #[component(default = 500.0, at_least = 0, unit = "operations per byte")]
        evaluate: f64,
        /// For any other message.
        #[component(default = 0.0, at_least = 0, unit = "operations per byte")]
        query: f64,
    },
    /// The same for all messages of a type. With `devices: Constant(ops_per_s: 1)` these are
    /// seconds.
    PerMessage {
        /// For a `train` message.
        #[component(default = 0.0, at_least = 0, unit = "operations")]
        train: f64,
        /// For an `evaluate` message.
        #[component(default = 0.0, at_least = 0, unit = "operations")]
        evaluate: f64,
        /// For any other message.
        #[component(default = 0.0, at_least = 0, unit = "operations")]
        query: f64,
    },
    /// The seconds of each client for a `train` message, as `folkmoot calibrate` measures them, on
    /// a device of speed 1: `devices: Constant(ops_per_s: 1)`. An `evaluate` message takes a third,
    /// any other no time.
    Measured {
        /// Table with the columns `client` and `seconds`, beside the card or in a data folder.
        #[component(default = "cost.csv")]
        path: String,
    },
}

/// The costs of a run.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    cost: Cost,
    /// The measured seconds of each client.
    seconds: Vec<f64>,
}

/// Effect of an exception in the ClientApp.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientErrors {
    /// It ends the run with the traceback.
    #[default]
    Stop,
    /// The ServerApp gets an error reply, as from Flower's SuperNode; its strategy decides.
    Reply,
}

impl Costs {
    fn new(cost: &Cost, source: &Source<'_>) -> Result<Costs, StrategyError> {
        let seconds = match cost {
            Cost::Measured { path } => measured(path, source)?,
            _ => Vec::new(),
        };
        let cost = cost.clone();
        Ok(Costs { cost, seconds })
    }

    /// Operations of a client for a message of that type and size.
    pub(crate) fn of(&self, client: u32, kind: &str, bytes: u64) -> f64 {
        let (train, evaluate, query, per) = match self.cost {
            Cost::PerByte { train, evaluate, query } => (train, evaluate, query, bytes as f64),
            Cost::PerMessage { train, evaluate, query } => (train, evaluate, query, 1.0),
            Cost::Measured { .. } => (1.0, 1.0 / 3.0, 0.0, self.seconds[client as usize]),
        };
        per * match message::category(kind) {
            "train" => train,
            "evaluate" => evaluate,
            _ => query,
        }
    }
}

/// A table as a card's files are looked up: `cost.csv` alone could be a module.
fn table(path: &str) -> String {
    Path::new(".").join(path).display().to_string()
}

/// The seconds of each client in a table.
fn measured(path: &str, source: &Source<'_>) -> Result<Vec<f64>, StrategyError> {
    let wrong = |why: String| StrategyError(format!("cost: {path} {why}"));
    let program = source.files.programs.get(&table(path));
    let table = program.and_then(|program| program.sources.values().next());
    let table = String::from_utf8_lossy(table.map_or(&[][..], Vec::as_slice)).into_owned();
    let mut lines = table
        .lines()
        .map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    let column = |name: &str| head.iter().position(|known| *known == name);
    let (client, seconds) = column("client")
        .zip(column("seconds"))
        .ok_or_else(|| wrong("needs the columns client and seconds".to_owned()))?;
    let mut found = vec![None; source.n_clients() as usize];
    for line in lines {
        let id = line.get(client).and_then(|id| id.parse::<usize>().ok());
        let value = line.get(seconds).and_then(|value| value.parse::<f64>().ok());
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        let (id, value) = id
            .zip(value)
            .ok_or_else(|| wrong(format!("has a row without numbers: {line:?}")))?;
        if let Some(place) = found.get_mut(id) {
            *place = Some(value);
        }
    }
    let of = |(client, seconds): (usize, Option<f64>)| {
        seconds.ok_or_else(|| wrong(format!("has no row for client {client}")))
    };
    found.into_iter().enumerate().map(of).collect()
}

impl Flower {
    fn rules(&self, rules: &mut Rules) {
        rules.require(!self.app.is_empty(), "app", "must name a folder");
        for (key, value) in &self.run_config {
            let is_plain = !matches!(value, Free::List(_));
            rules.require(
                is_plain,
                "run_config",
                format!("{key}: must be a number, text or truth value"),
            );
        }
    }

    /// The project's file as a card's files are looked up.
    fn project(&self) -> String {
        let path = Path::new(&self.app).join(PROJECT);
        let parts = path.components().filter(|part| *part != PathPart::CurDir);
        parts.collect::<PathBuf>().display().to_string()
    }
}

/// Clients whose data an app loads itself.
#[component(
    name = "AppClients",
    about = "clients whose data an app loads itself, by the number of the client"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppClients {
    /// Number of clients.
    #[component(default = 10, in = 1..=10_000_000)]
    pub n_clients: u32,
}

impl DataSource for AppClients {
    fn name(&self) -> String {
        "the app's data".to_owned()
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, _: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let graph = Graph::from_edges(self.n_clients, &[], false).expect("a graph without edges has no wrong one");
        Ok(Dataset {
            name: DataSource::name(self),
            graphs: vec![graph],
            ..Dataset::default()
        })
    }
}

/// What everybody knows before the run, and what it rests on.
#[derive(Clone, Serialize)]
pub struct Facts {
    /// The number of clients.
    pub n_clients: u32,
    /// The versions that a result rests on.
    pub versions: BTreeMap<String, Option<String>>,
    /// How far a result is reproducible.
    pub promise: &'static str,
    #[serde(skip)]
    pub(crate) started: Arc<Started>,
    #[serde(skip)]
    pub(crate) costs: Costs,
}

/// An app that has been imported.
pub(crate) struct Started {
    pool: Mutex<Option<Pool>>,
    pub(crate) app: Frame<'static>,
    pub(crate) opening: Frame<'static>,
    pub(crate) python: PathBuf,
    pub(crate) dir: Option<PathBuf>,
    /// The share of jobs that two workers do, to compare.
    pub(crate) checked: f64,
    /// The seed of the ServerApp.
    pub(crate) seed: String,
}

/// The module of the processes.
pub(crate) const MODULE: &str = "folkmoot.flower";

impl Algorithm for Flower {
    type Facts = Facts;
    type Strategy = App;

    fn about(&self) -> About {
        About {
            headline: &["test_accuracy", "test_loss", "payload_bytes", "virtual_s"],
            programs: match &self.cost {
                Cost::Measured { path } => vec![self.project(), table(path)],
                _ => vec![self.project()],
            },
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let program = source.files.programs.get(&self.project());
        let folder = program.and_then(|program| program.path.parent());
        let machine = &source.files.machine;
        let costs = Costs::new(&self.cost, source)?;
        let seed = seed(source.streams.global(START));
        let app = Frame::new(
            "app",
            json!({
                "path": folder.unwrap_or(Path::new(&self.app)),
                "config": self.run_config,
                "error_replies": self.client_errors == ClientErrors::Reply,
                "memory_bytes": self.memory_gb.map(|gb| (gb * 1e9) as u64),
                "seed": seed,
            }),
        );
        let launch = Launch {
            python: machine.python.clone(),
            module: MODULE,
            app: app.clone(),
            dir: source.dir.map(Path::to_owned),
            timeout: machine.job_timeout,
        };
        let failed = |trouble: Trouble| StrategyError(format!("app {}: {}", self.app, told(&trouble)));
        let (pool, described) = Pool::start(launch).map_err(failed)?;
        let versions = described.header.get("versions").cloned().unwrap_or_default();
        Ok(Facts {
            n_clients: source.n_clients(),
            versions: serde_json::from_value(versions).unwrap_or_default(),
            promise: "exact on this stack",
            started: Arc::new(Started {
                pool: Some(pool).into(),
                app,
                opening: Frame::new("open", json!({"n_clients": source.n_clients()})),
                python: machine.python.clone(),
                dir: source.dir.map(Path::to_owned),
                checked: machine.checked,
                seed,
            }),
            costs,
        })
    }

    fn calibrate(&self, source: &Source<'_>, repeats: usize) -> Result<Option<Vec<f64>>, StrategyError> {
        let alone = Flower {
            workers: Some(1),
            cost: Cost::default(),
            ..self.clone()
        };
        let facts = alone.facts(source)?;
        let app = alone.build(&facts)?;
        alone.share(&facts, &app, source)?;
        calibrate::calibrate(&app, source.n_clients(), source.streams, repeats).map(Some)
    }

    fn build(&self, facts: &Facts) -> Result<App, StrategyError> {
        Ok(App::new(self, Arc::clone(&facts.started), facts.costs.clone()))
    }

    fn share(&self, facts: &Facts, app: &App, source: &Source<'_>) -> Result<Shared<App>, StrategyError> {
        let taken = facts.started.pool.lock().ok().and_then(|mut pool| pool.take());
        let mut pool = taken.ok_or_else(|| StrategyError("an app works in one run".to_owned()))?;
        let machine = &source.files.machine;
        let n_workers = self.workers.map_or(machine.threads.max(1), |n| n as usize);
        // A job is repeated in a worker other than the first.
        let n_workers = n_workers.max(if machine.checked > 0.0 { 2 } else { 1 });
        let opened = pool.open(facts.started.opening.clone(), n_workers);
        opened.map_err(|trouble| StrategyError(told(&trouble)))?;
        app.works(pool);
        Ok(Shared {
            shards: Box::new(NoData(source.n_clients())),
            evaluator: Box::new(Reported),
        })
    }
}

/// A field of a frame that is a whole number.
pub(crate) fn whole(header: &serde_json::Map<String, Value>, field: &str) -> Option<u64> {
    header.get(field).and_then(Value::as_u64)
}
