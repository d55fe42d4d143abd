//! Every command knows components of every kind that another crate has added.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program says, which must have ended well.
fn components(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_components"))
        .args(args)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the program starts");
    let said = String::from_utf8([out.stdout, out.stderr].concat()).expect("the program writes text");
    assert_eq!(out.status.code(), Some(0), "{args:?}: {said}");
    said
}

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

/// The names of all components and of the figure, and the cards of their kinds.
const NAMES: [&str; 20] = [
    "RandomSigns",
    "Ladder",
    "Turns",
    "Wire",
    "LongWires",
    "Steady",
    "Ranked",
    "Shifts",
    "Roster",
    "EveryOther",
    "Backwards",
    "Middle",
    "HalfWay",
    "Twice",
    "Star",
    "GatV2",
    "Brier",
    "Confidence",
    "BalancedAccuracy",
    "ModelLength",
];
const KINDS: [&str; 18] = [
    "adversary",
    "aggregator",
    "attack",
    "availability",
    "codec",
    "dataset",
    "devices",
    "evaluator",
    "figure",
    "layer",
    "loss",
    "method",
    "metric",
    "network",
    "partition",
    "selection",
    "server_optimizer",
    "topology",
];

#[test]
fn each_is_listed_and_explained() {
    let listed = components(&["list"]);
    for name in NAMES {
        assert!(
            listed.lines().any(|line| line.trim_start().starts_with(name)),
            "{name}: {listed}"
        );
        let said = components(&["explain", name]);
        assert!(said.starts_with(&format!("{name}, ")), "{said}");
    }
    assert!(components(&["explain", "Ladder.rungs"]).contains("2..=1000000"));
    assert!(components(&["explain", "length"]).contains("Euclidean length of the global model"));
    assert!(components(&["explain", "round-times"]).contains("Virtual time that each round took"));
}

#[test]
fn a_card_that_names_them_all_is_checked_swept_reported_and_audited() {
    assert!(components(&["check", "all"]).contains("its sweep has 8 runs"));
    let sweep = fresh("all");
    let out = sweep.to_str().unwrap();
    components(&["sweep", "all", "--quiet", "--out", out]);
    let table = components(&["show", out]);
    for arm in ["fixed", "by clients", "method", "topology"] {
        assert!(table.lines().any(|line| line.starts_with(arm)), "{arm}: {table}");
    }
    assert!(components(&["verify", out]).contains("the same result hash"));
    components(&["report", out]);
    let page = fs::read_to_string(sweep.join("report.html")).unwrap();
    assert!(page.contains("by clients") && page.contains("component of every kind"));
    let scores = fs::read_to_string(sweep.join("points/0000-arm=fixed-seed=1/scores.csv")).unwrap();
    assert!(
        scores.contains(",global,length,") && scores.contains(",test,balanced_accuracy,"),
        "{scores}"
    );
    let summary = fs::read_to_string(sweep.join("points/0000-arm=fixed-seed=1/summary.json")).unwrap();
    assert!(summary.contains("confidence_membership_auc"), "{summary}");
    let claims = fresh("all-claims").with_extension("ron");
    fs::write(
        &claims,
        r#"(
            system: "All", paper: "none",
            claims: [(
                id: "bytes", claim: "The model is sent to every other of four clients, four rounds long.", at: "here", printed: "8",
                card: "all", arm: { "arm": "fixed" }, metric: "model_messages", rule: Exact,
            )],
        )"#,
    )
    .unwrap();
    let verdict = components(&["audit", claims.to_str().unwrap(), "--from", out]);
    assert!(verdict.contains("reproduced exactly"), "{verdict}");
    // A record beside the claims takes the place of the runs.
    let folder = env!("CARGO_TARGET_TMPDIR");
    components(&["audit", claims.to_str().unwrap(), "--from", out, "--record", folder]);
    fs::remove_dir_all(&sweep).unwrap();
    let verdict = components(&[
        "audit",
        claims.to_str().unwrap(),
        "--out",
        fresh("audit").to_str().unwrap(),
    ]);
    assert!(verdict.contains("reproduced exactly"), "{verdict}");
    assert!(
        !Path::new(folder).join("audit/runs").exists(),
        "nothing was run: {verdict}"
    );
}

/// The card of each kind runs, and its figures are drawn.
#[test]
fn the_card_of_every_kind_runs() {
    for kind in KINDS {
        let run = fresh(&format!("kind-{kind}"));
        let out = run.to_str().unwrap();
        components(&["check", kind]);
        components(&["run", kind, "--quiet", "--out", out]);
        assert!(
            run.join("result.json").is_file() || run.join("summary.json").is_file(),
            "{kind}"
        );
    }
    let figures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kind-figure/figures");
    assert!(figures.join("round-times.svg").is_file() && figures.join("round-times.caption.txt").is_file());
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kind-figure");
    components(&["report", page.to_str().unwrap()]);
    let page = fs::read_to_string(page.join("report.html")).unwrap();
    assert!(page.contains("Time of each round"), "the figure is in the report");
}

#[test]
fn an_evaluator_of_another_algorithm_is_refused() {
    let out = Command::new(env!("CARGO_BIN_EXE_components"))
        .args(["check", "all", "--set", "strategy=Gossip()"])
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.code() == Some(2)
            && said.contains("evaluators.0: is an evaluator of FedAvg, and the algorithm is Gossip"),
        "{said}"
    );
}
