//! Random cards: those that were kept, and what is reported.

use crate::support::TempDir;
use std::path::Path;

#[test]
fn cards_that_once_broke_a_promise_keep_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_algorithms = TempDir::names_in(&root.join("scenarios"));
    let folders = of_algorithms
        .iter()
        .map(|name| root.join("scenarios").join(name).join("torture"));
    let folders = folders
        .filter(|folder| folder.is_dir())
        .chain([root.join("tests/torture/kept")]);
    let cards = folders.flat_map(|folder| {
        TempDir::names_in(&folder)
            .into_iter()
            .map(move |name| folder.join(name))
    });
    for card in cards {
        for seed in ["1", "2", "3"] {
            let ended = TempDir::new().run(&["torture", "--seed", seed, "--card", card.to_str().unwrap()]);
            assert_eq!(ended.code, Some(0), "{}, seed {seed}: {}", card.display(), ended.stderr);
        }
    }
}

#[test]
fn a_broken_promise_is_reported_with_its_card() {
    let dir = TempDir::new();
    dir.write("card.ron", "(dataset: Karate, strategy: Federated(inputs: Features))");
    let ended = dir.run(&["torture", "--card", "card.ron"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("card.ron: a card whose beginning is accepted can be run"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_seed_draws_one_world() {
    let report = |dir: &TempDir| {
        let ended = dir.run(&["torture", "--seed", "11"]);
        let drawn = |line: &&str| line.starts_with("cards:") || line.starts_with("drawn:");
        ended
            .stdout
            .lines()
            .filter(drawn)
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let reports = [report(&TempDir::new()), report(&TempDir::new())];
    assert_eq!(reports[0].len(), 2);
    assert_eq!(reports[0], reports[1]);
}
