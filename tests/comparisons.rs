//! Comparisons as a newcomer writes them: what a sweep shows, what its arms share, and which
//! settings differ unnamed.

use crate::support::TempDir;
use folkmoot_metrics::{RunDir, SweepDir};

/// A card with this strategy and sweep, small enough for a test.
fn card(strategy: &str, sweep: &str) -> String {
    format!(
        "(dataset: GraphClasses(n_graphs: 40), partition: Iid(n_clients: 4), strategy: {strategy}, sweep: ({sweep}))"
    )
}

/// The resolved card of the first point of an arm.
fn scenario(temp: &TempDir, sweep: &str, point: &str) -> String {
    let dir = temp.join(sweep).join("points").join(point);
    RunDir::open(&dir).unwrap().scenario
}

const FEDAVG: &str = "FedAvg(model: (hidden: 32), training: (epochs: 3, learning_rate: 0.3), inputs: Degree(most: 8), protocol: (rounds: 3))";

#[test]
fn a_sweep_without_a_headline_shows_the_primary_metrics_of_every_strategy_it_runs() {
    let temp = TempDir::new();
    let arms = "arms: {\"mean\": {}, \"own\": {\"strategy\": Federated()}}, seeds: [1, 2]";
    temp.write("c.ron", card(FEDAVG, arms));
    let said = temp.run(&["sweep", "c.ron", "--out", "s"]).done();
    let sweep = SweepDir::open(&temp.join("s")).unwrap();
    let expected = [
        "test_accuracy",
        "payload_bytes",
        "virtual_s",
        "test_own_accuracy",
        "test_own_worst_tenth",
    ];
    assert_eq!(sweep.manifest.headline, expected);
    for name in ["test_accuracy", "test_own_accuracy"] {
        assert!(said.contains(name), "{said}");
    }
    assert!(!said.contains("messages_dropped"), "{said}");
    // A card that states its metrics keeps them.
    temp.write("d.ron", card(FEDAVG, &format!("{arms}, headline: [\"virtual_s\"]")));
    temp.run(&["sweep", "d.ron", "--out", "t", "--quiet"]).done();
    let sweep = SweepDir::open(&temp.join("t")).unwrap();
    assert_eq!(sweep.manifest.headline, ["virtual_s"]);
}

#[test]
fn an_arm_that_changes_the_algorithm_keeps_what_both_algorithms_share() {
    let temp = TempDir::new();
    let arms = "arms: {\"FedAvg\": {}, \"SCAFFOLD\": {\"strategy\": Scaffold()}, \"two rounds\": {\"strategy\": \
        Scaffold(renewal: FromGradient, protocol: (rounds: 2))}, \"named\": {\"strategy\": Scaffold(), \
        \"strategy.training.learning_rate\": 0.1}}, seeds: [1]";
    temp.write("c.ron", card(FEDAVG, arms));
    let checked = temp.run(&["check", "c.ron"]);
    assert!(
        checked.stderr.contains(
            "note: c.ron: sweep arm SCAFFOLD takes over from the card's strategy: model: (hidden: 32), training: (epochs: 3, \
             learning_rate: 0.3), inputs: Degree(most: 8), protocol: (rounds: 3)"
        ),
        "{checked:#?}"
    );
    // What the arm does not name and the algorithm decides is said, and nothing else.
    for words in [
        "warning: c.ron: 1:",
        "sweep.arms.SCAFFOLD: changes settings that it does not name: strategy.protocol.weighting is Uniform (Samples in the card); help: ",
    ] {
        assert!(checked.stderr.contains(words), "no {words} in {checked:#?}");
    }
    assert!(!checked.stderr.contains("hidden is"), "{checked:#?}");
    let swept = temp.run(&["sweep", "c.ron", "--out", "s"]);
    assert!(
        swept.stderr.contains("sweep.arms.SCAFFOLD: changes settings"),
        "{swept:#?}"
    );
    assert!(swept.done().contains("sweep arm SCAFFOLD: changes settings"));
    let plain = scenario(&temp, "s", "0001-arm=SCAFFOLD-seed=1");
    for words in [
        "hidden: 32",
        "epochs: 3",
        "learning_rate: 0.3",
        "rounds: 3",
        "weighting: Uniform",
        "most: 8",
    ] {
        assert!(plain.contains(words), "no {words} in {plain}");
    }
    let two = scenario(&temp, "s", "0002-arm=two_rounds-seed=1");
    for words in ["hidden: 32", "epochs: 3", "rounds: 2", "FromGradient"] {
        assert!(two.contains(words), "no {words} in {two}");
    }
    let named = scenario(&temp, "s", "0003-arm=named-seed=1");
    assert!(
        named.contains("learning_rate: 0.1") && named.contains("epochs: 3"),
        "{named}"
    );
}

