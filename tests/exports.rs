//! Exports: what is refused, and that what is made is whole. Other programs read them in `sim/python/tests`.

use crate::support::{TempDir, files, karate};
use std::process::Command;

const FORMS: [&str; 3] = ["--long-csv", "--parquet", "--tensorboard"];

#[test]
fn an_export_is_the_same_whenever_it_is_made() {
    let temp = TempDir::new();
    karate().lay(&temp, "a");
    karate().lay(&temp, "b");
    for form in FORMS {
        for dir in ["a", "b"] {
            temp.run(&["export", dir, form, "--to", &format!("made/{form}/{dir}")])
                .done();
        }
        let [a, b] = ["a", "b"].map(|dir| temp.join("made").join(form).join(dir));
        match a.is_dir() {
            true => assert_eq!(files(&a), files(&b)),
            false => assert!(std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap()),
        }
    }
    let printed = temp.run(&["export", "a", "--long-csv"]).done();
    assert_eq!(
        printed,
        std::fs::read_to_string(temp.join("made/--long-csv/a")).unwrap()
    );
    assert_eq!(printed.lines().count(), karate().run.scores.len() + 1);
}

#[test]
fn an_export_needs_one_form_and_a_place_of_its_own() {
    let temp = TempDir::new();
    karate().lay(&temp, "run");
    temp.write("there", "mine");
    let before = files(temp.path());
    temp.run(&["export", "run"]).refused(&FORMS);
    temp.run(&["export", "run", "--long-csv", "--parquet"])
        .refused(&["cannot be used with"]);
    for form in &FORMS[1..] {
        temp.run(&["export", "run", form]).refused(&["--to <PATH>"]);
    }
    for form in FORMS {
        let into = |to: &str| temp.run(&["export", "run", form, "--to", to]);
        for to in ["there", "run"] {
            into(to).refused(&[to, "already exists and is never overwritten; choose another --to"]);
        }
        into("there/below").refused(&["cannot write there/below"]);
    }
    temp.run(&["export", "nowhere", "--long-csv"])
        .refused(&["is not a run directory"]);
    assert!(files(temp.path()) == before);
}

#[test]
fn an_export_that_does_not_fit_leaves_nothing() {
    let temp = TempDir::new();
    karate().lay(&temp, "run");
    for form in FORMS {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" export run {form} --to made");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, crate::support::FOLKMOOT])
            .current_dir(temp.path());
        let ended = crate::support::Ended::of(&[form], shell.output().unwrap());
        ended.refused(&["cannot write made"]);
        assert_eq!(temp.names(), ["run"]);
    }
}

#[test]
fn an_export_says_what_an_unfinished_run_lacks() {
    let temp = TempDir::new();
    let dir = karate().lay(&temp, "run");
    let manifest = std::fs::read_to_string(dir.join("manifest.json")).unwrap();
    temp.write(
        "run/manifest.json",
        manifest.replace("\"finished\": true", "\"finished\": false"),
    );
    let ended = temp.run(&["export", "run", "--long-csv"]);
    let rounds = karate().run.rounds.len();
    assert_eq!(
        ended.stderr,
        format!("warning: run is not finished; what is exported has {rounds} rounds\n")
    );
    assert!(ended.done().lines().count() > 1);
    let nothing_yet = r#"{"name": "mine", "version": "0.1.0", "axes": [], "seeds": [1], "finished": false}"#;
    temp.write("sweep/sweep.json", nothing_yet);
    for form in FORMS {
        temp.run(&["export", "sweep", form, "--to", "made"])
            .refused(&["there is nothing to export yet"]);
    }
}
