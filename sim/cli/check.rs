//! `folkmoot check`: are these cards legal, the points of their sweeps and the files that they name,
//! and can their runs begin?

use crate::args::CheckArgs;
use crate::begin::begin;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, warn};
use crate::text;
use folkmoot_graphs::{DataDirs, DataError};
use folkmoot_scenarios::run::{Cache, Failure, load, load_data};
use folkmoot_scenarios::scenario::{self, Scenario};
use folkmoot_scenarios::sweep::plan;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Configurations of a sweep that are checked, some more apart: a few seconds' worth.
const MOST_CONFIGURATIONS: usize = 2_000;

/// Arms of a sweep whose data sets are read.
const MOST_ARMS: usize = 1_000;

/// Generated nodes that are made: they take less than a second.
const MOST_GENERATED: u64 = 50_000;

/// Nodes with which the run of every arm begins: it takes some milliseconds.
const FEW_NODES: u64 = 1_000;

pub(crate) fn check(program: &Program, args: &CheckArgs) -> Result<(), Exit> {
    let mut bad: Option<Exit> = None;
    for card in &args.cards {
        match check_one(program, card, args) {
            Ok(line) => print(&line)?,
            Err(exit) => {
                bad = Some(match bad {
                    None => exit,
                    Some(earlier) => earlier.and(exit),
                })
            }
        }
    }
    bad.map_or(Ok(()), Err)
}

fn check_one(program: &Program, card: &str, args: &CheckArgs) -> Result<String, Exit> {
    let (name, source) = context::source(program, card, &args.set, None)?;
    let scenario = scenario::check(&name, &source, &program.registry)
        .map_err(|problems| context::with_paths(program, problems, card, &args.set))?;
    let plan = plan(&scenario, context::VERSION, &program.registry, MOST_CONFIGURATIONS)?;
    let n_points = plan.points.len();
    let dirs = data_dirs::for_card(&args.data, card);
    let (mut read, mut begun, cache) = (BTreeMap::new(), BTreeSet::new(), Cache::default());
    let mut noted = BTreeSet::new();
    let (python, lacks_package) = (context::interpreter(args.python.as_ref()), OnceCell::new());
    let n_seeds = plan.manifest.seeds.len().max(1);
    for point in (0..n_points).step_by(n_seeds).take(MOST_ARMS) {
        let scenario = plan.scenario(point)?;
        let (data, dataset) = (scenario.dataset_text().to_owned(), scenario.dataset());
        let n_nodes = match (dataset.is_generated(), read.get(&data)) {
            (true, _) => dataset.n_generated().filter(|n| *n <= MOST_GENERATED),
            (false, Some(n_nodes)) => *n_nodes,
            (false, None) => *read.entry(data.clone()).or_insert(check_data(card, &scenario, &dirs)?),
        };
        let Some(n_nodes) = n_nodes else { continue };
        // Of larger data, an algorithm begins once for all its settings.
        let strategy = match n_nodes <= FEW_NODES {
            true => scenario.strategy_text(),
            false => scenario.strategy().name,
        };
        if !begun.insert((data, scenario.partition_text().to_owned(), strategy.to_owned())) {
            continue;
        }
        let calls_module = || {
            let has_programs = !scenario.strategy().about.programs.is_empty();
            let loaded = || load(&scenario, &dirs, &cache, &mut ());
            has_programs && loaded().is_ok_and(|loaded| loaded.files.programs.is_empty())
        };
        noted.extend(
            match calls_module() && *lacks_package.get_or_init(|| lacks_package_in(&python)) {
                true => Some(format!(
                    "note: {card}: {} has no package folkmoot, so the module that the card names is not checked",
                    python.display()
                )),
                false => check_beginning(card, &scenario, &dirs, &cache, python.clone())?,
            },
        );
    }
    noted.iter().for_each(|note| warn(note));
    for doubt in &plan.lints {
        warn(&format!("warning: {card}: {doubt}"));
    }
    for note in &plan.notes {
        warn(&format!("note: {card}: {note}"));
    }
    let checked = match plan.checked {
        (checked, all) if checked < all => format!(
            "; {} of its {} were checked, and the sweep will check all",
            text::count(checked as u64),
            text::counted(all, "configuration")
        ),
        _ => String::new(),
    };
    Ok(format!("{card}: OK; {}{checked}", size(&scenario, plan.points.len())))
}

/// The runs of a card: one, or those of its sweep.
fn size(scenario: &Scenario, n_points: usize) -> String {
    let seeds = text::counted(scenario.seeds().len(), "seed");
    match scenario.source().value("sweep") {
        Some(_) => format!("its sweep has {}", text::counted(n_points, "run")),
        None => format!("one run; a sweep of it has {seeds}"),
    }
}

/// Whether an interpreter cannot even start a worker: then nothing is known of an installed module.
/// For a file of the user's own that is an error.
fn lacks_package_in(python: &Path) -> bool {
    let tried = Command::new(python).args(["-c", "import folkmoot.worker"]).output();
    !tried.is_ok_and(|tried| tried.status.success())
}

/// Begins a run of a point. A note, if what it needs is not there.
fn check_beginning(
    card: &str,
    scenario: &Scenario,
    dirs: &DataDirs,
    cache: &Cache,
    python: PathBuf,
) -> Result<Option<String>, Exit> {
    match begin(scenario, dirs, cache, python) {
        Ok(()) => Ok(None),
        Err(Failure::Data(DataError::Missing { what, .. })) => Ok(Some(format!(
            "note: {card}: {} was not found, so it is not checked",
            what.display()
        ))),
        Err(failure) => Err(Exit::usage(format!("error: {card}: {failure}"))),
    }
}

/// Reads a data set, and prints the notes of its reader. Its number of nodes, if its files are
/// there.
fn check_data(card: &str, scenario: &Scenario, dirs: &DataDirs) -> Result<Option<u64>, Exit> {
    match load_data(scenario, dirs) {
        Ok(dataset) => {
            for note in &dataset.notes {
                warn(&format!("note: {card}: {}: {note}", dataset.name));
            }
            Ok(Some(dataset.n_nodes() as u64))
        }
        Err(Failure::Data(DataError::Missing { what, .. })) => {
            warn(&format!(
                "note: {card}: {} was not found, so the data are not checked",
                what.display()
            ));
            Ok(None)
        }
        Err(failure) => Err(Exit::usage(format!("error: {card}: {failure}"))),
    }
}
