//! Cards that break a rule: told with place, rule and way out, before anything is written.

use crate::support::{TINY, TempDir};

/// Runs a card of this text: refused with these words, and no directory is made.
#[track_caller]
fn refuses(card: impl AsRef<[u8]>, words: &[&str]) -> String {
    let temp = TempDir::new();
    temp.write("c.ron", card);
    let said = temp.run(&["run", "c.ron", "--out", "out"]).refused(words);
    assert!(said.starts_with("error: "), "{said}");
    assert_eq!(temp.names(), ["c.ron"]);
    // The checker alone says the same and reads no data.
    assert_eq!(temp.run(&["check", "c.ron"]).refused(words), said);
    assert_eq!(temp.run(&["show", "c.ron"]).refused(words), said);
    said
}

#[track_caller]
fn refuses_strategy(fields: &str, words: &[&str]) {
    refuses(format!("(dataset: Karate,\n strategy: Gossip({fields}))"), words);
}

#[track_caller]
fn refuses_field(field: &str, words: &[&str]) {
    refuses(format!("(dataset: Karate, strategy: Gossip(),\n {field})"), words);
}

#[test]
fn an_unknown_field_is_placed_and_the_nearest_one_offered() {
    let said = refuses_strategy_text("ruonds: 3");
    assert_eq!(
        said,
        "error: c.ron has 1 problem\n  2:19 strategy.ruonds: unknown field `ruonds` of `Gossip`, did you mean \
         `rounds`?\n  |\n2 |  strategy: Gossip(ruonds: 3))\n  |                   ^^^^^^\n"
    );
    refuses_field("sead: 3", &["2:2 sead: unknown field `sead`, did you mean `seed`?"]);
}

fn refuses_strategy_text(fields: &str) -> String {
    refuses(format!("(dataset: Karate,\n strategy: Gossip({fields}))"), &[])
}

#[test]
fn a_value_of_the_wrong_type_is_placed_and_the_right_one_named() {
    refuses_strategy(
        "rounds: \"x\"",
        &["2:27 strategy.rounds: expected a whole number, got text"],
    );
    refuses_strategy("mixing: true", &["2:27 strategy.mixing: expected a number"]);
    refuses_field("seed: 1.5", &["2:8 seed: expected a whole number", "got `1.5`"]);
    refuses_field(
        "question: 7",
        &["2:12 question: expected text in double quotes, got `7`"],
    );
    refuses_field("observe: \"late_models\"", &["2:11 observe: expected a list"]);
}

#[test]
fn a_value_out_of_range_is_placed_and_the_range_given() {
    refuses_strategy(
        "mixing: 1.5",
        &["2:27 strategy.mixing: must be greater than 0 and at most 1, got 1.5"],
    );
    refuses_strategy("rounds: 0", &["2:27 strategy.rounds: must lie in 1..=1000000, got 0"]);
    refuses_strategy("rounds: 4294967295", &["must lie in 1..=1000000, got 4294967295"]);
    refuses_strategy(
        "evaluate_every: 0",
        &["2:35 strategy.evaluate_every: must be at least 1, got 0"],
    );
    refuses_strategy(
        "model: (layers: 0)",
        &["2:35 strategy.model.layers: must lie in 1..=64, got 0"],
    );
    refuses_field("deadline_ms: 0", &["2:15 deadline_ms: must be greater than 0", "got 0"]);
    refuses_field("horizon_s: -1", &["2:13 horizon_s: must be greater than 0", "got -1"]);
    refuses_field(
        "header_bytes: 65536",
        &["2:16 header_bytes: must lie in 0..=65535, got 65536"],
    );
    refuses_field("dropout: (prob: 2)", &["2:18 dropout.prob: must lie in 0..=1, got 2"]);
    refuses_field(
        "devices: LogNormal(median_ops_per_s: 0, sigma: 0.7)",
        &["2:39 devices.median_ops_per_s: must be finite and at least 1, got 0"],
    );
    refuses_field(
        "network: Links(peer: (latency_ms: Constant(-3)))",
        &["2:36 network.peer.latency_ms: must lie in 0..=1e9, got -3"],
    );
    refuses_field(
        "network: Links(max_retries: 4000000000)",
        &["2:30 network.max_retries: must lie in 0..=100, got 4000000000"],
    );
}

