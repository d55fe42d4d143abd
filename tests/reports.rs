//! Pages of results, and what they are made of: how the data are shared out.

use crate::support::{TINY, TempDir, files, rough, run_args, tiny};
use folkmoot_metrics::RunDir;

fn page(temp: &TempDir, name: &str) -> String {
    std::fs::read_to_string(temp.join(name)).unwrap()
}

#[test]
fn a_run_has_a_page_that_is_no_part_of_its_result() {
    let temp = TempDir::new();
    tiny().lay(&temp, "out");
    tiny().lay(&temp, "twin");
    let before = files(&temp.join("out"));
    assert_eq!(temp.run(&["report", "out"]).done(), "out/report.html\n");
    let page = page(&temp, "out/report.html");
    for text in [
        "What do dropouts cost in accuracy and messages",
        "3 clients on ContextualSbm",
        "How the data are shared out",
        "81 (22.5 %)",
        "ROC AUC of links by cosine distance",
        "Blind guess",
        "folkmoot run fed-avg/tiny",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Again, and on one thread, the same; and nothing else is touched or in anybody's way.
    temp.run(&["report", "out", "--threads", "1", "--out", "elsewhere/page.html"])
        .done();
    assert_eq!(self::page(&temp, "elsewhere/page.html"), page);
    // Nothing that is there is overwritten.
    temp.write("card.ron", "mine");
    std::os::unix::fs::symlink("card.ron", temp.join("link")).unwrap();
    for taken in ["card.ron", "link", "elsewhere", "elsewhere/page.html"] {
        temp.run(&["report", "out", "--out", taken])
            .refused(&[taken, "already exists and is never overwritten; choose another --out"]);
    }
    assert_eq!(self::page(&temp, "link"), "mine");
    let mut after = files(&temp.join("out"));
    after.remove("report.html").unwrap();
    assert_eq!(before, after);
    temp.run(&["verify", "out"]).done();
    temp.run(&["compare", "out", "twin"]).done();
}

#[test]
fn what_is_not_whole_or_not_measured_says_so() {
    let temp = TempDir::new();
    temp.run(&run_args(&["fed-avg/small"], "dry", &["--dry-run"])).done();
    temp.run(&["report", "dry"]).done();
    let page = page(&temp, "dry/report.html");
    assert!(
        page.contains("A dry run: every message simulated") && page.contains("An ideal world"),
        "{page}"
    );

    temp.run(&["report", "nowhere"]).refused(&["nowhere does not exist"]);
    tiny().lay(&temp, "out");
    temp.run(&["report", "out", "nowhere"])
        .refused(&["nowhere does not exist"]);
    temp.write("out/partition.csv", "client\n");
    temp.run(&["report", "out"]).refused(&["partition.csv: line 1"]);
    temp.write("out/messages.csv", "phase\n");
    temp.run(&["report", "out"]).refused(&["messages.csv: line 1"]);
    assert!(!temp.join("out/report.html").exists());
}

#[test]
fn two_runs_stand_side_by_side_with_what_was_asked_first() {
    let temp = TempDir::new();
    tiny().lay(&temp, "a");
    rough().lay(&temp, "b");
    assert_eq!(temp.run(&["report", "a", "b"]).done(), "a/report-beside-b.html\n");
    let page = page(&temp, "a/report-beside-b.html");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("Fields of the two scenarios that differ") < place("B − A"));
    assert!(place("dataset") < place("Messages by kind"));
    assert!(page.contains("GraphClasses") && page.contains("ContextualSbm"));
}

#[test]
fn a_sweep_has_a_page_with_its_arms_and_targets() {
    let temp = TempDir::new();
    let arms = "sweep=(arms: {\"mean\": {}, \"near\": {\"strategy.training.fedprox_mu\": 0.5}}, seeds: [1, 2])";
    let card = [
        "sweep",
        "fed-avg/algorithms",
        "--set",
        "strategy.protocol.rounds=3",
        "--set",
        arms,
    ];
    temp.run(&[&card[..], &["--quiet", "--out", "s"]].concat()).done();
    temp.run(&["report", "s"]).done();
    let page = page(&temp, "s/report.html");
    for text in [
        "Which algorithm reaches",
        "2 arms, each under 2 seeds (1, 2)",
        "near",
        "To test accuracy 0.9",
        "The answer by arm",
    ] {
        assert!(page.contains(text), "{text}");
    }
    tiny().lay(&temp, "run");
    temp.run(&["report", "s", "run"])
        .refused(&["a run and a sweep", "name two runs or two sweeps"]);
    std::fs::remove_dir_all(temp.join("s/points")).unwrap();
    // A sweep may be copied without its runs.
    temp.run(&["report", "s"]).done();
}

#[test]
fn the_split_says_who_has_what_before_the_run_begins() {
    let run = &tiny().run;
    let division = run.manifest.division.clone().unwrap();
    assert_eq!(
        (division.items, division.clients, division.edges, division.cut_edges),
        (90, 3, 360, 81)
    );
    // A row for each client and label.
    assert_eq!(run.tables.partition.iter().map(|row| row.items).sum::<u64>(), 90);
    let mut clients: Vec<_> = run
        .tables
        .partition
        .iter()
        .map(|row| (row.client, row.shard_size, row.inner_edges, row.cut_edges))
        .collect();
    clients.dedup();
    assert_eq!(clients.len(), 3);
    assert_eq!(clients.iter().map(|client| client.1).sum::<u64>(), 90);
    assert_eq!(clients.iter().map(|client| client.2).sum::<u64>(), 360 - 81);
    assert_eq!(clients.iter().map(|client| client.3).sum::<u64>(), 2 * 81);

    let temp = TempDir::new();
    let shown = temp.run(&["show", TINY, "--resolved"]).done();
    assert!(
        shown.contains("edges in no shard") && shown.contains("81 of 360"),
        "{shown}"
    );

    temp.run(&run_args(&["fed-avg/small"], "parts", &["--dry-run"])).done();
    let parts = RunDir::open(&temp.join("parts")).unwrap();
    let division = parts.manifest.division.clone().unwrap();
    let mut clients: Vec<_> = parts
        .tables
        .partition
        .iter()
        .map(|row| (row.client, row.shard_size, row.inner_edges, row.cut_edges))
        .collect();
    clients.dedup();
    assert_eq!(clients.len() as u64, division.clients);
    let sizes: Vec<u64> = parts.tables.clients.iter().map(|row| row.shard_size).collect();
    assert_eq!(clients.iter().map(|client| client.1).collect::<Vec<_>>(), sizes);
    let inner: u64 = clients.iter().map(|client| client.2).sum();
    assert_eq!(inner + division.cut_edges, division.edges);
}
