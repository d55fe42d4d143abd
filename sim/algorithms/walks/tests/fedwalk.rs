//! FedWalk against its theory, a plain-loop reference, and its own message table.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "fedwalk/attacks.rs"]
mod attacks;
#[path = "fedwalk/codec.rs"]
mod codec;
#[path = "fedwalk/dry_run.rs"]
mod dry_run;

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, Links};
use folkmoot_engine::world::{Dist, DropoutSpec, cohort, devices};
use folkmoot_graphs::{Dataset, Graph, Labels, Partition};
use folkmoot_learning::skip_gram::SkipGram;
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use folkmoot_walks::fedwalk::encoder::{AsPublished, Calibrated, Identity, Normalised, RandomisedResponse};
use folkmoot_walks::fedwalk::{Absent, Curious, Params, Pool, Rows, SelfHop, theory};
use folkmoot_walks::node_embedding::{Embedding, Evaluation};
use std::sync::Arc;

fn data(graph: Graph) -> Arc<Dataset> {
    Arc::new(Dataset::of_graph("test", graph))
}

/// A ring of `n` vertices with chords, so that every vertex has four neighbours.
fn ring(n: u32) -> Arc<Dataset> {
    let edges: Vec<(u32, u32)> = (0..n).flat_map(|v| [(v, (v + 1) % n), (v, (v + 7) % n)]).collect();
    data(Graph::from_edges(n, &edges, false).unwrap())
}

/// The paper's settings, with nothing learned.
fn counting() -> Params {
    Params {
        embedding: Embedding::Off,
        ..Params::default()
    }
}

fn prepare(params: Params, graph: &Arc<Dataset>) -> Result<Prepared<Params>, StrategyError> {
    let partition = Arc::new(Partition::one_item_each(graph.n_nodes() as u32));
    params.prepare(&Source::new(graph, &partition, Streams::new(3)))
}

fn play(graph: &Arc<Dataset>, params: Params, world: &World, options: Options) -> Outcome {
    let system = prepare(params, graph).unwrap();
    run(system.system(), world, 3, options, &mut Unobserved).unwrap()
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome
        .summary
        .iter()
        .find(|(key, _)| key == name)
        .unwrap_or_else(|| panic!("no {name}"))
        .1
}

