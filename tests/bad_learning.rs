//! Data that cannot be learned from, or hardly: refused by their place, or learned from as
//! documented.

use crate::support::{Ended, TempDir, assert_same, result_of};
use folkmoot_metrics::RunDir;

/// The files of a set of six graphs of three nodes and two edges, two features, two classes; graph
/// `g` has class `g % 2`.
fn six_graphs() -> Vec<(&'static str, String)> {
    let arcs = |g: usize| {
        let [a, b, c] = [1, 2, 3].map(|node| 3 * g + node);
        format!("{a}, {b}\n{b}, {a}\n{b}, {c}\n{c}, {b}\n")
    };
    let of_graphs = |of_graph: &dyn Fn(usize) -> String| (0..6).map(of_graph).collect::<String>();
    vec![
        ("A", of_graphs(&arcs)),
        ("graph_indicator", of_graphs(&|g| format!("{}\n", g + 1).repeat(3))),
        ("graph_labels", of_graphs(&|g| format!("{}\n", g % 2))),
        (
            "node_attributes",
            of_graphs(&|g| format!("0.5, {0}\n1.5, {0}\n2.5, {0}\n", g % 2)),
        ),
    ]
}

const TWO_CLIENTS: &str = "partition: Iid(n_clients: 2), strategy: FedAvg(protocol: (rounds: 2))";

/// Runs FedAvg on the six graphs after `change` of one file.
fn run(temp: &TempDir, (part, change): (&str, &dyn Fn(String) -> String), settings: &str) -> Ended {
    for (name, content) in six_graphs() {
        let content = if name == part { change(content) } else { content };
        temp.write(&format!("data/tudataset/SIX/SIX_{name}.txt"), content);
    }
    temp.write("c.ron", format!("(dataset: TuDataset(name: \"SIX\"), {settings})"));
    temp.run(&["run", "c.ron", "--out", "out"])
}

#[track_caller]
fn refuses(part: &str, change: &dyn Fn(String) -> String, settings: &str, words: &[&str]) {
    let temp = TempDir::new();
    run(&temp, (part, change), settings).refused(words);
    assert_eq!(temp.names(), ["c.ron", "data"]);
}

/// What one file's content becomes is refused with `words`.
#[track_caller]
fn refuses_file(part: &str, change: &dyn Fn(String) -> String, words: &[&str]) {
    let repeat = "repeat with: folkmoot run c.ron";
    refuses(part, change, TWO_CLIENTS, &[words, &[repeat]].concat());
}

/// Runs on whole data, on one thread and on two, with one result.
fn learns(part: &str, change: &dyn Fn(String) -> String, settings: &str) -> RunDir {
    let temp = TempDir::new();
    run(&temp, (part, change), settings).done();
    temp.run(&["run", "c.ron", "--out", "two", "--threads", "2"]).done();
    assert_same(
        &result_of(&temp.join("out")),
        &result_of(&temp.join("two")),
        "two threads",
    );
    RunDir::open(&temp.join("out")).unwrap()
}

fn has_score(run: &RunDir, split: &str, metric: &str) -> bool {
    run.tables
        .scores
        .iter()
        .any(|row| row.split == split && row.metric == metric)
}

#[test]
fn a_graph_without_a_node_is_refused_by_its_number() {
    refuses_file(
        "graph_indicator",
        &|ids| ids.replace("3\n3\n3\n", "4\n4\n4\n"),
        &["SIX_graph_indicator.txt:7: graph 3 has no node"],
    );
    let later = |ids: String| {
        ids.lines()
            .map(|id| format!("{}\n", id.parse::<u32>().unwrap() + 1))
            .collect()
    };
    refuses_file(
        "graph_indicator",
        &later,
        &["SIX_graph_indicator.txt:1: graph 1 has no node"],
    );
    refuses_file(
        "graph_labels",
        &|labels| labels + "1\n",
        &["SIX_graph_indicator.txt: graph 7 has no node; list its nodes"],
    );
    refuses_file(
        "graph_indicator",
        &|ids| ids.replace("2\n2\n2\n", "2\n2\n1\n"),
        &["SIX_graph_indicator.txt:6: graph id 1 follows 2: nodes must be listed graph by graph"],
    );
    refuses_file(
        "graph_labels",
        &|_| String::new(),
        &["SIX_graph_labels.txt: the file is empty"],
    );
}

