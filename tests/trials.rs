//! Cards and settings with which algorithms are tried: each folder of scenarios has its own in
//! `trials.json`, so that a test names no algorithm, and one that is deleted takes its rows with
//! it.
//!
//! A file has lists of rows, one list for each test ([`File`] says which), and a row is a card of
//! that folder with settings, such as
//!
//! ```json
//! { "card": "fed-avg/small", "with": ["coming and going"], "set": ["strategy.protocol.rounds=4"],
//!   "dry_run": true }
//! ```
//!
//! `set` is what `--set` takes; `with` names lists of settings below `shared` in the same file,
//! which come before those of `set`. The other fields of a row are those of [`Row`]. Programs in
//! Python read the same files by `tests/trials.py`.

use crate::support::root;
use folkmoot_scenarios::axis::Described;
use folkmoot_scenarios::cards;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::apply_setting;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file `trials.json`. Every list may be missing.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    /// Settings that several rows share, by a name.
    shared: BTreeMap<String, Vec<String>>,
    /// Runs that are the same for any number of threads, with windows and without
    /// (`determinism.rs`).
    pub(crate) same_bytes: Vec<Row>,
    /// Runs to which observed `counters` add one table and change nothing else (`determinism.rs`).
    pub(crate) observed: Vec<Row>,
    /// Runs with rounds whose end nobody announces (`determinism.rs`).
    pub(crate) silent_rounds: Vec<Row>,
    /// Runs whose traces are compared with what was counted (`trace.rs`).
    pub(crate) traced: Vec<Row>,
    /// Runs whose messages are those of their dry runs (`dry_runs.rs`).
    pub(crate) dry_runs: Vec<Row>,
    /// Runs whose dry runs do not know the sizes of messages of these `kinds` (`dry_runs.rs`).
    pub(crate) unknown_sizes: Vec<Row>,
    /// Runs, or with `dry_run` dry runs, that are stopped and resumed
    /// (`checkpoints/strategies.rs`).
    pub(crate) stops: Vec<Row>,
    /// Algorithms that keep one model, on the test's `data` (`kept.rs`).
    pub(crate) keeps: Vec<Row>,
    /// Algorithms that read no weights of edges (`inputs.rs`).
    pub(crate) unweighted: Vec<Row>,
    /// Runs that between them have every measurement switched on (`terms.rs`).
    pub(crate) terms: Vec<Row>,
    /// Short runs for an emulated CPU, every card that is called small among them (`emulated.rs`).
    pub(crate) emulated: Vec<Row>,
    /// Runs that are killed (`bench/kill.py`).
    pub(crate) kills: Vec<Row>,
    /// Runs over the ranks of an MPI (`cluster/ranks.sh`).
    ranks: Vec<Row>,
    /// Dry runs whose pages are opened in a browser (`report.sh`).
    pages: Vec<Row>,
    /// Rows of a table of speeds (`bench/speed.py`).
    speed: Vec<Speed>,
    /// Settings that shorten cards whose result hashes are recorded in `hashes.csv` (`hashes.py`).
    hashes: Hashes,
    /// What `explain` is asked for (`cli.rs`).
    pub(crate) explained: Vec<String>,
    /// The errata of papers by their letter, and how many there are: each has a claim (`audit.rs`).
    pub(crate) errata: BTreeMap<String, u32>,
}

/// A card with settings.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    card: String,
    /// Names of shared settings.
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    set: Vec<String>,
    /// Whether the run is a dry run.
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    kinds: Vec<String>,
    /// Counters of the strategy.
    #[serde(default)]
    counters: Vec<String>,
    /// Which data of the test it runs on.
    #[serde(default)]
    data: String,
    /// The name of what a table of speeds measures.
    #[serde(default)]
    work: String,
}

/// A row of a table of speeds. It has one of `training`, `events` and `clients`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Speed {
    row: String,
    about: String,
    /// Whether it needs data sets.
    #[serde(default)]
    #[expect(dead_code, reason = "bench/speed.py reads it")]
    needs_data: bool,
    training: Option<Training>,
    /// Events a second of whole runs.
    #[serde(default)]
    events: Vec<Row>,
    clients: Option<Clients>,
}

/// A training loop, and the same in another program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Training {
    work: String,
    unit: String,
    /// The crate and its bench.
    bench: [String; 2],
    /// Benchmarks in it on one thread and on two.
    names: [String; 2],
    /// A Python script and its arguments.
    peer: Vec<String>,
    /// The modules that it needs.
    modules: Vec<String>,
}

/// Events a second and bytes a client of an example that takes numbers of threads and of clients.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    /// The name of what is measured, with `{n}` for the number of clients.
    work: String,
    /// The crate and its example.
    example: [String; 2],
    numbers: Vec<u32>,
}

