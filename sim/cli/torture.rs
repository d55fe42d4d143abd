//! `folkmoot torture`: random legal cards over every component of the program, each run in many
//! ways that must come to the same bytes, with faults at random instants.
//!
//! A seed draws one world: the card, the ways to run it, and the faults. A card that breaks a
//! promise is made smaller while it breaks the same one. The command is for developers, and hidden.

mod child;
mod contracts;
mod corpus;
mod coverage;
mod draw;
mod drawn;
mod ledger;
mod legal;
mod shrink;
mod world;

use crate::args::TortureArgs;
use crate::context::{self, Program, quoted};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use child::{Place, now};
use coverage::Coverage;
use draw::{Grammar, Wanted};
use drawn::Drawn;
use folkmoot_draws::{Purpose, SimRng, Streams};
use legal::{Judge, Tally};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use world::{End, Fault, folder, refuse, torment};

/// So many reasons of refusals are listed.
const MOST_LISTED: usize = 12;

/// What all worlds have come to.
#[derive(Default)]
struct Counts {
    done: usize,
    fails: BTreeMap<String, usize>,
    slow: BTreeMap<u64, String>,
    faults: Vec<(u64, Fault)>,
    undrawn: usize,
    tally: Tally,
    ways: BTreeMap<String, usize>,
    /// The promises that were broken, of which a card has been made smaller.
    shrunk: BTreeSet<String>,
}

pub(crate) fn torture(program: &Program, args: &TortureArgs) -> Result<(), Exit> {
    let work = tempfile::Builder::new().prefix("folkmoot-torture-").tempdir();
    let work = work.map_err(|error| Exit::usage(format!("error: no temporary folder can be made: {error}")))?;
    let place = place(args, work.path())?;
    let mut counts = Counts::default();
    if let Some(card) = &args.card {
        return one_card(args, &place, card, &mut counts);
    }
    let registry = &program.registry;
    let cards = args.cards.as_deref().map_or(Ok(Vec::new()), cards)?;
    let mut grammar = Grammar::of(registry, &cards);
    let judge = Judge {
        registry,
        dirs: data_dirs::from_args(&args.data),
        python: context::interpreter(None),
        fits: RefCell::default(),
    };
    grammar.leave_out(|field, component| judge.size(field, component));
    let pairs = grammar.pairs();
    let mut coverage = Coverage::new(&grammar);
    let started = now();
    let span = Duration::from_secs_f64(60.0 * args.minutes.unwrap_or(0.0).clamp(0.0, 1e6));
    let first = args.seed.unwrap_or(1);
    let mut n = 0;
    while n < args.worlds.unwrap_or(u64::MAX) && (n == 0 || args.worlds.is_some() || started.elapsed() < span) {
        let seed = first.wrapping_add(n);
        n += 1;
        let place = Place {
            dir: folder(work.path(), seed),
            ..place.clone()
        };
        one_world(
            (seed, &pairs),
            (&grammar, &judge),
            &place,
            &mut counts,
            &mut coverage,
            &program.name,
        )?;
        let _ = fs::remove_dir_all(&place.dir);
    }
    print(&report(&counts, &coverage, n, started.elapsed()))?;
    match counts.faults.is_empty() {
        true => Ok(()),
        false => Err(Exit::failed(format!(
            "error: {} of {n} worlds broke a promise",
            counts.faults.len()
        ))),
    }
}

/// The texts of the cards in a folder, by their names.
fn cards(dir: &Path) -> Result<Vec<String>, Exit> {
    let all = || -> std::io::Result<Vec<String>> {
        let mut paths = fs::read_dir(dir)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        let cards = paths
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "ron"));
        cards.map(fs::read_to_string).collect()
    };
    all().map_err(|error| Exit::usage(format!("error: {}: {error}", dir.display())))
}

fn place(args: &TortureArgs, work: &Path) -> Result<Place, Exit> {
    let program = std::env::current_exe();
    let data = args
        .data
        .data
        .clone()
        .or_else(|| std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from));
    let data = data.map(std::path::absolute).transpose();
    let (Ok(program), Ok(data)) = (program, data) else {
        return Err(Exit::usage("error: the path of this program cannot be found out"));
    };
    Ok(Place {
        program,
        dir: work.join("card"),
        data,
        limit: Duration::from_secs(u64::from(args.limit)),
    })
}

/// The streams of a seed: its card, and the ways to run it.
fn stream(seed: u64, purpose: &[u8; 8]) -> SimRng {
    Streams::new(seed).global(Purpose(*purpose))
}

/// Runs a card that was kept, and fails if it breaks a promise.
fn one_card(args: &TortureArgs, place: &Place, card: &Path, counts: &mut Counts) -> Result<(), Exit> {
    let text = fs::read_to_string(card).map_err(|error| Exit::usage(format!("error: {}: {error}", card.display())))?;
    let seed = args.seed.unwrap_or(1);
    match torment(place, &text, &mut stream(seed, b"ways    "), &mut counts.ways) {
        End::Done => print(&format!("{}: every promise holds", card.display())),
        End::Fails(why) => print(&format!("{}: every run fails alike: {why}", card.display())),
        End::Slow(how) => print(&format!(
            "{}: stopped at the limit of time or memory: {how}",
            card.display()
        )),
        End::Fault(fault) => Err(Exit::failed(format!(
            "error: {}: {}\n  {}",
            card.display(),
            fault.check,
            fault.detail
        ))),
    }
}

