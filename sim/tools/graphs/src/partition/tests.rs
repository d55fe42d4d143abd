use folkmoot_parts::Value;
use rand::SeedableRng;

use super::*;
use crate::measures::ego;
use crate::{DataDirs, DataSource, Features, Graph, GraphBuilder, Labels, Splits, datasets};
use proptest::prelude::*;

fn rng(seed: u64) -> SimRng {
    SimRng::seed_from_u64(seed)
}

/// A ring whose nodes have the classes 0 to 4 in turn; every seventh has none, every eleventh two.
fn ring(n_nodes: u32) -> Dataset {
    let edges: Vec<(u32, u32)> = (0..n_nodes).map(|u| (u, (u + 1) % n_nodes)).collect();
    let graph = Graph::from_edges(n_nodes, &edges, false).unwrap();
    let classes = (0..n_nodes).filter(|u| u % 7 != 0).map(|u| (u, u % 5));
    let more = (0..n_nodes).filter(|u| u % 11 == 1).map(|u| (u, (u + 1) % 5));
    let labels = Labels::from_pairs(n_nodes, 5, &classes.chain(more).collect::<Vec<_>>()).unwrap();
    Dataset {
        node_labels: Some(labels),
        n_classes: 5,
        ..Dataset::of_graph("ring", graph)
    }
}

fn sizes(partition: &Partition) -> Vec<usize> {
    (0..partition.n_clients())
        .map(|client| partition.shard(client).len())
        .collect()
}

#[test]
fn node_per_client_costs_four_bytes_a_client() {
    let partition = NodePerClient {}.divide(&ring(1_000), &mut rng(1)).unwrap();
    assert_eq!(
        (partition.n_clients(), partition.shard(7), partition.centre(7)),
        (1_000, &[7][..], Some(7))
    );
    assert!(partition.bounds.is_none() && partition.centres.is_none());
    assert!(partition.is_exact_cover(1_000));
}

#[test]
fn iid_shards_differ_by_at_most_one() {
    let partition = Iid { n_clients: 7 }.divide(&ring(100), &mut rng(1)).unwrap();
    assert_eq!(sizes(&partition), [15, 15, 14, 14, 14, 14, 14]);
    assert_eq!(partition.centre(0), None);
}

#[test]
fn small_alpha_skews_labels_and_quantities_and_large_alpha_does_not() {
    let dataset = ring(5_000);
    let labels = dataset.node_labels.as_ref().unwrap();
    let most = |alpha| {
        let spec = LabelSkew {
            n_clients: 10,
            alpha,
            min_size: 10,
        };
        let partition = spec.divide(&dataset, &mut rng(2)).unwrap();
        let share = |client| {
            let shard = partition.shard(client);
            let of_class = |class| shard.iter().filter(|&&node| labels.single(node) == Some(class)).count();
            (0..5).map(of_class).max().unwrap() as f64 / shard.len() as f64
        };
        (0..10).map(share).sum::<f64>() / 10.0
    };
    // An even spread has 0.17 of each class; the filling up of small shards mixes them a little.
    assert!(
        most(0.05) > 0.4 && most(1_000.0) < 0.25,
        "{} {}",
        most(0.05),
        most(1_000.0)
    );
    let largest = |alpha| {
        let spec = QuantitySkew {
            n_clients: 10,
            alpha,
            min_size: 1,
        };
        sizes(&spec.divide(&dataset, &mut rng(2)).unwrap())
            .into_iter()
            .max()
            .unwrap()
    };
    assert!(
        largest(0.05) > 2_000 && largest(1_000.0) < 600,
        "{} {}",
        largest(0.05),
        largest(1_000.0)
    );
}

