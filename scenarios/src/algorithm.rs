//! What makes an algorithm known to cards.

use crate::evaluators::{Added, together};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::{self, Ranks, agree};
use folkmoot_engine::run::{Observer, Outcome, Saved, run_among};
use folkmoot_graphs::{Dataset, Graph, Partition};
use folkmoot_parts::{Broken, Component, component};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Artifact that a run saves.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Final models: `model.npy` of the server, `own_models.npy` of personalised clients,
    /// `model_layout.csv` with their matrices.
    #[default]
    Model,
    /// Predicted class and probabilities for every labelled item: `predictions.csv` and
    /// `own_predictions.csv`. For several labels or numbers, each answer: `outputs.csv` and
    /// `own_outputs.csv`.
    Predictions,
    /// Client of each item and its split (training, validation or test): `assignment.csv`.
    Assignment,
}

/// Refuses a data set with edge weights, for what does not read them.
///
/// # Errors
///
/// When a graph of it has weights.
pub fn without_weights(dataset: &Dataset) -> Result<(), StrategyError> {
    if !dataset.graphs.iter().any(Graph::is_weighted) {
        return Ok(());
    }
    Err(StrategyError(format!(
        "the edges of {} have weights, which would be ignored; write the edges without them (awk '{{print $1, $2}}' of an edge list, \
         A != 0 of a matrix), or choose an algorithm that reads them, such as FedAvg with Gcn",
        dataset.name
    )))
}

/// An algorithm by its settings, as a card writes them: `strategy: Name(field: value)`.
///
/// Every field has a default, so that `Name()` is a whole algorithm.
pub trait Algorithm: Component + Default {
    /// What everybody knows of the data before the run, such as the number of classes: a struct of
    /// plain values, or `()`. `manifest.json` lists it.
    type Facts: Serialize + 'static;
    /// What the engine runs.
    type Strategy: Strategy;

    /// What is known of it before any data are read. Default: nothing is said.
    fn about(&self) -> About {
        About::default()
    }

    /// What everybody knows of the data.
    ///
    /// # Errors
    ///
    /// When the data do not suit the algorithm.
    fn facts(&self, source: &Source<'_>) -> Result<Self::Facts, StrategyError>;

    /// What the engine runs: made of settings and facts, so that no handler has a way to the data.
    ///
    /// # Errors
    ///
    /// When the settings do not suit the facts.
    fn build(&self, facts: &Self::Facts) -> Result<Self::Strategy, StrategyError>;

    /// Shares the data out: the one function that sees all of them before the run has ended.
    ///
    /// # Errors
    ///
    /// When the data do not suit the algorithm.
    fn share(
        &self,
        facts: &Self::Facts,
        strategy: &Self::Strategy,
        source: &Source<'_>,
    ) -> Result<Shared<Self::Strategy>, StrategyError>;

    /// Measures the processor time of one job of each client on this machine, in seconds: the
    /// median of `repeats`. `None` where costs are operations that settings and data determine.
    /// Default: `None`.
    ///
    /// # Errors
    ///
    /// When the data do not suit the algorithm, or a job fails.
    fn calibrate(&self, _source: &Source<'_>, _repeats: usize) -> Result<Option<Vec<f64>>, StrategyError> {
        Ok(None)
    }

    /// All of it, in the one order there is.
    ///
    /// # Errors
    ///
    /// As its steps; the message begins with the algorithm's name.
    fn prepare(&self, source: &Source<'_>) -> Result<Prepared<Self>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("{}: {why}", Self::NAME));
        let facts = self.facts(source).map_err(named)?;
        let strategy = self.build(&facts).map_err(named)?;
        let shared = self.share(&facts, &strategy, source).map_err(named)?;
        Ok(Prepared {
            facts,
            strategy,
            shared,
        })
    }
}

/// What is known of an algorithm, with its settings, before any data are read.
#[derive(Clone, Debug)]
pub struct About {
    /// The version of the results: each change that moves a number of this algorithm raises it,
    /// with an entry in `scenarios/results-log.md`. Recorded runs of an older version are reported
    /// as stale. Default: 1.
    pub results_version: u32,
    /// How many rounds a run has, if that is known; for progress only.
    pub rounds: Option<u32>,
    /// What the settings say that is allowed and hardly meant: where, why, and the way out, as for
    /// a broken rule.
    pub lints: Vec<Broken>,
    /// What the numbers mean that its evaluator writes. The same whatever the settings are.
    pub terms: Vec<Term>,
    /// Who trains, validates and tests, where that is a setting: for whoever reads a score.
    pub split: Option<String>,
    /// The numbers that a run is made for, printed first where the card names none. Default: what
    /// it sends, and how long it takes.
    pub headline: &'static [&'static str],
    /// Whether its runs can keep models, predictions and assignments: see [`Keep`].
    pub keeps: bool,
    /// Settings that a fork may change, such as `method`: a checkpoint does not depend on them.
    pub forkable: &'static [&'static str],
    /// The edge lists that the settings name, relative to a data folder or absolute;
    /// [`Source::files`] has what is in them.
    pub edge_lists: Vec<String>,
    /// The models that the settings name, kept by other runs as `.npy` of one dimension, relative
    /// to a data folder or absolute; [`Source::files`] has their numbers.
    pub models: Vec<String>,
    /// The programs in Python that the settings name, looked for beside the card and in data
    /// folders; [`Source::files`] has their sources. A checkpoint rests on them, as on data.
    pub programs: Vec<String>,
}

