//! Whatever is wrong with a folder makes it fail.

use super::{Case, Got, Mismatch, Topics, check_folder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    scale: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    x: Vec<f64>,
}

/// Numbers times a scale, and what they sum up to.
fn scaled(case: &Case) -> Result<Vec<Mismatch>, String> {
    if case.op != "scaled" {
        return Err(case.unknown_op());
    }
    let (Scale { scale }, Numbers { x }): (Scale, Numbers) = (case.params()?, case.inputs()?);
    let values: Vec<f64> = x.iter().map(|x| scale * x).collect();
    let sum: f64 = values.iter().sum();
    let of = vec![("values", Got::from(values)), ("sum", sum.into())];
    Ok(case.compare(Got::Map(vec![("of", Got::Map(of)), ("scale", scale.into())])))
}

const TOPICS: &Topics = &[("scaled", scaled)];

fn good() -> Value {
    let case = |name: &str, x: [f64; 2]| {
        let of = json!({ "values": [2.0 * x[0], 2.0 * x[1]], "sum": 2.0 * (x[0] + x[1]) });
        let tolerance = json!({ "rtol": 0.0, "atol": 1e-9 });
        json!({
            "name": name,
            "op": "scaled",
            "params": { "scale": 2.0 },
            "inputs": { "x": x },
            "expected": { "of": of, "scale": 2.0 },
            "tol": { "f64": tolerance, "f32": tolerance },
        })
    };
    let cases = [case("one", [1.0, 2.0]), case("two", [3.0, 4.0])];
    json!({ "topic": "scaled", "about": "a toy", "library": { "mind": "1" }, "cases": cases })
}

/// A folder of its own for a test, with the given files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, String)]) -> Folder {
        let path = std::env::temp_dir().join(format!("golden-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Folder(path)
    }

    fn check(&self) -> Result<Vec<(String, usize)>, String> {
        check_folder(TOPICS, &self.0, |topic| topic == "other").map_err(|problems| problems.join("\n"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut file = good();
    change(&mut file);
    file.to_string()
}

fn problems_of(name: &str, change: impl FnOnce(&mut Value)) -> String {
    Folder::new(name, &[("some.json", changed(change))])
        .check()
        .unwrap_err()
}

#[test]
fn a_good_folder_passes_and_a_topic_of_elsewhere_is_left_out() {
    let other = changed(|file| file["topic"] = json!("other"));
    let folder = Folder::new("good", &[("a.json", good().to_string()), ("b.json", other)]);
    assert_eq!(folder.check(), Ok(vec![("scaled".to_owned(), 2)]));
}

#[test]
fn what_differs_is_named() {
    let problems = problems_of("wrong-value", |file| {
        file["cases"][1]["expected"]["of"]["values"][0] = json!(0.5);
        file["cases"][1]["expected"]["of"]["sum"] = json!("inf");
        file["cases"][0]["expected"]["scale"] = Value::Null;
    });
    assert_eq!(
        problems,
        "scaled: case \"one\", op \"scaled\": scale: got 2, expected null\n\
         scaled: case \"two\", op \"scaled\": of.values[0]: got 6, expected 0.5\n\
         scaled: case \"two\", op \"scaled\": of.sum: got 14, expected \"inf\""
    );
}

#[test]
fn the_tolerance_is_that_of_the_case() {
    let nudged = |nudge: f64| {
        changed(|file| {
            let case = &mut file["cases"][0];
            case["expected"]["scale"] = json!(2.0 + nudge);
            case["tol"]["f64"] = json!({ "rtol": 0.0, "atol": 1e-6 });
        })
    };
    assert!(Folder::new("within", &[("a.json", nudged(0.9e-6))]).check().is_ok());
    assert!(Folder::new("beyond", &[("a.json", nudged(1.1e-6))]).check().is_err());
}

#[test]
fn what_is_not_known_is_refused() {
    let problems = problems_of("op", |file| file["cases"][0]["op"] = json!("unheard_of"));
    assert!(problems.contains("unknown op \"unheard_of\""), "{problems}");
    let problems = problems_of("topic", |file| file["topic"] = json!("unheard_of"));
    assert!(problems.contains("unknown topic \"unheard_of\""), "{problems}");
    let problems = problems_of("case-key", |file| file["cases"][0]["extra"] = json!(1));
    assert!(problems.contains("unknown field `extra`"), "{problems}");
    let problems = problems_of("file-key", |file| file["extra"] = json!(1));
    assert!(problems.contains("unknown field `extra`"), "{problems}");
    let problems = problems_of("input-key", |file| file["cases"][0]["inputs"]["extra"] = json!(1));
    assert!(problems.contains("inputs: unknown field `extra`"), "{problems}");
    let problems = problems_of("param-key", |file| file["cases"][0]["params"]["extra"] = json!(1));
    assert!(problems.contains("params: unknown field `extra`"), "{problems}");
    let problems = problems_of("expected-key", |file| file["cases"][0]["expected"]["extra"] = json!(1));
    assert!(problems.contains("extra: got no such key, expected 1"), "{problems}");
}

#[test]
fn files_of_another_form_are_refused() {
    for (name, text) in [
        ("no-json", "{ \"topic\": ".to_owned()),
        ("no-cases", changed(|file| file["cases"] = json!([]))),
        ("no-source", changed(|file| file["library"] = json!({}))),
        (
            "twice",
            changed(|file| file["cases"][1]["name"] = file["cases"][0]["name"].clone()),
        ),
        ("nothing", changed(|file| file["cases"][0]["expected"] = json!({}))),
        (
            "loose",
            changed(|file| file["cases"][0]["tol"]["f64"]["rtol"] = json!(1.0)),
        ),
        ("no-tol", changed(|file| file["cases"][0]["tol"] = json!({}))),
    ] {
        // Beside a good file, so that only the bad one can be the reason.
        let folder = Folder::new(name, &[("good.json", good().to_string()), ("bad.json", text)]);
        let problems = folder.check().unwrap_err();
        assert!(
            problems.contains("bad.json: ") && !problems.contains("good.json"),
            "{name}: {problems}"
        );
    }
}

#[test]
fn folders_without_golden_files_are_refused() {
    let missing = Folder::new("empty", &[("notes.txt", "{".to_owned())]);
    assert!(missing.check().unwrap_err().ends_with("no golden file"));
    assert!(check_folder(TOPICS, &missing.0.join("absent"), |_| false).is_err());
    let twice = Folder::new(
        "two-files",
        &[("a.json", good().to_string()), ("b.json", good().to_string())],
    );
    let said = twice.check().unwrap_err();
    assert!(said.contains("topic \"scaled\" occurs in two files"), "{said}");
}