#[test]
fn neighbourhoods_are_those_of_their_centres() {
    let mut dataset = ring(20);
    let spec = KHop {
        hops: 2,
        centres: Centres::Sample(5),
    };
    let partition = spec.divide(&dataset, &mut rng(3)).unwrap();
    assert_eq!(partition.n_clients(), 5);
    let centres: Vec<u32> = (0..5).map(|client| partition.centre(client).unwrap()).collect();
    assert!(centres.windows(2).all(|pair| pair[0] < pair[1]), "{centres:?}");
    for (client, &centre) in centres.iter().enumerate() {
        assert_eq!(partition.shard(client), ego(dataset.graph(), centre, 2));
    }
    let train = KHop {
        hops: 1,
        centres: Centres::Train,
    };
    let error = train.divide(&dataset, &mut rng(3)).unwrap_err();
    assert!(error.to_string().contains("a training split"), "{error}");
    let mut mask = vec![false; 20];
    mask[4] = true;
    dataset.splits = Some(Splits {
        train: mask,
        val: vec![false; 20],
        test: vec![false; 20],
    });
    let partition = train.divide(&dataset, &mut rng(3)).unwrap();
    assert_eq!((partition.n_clients(), partition.shard(0)), (1, &[3, 4, 5][..]));
}

#[test]
fn impossible_partitions_are_refused_with_a_way_out() {
    let dataset = ring(20);
    let error = |spec: &dyn Partitioner, dataset: &Dataset| spec.divide(dataset, &mut rng(4)).unwrap_err().to_string();
    let many = error(&Iid { n_clients: 21 }, &dataset);
    assert!(
        many.contains("20 items are too few for 21 clients") && many.contains("lower partition.n_clients"),
        "{many}"
    );
    let big = LabelSkew {
        n_clients: 4,
        alpha: 0.5,
        min_size: 6,
    };
    assert!(error(&big, &dataset).contains("at least 6 each"));
    let spec = QuantitySkew {
        n_clients: 0,
        alpha: f64::NAN,
        min_size: 1,
    };
    assert_eq!(
        spec.broken().into_iter().map(|broken| broken.path).collect::<Vec<_>>(),
        ["n_clients", "alpha"]
    );
    assert!(error(&spec, &dataset).contains("partition.alpha: must be finite and greater than 0, got NaN"));
    let spec = KHop {
        hops: 1,
        centres: Centres::Sample(21),
    };
    assert!(error(&spec, &dataset).contains("21 centres are wanted"));
    let named = |nodes: Vec<u32>| KHop {
        hops: 1,
        centres: Centres::Nodes(nodes),
    };
    assert!(error(&named(vec![3, 20]), &dataset).contains("node 20 is not in the graph of 20 nodes"));
    assert!(error(&named(vec![3, 7, 3]), &dataset).contains("must name each node once, got 3 twice"));
    assert!(error(&named(Vec::new()), &dataset).contains("must be at least 1 node, got Nodes([])"));
    let unlabelled = Dataset {
        node_labels: None,
        ..ring(20)
    };
    let spec = LabelSkew {
        n_clients: 2,
        alpha: 0.5,
        min_size: 1,
    };
    assert!(error(&spec, &unlabelled).contains("needs labels"));
}

#[test]
fn graph_level_sets_are_divided_by_graphs() {
    let graphs = vec![Graph::from_edges(3, &[(0, 1)], false).unwrap(); 6];
    let labels = Some(vec![0, 1, 0, 1, 0, 1]);
    let features = Some(Features::Dense(ndarray::Array2::zeros((18, 1)).into()));
    let dataset = Dataset {
        graphs,
        graph_labels: labels,
        n_classes: 2,
        features,
        ..Dataset::default()
    };
    let partition = LabelSkew {
        n_clients: 2,
        alpha: 0.1,
        min_size: 2,
    }
    .divide(&dataset, &mut rng(5))
    .unwrap();
    assert!(partition.is_exact_cover(6) && sizes(&partition).into_iter().all(|size| size >= 2));
    let spec = KHop {
        hops: 1,
        centres: Centres::All,
    };
    assert!(
        spec.divide(&dataset, &mut rng(5))
            .unwrap_err()
            .to_string()
            .contains("one graph")
    );
}

