//! FedAvg as a run: against a plain loop, on its own message table, with every encoder, and with
//! data that are wrong.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "fed_avg/hidden.rs"]
mod hidden;
#[path = "fed_avg/scaled.rs"]
mod scaled;
#[path = "unlike/clients.rs"]
mod unlike;

use folkmoot_classifiers::classifier::graph_layers::{Gat, Gcn, Gin, GraphConv, GraphLayers, LightGcn, Sage, Tag};
use folkmoot_classifiers::classifier::{
    Classifier, Held, Inputs, LocalOptimiser, Model, Pooling, Scale, Split, Training,
};
use folkmoot_classifiers::fed_avg::Params;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{availability, cohort, devices};
use folkmoot_graphs::{
    DataDirs, DataSource, Dataset, Features, Graph, Labels, Partition, Partitioner, SparseRows, datasets, partition,
};
use folkmoot_learning::Average;
use folkmoot_parts::{Chosen, Value};
use folkmoot_rounds::{Adam, Aggregation, Discount, Momentum, Protocol, Secure, Yogi};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

/// 120 generated graphs of three classes.
fn graphs() -> Arc<Dataset> {
    let spec = datasets::GraphClasses {
        n_graphs: 120,
        n_classes: 3,
        min_nodes: 12,
        max_nodes: 24,
    };
    let mut rng = Streams::new(1).global(Purpose(*b"dataset "));
    Arc::new(spec.load(&DataDirs::new(), &mut rng).unwrap())
}

/// A ring of 90 nodes with chords, three classes by thirds; the feature of a node says its class in
/// two of three cases, a few nodes have no class.
fn nodes() -> Arc<Dataset> {
    let edges: Vec<(u32, u32)> = (0..90).flat_map(|v| [(v, (v + 1) % 90), (v, (v + 2) % 90)]).collect();
    let class = |v: u32| v / 30;
    let rows: Vec<[(u32, f32); 1]> = (0..90)
        .map(|v| [(if v % 3 == 0 { (v / 3) % 3 } else { class(v) }, 1.0)])
        .collect();
    let classes: Vec<Option<u32>> = (0..90).map(|v| (v % 10 != 9).then_some(class(v))).collect();
    Arc::new(Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::of_graph("ring", Graph::from_edges(90, &edges, false).unwrap())
    })
}

fn iid(dataset: &Dataset, n_clients: u32) -> Arc<Partition> {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    Arc::new(partition::Iid { n_clients }.divide(dataset, &mut rng).unwrap())
}

fn params(rounds: u32) -> Params {
    Params {
        model: Model {
            encoder: Chosen::new(Gin {}),
            readout: Pooling::Sum,
            ..Model::default()
        },
        training: Training {
            epochs: 2,
            batch_size: Some(8),
            optimiser: LocalOptimiser::Adam,
            learning_rate: 0.01,
            ..Training::default()
        },
        inputs: Inputs::Degree { most: 12 },
        scale: Scale::Raw,
        split: Split::Shares {
            train: 0.6,
            validation: 0.1,
        },
        protocol: Protocol {
            rounds,
            ..Protocol::default()
        },
        attacks: Vec::new(),
    }
}

fn node_params(rounds: u32) -> Params {
    Params {
        model: Model {
            head_layers: 0,
            ..Model::default()
        },
        training: Training {
            epochs: 5,
            optimiser: LocalOptimiser::Adam,
            learning_rate: 0.05,
            ..Training::default()
        },
        inputs: Inputs::Features,
        ..params(rounds)
    }
}

fn play_in(world: &World, dataset: &Arc<Dataset>, params: &Params, options: Options) -> Outcome {
    let partition = iid(dataset, 6);
    let system = params
        .prepare(&Source::new(dataset, &partition, Streams::new(3)))
        .unwrap();
    run(system.system(), world, 3, options, &mut Unobserved).unwrap()
}

