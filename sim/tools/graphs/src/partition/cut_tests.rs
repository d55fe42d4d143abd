//! Partitions along the edges of graphs: communities and parts, with the cuts that are known.

use rand::SeedableRng;

use super::*;
use crate::readers::test_files::real_data;
use crate::{Citation, DataSource, Graph, Labels, Properties, datasets, measures};
use proptest::prelude::*;

/// Of the labels of Cora, Citeseer and Pubmed, apart by commas.
const HASHES: [&str; 3] = [
    "605e3ba56a3d5b5d3b67d61e3aed0e12bbd8be83f2b9cae84c6c26fb8f355682",
    "85a206fbcb6cb5922ec53dacc05d91cbf52104e1738b198ea4be6189ba2a17c1",
    "4f74d8ad24c67525010a22f5fe4e8f62fdd132cce5a8db2429a1f0a37fd8bebf",
];

pub(super) fn rng(seed: u64) -> SimRng {
    SimRng::seed_from_u64(seed)
}

fn louvain(n_clients: Option<u32>, balance: Balance, slack: u32) -> Louvain {
    Louvain {
        n_clients,
        balance,
        slack,
        resolution: 1.0,
        shuffled: false,
    }
}

fn multilevel(n_clients: u32) -> Multilevel {
    Multilevel {
        n_clients,
        imbalance: 0.03,
    }
}

/// A citation graph, whole.
pub(super) fn whole(name: Citation) -> Option<Dataset> {
    let dirs = DataDirs::new().with("FOLKMOOT_DATA", real_data()?);
    let spec = datasets::Planetoid {
        name,
        largest_component: false,
    };
    Some(spec.load(&dirs, &mut rng(0)).unwrap())
}

fn sizes(partition: &Partition) -> Vec<usize> {
    (0..partition.n_clients())
        .map(|client| partition.shard(client).len())
        .collect()
}

pub(super) fn group_of(partition: &Partition, n_items: usize) -> Vec<u32> {
    let mut group_of = vec![u32::MAX; n_items];
    for client in 0..partition.n_clients() {
        partition
            .shard(client)
            .iter()
            .for_each(|&item| group_of[item as usize] = client as u32);
    }
    group_of
}

/// The edges cut, the most and the fewest nodes.
pub(super) fn cut_and_sizes(partition: &Partition, dataset: &Dataset) -> (u64, usize, usize) {
    assert!(partition.is_exact_cover(dataset.n_items()));
    let sizes = sizes(partition);
    let (division, _) = partition.split(dataset);
    (
        division.cut_edges,
        sizes.iter().copied().max().unwrap(),
        sizes.iter().copied().min().unwrap(),
    )
}

#[test]
fn communities_of_citation_graphs_are_those_of_the_rule_written_by_another() {
    // Levels, communities, edges cut, modularity and the hash of all labels, whose text has the
    // SHA-256 that another program of this rule printed.
    let golden = [
        (
            Citation::Cora,
            4,
            106,
            635,
            "0.814328",
            HASHES[0],
            [370, 211, 204, 188, 168, 157, 125, 122],
        ),
        (
            Citation::Citeseer,
            5,
            472,
            274,
            "0.889545",
            HASHES[1],
            [247, 220, 151, 143, 132, 125, 115, 95],
        ),
        (
            Citation::Pubmed,
            5,
            35,
            6023,
            "0.773412",
            HASHES[2],
            [2382, 2144, 1586, 1505, 1462, 1428, 1304, 1131],
        ),
    ];
    for (name, n_levels, n, cut, q, hash, largest) in golden {
        let Some(dataset) = whole(name) else { return };
        let partition = louvain(None, Balance::Fill, 20).divide(&dataset, &mut rng(0)).unwrap();
        assert_eq!((partition.n_clients(), cut_and_sizes(&partition, &dataset).0), (n, cut));
        let levels = super::louvain::levels(dataset.graph(), 1.0, None);
        assert_eq!((levels.len(), levels.last().unwrap().1), (n_levels, n), "{name:?}");
        let mut sizes = sizes(&partition);
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(sizes[..8], largest);
        assert!(partition.notes()[0].contains(&format!("found {n} communities")) && partition.notes()[0].ends_with(q));
        let labels: Vec<String> = group_of(&partition, dataset.n_items())
            .iter()
            .map(u32::to_string)
            .collect();
        assert_eq!(blake3::hash(labels.join(",").as_bytes()).to_hex().as_str(), hash);
    }
}