/// The components that the card of a seed is to have: seeds one after another have pairs that are
/// far from each other, and each pair once.
fn wanted<'a>(pairs: &[[Wanted<'a>; 2]], seed: u64) -> Vec<Wanted<'a>> {
    const STRIDE: u64 = 7_919;
    let Some(n) = u64::try_from(pairs.len()).ok().filter(|n| *n > 0) else {
        return Vec::new();
    };
    // A prime step comes to every pair but for a number of pairs that it divides.
    let step = if n.is_multiple_of(STRIDE) { 1 } else { STRIDE };
    pairs[((seed % n) * step % n) as usize].to_vec()
}

fn one_world(
    (seed, pairs): (u64, &[[Wanted<'_>; 2]]),
    drawing: (&Grammar<'_>, &Judge<'_>),
    place: &Place,
    counts: &mut Counts,
    coverage: &mut Coverage,
    name: &str,
) -> Result<(), Exit> {
    let mut rng = stream(seed, b"card    ");
    if let Some((component, fault)) = contracts::broken(drawing.0, &mut stream(seed, b"contract")) {
        told(seed, &fault, &format!("component: {component}"), name)?;
        counts.faults.push((seed, fault));
    }
    let wanted = wanted(pairs, seed);
    let (card, refused) = legal::draw(drawing, &mut rng, &wanted, &mut counts.tally);
    if let Some(refused) = refused
        && let Err(fault) = refuse(place, &refused)
    {
        told(seed, &fault, &of_card(seed, &refused, name), name)?;
        counts.faults.push((seed, fault));
    }
    let Some(card) = card else {
        counts.undrawn += 1;
        return Ok(());
    };
    coverage.add(&card);
    let ways = || stream(seed, b"ways    ");
    match torment(place, &card.to_string(), &mut ways(), &mut counts.ways) {
        End::Done => counts.done += 1,
        End::Fails(why) => *counts.fails.entry(masked(&why)).or_default() += 1,
        End::Slow(how) => {
            counts.slow.insert(seed, how);
        }
        End::Fault(fault) => {
            let again = |card: &Drawn| match torment(place, &card.to_string(), &mut ways(), &mut BTreeMap::new()) {
                End::Fault(found) if found.check == fault.check => Some(found),
                _ => None,
            };
            let is_legal = |card: &Drawn| matches!(drawing.1.judge(&card.to_string()), legal::Verdict::Legal);
            // One small card of each kind of fault is enough.
            let (card, fault) = match counts.shrunk.insert(fault.check.clone()) {
                true => shrink::smallest(&card, &fault, &is_legal, &again),
                false => (card, fault),
            };
            told(seed, &fault, &of_card(seed, &card.to_string(), name), name)?;
            counts.faults.push((seed, fault));
        }
    }
    Ok(())
}

/// The command that shows the fault of a card again.
fn of_card(seed: u64, card: &str, name: &str) -> String {
    format!(
        "echo {} > card.ron; {name} torture --seed {seed} --card card.ron",
        quoted(card)
    )
}

/// Prints a fault, the command of its world, and what shows it with the least.
fn told(seed: u64, fault: &Fault, least: &str, name: &str) -> Result<(), Exit> {
    let detail: String = fault.detail.chars().take(1500).collect();
    let detail = detail.trim().replace('\n', "\n  ");
    print(&format!(
        "seed {seed}: {}\n  {detail}\n  {name} torture --seed {seed}\n  {least}\n",
        fault.check
    ))
}

/// A message without its numbers, so that those of many worlds can be counted.
fn masked(message: &str) -> String {
    let mut masked = String::new();
    for c in message.chars() {
        match c.is_ascii_digit() || c == '.' {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(c),
        }
    }
    masked
}

fn report(counts: &Counts, coverage: &Coverage, n: u64, took: Duration) -> String {
    let mut text = format!(
        "{n} worlds in {:.0} s: {} done, {} with a fault",
        took.as_secs_f64(),
        counts.done,
        counts.faults.len()
    );
    let fails: usize = counts.fails.values().sum();
    text += &format!(
        ", {fails} fail alike, {} stopped at the limit, {} not drawn\n",
        counts.slow.len(),
        counts.undrawn
    );
    let Tally {
        drawn,
        legal_as_drawn,
        legal,
        why,
    } = &counts.tally;
    text += &format!("cards: {drawn} drawn, {legal_as_drawn} of them legal, {legal} when problems are left out\n");
    let mut why: Vec<(&String, &usize)> = why.iter().collect();
    why.sort_by_key(|(why, n)| (usize::MAX - **n, *why));
    for (why, n) in why.into_iter().take(MOST_LISTED) {
        text += &format!("refused, {n}: {why}\n");
    }
    let ways: Vec<String> = counts.ways.iter().map(|(way, n)| format!("{way} {n}")).collect();
    text += &format!("ways: {}\n", ways.join(", "));
    for (why, n) in &counts.fails {
        text += &format!("fails alike, {n}: {why}\n");
    }
    for (seed, how) in &counts.slow {
        text += &format!("stopped, seed {seed}: {how}\n");
    }
    text + &coverage.report()
}
