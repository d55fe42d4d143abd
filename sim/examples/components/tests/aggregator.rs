//! Every command knows an aggregation rule that another crate has added.

use std::path::Path;
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn aggregation(args: &[&str]) -> Result<String, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_components"))
        .args(args)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes text");
    if out.status.success() {
        Ok(text(out.stdout))
    } else {
        assert_eq!(out.status.code(), Some(2));
        Err(text(out.stderr))
    }
}

#[test]
fn a_rule_of_another_crate_is_listed_explained_shown_and_checked() {
    let listed = aggregation(&["list"]).unwrap();
    let rules = listed.split("aggregation rules\n").nth(1).unwrap();
    let rules = rules.split("\n\n").next().unwrap();
    assert!(rules.contains("Middle") && rules.contains("TrimmedMean"), "{listed}");
    let said = aggregation(&["explain", "strategy.protocol.aggregator.between"]).unwrap();
    assert!(said.starts_with("Middle.between") && said.contains("0..=1"), "{said}");
    let said = aggregation(&["explain", "FedAvg.protocol.aggregator"]).unwrap();
    assert!(said.contains("the middle of each coordinate"), "{said}");
    let shown = aggregation(&["show", "aggregator", "--resolved"]).unwrap();
    let lines = "            aggregator: Middle(\n                between: 0.5,\n            ),\n            server_optimizer: Average(";
    assert!(shown.contains(lines), "{shown}");
    let checked = aggregation(&["check", "aggregator"]).unwrap();
    assert!(checked.contains("OK; its sweep has 6 runs"), "{checked}");
}

#[test]
fn faults_are_told_where_they_stand() {
    let card =
        |rule: &str| format!("(\n  dataset: Karate,\n  strategy: FedAvg(protocol: (rule: {rule}, rounds: 0)),\n)\n");
    let refused = |name: &str, rule: &str| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, card(rule)).unwrap();
        aggregation(&["check", path.to_str().unwrap()]).unwrap_err()
    };
    let said = refused("name.ron", "Midlle()");
    let name = "3:37 strategy.protocol.aggregator: there is no aggregation rule `Midlle`, did you mean `Middle`?";
    assert!(
        said.contains(name) && said.contains("3:55 strategy.protocol.rounds: must lie in"),
        "{said}"
    );
    assert!(said.contains("has 2 problems"), "{said}");
    let said = refused("range.ron", "Middle(between: 2.0)");
    assert!(
        said.contains("3:53 strategy.protocol.aggregator.between: must lie in 0..=1, got 2"),
        "{said}"
    );
    let said = refused("field.ron", "Middle(beetween: 1.0)");
    assert!(
        said.contains("unknown field `beetween` of `Middle`, did you mean `between`?"),
        "{said}"
    );
    let said = refused("shape.ron", "[1, 2]");
    assert!(said.contains("strategy.protocol.aggregator: expected a name"), "{said}");
    let secret = ["--set", "strategy.protocol.secure=Pairwise()"];
    let said = aggregation(&["check", "aggregator", secret[0], secret[1]]).unwrap_err();
    assert!(
        said.contains("strategy.protocol.aggregator: must be Mean with secure aggregation"),
        "{said}"
    );
}

#[test]
fn it_runs_and_is_verified_and_differs_from_the_mean() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aggregation");
    let _ = std::fs::remove_dir_all(&dir);
    let print = |name: &str, settings: &[&str]| {
        let out = dir.join(name);
        let args = ["run", "aggregator", "--quiet", "--out", out.to_str().unwrap()];
        aggregation(&[&args, settings].concat()).unwrap();
        let said = aggregation(&["verify", out.to_str().unwrap(), "--threads", "2"]).unwrap();
        assert!(said.contains("the same result hash"), "{said}");
        let shown = aggregation(&["show", out.to_str().unwrap()]).unwrap();
        let (_, print) = shown.lines().next().unwrap().split_once("result hash ").unwrap();
        print.to_owned()
    };
    let median = print("aggregator", &[]);
    assert_ne!(print("mean", &["--set", "strategy.protocol.aggregator=Mean"]), median);
    assert_ne!(
        print("lesser", &["--set", "strategy.protocol.aggregator.between=0"]),
        median
    );
}
