//! `folkmoot compare`: in what two runs differ, what was asked first and then the first number.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::RunDir;
use folkmoot_scenarios::text::{Source, differences};

/// So many fields of the scenarios are shown.
const MOST: usize = 20;

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Exit> {
    let found = folkmoot_metrics::compare::compare(&args.a, &args.b)?;
    let [a, b] = [RunDir::open(&args.a)?.scenario, RunDir::open(&args.b)?.scenario];
    let asked = other_scenario(&a, &b);
    match (found, asked.is_empty()) {
        (None, true) => print("no difference"),
        (None, false) => print(&format!(
            "no difference in the results, but in what was run:\n{}",
            asked.join("\n")
        )),
        (Some(difference), _) => {
            let lines = asked.into_iter().chain([difference.to_string()]);
            print(&lines.collect::<Vec<_>>().join("\n"))?;
            Err(Exit::failed(""))
        }
    }
}

/// The fields in which two resolved cards differ, a line each.
fn other_scenario(a: &str, b: &str) -> Vec<String> {
    // An older version may have written a card that this one cannot read; then the results have to do.
    let (Ok(a), Ok(b)) = (Source::new("a", a), Source::new("b", b)) else {
        return Vec::new();
    };
    let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
    let all = differences(&a, &b);
    let n_more = all.len().saturating_sub(MOST);
    let shown = all.into_iter().take(MOST);
    let lines = shown.map(|(path, a, b)| format!("scenario.ron: {path}: {} against {}", text(a), text(b)));
    let more = (n_more > 0).then(|| format!("scenario.ron: and {n_more} more"));
    lines.chain(more).collect()
}
