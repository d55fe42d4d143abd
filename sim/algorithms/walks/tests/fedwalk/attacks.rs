//! Each attack and control finds the leak that is planted, and none where there is none.

use super::*;

fn play_ideal(graph: &Arc<Dataset>, params: Params) -> Outcome {
    play(graph, params, &World::ideal(), Options::default())
}

/// Entries that tell nothing: an epsilon at which a vertex is kept as often as any other takes its
/// place.
fn blind(params: &Params) -> Params {
    Params {
        encoder: Chosen::new(RandomisedResponse {}),
        epsilon_encoder: 1e-3,
        m_upload: false,
        ..params.clone()
    }
}

/// A coin's area, within four standard errors for the 920 edges of the cliques.
fn is_a_coin(auc: f64) -> bool {
    (auc - 0.5).abs() < 4.0 / (12.0 * 920.0_f64).sqrt()
}

#[test]
fn what_the_server_gets_gives_the_edges_away() {
    let graph = cliques();
    let params = Params {
        walks_per_node: 30,
        predictor_prob: 0.0,
        ..counting()
    };
    let outcome = play(&graph, params.clone(), &World::ideal(), Options::default());
    assert_eq!(number(&outcome, "row_matching_recall"), 1.0);
    assert_eq!(number(&outcome, "row_matching_precision"), 1.0);
    // Each edge is the first of a walk from either end with probability 1/9 or 1/11 a walk.
    let recall = |walks: u32| number(&outcome, &format!("first_entry_recall[walks_per_node={walks}]"));
    assert!((recall(1) - 0.2).abs() < 0.03, "{}", recall(1));
    assert!(recall(1) < recall(2) && recall(2) < recall(10) && recall(30) > 0.98);
    // Dissimilar vertices are never exchanged; members of a clique that have the same neighbours
    // are no twins either, as a vertex is not its own neighbour.
    assert!(number(&outcome, "first_entry_precision[walks_per_node=30]") > 0.99);
    assert!(number(&outcome, "consecutive_edge_share") > 0.99);
    let blind = Params {
        encoder: Chosen::new(RandomisedResponse {}),
        m_upload: false,
        ..params.clone()
    };
    let outcome = play(&graph, blind, &World::ideal(), Options::default());
    assert!(number(&outcome, "encoder_changed_share") > 0.95);
    assert!((number(&outcome, "consecutive_edge_share") - 0.05).abs() < 0.02);
    assert!(
        outcome
            .summary
            .iter()
            .all(|(name, _)| !name.starts_with("row_matching"))
    );
    // Noise of its own on every row hides whose it is, the more the smaller its epsilon.
    let matched = |epsilon| {
        let noisy = Params {
            epsilon_matrix: Some(epsilon),
            ..params.clone()
        };
        let outcome = play(&graph, noisy, &World::ideal(), Options::default());
        number(&outcome, "row_matching_recall")
    };
    let (all, much, little) = (matched(1e-3), matched(0.5), matched(1e4));
    assert!(much < 0.5 && little > 0.95, "{much} {little}");
    // Rows that are all noise are as good as dealt out: of pairs a twentieth is joined.
    assert!(all < 0.12, "{all}");
    let off = Params {
        attacks: false,
        ..params
    };
    let outcome = play(&graph, off, &World::ideal(), Options::default());
    assert!(outcome.summary.iter().all(|(name, _)| !name.contains("_recall")));
}

#[test]
fn walks_rebuild_the_graph_by_their_pairs_and_last_entries_and_blind_ones_do_not() {
    let graph = cliques();
    let params = Params {
        walks_per_node: 30,
        predictor_prob: 0.2,
        ..counting()
    };
    let of = |outcome: &Outcome, name: &str, walks: u32| number(outcome, &format!("{name}[walks_per_node={walks}]"));
    let open = play_ideal(&graph, params.clone());
    for share in ["recall", "precision", "auc"] {
        let counts = of(&open, &format!("pair_counts_{share}"), 30);
        let both = number(&open, &format!("pairs_and_degrees_{share}"));
        assert!(counts > 0.95 && both > 0.95, "{share}: {counts} {both}");
    }
    assert!(of(&open, "pair_counts_recall", 1) < of(&open, "pair_counts_recall", 30));
    // Whoever sends a walk in names a neighbour, whatever was predicted before.
    assert!(of(&open, "last_entry_precision", 30) > 0.99 && of(&open, "last_entry_recall", 30) > 0.95);
    assert!(of(&open, "last_entry_auc", 30) > 0.95 && of(&open, "last_entry_recall", 1) < 0.3);

    let closed = play_ideal(&graph, blind(&params));
    let density = 920.0 / (200.0 * 199.0 / 2.0);
    assert!(is_a_coin(number(&closed, "pairs_and_degrees_auc")));
    for name in ["pair_counts", "last_entry", "first_entry"] {
        let (auc, precision) = (
            of(&closed, &format!("{name}_auc"), 30),
            of(&closed, &format!("{name}_precision"), 30),
        );
        assert!(is_a_coin(auc), "{name}: {auc}");
        assert!((precision - density).abs() < 0.03, "{name}: {precision}");
    }
    // A dry run has no walks to read.
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let dry = play(&graph, params, &World::ideal(), dry);
    assert!(dry.summary.iter().all(|(name, _)| !name.starts_with("pair_")));
}

