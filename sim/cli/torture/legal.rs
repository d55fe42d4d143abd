//! Cards that can be run: what a draw breaks is left out until nothing is broken.

use super::draw::{Fits, Grammar, Wanted};
use super::drawn::Drawn;
use super::masked;
use crate::begin::begin;
use folkmoot_draws::{SimRng, index};
use folkmoot_engine::prelude::RunError;
use folkmoot_graphs::{DataDirs, DataError};
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::run::{Cache, Failure, load};
use folkmoot_scenarios::scenario;
use folkmoot_scenarios::text::{Problems, Source};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// So often is something left out of one draw.
const MOST_REPAIRS: usize = 12;
/// So many cards are drawn for one world.
const MOST_DRAWS: usize = 60;
/// Larger generated data are not for a run of a second.
const MOST_NODES: u64 = 5_000;

/// What a card is worth.
pub(super) enum Verdict {
    Legal,
    /// Refused, with the path of the first problem, if it has one, and the rule.
    Refused(Option<String>, String),
    /// The data, or the interpreter of a program, are not on this machine, or the data are too many.
    Unfit,
}

/// Where cards are judged.
pub(super) struct Judge<'a> {
    pub(super) registry: &'a Registry,
    pub(super) dirs: DataDirs,
    pub(super) python: PathBuf,
    pub(super) fits: RefCell<BTreeMap<&'static str, Rc<Fits>>>,
}

impl Judge<'_> {
    /// Whether a run of the card begins.
    pub(super) fn judge(&self, card: &str) -> Verdict {
        let refused = |path: &str, why: String| Verdict::Refused((!path.is_empty()).then(|| path.to_owned()), why);
        let first = |problems: &Problems| {
            let items = problems.items();
            let first = items
                .first()
                .map(|problem| (problem.path.as_str(), problem.message.clone()));
            let (path, why) = first.unwrap_or_default();
            refused(path, why)
        };
        let scenario =
            match Source::new("card", card).and_then(|source| scenario::check("card", &source, self.registry)) {
                Ok(scenario) => scenario,
                Err(problems) => return first(&problems),
            };
        if scenario.dataset().n_generated().is_some_and(|n| n > MOST_NODES) {
            return Verdict::Unfit;
        }
        match begin(&scenario, &self.dirs, &Cache::default(), self.python.clone()) {
            Ok(()) => Verdict::Legal,
            Err(Failure::Data(DataError::Missing { .. })) => Verdict::Unfit,
            Err(Failure::Card(problems)) => first(&problems),
            Err(Failure::Data(why)) => refused("dataset", why.to_string()),
            Err(Failure::Partition(why)) => refused("partition", why.to_string()),
            Err(Failure::Run(RunError::Setup { error, .. })) => refused("", error.to_string()),
            Err(_) => Verdict::Unfit,
        }
    }
}

impl Judge<'_> {
    /// The number of nodes in data with a component of a card's field, if this machine has what it
    /// needs.
    pub(super) fn size(&self, field: &str, component: &Drawn) -> Option<u64> {
        let strategy = self.registry.strategies().parts().next().map_or("", |part| part.name);
        let card = match field {
            "dataset" => format!("(dataset: {component}, strategy: {strategy})"),
            "strategy" => format!("(dataset: Karate, strategy: {component})"),
            _ => format!("(dataset: Karate, strategy: {strategy}, {field}: {component})"),
        };
        let scenario = Source::new("card", &card).and_then(|source| scenario::check("card", &source, self.registry));
        let scenario = scenario.ok()?;
        if scenario.dataset().n_generated().is_some_and(|n| n > MOST_NODES) {
            return None;
        }
        match load(&scenario, &self.dirs, &Cache::default(), &mut ()) {
            Ok(loaded) => Some(loaded.dataset.n_nodes() as u64).filter(|n| *n <= MOST_NODES),
            Err(Failure::Data(_)) => None,
            // Another data set may suit it.
            Err(_) => Some(0),
        }
    }

    /// The data sets and partitions that an algorithm takes, found once.
    fn fits(&self, grammar: &Grammar<'_>, strategy: &'static str) -> Rc<Fits> {
        let is_legal = |card: &Drawn| matches!(self.judge(&card.to_string()), Verdict::Legal);
        let mut known = self.fits.borrow_mut();
        let found = known.entry(strategy);
        Rc::clone(found.or_insert_with(|| Rc::new(grammar.fits(strategy, is_legal))))
    }
}

/// How many cards were drawn of data that are there, and what became of them.
#[derive(Clone, Default)]
pub(super) struct Tally {
    /// Why cards were refused as they were drawn.
    pub(super) why: BTreeMap<String, usize>,
    pub(super) drawn: usize,
    pub(super) legal_as_drawn: usize,
    pub(super) legal: usize,
}

/// A card that is legal, and one that was refused on the way, if any.
pub(super) fn draw(
    (grammar, judge): (&Grammar<'_>, &Judge<'_>),
    rng: &mut SimRng,
    wanted: &[Wanted<'_>],
    tally: &mut Tally,
) -> (Option<Drawn>, Option<String>) {
    let mut refused = None;
    for n in 0..MOST_DRAWS {
        // What goes together with nothing is given up in the end.
        let wanted = &wanted[..wanted.len() - wanted.len() * n / MOST_DRAWS];
        let strategy = grammar.algorithm(rng, wanted);
        let mut card = grammar.draw(rng, wanted, (strategy, &judge.fits(grammar, strategy)));
        for repairs in 0..=MOST_REPAIRS {
            let verdict = judge.judge(&card.to_string());
            tally.drawn += usize::from(repairs == 0 && !matches!(verdict, Verdict::Unfit));
            match verdict {
                Verdict::Legal => {
                    tally.legal += 1;
                    tally.legal_as_drawn += usize::from(repairs == 0);
                    return (Some(card), refused);
                }
                Verdict::Unfit => break,
                Verdict::Refused(path, why) => {
                    if repairs == 0 {
                        let why = masked(&format!("{}: {why}", path.as_deref().unwrap_or_default()));
                        *tally.why.entry(why).or_default() += 1;
                    }
                    refused.get_or_insert_with(|| card.to_string());
                    if !mend(&mut card, path.as_deref(), rng) {
                        break;
                    }
                }
            }
        }
    }
    (None, refused)
}

/// Leaves out the value at the path; without one, a random value of the algorithm. False if nothing
/// can be left out.
fn mend(card: &mut Drawn, path: Option<&str>, rng: &mut SimRng) -> bool {
    if let Some(path) = path {
        let path: Vec<&str> = path.split('.').collect();
        let needed = ["dataset", "strategy"];
        return card.leave_out(&path) && needed.iter().all(|field| card.field(field).is_some());
    }
    let n = card.field("strategy").map_or(0, Drawn::len);
    if n == 0 {
        return false;
    }
    let before = card.len();
    let at = (0..before).find(|at| card.without(*at).field("strategy").is_none());
    let Some(at) = at else { return false };
    *card = card.without(at + 1 + index(rng, n));
    true
}
