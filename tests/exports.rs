//! Exports: what is rejected, and that a file appears whole or not at all. `sim/python/tests` tests
//! the forms of the Python package.

use crate::support::{Ended, TempDir, files, tiny};
use std::fs;
use std::process::Command;

const CSV: &str = "--long-csv";

#[test]
fn an_export_is_the_same_whenever_it_is_made() {
    let temp = TempDir::new();
    tiny().lay(&temp, "a");
    tiny().lay(&temp, "b");
    for dir in ["a", "b"] {
        temp.run(&["export", dir, CSV, "--to", &format!("made/{dir}")]).done();
    }
    let printed = temp.run(&["export", "a", CSV]).done();
    for dir in ["a", "b"] {
        assert_eq!(printed, fs::read_to_string(temp.join("made").join(dir)).unwrap());
    }
    assert_eq!(printed.lines().count(), tiny().run.tables.scores.len() + 1);
}

#[test]
fn an_export_needs_a_form_and_a_place_of_its_own() {
    let temp = TempDir::new();
    tiny().lay(&temp, "run");
    temp.write("there", "mine");
    let before = files(temp.path());
    temp.run(&["export", "run"]).refused(&[CSV]);
    let into = |to: &str| temp.run(&["export", "run", CSV, "--to", to]);
    for to in ["there", "run"] {
        into(to).refused(&[to, "already exists and is never overwritten; choose another --to"]);
    }
    into("there/below").refused(&["cannot write there/below"]);
    temp.run(&["export", "nowhere", CSV])
        .refused(&["is not a run directory"]);
    assert!(files(temp.path()) == before);
}

#[test]
fn what_the_python_package_writes_is_answered_with_its_command() {
    let temp = TempDir::new();
    tiny().lay(&temp, "my run");
    let said = |args: &[&str]| temp.run(&[&["export", "my run"], args].concat());
    said(&["--parquet", "--to", "a b.parquet"]).refused(&[
        "pip install './sim/python[parquet]'",
        "\nhelp: python -m folkmoot export 'my run' --parquet --to 'a b.parquet'\n",
    ]);
    said(&["--parquet"]).refused(&["--to scores.parquet\n"]);
    said(&["--tensorboard"]).refused(&[
        "pip install './sim/python[tensorboard]'",
        "\nhelp: python -m folkmoot export 'my run' --tensorboard --to board\n",
    ]);
    said(&[CSV, "--parquet"]).refused(&["cannot be used with"]);
    assert_eq!(temp.names(), ["my run"]);
}

#[test]
fn an_export_that_does_not_fit_leaves_nothing() {
    let temp = TempDir::new();
    tiny().lay(&temp, "run");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" export run {CSV} --to made");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script, crate::support::FOLKMOOT])
        .current_dir(temp.path());
    let ended = crate::support::Ended::of(&[CSV], shell.output().unwrap());
    ended.refused(&["cannot write made"]);
    assert_eq!(temp.names(), ["run"]);
}

#[test]
fn an_export_says_what_an_unfinished_run_lacks() {
    let temp = TempDir::new();
    let dir = tiny().lay(&temp, "run");
    let manifest = std::fs::read_to_string(dir.join("manifest.json")).unwrap();
    temp.write(
        "run/manifest.json",
        manifest.replace("\"finished\": true", "\"finished\": false"),
    );
    let ended = temp.run(&["export", "run", "--long-csv"]);
    let rounds = tiny().run.tables.rounds.len();
    assert_eq!(
        ended.stderr,
        format!("warning: run is not finished; what is exported has {rounds} rounds\n")
    );
    assert!(ended.done().lines().count() > 1);
    let nothing_yet = r#"{"name": "mine", "version": "0.1.0", "axes": [], "seeds": [1], "finished": false}"#;
    temp.write("sweep/sweep.json", nothing_yet);
    temp.run(&["export", "sweep", CSV, "--to", "made"])
        .refused(&["there is nothing to export yet"]);
}

/// `tests/metadata.py` reads both with the packages of their standards.
#[test]
fn a_directory_and_a_file_of_data_have_metadata_beside_them() {
    let temp = TempDir::new();
    tiny().lay(&temp, "run");
    let words = ["export", "run", "--ro-crate"];
    let made = || {
        let mut command = temp.command(&words);
        Ended::of(&words, command.env("SOURCE_DATE_EPOCH", "1795910400").output().unwrap())
    };
    assert_eq!(made().done().trim(), "run/ro-crate-metadata.json");
    let text = fs::read_to_string(temp.join("run/ro-crate-metadata.json")).unwrap();
    assert!(text.contains("\"datePublished\": \"2026-11-29\""), "{text}");
    assert!(text.contains("\"@id\": \"summary.json\""), "{text}");
    made().refused(&["already exists and is never overwritten"]);

    let set = "Rmat(n_nodes: 64)";
    let printed = temp
        .run(&["data", "generate", set, "--to", "g.fkm", "--croissant"])
        .done();
    assert!(printed.ends_with("g.fkm.croissant.json\n"), "{printed}");
    let text = fs::read_to_string(temp.join("g.fkm.croissant.json")).unwrap();
    for said in ["\"contentUrl\": \"g.fkm\"", "A graph with 64 nodes", "--to g.fkm"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}
