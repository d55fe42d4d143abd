//! Comparisons as a newcomer writes them: what a sweep shows, what its arms share, and which settings differ unnamed.

use crate::support::TempDir;
use folkmoot_metrics::SweepDir;

/// A card with this strategy and sweep, small enough for a test.
fn card(strategy: &str, sweep: &str) -> String {
    format!(
        "(dataset: GraphClasses(n_graphs: 40), partition: Iid(n_clients: 4), strategy: {strategy}, sweep: ({sweep}))"
    )
}

const FEDAVG: &str =
    "FedAvg(model: (hidden: 32), training: (epochs: 3, rate: 0.3), inputs: Degree(most: 8), protocol: (rounds: 3))";

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