fn play(dataset: &Arc<Dataset>, params: &Params) -> Outcome {
    play_in(&World::ideal(), dataset, params, Options::default())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.summary)).1
}

/// All that a result consists of.
fn everything(outcome: &Outcome) -> String {
    let (ledger, rounds, summary, clients) = (
        &outcome.ledger,
        &outcome.tables.rounds,
        &outcome.summary,
        &outcome.tables.clients,
    );
    let (scores, privacy, artifacts) = (&outcome.tables.scores, &outcome.tables.privacy, &outcome.artifacts);
    format!("{ledger:?} {rounds:?} {summary:?} {clients:?} {scores:?} {privacy:?} {artifacts:?}")
}

#[test]
fn it_learns_to_tell_graphs_apart_and_sends_what_its_table_says() {
    let outcome = play(&graphs(), &params(15));
    let (accuracy, majority) = (
        number(&outcome, "test_accuracy"),
        number(&outcome, "test_accuracy@majority_class"),
    );
    assert!(accuracy > 0.8 && majority < 0.5, "{accuracy} and {majority}");
    assert!(number(&outcome, "test_macro_auc") > 0.9 && number(&outcome, "test_macro_f1") > 0.75);
    // GIN 13-16-16-16-16, then 16-3.
    let n_params = (13 * 16 + 16) + 3 * (16 * 16 + 16) + 16 * 3 + 3;
    for (name, bytes) in [("model", 4 * n_params), ("update", 4 * n_params + 4)] {
        let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
        let (sent, payload) = rows.fold((0, 0), |sum, (.., cell)| {
            (sum.0 + cell.sent, sum.1 + cell.payload_bytes)
        });
        assert_eq!((sent, payload), (90, 90 * bytes), "{name}");
    }
    assert_eq!(outcome.ledger.total().sent, 180);
    let privacy = &outcome.tables.privacy[0];
    assert_eq!((privacy.mechanism.as_str(), privacy.releases), ("none: weights", 90));
    assert_eq!(privacy.epsilon_max_client, f64::INFINITY);
    for metric in [
        "accuracy",
        "loss",
        "macro_f1",
        "macro_auc",
        "client_accuracy",
        "client_loss",
    ] {
        let rows = outcome
            .tables
            .scores
            .iter()
            .filter(|row| row.metric == metric && row.split == "test");
        assert_eq!(rows.count(), 15, "{metric}");
    }
    assert!(outcome.tables.scores.iter().any(|row| row.split == "validation"));
}

#[test]
fn it_learns_to_tell_nodes_apart() {
    let outcome = play(&nodes(), &node_params(30));
    assert!(number(&outcome, "test_accuracy") > 0.7, "{:?}", outcome.summary);
    let small_batches = Params {
        training: Training {
            batch_size: Some(3),
            ..node_params(30).training
        },
        ..node_params(30)
    };
    assert!(number(&play(&nodes(), &small_batches), "test_accuracy") > 0.7);
}

/// Two rounds by hand: every client trains from the same model on its own stream, then the mean in
/// double precision, weighted by samples. The last bits of all scores agree.
#[test]
fn a_run_is_the_plain_loop() {
    let (dataset, params) = (graphs(), params(2));
    let (partition, streams) = (iid(&dataset, 6), Streams::new(3));
    let (plain, held) = classifier(&params, &dataset, &partition).unwrap();
    let mut model = plain
        .network()
        .layout()
        .initialise(&mut streams.global(Purpose(*b"rd-start")));
    for round in 0..2 {
        let mut average = Average::new();
        for (client, shard) in (0..).map(ClientId).zip(held.shards()) {
            let mut rng = streams.party(Purpose(*b"rd-local"), Party::Client(client), Round(round));
            let update = plain.train(shard, &model, &mut rng);
            average.add(&update, shard.n_train() as f64);
        }
        model = average.mean().unwrap();
    }
    let outcome = play(&dataset, &params);
    let last: Vec<(String, String, u64)> = outcome
        .tables
        .scores
        .iter()
        .filter(|row| row.round == 1 && row.split != "clients")
        .map(|row| (row.split.clone(), row.metric.clone(), row.value.to_bits()))
        .collect();
    let expected: Vec<(String, String, u64)> = plain
        .evaluate(&held, &model)
        .iter()
        .map(|score| (score.split.to_owned(), score.metric.to_owned(), score.value.to_bits()))
        .collect();
    assert_eq!(last, expected);
}

