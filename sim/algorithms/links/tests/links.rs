//! Link prediction as a run: what it learns, sends and says of settings and data that do not suit.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::{data, holds, play};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Graph, Partition, Partitioner, datasets, partition};
use folkmoot_links::{Params, only};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

fn params(text: &str) -> Params {
    only().settings(text).unwrap()
}

/// Communities whose features mark them.
fn blocks() -> Arc<Dataset> {
    let spec = datasets::ContextualSbm {
        n_nodes: 240,
        n_classes: 4,
        mean_degree: 10.0,
        assortativity: 0.9,
        n_features: 24,
        mark_prob: 0.3,
        other_prob: 0.05,
    };
    let rng = &mut Streams::new(4).global(Purpose(*b"testdata"));
    Arc::new(spec.load(&DataDirs::new(), rng).unwrap())
}

fn iid(dataset: &Dataset, n_clients: u32) -> Arc<Partition> {
    let rng = &mut Streams::new(1).global(Purpose(*b"partitn "));
    Arc::new(partition::Iid { n_clients }.divide(dataset, rng).unwrap())
}

fn run_of(dataset: &Arc<Dataset>, partition: &Arc<Partition>, text: &str) -> Outcome {
    let prepared = params(text)
        .prepare(&Source::new(dataset, partition, Streams::new(3)))
        .unwrap();
    run(
        prepared.system(),
        &World::ideal(),
        3,
        Options::default(),
        &mut Unobserved,
    )
    .unwrap()
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

const ADAM: &str = "model: (hidden: 16, outputs: 8), training: (epochs: 2, optimiser: Adam, learning_rate: 0.02)";

#[test]
fn it_learns_to_rank_held_out_edges_first_and_sends_what_its_table_says() {
    let dataset = blocks();
    let text = format!("({ADAM}, cross_edges: Known, compared_with: [Local, Centralised], protocol: (rounds: 15))");
    let outcome = run_of(&dataset, &iid(&dataset, 4), &text);
    let area = |control: &str| number(&outcome, &format!("test_auc{control}"));
    assert!(area("") > 0.8, "{}", area(""));
    assert!(
        area("@centralised") > 0.8 && area("@untrained") < 0.75,
        "{:?}",
        outcome.summary
    );
    assert!(
        (0.5..area("")).contains(&area("@feature_cosine")),
        "{:?}",
        outcome.summary
    );
    assert!(number(&outcome, "test_inner_auc@local") > 0.5);
    assert!(number(&outcome, "test_cross_auc") > 0.8);
    assert!(number(&outcome, "test_hits_at_10") >= number(&outcome, "test_hits_at_1"));
    // GCN 24-16-8: weights and biases.
    let n = 24 * 16 + 16 + 16 * 8 + 8;
    let of_kind = |kind: &str| {
        let rows = outcome.ledger.rows().filter(|(row, ..)| row.name == kind);
        rows.map(|(.., cell)| cell.payload_bytes).sum::<u64>()
    };
    assert_eq!(
        [of_kind("model"), of_kind("update")],
        [15 * 4 * 4 * n, 15 * 4 * (4 * n + 4)]
    );
}

#[test]
fn a_client_with_all_nodes_is_the_centralised_model_but_for_its_draws() {
    let dataset = blocks();
    let text = format!("({ADAM}, compared_with: [Centralised], protocol: (rounds: 20))");
    let outcome = run_of(&dataset, &iid(&dataset, 1), &text);
    let [federated, centralised] = ["test_auc", "test_auc@centralised"].map(|name| number(&outcome, name));
    assert!((federated - centralised).abs() < 0.03, "{federated} and {centralised}");
    assert_eq!(
        number(&outcome, "test_auc@untrained"),
        number(&outcome, "test_auc@untrained")
    );
    assert!(
        outcome
            .summary
            .iter()
            .all(|(name, _)| !name.starts_with("test_cross_auc"))
    );
}

#[test]
fn one_node_per_user_learns_from_ego_networks_and_strangers() {
    let dataset = blocks();
    let users = Arc::new(Partition::one_item_each(240));
    let text = format!(
        "({ADAM}, cross_edges: Known, negatives: (strangers: 20), split: (supervision: Apart()), protocol: (rounds: 10))"
    );
    let outcome = run_of(&dataset, &users, &text);
    let [trained, untrained] = ["test_cross_auc", "test_cross_auc@untrained"].map(|name| number(&outcome, name));
    assert!(trained > 0.7 && trained > untrained, "{trained} and {untrained}");
    assert_eq!(number(&outcome, "test_auc"), trained, "all pairs lie between clients");
}

#[test]
fn attacks_find_edges_that_messages_pass_along() {
    let dataset = blocks();
    let text = |more: &str| format!("({ADAM}, attacked_edges: 400, split: (test: 0.3{more}), protocol: (rounds: 10))");
    let same = run_of(&dataset, &iid(&dataset, 1), &text(""));
    assert!(number(&same, "link_auc") > 0.7, "{:?}", same.summary);
    assert!(number(&same, "link_auc@feature_cosine") < 0.7, "{:?}", same.summary);
    assert!(number(&same, "membership_auc") > 0.55, "{:?}", same.summary);
    // Predicted edges without messages are to the untrained model as test edges are.
    let apart = run_of(
        &dataset,
        &iid(&dataset, 1),
        &text(", supervision: Apart(fraction: 0.5)"),
    );
    for control in ["@untrained", "@feature_cosine"] {
        let area = number(&apart, &format!("membership_auc{control}"));
        assert!((0.43..0.57).contains(&area), "{control}: {area}");
    }
    let none = run_of(&dataset, &iid(&dataset, 1), &format!("({ADAM}, protocol: (rounds: 1))"));
    assert!(none.summary.iter().all(|(name, _)| !name.starts_with("membership")));
}

#[test]
fn in_fed_links() {
    let up: &[&str] = &["update"];
    let masked: &[&str] = &["keys", "shares", "masked_update"];
    let small = "model: (hidden: 4, outputs: 3), training: (epochs: 2), protocol: (rounds: 2";
    holds::<Params>(
        &only(),
        data::parts,
        &[
            (&format!("({small}))"), up),
            (
                &format!("({small}), decoder: Mlp(hidden: 3), split: (supervision: Apart()))"),
                up,
            ),
            (&format!("({small}, secure: Pairwise()))"), masked),
        ],
    );
}

#[test]
fn what_others_give_a_client_is_a_declared_set_up() {
    let two = data::parts(data::Change::everything(7));
    let trusted = |text: &str| play(&params(text), &two.one, &two.partition).trusted;
    assert_eq!(trusted("(protocol: (rounds: 1))"), None);
    let said = trusted("(protocol: (rounds: 1), cross_edges: Known, negatives: (strangers: 2))").unwrap();
    assert!(said.contains("edges with, and of random ones"), "{said}");
}

#[test]
fn settings_that_do_not_suit_are_refused() {
    let refused = |text: &str, words: &str| {
        let said = only().settings::<Params>(text).err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    };
    refused("(training: (loss: Focal()))", "training.loss: must be OfTask()");
    refused(
        "(split: (validation: 0.5, test: 0.5))",
        "split.test: must be below 1 together",
    );
    refused(
        "(model: (encoder: Structured(), hidden: 8))",
        "model.encoder: needs a head",
    );
    refused("(model: (encoder: Gat(heads: 3), hidden: 8))", "model.encoder.heads");
    let private = "protocol: (weighting: Uniform, private: Clients(clip: 1, noise_multiplier: 1))";
    let allowed = only().settings::<Params>(&format!("({private})"));
    assert!(allowed.is_ok(), "{}", allowed.err().unwrap());
    refused(&format!("(cross_edges: Known, {private})"), "protocol.private");
}

#[test]
fn data_that_do_not_suit_are_refused() {
    let refused = |dataset: Dataset, partition: Partition, words: &str| {
        let (dataset, partition) = (Arc::new(dataset), Arc::new(partition));
        let source = Source::new(&dataset, &partition, Streams::new(1));
        let said = params("(inputs: Constant)").prepare(&source).err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    };
    let ring: Vec<(u32, u32)> = (0..9).map(|v| (v, (v + 1) % 9)).collect();
    let set = |directed| Dataset::of_graph("ring", Graph::from_edges(9, &ring, directed).unwrap());
    refused(set(true), Partition::one_item_each(9), "directions");
    let twice = Partition::from_shards(vec![(0..6).collect(), (5..9).collect()]).unwrap();
    refused(set(false), twice, "node 5 is in the shards of several clients");
    let graphs = data::graphs(data::Change::everything(1));
    refused((*graphs.one).clone(), Partition::one_item_each(36), "many graphs");
}
