//! An app in a run: started once, asked for its model and costs, and called by jobs.

use crate::data::{self, Reading};
use crate::poison::{Poisoned, Version};
use crate::pool::{ENVIRONMENT, Launch, Pool, Trouble};
use crate::protocol::{Array, Frame};
use crate::settings::Params;
use folkmoot_classifiers::classifier::{Inputs, Parts, Split, Target, Task};
use folkmoot_draws::{Rng, SimRng};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Init, Layout};
use folkmoot_metrics::run_dir::FAILED_JOBS;
use folkmoot_scenarios::algorithm::Source;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Clients whose costs are asked for at once.
const AT_ONCE: usize = 1024;
const DATA: Purpose = Purpose(*b"py-data ");
const INITIAL: Purpose = Purpose(*b"py-start");
const CALIBRATE: Purpose = Purpose(*b"py-times");

/// What everybody knows before the run, and what it rests on.
#[derive(Clone, Serialize)]
pub struct Facts {
    /// The number of clients.
    pub n_clients: u32,
    /// Numbers that a node brings.
    pub n_features: u32,
    /// Classes of the learning task; 0 without one.
    pub n_classes: u32,
    /// What is learned of each item.
    pub task: Task,
    /// Whether items are graphs.
    pub is_graph_level: bool,
    /// The arrays of the model, with what is known of them.
    pub model: Value,
    /// The versions that a result rests on.
    pub versions: BTreeMap<String, Option<String>>,
    /// How far a result is reproducible.
    pub promise: &'static str,
    /// The share of jobs that two workers do, to compare.
    #[serde(skip)]
    pub(crate) checked: f64,
    #[serde(skip)]
    pub(crate) app: Arc<Started>,
}

/// An app that has been imported, and has given the model before the first round.
pub(crate) struct Started {
    pool: std::sync::Mutex<Option<Pool>>,
    app: Frame<'static>,
    pub(crate) functions: Value,
    pub(crate) spec: Value,
    pub(crate) initial: Vec<f32>,
    pub(crate) layout: Layout,
    /// How many numbers of the model updates bring: its first.
    pub(crate) n_updated: usize,
    /// The facts as functions read them.
    public: Value,
    python: PathBuf,
    dir: Option<PathBuf>,
}

/// 32 bytes of a stream, as workers are sent them.
pub(crate) fn seed(mut rng: SimRng) -> String {
    (0..8).map(|_| format!("{:08x}", rng.next_u32().swap_bytes())).collect()
}