#[test]
fn communities_are_shared_out_as_the_published_rules_do() {
    use Balance::{Fill, RoundRobin};
    use Citation::{Citeseer, Cora, Pubmed};
    // Edges cut, most and fewest nodes, for 3, 5, 10 and 20 clients.
    let golden = [
        (
            Cora,
            Fill,
            [(441, 904, 902), (500, 547, 533), (916, 289, 230), (1933, 153, 82)],
        ),
        (
            Cora,
            RoundRobin,
            [(471, 922, 864), (570, 561, 490), (897, 290, 209), (1938, 155, 100)],
        ),
        (
            Citeseer,
            Fill,
            [(180, 1110, 1108), (231, 677, 651), (271, 339, 320), (740, 183, 134)],
        ),
        (
            Citeseer,
            RoundRobin,
            [(201, 1129, 1069), (188, 685, 616), (260, 352, 284), (738, 186, 121)],
        ),
        (
            Pubmed,
            Fill,
            [
                (4815, 6586, 6553),
                (5176, 3950, 3932),
                (8762, 1993, 1939),
                (20216, 1033, 965),
            ],
        ),
        (
            Pubmed,
            RoundRobin,
            [
                (3659, 6592, 6535),
                (5249, 3963, 3878),
                (8797, 1987, 1944),
                (20224, 1031, 965),
            ],
        ),
    ];
    for (name, balance, expected) in golden {
        let Some(dataset) = whole(name) else { return };
        for (n_clients, expected) in [3, 5, 10, 20].into_iter().zip(expected) {
            let spec = louvain(Some(n_clients), balance, 20);
            let partition = spec.divide(&dataset, &mut rng(0)).unwrap();
            let got = cut_and_sizes(&partition, &dataset);
            assert_eq!(got, expected, "{name:?}, {balance:?}, {n_clients} clients");
        }
    }
}

/// FedGTA's code leaves no slack. Sizes are then those of its published partition, which cuts 753
/// edges of other communities; its rule by a plain loop cuts 870 of ours.
#[test]
fn without_slack_clients_are_as_large_as_in_the_published_partition() {
    let Some(dataset) = whole(Citation::Cora) else { return };
    let partition = louvain(Some(10), Balance::Fill, 0)
        .divide(&dataset, &mut rng(0))
        .unwrap();
    assert_eq!(cut_and_sizes(&partition, &dataset), (870, 272, 270));
}

#[test]
fn parts_cut_few_edges() {
    // What METIS 5.1 cuts of these graphs into 10 parts: 587, 204 and 6540.
    for (name, most) in [
        (Citation::Cora, 650),
        (Citation::Citeseer, 225),
        (Citation::Pubmed, 6540),
    ] {
        let Some(dataset) = whole(name) else { return };
        let partition = multilevel(10).divide(&dataset, &mut rng(0)).unwrap();
        let (cut, largest, least) = cut_and_sizes(&partition, &dataset);
        assert!(cut <= most, "{name:?}: {cut}");
        let mean = dataset.n_items() as f64 / 10.0;
        assert!(
            largest as f64 <= 1.03 * mean && least as f64 >= (0.97 * mean).floor(),
            "{name:?}"
        );
    }
}

pub(super) fn graph(n_nodes: u32, edges: &[(u32, u32)]) -> Dataset {
    Dataset::of_graph("small", Graph::from_edges(n_nodes, edges, false).unwrap())
}

pub(super) fn shards(partition: &Partition) -> Vec<Vec<u32>> {
    (0..partition.n_clients())
        .map(|client| partition.shard(client).to_vec())
        .collect()
}

/// Two triangles and a bridge.
fn triangles() -> Dataset {
    graph(6, &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])
}

