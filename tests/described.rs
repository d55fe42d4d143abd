//! `folkmoot data describe`: a data set in numbers, and as a picture.

use crate::support::{TINY, TempDir};

#[test]
fn a_described_set_has_its_numbers_and_its_picture() {
    let temp = TempDir::new();
    let said = temp.run(&["data", "describe", "Karate", "--to", "k"]).done();
    let words = [
        "nodes                 34",
        "components            1, the largest of 34 nodes",
        "edges within a class  85.90 %",
        "16 to 31",
    ];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
    assert_eq!(
        TempDir::names_in(&temp.join("k/figures")),
        ["dataset.png", "dataset.svg"]
    );
    let json = temp.run(&["data", "describe", "Karate", "--format", "json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let degrees: Vec<u64> = json["degrees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["nodes"].as_u64().unwrap())
        .collect();
    assert_eq!(degrees.iter().sum::<u64>(), 34);
    assert_eq!(
        (&json["degree"]["max"], &json["labels"][1]["items"]),
        (&17.into(), &17.into())
    );
    temp.run(&["data", "describe", "Karat"]).refused(&["Karat"]);
    std::fs::write(temp.join("e.txt"), "0 1\n1 2\n").unwrap();
    temp.run(&["data", "describe", "e.txt"])
        .refused(&["error: e.txt is a file", "help: folkmoot data describe"]);
    let missing = [
        "blogcatalog.mat was not found",
        "repeat with: folkmoot data describe BlogCatalog",
    ];
    temp.run(&["data", "describe", "BlogCatalog", "--to", "b"])
        .refused(&missing);
    assert!(!temp.join("b").exists());
}

#[test]
fn a_set_of_graphs_has_sizes_and_a_drawn_one_its_seed() {
    let temp = TempDir::new();
    let describe = |seed: &str| {
        let set = "GraphClasses(n_graphs: 30, n_classes: 3, min_nodes: 5, max_nodes: 9)";
        let args = ["data", "describe", set, "--seed", seed, "--format", "json"];
        let json = temp.run(&args).done();
        serde_json::from_str::<serde_json::Value>(&json).unwrap()
    };
    let json = describe("1");
    let nodes = &json["nodes_of_a_graph"];
    assert!(
        nodes["min"].as_u64() >= Some(5) && nodes["max"].as_u64() <= Some(9),
        "{json:#}"
    );
    assert_eq!(
        (&json["graphs"], &json["labels"][2]["items"], &json["homophily"]),
        (&30.into(), &10.into(), &().into())
    );
    assert_eq!(describe("1"), json);
    assert_ne!(describe("2")["fingerprint"], json["fingerprint"]);
}

#[test]
fn shown_data_are_those_that_a_run_of_the_card_finds() {
    let temp = TempDir::new();
    temp.write("x.txt", "0 1\n1 2\n");
    let edges = "dataset=EdgeList(edges: \"x.txt\")";
    // A card that comes with the program has no folder of its own.
    let shown = temp.run(&["show", TINY, "--resolved", "--set", edges]);
    assert!(
        shown.stderr.contains("the card's data cannot be described"),
        "{shown:#?}"
    );
    temp.write("own.ron", temp.run(&["show", TINY]).done());
    let shown = temp.run(&["show", "own.ron", "--resolved", "--set", edges]).done();
    assert!(shown.contains("// nodes"), "{shown}");
}

#[test]
fn options_of_show_that_do_not_apply_are_refused() {
    let temp = TempDir::new();
    for (what, option) in [
        ("Karate", ["--set", "seed=2"].as_slice()),
        ("Karate", &["--resolved"]),
        (TINY, &["--baseline", "x"]),
    ] {
        let args = [&["show", what], option].concat();
        temp.run(&args).refused(&[option[0], "leave", what]);
    }
    temp.run(&["show", TINY, "--set", "rounds=3"])
        .refused(&["help:", "strategy.protocol.rounds=3"]);
}