impl Facts {
    /// Starts the app of these settings, which must have functions of these kinds.
    pub(crate) fn new(params: &Params, source: &Source<'_>, needs: &[&str]) -> Result<Facts, StrategyError> {
        let program = source.files.programs.get(&params.app);
        let path = program.map_or(params.app.clone(), |program| program.path.display().to_string());
        let machine = &source.files.machine;
        let app = Frame::new(
            "app",
            json!({
                "path": path,
                "config": params.config,
                "device": params.device,
                "deterministic": params.deterministic,
                "memory_bytes": params.memory_gb.map(|gb| (gb * 1e9) as u64),
                "needs": needs,
                "checked": source.files.machine.checked > 0.0,
            }),
        );
        let launch = Launch {
            python: machine.python.clone(),
            module: "folkmoot.worker",
            app: app.clone(),
            dir: source.dir.map(Path::to_owned),
            timeout: machine.job_timeout,
        };
        let failed = |what: &str, trouble: Trouble| StrategyError(format!("{what}: {}", told(&trouble)));
        let (pool, described) =
            Pool::start(launch).map_err(|trouble| failed(&format!("app {}", params.app), trouble))?;
        let functions = described.header.get("functions").cloned().unwrap_or_default();
        let (inputs, split) = params.reads(&functions);
        let reading = Reading::new(inputs, split, source)?;
        let n_classes = source.dataset.n_classes as u32;
        let task = Task::of(source.dataset, Target::Classes);
        let public = json!({
            "n_clients": source.n_clients(),
            "n_features": reading.n_features(),
            "n_classes": n_classes,
            "n_outputs": task.n_outputs(source.dataset),
            "task": task,
            "is_graph_level": source.dataset.is_graph_level(),
        });
        let request = json!({"facts": public, "seed": seed(source.streams.global(INITIAL))});
        let mut model = match needs.contains(&"initial") {
            true => pool.ask_first(&Frame::new("initial", request)),
            // Without a model there is nothing that every message is made of.
            false => {
                Ok(Frame::new("initial", json!({"spec": {"arrays": []}})).with(vec![Array::floats("params", &[])]))
            }
        }
        .map_err(|trouble| failed("@fm.initial", trouble))?;
        let spec = model.header.get("spec").cloned().unwrap_or_default();
        let ((layout, n_updated), initial) = layout(&spec)
            .zip(n_updated(&spec))
            .zip(model.take("params").and_then(|params| params.as_floats()))
            .ok_or_else(|| StrategyError("the worker's model cannot be read".to_owned()))?;
        let versions = described.header.get("versions").cloned().unwrap_or_default();
        let is_exact = described.header.get("is_exact").and_then(Value::as_bool) == Some(true);
        Ok(Facts {
            n_clients: source.n_clients(),
            n_features: reading.n_features() as u32,
            n_classes,
            task,
            model: spec.get("arrays").cloned().unwrap_or_default(),
            is_graph_level: source.dataset.is_graph_level(),
            versions: serde_json::from_value(versions).unwrap_or_default(),
            promise: match is_exact {
                true => "exact on this stack",
                false => "not exact",
            },
            checked: machine.checked,
            app: Arc::new(Started {
                pool: Some(pool).into(),
                app,
                functions,
                spec,
                initial,
                layout,
                n_updated,
                public,
                python: machine.python.clone(),
                dir: source.dir.map(Path::to_owned),
            }),
        })
    }
}

/// How many numbers of a model updates bring: its first.
fn n_updated(spec: &Value) -> Option<usize> {
    let is_updated = |array: &&Value| array.get("updated").and_then(Value::as_bool) != Some(false);
    let updated = spec.get("arrays")?.as_array()?.iter().filter(is_updated);
    updated.map(|array| Some(array.get("n")?.as_u64()? as usize)).sum()
}

/// The matrices of a model: of an array of shape `(r, …)` r rows, of a vector one row.
fn layout(spec: &Value) -> Option<Layout> {
    let mut layout = Layout::new();
    for array in spec.get("arrays")?.as_array()? {
        let shape: Vec<usize> = serde_json::from_value(array.get("shape")?.clone()).ok()?;
        let n = array.get("n")?.as_u64()? as usize;
        let rows = if shape.len() > 1 { shape[0] } else { 1 };
        let name = array.get("name")?.as_str()?;
        match array.get("learns")?.as_bool()? {
            true => layout.weight(name, rows, n / rows, Init::Zeros),
            false => layout.buffer(name, rows, n / rows, Init::Zeros),
        };
    }
    Some(layout)
}

/// A trouble in words: the exception, then the lines of the app.
pub(crate) fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Raised {
            error,
            traceback: Some(traceback),
        } => format!("{error}\n{traceback}"),
        other => other.to_string(),
    }
}

/// What one client has, for its trainings and evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    pub client: u32,
    /// The number of its data among those of the workers.
    pub(crate) shard: u32,
    /// What a malicious client trains on while it attacks, if that is something else.
    pub(crate) poisoned: Option<Box<Shard>>,
    /// Items that train.
    pub n_train: u32,
    /// Operations of one training.
    pub cost: f64,
    /// Operations of one evaluation at the client; 0 without any.
    pub report_cost: f64,
}

/// An app that works on the data of a run.
pub(crate) struct Working {
    pub(crate) pool: Pool,
    started: Arc<Started>,
    opening: Value,
    again: Again,
}

