//! `folkmoot check`: are these cards legal, and the points of their sweeps?

use crate::args::CheckArgs;
use crate::context::{self, Program};
use crate::exit::Exit;
use crate::output::{print, warn};
use crate::text;
use folkmoot_scenarios::scenario::{self, Scenario};
use folkmoot_scenarios::sweep::plan;

pub(crate) fn check(program: &Program, args: &CheckArgs) -> Result<(), Exit> {
    let mut bad: Option<Exit> = None;
    for card in &args.cards {
        match check_one(program, card, &args.set) {
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

fn check_one(program: &Program, card: &str, settings: &[String]) -> Result<String, Exit> {
    let (name, source) = context::source(program, card, settings, None)?;
    let scenario = scenario::check(&name, &source, &program.registry)?;
    for doubt in scenario.doubts() {
        warn(&format!("warning: {card}: {doubt}"));
    }
    let plan = plan(&scenario, context::VERSION, &program.registry)?;
    for doubt in &plan.doubts {
        warn(&format!("warning: {card}: {doubt}"));
    }
    for note in &plan.notes {
        warn(&format!("note: {card}: {note}"));
    }
    Ok(format!("{card}: right; {}", size(&scenario, plan.points.len())))
}

/// The runs of a card: one, or those of its sweep.
fn size(scenario: &Scenario, n_points: usize) -> String {
    let seeds = text::counted(scenario.seeds().len(), "seed");
    match scenario.source().value("sweep") {
        Some(_) => format!("its sweep has {}", text::counted(n_points, "point")),
        None => format!("it runs once; a sweep of it has {seeds}"),
    }
}