impl Default for About {
    fn default() -> Self {
        About {
            results_version: 1,
            rounds: None,
            lints: Vec::new(),
            terms: Vec::new(),
            split: None,
            headline: &["messages_sent", "payload_bytes", "virtual_s"],
            keeps: false,
            forkable: &[],
            edge_lists: Vec::new(),
            models: Vec::new(),
            programs: Vec::new(),
        }
    }
}

/// A system that can run.
pub struct Prepared<P: Algorithm> {
    pub facts: P::Facts,
    pub strategy: P::Strategy,
    pub shared: Shared<P::Strategy>,
}

impl<P: Algorithm> Prepared<P> {
    /// As the engine takes it.
    pub fn system(&self) -> System<'_, P::Strategy> {
        System {
            strategy: &self.strategy,
            shards: self.shared.shards.as_ref(),
            evaluator: self.shared.evaluator.as_ref(),
        }
    }
}

/// The data of a run.
#[derive(Clone)]
pub struct Source<'a> {
    pub dataset: &'a Arc<Dataset>,
    pub partition: &'a Arc<Partition>,
    /// The streams of the run, for what is drawn beforehand, such as who trains and who tests.
    pub streams: Streams,
    /// What is in the files that the settings name.
    pub files: &'a Files,
    /// What the run keeps of its models.
    pub keep: &'a [Keep],
    /// The run directory, for logs and jobs that failed; `None` where there is none.
    pub dir: Option<&'a Path>,
    /// The clients whose data are needed in this process: all, or those that it plays where another
    /// process evaluates the run. What others hold need not be made ready.
    pub needed: Range<u32>,
}

/// What a run may use besides its own threads, for algorithms that start programs. Of all this no
/// result depends on anything but the interpreter.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The Python interpreter.
    pub python: PathBuf,
    /// Threads of the run.
    pub threads: usize,
    /// How long a job of another process may take; `None` for as long as it takes.
    pub job_timeout: Option<Duration>,
    /// The share of jobs, 0 to 1, that another process does a second time, to compare.
    pub checked: f64,
}

impl Machine {
    /// `python3`, and one thread.
    pub fn plain() -> Machine {
        Machine {
            python: PathBuf::from("python3"),
            threads: 1,
            job_timeout: None,
            checked: 0.0,
        }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Machine::plain()
    }
}

/// A program that settings name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file, absolute.
    pub path: PathBuf,
    /// The sources that it is made of, with their paths relative to its folder.
    pub sources: BTreeMap<String, Vec<u8>>,
}

/// What is in the files that settings name, by their paths.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The graphs of [`About::edge_lists`].
    pub graphs: BTreeMap<String, Graph>,
    /// The numbers of [`About::models`].
    pub models: BTreeMap<String, Vec<f32>>,
    /// The programs of [`About::programs`].
    pub programs: BTreeMap<String, Program>,
    /// What they, and others, run on.
    pub machine: Machine,
}

/// Of settings that name none.
static NO_FILES: LazyLock<Files> = LazyLock::new(Files::default);

impl<'a> Source<'a> {
    /// A data set, who holds what, and the streams of the run.
    pub fn new(dataset: &'a Arc<Dataset>, partition: &'a Arc<Partition>, streams: Streams) -> Self {
        Source {
            dataset,
            partition,
            streams,
            files: &NO_FILES,
            dir: None,
            keep: &[],
            needed: 0..partition.n_clients() as u32,
        }
    }

    /// The number of clients.
    pub fn n_clients(&self) -> u32 {
        self.partition.n_clients() as u32
    }

    /// The same where what all clients hold is needed in every process.
    pub fn of_all(&self) -> Self {
        Source {
            needed: 0..self.n_clients(),
            ..self.clone()
        }
    }

    /// How many items each client holds.
    pub fn sizes(&self) -> Vec<u64> {
        let size = |client| self.partition.shard(client).len() as u64;
        (0..self.partition.n_clients()).map(size).collect()
    }
}

/// How a setting divides items into those that train, validate and test, and whose items these are:
/// for [`About::split`].
pub fn split_of(split: &impl Serialize, whose: &str) -> String {
    format!("{}, of {whose}", folkmoot_parts::text_of(split))
}