impl Started {
    /// Hands the data to workers, in these parts if any are given; with what each client has, and its
    /// costs if these are asked for.
    pub(crate) fn open(
        self: &Arc<Self>,
        params: &Params,
        (source, divided): (&Source<'_>, Option<&[Parts]>),
        with_costs: bool,
    ) -> Result<(Working, Vec<Shard>), StrategyError> {
        let taken = self.pool.lock().ok().and_then(|mut pool| pool.take());
        let mut pool = taken.ok_or_else(|| StrategyError("an app works on the data of one run".to_owned()))?;
        let (inputs, split) = params.reads(&self.functions);
        let reading = Reading::new(inputs, split, source)?.divided_into(divided);
        let task = Task::of(source.dataset, Target::Classes);
        let malicious = &params.protocol.malicious;
        let poisoned = Poisoned::new(malicious, &self.functions, task, (&reading, source))?;
        let reading = reading.poisoned(poisoned.clone());
        let others = poisoned.iter().flat_map(|poisoned| poisoned.shards(source.n_clients()));
        let needs_whole = self.functions.pointer("/evaluate/on").and_then(Value::as_str) == Some("whole");
        let clients: Vec<Option<u32>> = (0..source.n_clients())
            .map(Some)
            .chain(needs_whole.then_some(None))
            .chain(others.map(Some))
            .collect();
        let path = pool.path("data");
        let of_client = |shard: Option<u32>| match shard {
            Some(shard) => reading.shard(shard),
            None => reading.whole(),
        };
        let n_train = data::write(&path, &clients, of_client)?;
        let opening = json!({
            "data": path,
            "facts": self.public,
            "spec": self.spec,
            "n_rounds": params.protocol.rounds,
            "seed": seed(source.streams.global(DATA)),
        });
        let machine = &source.files.machine;
        let n_workers = params.workers.map_or(machine.threads.max(1), |n| n as usize);
        // A job is repeated in a worker other than the first.
        let n_workers = if machine.checked > 0.0 {
            n_workers.max(2)
        } else {
            n_workers
        };
        let failed = |trouble: Trouble| StrategyError(told(&trouble));
        pool.open(Frame::new("open", opening.clone()), n_workers)
            .map_err(failed)?;
        let ids: Vec<u32> = (0..source.n_clients()).collect();
        let costs = |of: &str| -> Result<Vec<f64>, StrategyError> {
            if !with_costs || self.functions.get(of).is_none() {
                return Ok(vec![0.0; ids.len()]);
            }
            let of_chunk = |chunk: &[u32]| -> Result<Vec<f64>, StrategyError> {
                let (_, mut costs) = pool
                    .ask(&Frame::new("costs", json!({"clients": chunk, "of": of})), None)
                    .map_err(|trouble| StrategyError(format!("cost: {}", told(&trouble))))?;
                let costs = costs.take("costs").and_then(|costs| costs.as_doubles());
                let costs = costs.filter(|costs| costs.len() == chunk.len());
                costs.ok_or_else(|| StrategyError("the worker's costs cannot be read".to_owned()))
            };
            let costs: Vec<Result<Vec<f64>, StrategyError>> = ids.par_chunks(AT_ONCE).map(of_chunk).collect();
            Ok(costs.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
        };
        let costs = costs("train")?.into_iter().zip(costs("evaluate_at_client")?);
        let malicious = poisoned.as_ref().map_or(&[][..], Poisoned::malicious);
        let of_client = |((client, n_train), (cost, report_cost))| {
            let own = Shard {
                client,
                shard: client,
                poisoned: None,
                n_train,
                cost,
                report_cost,
            };
            let other = malicious.binary_search(&client).is_ok().then(|| {
                let shard = Version::Poisoned.shard(client, source.n_clients());
                Box::new(Shard { shard, ..own.clone() })
            });
            Shard { poisoned: other, ..own }
        };
        let shards = ids.iter().copied().zip(n_train).zip(costs).map(of_client).collect();
        let working = Working {
            pool,
            started: Arc::clone(self),
            opening,
            again: Again {
                reads: (inputs, split),
                divided: divided.map(<[Parts]>::to_vec),
                dataset: Arc::clone(source.dataset),
                partition: Arc::clone(source.partition),
                streams: source.streams,
                poisoned,
            },
        };
        Ok((working, shards))
    }
}

impl Started {
    /// The processor time of one training of each client, in seconds: the median of so many, one
    /// after the other in one worker.
    pub(crate) fn calibrate(
        self: &Arc<Self>,
        params: &Params,
        source: &Source<'_>,
        repeats: usize,
    ) -> Result<Vec<f64>, StrategyError> {
        let alone = Params {
            workers: Some(1),
            ..params.clone()
        };
        let (working, shards) = self.open(&alone, (source, None), false)?;
        let one = |shard: &Shard, at: usize| -> Result<f64, StrategyError> {
            let rng = source
                .streams
                .party(CALIBRATE, Party::Client(ClientId(shard.client)), Round(at as u32));
            let request = json!({"client": shard.client, "round": 0, "seed": seed(rng), "timed": true});
            let request = Frame::new("train", request).with(vec![Array::floats("params", &self.initial)]);
            let failed = |trouble| working.failure(&format!("training of client {}", shard.client), &request, &trouble);
            let (_, reply) = working.pool.ask(&request, None).map_err(failed)?;
            let seconds = reply.header.get("cpu_s").and_then(Value::as_f64);
            seconds.ok_or_else(|| StrategyError("the worker's time cannot be read".to_owned()))
        };
        let of_client = |shard: &Shard| -> Result<f64, StrategyError> {
            if shard.n_train == 0 {
                return Ok(0.0);
            }
            let mut times = (0..repeats.max(1))
                .map(|at| one(shard, at))
                .collect::<Result<Vec<f64>, _>>()?;
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        shards.iter().map(of_client).collect()
    }
}

/// What reads the data once more.
struct Again {
    reads: (Inputs, Split),
    divided: Option<Vec<Parts>>,
    dataset: Arc<folkmoot_graphs::Dataset>,
    partition: Arc<folkmoot_graphs::Partition>,
    streams: Streams,
    poisoned: Option<Poisoned>,
}

impl Again {
    fn read<T>(&self, of: impl FnOnce(&Reading<'_>) -> Result<T, StrategyError>) -> Result<T, StrategyError> {
        let source = Source::new(&self.dataset, &self.partition, self.streams);
        let reading = Reading::new(self.reads.0, self.reads.1, &source)?;
        let reading = reading.divided_into(self.divided.as_deref());
        of(&reading.poisoned(self.poisoned.clone()))
    }

    /// The arrays of one shard, for a job that is to be repeated elsewhere.
    fn arrays(&self, shard: Option<u32>) -> Vec<Array<'static>> {
        let made = self.read(|reading| match shard {
            Some(shard) => reading.shard(shard),
            None => reading.whole(),
        });
        made.map(|made| made.arrays).unwrap_or_default()
    }
}

impl Working {
    /// The numbers of a model that learn.
    pub(crate) fn n_learning(&self) -> usize {
        self.started.layout.n_trainable()
    }

    /// The arrays of the model, as workers list them.
    pub(crate) fn spec(&self) -> &Value {
        &self.started.spec
    }

    /// Classes, labels or numbers of an item.
    pub(crate) fn n_outputs(&self) -> usize {
        let n_outputs = self.started.public.get("n_outputs").and_then(Value::as_u64);
        n_outputs.unwrap_or_default() as usize
    }

    /// What is learned of each item.
    pub(crate) fn task(&self) -> Task {
        Task::of(&self.again.dataset, Target::Classes)
    }

    /// Who holds what.
    pub(crate) fn partition(&self) -> &folkmoot_graphs::Partition {
        &self.again.partition
    }

    /// The labelled items of each client by part.
    ///
    /// # Errors
    ///
    /// When the data cannot be read again.
    pub(crate) fn divided(&self) -> Result<Vec<Parts>, StrategyError> {
        self.divided_in(Version::Own)
    }

    /// The same of the shards of one version.
    pub(crate) fn divided_in(&self, version: Version) -> Result<Vec<Parts>, StrategyError> {
        let n_clients = self.again.partition.n_clients() as u32;
        let shards = (0..n_clients).map(|client| version.shard(client, n_clients));
        self.again
            .read(|reading| Ok(shards.map(|shard| reading.version(shard).0).collect()))
    }

    /// Who changes items, if anybody does.
    pub(crate) fn poisoned(&self) -> Option<&Poisoned> {
        self.again.poisoned.as_ref()
    }

    /// A failed job as it ends the run: what failed, the lines of the app, and how to repeat it.
    pub(crate) fn failure(&self, what: &str, request: &Frame<'_>, trouble: &Trouble) -> StrategyError {
        self.failure_after(what, request, &[], trouble)
    }

    /// The same of one that was given these answers to its calls.
    pub(crate) fn failure_after(
        &self,
        what: &str,
        request: &Frame<'_>,
        answers: &[Frame<'_>],
        trouble: &Trouble,
    ) -> StrategyError {
        let number = |field: &str| request.header.get(field).and_then(Value::as_u64);
        let client = number("client");
        let shard = number("shard").or(client);
        let round = request.header.get("round").and_then(Value::as_u64).unwrap_or_default();
        let is_whole = request.kind().starts_with("evaluate");
        let of = client.map_or(if is_whole { "whole" } else { "server" }.to_owned(), |client| {
            format!("client_{client}")
        });
        let name = format!("{}_{of}_round_{round}", request.kind());
        let mut opening = Frame::new("open", self.opening.clone());
        opening.header.insert("data".to_owned(), Value::Null);
        opening.header.insert("client".to_owned(), shard.into());
        if is_whole || shard.is_some() {
            opening.arrays = self.again.arrays(shard.map(|shard| shard as u32));
        }
        let left = Left {
            dir: self.started.dir.as_deref(),
            python: &self.started.python,
            module: "folkmoot.worker",
        };
        let frames = [&self.started.app, &opening, request];
        let frames: Vec<&Frame<'_>> = frames.into_iter().chain(answers).collect();
        left.failure(what, &name, &frames, trouble)
    }
}

/// Where the input of a failed job is left, and who repeats it.
pub(crate) struct Left<'a> {
    pub(crate) dir: Option<&'a Path>,
    pub(crate) python: &'a Path,
    pub(crate) module: &'a str,
}

impl Left<'_> {
    /// A failed job as it ends the run. Its frames are the app's, the opening, its own request, and
    /// the answers to its calls.
    pub(crate) fn failure(&self, what: &str, name: &str, frames: &[&Frame<'_>], trouble: &Trouble) -> StrategyError {
        let way_out = match self.leave(name, frames) {
            Some(file) => format!(
                "\nhelp: repeat this job with: {} -m {} --replay {}",
                self.python.display(),
                self.module,
                file.display()
            ),
            None => String::new(),
        };
        StrategyError(format!("{what} failed: {}{way_out}", told(trouble)))
    }

    /// Writes the input of a job, as a worker is sent it; `None` where it cannot be written.
    fn leave(&self, name: &str, frames: &[&Frame<'_>]) -> Option<PathBuf> {
        let folder = self.dir?.join(FAILED_JOBS);
        let file = folder.join(format!("{name}.job"));
        let (app, others) = frames.split_first()?;
        let mut app = (*app).clone();
        app.header.insert(
            "environment".to_owned(),
            BTreeMap::from(ENVIRONMENT).into_iter().collect(),
        );
        let mut bytes = Vec::new();
        for frame in std::iter::once(&app).chain(others.iter().copied()) {
            frame.write(&mut bytes, None).ok()?;
        }
        fs::create_dir_all(&folder).ok()?;
        fs::write(&file, bytes).ok()?;
        Some(file)
    }
}