#[test]
fn two_triangles_and_a_bridge_are_two_communities() {
    let two = vec![vec![0, 1, 2], vec![3, 4, 5]];
    let found = louvain(None, Balance::Fill, 20)
        .divide(&triangles(), &mut rng(0))
        .unwrap();
    assert_eq!(shards(&found), two);
    assert!(found.notes()[0].ends_with("modularity 0.357143"), "{:?}", found.notes());
    assert!((measures::modularity(triangles().graph(), &[0, 0, 0, 1, 1, 1]) - 5.0 / 14.0).abs() < 1e-15);
    assert_eq!(cut_and_sizes(&found, &triangles()), (1, 3, 3));
    let halves = multilevel(2).divide(&triangles(), &mut rng(0)).unwrap();
    assert_eq!(shards(&halves), two);
    // An edge is worth more than its ends only at some resolution.
    let finest = Louvain {
        n_clients: None,
        balance: Balance::Fill,
        slack: 20,
        resolution: 1000.0,
        shuffled: true,
    };
    assert_eq!(finest.divide(&triangles(), &mut rng(0)).unwrap().n_clients(), 6);
    // Without an edge every node is a community of its own.
    let none = louvain(None, Balance::Fill, 20)
        .divide(&graph(3, &[]), &mut rng(0))
        .unwrap();
    assert_eq!(
        (
            none.n_clients(),
            measures::modularity(graph(3, &[]).graph(), &[0, 1, 2])
        ),
        (3, 0.0)
    );
}

#[test]
fn pieces_fill_clients_or_go_round() {
    // Three paths of 4, 3 and 2 nodes are the communities; two clients' share is 4, and with a
    // slack of 1 a piece has at most 3 nodes.
    let dataset = graph(
        9,
        &[
            (0, 1),
            (1, 2),
            (2, 3),
            (0, 2),
            (0, 3),
            (1, 3),
            (4, 5),
            (5, 6),
            (4, 6),
            (7, 8),
        ],
    );
    let of = |balance| shards(&louvain(Some(2), balance, 1).divide(&dataset, &mut rng(0)).unwrap());
    // Pieces: 012, 456, 78, 3. The second has no room beside the first, nor the third, which goes
    // to the smallest; the last fits nowhere either.
    assert_eq!(of(Balance::Fill), [vec![0, 1, 2, 7, 8], vec![3, 4, 5, 6]]);
    assert_eq!(of(Balance::RoundRobin), [vec![0, 1, 2, 7, 8], vec![3, 4, 5, 6]]);
    assert_eq!(of(Balance::Whole), [vec![0, 1, 2, 3], vec![4, 5, 6, 7, 8]]);
    let refused = |n, balance, slack| {
        let error = louvain(Some(n), balance, slack).divide(&dataset, &mut rng(0));
        error.unwrap_err().to_string()
    };
    assert!(refused(2, Balance::Fill, 4).contains("4 must be below the 4 nodes that each of 2 clients gets"));
    let few = refused(4, Balance::Whole, 0);
    assert!(
        few.contains("leaves client 3 of 4 without any item: there are 3 communities"),
        "{few}"
    );
}

#[test]
fn copies_are_of_one_part_each_and_the_table_counts_what_is_held_twice() {
    let spec = Overlapping {
        n_parts: 2,
        copies: 3,
        share: 0.7,
        imbalance: 0.03,
    };
    let partition = spec.divide(&triangles(), &mut rng(1)).unwrap();
    assert_eq!(sizes(&partition), [2; 6]);
    for client in 0..6 {
        let half = client as u32 / 3;
        assert!(partition.shard(client).iter().all(|node| node / 3 == half), "{client}");
    }
    let mut n_shards = [0; 6];
    shards(&partition)
        .iter()
        .flatten()
        .for_each(|&node| n_shards[node as usize] += 1);
    let count = |is: fn(i32) -> bool| n_shards.iter().filter(|n| is(**n)).count() as u64;
    let (division, _) = partition.split(&triangles());
    assert_eq!(
        (division.shared_items, division.spare_items),
        (count(|n| n > 1), count(|n| n == 0))
    );
    assert!(division.shared_items > 0);
}

/// A ring of 200 nodes whose classes change every second node.
fn classed() -> Dataset {
    let edges: Vec<(u32, u32)> = (0..200).map(|u| (u, (u + 1) % 200)).collect();
    let classes: Vec<Option<u32>> = (0..200).map(|u| (u % 7 != 0).then_some(u / 2 % 2)).collect();
    Dataset {
        node_labels: Some(Labels::from_single(2, &classes).unwrap()),
        n_classes: 2,
        ..graph(200, &edges)
    }
}

