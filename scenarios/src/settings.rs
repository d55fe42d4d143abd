//! What makes a strategy known to cards.

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::ranks::{self, Ranks, agree};
use folkmoot_engine::run::{Observer, Outcome, Saved, run_among};
use folkmoot_graphs::{Dataset, Graph, Partition};
use folkmoot_parts::{Broken, Part, part};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Something that a run keeps.
#[part]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last models: `model.npy` of the server, `own_models.npy` of clients that have their own, `model_layout.csv` with the matrices in them.
    #[default]
    Model,
    /// The class and the probabilities that these predict for every labelled item: `predictions.csv` and `own_predictions.csv`.
    Predictions,
    /// The client that holds each item, and whether it trains, validates or tests: `assignment.csv`.
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

/// A strategy's parameters as a card writes them: `strategy: Name(field: value)`.
///
/// Every field has a default, so that `Name()` is a whole strategy.
pub trait Settings: Part + Default {
    /// What everybody knows of the data before the run, such as the number of classes: a struct of plain values, or `()`.
    /// `manifest.json` lists it.
    type Facts: Serialize + 'static;
    /// The system these parameters make.
    type Strategy: Strategy;

    /// The version of the results: each change that moves a number of this algorithm raises it, with an entry under Results
    /// in the changelog. Recorded runs of an older version are reported as stale. Default: 1.
    fn results_version() -> u32 {
        1
    }

    /// How many rounds a run has, if that is known before; for progress only. Default: unknown.
    fn rounds(&self) -> Option<u32> {
        None
    }

    /// What is allowed and hardly meant: where, why, and the way out, as for a broken rule. Default: nothing.
    fn doubts(&self) -> Vec<Broken> {
        Vec::new()
    }

    /// What the numbers mean that its study writes down. Default: nothing is said, and the manifest has names alone.
    fn terms() -> Vec<Term> {
        Vec::new()
    }

    /// Who trains, validates and tests, where that is a setting: for whoever reads a score. Default: it is none.
    fn split(&self) -> Option<String> {
        None
    }

    /// The numbers that a run is made for, said first where the card names none. Default: what it sends, and how long it takes.
    fn headline() -> &'static [&'static str] {
        &["messages_sent", "payload_bytes", "virtual_s"]
    }

    /// Whether its runs can keep models, predictions and assignments: see [`Keep`]. Default: no.
    fn keeps() -> bool {
        false
    }

    /// The edge lists that the settings name, relative to a data folder or absolute; [`Source::files`] has what is in them. Default: none.
    fn edge_lists(&self) -> Vec<String> {
        Vec::new()
    }

    /// The models that the settings name, kept by other runs as `.npy` of one dimension, relative to a data folder or absolute;
    /// [`Source::files`] has their numbers. Default: none.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }

    /// What everybody knows of the data.
    ///
    /// # Errors
    ///
    /// When the data do not suit the system.
    fn facts(&self, source: &Source<'_>) -> Result<Self::Facts, StrategyError>;

    /// The system: made of its parameters and of what everybody knows, so that no handler has a way to the data.
    ///
    /// # Errors
    ///
    /// When the parameters do not suit the facts.
    fn strategy(&self, facts: &Self::Facts) -> Result<Self::Strategy, StrategyError>;

    /// Shares the data out: the one function that sees all of them before the run has ended.
    ///
    /// # Errors
    ///
    /// When the data do not suit the system.
    fn share(&self, strategy: &Self::Strategy, source: &Source<'_>) -> Result<Shared<Self::Strategy>, StrategyError>;

    /// All of it, in the one order there is.
    ///
    /// # Errors
    ///
    /// As its steps; the message begins with the system's name.
    fn prepare(&self, source: &Source<'_>) -> Result<Prepared<Self>, StrategyError> {
        let named = |StrategyError(why)| StrategyError(format!("{}: {why}", Self::NAME));
        let facts = self.facts(source).map_err(named)?;
        let strategy = self.strategy(&facts).map_err(named)?;
        let shared = self.share(&strategy, source).map_err(named)?;
        Ok(Prepared {
            facts,
            strategy,
            shared,
        })
    }
}

/// A system that can run.
pub struct Prepared<P: Settings> {
    /// What everybody knows.
    pub facts: P::Facts,
    /// The strategy.
    pub strategy: P::Strategy,
    /// Its data.
    pub shared: Shared<P::Strategy>,
}

impl<P: Settings> Prepared<P> {
    /// As the engine takes it.
    pub fn system(&self) -> System<'_, P::Strategy> {
        System {
            strategy: &self.strategy,
            shards: self.shared.shards.as_ref(),
            study: self.shared.study.as_ref(),
        }
    }
}

/// The data of a run.
#[derive(Clone)]
pub struct Source<'a> {
    /// All of them.
    pub dataset: &'a Arc<Dataset>,
    /// Who holds what.
    pub partition: &'a Arc<Partition>,
    /// The streams of the run, for what is drawn beforehand, such as who trains and who tests.
    pub streams: Streams,
    /// What is in the files that the settings name.
    pub files: &'a Files,
    /// What the run keeps of its models.
    pub keep: &'a [Keep],
    /// The clients whose data are needed in this process: all, or those that it plays where another process studies the run. What
    /// others hold need not be made ready.
    pub needed: Range<u32>,
}

