//! Every command knows a metric that another crate has added: headline, target, curve and
//! explanation.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn metric(args: &[&str]) -> Result<String, String> {
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

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

#[test]
fn a_metric_of_another_crate_is_explained_and_checked() {
    let said = metric(&["explain", "test_balanced_accuracy"]).unwrap();
    for words in [
        "Test balanced accuracy",
        "Mean over classes",
        "FedAvg",
        "better     higher",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let said = metric(&["explain", "BalancedAccuracy"]).unwrap();
    assert!(said.contains("mean recall over classes"), "{said}");
    let said = metric(&["check", "metric"]).unwrap();
    assert!(said.contains("OK; its sweep has 4 runs"), "{said}");
    let wrong = ["check", "metric", "--set", "targets={\"test_balanced_acuracy\": 0.5}"];
    let said = metric(&wrong).unwrap_err();
    assert!(said.contains("did you mean `test_balanced_accuracy`?"), "{said}");
    let wrong = ["check", "metric", "--set", "targets={\"test_balanced_accuracy\": 50}"];
    let said = metric(&wrong).unwrap_err();
    assert!(said.contains("lies in 0..=1, got 50"), "{said}");
    let wrong = ["check", "metric", "--set", "sweep.headline=[\"balanced\"]"];
    let said = metric(&wrong).unwrap_err();
    assert!(said.contains("no run of FedAvg has a number `balanced`"), "{said}");
}

#[test]
fn it_is_headline_target_and_curve_and_verified() {
    let dir = folder("metric");
    let out = dir.join("run");
    let out = out.to_str().unwrap();
    let said = metric(&["run", "metric", "--out", out]).unwrap();
    for words in [
        "Test balanced accuracy  [test_balanced_accuracy]",
        "rounds_to_target[test_balanced_accuracy=0.1]",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let scores = std::fs::read_to_string(dir.join("run/scores.csv")).unwrap();
    let rows = scores
        .lines()
        .filter(|line| line.contains(",test,balanced_accuracy,"))
        .count();
    assert_eq!(rows, 6, "a row a round: {scores}");
    let said = metric(&["verify", out]).unwrap();
    assert!(said.contains("the same result hash"), "{said}");
    let sweep = dir.join("sweep");
    let said = metric(&["sweep", "metric", "--quiet", "--out", sweep.to_str().unwrap()]);
    said.unwrap();
    assert!(sweep.join("figures/curves-test-balanced-accuracy.svg").is_file());
    let said = metric(&["show", sweep.to_str().unwrap()]).unwrap();
    assert!(
        said.contains("test_balanced_accuracy") && said.contains("Cost to reach test_balanced_accuracy 0.1"),
        "{said}"
    );
}