/// Algorithms with rounds of their own run as many as the card's.
#[test]
fn an_arm_without_the_protocol_of_rounds_has_as_many_rounds() {
    let temp = TempDir::new();
    let arms = "arms: {\"FedAvg\": {}, \"gossip\": {\"strategy\": Gossip()}, \"named\": {\"strategy\": Gossip(rounds: 2)}}, seeds: [1]";
    temp.write("c.ron", card(FEDAVG, arms));
    temp.run(&["sweep", "c.ron", "--out", "s", "--quiet"]).done();
    let gossip = scenario(&temp, "s", "0001-arm=gossip-seed=1");
    assert!(gossip.contains("rounds: 3"), "{gossip}");
    let named = scenario(&temp, "s", "0002-arm=named-seed=1");
    assert!(named.contains("rounds: 2"), "{named}");
}

/// A sweep says what its runs warn of, as one of them does.
#[test]
fn a_sweep_says_that_a_setting_had_no_effect() {
    let temp = TempDir::new();
    let arms = "arms: {\"full\": {}, \"drop\": {\"dropout.prob\": 0.9}}, seeds: [1]";
    temp.write("c.ron", card(FEDAVG, arms));
    let said = temp.run(&["sweep", "c.ron", "--out", "s"]).done();
    assert!(
        said.contains("dropout.prob is 0.9, but clients dropped out of 0 of the"),
        "{said}"
    );
    let arms = "arms: {\"all\": {}, \"more\": {\"cohort\": Fraction(share: 1.0, over_select: 1.5)}, \
                \"two\": {\"cohort\": Size(n: 2)}}, seeds: [1]";
    temp.write("d.ron", card(FEDAVG, arms));
    let said = temp.run(&["sweep", "d.ron", "--out", "t"]).done();
    let words = "these arms have the same numbers in every run, so what they change had no effect here: all; more";
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(words) && !said.contains("all; more; two"), "{said}");
    // A dry run, which trains nothing, says nothing of the kind.
    let said = temp.run(&["sweep", "d.ron", "--dry-run", "--out", "u"]).done();
    assert!(!said.contains("the same numbers in every run"), "{said}");
}

/// What a card asks of its world and data, and a run did not have, does not count in its hash.
#[test]
fn a_run_says_what_it_did_not_have() {
    let temp = TempDir::new();
    temp.write("c.ron", card(FEDAVG, ""));
    let mut n = 0;
    let mut run = |settings: &[&str]| {
        n += 1;
        let out = format!("r{n}");
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let words: Vec<&str> = ["run", "c.ron", "--out", &out].into_iter().chain(sets).collect();
        temp.run(&words).done();
        let run = RunDir::open(&temp.join(&out)).unwrap();
        assert_eq!(Some(run.fingerprint().unwrap()), run.manifest.result_fingerprint);
        run.manifest.warnings.join("\n")
    };
    let took_time = "network=Links(uplink: (latency_ms: Constant(1000)))";
    for (settings, words) in [
        (
            &["horizon_s=1e-9"][..],
            "no round was finished before horizon_s = 0.000000001",
        ),
        (
            &[
                "availability=OnOff(mean_on_s: 1e5, mean_off_s: 1e5)",
                "partition=Iid(n_clients: 20)",
            ],
            "clients were offline during the whole run",
        ),
        (
            &["outages=(regions: 2, mean_between_s: 1e6)"],
            "all clients were online during the whole run",
        ),
        (
            &["strategy.split=Shares(train: 1.0, validation: 0.0)"],
            "no client has a test item",
        ),
        (
            &[
                "strategy.split=Common(train: 0.02, validation: 0.1)",
                "partition=Iid(n_clients: 20)",
            ],
            "of 20 clients have nothing to train on",
        ),
        (
            &[
                "strategy=Gossip(rounds: 2, inputs: Degree())",
                "network=Links(peer: (loss_prob: 1.0))",
            ],
            "no client received a model of another",
        ),
    ] {
        let warnings = run(settings);
        assert!(warnings.contains(words), "{settings:?}: {warnings}");
    }
    for settings in [
        &[took_time, "availability=OnOff(mean_on_s: 1, mean_off_s: 0.1)"][..],
        &["strategy=Gossip(rounds: 2, inputs: Degree())"],
    ] {
        let warnings = run(settings);
        assert!(!warnings.contains("during the whole run"), "{settings:?}: {warnings}");
        assert!(!warnings.contains("no client"), "{settings:?}: {warnings}");
    }
}