#[test]
fn requests_for_rows_name_the_edges_and_are_charged_and_a_whole_matrix_names_none() {
    let graph = cliques();
    let play_with = |rows, m_upload, predictor_prob| {
        let params = Params {
            walks_per_node: 30,
            predictor_prob,
            rows,
            m_upload,
            ..counting()
        };
        play_ideal(&graph, params)
    };
    let charged = |outcome: &Outcome| {
        let row = outcome
            .tables
            .privacy
            .iter()
            .find(|row| row.mechanism == "none: row request")?;
        Some((row.releases, row.epsilon_max_client))
    };
    // Predicted vertices are asked for apart, and hide nothing.
    let all = play_with(Rows::Neighbours, true, 0.4);
    for name in ["recall", "precision", "auc"] {
        assert_eq!(number(&all, &format!("row_requests_{name}")), 1.0, "{name}");
    }
    assert!(sent(&all, "row_request") > 0);
    assert_eq!(charged(&all), Some((200 + sent(&all, "row_request"), f64::INFINITY)));

    let some = play_with(Rows::OnRequest, true, 0.0);
    assert!(number(&some, "row_requests_recall") > 0.99 && number(&some, "row_requests_auc") > 0.99);
    assert_eq!(number(&some, "row_requests_precision"), 1.0);
    assert_eq!(charged(&some), Some((sent(&some, "row_request"), f64::INFINITY)));

    // Predicted vertices that are no neighbours are asked for as neighbours are, and are what
    // precision has to lose.
    let mixed = play_with(Rows::OnRequest, true, 0.4);
    let [recall, precision] = ["recall", "precision"].map(|name| number(&mixed, &format!("row_requests_{name}")));
    assert!(precision < 1.0 && precision == recall, "{precision} {recall}");

    // Nobody asks where everybody has the matrix, nor where there is none.
    for none in [play_with(Rows::All, true, 0.4), play_with(Rows::OnRequest, false, 0.4)] {
        assert_eq!(charged(&none), None);
        assert_eq!(sent(&none, "row_request") + sent(&none, "rows_wanted"), 0);
        assert!(none.summary.iter().all(|(name, _)| !name.starts_with("row_requests_")));
    }
}

#[test]
fn degrees_alone_guess_the_edges_of_hubs_and_none_among_equals() {
    // Ten hubs joined to each other and to every tenth of the others.
    let mut edges: Vec<(u32, u32)> = (0..10).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    edges.extend((10..200).map(|v| (v, v % 10)));
    let hubs = data(Graph::from_edges(200, &edges, false).unwrap());
    let params = Params {
        walks_per_node: 1,
        epsilon_degree: 20.0,
        ..counting()
    };
    let auc = |graph: &Arc<Dataset>| number(&play_ideal(graph, params.clone()), "degree_product_auc");
    let (of_hubs, of_equals) = (auc(&hubs), auc(&ring(400)));
    // Whoever reads blind walks, too, knows no less.
    let more = number(&play_ideal(&hubs, blind(&params)), "pairs_and_degrees_auc");
    assert!(more > of_hubs - 0.02, "{more} {of_hubs}");
    assert!(of_hubs > 0.85, "{of_hubs}");
    // 800 edges and as many other pairs.
    assert!((of_equals - 0.5).abs() < 4.0 / (6.0 * 800.0_f64).sqrt(), "{of_equals}");
}

#[test]
fn curious_devices_read_the_edges_of_others_and_not_off_blind_entries() {
    let graph = ring(400);
    let params = Params {
        walks_per_node: 20,
        curious: Curious::Share { share: 0.1 },
        ..counting()
    };
    let open = play_ideal(&graph, params.clone());
    let n_curious = number(&open, "curious_devices");
    assert!((20.0..=60.0).contains(&n_curious), "{n_curious}");
    // Each of them knows its four edges, and a few are shared.
    let own = number(&open, "curious_own_edges") * 800.0;
    assert!(own <= 4.0 * n_curious && own > 3.0 * n_curious, "{own}");
    for name in ["recall", "precision", "auc"] {
        let found = number(&open, &format!("curious_{name}"));
        assert!(found > 0.9, "{name}: {found}");
    }
    let closed = play_ideal(&graph, blind(&params));
    let (auc, precision) = (number(&closed, "curious_auc"), number(&closed, "curious_precision"));
    assert!((auc - 0.5).abs() < 0.06, "{auc}");
    assert!(precision < 0.03, "{precision} of pairs, of which 0.01 are edges");

    let nobody = Params {
        curious: Curious::Nobody,
        ..params.clone()
    };
    let silent = |outcome: &Outcome| outcome.summary.iter().all(|(name, _)| !name.starts_with("curious"));
    assert!(silent(&play_ideal(&graph, nobody)));
    // The ends of the edges between cliques have eleven neighbours, the others nine.
    for (degree, n) in [(11, 20.0), (10, 20.0), (9, 200.0), (12, 0.0)] {
        let hubs = Params {
            walks_per_node: 1,
            curious: Curious::Hubs { degree },
            ..counting()
        };
        assert_eq!(number(&play_ideal(&cliques(), hubs), "curious_devices"), n);
    }
}

