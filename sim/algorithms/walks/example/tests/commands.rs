//! Every command knows an encoder that another crate has added.

use std::path::Path;
use std::process::Command;

/// What the program says on stdout, or on stderr if it refuses.
fn encoder(args: &[&str]) -> Result<String, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_encoder"))
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
fn an_encoder_of_another_crate_is_listed_explained_shown_and_checked() {
    let listed = encoder(&["list"]).unwrap();
    let encoders = listed.split("walk encoders\n").nth(1).unwrap();
    let encoders = encoders.split("\n\n").next().unwrap();
    assert!(
        encoders.contains("Thrifty") && encoders.contains("AsPublished"),
        "{listed}"
    );
    let said = encoder(&["explain", "strategy.FedWalk.encoder.Thrifty.share"]).unwrap();
    assert!(
        said.contains("an entry costs") && said.contains("above 0, at most 1"),
        "{said}"
    );
    assert!(
        encoder(&["show", "thrifty", "--resolved"])
            .unwrap()
            .contains("        encoder: Thrifty(\n            share: 0.5,\n")
    );
    let checked = encoder(&["check", "thrifty"]).unwrap();
    assert!(checked.contains("OK; its sweep has 6 runs"), "{checked}");
    let refused = |setting: &str| encoder(&["check", "thrifty", "--set", setting]).unwrap_err();
    let said = refused("strategy.encoder.share=2");
    assert!(said.contains("must be greater than 0 and at most 1, got 2"), "{said}");
    let said = refused("strategy.encoder=Trifty");
    assert!(
        said.contains("there is no walk encoder `Trifty`, did you mean `Thrifty`?"),
        "{said}"
    );
}

#[test]
fn it_runs_is_verified_and_what_it_costs_is_charged() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("encoder");
    let _ = std::fs::remove_dir_all(&dir);
    let out = dir.to_str().unwrap();
    encoder(&["run", "thrifty", "--quiet", "--out", out]).unwrap();
    let said = encoder(&["verify", out, "--threads", "2"]).unwrap();
    assert!(said.contains("the same result hash"), "{said}");
    let privacy = std::fs::read_to_string(dir.join("privacy.csv")).unwrap();
    assert!(privacy.contains("thrifty response: walk entry"), "{privacy}");
    let summary = std::fs::read_to_string(dir.join("summary.json")).unwrap();
    let number = |name: &str| -> f64 {
        let (_, rest) = summary
            .split_once(&format!("\"{name}\": "))
            .unwrap_or_else(|| panic!("{summary}"));
        rest.split([',', '\n', '}']).next().unwrap().trim().parse().unwrap()
    };
    // Half of the card's budget of 2, among 34 vertices.
    let keep = std::f64::consts::E / (std::f64::consts::E + 33.0);
    assert!((number("encoder_keep_probability") - keep).abs() < 1e-12);
    assert_eq!(number("encoder_worst_log_ratio"), 1.0);
    assert_eq!(number("encoder_epsilon_nominal"), 2.0);
    assert!((number("encoder_changed_share") - (1.0 - keep)).abs() < 0.03);
}
