//! FedWalk against its theory, a plain-loop reference, and its own message table.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{LinkClass, LinksSpec};
use folkmoot_engine::world::{CohortSpec, DeviceSpec, Dist, DropoutSpec, NetworkSpec};
use folkmoot_graphs::{Dataset, Graph};
use folkmoot_strategies::fedwalk::{Absent, FedWalk, Params, Pool, Rows, SelfHop, theory};
use std::sync::Arc;

fn data(graph: Graph) -> Arc<Dataset> {
    Arc::new(Dataset::of_graph("test", graph))
}

/// A ring of `n` vertices with chords, so that every vertex has four neighbours.
fn ring(n: u32) -> Arc<Dataset> {
    let edges: Vec<(u32, u32)> = (0..n).flat_map(|v| [(v, (v + 1) % n), (v, (v + 7) % n)]).collect();
    data(Graph::from_edges(n, &edges, false).unwrap())
}

fn play(graph: &Arc<Dataset>, params: Params, world: &World, options: Options) -> Outcome {
    let system = FedWalk::new(params, Arc::clone(graph)).unwrap();
    run(&system, graph.n_nodes() as u32, world, 3, options, &mut Unobserved).unwrap()
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

#[test]
fn peer_messages_agree_with_the_right_form_and_not_with_the_printed_one() {
    let graph = ring(400);
    for p in [0.0, 0.2, 0.5, 1.0] {
        let params = Params {
            walks_per_node: 30,
            predictor_prob: p,
            epsilon_degree: 1e5,
            ..Params::default()
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
        ..Params::default()
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
    for (kind, round, direction, cell) in outcome.ledger.rows() {
        let system = FedWalk::new(
            Params {
                walk_length: 5,
                predictor_prob: 0.0,
                ..Params::default()
            },
            Arc::clone(&graph),
        )
        .unwrap();
        let world = World::ideal();
        let setup = Setup {
            n_clients: 50,
            streams: Streams::new(3),
            world: &world,
            dry_run: false,
        };
        let expected = system.expected_messages(&setup, kind, round, direction);
        assert_eq!(expected, Some(cell.sent as f64), "{kind:?} in {round:?}");
    }
}

#[test]
fn a_free_hop_to_oneself_saves_exactly_those_messages() {
    let graph = ring(30);
    let params = Params {
        walks_per_node: 20,
        predictor_prob: 0.6,
        epsilon_degree: 1e5,
        ..Params::default()
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
        ..Params::default()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    assert_eq!(number(&outcome, "entries_per_walk"), 9.0 / 4.0);
    assert_eq!(number(&outcome, "peer_messages_per_walk@Theorem 4.2, right form"), 1.5);
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
    let links = LinksSpec {
        uplink: class,
        downlink: class,
        peer: class,
        max_retries: 1,
        ..LinksSpec::default()
    };
    World {
        network: NetworkSpec::Links(links).build(),
        devices: DeviceSpec::LogNormal {
            median_ops_per_s: 1e4,
            sigma: 1.0,
        }
        .build(),
        dropout: DropoutSpec {
            prob: 0.1,
            after_ms: Dist::Uniform { low: 0.0, high: 2000.0 },
        },
        deadline: Some(SimSpan::from_secs(3.0)),
        cohort: CohortSpec::Fraction {
            share: 0.7,
            over_select: 1.0,
        },
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
            ..Params::default()
        };
        let print = |options| {
            let outcome = play(&graph, params.clone(), &rough_world(), options);
            let total = outcome.ledger.total();
            assert!(total.dropped_total() > 0 && total.retried > 0, "{absent:?}: {total:?}");
            assert!(
                outcome.rounds.iter().any(|row| row.dropped > 0),
                "{absent:?}: {:?}",
                outcome.rounds
            );
            format!(
                "{:?} {:?} {:?} {:?}",
                outcome.ledger, outcome.rounds, outcome.summary, outcome.clients
            )
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
fn pools_of_the_tree_are_the_same_for_any_threads_windows_and_encoding() {
    let graph = ring(200);
    let with_matrices = Params {
        walks_per_node: 2,
        walk_length: 12,
        predictor_prob: 0.5,
        ..Params::default()
    };
    let of_vectors = Params {
        m_upload: false,
        pool: Pool::Global,
        ..with_matrices.clone()
    };
    for params in [with_matrices, of_vectors] {
        for world in [World::ideal(), rough_world()] {
            let print = |options| {
                let outcome = play(&graph, params.clone(), &world, options);
                assert!(number(&outcome, "predicted_hops") > 0.0);
                format!("{:?} {:?} {:?}", outcome.ledger, outcome.summary, outcome.clients)
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
                assert!(print(options) == first, "{options:?} with {:?}", params.pool);
            }
        }
    }
}

#[test]
fn the_predictor_finds_neighbours_more_often_than_chance() {
    // Twenty cliques of ten, joined in a ring: structure that counts by bin can tell apart.
    let clique = |c: u32| (0..10).flat_map(move |i| (0..i).map(move |j| (10 * c + i, 10 * c + j)));
    let mut edges: Vec<(u32, u32)> = (0..20).flat_map(clique).collect();
    edges.extend((0..20).map(|c| (10 * c, (10 * c + 10) % 200)));
    let graph = data(Graph::from_edges(200, &edges, false).unwrap());
    let params = Params {
        walks_per_node: 10,
        epsilon_degree: 20.0,
        ..Params::default()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    let chance = 2.0 * edges.len() as f64 / (200.0 * 199.0);
    let hit_rate = number(&outcome, "predictor_hit_rate");
    assert!(hit_rate > 5.0 * chance, "{hit_rate} against {chance} by chance");
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let dry = play(&graph, params, &World::ideal(), dry);
    let (wet, dry) = (sent(&outcome, "walk") as f64, sent(&dry, "walk") as f64);
    assert!(
        (wet - dry).abs() / wet < 0.02,
        "a dry run sends as many walks: {dry} against {wet}"
    );
}

#[test]
fn late_walks_are_counted_in_their_own_round() {
    let params = Params {
        walks_per_node: 4,
        walk_length: 60,
        ..Params::default()
    };
    let world = World {
        deadline: Some(SimSpan::from_secs(2.2)),
        ..rough_world()
    };
    let outcome = play(&ring(300), params, &world, Options::default());
    let late: u64 = outcome.rounds.iter().map(|row| row.late).sum();
    assert!(late > 0, "{:?}", outcome.rounds);
    for row in &outcome.rounds {
        assert_eq!(row.completed + row.dropped + row.late, row.cohort, "{row:?}");
    }
}

#[test]
fn a_directed_graph_is_refused() {
    let graph = data(Graph::from_edges(3, &[(0, 1)], true).unwrap());
    assert!(FedWalk::new(Params::default(), graph).is_err());
}