#[test]
fn curious_devices_read_weakly_encoded_entries_by_counting() {
    let graph = cliques();
    let params = Params {
        walks_per_node: 10,
        curious: Curious::Share { share: 0.5 },
        ..counting()
    };
    let found = |params| number(&play_ideal(&graph, params), "curious_auc");
    let weak = Params {
        encoder: Chosen::new(RandomisedResponse {}),
        epsilon_encoder: 4.0,
        m_upload: false,
        ..params
    };
    // An entry is itself in one case of five, and so are two neighbouring ones in one of
    // twenty-five.
    let auc = found(weak);
    assert!(auc > 0.7, "{auc}");
}

#[test]
fn vectors_tell_the_edges_unless_the_walks_were_blind() {
    let graph = cliques();
    let params = Params {
        walks_per_node: 10,
        walk_length: 20,
        predictor_prob: 0.0,
        embedding: small(),
        ..Params::default()
    };
    let found = |params| {
        let outcome = play_ideal(&graph, params);
        ["auc", "recall", "precision"].map(|name| number(&outcome, &format!("vector_edge_{name}")))
    };
    let ([area, recall, precision], [closed, by_chance, _]) = (found(params.clone()), found(blind(&params)));
    assert!(
        area > 0.8 && recall > 0.8 && precision == recall,
        "{area} {recall} {precision}"
    );
    // 920 edges and as many other pairs.
    assert!((closed - 0.5).abs() < 4.0 / (6.0 * 920.0_f64).sqrt(), "{closed}");
    // Of 19 900 pairs 920 are guessed and as many are edges.
    assert!(
        (by_chance - 0.046).abs() < 4.0 * (0.046 / 920.0_f64).sqrt(),
        "{by_chance}"
    );
}

/// A ring falls into arcs where edges are held out: walks bring the ends of the others together,
/// and never those.
#[test]
fn vectors_tell_which_edges_were_walked_unless_the_walks_were_blind() {
    let edges: Vec<(u32, u32)> = (0..1000).map(|v| (v, (v + 1) % 1000)).collect();
    let graph = Graph::from_edges(1000, &edges, false).unwrap();
    let ring = Arc::new(Dataset::of_graph("ring", graph));
    let params = Params {
        walks_per_node: 10,
        walk_length: 10,
        predictor_prob: 0.0,
        embedding: small(),
        evaluation: Evaluation {
            hold_out: 0.1,
            ..Evaluation::default()
        },
        ..Params::default()
    };
    let found = |params| {
        let outcome = play_ideal(&ring, params);
        ["auc", "recall", "precision"].map(|name| number(&outcome, &format!("vector_membership_{name}")))
    };
    let [area, recall, precision] = found(params.clone());
    assert!(
        area > 0.9 && recall > 0.9 && precision == recall,
        "{area} {recall} {precision}"
    );
    // A hundred that were held out and as many, or nine times as many, that were not.
    let [area, recall, precision] = found(blind(&params));
    assert!(
        (area - 0.5).abs() < 4.0 * (1.0 / 1200.0_f64 + 1.0 / 10_800.0).sqrt(),
        "{area}"
    );
    assert!((recall - 0.5).abs() < 4.0 / (8.0 * 100.0_f64).sqrt(), "{recall}");
    assert_eq!(precision, recall);
}

/// With the neighbours for a pool the predictor always hits, with everybody as often as chance has
/// it.
#[test]
fn the_pools_of_the_controls_are_the_best_and_the_worst() {
    let graph = cliques();
    let play_with = |pool| {
        let params = Params {
            walks_per_node: 20,
            pool,
            ..counting()
        };
        let trusted = prepare(params.clone(), &graph).unwrap().system().shards.trusted();
        (play_ideal(&graph, params), trusted)
    };
    let ((oracle, told), (random, untold)) = (play_with(Pool::Oracle), play_with(Pool::Random));
    assert_eq!(
        (told, untold),
        (Some("tells every vertex the neighbours of its neighbours"), None)
    );
    assert_eq!(number(&oracle, "predictor_hit_rate"), 1.0);
    assert!(number(&oracle, "consecutive_edge_share") > 0.99);
    assert_eq!(number(&oracle, "empty_pools") + number(&random, "empty_pools"), 0.0);
    let (hits, hops) = (number(&random, "predictor_hit_rate"), number(&random, "predicted_hops"));
    let by_chance = 2.0 * 920.0 / (200.0 * 199.0);
    // Walks come to a vertex in proportion to its neighbours, of which some have eleven.
    assert!(
        (hits - by_chance).abs() < 0.001 + 4.0 * (by_chance / hops).sqrt(),
        "{hits}"
    );
    // A neighbour's neighbour is the holder once in nine or so.
    let back = number(&oracle, "self_hops") / number(&oracle, "predicted_hops");
    assert!((back - 0.11).abs() < 0.02, "{back}");
}
