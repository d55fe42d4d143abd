//! `folkmoot compare`: the first difference between two results.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_metrics::RunDir;

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Exit> {
    match folkmoot_metrics::compare::compare(&args.a, &args.b)? {
        None => {
            let [a, b] = [RunDir::open(&args.a)?.scenario, RunDir::open(&args.b)?.scenario];
            print(&match other_scenario(&a, &b) {
                None => "no difference".to_owned(),
                Some(line) => format!("no difference in the results, but in what was run: {line}"),
            })
        }
        Some(difference) => {
            print(&difference.to_string())?;
            Err(Exit::failed(""))
        }
    }
}

/// The first line in which two resolved cards differ, but for the comment that names them.
fn other_scenario(a: &str, b: &str) -> Option<String> {
    let is_name = |line: &str| line.starts_with("// ");
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let line = |lines: &[&str], at: usize| lines.get(at).map_or("nothing", |line| line.trim()).to_owned();
    let at = (0..a.len().max(b.len())).find(|&at| match (a.get(at), b.get(at)) {
        (Some(a), Some(b)) => a != b && !(is_name(a) && is_name(b)),
        _ => true,
    })?;
    Some(format!(
        "scenario.ron: line {}: {} against {}",
        at + 1,
        line(&a, at),
        line(&b, at)
    ))
}
