//! That the networks behind the citation cards have learned, and that this is seen where they have
//! not.

use super::{divide, load, number, try_play};
use folkmoot_classifiers::classifier::{Inputs, Split};
use folkmoot_draws::{Purpose, Rng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::{Options, Outcome};
use folkmoot_graphs::{Centres, Dataset, Features, SparseRows, Splits, datasets, partition};
use folkmoot_gw_ldp::Params;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

/// What citation cards say of their training.
const TRAINING: &str = "training: (optimiser: Sgd(), learning_rate: 1.0, weight_decay: 5e-4), \
                        protocol: (rounds: 40, server_optimizer: Adam(learning_rate: 0.03), evaluate_every: 40)";
const NODES: usize = 400;
const WORDS: u32 = 600;

/// Four classes whose nodes cite their own class and have a few words of many, a third of them of
/// their class's own.
fn citations() -> Arc<Dataset> {
    let graph = datasets::DcSbm {
        n_nodes: 400,
        n_classes: 4,
        mean_degree: 4.0,
        assortativity: 0.8,
        ..Default::default()
    };
    let mut dataset = Arc::unwrap_or_clone(load(&graph));
    let mut rng = Streams::new(7).global(Purpose(*b"test-wrd"));
    let labels = dataset.node_labels.clone().unwrap();
    let rows: Vec<Vec<(u32, f32)>> = (0..NODES as u32)
        .map(|node| {
            let own = labels.single(node).unwrap() * WORDS / 4;
            let mut words: Vec<u32> = (0..9)
                .map(|word| match word % 3 {
                    0 => own + rng.next_u32() % (WORDS / 4),
                    _ => rng.next_u32() % WORDS,
                })
                .collect();
            words.sort_unstable();
            words.dedup();
            words.into_iter().map(|word| (word, 1.0)).collect()
        })
        .collect();
    dataset.features = Some(Features::Sparse(SparseRows::from_rows(WORDS, &rows).unwrap()));
    Arc::new(dataset)
}

fn played(dataset: &Arc<Dataset>, split: Split, settings: &str) -> Outcome {
    let settings = format!("(release: Plain, evaluation: (metrics: []), {settings})");
    let params = Params {
        inputs: Inputs::Features,
        split,
        ..folkmoot_gw_ldp::only().settings(&settings).unwrap()
    };
    let spec = partition::KHop {
        hops: 1,
        centres: Centres::Sample(80),
    };
    let partition = divide(dataset, &spec);
    try_play(&params, dataset, &partition, &World::ideal(), Options::default())
}

/// How far above the majority a network is on nodes that train nowhere.
fn above_majority(outcome: &Outcome) -> f64 {
    number(outcome, "held_out_accuracy") - number(outcome, "held_out_accuracy@majority_class")
}

#[test]
fn the_citation_cards_training_learns_and_local_adam_does_not() {
    let dataset = citations();
    let learned = played(&dataset, Split::All, TRAINING);
    assert!(above_majority(&learned) > 0.2, "{:?}", learned.summary);
    assert!(number(&learned, "train_accuracy") > number(&learned, "held_out_accuracy"));
    // The defaults: moments begin afresh in each round, and drag every word that a client lacks to
    // 0.
    let adam = played(&dataset, Split::All, "protocol: (rounds: 40, evaluate_every: 40)");
    assert!(above_majority(&adam) < 0.2, "{:?}", adam.summary);
    // Without a published split nothing is said of one.
    assert!(!learned.summary.iter().any(|(name, _)| name.starts_with("published")));
}

/// The published test part may train: how much of it does is said, and what is held out is the
/// rest.
#[test]
fn what_trains_of_the_published_test_part_is_said() {
    let mut dataset = Arc::unwrap_or_clone(citations());
    let every = |n: usize, at: usize| (0..NODES).map(|node| node % n == at).collect::<Vec<bool>>();
    dataset.splits = Some(Splits {
        train: every(4, 0),
        val: every(4, 1),
        test: every(2, 1)
            .iter()
            .zip(every(4, 1))
            .map(|(odd, val)| *odd && !val)
            .collect(),
    });
    let dataset = Arc::new(dataset);
    let all = played(&dataset, Split::All, TRAINING);
    let share = number(&all, "published_test_trained");
    assert!((0.2..0.9).contains(&share), "{share}");
    let published = played(&dataset, Split::Published, TRAINING);
    assert_eq!(number(&published, "published_test_trained"), 0.0);
    for (name, value) in [("held_out_accuracy", 0.0), ("held_out_accuracy@majority_class", 0.0)] {
        let twin = name.replace("held_out", "published_test");
        assert_eq!(number(&published, name) - number(&published, &twin), value, "{name}");
    }
}

#[test]
fn a_graph_that_nobody_holds_is_not_compared() {
    let dataset = citations();
    let spec = partition::KHop {
        hops: 1,
        centres: Centres::Sample(12),
    };
    let partition = divide(&dataset, &spec);
    let settings = |only: &str| -> Params {
        let text = format!(
            "(split: All, evaluation: (metrics: [Released, Hops, Fused()], only: {only}, pairs: true), protocol: (rounds: 1))"
        );
        folkmoot_gw_ldp::only().settings(&text).unwrap()
    };
    let outcome = try_play(
        &settings("[7, 2, 11]"),
        &dataset,
        &partition,
        &World::ideal(),
        Options::default(),
    );
    assert_eq!(
        (number(&outcome, "graphs_compared"), number(&outcome, "graphs_missing")),
        (3.0, 0.0)
    );
    for metric in ["", "@hops", "@fused"] {
        let of_pair = |pair: &str| number(&outcome, &format!("distance_{pair}{metric}"));
        let mean = ["2_7", "2_11", "7_11"].map(of_pair).iter().sum::<f64>() / 3.0;
        let printed = number(&outcome, &format!("mean_distance{metric}"));
        assert!((mean - printed).abs() < 1e-12, "{metric}: {mean} {printed}");
    }
    let prepared = settings("[7, 12]").prepare(&Source::new(&dataset, &partition, Streams::new(5)));
    let said = "GwLdp: evaluation.only: graph 12 is none of the 12 that clients hold; leave it out";
    assert_eq!(prepared.map(|_| ()).unwrap_err(), StrategyError(said.to_owned()));
}
