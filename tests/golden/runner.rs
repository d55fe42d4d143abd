//! Tests of the runner itself: whatever is wrong with a folder must make it fail.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{TOPICS, check_folder, read};

/// The vectors that are part of this repository.
fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A folder of its own for a test, with the given files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, String)]) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("golden-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Folder(path)
    }

    /// All problems of the folder in one text.
    fn problems(&self) -> String {
        check_folder(&self.0).unwrap_err().join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind harms nobody: it lies below target/.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A shipped file, changed.
fn changed(topic: &str, change: impl FnOnce(&mut Value)) -> String {
    let text = fs::read_to_string(shipped().join(format!("{topic}.json"))).unwrap();
    let mut file = serde_json::from_str(&text).unwrap();
    change(&mut file);
    serde_json::to_string(&file).unwrap()
}

/// The problems of a folder with one changed file.
fn problems_of(name: &str, change: impl FnOnce(&mut Value)) -> String {
    Folder::new(name, &[("some.json", changed("fedwalk_messages", change))]).problems()
}

#[test]
fn golden_default_folder_holds_every_topic_checked_now() {
    let report = check_folder(&shipped()).unwrap();
    let checked: Vec<&str> = report.iter().map(|(topic, _)| topic.as_str()).collect();
    assert_eq!(checked, TOPICS.iter().map(|(topic, _)| *topic).collect::<Vec<_>>());
}

#[test]
fn golden_runner_names_what_differs() {
    let problems = problems_of("wrong-value", |file| {
        file["cases"][12]["expected"]["distribution"]["probability"][0] = json!(0.5);
        file["cases"][12]["expected"]["jumps"] = json!("inf");
        file["cases"][3]["expected"]["closed_form"] = Value::Null;
    });
    assert_eq!(
        problems,
        "fedwalk_messages: case \"messages_l1_p0.5\", op \"expected_messages\": closed_form: got 0, expected null\n\
         fedwalk_messages: case \"messages_l3_p0.2\", op \"expected_messages\": jumps: got 0.19999999999999996, expected \
         \"inf\"\n\
         fedwalk_messages: case \"messages_l3_p0.2\", op \"expected_messages\": distribution.probability[0]: got 0.2, \
         expected 0.5"
    );
}

#[test]
fn golden_runner_applies_the_tolerance_of_the_case() {
    let nudged = |nudge: f64| {
        changed("fedwalk_messages", |file| {
            let case = &mut file["cases"][12];
            case["expected"]["closed_form"] = json!(case["expected"]["closed_form"].as_f64().unwrap() + nudge);
            case["tol"]["f64"] = json!({ "rtol": 0.0, "atol": 1e-6 });
        })
    };
    assert!(check_folder(&Folder::new("within", &[("a.json", nudged(0.9e-6))]).0).is_ok());
    assert!(check_folder(&Folder::new("beyond", &[("a.json", nudged(1.1e-6))]).0).is_err());
}

#[test]
fn golden_runner_refuses_what_it_does_not_know() {
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
fn golden_runner_refuses_every_unknown_op_of_every_topic() {
    for (topic, check) in TOPICS {
        let mut file = read(&shipped().join(format!("{topic}.json"))).unwrap();
        file.cases[0].op = "unheard_of".into();
        assert_eq!(
            check(&file.cases[0]).unwrap_err(),
            "unknown op \"unheard_of\"",
            "{topic}"
        );
    }
}

#[test]
fn golden_runner_refuses_files_of_another_form() {
    for (name, text) in [
        ("no-json", "{ \"topic\": ".to_owned()),
        ("no-cases", changed("metrics", |file| file["cases"] = json!([]))),
        ("no-source", changed("metrics", |file| file["library"] = json!({}))),
        (
            "twice",
            changed("metrics", |file| {
                file["cases"][1]["name"] = file["cases"][0]["name"].clone()
            }),
        ),
        (
            "nothing",
            changed("metrics", |file| file["cases"][0]["expected"] = json!({})),
        ),
        (
            "loose",
            changed("metrics", |file| file["cases"][0]["tol"]["f64"]["rtol"] = json!(1.0)),
        ),
        ("no-tol", changed("metrics", |file| file["cases"][0]["tol"] = json!({}))),
    ] {
        // Beside a good file, so that only the bad one can be the reason.
        let good = changed("fedwalk_messages", |_| {});
        let folder = Folder::new(name, &[("good.json", good), ("bad.json", text)]);
        let problems = folder.problems();
        assert!(
            problems.contains("bad.json: ") && !problems.contains("good.json"),
            "{name}: {problems}"
        );
    }
}

#[test]
fn golden_runner_refuses_folders_without_a_known_topic() {
    let missing = Folder::new("empty", &[("notes.txt", "{".to_owned())]);
    assert!(missing.problems().ends_with("no file of a known topic"));
    assert!(check_folder(&missing.0.join("absent")).is_err());
    let copy = changed("metrics", |_| {});
    let twice = Folder::new("two-files", &[("a.json", copy.clone()), ("b.json", copy)]);
    assert!(twice.problems().contains("topic \"metrics\" occurs in two files"));
}

#[test]
fn golden_topics_are_listed_once() {
    let mut topics: Vec<&str> = TOPICS.iter().map(|(topic, _)| *topic).collect();
    let n_topics = topics.len();
    topics.sort_unstable();
    topics.dedup();
    assert_eq!(topics.len(), n_topics);
}

/// Operations whose expected values bound ours, or allow for another optimum: they must fail when far off to one side.
const BOUNDS: &[&str] = &["gw_cg", "gw_upper", "fgw_cg", "gw_barycenter"];

/// No expected value is decoration: whichever is changed, added or removed, its case fails.
#[test]
fn golden_runner_compares_every_expected_value() {
    for (topic, check) in TOPICS {
        for case in read(&shipped().join(format!("{topic}.json"))).unwrap().cases {
            let mut places = Vec::new();
            leaves(&case.expected, String::new(), &mut places);
            assert!(!places.is_empty());
            for place in places {
                let mut wrong = case.clone();
                let value = case.expected.pointer(&place).unwrap().as_f64();
                let mut n_problems = |new: f64| {
                    *wrong.expected.pointer_mut(&place).unwrap() = json!(new);
                    check(&wrong).unwrap().len()
                };
                let n = match value {
                    // A far value of one kind can upset another.
                    Some(value) if BOUNDS.contains(&case.op.as_str()) => {
                        let far = 1.0 + value.abs();
                        n_problems(value - far).max(n_problems(value + far)).min(1)
                    }
                    _ => n_problems(value.map_or(0.123, |value| value + 0.01 * (1.0 + value.abs()))),
                };
                assert_eq!(n, 1, "{topic} {} {place}", case.name);
            }
            for key in case.expected.as_object().unwrap().keys() {
                let mut wrong = case.clone();
                wrong.expected.as_object_mut().unwrap().remove(key);
                assert_eq!(check(&wrong).unwrap().len(), 1, "{topic} {} without {key}", case.name);
            }
        }
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
