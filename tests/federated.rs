//! FedAvg from its card to its run directory.

use crate::support::{TempDir, assert_same, result_of, run_args};
use folkmoot_metrics::RunDir;

#[test]
fn a_buffer_that_all_clients_together_cannot_fill_is_refused() {
    let temp = TempDir::new();
    let aggregation = "strategy.protocol.aggregation=Buffered(size:4294967295)";
    temp.run(&["run", "fed-avg/small", "--set", aggregation, "--out", "out"])
        .refused(&[
            "protocol.aggregation.size: must be at most",
            "(clients), got 4294967295",
        ]);
    assert!(temp.names().is_empty());
}

#[test]
fn the_small_card_learns_and_its_tables_add_up() {
    let temp = TempDir::new();
    temp.run(&run_args(&["fed-avg/small"], "out", &["--threads", "2"]))
        .done();
    let run = RunDir::open(&temp.join("out")).unwrap();
    let number = |name: &str| run.summary[name];
    assert!(number("test_accuracy") > 0.8, "{:?}", run.summary);
    assert!(number("test_accuracy@majority_class") < 0.5);
    // 20 rounds of 10 clients; an update is 4 bytes longer than a model.
    assert_eq!((number("model_messages"), number("update_messages")), (200.0, 200.0));
    assert_eq!(number("update_payload_bytes") - number("model_payload_bytes"), 800.0);
    for row in &run.tables.messages {
        assert_eq!(
            (row.sent, row.delivered, row.expected_messages),
            (10, 10, Some(10.0)),
            "{row:?}"
        );
    }
    assert_eq!(run.tables.rounds.len(), 20);
    assert!(
        run.tables
            .rounds
            .iter()
            .all(|row| (row.cohort, row.completed, row.dropped) == (10, 10, 0))
    );
    let accuracies = run
        .tables
        .scores
        .iter()
        .filter(|row| row.split == "test" && row.metric == "accuracy");
    assert_eq!(accuracies.count(), 20);
    assert_eq!(run.tables.privacy[0].mechanism, "none: weights");
    assert!(temp.join("out/figures/score-accuracy-by-round.svg").exists());
}

#[test]
fn threads_windows_and_wire_check_change_no_byte_of_a_rough_federation() {
    let rough = [
        "--set",
        "strategy.protocol.rounds=6",
        "--set",
        "cohort=Size(n: 6, over_select: 1.5)",
        "--set",
        "availability=Bernoulli(online_prob: 0.8)",
        "--set",
        "devices=LogNormal(median_ops_per_s: 1e6, sigma: 1)",
        "--set",
        "deadline_ms=20000",
    ];
    for aggregation in ["Synchronous", "Buffered(size: 3)"] {
        let temp = TempDir::new();
        let set = format!("strategy.protocol.aggregation={aggregation}");
        let play = |out: &str, more: &[&str]| {
            let args: Vec<&str> = rough
                .iter()
                .copied()
                .chain(["--set", &set])
                .chain(more.iter().copied())
                .collect();
            temp.run(&run_args(&["fed-avg/small"], out, &args)).done();
            result_of(&temp.join(out))
        };
        let first = play("one", &["--threads", "1"]);
        for (out, more) in [
            ("three", ["--threads", "3"].as_slice()),
            ("windows", &["--threads", "2", "--no-windows"]),
            ("wire", &["--threads", "2", "--wire-check"]),
        ] {
            assert_same(&first, &play(out, more), out);
        }
    }
}

#[test]
fn what_a_card_gets_wrong_is_named_where_it_stands() {
    let temp = TempDir::new();
    let card = "(dataset: GraphClasses(n_classes: 9), strategy: FedAvg(model: (hidden: 0), protocol: (server_optimizer: Momentum(beta: 2))))";
    temp.write("c.ron", card);
    let ended = temp.run(&["check", "c.ron"]);
    assert_eq!(ended.code, Some(2));
    for field in [
        "dataset.n_classes",
        "strategy.model.hidden",
        "strategy.protocol.server_optimizer.beta",
    ] {
        assert!(ended.stderr.contains(field), "{field} in {}", ended.stderr);
    }
    temp.write("d.ron", "(dataset: GraphClasses(), strategy: FedAvg())");
    let ended = temp.run(&["run", "d.ron"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("set inputs: Degree()"), "{}", ended.stderr);
}
