//! What the README says and shows.

use super::{assert_generated, fences, source};
use crate::support::{TempDir, root};
use std::fs;

/// The README's example prints what it shows, and has the figure that it shows.
#[test]
fn the_readme_shows_the_output_and_the_figure_of_its_example() {
    let temp = TempDir::new();
    let printed = temp.run(&["sweep", "fed-avg/algorithms", "--out", "sweep"]).done();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = fences(&readme);
    let shown = shown.iter().find(|fence| fence.text.starts_with("$ ")).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    for line in shown.text.lines().skip(1).filter(|line| !line.is_empty()) {
        assert!(lines.contains(&line), "the README shows {line:?}:\n{printed}");
    }
    assert!(printed.contains("95 % confidence interval"), "{printed}");
    assert!(readme.contains(&format!(
        "# {} runs",
        TempDir::names_in(&temp.join("sweep/points")).len()
    )));
    let figures = temp.join("sweep/figures");
    let figure = fs::read_to_string(figures.join("target-test-accuracy-0-9.svg")).unwrap();
    assert_generated(&source().join("target.svg"), &figure);
}

/// Every number of the README outside the output of its example, which the test above compares, is
/// one that the page of the comparison, a card or the workspace states.
#[test]
fn no_number_of_the_readme_stands_alone() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (compared, card) = (read("sim/book/src/compared.md"), read("tests/bench/flower/card.ron"));
    let cells = |name: &str| -> Vec<String> {
        let line = compared
            .lines()
            .find(|line| line.starts_with(&format!("| {name} |")))
            .unwrap();
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = ["Flower", "PyTorch in one loop", "Folkmoot"].map(cells);
    let row = |name: &str, cell: &dyn Fn(&[String]) -> String| {
        format!("| {name} | {} |", rows.each_ref().map(|row| cell(row)).join(" | "))
    };
    // Means to the digits of a test set of forty graphs, less zeros at the end.
    let accuracy = |row: &[String]| {
        let seeds: Vec<f64> = row[2].split(", ").map(|x| x.parse().unwrap()).collect();
        assert_eq!(seeds.len(), 3);
        let mean = seeds.iter().sum::<f64>() / 3.0;
        let text = format!("{mean:.3}");
        match text.ends_with('0') || (mean * 40.0).fract().abs() > 1e-9 {
            true => format!("{mean:.2}"),
            false => text,
        }
    };
    let seconds = |row: &[String]| {
        let seconds: f64 = row[4].parse().unwrap();
        if seconds < 1.0 {
            format!("{seconds} s")
        } else {
            format!("{seconds:.0} s")
        }
    };
    let stated = [
        row("test accuracy (3 seeds, not significantly different)", &accuracy),
        row("processor time", &seconds),
        row("peak memory", &|row| format!("{} MB", row[5])),
        format!(
            "Flower {}",
            compared.split_once("flwr ").unwrap().1.split(".0 ").next().unwrap()
        ),
        format!(
            "MUTAG, {} clients, {} rounds",
            number_behind(&card, "n_clients: "),
            number_behind(&card, "rounds: ")
        ),
        format!("Rust {}", number_behind(&read("Cargo.toml"), "rust-version = \"")),
        format!(
            "{} % accuracy",
            100.0
                * number_behind(
                    &read("scenarios/classifiers/cards/fed-avg/algorithms.ron"),
                    "\"test_accuracy\": "
                )
                .parse::<f64>()
                .unwrap()
        ),
        // Conventions, names, and when times were measured.
        "95 % confidence interval".to_owned(),
        "Apache-2.0".to_owned(),
        "x86-64".to_owned(),
        "23 November 2026".to_owned(),
        "29 November 2026".to_owned(),
    ];
    let readme = read("README.md");
    let output = fences(&readme)
        .into_iter()
        .find(|fence| fence.text.starts_with("$ "))
        .unwrap()
        .text;
    let mut rest = readme.replace(&output, "");
    for text in &stated {
        assert!(rest.contains(text.as_str()), "the README does not say {text:?}");
        rest = rest.replace(text.as_str(), "");
    }
    let alone = rest.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()));
    assert_eq!(alone, None, "this number is checked by nothing");
}

/// The number that stands behind a word.
fn number_behind(text: &str, word: &str) -> String {
    let (_, behind) = text.split_once(word).unwrap();
    behind.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}