#[test]
fn cards_write_partitions_briefly() {
    let skew: LabelSkew = ron::from_str("(n_clients: 3)").unwrap();
    assert_eq!((skew.alpha, skew.min_size), (0.5, 1));
    let read = |text: &str| ron::from_str::<KHop>(text).unwrap();
    let all = KHop {
        hops: 1,
        centres: Centres::All,
    };
    assert_eq!(read("()"), all);
    assert_eq!(read("(centres: Sample(9))").centres, Centres::Sample(9));
    let named = read("(centres: Nodes([7, 2]))");
    let partition = named.divide(&ring(20), &mut rng(5)).unwrap();
    assert_eq!(partition.centres, Some(vec![7, 2]));
    assert_eq!(
        (partition.shard(0), partition.shard(1)),
        (&[6, 7, 8][..], &[1, 2, 3][..])
    );
    assert!(ron::from_str::<Iid>("(clients: 3)").is_err());
}

#[test]
fn value_stability() {
    let karate = datasets::Karate {}.load(&DataDirs::new(), &mut rng(0)).unwrap();
    let drawn = [
        &Iid { n_clients: 12 } as &dyn Partitioner,
        &LabelSkew {
            n_clients: 4,
            alpha: 0.5,
            min_size: 2,
        },
        &QuantitySkew {
            n_clients: 9,
            alpha: 0.5,
            min_size: 2,
        },
        &KHop {
            hops: 1,
            centres: Centres::Sample(3),
        },
    ]
    .map(|spec| spec.divide(&karate, &mut rng(6)).unwrap().shard(0).to_vec());
    let expected = [
        vec![8, 19, 30],
        vec![2, 21],
        vec![5, 11, 15, 16, 28, 29],
        vec![0, 1, 2, 3, 7, 12, 13],
    ];
    assert_eq!(drawn, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn partitions_are_exact_covers_with_the_least_size(
        n_nodes in 3_u32..300, n_clients in 1_u32..20, min_size in 0_u32..8, log_alpha in -6.0_f64..4.0, seed: u64
    ) {
        let alpha = libm::exp(log_alpha);
        let dataset = ring(n_nodes);
        let specs = [
            (&NodePerClient {} as &dyn Partitioner, false),
            (&Iid { n_clients }, false),
            (&LabelSkew { n_clients, alpha, min_size }, true),
            (&QuantitySkew { n_clients, alpha, min_size }, true),
        ];
        for (spec, skewed) in specs {
            match spec.divide(&dataset, &mut rng(seed)) {
                Ok(partition) => {
                    prop_assert!(partition.is_exact_cover(n_nodes as usize));
                    for client in 0..partition.n_clients() {
                        let shard = partition.shard(client);
                        prop_assert!(shard.windows(2).all(|pair| pair[0] < pair[1]));
                        prop_assert!(!skewed || shard.len() >= min_size as usize);
                    }
                }
                Err(PartitionError::TooFewItems { .. }) => {
                    prop_assert!(n_clients * min_size.max(1) > n_nodes);
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }
}

/// Sizes, edges inside and edges cut of each client, and the edges that nobody has whole.
fn edges_of(dataset: &Dataset, shards: Vec<Vec<u32>>) -> (Vec<(u64, u64, u64)>, u64) {
    let (division, rows) = Partition::from_shards(shards).unwrap().split(dataset);
    let mut clients: Vec<(u32, (u64, u64, u64))> = rows
        .iter()
        .map(|row| (row.client, (row.shard_size, row.inner_edges, row.cut_edges)))
        .collect();
    clients.dedup();
    (
        clients.into_iter().map(|(_, counts)| counts).collect(),
        division.cut_edges,
    )
}

#[test]
fn edges_are_inside_a_shard_or_cut_and_those_in_no_shard_are_counted_once() {
    let path = |directed| {
        Dataset::of_graph(
            "path",
            Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4)], directed).unwrap(),
        )
    };
    let halves = || vec![vec![0, 1], vec![2, 3, 4]];
    assert_eq!(edges_of(&path(false), halves()), (vec![(2, 1, 1), (3, 2, 1)], 1));
    // An arc leaves one client and is nothing to the other.
    assert_eq!(edges_of(&path(true), halves()), (vec![(2, 1, 1), (3, 2, 0)], 1));
    // Shards that overlap have an edge twice, and node 4 is nobody's.
    let overlapping = vec![vec![0, 1, 2], vec![1, 2, 3], vec![]];
    assert_eq!(
        edges_of(&path(false), overlapping),
        (vec![(3, 2, 1), (3, 2, 2), (0, 0, 0)], 1)
    );
    let alone = NodePerClient {}.divide(&path(false), &mut rng(1)).unwrap();
    let (division, rows) = alone.split(&path(false));
    assert_eq!((division.clients, division.edges, division.cut_edges), (5, 4, 4));
    let cut: Vec<u64> = rows.iter().map(|row| row.cut_edges).collect();
    assert_eq!(cut, [1, 2, 2, 2, 1]);
}

#[test]
fn loops_lie_inside_the_shard_of_their_node() {
    let build = GraphBuilder::new(2).keep_self_loops(true).build(&[(0, 0), (0, 1)]);
    let dataset = Dataset::of_graph("loop", build.unwrap().0);
    let alone = NodePerClient {}.divide(&dataset, &mut rng(1)).unwrap();
    let by_shards = edges_of(&dataset, vec![vec![0], vec![1]]);
    assert_eq!(by_shards, (vec![(1, 1, 1), (1, 0, 1)], 1));
    let (division, rows) = alone.split(&dataset);
    let counts: Vec<_> = rows
        .iter()
        .map(|row| (row.shard_size, row.inner_edges, row.cut_edges))
        .collect();
    assert_eq!((counts, division.cut_edges), by_shards);
}

#[test]
fn labels_are_counted_as_often_as_items_have_them() {
    let dataset = ring(77);
    let (_, rows) = Iid { n_clients: 3 }
        .divide(&dataset, &mut rng(1))
        .unwrap()
        .split(&dataset);
    let all = |label: &str| {
        rows.iter()
            .filter(|row| row.label == label)
            .map(|row| row.items)
            .sum::<u64>()
    };
    // Every seventh node has no label of its own, and some of those have one by being an eleventh.
    let unlabelled = dataset.node_labels.as_ref().unwrap().n_unlabelled() as u64;
    assert_eq!(all("unlabelled"), unlabelled);
    let sizes = dataset.node_labels.as_ref().unwrap().class_sizes();
    let counted: Vec<u64> = (0..5).map(|class| all(&class.to_string())).collect();
    assert_eq!(counted, sizes.iter().map(|&n| n as u64).collect::<Vec<_>>());
}

#[test]
fn many_clients_share_rows_and_many_labels_a_name() {
    let n = 2_500;
    let graph = Graph::from_edges(n, &[(0, 1)], false).unwrap();
    let classes: Vec<Option<u32>> = (0..n).map(|node| Some(node % 100)).collect();
    let dataset = Dataset {
        node_labels: Some(Labels::from_single(100, &classes).unwrap()),
        n_classes: 100,
        ..Dataset::of_graph("many", graph)
    };
    let (division, rows) = NodePerClient {}.divide(&dataset, &mut rng(1)).unwrap().split(&dataset);
    let mut groups: Vec<(u32, u32, u64)> = rows
        .iter()
        .map(|row| (row.client, row.clients, row.shard_size))
        .collect();
    groups.dedup();
    assert_eq!((groups[0], groups.len(), groups[833]), ((0, 3, 3), 834, (2499, 1, 1)));
    assert_eq!(division.clients, u64::from(n));
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(names.len(), 64);
    let items = |name: &str| {
        rows.iter()
            .filter(|row| row.label == name)
            .map(|row| row.items)
            .sum::<u64>()
    };
    assert_eq!((items("62"), items("other labels")), (25, 37 * 25));
}

#[test]
fn graphs_are_whole_with_whoever_has_them() {
    let pair = Graph::from_edges(2, &[(0, 1)], false).unwrap();
    let triangle = Graph::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false).unwrap();
    let dataset = Dataset {
        graphs: vec![pair, triangle.clone(), triangle],
        graph_labels: Some(vec![1, 0, 0]),
        n_classes: 2,
        ..Dataset::default()
    };
    let (division, rows) = Partition::from_shards(vec![vec![0, 1]]).unwrap().split(&dataset);
    assert_eq!(
        (division.of.as_str(), division.edges, division.cut_edges),
        ("graphs", 7, 3)
    );
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.label.as_str(), row.items, row.inner_edges))
        .collect();
    assert_eq!(told, [("0", 1, 4), ("1", 1, 4)]);
}