#[test]
fn numbers_that_are_none_or_beyond_all_bounds_are_refused() {
    refuses_strategy(
        "timeout_s: NaN",
        &["2:30 strategy.timeout_s: must be greater than 0", "got NaN"],
    );
    refuses_strategy("timeout_s: inf", &["strategy.timeout_s", "got inf"]);
    refuses_strategy("timeout_s: 1e400", &["strategy.timeout_s", "got inf"]);
    refuses_strategy(
        "mixing: NaN",
        &["strategy.mixing: must be greater than 0 and at most 1, got NaN"],
    );
    refuses_strategy("rounds: -4", &["2:27 strategy.rounds: the number `-4` is too small"]);
    refuses_strategy(
        "rounds: 99999999999999999999999",
        &["2:27 strategy.rounds", "is too large"],
    );
    refuses_field(
        "deadline_ms: NaN",
        &["2:15 deadline_ms: must be greater than 0", "got NaN"],
    );
    refuses_field("horizon_s: 1e400", &["2:13 horizon_s", "got inf"]);
    refuses_field(
        "dropout: (prob: NaN)",
        &["2:18 dropout.prob: must lie in 0..=1, got NaN"],
    );
}

#[test]
fn graphs_of_no_node_or_of_billions_are_refused() {
    let card = |spec: &str| format!("(dataset: {spec}, strategy: FedAvg())");
    refuses(
        card("DcSbm(n_nodes: 0)"),
        &["1:26 dataset.n_nodes: must lie in 2..=67108864, got 0"],
    );
    refuses(
        card("DcSbm(n_nodes: 4000000000)"),
        &["1:26 dataset.n_nodes: must lie in 2..=67108864"],
    );
    refuses(
        card("ErdosRenyi(n_nodes: 10, mean_degree: 20)"),
        &["dataset.mean_degree: must lie in 0..=9"],
    );
    refuses(
        card("BarabasiAlbert(n_nodes: 3, edges_per_node: 3)"),
        &["dataset.edges_per_node"],
    );
    refuses(card("WattsStrogatz(neighbours: 3)"), &["dataset.neighbours"]);
}

#[test]
fn all_problems_are_said_at_once_in_the_order_of_the_text() {
    let card = "(\n  dataset: Karate,\n  strategy: Gossip(mixing: 1.5, ruonds: 3),\n  header_bytes: -1,\n  \
                cohort: Fixed(100),\n)\n";
    let said = refuses(card, &["error: c.ron has 4 problems"]);
    let places: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|line| line.split_once(": ").map(|(place, _)| place))
        .collect();
    assert_eq!(
        places,
        [
            "3:28 strategy.mixing",
            "3:33 strategy.ruonds",
            "4:17 header_bytes",
            "5:11 cohort"
        ]
    );
}

#[test]
fn a_card_without_content_data_or_strategy_says_what_must_be_given() {
    refuses("", &["1:1 the text is empty; write its fields as ( name: value, … )"]);
    refuses(" \n// nothing\n", &["the text is empty"]);
    refuses(
        "()",
        &[
            "2 problems",
            "dataset: must be given",
            "strategy: must be given",
            "see folkmoot list",
        ],
    );
    refuses(
        "(dataset: Karate)",
        &["strategy: must be given, such as strategy: FedAvg()"],
    );
    refuses("hello", &["1:1 `hello`"]);
    refuses("(dataset: Karate", &["1:1 `(` is never closed; add `)`"]);
    refuses("[1, 2]", &["1:1 ", "expected fields in parentheses"]);
}

#[test]
fn unknown_names_are_met_with_those_that_exist() {
    refuses(
        "(dataset: Karat, strategy: FedAvg())",
        &["1:11 dataset", "did you mean `Karate`?"],
    );
    refuses(
        "(dataset: Karate, strategy: Gosip())",
        &["1:29 strategy", "did you mean `Gossip`?"],
    );
    refuses_field(
        "cohort: Fixed(3)",
        &["2:10 cohort", "expected one of `All`, `Size`, `Fraction`"],
    );
    refuses_field(
        "observe: [\"nope\"]",
        &["2:12 observe.0: no such counter; there are missing_models, late_models"],
    );
    refuses_field("partition: ByMoon", &["2:13 partition", "`NodePerClient`"]);
}

#[test]
fn a_field_written_twice_is_refused_at_the_second() {
    refuses(
        "(dataset: Karate, dataset: Karate, strategy: FedAvg())",
        &["1:19 dataset: field `dataset` is written twice; remove one"],
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_do_not_move_positions() {
    refuses(
        "\u{feff}(dataset: Karate,\r\n strategy: Gossip(rounds: 0))\r\n",
        &["2:27 strategy.rounds: must lie in 1..=1000000, got 0"],
    );
    let temp = TempDir::new();
    temp.write(
        "c.ron",
        "\u{feff}(dataset: Karate,\r\n strategy: Gossip(inputs: Degree()))\r\n",
    );
    temp.run(&["check", "c.ron"]).done();
}

#[test]
fn random_bytes_are_no_card_however_many_they_are() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..10_000_000).map(|_| byte()).collect();
    refuses(
        &bytes,
        &["is larger than 1048576 bytes (1 MiB), the most a card may have"],
    );
    refuses(&bytes[..100_000], &["is not UTF-8 text: line 1", "save it as UTF-8"]);
    let brackets = "(".repeat(500_000);
    refuses(brackets, &["1:"]);
}

