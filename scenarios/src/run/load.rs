//! What a run rests on: its data, how they are shared out, the world, and the files that settings
//! name.

use super::{Failure, Watcher, program};
use crate::algorithm::{Files, Machine, Source};
use crate::scenario::Scenario;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataError, DataSource, Dataset, Isolated, Partition, datasets};
use folkmoot_metrics::npy::{Array, Values};
use folkmoot_traces::{Shelf, TraceError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers that a model may have: a file with more is none of ours.
const MOST_PARAMETERS: usize = 1 << 28;

/// The data of a run and how they are shared out.
#[derive(Clone)]
pub struct Loaded {
    pub dataset: Arc<Dataset>,
    pub partition: Arc<Partition>,
    /// What is around the clients.
    pub world: Arc<World>,
    /// What is in the files that the strategy's settings name.
    pub files: Arc<Files>,
    /// The sums of the files that the world is made of, and of those that the settings name, by
    /// their paths.
    pub(crate) sums: BTreeMap<String, String>,
    /// What their readers left out.
    pub(super) notes: Vec<String>,
}

impl Loaded {
    /// The fingerprint of each data set by its name, the sum of each file of traces and of each
    /// that settings name by its path, and that of the file by which data are shared out, as a
    /// manifest keeps them.
    pub fn fingerprints(&self) -> BTreeMap<String, String> {
        let mut all = self.sums.clone();
        all.insert(self.dataset.name.clone(), self.dataset.fingerprint());
        let source = self.partition.source();
        all.extend(source.map(|(name, hash)| (name.to_owned(), hash.to_owned())));
        all
    }

    /// The data as an algorithm gets them that runs with this seed.
    pub fn source(&self, seed: u64) -> Source<'_> {
        Source {
            files: &self.files,
            ..Source::new(&self.dataset, &self.partition, Streams::new(seed))
        }
    }

    /// The same, run with these means.
    pub fn on(mut self, machine: Machine) -> Self {
        Arc::make_mut(&mut self.files).machine = machine;
        self
    }

    /// The number of clients.
    pub fn n_clients(&self) -> u32 {
        self.partition.n_clients() as u32
    }
}

/// Data sets already loaded, by their settings (and seed, where they are generated), so that the
/// points of a sweep share them.
#[derive(Default)]
pub struct Cache {
    datasets: Mutex<BTreeMap<String, Arc<Dataset>>>,
    /// Notes that a watcher has had, without their numbers, which differ between seeds.
    noted: Mutex<BTreeSet<String>>,
}

impl Cache {
    /// Hands notes about `what` to the watcher, each kind once for a data set.
    fn note(&self, dataset: &str, what: &str, notes: &[String], watcher: &mut dyn Watcher) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            let kind: String = note.chars().filter(|c| !c.is_ascii_digit()).collect();
            if noted.insert(format!("{dataset} {what} {kind}")) {
                watcher.note(&format!("{what}: {note}"));
            }
        }
    }
}

/// Loads a scenario's data.
///
/// # Errors
///
/// When they cannot be found or read.
pub fn load_data(scenario: &Scenario, dirs: &DataDirs) -> Result<Dataset, Failure> {
    let rng = &mut Streams::new(scenario.seed()).global(Purpose(*b"dataset "));
    scenario.dataset().load(dirs, rng).map_err(Failure::Data)
}

