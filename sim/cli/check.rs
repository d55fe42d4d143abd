//! `folkmoot check`: are these cards legal, the points of their sweeps, and the files of data that
//! they name?

use crate::args::CheckArgs;
use crate::context::{self, Program};
use crate::exit::Exit;
use crate::output::{print, warn};
use crate::text;
use folkmoot_graphs::{DataDirs, DataError};
use folkmoot_scenarios::run::{Failure, load_data};
use folkmoot_scenarios::scenario::{self, Scenario};
use folkmoot_scenarios::sweep::plan;
use std::collections::BTreeSet;

/// Arms of a sweep whose data sets are read.
const MOST_ARMS: usize = 1_000;

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
    let plan = plan(&scenario, context::VERSION, &program.registry)?;
    let n_points = plan.points.len();
    let dirs = context::card_dirs(&args.data, card);
    let mut read = BTreeSet::new();
    let n_seeds = plan.manifest.seeds.len().max(1);
    for point in (0..n_points).step_by(n_seeds).take(MOST_ARMS) {
        let scenario = plan.scenario(point)?;
        if !scenario.dataset().is_generated() && read.insert(scenario.dataset_text().to_owned()) {
            check_data(card, &scenario, &dirs)?;
        }
    }
    for doubt in &plan.lints {
        warn(&format!("warning: {card}: {doubt}"));
    }
    for note in &plan.notes {
        warn(&format!("note: {card}: {note}"));
    }
    Ok(format!("{card}: OK; {}", size(&scenario, plan.points.len())))
}

/// The runs of a card: one, or those of its sweep.
fn size(scenario: &Scenario, n_points: usize) -> String {
    let seeds = text::counted(scenario.seeds().len(), "seed");
    match scenario.source().value("sweep") {
        Some(_) => format!("its sweep has {}", text::counted(n_points, "run")),
        None => format!("one run; a sweep of it has {seeds}"),
    }
}

/// Reads a data set, if its files are there, and prints the notes of its reader.
fn check_data(card: &str, scenario: &Scenario, dirs: &DataDirs) -> Result<(), Exit> {
    match load_data(scenario, dirs) {
        Ok(dataset) => {
            for note in &dataset.notes {
                warn(&format!("note: {card}: {}: {note}", dataset.name));
            }
            Ok(())
        }
        Err(Failure::Data(DataError::Missing { what, .. })) => {
            warn(&format!(
                "note: {card}: {} was not found, so the data are not checked",
                what.display()
            ));
            Ok(())
        }
        Err(failure) => Err(Exit::usage(format!("error: {card}: {failure}"))),
    }
}