#[test]
fn sweeps_without_values_seeds_or_with_doubles_are_refused_at_their_place() {
    let refuses_sweep = |sweep: &str, words: &[&str]| refuses_field(&format!("sweep: ({sweep})"), words);
    refuses_sweep(
        "axes: {\"strategy.rounds\": []}",
        &["2:36 sweep.axes.\"strategy.rounds\": the axis has no values; give it some or remove it"],
    );
    refuses_sweep("seeds: []", &["2:17 sweep.seeds: needs at least one seed, as in [1]"]);
    refuses_sweep("seeds: [1, 1]", &["sweep.seeds: the seed 1 is listed twice"]);
    refuses_sweep(
        "axes: {\"strategy.rounds\": [5, 5]}",
        &["2:36 sweep.axes.\"strategy.rounds\": the value `5` is listed twice"],
    );
    let values = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let (rounds, widths) = (values(500), values(500));
    refuses_sweep(
        &format!("axes: {{\"strategy.rounds\": [{rounds}], \"strategy.model.hidden\": [{widths}]}}"),
        &["sweep: has 750000 points, at most 100000 are allowed; shorten an axis or the seeds"],
    );
}

#[test]
fn a_sweeps_values_are_checked_as_the_card_is_before_anything_runs() {
    let sweep = |axes: &str, words: &[&str]| {
        let temp = TempDir::new();
        temp.write(
            "c.ron",
            format!("(dataset: Karate, strategy: Gossip(), sweep: (axes: {{{axes}}}))"),
        );
        let said = temp.run(&["sweep", "c.ron", "--out", "out"]).refused(words);
        assert_eq!(temp.run(&["check", "c.ron"]).refused(words), said);
        assert_eq!(temp.names(), ["c.ron"]);
    };
    sweep(
        "\"strategy.ruonds\": [5, 6]",
        &[
            "sweep axis strategy.ruonds = 5",
            "unknown field",
            "did you mean `rounds`?",
        ],
    );
    sweep(
        "\"strategy.rounds\": [5, \"a\"]",
        &["sweep axis strategy.rounds = \"a\": expected a whole number, got text"],
    );
    sweep(
        "\"strategy.mixing\": [0.5, 2]",
        &["sweep axis strategy.mixing = 2: must be greater than 0 and at most 1, got 2"],
    );
}

#[test]
fn a_setting_is_refused_under_its_own_name() {
    let temp = TempDir::new();
    let refused = |setting: &str, words: &[&str]| {
        for command in ["run", "sweep"] {
            let args = [command, TINY, "--set", setting, "--out", "out"];
            temp.run(&args).refused(words);
        }
        temp.run(&["check", TINY, "--set", setting]).refused(words);
    };
    refused(
        "strategy.protocol.ruonds=3",
        &[
            "--set strategy.protocol.ruonds: unknown field",
            "did you mean `rounds`?",
        ],
    );
    refused(
        "strategi.protocol.rounds=3",
        &["--set strategi", "did you mean `strategy`?"],
    );
    refused(
        "strategy.protocol.rounds=0",
        &["--set strategy.protocol.rounds: must lie in 1..=1000000, got 0"],
    );
    refused(
        "strategy.protocol.rounds=long",
        &["--set strategy.protocol.rounds: expected a whole number"],
    );
    refused(
        "strategy.protocol.rounds",
        &["needs a value after the path, as in seed=1"],
    );
    refused(
        "strategy.protocol.rounds=",
        &["--set strategy.protocol.rounds: needs a value after the `=`"],
    );
    refused("=3", &["needs the path of a field, as in seed=1"]);
    refused("strategy.protocol.rounds.x=3", &["--set strategy.protocol.rounds.x"]);
    refused("sweep.seeds=[]", &["--set sweep.seeds: needs at least one seed"]);
    assert_eq!(temp.names(), [""; 0]);
}

#[test]
fn an_observed_counter_must_exist() {
    let temp = TempDir::new();
    for counter in ["nope", "", "\"", "a\nb"] {
        let args = ["run", TINY, "--observe", counter, "--out", "out"];
        temp.run(&args)
            .refused(&["--observe: observe.0: no such counter; there are refused_updates"]);
    }
    assert_eq!(temp.names(), [""; 0]);
}