#[test]
fn a_skewed_structure_has_new_edges_of_one_kind_within_each_client() {
    let dataset = classed();
    let labels = dataset.node_labels.as_ref().unwrap();
    let spec = |homophilous, rate| StructureSkew {
        n_clients: 4,
        homophilous,
        rate,
        imbalance: 0.03,
    };
    for homophilous in [0.0, 1.0] {
        let partition = spec(homophilous, 2.0).divide(&dataset, &mut rng(2)).unwrap();
        let group_of = group_of(&partition, 200);
        let added = partition.added_edges();
        for &(u, v) in added {
            assert!(u < v && group_of[u as usize] == group_of[v as usize] && !dataset.graph().has_edge(u, v));
            let (u, v) = (labels.single(u).unwrap(), labels.single(v).unwrap());
            assert_eq!(u == v, homophilous == 1.0);
        }
        // Some 196 edges lie inside; the expected number is twice that, its deviation at most its
        // root.
        assert!((312..472).contains(&added.len()), "{}", added.len());
        let more = dataset.with_edges(added).unwrap();
        assert_eq!(more.graph().n_edges(), 200 + added.len());
        assert_ne!(more.fingerprint(), dataset.fingerprint());
    }
    // As likely as can be, all pairs are joined.
    let all = spec(1.0, 100.0).divide(&dataset, &mut rng(2)).unwrap();
    let full = dataset.with_edges(all.added_edges()).unwrap();
    let alike = |shard: &[u32]| {
        let pairs = shard.iter().flat_map(|&u| shard.iter().map(move |&v| (u, v)));
        let mut alike =
            pairs.filter(|(u, v)| u < v && labels.single(*u).is_some() && labels.single(*u) == labels.single(*v));
        alike.all(|(u, v)| full.graph().has_edge(u, v))
    };
    assert!((0..4).all(|client| alike(all.shard(client))));
    let nothing = spec(0.5, 0.0).divide(&dataset, &mut rng(2)).unwrap();
    assert!(nothing.added_edges().is_empty());
    let error = spec(0.5, 1.0)
        .divide(&triangles(), &mut rng(2))
        .unwrap_err()
        .to_string();
    assert!(error.contains("StructureSkew needs labels"), "{error}");
}

#[test]
fn more_edges_leave_those_that_are_there_as_they_are() {
    let builder = crate::GraphBuilder::new(4).directed(true);
    let (graph, _) = builder.build_weighted(&[(0, 1), (1, 2)], &[2.0, 3.0]).unwrap();
    let more = graph.with_edges(&[(2, 3), (0, 3)]).unwrap();
    assert_eq!(
        more.arcs().collect::<Vec<_>>(),
        [(0, 1), (0, 3), (1, 2), (2, 3), (3, 0), (3, 2)]
    );
    assert_eq!(more.arc_weights(), Some(&[2.0, 1.0, 3.0, 1.0, 1.0, 1.0][..]));
    assert!(graph.with_edges(&[(0, 4)]).is_err());
}