fn sent(outcome: &Outcome, kind: &str) -> u64 {
    outcome
        .ledger
        .rows()
        .filter(|(k, ..)| k.name == kind)
        .map(|(.., cell)| cell.sent)
        .sum()
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
fn peer_messages_agree_with_the_right_form_and_not_with_the_printed_one() {
    let graph = ring(400);
    for p in [0.0, 0.2, 0.5, 1.0] {
        let params = Params {
            walks_per_node: 30,
            predictor_prob: p,
            epsilon_degree: 1e5,
            ..counting()
        };
        let outcome = play(
            &graph,
            params,
            &World::ideal(),
            Options {
                threads: 2,
                ..Options::default()
            },
        );
        let got = number(&outcome, "peer_messages_per_walk");
        let right = theory::expected_messages(40, p);
        let error = (theory::message_variance(40, p) / (400.0 * 30.0)).sqrt();
        assert!(
            (got - right).abs() <= 4.0 * error,
            "p = {p}: {got} against {right} ± {error}"
        );
        if p > 0.0 {
            assert!((got - theory::printed_messages(40, p)).abs() > 4.0 * error, "p = {p}");
        }
        assert_eq!(number(&outcome, "entries_per_walk"), 40.0);
    }
}

#[test]
fn every_phase_has_the_sizes_of_the_message_table() {
    let graph = ring(50);
    let params = Params {
        walk_length: 5,
        walks_per_node: 2,
        predictor_prob: 0.0,
        ..counting()
    };
    let outcome = play(&graph, params, &World::ideal(), Options::default());
    let k = 3;
    let bytes: Vec<(&str, u64, u64)> = [
        "group_plan",
        "degree_vector",
        "dictionary",
        "ordered_matrix",
        "tree_and_matrix",
        "start",
        "walk",
        "sequence",
    ]
    .map(|name| {
        let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
        let (sent, bytes) = rows.fold((0, 0), |(sent, bytes), (.., cell)| {
            (sent + cell.sent, bytes + cell.payload_bytes)
        });
        (name, sent, bytes)
    })
    .to_vec();
    let expected = [
        ("group_plan", 50, 50 * 50),
        ("degree_vector", 50, 50 * 4 * k),
        ("dictionary", 50, 50 * 50 * 4 * k),
        ("ordered_matrix", 50, 50 * 4 * 4 * k),
        ("tree_and_matrix", 50, 50 * (8 * 49 + 4 * 2500)),
        ("start", 100, 1200),
        // Four messages a walk, with one to four entries.
        ("walk", 400, 100 * (4 * 12 + 4 * (1 + 2 + 3 + 4))),
        ("sequence", 100, 100 * 20),
    ];
    assert_eq!(bytes, expected);
    for row in &outcome.tables.messages {
        assert_eq!(row.expected_messages, Some(row.sent as f64), "{row:?}");
    }
}

#[test]
fn a_free_hop_to_oneself_saves_exactly_those_messages() {
    let graph = ring(30);
    let params = Params {
        walks_per_node: 20,
        predictor_prob: 0.6,
        epsilon_degree: 1e5,
        ..counting()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    let free = play(
        &graph,
        Params {
            self_hop: SelfHop::Free,
            ..params
        },
        &World::ideal(),
        Options::default(),
    );
    let hops = |outcome: &Outcome| 39 * 600 - number(outcome, "predicted_hops") as u64;
    assert!(number(&outcome, "self_hops") > 0.0);
    assert_eq!(sent(&outcome, "walk"), hops(&outcome));
    assert_eq!(sent(&free, "walk"), hops(&free) - number(&free, "self_hops") as u64);
}

#[test]
fn a_start_may_be_prepended_and_an_isolated_vertex_returns_an_empty_walk() {
    let graph = data(Graph::from_edges(4, &[(0, 1), (1, 2)], false).unwrap());
    let params = Params {
        walk_length: 3,
        walks_per_node: 1,
        predictor_prob: 0.0,
        ..counting()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    assert_eq!(number(&outcome, "entries_per_walk"), 9.0 / 4.0);
    assert_eq!(number(&outcome, "peer_messages_per_walk@Theorem 4.2, corrected"), 1.5);
    assert_eq!(number(&outcome, "peer_messages_per_walk"), 1.5);
    let outcome = play(
        &graph,
        Params {
            prepend_start: true,
            ..params
        },
        &World::ideal(),
        Options::default(),
    );
    assert_eq!(number(&outcome, "entries_per_walk"), 13.0 / 4.0);
}

/// Vectors that are quick to learn.
fn small() -> Embedding {
    Embedding::SkipGram(SkipGram {
        dim: 16,
        window: 3,
        ..SkipGram::default()
    })
}

/// Twenty cliques of ten, joined in a ring, each clique a class.
fn cliques() -> Arc<Dataset> {
    let clique = |c: u32| (0..10).flat_map(move |i| (0..i).map(move |j| (10 * c + i, 10 * c + j)));
    let mut edges: Vec<(u32, u32)> = (0..20).flat_map(clique).collect();
    edges.extend((0..20).map(|c| (10 * c, (10 * c + 10) % 200)));
    let classes: Vec<Option<u32>> = (0..200).map(|v| Some(v / 10)).collect();
    let mut dataset = Dataset::of_graph("cliques", Graph::from_edges(200, &edges, false).unwrap());
    dataset.node_labels = Some(Labels::from_single(20, &classes).unwrap());
    Arc::new(dataset)
}

#[test]
fn vectors_tell_the_classes_and_the_edges_apart() {
    let graph = cliques();
    let params = Params {
        walks_per_node: 20,
        walk_length: 20,
        predictor_prob: 0.0,
        embedding: Embedding::SkipGram(SkipGram {
            dim: 32,
            window: 5,
            epochs: 4,
            ..SkipGram::default()
        }),
        evaluation: Evaluation {
            hold_out: 0.1,
            ..Evaluation::default()
        },
        ..Params::default()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    assert!(number(&outcome, "micro_f1[train_ratio=0.5]") > 0.9);
    assert!(number(&outcome, "macro_f1_std[train_ratio=0.5]") >= 0.0);
    assert!(number(&outcome, "knn_accuracy") > 0.7);
    assert!(number(&outcome, "link_auc") > 0.75);
    let names: Vec<&str> = outcome
        .artifacts
        .iter()
        .map(|artifact| artifact.path.as_str())
        .collect();
    assert_eq!(names, ["embeddings.npy", "tree.npy", "dissimilarity.npy"]);
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let dry = play(&graph, params, &World::ideal(), dry);
    assert!(dry.artifacts.is_empty() && dry.tables.scores.iter().all(|row| row.metric != "micro_f1"));
}

#[test]
fn rows_on_request_are_asked_for_once_and_counted() {
    let graph = cliques();
    let n = 200;
    let play_with = |rows| {
        let params = Params {
            walks_per_node: 5,
            rows,
            ..counting()
        };
        play(&graph, params, &World::ideal(), Options::default())
    };
    let degrees = 2 * graph.graph().n_edges() as u64;
    let bytes = |outcome: &Outcome, kind: &str| -> u64 {
        let rows = outcome.ledger.rows().filter(|(k, ..)| k.name == kind);
        rows.map(|(.., cell)| cell.payload_bytes).sum()
    };
    let tree = 8 * (n - 1);
    let all = play_with(Rows::All);
    assert_eq!(bytes(&all, "tree_and_matrix"), n * (tree + 4 * n * n));
    assert_eq!(sent(&all, "row_request"), 0);

    let neighbours = play_with(Rows::Neighbours);
    assert_eq!(bytes(&neighbours, "tree_and_matrix"), n * tree);
    assert_eq!(bytes(&neighbours, "rows_wanted"), degrees * 4);
    assert_eq!(bytes(&neighbours, "rows"), degrees * 4 * n);
    let predicted = number(&neighbours, "predicted_hops");
    let asked = sent(&neighbours, "row");
    assert!(asked > 0 && asked as f64 <= predicted, "{asked} of {predicted}");

    let on_request = play_with(Rows::OnRequest);
    assert_eq!(bytes(&on_request, "tree_and_matrix"), n * tree);
    let asked = sent(&on_request, "row_request");
    assert_eq!(asked, sent(&on_request, "row"));
    assert_eq!(asked as f64, number(&on_request, "row_requests"));
    assert_eq!(bytes(&on_request, "row"), asked * (4 + 4 * n));
    let entries = number(&on_request, "encoded_entries");
    assert!(
        asked > degrees / 2 && (asked as f64) < entries / 2.0,
        "{asked} of {entries}"
    );
    assert_eq!(number(&on_request, "walks_completed"), 1000.0);
    let download = number(&on_request, "download_bytes");
    let per_walk = number(&on_request, "saved_bytes_per_walk");
    assert_eq!(number(&on_request, "break_even_walks"), download / per_walk);
}

#[test]
fn every_encoder_reports_what_it_costs() {
    let graph = cliques();
    let spent = |encoder| {
        let params = Params {
            walks_per_node: 2,
            encoder,
            ..counting()
        };
        let outcome = play(&graph, params, &World::ideal(), Options::default());
        let row = outcome
            .tables
            .privacy
            .iter()
            .find(|row| row.mechanism.ends_with("walk entry"))
            .unwrap()
            .clone();
        assert_eq!((row.releases, row.epsilon_claimed), (200 * 2 * 40, Some(2.0)));
        let mean = row.epsilon_mean_client;
        let expected = row.epsilon_per_release * row.releases as f64 / 200.0;
        assert!(
            (mean - expected).abs() <= 1e-9 * expected || mean == expected,
            "composed over releases"
        );
        (row.epsilon_per_release, outcome)
    };
    let (printed, outcome) = spent(Chosen::new(AsPublished {}));
    assert!(printed > 1000.0 && (printed - number(&outcome, "encoder_worst_log_ratio")).abs() < 1e-6 * printed);
    assert!(number(&outcome, "encoder_keep_probability") > 0.9);
    let (calibrated, outcome) = spent(Chosen::new(Calibrated {}));
    assert!(calibrated == 2.0 && number(&outcome, "encoder_worst_log_ratio") <= 2.0);
    assert!(number(&outcome, "encoder_changed_share") > 0.9);
    let (normalised, _) = spent(Chosen::new(Normalised {}));
    assert!(normalised > 1.0 && normalised <= 4.0, "{normalised}");
    let (response, outcome) = spent(Chosen::new(RandomisedResponse {}));
    assert!(response == 2.0 && number(&outcome, "encoder_worst_log_ratio") == 2.0);
    let keep = number(&outcome, "encoder_keep_probability");
    let changed = number(&outcome, "encoder_changed_share");
    assert!(
        (1.0 - changed - keep).abs() < 4.0 * (keep / 16_000.0).sqrt(),
        "{changed} {keep}"
    );
    assert_eq!(spent(Chosen::new(Identity {})).0, f64::INFINITY);
}

/// Dropout, jitter, loss and absences at once.
fn rough_world() -> World {
    let class = LinkClass {
        latency_ms: Dist::LogNormal {
            median: 40.0,
            sigma: 0.5,
            min: 10.0,
        },
        loss_prob: 0.02,
    };
    let links = Links {
        uplink: class,
        downlink: class,
        peer: class,
        max_retries: 1,
        ..Links::default()
    };
    World {
        network: Box::new(links),
        devices: Box::new(devices::LogNormal {
            median_ops_per_s: 1e4,
            sigma: 1.0,
        }),
        dropout: DropoutSpec {
            prob: 0.1,
            after_ms: Dist::Uniform { low: 0.0, high: 2000.0 },
        },
        deadline: Some(SimSpan::from_secs(3.0)),
        cohort: Box::new(cohort::Fraction {
            share: 0.7,
            over_select: 1.0,
        }),
        header_bytes: 40,
        ..World::ideal()
    }
}

#[test]
fn a_rough_world_gives_the_same_run_for_any_threads_windows_and_encoding() {
    let graph = ring(900);
    let policies = [
        Absent::Wait,
        Absent::Reroute {
            timeout_ms: 100.0,
            tries: 3,
        },
        Absent::GiveUp,
    ];
    for absent in policies {
        let params = Params {
            walks_per_node: 3,
            walk_length: 12,
            absent,
            rows: Rows::Off,
            pool: Pool::Vector,
            encoder: Chosen::new(RandomisedResponse {}),
            ..counting()
        };
        let print = |options| {
            let outcome = play(&graph, params.clone(), &rough_world(), options);
            let total = outcome.ledger.total();
            assert!(total.dropped_total() > 0 && total.retried > 0, "{absent:?}: {total:?}");
            assert!(
                outcome.tables.rounds.iter().any(|row| row.dropped > 0),
                "{absent:?}: {:?}",
                outcome.tables.rounds
            );
            everything(&outcome)
        };
        let first = print(Options::default());
        let mut others = vec![
            Options {
                wire_check: true,
                ..Options::default()
            },
            Options {
                windows: false,
                ..Options::default()
            },
        ];
        others.extend([2, 3, 8].map(|threads| Options {
            threads,
            ..Options::default()
        }));
        for options in others {
            assert!(print(options) == first, "{options:?} with {absent:?}");
        }
    }
}

#[test]
fn the_whole_system_is_the_same_for_any_threads_windows_and_encoding() {
    let graph = ring(200);
    let with_matrices = Params {
        walks_per_node: 2,
        walk_length: 12,
        predictor_prob: 0.5,
        epsilon_degree: 1e3,
        embedding: small(),
        ..Params::default()
    };
    let of_vectors = Params {
        m_upload: false,
        pool: Pool::Global,
        ..with_matrices.clone()
    };
    let on_request = Params {
        rows: Rows::OnRequest,
        encoder: Chosen::new(Normalised {}),
        prepend_start: true,
        ..with_matrices.clone()
    };
    let of_oracles = Params {
        pool: Pool::Oracle,
        evaluation: Evaluation {
            hold_out: 0.1,
            ..Evaluation::default()
        },
        ..of_vectors.clone()
    };
    let of_neighbours = Params {
        rows: Rows::Neighbours,
        curious: Curious::Share { share: 0.3 },
        absent: Absent::Reroute {
            timeout_ms: 100.0,
            tries: 2,
        },
        ..with_matrices.clone()
    };
    for params in [with_matrices, of_vectors, of_oracles, on_request, of_neighbours] {
        for world in [World::ideal(), rough_world()] {
            let print = |options| {
                let outcome = play(&graph, params.clone(), &world, options);
                assert!(number(&outcome, "predicted_hops") > 0.0);
                everything(&outcome)
            };
            let first = print(Options::default());
            let others = [(1, true, true), (1, false, false), (2, true, false), (8, true, true)];
            for (threads, windows, wire_check) in others {
                let options = Options {
                    threads,
                    windows,
                    wire_check,
                    ..Options::default()
                };
                assert!(print(options) == first, "{options:?} with {params:?}");
            }
        }
    }
}

#[test]
fn the_predictor_finds_neighbours_more_often_than_chance() {
    // Structure that counts by bin can tell apart.
    let graph = cliques();
    let params = Params {
        walks_per_node: 10,
        epsilon_degree: 20.0,
        ..counting()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    let chance = 2.0 * graph.graph().n_edges() as f64 / (200.0 * 199.0);
    let hit_rate = number(&outcome, "predictor_hit_rate");
    assert!(hit_rate > 5.0 * chance, "{hit_rate} against {chance} by chance");
}

#[test]
fn late_walks_are_counted_in_their_own_round() {
    let params = Params {
        walks_per_node: 4,
        walk_length: 60,
        ..counting()
    };
    let world = World {
        deadline: Some(SimSpan::from_secs(2.2)),
        ..rough_world()
    };
    let outcome = play(&ring(300), params, &world, Options::default());
    let late: u64 = outcome.tables.rounds.iter().map(|row| row.late).sum();
    assert!(late > 0, "{:?}", outcome.tables.rounds);
    for row in &outcome.tables.rounds {
        assert_eq!(row.completed + row.dropped + row.late, row.cohort, "{row:?}");
    }
}

#[test]
fn a_directed_graph_is_refused() {
    let graph = data(Graph::from_edges(3, &[(0, 1)], true).unwrap());
    assert!(prepare(Params::default(), &graph).is_err());
}
