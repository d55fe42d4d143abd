//! `folkmoot compare`: in what two runs differ: what was asked, then the first event if they were traced, then the first number.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::{RunDir, trace};
use folkmoot_scenarios::text::{Source, differences};

/// So many fields of the scenarios are shown.
const MOST: usize = 20;

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Exit> {
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

/// The fields in which two resolved cards differ, and what each says.
pub(crate) fn differences_of(a: &str, b: &str) -> Vec<(String, Option<String>, Option<String>)> {
    // An older version may have written a card that this one cannot read; then the results have to do.
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