/// Settings that shorten cards.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Hashes {
    /// The length of a run, by algorithm.
    short: BTreeMap<String, Vec<String>>,
    /// Inputs on generated graphs without features, by algorithm.
    graphs: BTreeMap<String, Vec<String>>,
    /// Settings of cards, by the beginning of their names.
    more: BTreeMap<String, Vec<String>>,
}

/// A row with all its settings.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) card: String,
    pub(crate) settings: Vec<String>,
    pub(crate) dry_run: bool,
    pub(crate) kinds: Vec<String>,
    pub(crate) counters: Vec<String>,
    pub(crate) data: String,
}

impl Trial {
    /// The card and its settings, as the program takes them.
    pub(crate) fn args(&self) -> Vec<&str> {
        let settings = self.settings.iter().flat_map(|setting| ["--set", setting]);
        [self.card.as_str()].into_iter().chain(settings).collect()
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        self.args().join(" ")
    }
}

/// Every file by its folder.
pub(crate) fn folders() -> BTreeMap<String, File> {
    let scenarios = root().join("scenarios");
    let mut found = BTreeMap::new();
    for folder in crate::support::TempDir::names_in(&scenarios) {
        let path = scenarios.join(&folder).join("trials.json");
        if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            let file = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            found.insert(folder, file);
        }
    }
    found
}

/// One of the lists of a file.
type List = fn(&File) -> &[Row];

/// The rows of a list, folder by folder.
pub(crate) fn trials(list: List) -> Vec<Trial> {
    let trials = |(folder, file): (String, File)| list(&file).iter().map(|row| trial(&folder, &file, row)).collect();
    folders()
        .into_iter()
        .flat_map(|of| -> Vec<Trial> { trials(of) })
        .collect()
}

/// A row of a folder's file with all its settings.
fn trial(folder: &str, file: &File, row: &Row) -> Trial {
    let cards = root().join("scenarios").join(folder).join("cards");
    assert!(
        cards.join(format!("{}.ron", row.card)).is_file(),
        "scenarios/{folder}/trials.json: {} is no card of that folder",
        row.card
    );
    let shared = row.with.iter().flat_map(|name| {
        let settings = file.shared.get(name);
        settings.unwrap_or_else(|| panic!("scenarios/{folder}/trials.json: nothing shared is called {name:?}"))
    });
    Trial {
        card: row.card.clone(),
        settings: shared.chain(&row.set).cloned().collect(),
        dry_run: row.dry_run,
        kinds: row.kinds.clone(),
        counters: row.counters.clone(),
        data: row.data.clone(),
    }
}

/// Tries rows on as many threads as the machine has cores; each takes the next row, so that a long
/// one holds up no other.
pub(crate) fn on_all_cores(rows: &[Trial], tries: impl Fn(&Trial) + Sync) {
    let next = AtomicUsize::new(0);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                while let Some(trial) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tries(trial);
                }
            });
        }
    });
}

/// The card of a row with its settings.
fn legal(list: &str, trial: &Trial, registry: &Registry) -> Scenario {
    let (name, mut source) = cards::find(&trial.card, registry.cards()).unwrap();
    for setting in &trial.settings {
        source = apply_setting(&source, setting).unwrap_or_else(|why| panic!("{list}: {}: {why}", trial.name()));
    }
    let scenario = check(&name, &source, registry);
    scenario.unwrap_or_else(|problems| panic!("{list}: {}: {problems}", trial.name()))
}

/// A row is found out here if it is of another card or has a setting that there is not, and an
/// algorithm if it has no row.
#[test]
fn every_row_is_legal_and_every_algorithm_has_rows() {
    let registry = folkmoot::shipped();
    // What runs programs in Python needs NumPy; what it must hold is tried in its crate.
    let parts = registry.strategies().parts();
    let runs_programs = |part: &&Described| part.shape.fields().iter().any(|field| field.name == "app");
    let parts = parts.filter(|part| !runs_programs(part));
    let algorithms: BTreeSet<String> = parts.map(|part| part.name.to_owned()).collect();
    assert!(algorithms.len() >= 4, "{algorithms:?}");
    let lists: [(&str, List, bool); 12] = [
        ("same_bytes", |file| &file.same_bytes, false),
        ("observed", |file| &file.observed, false),
        ("silent_rounds", |file| &file.silent_rounds, false),
        ("traced", |file| &file.traced, false),
        ("dry_runs", |file| &file.dry_runs, true),
        ("unknown_sizes", |file| &file.unknown_sizes, false),
        ("stops", |file| &file.stops, true),
        ("terms", |file| &file.terms, false),
        ("emulated", |file| &file.emulated, true),
        ("kills", |file| &file.kills, true),
        ("ranks", |file| &file.ranks, false),
        ("pages", |file| &file.pages, false),
    ];
    for (list, rows, has_all) in lists {
        let mut missing = algorithms.clone();
        for trial in trials(rows) {
            let scenario = legal(list, &trial, &registry);
            let counters = &scenario.strategy().counters;
            assert!(
                trial.counters.iter().all(|name| counters.contains(&name.as_str())),
                "{trial:?}"
            );
            let resolved = scenario.resolved();
            let strategy = resolved.lines().find_map(|line| line.trim().strip_prefix("strategy: "));
            missing.remove(strategy.unwrap().trim_end_matches(['(', ',']));
        }
        assert!(!has_all || missing.is_empty(), "{list}: no row of {missing:?}");
    }
}

