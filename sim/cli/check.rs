//! `folkmoot check`: are these cards legal, and the points of their sweeps?

use crate::args::CheckArgs;
use crate::context;
use crate::exit::Exit;
use crate::output::print;
use crate::text;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::scenario;
use folkmoot_scenarios::sweep::plan;

pub(crate) fn check(args: &CheckArgs) -> Result<(), Exit> {
    let registry = Registry::shipped();
    let mut bad: Option<Exit> = None;
    for card in &args.cards {
        match check_one(card, &args.set, &registry) {
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

fn check_one(card: &str, settings: &[String], registry: &Registry) -> Result<String, Exit> {
    let (name, source) = context::source(card, settings, None)?;
    let scenario = scenario::check(&name, &source, registry)?;
    let points = plan(&scenario, context::VERSION, registry)?.points.len();
    Ok(format!(
        "{card}: right; its sweep has {}",
        text::counted(points, "point")
    ))
}
