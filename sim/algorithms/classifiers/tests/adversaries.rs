//! Malicious clients of a trained classifier: they succeed against the mean, planted ones are found,
//! honest ones are not accused.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_classifiers::{fed_avg, federated, gossip};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{DataDirs, DataSource, Partitioner, datasets, partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

const GRAPHS: &str = "model: (encoder: Gin, hidden: 16, readout: Sum), inputs: Degree(most: 8),
    training: (epochs: 2, batch_size: 8, optimiser: Adam, learning_rate: 0.01)";
const NODES: &str = "model: (hidden: 8), training: (epochs: 2, learning_rate: 0.05)";
const BACKDOOR: &str = "adversary: SubgraphBackdoor(target: 0, nodes: 4, density: 1.0, share: 0.8";

fn graphs() -> datasets::GraphClasses {
    datasets::GraphClasses {
        n_graphs: 160,
        n_classes: 3,
        min_nodes: 12,
        max_nodes: 20,
    }
}

/// Two communities of 150 nodes with binary features.
fn nodes() -> datasets::ContextualSbm {
    datasets::ContextualSbm {
        n_nodes: 300,
        n_classes: 2,
        mean_degree: 6.0,
        assortativity: 0.8,
        n_features: 60,
        mark_prob: 0.3,
        other_prob: 0.1,
    }
}

fn outcome<P: Algorithm>(params: &P, dataset: &dyn DataSource, seed: u64) -> Result<Outcome, StrategyError> {
    let rng = |purpose: &[u8; 8]| Streams::new(seed).global(Purpose(*purpose));
    let dataset = Arc::new(dataset.load(&DataDirs::new(), &mut rng(b"dataset ")).unwrap());
    let spec = partition::Iid { n_clients: 10 };
    let partition = Arc::new(spec.divide(&dataset, &mut rng(b"partitn ")).unwrap());
    let prepared = params.prepare(&Source::new(&dataset, &partition, Streams::new(seed)))?;
    Ok(run(
        prepared.system(),
        &World::ideal(),
        seed,
        Options::default(),
        &mut Unobserved,
    )
    .unwrap())
}