/// Rows of speeds name benches, scripts and cards that exist, and each has one name.
#[test]
fn every_row_of_speeds_can_be_measured() {
    let registry = folkmoot::shipped();
    let mut names = BTreeSet::new();
    for (folder, file) in folders() {
        let of_crate = root().join("sim/algorithms").join(&folder);
        let is_package =
            |name: &str| name.strip_prefix("folkmoot-").map(|name| name.replace('-', "_")) == Some(folder.clone());
        for speed in &file.speed {
            let row = &speed.row;
            assert!(names.insert(row.clone()), "two rows are called {row}");
            assert!(speed.about.ends_with('.'), "{row}: {}", speed.about);
            for event in &speed.events {
                assert!(!event.work.is_empty(), "{row}");
                legal(row, &trial(&folder, &file, event), &registry);
            }
            if let Some(Training {
                work,
                unit,
                bench: [package, bench],
                names,
                peer,
                modules,
            }) = &speed.training
            {
                let source = fs::read_to_string(of_crate.join("benches").join(format!("{bench}.rs"))).unwrap();
                let groups = source.split("benchmark_group(\"").skip(1);
                let groups: Vec<&str> = groups.filter_map(|rest| Some(rest.split_once('"')?.0)).collect();
                let is_bench = |name: &String| groups.iter().any(|group| name.starts_with(group));
                assert!(is_package(package) && names.iter().all(is_bench), "{row}");
                assert!(root().join(&peer[0]).is_file(), "{row}: {}", peer[0]);
                assert!(!work.is_empty() && unit.ends_with("/s") && !modules.is_empty(), "{row}");
            }
            if let Some(Clients {
                work,
                example: [package, example],
                numbers,
            }) = &speed.clients
            {
                let source = of_crate.join("examples").join(format!("{example}.rs"));
                assert!(is_package(package) && source.is_file(), "{row}");
                assert!(work.ends_with(" {n} clients") && !numbers.is_empty(), "{row}");
            }
            let forms = [
                speed.training.is_some(),
                !speed.events.is_empty(),
                speed.clients.is_some(),
            ];
            assert_eq!(forms.iter().filter(|has| **has).count(), 1, "{row}");
        }
    }
    assert!(names.contains("fedavg"), "{names:?}");
}

/// The record of result hashes has the cards that there are, and what shortens them names some of
/// them.
#[test]
fn every_card_has_a_recorded_hash() {
    for (folder, file) in folders() {
        let dir = root().join("scenarios").join(&folder);
        let cards = crate::support::files(&dir.join("cards")).into_keys();
        let cards: BTreeSet<String> = cards.map(|name| name.trim_end_matches(".ron").to_owned()).collect();
        let recorded = fs::read_to_string(dir.join("hashes.csv")).unwrap();
        let recorded = recorded.lines().skip(1).map(|line| line.split_once(',').unwrap());
        let recorded: BTreeSet<String> = recorded.map(|(card, _)| card.to_owned()).collect();
        assert_eq!(recorded, cards, "{folder}");
        for prefix in file.hashes.more.keys() {
            assert!(cards.iter().any(|card| card.starts_with(prefix)), "{folder}: {prefix}");
        }
        let register = folkmoot::CRATES
            .iter()
            .find(|register| folkmoot::registry(&[**register]).folders() == [folder.as_str()]);
        let registry = folkmoot::registry(&[*register.unwrap()]);
        let algorithms: BTreeSet<&str> = registry.strategies().parts().map(|part| part.name).collect();
        let named = file.hashes.short.keys().chain(file.hashes.graphs.keys());
        for name in named {
            assert!(algorithms.contains(name.as_str()), "{folder}: {name} of {algorithms:?}");
        }
    }
}
