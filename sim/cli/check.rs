//! `folkmoot check`: are these cards legal, the points of their sweeps, the files of data and
//! programs that they name, and the shares of clients?

use crate::args::CheckArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, warn};
use crate::text;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::{DataDirs, DataError};
use folkmoot_scenarios::algorithm::Machine;
use folkmoot_scenarios::run::{Cache, Failure, load, load_data};
use folkmoot_scenarios::scenario::{self, Scenario};
use folkmoot_scenarios::sweep::plan;
use std::collections::{BTreeMap, BTreeSet};

/// Configurations of a sweep that are checked, some more apart: a few seconds' worth.
const MOST_CONFIGURATIONS: usize = 2_000;

/// Arms of a sweep whose data sets are read.
const MOST_ARMS: usize = 1_000;

/// Generated nodes that are shared out: they take less than a second.
const MOST_GENERATED: u64 = 50_000;

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
    let (mut read, mut shared, cache) = (BTreeMap::new(), BTreeSet::new(), Cache::default());
    let n_seeds = plan.manifest.seeds.len().max(1);
    for point in (0..n_points).step_by(n_seeds).take(MOST_ARMS) {
        let scenario = plan.scenario(point)?;
        let (data, partition) = (scenario.dataset_text().to_owned(), scenario.partition_text().to_owned());
        let programs = match scenario.strategy().about.programs.is_empty() {
            true => String::new(),
            false => scenario.strategy_text().to_owned(),
        };
        let dataset = scenario.dataset();
        let is_there = match dataset.is_generated() {
            true => dataset.n_generated().is_some_and(|n| n <= MOST_GENERATED),
            false => match read.get(&data) {
                Some(is_there) => *is_there,
                None => *read.entry(data.clone()).or_insert(check_data(card, &scenario, &dirs)?),
            },
        };
        if is_there && shared.insert((data, partition, programs)) {
            check_shares(card, &scenario, &dirs, &cache, args)?;
        }
    }
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

/// Shares the data out among clients, and makes the world around them. A file with the user's own
/// program is imported, too.
fn check_shares(card: &str, scenario: &Scenario, dirs: &DataDirs, cache: &Cache, args: &CheckArgs) -> Result<(), Exit> {
    match load(scenario, dirs, cache, &mut ()) {
        Ok(loaded) if loaded.files.programs.is_empty() => Ok(()),
        Ok(loaded) => {
            let loaded = loaded.on(Machine {
                python: context::interpreter(args.python.as_ref()),
                ..Machine::plain()
            });
            let suits = scenario.strategy().suits(&loaded.source(scenario.seed()));
            suits.map_err(|StrategyError(why)| Exit::usage(format!("error: {card}: {why}")))
        }
        Err(Failure::Data(DataError::Missing { what, .. })) => {
            warn(&format!(
                "note: {card}: {} was not found, so it is not checked",
                what.display()
            ));
            Ok(())
        }
        Err(failure) => Err(Exit::usage(format!("error: {card}: {failure}"))),
    }
}

/// Reads a data set, if its files are there, and prints the notes of its reader. Whether they are.
fn check_data(card: &str, scenario: &Scenario, dirs: &DataDirs) -> Result<bool, Exit> {
    match load_data(scenario, dirs) {
        Ok(dataset) => {
            for note in &dataset.notes {
                warn(&format!("note: {card}: {}: {note}", dataset.name));
            }
            Ok(true)
        }
        Err(Failure::Data(DataError::Missing { what, .. })) => {
            warn(&format!(
                "note: {card}: {} was not found, so the data are not checked",
                what.display()
            ));
            Ok(false)
        }
        Err(failure) => Err(Exit::usage(format!("error: {card}: {failure}"))),
    }
}