#[test]
fn a_setting_that_an_algorithm_cannot_take_over_is_refused_by_its_name() {
    let temp = TempDir::new();
    let strategy = "FedAvg(training: (optimiser: AdamW, learning_rate: 0.01), inputs: Degree())";
    let arms = "arms: {\"FedAvg\": {}, \"SCAFFOLD\": {\"strategy\": Scaffold()}}";
    temp.write("c.ron", card(strategy, arms));
    temp.run(&["check", "c.ron"]).refused(&[
        "sweep arm SCAFFOLD",
        "as in the card's strategy",
        "strategy.training.optimiser: must be Sgd() without momentum",
    ]);
}

#[test]
fn a_part_that_an_arm_replaces_as_a_whole_may_lose_settings_and_this_is_said() {
    let temp = TempDir::new();
    let checked = |arms: &str| {
        temp.write("c.ron", card(FEDAVG, &format!("arms: {{\"base\": {{}}, {arms}}}")));
        let checked = temp.run(&["check", "c.ron"]);
        assert_eq!(checked.code, Some(0), "{checked:#?}");
        checked.stderr
    };
    for (arms, words) in [
        (
            "\"slow\": {\"strategy.training\": (learning_rate: 0.1)}",
            "strategy.training.epochs is 10 (3 in the card)",
        ),
        (
            "\"other\": {\"dataset\": GraphClasses(n_classes: 3)}",
            "dataset.n_graphs is ",
        ),
        (
            "\"same\": {\"strategy\": FedAvg(training: (learning_rate: 0.1), inputs: Degree(most: 8))}",
            "strategy.model.hidden is 16 (32 in the card)",
        ),
    ] {
        let said = checked(arms);
        assert!(said.contains(words), "no {words:?} in {said}");
        assert_eq!(said.matches("does not name").count(), 1, "{said}");
    }
    for arms in [
        "\"slow\": {\"strategy.training\": (learning_rate: 0.1, epochs: 1)}",
        "\"slow\": {\"strategy.training\": (learning_rate: 0.1), \"strategy.training.epochs\": 5}",
        "\"other\": {\"dataset\": GraphClasses(n_classes: 3, n_graphs: 50)}",
        "\"skewed\": {\"partition\": LabelSkew(alpha: 0.5, n_clients: 4)}",
        "\"trimmed\": {\"strategy.protocol.aggregator\": TrimmedMean()}",
        "\"labels\": {\"strategy.protocol.weighting\": Uniform}",
    ] {
        let said = checked(arms);
        assert!(!said.contains("does not name"), "{arms}: {said}");
    }
    // An axis is a list of such values.
    temp.write(
        "c.ron",
        card(
            FEDAVG,
            "axes: {\"dataset\": [GraphClasses(n_graphs: 40), GraphClasses()]}",
        ),
    );
    let said = temp.run(&["check", "c.ron"]).stderr;
    assert!(
        said.contains("sweep.axes.dataset.1: changes") && said.contains(" (40 in the card)"),
        "{said}"
    );
}

