//! `folkmoot compare`: in what two runs differ: what was asked, then the first event if they were
//! traced, then the first number. Of two sweeps the differences of their metrics, configuration by
//! configuration.

use crate::args::CompareArgs;
use crate::context::Program;
use crate::exit::Exit;
use crate::output::print;
use crate::sweep_table;
use folkmoot_metrics::run_dir::SCENARIO;
use folkmoot_metrics::sweep_dir::{POINTS_DIR, SWEEP};
use folkmoot_metrics::words::counted;
use folkmoot_metrics::{RunDir, SweepDir, trace};
use folkmoot_scenarios::text::{Source, differences};
use std::path::Path;

/// So many fields of the scenarios are shown.
const MOST: usize = 20;

pub(crate) fn compare(program: &Program, args: &CompareArgs) -> Result<(), Exit> {
    let sweeps = [&args.a, &args.b].map(|dir| dir.join(SWEEP).is_file());
    if sweeps == [true, true] {
        return compare_sweeps(program, args);
    }
    if let Some(at) = sweeps.iter().position(|is_sweep| *is_sweep) {
        let (sweep, run) = if at == 0 {
            (&args.a, &args.b)
        } else {
            (&args.b, &args.a)
        };
        return Err(Exit::usage(format!(
            "error: {} is a sweep and {} is not\nhelp: give two sweeps, or two runs, such as one below {}",
            sweep.display(),
            run.display(),
            sweep.join(POINTS_DIR).display()
        )));
    }
    let found = folkmoot_metrics::compare::compare(&args.a, &args.b)?;
    let [a, b] = [RunDir::open(&args.a)?.scenario, RunDir::open(&args.b)?.scenario];
    let mut lines = other_scenario(&a, &b);
    let event = trace::first_difference(&args.a, &args.b)?;
    match (found, lines.is_empty()) {
        (None, true) => lines.push("no difference".to_owned()),
        (None, false) => lines.insert(0, "no difference in the results, but in what was run:".to_owned()),
        (Some(difference), _) => {
            lines.extend(event);
            lines.push(difference.to_string());
            print(&lines.join("\n"))?;
            return Err(Exit::failed(""));
        }
    }
    // Traces that differ in nothing that has become a number.
    lines.extend(event);
    print(&lines.join("\n"))
}

/// The second sweep's metrics against the first one's, for each configuration that both have.
fn compare_sweeps(program: &Program, args: &CompareArgs) -> Result<(), Exit> {
    let [a, b] = [SweepDir::open(&args.a)?, SweepDir::open(&args.b)?];
    let names = [&args.a, &args.b].map(|dir| dir.to_string_lossy().into_owned());
    if names[0] == names[1] {
        return print("no difference: it is the same sweep");
    }
    let beside = a.beside(&b, names.each_ref().map(String::as_str));
    let beside = beside.map_err(|why| Exit::usage(format!("error: {why}")))?;
    let card = |dir: &Path| std::fs::read_to_string(dir.join(SCENARIO)).unwrap_or_default();
    let mut lines = other_scenario(&card(&args.a), &card(&args.b));
    for (at, values) in beside.alone.iter().take(MOST) {
        lines.push(format!("only in {}: {}", names[*at], values.join(", ")));
    }
    let more = beside.alone.len().saturating_sub(MOST);
    lines.extend((more > 0).then(|| format!("and {} in one sweep only", counted(more, "more configuration"))));
    for (at, name) in names.iter().enumerate() {
        let own = beside.seeds.iter().filter(|(sweep, _)| *sweep == at);
        let seeds: Vec<String> = own.map(|(_, seed)| seed.to_string()).collect();
        lines.extend((!seeds.is_empty()).then(|| format!("seeds only in {name}: {}", seeds.join(", "))));
    }
    let n = beside.both.points.len() / 2;
    if beside.n_same == n {
        lines.push(format!(
            "no difference in the metrics of {} that both sweeps have",
            counted(n, "run")
        ));
        return print(&lines.join("\n"));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(sweep_table::describe(&program.name, &beside.both));
    print(&lines.join("\n"))?;
    Err(Exit::failed(""))
}

/// The fields in which two resolved cards differ, and what each says.
pub(crate) fn differences_of(a: &str, b: &str) -> Vec<(String, Option<String>, Option<String>)> {
    // An older version may have written a card that this one cannot read; then the results have to
    // do.
    match (Source::new("a", a), Source::new("b", b)) {
        (Ok(a), Ok(b)) => differences(&a, &b),
        _ => Vec::new(),
    }
}

/// The same, a line each.
fn other_scenario(a: &str, b: &str) -> Vec<String> {
    let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
    let all = differences_of(a, b);
    let n_more = all.len().saturating_sub(MOST);
    let shown = all.into_iter().take(MOST);
    let lines = shown.map(|(path, a, b)| format!("scenario.ron: {path}: {} against {}", text(a), text(b)));
    let more = (n_more > 0).then(|| format!("scenario.ron: and {n_more} more"));
    lines.chain(more).collect()
}
