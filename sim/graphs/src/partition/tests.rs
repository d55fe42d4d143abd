use folkmoot_parts::Value;
use rand::SeedableRng;

use super::*;
use crate::measures::ego;
use crate::{DataDirs, DatasetSpec, Features, Graph, Labels, Splits};
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
    let partition = PartitionSpec::NodePerClient
        .partition(&ring(1_000), &mut rng(1))
        .unwrap();
    assert_eq!(
        (partition.n_clients(), partition.shard(7), partition.centre(7)),
        (1_000, &[7][..], Some(7))
    );
    assert!(partition.bounds.is_none() && partition.centres.is_none());
    assert!(partition.is_exact_cover(1_000));
}

#[test]
fn iid_shards_differ_by_at_most_one() {
    let partition = PartitionSpec::Iid { n_clients: 7 }
        .partition(&ring(100), &mut rng(1))
        .unwrap();
    assert_eq!(sizes(&partition), [15, 15, 14, 14, 14, 14, 14]);
    assert_eq!(partition.centre(0), None);
}

#[test]
fn small_alpha_skews_labels_and_quantities_and_large_alpha_does_not() {
    let dataset = ring(5_000);
    let labels = dataset.node_labels.as_ref().unwrap();
    let most = |alpha| {
        let spec = PartitionSpec::LabelSkew {
            n_clients: 10,
            alpha,
            min_size: 10,
        };
        let partition = spec.partition(&dataset, &mut rng(2)).unwrap();
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
        let spec = PartitionSpec::QuantitySkew {
            n_clients: 10,
            alpha,
            min_size: 1,
        };
        sizes(&spec.partition(&dataset, &mut rng(2)).unwrap())
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
    let spec = PartitionSpec::KHop {
        hops: 2,
        centres: Centres::Sample(5),
    };
    let partition = spec.partition(&dataset, &mut rng(3)).unwrap();
    assert_eq!(partition.n_clients(), 5);
    let centres: Vec<u32> = (0..5).map(|client| partition.centre(client).unwrap()).collect();
    assert!(centres.windows(2).all(|pair| pair[0] < pair[1]), "{centres:?}");
    for (client, &centre) in centres.iter().enumerate() {
        assert_eq!(partition.shard(client), ego(dataset.graph(), centre, 2));
    }
    let train = PartitionSpec::KHop {
        hops: 1,
        centres: Centres::Train,
    };
    let error = train.partition(&dataset, &mut rng(3)).unwrap_err();
    assert!(error.to_string().contains("a training split"), "{error}");
    let mut mask = vec![false; 20];
    mask[4] = true;
    dataset.splits = Some(Splits {
        train: mask,
        val: vec![false; 20],
        test: vec![false; 20],
    });
    let partition = train.partition(&dataset, &mut rng(3)).unwrap();
    assert_eq!((partition.n_clients(), partition.shard(0)), (1, &[3, 4, 5][..]));
}

#[test]
fn impossible_partitions_are_refused_with_a_way_out() {
    let dataset = ring(20);
    let error = |spec: PartitionSpec, dataset: &Dataset| spec.partition(dataset, &mut rng(4)).unwrap_err().to_string();
    let many = error(PartitionSpec::Iid { n_clients: 21 }, &dataset);
    assert!(
        many.contains("20 items are too few for 21 clients") && many.contains("lower partition.n_clients"),
        "{many}"
    );
    let big = PartitionSpec::LabelSkew {
        n_clients: 4,
        alpha: 0.5,
        min_size: 6,
    };
    assert!(error(big, &dataset).contains("at least 6 each"));
    let spec = PartitionSpec::QuantitySkew {
        n_clients: 0,
        alpha: f64::NAN,
        min_size: 1,
    };
    assert_eq!(
        spec.broken().into_iter().map(|broken| broken.path).collect::<Vec<_>>(),
        ["n_clients", "alpha"]
    );
    assert!(error(spec, &dataset).contains("partition.alpha: must be finite and greater than 0, got NaN"));
    let spec = PartitionSpec::KHop {
        hops: 1,
        centres: Centres::Sample(21),
    };
    assert!(error(spec, &dataset).contains("21 centres are wanted"));
    let named = |nodes: Vec<u32>| PartitionSpec::KHop {
        hops: 1,
        centres: Centres::Nodes(nodes),
    };
    assert!(error(named(vec![3, 20]), &dataset).contains("node 20 is not in the graph of 20 nodes"));
    assert!(error(named(vec![3, 7, 3]), &dataset).contains("must name each node once, got 3 twice"));
    assert!(error(named(Vec::new()), &dataset).contains("must be at least 1 node, got Nodes([])"));
    let unlabelled = Dataset {
        node_labels: None,
        ..ring(20)
    };
    let spec = PartitionSpec::LabelSkew {
        n_clients: 2,
        alpha: 0.5,
        min_size: 1,
    };
    assert!(error(spec, &unlabelled).contains("needs labels"));
}

#[test]
fn graph_level_sets_are_divided_by_graphs() {
    let graphs = vec![Graph::from_edges(3, &[(0, 1)], false).unwrap(); 6];
    let labels = Some(vec![0, 1, 0, 1, 0, 1]);
    let features = Some(Features::Dense(ndarray::Array2::zeros((18, 1))));
    let dataset = Dataset {
        graphs,
        graph_labels: labels,
        n_classes: 2,
        features,
        ..Dataset::default()
    };
    let partition = PartitionSpec::LabelSkew {
        n_clients: 2,
        alpha: 0.1,
        min_size: 2,
    }
    .partition(&dataset, &mut rng(5))
    .unwrap();
    assert!(partition.is_exact_cover(6) && sizes(&partition).into_iter().all(|size| size >= 2));
    let spec = PartitionSpec::KHop {
        hops: 1,
        centres: Centres::All,
    };
    assert!(
        spec.partition(&dataset, &mut rng(5))
            .unwrap_err()
            .to_string()
            .contains("one graph")
    );
}

#[test]
fn cards_write_partitions_briefly() {
    let read = |text: &str| ron::from_str::<PartitionSpec>(text).unwrap();
    assert_eq!(read("NodePerClient"), PartitionSpec::default());
    assert_eq!(
        read("LabelSkew(n_clients: 3)"),
        PartitionSpec::LabelSkew {
            n_clients: 3,
            alpha: 0.5,
            min_size: 1
        }
    );
    assert_eq!(
        read("KHop()"),
        PartitionSpec::KHop {
            hops: 1,
            centres: Centres::All
        }
    );
    assert_eq!(
        read("KHop(centres: Sample(9))"),
        PartitionSpec::KHop {
            hops: 1,
            centres: Centres::Sample(9)
        }
    );
    let named = read("KHop(centres: Nodes([7, 2]))");
    let partition = named.partition(&ring(20), &mut rng(5)).unwrap();
    assert_eq!(partition.centres, Some(vec![7, 2]));
    assert_eq!(
        (partition.shard(0), partition.shard(1)),
        (&[6, 7, 8][..], &[1, 2, 3][..])
    );
    assert!(ron::from_str::<PartitionSpec>("Iid(clients: 3)").is_err());
}

#[test]
fn value_stability() {
    let karate = DatasetSpec::Karate.load(&DataDirs::new(), &mut rng(0)).unwrap();
    let drawn = [
        PartitionSpec::Iid { n_clients: 12 },
        PartitionSpec::LabelSkew {
            n_clients: 4,
            alpha: 0.5,
            min_size: 2,
        },
        PartitionSpec::QuantitySkew {
            n_clients: 9,
            alpha: 0.5,
            min_size: 2,
        },
        PartitionSpec::KHop {
            hops: 1,
            centres: Centres::Sample(3),
        },
    ]
    .map(|spec| spec.partition(&karate, &mut rng(6)).unwrap().shard(0).to_vec());
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
            PartitionSpec::NodePerClient,
            PartitionSpec::Iid { n_clients },
            PartitionSpec::LabelSkew { n_clients, alpha, min_size },
            PartitionSpec::QuantitySkew { n_clients, alpha, min_size },
        ];
        for spec in specs {
            match spec.partition(&dataset, &mut rng(seed)) {
                Ok(partition) => {
                    prop_assert!(partition.is_exact_cover(n_nodes as usize), "{:?}", spec);
                    for client in 0..partition.n_clients() {
                        let shard = partition.shard(client);
                        prop_assert!(shard.windows(2).all(|pair| pair[0] < pair[1]));
                        let skewed = matches!(spec, PartitionSpec::LabelSkew { .. } | PartitionSpec::QuantitySkew { .. });
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