#[test]
fn items_are_shared_out_by_what_they_are() {
    let by = |property, n_clients| ByProperty { property, n_clients };
    let dataset = classed();
    let classes = by(Property::Class, None).divide(&dataset, &mut rng(3)).unwrap();
    assert_eq!(classes.n_clients(), 3, "two classes and what has none");
    assert!(classes.shard(2).iter().all(|node| node % 7 == 0) && classes.is_exact_cover(200));
    let star = graph(5, &[(2, 0), (2, 1), (2, 3), (2, 4), (0, 1)]);
    let by_degree = by(Property::Degree, Some(2)).divide(&star, &mut rng(3)).unwrap();
    assert_eq!(shards(&by_degree), [vec![0, 3, 4], vec![1, 2]]);
    let values = ["gcc O1", "gcc O2", "clang O1"].map(|text| text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let of_graphs = Dataset {
        graphs: [3, 2, 5, 4, 1]
            .map(|n| Graph::from_edges(n, &[], false).unwrap())
            .to_vec(),
        graph_labels: Some(vec![0; 5]),
        graph_properties: Properties::new(&["compiler", "level"], values.to_vec(), vec![0, 2, 1, 0, 2]),
        n_classes: 1,
        ..Dataset::default()
    };
    let of = |property, n_clients| shards(&by(property, n_clients).divide(&of_graphs, &mut rng(3)).unwrap());
    assert_eq!(of(Property::Facets, None), [vec![0, 3], vec![2], vec![1, 4]]);
    assert_eq!(
        of(Property::Facet("compiler".to_owned()), None),
        [vec![0, 2, 3], vec![1, 4]]
    );
    assert_eq!(of(Property::Facets, Some(2)), [vec![0, 2, 3], vec![1, 4]]);
    assert_eq!(of(Property::Nodes, Some(3)), [vec![1, 4], vec![0, 3], vec![2]]);
    let refused = |property, n_clients, dataset: &Dataset| {
        let error = by(property, n_clients).divide(dataset, &mut rng(3));
        error.unwrap_err().to_string()
    };
    assert!(refused(Property::Facet("linker".to_owned()), None, &of_graphs).contains("that have such a property"));
    assert!(refused(Property::Degree, None, &star).contains("partition.n_clients: must be given for property: Degree"));
    assert!(refused(Property::Facets, Some(4), &of_graphs).contains("leaves client 3 of 4 without any item"));
    assert!(refused(Property::MeanFeature, Some(2), &star).contains("needs features"));
    assert!(refused(Property::Nodes, Some(2), &star).contains("needs a set of graphs"));
}

#[test]
fn whoever_cuts_along_edges_needs_one_graph() {
    let several = Dataset {
        graphs: vec![triangles().graph().clone(); 2],
        ..Dataset::default()
    };
    let both: [&dyn Partitioner; 2] = [&louvain(Some(2), Balance::Whole, 0), &multilevel(2)];
    for spec in both {
        let error = spec.divide(&several, &mut rng(5)).unwrap_err().to_string();
        assert!(error.contains("needs a set with one graph"), "{error}");
    }
    let error = multilevel(7).divide(&triangles(), &mut rng(5)).unwrap_err().to_string();
    assert!(error.contains("6 items are too few for 7 clients"), "{error}");
    let spec = louvain(None, Balance::Whole, 20);
    assert!(
        spec.divide(&triangles(), &mut rng(5))
            .unwrap_err()
            .to_string()
            .contains("partition.balance: needs n_clients")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn parts_cover_all_nodes_and_keep_to_their_sizes(
        n_nodes in 1_u32..160, pairs in prop::collection::vec((0_u32..160, 0_u32..160), 0..400), n_clients in 1_u32..24,
        imbalance in 0.0_f64..0.5,
    ) {
        let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(u, v)| (u % n_nodes, v % n_nodes)).collect();
        let dataset = graph(n_nodes, &pairs);
        let n_clients = n_clients.min(n_nodes);
        let spec = Multilevel { n_clients, imbalance };
        let partition = spec.divide(&dataset, &mut rng(1)).unwrap();
        prop_assert!(partition.is_exact_cover(n_nodes as usize));
        prop_assert_eq!(partition.n_clients(), n_clients as usize);
        let mean = f64::from(n_nodes) / f64::from(n_clients);
        for size in sizes(&partition) {
            prop_assert!(size as f64 <= ((1.0 + imbalance) * mean).floor().max(mean.ceil()));
            prop_assert!(size as f64 >= ((1.0 - imbalance) * mean).floor().max(1.0).min(mean.floor()));
        }
        prop_assert_eq!(spec.divide(&dataset, &mut rng(2)).unwrap(), partition);
    }

    #[test]
    fn communities_cover_all_nodes_and_none_is_worth_joining(
        n_nodes in 1_u32..60, pairs in prop::collection::vec((0_u32..60, 0_u32..60), 0..200), shuffled: bool, seed: u64,
    ) {
        let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(u, v)| (u % n_nodes, v % n_nodes)).collect();
        let dataset = graph(n_nodes, &pairs);
        let spec = Louvain { n_clients: None, balance: Balance::Fill, slack: 20, resolution: 1.0, shuffled };
        let partition = spec.divide(&dataset, &mut rng(seed)).unwrap();
        prop_assert!(partition.is_exact_cover(n_nodes as usize));
        let firsts: Vec<u32> = shards(&partition).iter().map(|shard| shard[0]).collect();
        prop_assert!(firsts.is_sorted());
        let groups = group_of(&partition, n_nodes as usize);
        let best = measures::modularity(dataset.graph(), &groups);
        for (u, v) in dataset.graph().edges() {
            let (from, to) = (groups[u as usize], groups[v as usize]);
            let joined: Vec<u32> = groups.iter().map(|&group| if group == from { to } else { group }).collect();
            prop_assert!(measures::modularity(dataset.graph(), &joined) <= best + 1e-12);
        }
    }
}