#[test]
fn every_encoder_head_and_readout_learns_something() {
    let dataset = graphs();
    let encoders: [Chosen<dyn GraphLayers>; 7] = [
        Chosen::new(Gcn {}),
        Chosen::new(Gin {}),
        Chosen::new(GraphConv {}),
        Chosen::new(Tag { hops: 2 }),
        Chosen::new(LightGcn {}),
        Chosen::new(Sage {}),
        Chosen::new(Gat { heads: 4 }),
    ];
    for (i, encoder) in encoders.into_iter().enumerate() {
        let mut params = params(6);
        params.model = Model {
            encoder: encoder.clone(),
            head_layers: i as u32 % 3,
            readout: [Pooling::Sum, Pooling::Mean, Pooling::Max][i % 3],
            dropout: 0.1,
            ..Model::default()
        };
        let outcome = play(&dataset, &params);
        let losses: Vec<f64> = outcome
            .tables
            .scores
            .iter()
            .filter(|row| (row.split.as_str(), row.metric.as_str()) == ("test", "loss"))
            .map(|row| row.value)
            .collect();
        assert!(losses[5] < losses[0], "{encoder:?}: {losses:?}");
        assert!(
            number(
                &play(
                    &nodes(),
                    &Params {
                        model: params.model.clone(),
                        ..node_params(20)
                    }
                ),
                "test_accuracy"
            ) > 0.4,
            "{encoder:?}"
        );
    }
}

#[test]
fn threads_windows_and_encoding_do_not_matter() {
    let world = || World {
        cohort: Box::new(cohort::Size {
            n: 4,
            over_select: 1.25,
        }),
        availability: Box::new(availability::Bernoulli { online_prob: 0.9 }),
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e6,
            sigma: 1.0,
        }),
        ..World::ideal()
    };
    let mut params = params(4);
    params.model.dropout = 0.2;
    for aggregation in [
        Aggregation::Synchronous,
        Aggregation::Buffered {
            size: 3,
            discount: Discount::InverseRoot,
        },
    ] {
        params.protocol.aggregation = aggregation;
        let print = |options| everything(&play_in(&world(), &graphs(), &params, options));
        let first = print(Options::default());
        for (threads, windows, wire_check) in [(2, true, true), (1, false, false), (8, true, false)] {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            assert!(print(options) == first, "{aggregation:?} {options:?}");
        }
    }
}

#[test]
fn a_dry_run_sends_the_same_and_learns_nothing() {
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let (dry, wet) = (
        play_in(&World::ideal(), &graphs(), &params(3), dry),
        play(&graphs(), &params(3)),
    );
    assert_eq!(format!("{:?}", dry.ledger), format!("{:?}", wet.ledger));
    assert!(dry.summary.iter().all(|(name, _)| !name.starts_with("test")));
}