#[test]
fn a_card_that_is_no_file_or_a_folder_is_met_with_the_way_out() {
    let temp = TempDir::new();
    std::fs::create_dir(temp.join("folder")).unwrap();
    for command in ["run", "sweep"] {
        let refused = |card: &str, words: &[&str]| {
            temp.run(&[command, card, "--out", "out"]).refused(words);
        };
        refused(
            "fed-avg/tin",
            &["neither a file nor a shipped card", "did you mean `fed-avg/tiny`?"],
        );
        refused(
            "no.ron",
            &[
                "no.ron has 1 problem",
                "neither a file nor a shipped card",
                "`list` names the shipped ones",
            ],
        );
        refused("", &["neither a file nor a shipped card"]);
        refused("folder", &["is a folder", "scenario.ron"]);
    }
    assert_eq!(temp.names(), ["folder"]);
}

#[test]
fn a_folder_named_as_a_shipped_card_does_not_hide_it() {
    let temp = TempDir::new();
    let run = ["run", TINY, "--quiet", "--out"];
    temp.run(&[run.as_slice(), &[TINY]].concat()).done();
    temp.run(&[run.as_slice(), &["again"]].concat()).done();
    assert_eq!(temp.run(&["compare", TINY, "again"]).done(), "no difference\n");
    temp.run(&["check", TINY]).done();
}

/// What is allowed and hardly meant is a warning with its place, and nothing more; a card without
/// it has none.
#[test]
fn what_is_hardly_meant_is_warned_of_where_it_stands() {
    let temp = TempDir::new();
    let card = |decay: &str| {
        let training = format!("training: (optimiser: Adam, weight_decay: {decay}, epochs: 1)");
        format!(
            "(\n    question: \"?\",\n    dataset: GraphClasses(n_graphs: 12, n_classes: 2),\n    partition: Iid(n_clients: 2),\n    \
             strategy: FedAvg(\n        inputs: Constant, protocol: (rounds: 1),\n        {training},\n    ),\n)\n"
        )
    };
    for (decay, is_doubtful) in [("0.1", true), ("0.0", false)] {
        temp.write("c.ron", card(decay));
        for args in [&["check", "c.ron"][..], &["run", "c.ron", "--out", decay]] {
            let ended = temp.run(args);
            let said = "strategy.training.optimiser: Adam normalises weight_decay (0.1) too";
            let line = ended.stderr.lines().find(|line| line.contains(said));
            assert_eq!(line.is_some(), is_doubtful, "{ended:#?}");
            assert!(
                line.is_none_or(|line| line.starts_with("warning: ") && line.contains("7:31")),
                "{line:?}"
            );
            ended.done();
        }
        let quiet = temp.run(&["run", "c.ron", "--quiet", "--out", &format!("quiet-{decay}")]);
        assert_eq!(quiet.stderr, "");
    }
    // An arm is warned of as a card is, once for all its seeds.
    let arms = "    sweep: (seeds: [1, 2], arms: {\"a\": {}, \"b\": {\"strategy.training.weight_decay\": 0.1}}),\n)\n";
    let whole = card("0.0");
    temp.write("arms.ron", whole.strip_suffix(")\n").unwrap().to_owned() + arms);
    for args in [&["check", "arms.ron"][..], &["sweep", "arms.ron", "--out", "arms"]] {
        let ended = temp.run(args);
        let said = ended.stderr.matches("Adam normalises weight_decay (0.1)").count();
        assert_eq!(said, 1, "{ended:#?}");
        ended.done();
    }
}

#[test]
fn what_a_method_and_a_protocol_do_not_go_together_in_is_found_without_data() {
    let refused = |method: &str, protocol: &str, at: &str, words: &[&str]| {
        let text = format!(
            "(dataset: GraphClasses(n_graphs: 30), partition: Iid(n_clients: 3),\n strategy: {method}\n  protocol: (weighting: Uniform,\n   {protocol})))"
        );
        let said = refuses(text, words);
        assert!(
            said.contains("\n  4:") && said.contains(at) && said.contains('^'),
            "{said}"
        );
    };
    let clients = "private: Clients(clip: 1.0)";
    let place = "strategy.protocol.private: must be Off here";
    refused(
        "Federated(method: Ifca(),",
        clients,
        place,
        &["also tell which model they chose"],
    );
    refused("Scaffold(", clients, place, &["control variate"]);
    refused(
        "FedAvg(model: (encoder: GinBatchNorm),",
        clients,
        place,
        &["running statistics"],
    );
    refused(
        "FedAvg(scale: Standardised,",
        "private: Items(clip: 1.0)",
        place,
        &["set scale: Raw"],
    );
    refused(
        "FedAvg(scale: Federated,",
        "rounds: 1",
        "strategy.protocol.rounds",
        &["must be at least 2"],
    );
    refused(
        "FedAvg(training: (epochs: 1),",
        "completeness: (partial_prob: 0.5)",
        "strategy.protocol.completeness",
        &["raise training.epochs"],
    );
}
