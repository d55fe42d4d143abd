//! Events of runs, results that are used again, and the table of a sweep in other forms.

use crate::support::TempDir;
use serde_json::Value;

const ROUNDS: [&str; 2] = ["--set", "strategy.protocol.rounds=3"];

/// One seed, and a baseline of the new axis.
const ALONE: [&str; 4] = ["--set", "sweep.seeds=[1]", "--set", "sweep.baseline=\"1\""];

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[test]
fn events_have_every_round_and_score_of_the_run_and_nothing_else_is_printed() {
    let temp = TempDir::new();
    let run = ["run", "fed-avg/tiny", "--out", "a", "--events", "-"];
    let told = events(&temp.run(&[&run[..], &ROUNDS].concat()).done());
    assert_eq!(told[0]["event"], "start");
    assert_eq!(told[0]["n_rounds"], 3);
    let end = told.last().unwrap();
    assert_eq!((end["event"].as_str(), end["dir"].as_str()), (Some("end"), Some("a")));
    let manifest: Value = serde_json::from_slice(&std::fs::read(temp.join("a/manifest.json")).unwrap()).unwrap();
    assert_eq!(end["result_hash"], manifest["result_fingerprint"]);
    let lines = |name: &str| {
        std::fs::read_to_string(temp.join("a").join(name))
            .unwrap()
            .lines()
            .count()
            - 1
    };
    let count = |kind: &str| kinds(&told).iter().filter(|one| **one == kind).count();
    assert_eq!(
        (count("round"), count("score")),
        (lines("rounds.csv"), lines("scores.csv"))
    );
    let first = told.iter().find(|one| one["event"] == "score").unwrap();
    let scores = std::fs::read_to_string(temp.join("a/scores.csv")).unwrap();
    let row: Vec<&str> = scores.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(first["metric"], row[3]);
    assert_eq!(first["value"].as_f64().unwrap(), row[4].parse::<f64>().unwrap());
}

#[test]
fn events_of_a_sweep_name_their_run_and_files_are_continued() {
    let temp = TempDir::new();
    let card = "sweep.axes={\"strategy.protocol.rounds\":[1,2]}";
    let sweep = [&["sweep", "fed-avg/tiny", "--set", card, "--quiet"], &ALONE[..]].concat();
    temp.run(&[&sweep[..], &["--out", "s", "--events", "log"]].concat())
        .done();
    let told = events(&std::fs::read_to_string(temp.join("log")).unwrap());
    for (point, rounds) in [(0, 1), (1, 2)] {
        let own: Vec<Value> = told.iter().filter(|one| one["point"] == point).cloned().collect();
        let n_rounds = own.iter().filter(|one| one["event"] == "round").count();
        assert_eq!(n_rounds, rounds);
        assert_eq!(own[0]["axes"]["strategy.protocol.rounds"], rounds.to_string());
        assert_eq!(kinds(&own).last(), Some(&"end"));
    }
    let before = told.len();
    temp.run(&[&["run", "fed-avg/tiny", "--events", "log"], &ROUNDS[..]].concat())
        .done();
    let all = std::fs::read_to_string(temp.join("log")).unwrap();
    assert!(events(&all).len() > before);
    temp.run(&["run", "fed-avg/tiny", "--events", "no/folder/log"])
        .refused(&["--events no/folder/log: No such file or directory"]);
}

/// An interrupt while rounds go on.
#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_says_so_in_its_events_and_goes_on_with_them() {
    let temp = TempDir::new();
    let rounds = "strategy.protocol.rounds=100000";
    let args = [
        "run",
        "fed-avg/tiny",
        "--events",
        "log",
        "--out",
        "a",
        "--quiet",
        "--set",
        rounds,
    ];
    let mut child = temp.command(&args).spawn().unwrap();
    let log = || std::fs::read_to_string(temp.join("log")).unwrap_or_default();
    while !log().contains("\"round\"") && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let signal = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    assert!(!child.wait().unwrap().success());
    let told = events(&log());
    let last = told.last().unwrap();
    assert_eq!(last["event"], "stopped");
    assert!(last["text"].as_str().unwrap().contains("stopped"), "{last}");
    let numbers = |told: &[Value]| -> Vec<u64> {
        let rounds = told.iter().filter(|one| one["event"] == "round");
        rounds.map(|one| one["round"].as_u64().unwrap()).collect()
    };
    assert!(numbers(&told).into_iter().eq(0..numbers(&told).len() as u64));
}

#[test]
fn the_result_of_the_same_run_is_used_again_and_of_another_refused() {
    let temp = TempDir::new();
    let run = |more: &[&str]| temp.run(&[&["run", "fed-avg/tiny", "--out", "a", "--format", "json"], more].concat());
    let first = run(&["--reuse"]).done();
    run(&[]).refused(&["a", "already exists"]);
    let at = || {
        std::fs::metadata(temp.join("a/manifest.json"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = at();
    let again = run(&["--reuse"]).done();
    let result = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    assert_eq!(
        result(&first)["summary"]["test_accuracy"],
        result(&again)["summary"]["test_accuracy"]
    );
    assert_eq!(result(&first)["fingerprint"], result(&again)["fingerprint"]);
    assert_eq!(before, at());
    run(&["--reuse", "--seed", "9"]).refused(&["--reuse: a is of another run: its card differs"]);
    run(&["--reuse", "--dry-run"]).refused(&["its --dry-run differs"]);
}

#[test]
fn the_table_of_a_sweep_is_written_for_papers_and_pages() {
    let temp = TempDir::new();
    let card = "sweep.axes={\"strategy.protocol.rounds\":[1,2]}";
    let sweep = ["sweep", "fed-avg/tiny", "--set", card, "--out", "s", "--quiet"];
    temp.run(&[&sweep[..], &ALONE].concat()).done();
    let latex = temp.run(&["export", "s", "--latex"]).done();
    assert!(latex.contains("\\begin{tabular}{lr"), "{latex}");
    assert!(latex.contains("rounds & test\\_accuracy $\\uparrow$"), "{latex}");
    assert_eq!(latex.matches(" \\\\\n").count(), 3, "{latex}");
    let html = temp.run(&["export", "s", "--html"]).done();
    assert_eq!(html.matches("<tr>").count(), 3, "{html}");
    temp.run(&["export", "s", "--latex", "--html"])
        .refused(&["cannot be used with"]);
}

#[test]
fn a_folder_of_data_that_does_not_exist_is_told() {
    let temp = TempDir::new();
    let run = ["run", "fed-avg/tiny", "--data", "nowhere", "--dry-run"];
    let ended = temp.command(&run).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success());
    assert_eq!(
        said.matches("warning: --data nowhere: there is no such folder").count(),
        1,
        "{said}"
    );
}

#[test]
fn check_refuses_more_clients_than_items_and_warns_of_a_split_without_tests() {
    let temp = TempDir::new();
    temp.run(&["check", "fed-avg/tiny", "--set", "partition=Iid(n_clients: 5000)"])
        .refused(&["error: fed-avg/tiny:", "too few"]);
    let split = "strategy.split=Shares(train: 0.6, validation: 0.4)";
    let ended = temp
        .command(&["check", "fed-avg/tiny", "--set", split])
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.success() && said.contains("no item is left to test"),
        "{said}"
    );
}
