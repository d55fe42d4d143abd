//! Attacks on a model that has walked: what they find where it has learned its items by heart, and
//! where there is nothing to find.

use folkmoot_draws::{index, unit_f32};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partitioner, SparseRows, partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_users::walk_sgd::Params;
use std::sync::Arc;

/// A walk over four clients who hold single nodes with random features, and classes that follow
/// from nothing.
fn played(rate: f64, attacks: &str, threads: usize) -> Outcome {
    let n = 200;
    let mut rng = Streams::new(5).global(Purpose(*b"at-nodes"));
    let rows: Vec<Vec<(u32, f32)>> = (0..n)
        .map(|_| (0..24).map(|column| (column, unit_f32(&mut rng) - 0.5)).collect())
        .collect();
    let classes: Vec<Option<u32>> = (0..n).map(|_| Some(index(&mut rng, 3) as u32)).collect();
    let dataset = Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(24, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("random", Graph::from_edges(n, &[], false).unwrap())
    });
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let partition = Arc::new(partition::Iid { n_clients: 4 }.divide(&dataset, &mut rng).unwrap());
    let card = format!(
        "(model: (hidden: 64), split: Shares(train: 0.5, validation: 0), steps: 3000, report_every: 1000, topology: Ring(), \
         learning_rate: {rate}, attacks: [{attacks}])"
    );
    let params: Params = folkmoot_users::only().settings(&card).unwrap();
    let prepared = params
        .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
        .unwrap();
    let options = Options {
        threads,
        ..Options::default()
    };
    run(prepared.system(), &World::ideal(), 7, options, &mut Unobserved).unwrap()
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", outcome.summary)).1
}

const MEMBERSHIP: &str = "LossThreshold(), LikelihoodRatio(pairs: 3)";

#[test]
fn members_are_found_by_what_a_walk_has_learned_by_heart() {
    let (planted, bare) = (played(1.0, MEMBERSHIP, 2), played(1e-30, MEMBERSHIP, 2));
    for area in ["loss_membership_auc", "lira_online_auc"] {
        let (found, nothing) = (number(&planted, area), number(&bare, area));
        assert!(found > 0.8, "{area}: {found} of {:?}", planted.summary);
        assert!((nothing - 0.5).abs() < 0.15, "{area}: {nothing}");
    }
    assert_eq!(planted.summary, played(1.0, MEMBERSHIP, 1).summary);
    let without = played(1.0, "", 2);
    assert!(without.summary.iter().all(|row| planted.summary.contains(row)));
}

#[test]
fn nobody_reads_updates_where_a_model_walks() {
    let card = "(attacks: [LossThreshold(), ClientLinking(rounds: 2)])";
    let why = folkmoot_users::only().settings::<Params>(card).unwrap_err().to_string();
    assert!(why.contains("attacks.1") && why.contains("no server here"), "{why}");
}
