//! Golden vectors: expected values that trusted libraries computed, checked against ours.
//!
//! Every `*.json` of a folder is read by the schema of [`Case`], and every case of a topic is
//! computed and compared. Anything that is not understood fails: an unknown topic, an `op` its
//! topic does not know, a key nobody reads, a file that does not parse, a folder without a known
//! topic. Each crate of algorithms checks the topics in its own `tests/golden`, those of the tools
//! are checked in `tests/golden` of the workspace. `FOLKMOOT_GOLDEN` names one folder, relative to
//! the workspace, of which all of them take their topics.

mod compare;
mod model;
mod schema;
#[cfg(test)]
mod tests;

pub use compare::{Got, Mismatch};
pub use model::{Arcs, Form, Named, Weights, gradient_rows, gradients, model, numbers, rows, variable, weighed};
pub use schema::{Case, File, Nothing, Pairs, flags, row_major, text};

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Computes a case and compares every expected value; an error if the case is not understood or we
/// refuse its input.
pub type Check = fn(&Case) -> Result<Vec<Mismatch>, String>;

/// Topics by name, with what computes their cases.
pub type Topics = [(&'static str, Check)];

/// Checks the folder `tests/golden` of the crate in `manifest_dir`, or the one that
/// `FOLKMOOT_GOLDEN` names. What `elsewhere` takes is a topic of another crate; in the crate's own
/// folder there is none.
///
/// # Panics
///
/// With all that is wrong, one line each.
pub fn agree(topics: &Topics, manifest_dir: &str, elsewhere: fn(&str) -> bool) {
    let own = Path::new(manifest_dir).join("tests/golden");
    let checked = match std::env::var_os("FOLKMOOT_GOLDEN") {
        Some(folder) => check_folder(topics, &workspace().join(folder), elsewhere),
        None => check_folder(topics, &own, |_| false),
    };
    let checked = checked.unwrap_or_else(|problems| panic!("\n{}", problems.join("\n")));
    if std::env::var_os("FOLKMOOT_GOLDEN").is_none() {
        let names: Vec<&str> = checked.iter().map(|(topic, _)| topic.as_str()).collect();
        let known: Vec<&str> = topics.iter().map(|(topic, _)| *topic).collect();
        assert_eq!(names, known, "each topic has a file, in the order of their names");
    }
}

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Checks every golden file of `folder`, in the order of their names: the topics, whose cases all
/// agree, with the number of cases; or all that is wrong, one line each. Topics that `elsewhere`
/// takes are left out.
///
/// # Errors
///
/// All that is wrong, one line each.
pub fn check_folder(
    topics: &Topics,
    folder: &Path,
    elsewhere: impl Fn(&str) -> bool,
) -> Result<Vec<(String, usize)>, Vec<String>> {
    let cannot = |what: String| move |error: std::io::Error| vec![format!("{what}: {error}")];
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot(folder.display().to_string()))? {
        paths.push(entry.map_err(cannot(folder.display().to_string()))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut checked = Vec::new();
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for path in &paths {
        let file = match read(path) {
            Ok(file) => file,
            Err(error) => {
                problems.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        if seen.contains(&file.topic) {
            problems.push(format!(
                "{}: topic {:?} occurs in two files",
                path.display(),
                file.topic
            ));
        } else if let Some((_, check)) = topics.iter().find(|(topic, _)| *topic == file.topic) {
            problems.extend(check_file(&file, *check));
            checked.push((file.topic.clone(), file.cases.len()));
        } else if !elsewhere(&file.topic) {
            problems.push(format!("{}: unknown topic {:?}", path.display(), file.topic));
        }
        seen.push(file.topic);
    }
    if seen.is_empty() && problems.is_empty() {
        problems.push(format!("{}: no golden file", folder.display()));
    }
    if problems.is_empty() {
        Ok(checked)
    } else {
        Err(problems)
    }
}

/// Reads and checks the form of one file.
fn read(path: &Path) -> Result<File, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    File::parse(&text)
}

/// One line for each value or case that fails.
fn check_file(file: &File, check: Check) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &file.cases {
        let here = format!("{}: case {:?}, op {:?}", file.topic, case.name, case.op);
        match check(case) {
            Ok(mismatches) => lines.extend(mismatches.into_iter().map(|mismatch| format!("{here}: {mismatch}"))),
            Err(error) => lines.push(format!("{here}: {error}")),
        }
    }
    lines
}

/// Checks that no expected value of the crate's own files is decoration: whichever is changed,
/// added or removed, its case fails. The expected values of operations in `bounds` bound ours, or
/// allow for another optimum: they must fail when far off to one side. And no topic takes an
/// operation that it does not know.
///
/// # Panics
///
/// When a case does not fail.
pub fn every_value_counts(topics: &Topics, manifest_dir: &str, bounds: &[&str]) {
    for (topic, check) in topics {
        let path = Path::new(manifest_dir)
            .join("tests/golden")
            .join(format!("{topic}.json"));
        let mut file = read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        for case in &file.cases {
            let mut places = Vec::new();
            leaves(&case.expected, String::new(), &mut places);
            assert!(!places.is_empty());
            for place in places {
                let mut wrong = case.clone();
                let value = case.expected.pointer(&place).and_then(Value::as_f64);
                let mut n_problems = |new: f64| {
                    *wrong.expected.pointer_mut(&place).expect("it was found there") = json!(new);
                    check(&wrong).map_or(0, |found| found.len())
                };
                let n = match value {
                    // A far value of one kind can upset another.
                    Some(value) if bounds.contains(&case.op.as_str()) => {
                        let far = 1.0 + value.abs();
                        n_problems(value - far).max(n_problems(value + far)).min(1)
                    }
                    _ => n_problems(value.map_or(0.123, |value| value + 0.01 * (1.0 + value.abs()))),
                };
                assert_eq!(n, 1, "{topic} {} {place}", case.name);
            }
            let keys = case.expected.as_object().into_iter().flat_map(|fields| fields.keys());
            for key in keys {
                let mut wrong = case.clone();
                if let Value::Object(fields) = &mut wrong.expected {
                    fields.remove(key);
                }
                let n = check(&wrong).map_or(0, |found| found.len());
                assert_eq!(n, 1, "{topic} {} without {key}", case.name);
            }
        }
        file.cases[0].op = "unheard_of".into();
        let said = check(&file.cases[0]).err();
        assert_eq!(said.as_deref(), Some("unknown op \"unheard_of\""), "{topic}");
    }
}

/// The JSON pointers of all values that are neither lists nor maps.
fn leaves(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                leaves(value, format!("{at}/{index}"), places);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(value, format!("{at}/{key}"), places);
            }
        }
        _ => places.push(at),
    }
}