fn settings(more: &str, protocol: &str) -> fed_avg::Params {
    let text = format!("({more}, protocol: (weighting: Uniform, {protocol}))");
    let settings = folkmoot_classifiers::only().settings(&text);
    settings.unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn number(outcome: &Outcome, metric: &str) -> f64 {
    let found = outcome.summary.iter().find(|(name, _)| name == metric);
    found
        .unwrap_or_else(|| panic!("no {metric} in {:?}", outcome.summary))
        .1
}

fn control(outcome: &Outcome, control: &str, metric: &str) -> f64 {
    let found = outcome
        .tables
        .controls
        .iter()
        .find(|row| row.control == control && row.metric == metric);
    found.unwrap_or_else(|| panic!("no {control} of {metric}")).value
}

fn on_graphs(protocol: &str, seed: u64) -> Outcome {
    outcome(&settings(GRAPHS, protocol), &graphs(), seed).unwrap()
}

#[test]
fn flipped_labels_lower_accuracy_and_move_the_source_class() {
    let protocol = |adversary: &str| format!("rounds: 12, malicious: (clients: Fraction(0.6), adversary: {adversary})");
    let honest = on_graphs(&protocol("Scaled(factor: 1.0)"), 1);
    let flipped = on_graphs(&protocol("LabelFlip()"), 1);
    let fall = number(&honest, "test_accuracy") - number(&flipped, "test_accuracy");
    assert!(fall > 0.2, "{fall}");
    let targeted = on_graphs(&protocol("LabelFlip(source: 1, target: 2)"), 1);
    assert!(number(&targeted, "test_attack_success") > 0.5, "{:?}", targeted.summary);
    assert!(
        targeted
            .tables
            .scores
            .iter()
            .any(|row| row.metric == "attack_success" && row.round == 0)
    );
    assert!(honest.summary.iter().all(|(name, _)| name != "test_attack_success"));
    // Honest clients are scored by themselves where there are malicious ones.
    assert!(number(&flipped, "test_honest_worst_tenth") <= number(&flipped, "test_honest_accuracy"));
}

#[test]
fn honest_clients_are_scored_without_the_malicious_ones() {
    let malicious = "rounds: 8, malicious: (clients: Named([1, 4, 7]), adversary: LabelFlip())";
    let found = on_graphs(malicious, 4);
    let rows = found
        .tables
        .client_scores
        .iter()
        .filter(|row| ![1, 4, 7].contains(&row.client));
    let mut accuracies: Vec<f64> = rows.map(|row| row.accuracy).collect();
    assert_eq!((accuracies.len(), found.tables.client_scores.len()), (7, 10));
    let mean = accuracies.iter().sum::<f64>() / 7.0;
    assert!((number(&found, "test_honest_accuracy") - mean).abs() < 1e-12);
    accuracies.sort_unstable_by(f64::total_cmp);
    assert_eq!(number(&found, "test_honest_worst_tenth"), accuracies[0]);
    let all = found.tables.client_scores.iter().map(|row| row.accuracy).sum::<f64>() / 10.0;
    assert!((all - mean).abs() > 1e-6, "malicious clients change the mean");
}

#[test]
fn a_backdoor_answers_to_its_trigger_alone() {
    for (spread, least) in [("Centralised", 0.6), ("Distributed", 0.2)] {
        let malicious = format!("rounds: 15, malicious: (clients: Fraction(0.4), {BACKDOOR}, spread: {spread}))");
        let found = on_graphs(&malicious, 2);
        let (with, without) = (
            number(&found, "test_attack_success"),
            control(&found, "without_trigger", "test_attack_success"),
        );
        assert!(with > without + 0.2 && with > least, "{spread}: {with} and {without}");
        assert!(number(&found, "test_accuracy") > 0.6, "{:?}", found.summary);
    }
    // Without malicious clients there is no attack.
    let off = on_graphs(&format!("rounds: 15, malicious: (clients: Off, {BACKDOOR}))"), 2);
    assert!(
        off.summary
            .iter()
            .all(|(name, _)| !name.contains("attack") && !name.contains("honest"))
    );
}

#[test]
fn a_feature_trigger_works_on_nodes() {
    let adversary = "NodeBackdoor(target: 1, features: 6, value: 3.0, share: 0.8)";
    let malicious = format!("rounds: 30, malicious: (clients: Fraction(0.4), adversary: {adversary})");
    let found = outcome(&settings(NODES, &malicious), &nodes(), 1).unwrap();
    let (with, without) = (
        number(&found, "test_attack_success"),
        control(&found, "without_trigger", "test_attack_success"),
    );
    assert!(with > without + 0.3, "{with} and {without}");
    let wrong = |more: &str, protocol: &str, dataset: &dyn DataSource, expected: &str| {
        let error = outcome(&settings(more, protocol), dataset, 1).err().unwrap();
        assert!(error.0.contains(expected), "{error:?}");
    };
    wrong(GRAPHS, &malicious, &graphs(), "use SubgraphBackdoor");
    let subgraph = format!("malicious: (clients: Fraction(0.4), {BACKDOOR}))");
    wrong(NODES, &subgraph, &nodes(), "use NodeBackdoor");
    let classes = "malicious: (clients: Fraction(0.4), adversary: LabelFlip(target: 3))";
    wrong(GRAPHS, classes, &graphs(), "there is no class 3; there are 3, from 0");
    let wide = "malicious: (clients: Fraction(0.4), adversary: NodeBackdoor(target: 0, features: 40, pieces: 2))";
    wrong(NODES, wide, &nodes(), "lower features or pieces");
}

#[test]
fn planted_adversaries_are_found_and_honest_clients_are_not() {
    let planted = "malicious: (clients: Fraction(0.3), adversary: SignFlip(factor: 5.0))";
    for aggregator in ["FlTrust(items: 40)", "Flame()"] {
        let found = on_graphs(&format!("rounds: 4, aggregator: {aggregator}, {planted}"), 1);
        assert!(
            number(&found, "detection_recall") > 0.9,
            "{aggregator}: {:?}",
            found.summary
        );
        assert!(
            number(&found, "detection_precision") > 0.5,
            "{aggregator}: {:?}",
            found.summary
        );
    }
    let accused = |seed| {
        number(
            &on_graphs("rounds: 2, aggregator: FlTrust(items: 40)", seed),
            "falsely_excluded",
        )
    };
    let most = (0..20).map(accused).fold(0.0, f64::max);
    assert!(most <= 0.15, "{most} of honest updates excluded");
    let honest = on_graphs("rounds: 2, aggregator: FlTrust(items: 40)", 1);
    assert!(honest.summary.iter().all(|(name, _)| !name.starts_with("detection")));
}

#[test]
fn clients_that_move_alike_are_found_by_their_history() {
    let colluding = "malicious: (clients: Fraction(0.3), adversary: InnerProduct(factor: 5.0))";
    let found = on_graphs(&format!("rounds: 4, aggregator: FoolsGold(), {colluding}"), 1);
    assert!(number(&found, "detection_recall") > 0.9, "{:?}", found.summary);
}

#[test]
fn malicious_neighbours_lower_the_accuracy_of_gossip() {
    let of = |malicious: &str| {
        let text = format!("({GRAPHS}, rounds: 10, topology: Complete(), malicious: {malicious})");
        let params: gossip::Params = folkmoot_classifiers::only().settings(&text).unwrap();
        outcome(&params, &graphs(), 1).unwrap()
    };
    let honest = of("(clients: Fraction(0.3), adversary: Scaled(factor: 1.0))");
    let flipped = of("(clients: Fraction(0.3), adversary: SignFlip(factor: 5.0))");
    let fall = number(&honest, "test_honest_accuracy") - number(&flipped, "test_honest_accuracy");
    assert!(fall > 0.1, "{fall}");
    assert_eq!(
        number(&of("(clients: Off)"), "test_accuracy"),
        number(&honest, "test_accuracy")
    );
    let backdoor = of(&format!("(clients: Fraction(0.4), {BACKDOOR}))"));
    assert!(number(&backdoor, "test_attack_success") > control(&backdoor, "without_trigger", "test_attack_success"));
    let text = format!("({GRAPHS}, malicious: (clients: Fraction(0.3), adversary: MinMax()))");
    let refused = folkmoot_classifiers::only()
        .settings::<gossip::Params>(&text)
        .unwrap_err();
    assert!(format!("{refused:?}").contains("colludes"), "{refused:?}");
}

#[test]
fn a_server_trains_no_part_of_a_model() {
    let settings = |method: &str| {
        let text = format!("(method: {method}, protocol: (aggregator: FlTrust()))");
        folkmoot_classifiers::only().settings::<federated::Params>(&text)
    };
    assert!(settings("Global").is_ok());
    for method in ["FedPer()", "FedRep()", "LocalOnly()", "Ifca()"] {
        let problems = settings(method).unwrap_err();
        assert!(
            format!("{problems:?}").contains("shares a part"),
            "{method}: {problems:?}"
        );
    }
}