/// Loads a scenario's data, shares them out and makes the world around them: two stages of the
/// watcher's.
///
/// # Errors
///
/// When the data, traces or files that settings name cannot be found or read, the data cannot be
/// shared out, or the card asks more clients than there are.
pub fn load(scenario: &Scenario, dirs: &DataDirs, cache: &Cache, watcher: &mut dyn Watcher) -> Result<Loaded, Failure> {
    let streams = Streams::new(scenario.seed());
    let seed = if scenario.dataset().is_generated() {
        scenario.seed()
    } else {
        0
    };
    let key = format!("{} {seed}", scenario.dataset_text());
    let known = || cache.datasets.lock().unwrap_or_else(PoisonError::into_inner);
    let cached = known().get(&key).cloned();
    let dataset = match cached {
        Some(dataset) => dataset,
        None => {
            if let Some(bytes) = scenario.dataset().n_bytes() {
                watcher.fits(bytes).map_err(Failure::Memory)?;
            }
            let dataset = Arc::new(load_data(scenario, dirs)?);
            // What a file holds is known only now.
            watcher.fits(0).map_err(Failure::Memory)?;
            known().insert(key, Arc::clone(&dataset));
            dataset
        }
    };
    let text = scenario.dataset_text();
    // A generator's notes say what the card itself asks for.
    if !scenario.dataset().is_generated() {
        cache.note(text, &dataset.name, &dataset.notes, watcher);
    }
    watcher.lap("load");
    let rng = &mut streams.global(Purpose(*b"partitn "));
    let partition = scenario
        .partition()
        .partition(&dataset, dirs, rng)
        .map_err(Failure::Partition)?;
    cache.note(text, "partition", partition.notes(), watcher);
    let dataset = match partition.added_edges() {
        [] => dataset,
        added => Arc::new(dataset.with_edges(added).map_err(|error| Failure::Data(error.into()))?),
    };
    watcher.lap("share out");
    let n_clients = partition.n_clients() as u32;
    scenario
        .check_clients(n_clients)
        .map_err(|problems| Failure::Card(Box::new(problems)))?;
    let mut shelf = Shelf::new(dirs, n_clients, streams);
    let world = scenario.world(&mut shelf).map_err(|(field, error)| match error {
        TraceError::Data(error) => Failure::Data(error),
        error => Failure::Card(Box::new(scenario.problem(field, error.to_string()))),
    })?;
    let mut loaded = Loaded {
        dataset,
        partition: Arc::new(partition),
        world: Arc::new(world),
        files: Arc::default(),
        sums: shelf.fingerprints().clone(),
        notes: shelf.notes().to_vec(),
    };
    let mut files = Files::default();
    for path in &scenario.strategy().about.edge_lists {
        let listed = edge_list(path).load(dirs, rng).map_err(Failure::Data)?;
        loaded.sums.insert(path.clone(), listed.fingerprint());
        loaded.notes.extend(listed.notes.iter().cloned());
        files.graphs.insert(path.clone(), listed.graph().clone());
    }
    for path in &scenario.strategy().about.models {
        let (model, fingerprint) = model(path, dirs).map_err(Failure::Data)?;
        loaded.sums.insert(path.clone(), fingerprint);
        files.models.insert(path.clone(), model);
    }
    for path in &scenario.strategy().about.programs {
        // One without a file of its own is an installed module.
        if is_module(path) {
            continue;
        }
        // A file that is gone may have left a copy in the run directory.
        let copy = || dirs.locate(Path::new(path).file_name()?).ok();
        let found = dirs.locate_own(path).or_else(|missing| copy().ok_or(missing));
        let program = program::read(&found.map_err(Failure::Data)?).map_err(Failure::Data)?;
        loaded.sums.insert(path.clone(), program.fingerprint());
        files.programs.insert(path.clone(), program);
    }
    loaded.files = Arc::new(files);
    cache.note(text, "files", &loaded.notes, watcher);
    Ok(loaded)
}

/// Whether a program is named as Python names a module, and not by its file.
fn is_module(path: &str) -> bool {
    let is_name = |name: &str| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_file = [".py", ".pkl", ".toml"].iter().any(|ending| path.ends_with(ending));
    !is_file && path.split('.').all(is_name)
}

/// A file of undirected edges between ids from 0 on.
fn edge_list(path: &str) -> datasets::EdgeList {
    datasets::EdgeList {
        edges: path.to_owned(),
        labels: None,
        features: None,
        split: None,
        directed: false,
        weighted: false,
        first_id: 0,
        renumber: false,
        largest_component: false,
        isolated: Isolated::Keep,
    }
}

/// The numbers of a model that a run has kept, and the fingerprint of its file.
fn model(path: &str, dirs: &DataDirs) -> Result<(Vec<f32>, String), DataError> {
    let path = dirs.locate_own(path)?;
    let content = fs::read(&path).map_err(|source| DataError::Read {
        path: path.clone(),
        source,
    })?;
    let wrong = |message| DataError::Format {
        path: path.clone(),
        message,
    };
    let array = Array::parse(&content, MOST_PARAMETERS).map_err(wrong)?;
    match (array.shape.len(), array.values) {
        (1, Values::Floats(model)) => Ok((model, blake3::hash(&content).to_hex().to_string())),
        _ => {
            let rule = "a model is an array of one dimension of 32-bit floats, as a run keeps it in its model.npy";
            Err(wrong(rule.to_owned()))
        }
    }
}