#[test]
fn every_server_optimiser_and_the_buffer_learn() {
    let servers = [
        Chosen::new(Momentum {
            learning_rate: 0.5,
            beta: 0.5,
        }),
        Chosen::new(Adam {
            learning_rate: 0.03,
            ..Adam::default()
        }),
        Chosen::new(Yogi {
            learning_rate: 0.03,
            ..Yogi::default()
        }),
    ];
    let mut accuracies = Vec::new();
    for server in servers {
        let mut params = params(25);
        params.protocol.server_optimizer = server;
        accuracies.push(number(&play(&graphs(), &params), "test_accuracy"));
    }
    let mut params = params(80);
    params.protocol.aggregation = Aggregation::Buffered {
        size: 3,
        discount: Discount::InverseRoot,
    };
    let world = World {
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e6,
            sigma: 1.0,
        }),
        ..World::ideal()
    };
    let outcome = play_in(&world, &graphs(), &params, Options::default());
    assert!(outcome.tables.rounds.iter().any(|row| row.staleness_mean > 0.0));
    accuracies.push(number(&outcome, "test_accuracy"));
    assert!(accuracies.iter().all(|accuracy| *accuracy > 0.7), "{accuracies:?}");
}

/// Fixed point with 24 bits behind the point loses next to nothing.
#[test]
fn secure_aggregation_learns_the_same() {
    let mut params = params(3);
    let plain = play(&graphs(), &params);
    params.protocol.secure = Secure::Pairwise { threshold: 0.67 };
    let secure = play(&graphs(), &params);
    let [plain_loss, secure_loss] = [&plain, &secure].map(|outcome| number(outcome, "test_loss"));
    assert!(
        (plain_loss - secure_loss).abs() < 1e-3 * plain_loss,
        "{plain_loss} and {secure_loss}"
    );
    assert!(secure.ledger.rows().all(|(kind, ..)| kind.name != "update"));
}

fn classifier(
    params: &Params,
    dataset: &Arc<Dataset>,
    partition: &Arc<Partition>,
) -> Result<(Classifier, Arc<Held>), StrategyError> {
    let source = Source::new(dataset, partition, Streams::new(3));
    let classifier = Classifier::new(&params.model, &params.training, &params.facts(&source)?).unwrap();
    let held = classifier.share(params.split, &source)?;
    Ok((classifier, held))
}

#[test]
fn a_proximal_term_keeps_clients_near_the_model_they_were_sent() {
    let dataset = graphs();
    let partition = iid(&dataset, 6);
    let moved = |proximal: f64| {
        let mut params = params(1);
        params.training = Training {
            epochs: 20,
            learning_rate: 0.005,
            optimiser: LocalOptimiser::default(),
            fedprox_mu: proximal,
            ..Training::default()
        };
        let (classifier, held) = classifier(&params, &dataset, &partition).unwrap();
        let model = classifier
            .network()
            .layout()
            .initialise(&mut Streams::new(1).global(Purpose(*b"test    ")));
        let trained = classifier.train(
            &held.shards()[0],
            &model,
            &mut Streams::new(1).global(Purpose(*b"test    ")),
        );
        let squares = trained.iter().zip(&model).map(|(a, b)| f64::from((a - b) * (a - b)));
        squares.sum::<f64>().sqrt()
    };
    let distances = [0.0, 1.0, 10.0, 100.0].map(moved);
    assert!(
        distances.windows(2).all(|pair| pair[1] < 0.98 * pair[0]) && distances[3] < 0.5 * distances[0],
        "{distances:?}"
    );
}

#[test]
fn a_batch_as_large_as_the_shard_is_the_whole_shard() {
    let dataset = graphs();
    let mut params = params(2);
    params.training.batch_size = Some(1000);
    let large = everything(&play(&dataset, &params));
    params.training.batch_size = None;
    assert!(large == everything(&play(&dataset, &params)));
}

