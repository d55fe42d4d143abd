//! Labels and numbers of nodes: what FedGCN learns of them, and who refuses them.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partitioner, SparseRows, Targets, partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_subgraphs::{ada_fgl, fed_gcn, fed_sage, only};
use std::sync::Arc;

const N: u32 = 120;
const REST: &str =
    "training: (epochs: 5, optimiser: Adam, learning_rate: 0.02), split: Shares(train: 0.5, validation: 0.1)";

/// A ring of three arcs with chords; a feature says the arc in two of three cases.
fn ring() -> Dataset {
    let edges: Vec<(u32, u32)> = (0..N).flat_map(|v| [(v, (v + 1) % N), (v, (v + 2) % N)]).collect();
    let shown = |v: u32| if v.is_multiple_of(3) { (v / 3) % 3 } else { v * 3 / N };
    let rows: Vec<Vec<(u32, f32)>> = (0..N).map(|v| vec![(shown(v), 1.0)]).collect();
    Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        ..Dataset::of_graph("ring", Graph::from_edges(N, &edges, false).unwrap())
    }
}

/// Those of the first and second arc have label 3, too.
fn labels() -> Dataset {
    let more = (0..2 * N / 3).map(|v| (v, 3));
    let pairs: Vec<(u32, u32)> = (0..N).map(|v| (v, v * 3 / N)).chain(more).collect();
    Dataset {
        node_labels: Some(Labels::from_pairs(N, 4, &pairs).unwrap()),
        n_classes: 4,
        ..ring()
    }
}

fn numbers() -> Dataset {
    let value = |v: u32| {
        if v % 11 == 5 {
            f32::NAN
        } else {
            300.0 + 50.0 * (v * 3 / N) as f32
        }
    };
    Dataset {
        targets: Some(Targets::new(vec!["metre".to_owned()], (0..N).map(value).collect(), false).unwrap()),
        ..ring()
    }
}

fn play<P: Algorithm>(text: &str, dataset: Dataset) -> Result<Outcome, StrategyError> {
    let dataset = Arc::new(dataset);
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let partition = partition::Iid { n_clients: 4 }.divide(&dataset, &mut rng).unwrap();
    let partition = Arc::new(partition);
    let params: P = only().settings(text).unwrap();
    let prepared = params.prepare(&Source::new(&dataset, &partition, Streams::new(3)))?;
    Ok(run(
        prepared.system(),
        &World::ideal(),
        3,
        Options::default(),
        &mut Unobserved,
    )
    .unwrap())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

#[test]
fn exchanged_neighbours_help_labels_and_numbers() {
    for (dataset, score) in [(labels(), "test_average_precision"), (numbers(), "test_r2")] {
        let [cut, exchanged] = [0, 2].map(|hops| {
            let text = format!("(hops: {hops}, {REST}, protocol: (rounds: 20))");
            let outcome = play::<fed_gcn::Params>(&text, dataset.clone()).unwrap();
            number(&outcome, score)
        });
        assert!(exchanged > cut + 0.05 && exchanged > 0.8, "{score}: {exchanged} {cut}");
    }
}

#[test]
fn what_needs_classes_says_so() {
    for (dataset, what) in [(labels(), "several classes"), (numbers(), "numbers to predict")] {
        for why in [
            play::<fed_sage::Params>("()", dataset.clone())
                .err()
                .unwrap()
                .to_string(),
            play::<ada_fgl::Params>("()", dataset.clone())
                .err()
                .unwrap()
                .to_string(),
        ] {
            assert!(why.contains(what) && why.contains("or choose FedAvg, which"), "{why}");
        }
    }
}
