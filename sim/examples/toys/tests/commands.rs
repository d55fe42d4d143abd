//! Every command knows components of every kind that another crate has added.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program says, which must have ended well.
fn toys(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_toys"))
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

const TOYS: [&str; 16] = [
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
    "Loudest",
    "HalfWay",
    "Twice",
    "Star",
    "Neighbours",
    "Length",
];

#[test]
fn each_is_listed_and_explained() {
    let listed = toys(&["list"]);
    for toy in TOYS {
        assert!(
            listed.lines().any(|line| line.trim_start().starts_with(toy)),
            "{toy}: {listed}"
        );
        let said = toys(&["explain", toy]);
        assert!(said.starts_with(&format!("{toy}, ")), "{said}");
    }
    assert!(toys(&["explain", "Ladder.rungs"]).contains("2..=1000000"));
    assert!(toys(&["explain", "test_length"]).contains("Euclidean length of the global model"));
}

#[test]
fn a_card_that_names_them_all_is_checked_swept_reported_and_audited() {
    assert!(toys(&["check", "toys"]).contains("its sweep has 8 runs"));
    let sweep = fresh("toys");
    let out = sweep.to_str().unwrap();
    toys(&["sweep", "toys", "--quiet", "--out", out]);
    let table = toys(&["show", out]);
    for arm in ["fixed", "by clients", "method", "topology"] {
        assert!(table.lines().any(|line| line.starts_with(arm)), "{arm}: {table}");
    }
    assert!(toys(&["verify", out]).contains("the same result hash"));
    toys(&["report", out]);
    let page = fs::read_to_string(sweep.join("report.html")).unwrap();
    assert!(page.contains("by clients") && page.contains("toy of every kind"));
    let scores = fs::read_to_string(sweep.join("points/0000-arm=fixed-seed=1/scores.csv")).unwrap();
    assert!(scores.contains("length"), "{scores}");
    let claims = fresh("toys-claims").with_extension("ron");
    fs::write(
        &claims,
        r#"(
            system: "Toys", paper: "none",
            claims: [(
                id: "bytes", claim: "The model is sent to every other of four clients, four rounds long.", at: "here", printed: "8",
                card: "toys", arm: { "arm": "fixed" }, metric: "model_messages", rule: Exact,
            )],
        )"#,
    )
    .unwrap();
    let verdict = toys(&["audit", claims.to_str().unwrap(), "--from", out]);
    assert!(verdict.contains("reproduced exactly"), "{verdict}");
}