/// What is in the files that settings name, by their paths.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The graphs of [`Settings::edge_lists`].
    pub graphs: BTreeMap<String, Graph>,
    /// The numbers of [`Settings::models`].
    pub models: BTreeMap<String, Vec<f32>>,
}

/// Of settings that name none.
static NO_FILES: Files = Files {
    graphs: BTreeMap::new(),
    models: BTreeMap::new(),
};

impl<'a> Source<'a> {
    /// A data set, who holds what, and the streams of the run.
    pub fn new(dataset: &'a Arc<Dataset>, partition: &'a Arc<Partition>, streams: Streams) -> Self {
        Source {
            dataset,
            partition,
            streams,
            files: &NO_FILES,
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

/// How a setting divides items into those that train, validate and test, and whose items these are: for [`Settings::split`].
pub fn split_of(split: &impl Serialize, whose: &str) -> String {
    format!("{}, of {whose}", folkmoot_parts::text_of(split))
}

/// Data that have been shared out: what each client gets, and what is seen from above.
pub struct Shared<S: Strategy> {
    /// What each client holds.
    pub shards: Box<dyn Shards<S>>,
    /// Scores, attacks and theory.
    pub study: Box<dyn Study<S>>,
}

/// A strategy with its settings, whichever it is.
pub trait Runs: Send + Sync {
    /// The version of its results.
    fn results_version(&self) -> u32;

    /// How many rounds it will have, if that is known before.
    fn rounds(&self) -> Option<u32>;

    /// What is allowed in its settings and hardly meant.
    fn doubts(&self) -> Vec<Broken>;

    /// The names of its counters, which a card may observe.
    fn counters(&self) -> &'static [&'static str];

    /// Who trains, validates and tests, where that is a setting.
    fn split(&self) -> Option<String>;

    /// The numbers that a run is made for.
    fn headline(&self) -> &'static [&'static str];

    /// Whether its runs can keep models, predictions and assignments.
    fn keeps(&self) -> bool;

    /// The edge lists that its settings name.
    fn edge_lists(&self) -> Vec<String>;

    /// The models that its settings name.
    fn models(&self) -> Vec<String>;

    /// Runs it. The first rank gets what it comes to.
    ///
    /// # Errors
    ///
    /// When the data do not suit it, or the run fails.
    fn run(&self, job: &Job<'_>, observer: &mut dyn Observer) -> Result<Option<Finished>, RunError>;
}

/// What a strategy is run on.
pub struct Job<'a> {
    /// The data.
    pub dataset: &'a Arc<Dataset>,
    /// How they are shared out.
    pub partition: &'a Arc<Partition>,
    /// The world.
    pub world: &'a World,
    /// What is in the files that the settings name.
    pub files: &'a Files,
    /// What the run keeps of its models.
    pub keep: &'a [Keep],
    /// The seed.
    pub seed: u64,
    /// How to run.
    pub options: Options,
    /// The checkpoint to go on from, if any.
    pub saved: Option<&'a Saved>,
    /// With whom.
    pub ranks: &'a dyn Ranks,
}

/// What a run comes to, and what it rests on.
pub struct Finished {
    /// The outcome.
    pub outcome: Outcome,
    /// What everybody knew of the data before the run.
    pub public_facts: BTreeMap<String, serde_json::Value>,
    /// What a trusted party who sees all data did before it.
    pub trusted: Option<&'static str>,
}

/// Settings as whoever runs cards takes them.
pub fn runs<P: Settings>(settings: P) -> Box<dyn Runs> {
    Box::new(Whole(settings))
}

struct Whole<P>(P);

impl<P: Settings> Runs for Whole<P> {
    fn results_version(&self) -> u32 {
        P::results_version()
    }

    fn rounds(&self) -> Option<u32> {
        self.0.rounds()
    }

    fn doubts(&self) -> Vec<Broken> {
        self.0.doubts()
    }

    fn counters(&self) -> &'static [&'static str] {
        P::Strategy::COUNTERS
    }

    fn split(&self) -> Option<String> {
        self.0.split()
    }

    fn headline(&self) -> &'static [&'static str] {
        P::headline()
    }

    fn keeps(&self) -> bool {
        P::keeps()
    }

    fn edge_lists(&self) -> Vec<String> {
        self.0.edge_lists()
    }

    fn models(&self) -> Vec<String> {
        self.0.models()
    }

    fn run(&self, job: &Job<'_>, observer: &mut dyn Observer) -> Result<Option<Finished>, RunError> {
        let all = Source::new(job.dataset, job.partition, Streams::new(job.seed));
        let source = Source {
            files: job.files,
            keep: job.keep,
            // The first rank has the study, which reads what everybody holds.
            needed: match job.ranks.rank() {
                0 => all.needed,
                _ => ranks::clients(job.ranks, all.n_clients()),
            },
            ..all
        };
        let prepared = self.0.prepare(&source).map_err(|error| RunError::Setup {
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
            public_facts: match serde_json::to_value(&prepared.facts) {
                Ok(serde_json::Value::Object(facts)) => facts.into_iter().collect(),
                Ok(serde_json::Value::Null) => BTreeMap::new(),
                _ => panic!("the facts of {} are a struct of plain values", P::NAME),
            },
            trusted: system.shards.trusted(),
        }))
    }
}
