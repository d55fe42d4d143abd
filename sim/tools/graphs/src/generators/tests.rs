use rand::SeedableRng;

use super::dc_sbm::dc_sbm;
use super::rmat::rmat;
use super::*;
use crate::Graph;
use crate::measures::degree_stats;
use proptest::prelude::*;

fn rng(seed: u64) -> SimRng {
    SimRng::seed_from_u64(seed)
}

fn block_model(n_nodes: u32) -> DcSbm {
    DcSbm {
        n_nodes,
        n_classes: 4,
        mean_degree: 8.0,
        assortativity: 0.8,
        degree_exponent: 2.5,
        max_degree_share: 0.2,
        second_label_prob: 0.25,
        min_degree: 0,
    }
}

fn recursive(n_nodes: u32) -> Rmat {
    Rmat {
        n_nodes,
        mean_degree: 8.0,
        a: 0.57,
        b: 0.19,
        c: 0.19,
        min_degree: 0,
    }
}

fn all(n_nodes: u32, seed: u64) -> Vec<(&'static str, Vec<u64>)> {
    let rng = &mut rng(seed);
    vec![
        ("erdos_renyi", erdos_renyi(n_nodes, 5.0, rng)),
        ("barabasi_albert", barabasi_albert(n_nodes, 3, rng)),
        ("watts_strogatz", watts_strogatz(n_nodes, 4, 0.3, rng)),
        ("rmat", rmat(&recursive(n_nodes), rng)),
        ("dc_sbm", dc_sbm(&block_model(n_nodes), rng).0),
    ]
}

fn graph(n_nodes: u32, edges: &[u64]) -> Graph {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|&edge| pair(edge)).collect();
    let (graph, cleaned) = crate::GraphBuilder::new(n_nodes).build(&pairs).unwrap();
    assert_eq!(
        cleaned,
        crate::Cleaned::default(),
        "a generator draws no edge twice and no loop"
    );
    graph
}

#[test]
fn value_stability() {
    let expected = [
        ("erdos_renyi", 532, "cec7309a5d64ab09"),
        ("barabasi_albert", 594, "1908b7ce0b59e0f8"),
        ("watts_strogatz", 400, "14675ec14676c6b7"),
        ("rmat", 800, "e070bb7f5ed7df99"),
        ("dc_sbm", 800, "c386a90c48190d61"),
    ];
    let drawn: Vec<(&str, usize, String)> = all(200, 7)
        .into_iter()
        .map(|(name, edges)| {
            let bytes: Vec<u8> = edges.iter().flat_map(|edge| edge.to_le_bytes()).collect();
            (name, edges.len(), blake3::hash(&bytes).to_hex()[..16].to_string())
        })
        .collect();
    assert_eq!(
        drawn,
        expected.map(|(name, n_edges, hash)| (name, n_edges, hash.to_string()))
    );
}

#[test]
fn erdos_renyi_has_the_number_of_edges_its_law_expects() {
    let n_nodes = 20_000;
    let edges = erdos_renyi(n_nodes, 10.0, &mut rng(1));
    // Binomial with mean n d / 2 and a variance just below that; bound: 4 standard errors.
    let mean = f64::from(n_nodes) * 10.0 / 2.0;
    assert!((edges.len() as f64 - mean).abs() < 4.0 * mean.sqrt(), "{}", edges.len());
    assert_eq!(erdos_renyi(6, 5.0, &mut rng(1)).len(), 15);
    assert!(erdos_renyi(6, 0.0, &mut rng(1)).is_empty());
}

#[test]
fn barabasi_albert_has_hubs_and_watts_strogatz_keeps_its_edges() {
    let hubs = graph(5_000, &barabasi_albert(5_000, 3, &mut rng(2)));
    let stats = degree_stats(&hubs);
    assert_eq!((hubs.n_edges(), stats.min), (3 * (5_000 - 4) + 6, 3));
    assert!(stats.max > 100, "{}", stats.max);
    let ring = graph(1_000, &watts_strogatz(1_000, 6, 0.0, &mut rng(2)));
    assert_eq!(ring.neighbours(0), [1, 2, 3, 997, 998, 999]);
    let rewired = graph(1_000, &watts_strogatz(1_000, 6, 1.0, &mut rng(2)));
    assert_eq!(rewired.n_edges(), 3_000);
    assert!(degree_stats(&rewired).min >= 3);
}

#[test]
fn block_model_joins_classes_as_often_as_its_assortativity_says() {
    let parameters = DcSbm {
        second_label_prob: 0.0,
        ..block_model(4_000)
    };
    let (edges, model) = dc_sbm(&parameters, &mut rng(3));
    assert_eq!(edges.len(), 16_000);
    let labels = model.into_labels();
    assert_eq!(labels.class_sizes(), [1_000; 4]);
    let within = edges
        .iter()
        .map(|&edge| pair(edge))
        .filter(|&(u, v)| labels.of(u) == labels.of(v))
        .count();
    // 0.8 by class, and a quarter of the rest by chance: 0.85. Hubs are drawn again and again,
    // which costs a little.
    let share = within as f64 / edges.len() as f64;
    assert!((share - 0.85).abs() < 0.02, "{share}");
    let stats = degree_stats(&graph(4_000, &edges));
    assert!(stats.max > 100 && stats.max < 900 && stats.median < 8, "{stats:?}");
}

#[test]
fn second_labels_occur_as_often_as_stated() {
    let (_, model) = dc_sbm(&block_model(4_000), &mut rng(4));
    let extra = model.into_labels().n_labels() - 4_000;
    // Binomial with mean 1000 and standard deviation 27.
    assert!((extra as f64 - 1_000.0).abs() < 110.0, "{extra}");
}

#[test]
fn recursive_model_is_skewed_and_nearly_reaches_its_mean_degree() {
    let edges = rmat(&recursive(10_000), &mut rng(5));
    assert_eq!(edges.len(), 40_000);
    let stats = degree_stats(&graph(10_000, &edges));
    assert!(stats.max > 200 && stats.isolated > 1_000, "{stats:?}");
    // A model that can draw one cell only must give up, not go on for ever.
    let stuck = Rmat {
        a: 1.0,
        b: 0.0,
        c: 0.0,
        ..recursive(64)
    };
    assert!(rmat(&stuck, &mut rng(5)).len() < 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn generated_graphs_are_simple_and_symmetric_and_can_be_lifted(
        n_nodes in 20_u32..150, seed: u64, min_degree in 0_u32..6
    ) {
        for (name, mut edges) in all(n_nodes, seed) {
            let before = edges.len();
            let built = graph(n_nodes, &edges);
            for (u, v) in built.arcs() {
                prop_assert!(u != v && built.has_edge(v, u), "{} {} {}", name, u, v);
            }
            let added = lift(n_nodes, &mut edges, min_degree, &mut rng(seed), |_, rng| node(n_nodes, rng));
            prop_assert_eq!(edges.len(), before + added);
            let lifted = graph(n_nodes, &edges);
            prop_assert!(degree_stats(&lifted).min >= min_degree as usize);
            prop_assert!(built.edges().all(|(u, v)| lifted.has_edge(u, v)));
        }
    }
}