#[test]
fn a_feature_matrix_of_the_wrong_width_or_height_is_refused_by_its_line() {
    refuses_file(
        "node_attributes",
        &|rows| rows.replacen("1.5, 0\n", "1.5\n", 1),
        &["SIX_node_attributes.txt:2: expected 2 attributes as in the first line, got 1"],
    );
    refuses_file(
        "node_attributes",
        &|rows| rows.replacen("2.5, 0\n", "2.5, 0, 1\n", 1),
        &["SIX_node_attributes.txt:3: expected 2 attributes as in the first line, got 3"],
    );
    refuses_file(
        "node_attributes",
        &|rows| rows + "0.5, 1\n",
        &["SIX_node_attributes.txt: expected 18 lines to go with the other files, got 19"],
    );
    let none = "dataset: TuDataset(name: \"SIX\")";
    let temp = TempDir::new();
    for (name, content) in six_graphs().into_iter().filter(|(name, _)| *name != "node_attributes") {
        temp.write(&format!("data/tudataset/SIX/SIX_{name}.txt"), content);
    }
    temp.write("c.ron", format!("({none}, {TWO_CLIENTS})"));
    temp.run(&["run", "c.ron", "--out", "out"])
        .refused(&["FedAvg: the data set has no features; set inputs: Degree() or Constant"]);
}

#[test]
fn features_that_are_no_finite_numbers_are_refused_by_their_line() {
    for (spoilt, got) in [("NaN", "NaN"), ("-inf", "-inf"), ("1e39", "inf")] {
        refuses_file(
            "node_attributes",
            &|rows| rows.replacen("1.5", spoilt, 1),
            &[&format!(
                "SIX_node_attributes.txt:2: every attribute must be finite, got {got}"
            )],
        );
    }
    refuses_file(
        "node_attributes",
        &|rows| rows.replacen("1.5", "one", 1),
        &["SIX_node_attributes.txt:2: expected a number, got \"one\""],
    );
}

#[test]
fn labels_out_of_range_are_refused_by_their_line() {
    for (spoilt, why) in [
        ("1.5", "1.5 is a number to predict, not a class"),
        ("NaN", "the label of the graph is missing"),
        (
            "99999999999999999999",
            "100000000000000000000 is a number to predict, not a class",
        ),
        ("1, 0", "expected one label per graph, got several"),
    ] {
        let message = format!("SIX_graph_labels.txt:2: {why}");
        refuses_file("graph_labels", &|labels| labels.replacen('1', spoilt, 1), &[&message]);
    }
    refuses_file(
        "graph_indicator",
        &|ids| ids.replace("6\n", "7\n"),
        &["SIX_graph_indicator.txt:16: graph id 7 must lie in 1..=6 (the number of graphs)"],
    );
    // Classes are ranks, so these are the same two.
    let far = |labels: String| labels.replace('0', "-7").replace('1', "4000000000");
    let (plain, far) = (
        learns("", &|_| String::new(), TWO_CLIENTS),
        learns("graph_labels", &far, TWO_CLIENTS),
    );
    assert_eq!(plain.summary, far.summary);
}