/// Data that have been shared out: what each client gets, and what is seen from above.
pub struct Shared<S: Strategy> {
    /// What each client holds.
    pub shards: Box<dyn Shards<S>>,
    /// Scores, attacks and theory.
    pub evaluator: Box<dyn Evaluator<S>>,
}

/// An algorithm with its settings, whichever it is.
pub struct Runnable {
    /// Its name in a card.
    pub name: &'static str,
    /// What is known of it.
    pub about: About,
    /// The names of its counters, which a card may observe.
    pub counters: &'static [&'static str],
    run: Box<Run>,
    calibrate: Box<Calibrate>,
}

type Calibrate = dyn Fn(&Source<'_>, usize) -> Result<Option<Vec<f64>>, StrategyError> + Send + Sync;
type Run = dyn Fn(&Job<'_>, &mut dyn Observer) -> Result<Option<Finished>, RunError> + Send + Sync;

impl Runnable {
    /// An algorithm by its settings.
    pub fn of<P: Algorithm>(settings: P) -> Box<Runnable> {
        let same = settings.clone();
        Box::new(Runnable {
            name: P::NAME,
            about: settings.about(),
            counters: P::Strategy::COUNTERS,
            run: Box::new(move |job, observer| run(&settings, job, observer)),
            calibrate: Box::new(move |source, repeats| same.calibrate(source, repeats)),
        })
    }

    /// The processor time of one job of each client, as [`Algorithm::calibrate`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn calibrate(&self, source: &Source<'_>, repeats: usize) -> Result<Option<Vec<f64>>, StrategyError> {
        (self.calibrate)(source, repeats)
    }

    /// Runs it. The first rank gets what it comes to.
    ///
    /// # Errors
    ///
    /// When the data do not suit it, or the run fails.
    pub fn run(&self, job: &Job<'_>, observer: &mut dyn Observer) -> Result<Option<Finished>, RunError> {
        (self.run)(job, observer)
    }
}

/// What an algorithm is run on.
pub struct Job<'a> {
    pub dataset: &'a Arc<Dataset>,
    /// How they are shared out.
    pub partition: &'a Arc<Partition>,
    pub world: &'a World,
    /// What is in the files that the settings name.
    pub files: &'a Files,
    /// What the run keeps of its models.
    pub keep: &'a [Keep],
    /// Evaluators next to the algorithm's own.
    pub evaluators: &'a [Added],
    /// The run directory, at the first rank.
    pub dir: Option<&'a Path>,
    pub seed: u64,
    pub options: Options,
    /// The checkpoint to go on from, if any.
    pub saved: Option<&'a Saved>,
    pub ranks: &'a dyn Ranks,
}

/// What a run comes to, and what it rests on.
pub struct Finished {
    pub outcome: Outcome,
    /// What everybody knew of the data before the run.
    pub public_facts: BTreeMap<String, serde_json::Value>,
    /// What a trusted party who sees all data did before it.
    pub trusted: Option<&'static str>,
}

fn run<P: Algorithm>(settings: &P, job: &Job<'_>, observer: &mut dyn Observer) -> Result<Option<Finished>, RunError> {
    let all = Source::new(job.dataset, job.partition, Streams::new(job.seed));
    let source = Source {
        files: job.files,
        keep: job.keep,
        dir: job.dir,
        // The first rank has the evaluator, which reads what everybody holds.
        needed: match job.ranks.rank() {
            0 => all.needed,
            _ => ranks::clients(job.ranks, all.n_clients()),
        },
        ..all
    };
    let prepared = settings.prepare(&source).and_then(|mut prepared| {
        let given = (&prepared.facts, &source);
        prepared.shared.evaluator = together::<P>(prepared.shared.evaluator, job.evaluators, given)?;
        Ok(prepared)
    });
    let prepared = prepared.map_err(|error| RunError::Setup {
        party: Party::Server,
        error,
    });
    let prepared = agree(job.ranks, prepared, |rank, why| RunError::Elsewhere { rank, why })?;
    observer.stage_done("prepare");
    let system = prepared.system();
    let how = (job.options, job.saved);
    let outcome = run_among(job.ranks, system, job.world, job.seed, how, observer)?;
    Ok(outcome.map(|outcome| Finished {
        outcome,
        public_facts: public_facts::<P>(&prepared.facts),
        trusted: system.shards.trusted(),
    }))
}

/// The facts by name, and how far a result is reproducible: to the bit, unless they say otherwise.
fn public_facts<P: Algorithm>(facts: &P::Facts) -> BTreeMap<String, serde_json::Value> {
    let mut facts: BTreeMap<String, serde_json::Value> = match serde_json::to_value(facts) {
        Ok(serde_json::Value::Object(facts)) => facts.into_iter().collect(),
        Ok(serde_json::Value::Null) => BTreeMap::new(),
        _ => panic!("the facts of {} are a struct of plain values", P::NAME),
    };
    facts.entry("promise".to_owned()).or_insert_with(|| "exact".into());
    facts
}
