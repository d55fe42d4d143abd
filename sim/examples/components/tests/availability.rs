//! Every command knows a part that another crate has added.

use std::path::Path;
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn diurnal(args: &[&str]) -> Result<String, String> {
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
fn a_part_of_another_crate_is_listed_explained_and_checked() {
    assert!(diurnal(&["list"]).unwrap().contains("Shifts"));
    let said = diurnal(&["explain", "availability.day_s"]).unwrap();
    assert!(said.contains("How long a day is.") && said.contains("86400"), "{said}");
    assert!(
        diurnal(&["check", "availability"])
            .unwrap()
            .contains("OK; its sweep has 4 runs")
    );
    let refused = |setting: &str| diurnal(&["check", "availability", "--set", setting]).unwrap_err();
    let said = refused("availability.online_share=2");
    assert!(said.contains("must be greater than 0 and at most 1, got 2"), "{said}");
    let said = refused("availability=Shfts()");
    assert!(
        said.contains("there is no availability `Shfts`, did you mean `Shifts`?"),
        "{said}"
    );
}

#[test]
fn it_runs_sweeps_is_drawn_and_verified() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("availability");
    let _ = std::fs::remove_dir_all(&dir);
    let (run, sweep) = (dir.join("run"), dir.join("sweep"));
    let (run, sweep) = (run.to_str().unwrap(), sweep.to_str().unwrap());
    diurnal(&["run", "availability", "--quiet", "--out", run]).unwrap();
    assert!(diurnal(&["verify", run]).unwrap().contains("the same result hash"));
    let said = diurnal(&["sweep", "availability", "--quiet", "--out", sweep]).unwrap();
    assert_eq!(said, "");
    assert!(diurnal(&["plot", sweep]).unwrap().contains("figures"));
    // With half of the clients asleep at any time, a round takes hours; with nobody away, less than
    // a second.
    let shown = diurnal(&["show", sweep]).unwrap();
    let takes = |arm: &str, unit: &str| {
        let line = shown.lines().find(|line| line.trim_start().starts_with(arm)).unwrap();
        line.ends_with(unit)
    };
    assert!(
        (takes("0.5", " h") || takes("0.5", " days")) && takes("1.0", " s"),
        "{shown}"
    );
}