#[test]
fn a_run_of_a_card_with_a_sweep_names_its_configuration_and_offers_the_sweep() {
    let temp = TempDir::new();
    let sweep = "arms: {\"base\": {}, \"near\": {\"strategy.training.fedprox_mu\": 0.1}}, axes: {\"partition.n_clients\": [2, 3]}";
    temp.write("c.ron", card(FEDAVG, sweep));
    let said = temp
        .run(&["run", "c.ron", "--seed", "2", "--set", "strategy.protocol.rounds=2"])
        .stderr;
    for words in [
        "arm = base, one of 2 values; partition.n_clients as in the card, not one of the 2 values",
        "folkmoot sweep c.ron --set strategy.protocol.rounds=2",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let said = temp
        .run(&[
            "run",
            "c.ron",
            "--set",
            "strategy.training.fedprox_mu=0.1",
            "--set",
            "partition.n_clients=3",
        ])
        .stderr;
    assert!(said.contains("partition.n_clients = 3, one of 2 values"), "{said}");
    let quiet = temp.run(&["run", "c.ron", "--quiet", "--out", "q"]);
    assert!(!quiet.stderr.contains("note:"), "{quiet:#?}");
    temp.write(
        "d.ron",
        "(dataset: GraphClasses(n_graphs: 40), partition: Iid(n_clients: 4), strategy: FedAvg(inputs: Degree()))",
    );
    let plain = temp.run(&["run", "d.ron", "--set", "strategy.protocol.rounds=1"]);
    assert!(!plain.stderr.contains("folkmoot sweep"), "{plain:#?}");
    let checked = temp.run(&["check", "d.ron"]).done();
    assert_eq!(checked, "d.ron: OK; one run; a sweep of it has 3 seeds\n");
}

#[test]
fn a_partition_that_cuts_most_edges_says_so_and_the_summary_counts_them() {
    let temp = TempDir::new();
    let card = |partition: &str| {
        format!(
            "(dataset: DcSbm(n_nodes: 200, n_classes: 4, mean_degree: 8, assortativity: 0.9), partition: {partition}, \
             strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)))"
        )
    };
    temp.write("iid.ron", card("Iid(n_clients: 10)"));
    let said = temp.run(&["run", "iid.ron", "--out", "iid"]);
    let run = RunDir::open(&temp.join("iid")).unwrap();
    let division = run.manifest.division.clone().unwrap();
    let share = 100.0 * division.cut_edges as f64 / division.edges as f64;
    assert!(share > 80.0, "{share}");
    let note = format!(
        "note: {share:.0} % of the edges ({} of {})",
        division.cut_edges, division.edges
    );
    assert!(said.stderr.contains(&note), "no {note:?} in {said:#?}");
    assert!(
        said.stderr.contains("help: partition: Louvain(n_clients: 10)"),
        "{said:#?}"
    );
    assert!(
        run.manifest.notes.iter().any(|noted| note.contains(&noted[..20])),
        "{:?}",
        run.manifest.notes
    );
    // In the file itself, and not in what the fingerprint is taken of.
    let summary = std::fs::read_to_string(temp.join("iid/summary.json")).unwrap();
    assert!(
        summary.contains(&format!("\"cut_edges\": {},", division.cut_edges)),
        "{summary}"
    );
    assert!(run.manifest.unhashed.contains(&"cut_edges".to_owned()));
    assert_eq!(Some(run.fingerprint().unwrap()), run.manifest.result_fingerprint);
    temp.run(&["verify", "iid"]).done();
    temp.write("louvain.ron", card("Louvain(n_clients: 4)"));
    let said = temp.run(&["run", "louvain.ron", "--out", "louvain"]);
    assert!(!said.stderr.contains("help: partition"), "{said:#?}");
    let axes = "sweep.axes={\"partition\": [Iid(n_clients: 10), Louvain(n_clients: 4)]}";
    let said = temp.run(&[
        "sweep",
        "iid.ron",
        "--set",
        axes,
        "--set",
        "sweep.seeds=[1]",
        "--out",
        "s",
    ]);
    let noted = format!("note: partition = Iid(n_clients: 10), seed 1: {}", &note[6..]);
    assert!(said.stderr.contains(&noted), "no {noted:?} in {said:#?}");
}

#[test]
fn a_model_that_is_no_better_than_the_majority_class_is_warned_of_and_marked() {
    let temp = TempDir::new();
    let strategy = "FedAvg(training: (learning_rate: 1e-9), inputs: Degree(), protocol: (rounds: 1))";
    temp.write(
        "c.ron",
        card(
            strategy,
            "arms: {\"still\": {}, \"moves\": {\"strategy.training\": (epochs: 20, learning_rate: 0.1)}}, seeds: [1]",
        ),
    );
    let said = temp.run(&["run", "c.ron", "--out", "r"]);
    let run = RunDir::open(&temp.join("r")).unwrap();
    let warned = run
        .manifest
        .warnings
        .iter()
        .find(|warning| warning.contains("is not above the majority class"));
    let warned = warned.unwrap_or_else(|| panic!("{:?} {:?}", run.manifest.warnings, run.summary));
    assert!(said.stderr.contains(&format!("warning: {warned}")), "{said:#?}");
    assert!(warned.contains("help: "), "{warned}");
    let said = temp.run(&["sweep", "c.ron", "--out", "s"]).done();
    assert!(
        said.contains("\nstill !") && said.contains("still, seed 1: test_accuracy"),
        "{said}"
    );
}