#[test]
fn clients_without_items_graphs_without_nodes_and_splits_of_one_class_are_no_obstacle() {
    let mut dataset = Arc::unwrap_or_clone(graphs());
    dataset.graphs[5] = Graph::from_edges(0, &[], false).unwrap();
    dataset.graphs[6] = Graph::from_edges(1, &[], false).unwrap();
    // Clients 0 to 2 have everything, all of class 1 tests; client 3 has nothing.
    let all: Vec<u32> = (0..120).collect();
    let shards = vec![all[..50].to_vec(), all[50..100].to_vec(), all[100..].to_vec(), vec![]];
    let partition = Arc::new(Partition::from_shards(shards).unwrap());
    let dataset = Arc::new(dataset);
    let system = params(3)
        .prepare(&Source::new(&dataset, &partition, Streams::new(3)))
        .unwrap();
    let (_, held) = classifier(&params(3), &dataset, &partition).unwrap();
    assert_eq!(held.shards()[3].n_train(), 0);
    let outcome = run(system.system(), &World::ideal(), 3, Options::default(), &mut Unobserved).unwrap();
    assert_eq!(outcome.tables.rounds[2].completed, 4);
    assert!(number(&outcome, "test_accuracy") > 0.3);

    let mut one_class = Arc::unwrap_or_clone(graphs());
    one_class.graph_labels = Some((0..120).map(|i| u32::from(i == 0)).collect());
    let mut alone = params(2);
    alone.split = Split::Published;
    one_class.splits = Some(folkmoot_graphs::Splits {
        train: (0..120).map(|i| i < 60).collect(),
        val: vec![false; 120],
        test: (0..120).map(|i| i >= 60).collect(),
    });
    let outcome = play(&Arc::new(one_class), &alone);
    assert!(
        outcome
            .tables
            .scores
            .iter()
            .all(|row| row.metric != "macro_auc" && row.split != "validation")
    );
    assert!(outcome.tables.scores.iter().any(|row| row.metric == "accuracy"));
}

#[test]
fn wrong_data_are_refused_with_the_reason() {
    let refused = |dataset: &Dataset, params: &Params, partition: &Partition, words: &str| {
        let (dataset, partition) = (Arc::new(dataset.clone()), Arc::new(partition.clone()));
        let error = classifier(params, &dataset, &partition).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    };
    let good = Arc::unwrap_or_clone(graphs());
    let six = iid(&good, 6);
    let featureless = Params {
        inputs: Inputs::Features,
        ..params(1)
    };
    refused(&good, &featureless, &six, "no features; set inputs: Degree()");
    let few = Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(2, &[[(0, 1.0)]]).unwrap())),
        ..good.clone()
    };
    refused(&few, &featureless, &six, "features for 1 nodes");
    let out_of_range = Dataset {
        n_classes: 2,
        ..good.clone()
    };
    refused(
        &out_of_range,
        &params(1),
        &six,
        "item 2 has class 2, and classes must lie below 2",
    );
    let unlabelled = Dataset {
        graph_labels: None,
        ..good.clone()
    };
    refused(&unlabelled, &params(1), &six, "no classes to learn");
    let published = Params {
        split: Split::Published,
        ..params(1)
    };
    refused(&good, &published, &six, "without a split");
    let twice = Partition::from_shards(vec![(0..120).collect(), vec![0]]).unwrap();
    refused(&good, &params(1), &twice, "overlap");

    let ring = Arc::unwrap_or_clone(nodes());
    let six = iid(&ring, 6);
    let rows: Vec<[(u32, f32); 1]> = (0..90).map(|v| [(1, if v == 7 { f32::NAN } else { 1.0 })]).collect();
    let spoilt = Dataset {
        features: Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap())),
        ..ring.clone()
    };
    refused(&spoilt, &node_params(1), &six, "feature 1 of node 7 is NaN");
    let none = Dataset {
        node_labels: Some(Labels::from_pairs(90, 3, &[]).unwrap()),
        ..ring
    };
    refused(&none, &node_params(1), &six, "no client has anything to train on");
}

#[test]
fn settings_are_checked_below_their_names() {
    let mut params = params(0);
    params.model.hidden = 0;
    params.training.learning_rate = -1.0;
    let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(fields, ["model.hidden", "training.learning_rate", "protocol.rounds"]);
    assert!(Params::default().broken().is_empty());
}
