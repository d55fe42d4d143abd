//! Every command knows a mechanism that another crate has added.

use std::path::Path;
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn mechanism(args: &[&str]) -> Result<String, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_mechanism"))
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
fn a_mechanism_of_another_crate_is_listed_explained_shown_and_checked() {
    let listed = mechanism(&["list"]).unwrap();
    let mechanisms = listed.split("\nmechanisms\n").nth(1).unwrap();
    let mechanisms = mechanisms.split("\n\n").next().unwrap();
    assert!(
        mechanisms.contains("Laplace") && mechanisms.contains("MultiBit"),
        "{listed}"
    );
    let said = mechanism(&["explain", "strategy.GwLdp.release.Laplace.epsilon"]).unwrap();
    assert!(
        said.contains("What a graph spends") && said.contains("1e-6..=1e6"),
        "{said}"
    );
    assert!(
        mechanism(&["show", "laplace", "--resolved"])
            .unwrap()
            .contains("        release: Laplace(\n            epsilon: 1.0,\n")
    );
    let completed = mechanism(&["completions", "bash"]).unwrap();
    assert!(completed.contains("strategy.release.epsilon") && completed.contains("Laplace"));
    let checked = mechanism(&["check", "laplace"]).unwrap();
    assert!(checked.contains("OK; its sweep has 10 runs"), "{checked}");
    let refused = |setting: &str| mechanism(&["check", "laplace", "--set", setting]).unwrap_err();
    let said = refused("strategy.release.epsilon=0");
    assert!(said.contains("must lie in 1e-6..=1e6, got 0"), "{said}");
    let said = refused("strategy.release=Laplas");
    assert!(
        said.contains("there is no mechanism `Laplas`, did you mean `Laplace`?"),
        "{said}"
    );
    let said = refused("strategy.representation=Hidden");
    assert!(
        said.contains("release: must not be Laplace() for unbounded rows"),
        "{said}"
    );
}

#[test]
fn it_runs_is_verified_and_what_it_costs_is_charged() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mechanism");
    let _ = std::fs::remove_dir_all(&dir);
    let out = dir.to_str().unwrap();
    mechanism(&["run", "laplace", "--quiet", "--wire-check", "--out", out]).unwrap();
    let said = mechanism(&["verify", out, "--threads", "2"]).unwrap();
    assert!(said.contains("the same result hash"), "{said}");
    let privacy = std::fs::read_to_string(dir.join("privacy.csv")).unwrap();
    let row = privacy.lines().find(|line| line.starts_with("Laplace noise,")).unwrap();
    // One release of a client's graphs, each at the card's epsilon.
    assert!(row.contains(",4,1.0,0.0,1.0,1.0,"), "{row}");
}