#[test]
fn a_set_of_one_class_is_refused_and_a_split_of_one_has_no_area_under_the_curve() {
    refuses(
        "graph_labels",
        &|labels| labels.replace('1', "0"),
        TWO_CLIENTS,
        &["FedAvg: there must be at least 2 classes to tell apart, got 1"],
    );
    // One client with everything: a third of the graphs tests, and of five classes of one graph it
    // cannot have all.
    let one_client = "partition: Iid(n_clients: 1), \
         strategy: FedAvg(split: Shares(train: 0.7, validation: 0.0), protocol: (rounds: 2))";
    let run = learns("graph_labels", &|_| "1\n2\n3\n4\n5\n6\n".to_owned(), one_client);
    assert!(has_score(&run, "test", "accuracy") && has_score(&run, "test", "loss"));
    assert!(!has_score(&run, "test", "macro_auc") && !has_score(&run, "validation", "accuracy"));
}

#[test]
fn clients_with_an_empty_shard_take_part_and_count_nothing() {
    let settings = "partition: LabelSkew(n_clients: 6, alpha: 0.05, min_size: 0), \
         strategy: FedAvg(split: Shares(train: 0.5, validation: 0.0), protocol: (rounds: 3))";
    let run = learns("", &|_| String::new(), settings);
    let sizes: Vec<u64> = run.tables.clients.iter().map(|client| client.shard_size).collect();
    assert_eq!((sizes.iter().sum::<u64>(), sizes.len()), (6, 6));
    assert!(sizes.contains(&0), "{sizes:?}");
    // They answer with the model as it came; rounds are complete, and nothing is refused.
    assert!(
        run.tables
            .rounds
            .iter()
            .all(|round| (round.cohort, round.completed) == (6, 6))
    );
    assert_eq!(run.summary["refused_updates"], 0.0);
    let with_tests = sizes.iter().filter(|size| **size > 1).count() as u64;
    let row = run
        .tables
        .scores
        .iter()
        .find(|row| row.metric == "client_accuracy")
        .unwrap();
    assert!(
        row.n <= with_tests,
        "only clients with test items are in the mean: {row:?}"
    );
    refuses(
        "",
        &|_| String::new(),
        "partition: Iid(n_clients: 7), strategy: FedAvg()",
        &["6 items are too few for 7 clients with at least 1 each; lower partition.n_clients or partition.min_size"],
    );
}

#[test]
fn what_nobody_tests_has_no_scores() {
    // With one graph each, all train.
    let run = learns(
        "",
        &|_| String::new(),
        "partition: Iid(n_clients: 6), strategy: FedAvg(protocol: (rounds: 2))",
    );
    assert!(!has_score(&run, "test", "accuracy") && !has_score(&run, "validation", "accuracy"));
    assert!(!run.summary.contains_key("test_accuracy"));
    assert_eq!(run.tables.rounds[1].completed, 6);
}

#[test]
fn updates_that_overflow_are_refused_and_counted_and_the_run_goes_on() {
    let large = |rows: String| rows.replace("1.5", "3e38").replace("2.5", "-3e38");
    let run = learns("node_attributes", &large, TWO_CLIENTS);
    let refused = run.summary["refused_updates"];
    let completed: u64 = run.tables.rounds.iter().map(|round| round.completed).sum();
    assert!(refused > 0.0, "{:?}", run.summary);
    assert_eq!(refused + completed as f64, 4.0, "{:?}", run.summary);
    assert!(run.tables.scores.iter().all(|row| row.value.is_finite()));
}

#[test]
fn settings_that_do_not_suit_the_data_are_refused() {
    let nothing = &|_: String| String::new();
    let on_two = |settings: &str| format!("partition: Iid(n_clients: 2), strategy: FedAvg({settings})");
    refuses(
        "",
        nothing,
        &on_two("split: Published"),
        &["FedAvg: the data set was published without a split; set split: Shares()"],
    );
    refuses(
        "",
        nothing,
        &on_two("split: Shares(train: 0.0)"),
        &["strategy.split.train: must be greater than 0 and at most 1, got 0"],
    );
    refuses(
        "",
        nothing,
        "partition: KHop(), strategy: FedAvg()",
        &["partition KHop needs a set with one graph"],
    );
}
