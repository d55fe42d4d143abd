use folkmoot_draws::SimRng;
use folkmoot_parts::{Component, Value};
use rand::SeedableRng;

use super::*;
use crate::measures::degree_stats;
use crate::partition::Partitioner;
use crate::readers::test_files::{Folder, real_data};
use crate::{DataDirs, DataSource, Dataset, Graph};

fn rng() -> SimRng {
    SimRng::seed_from_u64(11)
}

/// Settings as a card writes them behind the name.
fn card<P: Component>(text: &str) -> P {
    ron::from_str(text).unwrap()
}

fn load<P: Component + DataSource>(dirs: &DataDirs, text: &str) -> Dataset {
    card::<P>(text).load(dirs, &mut rng()).unwrap()
}

/// The same without files.
fn drawn<P: Component + DataSource>(text: &str) -> Dataset {
    load::<P>(&DataDirs::new(), text)
}

#[test]
fn a_file_of_ones_own_is_read_whole_unless_the_card_says_otherwise() {
    let path = "(path: \"a\")";
    assert!(!card::<Npz>(path).largest_component && !card::<Mat>(path).largest_component);
    assert!(!card::<EdgeList>("(edges: \"a\")").largest_component);
}

#[test]
fn defaults_fill_in_and_unknown_fields_are_refused() {
    let blocks: DcSbm = card("(n_nodes: 50)");
    let expected = DcSbm {
        n_nodes: 50,
        n_classes: 10,
        mean_degree: 10.0,
        min_degree: 1,
        ..DcSbm::default()
    };
    assert_eq!(blocks, expected);
    let error = ron::from_str::<DcSbm>("(nodes: 50)").unwrap_err().to_string();
    assert!(error.contains("nodes"), "{error}");
    assert_eq!(card::<Planetoid>("(name: Cora)").name(), "Cora");
    assert_eq!(card::<Mat>("(path: \"a/b.mat\")").name(), "b");
}

#[test]
fn all_broken_rules_are_reported_at_once_with_their_field() {
    fn fields<P: Component>(text: &str) -> Vec<String> {
        let broken = card::<P>(text).broken();
        broken.into_iter().map(|broken| broken.path).collect()
    }
    let all = "(n_nodes: 10, n_classes: 11, mean_degree: 5, assortativity: 1.5, degree_exponent: 1, \
        max_degree_share: 0, second_label_prob: -1, min_degree: 10)";
    let expected = [
        "assortativity",
        "degree_exponent",
        "max_degree_share",
        "second_label_prob",
        "n_classes",
        "mean_degree",
        "min_degree",
    ];
    assert_eq!(fields::<DcSbm>(all), expected);
    assert_eq!(
        fields::<ErdosRenyi>("(n_nodes: 0, mean_degree: 0, min_degree: 0)"),
        ["n_nodes"],
        "with no nodes nothing true can be said of the degrees"
    );
    assert_eq!(fields::<ErdosRenyi>("(mean_degree: NaN)"), ["mean_degree"]);
    assert_eq!(
        fields::<ErdosRenyi>("(n_nodes: 67108864, mean_degree: 1000)"),
        ["mean_degree"]
    );
    assert_eq!(
        fields::<BarabasiAlbert>("(n_nodes: 5, edges_per_node: 5)"),
        ["edges_per_node"]
    );
    assert_eq!(
        fields::<WattsStrogatz>("(n_nodes: 9, neighbours: 3, rewire_prob: 2)"),
        ["rewire_prob", "neighbours"]
    );
    assert_eq!(fields::<Rmat>("(n_nodes: 100, a: 0.5, b: 0.5, c: 0.5)"), ["c"]);
    assert_eq!(
        fields::<GraphClasses>("(n_graphs: 1, n_classes: 4, min_nodes: 4, max_nodes: 3)"),
        ["n_classes", "min_nodes", "n_graphs", "max_nodes"]
    );
    assert_eq!(
        fields::<GraphClasses>("(n_graphs: 1000000, max_nodes: 100)"),
        ["max_nodes"]
    );
    assert_eq!(fields::<TuDataset>("(name: \"../secret\")"), ["name"]);
    for wrong in ["[]", "[\"MUTAG\", \"MUTAG\"]", "[\"MUTAG\", \"a/b\"]"] {
        assert_eq!(fields::<TuDatasets>(&format!("(names: {wrong})")), ["names"]);
    }
    assert_eq!(
        fields::<FunctionGraphs>("(name: OpenSSL, n_nodes: (10, 200))"),
        ["n_nodes"]
    );
    assert_eq!(
        fields::<FunctionGraphs>("(name: FFmpeg, n_nodes: (60, 50))"),
        ["n_nodes"]
    );
    assert_eq!(
        fields::<ControlFlow>(
            "(n_functions: 1, n_nodes: (1, 5), n_compilers: 0, n_levels: 17, variant_prob: 2, property_effect: NaN)"
        ),
        [
            "n_functions",
            "n_compilers",
            "n_levels",
            "variant_prob",
            "property_effect",
            "n_nodes"
        ]
    );
    assert_eq!(fields::<ControlFlow>("(n_compilers: 1, n_levels: 1)"), ["n_levels"]);
    assert_eq!(
        fields::<ControlFlow>("(n_functions: 1000000, n_nodes: (9000, 10000))"),
        ["n_functions"]
    );
    assert_eq!(fields::<Molecules>("(name: SIDER, cleaned: true)"), ["cleaned"]);
    assert_eq!(
        fields::<Molecules>("(name: BBBP, cleaned: true, invalid: Refuse)").len(),
        0
    );
    assert_eq!(
        fields::<MoleculeTable>("(path: \"\", smiles: \"\", tasks: [\"a\", \"a\"])"),
        ["path", "smiles", "tasks"]
    );
    assert_eq!(fields::<MoleculeTable>("(path: \"x\", tasks: [\"smiles\"])"), ["tasks"]);
    assert_eq!(
        fields::<EdgeList>("(edges: \"\", renumber: true, first_id: 1)"),
        ["edges", "first_id"]
    );
    let error = card::<BarabasiAlbert>("(n_nodes: 1)")
        .load(&DataDirs::new(), &mut rng())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("dataset.n_nodes: must lie in 2..=67108864, got 1"),
        "{error}"
    );
}

#[test]
fn missing_set_says_where_it_was_looked_for_and_how_to_get_it() {
    let folder = Folder::new("spec-missing");
    let dirs = DataDirs::new()
        .with("--data", &folder.0)
        .with("./data", "no-such-folder");
    fn error<P: Component + DataSource>(text: &str, dirs: &DataDirs) -> String {
        card::<P>(text).load(dirs, &mut rng()).unwrap_err().to_string()
    }
    let text = error::<BlogCatalog>("()", &dirs);
    assert!(
        text.contains("(--data)") && text.contains("(./data)") && text.contains("folkmoot data fetch BlogCatalog"),
        "{text}"
    );
    assert!(error::<TuDataset>("(name: \"NCI1\")", &dirs).contains("TUDataset collection"));
    assert!(error::<Planetoid>("(name: Pubmed)", &dirs).contains("gnn-benchmark"));
    assert!(error::<EmailEuCore>("()", &dirs).contains("SNAP"));
    let text = error::<FunctionGraphs>("(name: OpenSSL)", &dirs);
    assert!(
        text.contains("acfg/OpenSSL_6ACFG_min50_max200/acfgSSL_6 was not found") && text.contains("MGMN"),
        "{text}"
    );
    assert!(error::<Mat>("(path: \"x.mat\")", &DataDirs::new()).contains("no data folder was named"));
    folder.file("planetoid/cora.npz", "no archive");
    assert!(error::<Planetoid>("(name: Cora)", &dirs).contains("not a .npz archive"));
    std::fs::create_dir_all(folder.0.join("blogcatalog/blogcatalog.mat")).unwrap();
    assert!(error::<BlogCatalog>("()", &dirs).contains("cannot be read"));
}

#[test]
fn generated_graphs_keep_the_least_degree_and_note_what_was_added() {
    for draw in [
        || drawn::<ErdosRenyi>("(n_nodes: 300, mean_degree: 2)"),
        || drawn::<Rmat>("(n_nodes: 300, mean_degree: 4)"),
        || drawn::<DcSbm>("(n_nodes: 300, mean_degree: 2)"),
    ] {
        let dataset = draw();
        assert_eq!(degree_stats(dataset.graph()).min, 1, "{}", dataset.name);
        assert!(
            dataset.notes[0].contains("so that every degree is at least 1"),
            "{:?}",
            dataset.notes
        );
        assert_eq!(dataset.fingerprint(), draw().fingerprint());
    }
    let empty = drawn::<ErdosRenyi>("(n_nodes: 9, mean_degree: 0, min_degree: 0)");
    assert_eq!(empty.graph().n_edges(), 0);
    let stuck = drawn::<Rmat>("(n_nodes: 64, a: 1, b: 0, c: 0)");
    assert!(
        stuck
            .notes
            .iter()
            .any(|note| note.contains("short of the stated mean degree")),
        "{:?}",
        stuck.notes
    );
}

#[test]
fn classes_of_graphs_are_balanced_and_differ_in_how_degrees_are_spread() {
    let text = "(n_graphs: 301, n_classes: 3, min_nodes: 20, max_nodes: 22)";
    let dataset = drawn::<GraphClasses>(text);
    let labels = dataset.graph_labels.as_ref().unwrap();
    let count = |class| labels.iter().filter(|label| **label == class).count();
    assert_eq!([count(0), count(1), count(2)], [101, 100, 100]);
    assert!(dataset.is_graph_level() && dataset.graphs.iter().all(|graph| (20..=22).contains(&graph.n_nodes())));
    let largest = |class: u32| {
        let of_class = dataset.graphs.iter().zip(labels).filter(|(_, label)| **label == class);
        of_class.map(|(graph, _)| degree_stats(graph).max as f64).sum::<f64>() / count(class) as f64
    };
    // The largest degree: near 5 or 6 on a ring, near 8 with independent edges, 10 and more at a
    // hub.
    assert!(largest(0) + 1.0 < largest(2) && largest(2) + 1.0 < largest(1));
    let edges: Vec<f64> = (0..3)
        .map(|class| {
            let of_class = dataset.graphs.iter().zip(labels).filter(|(_, label)| **label == class);
            of_class
                .map(|(graph, _)| 2.0 * graph.n_edges() as f64 / graph.n_nodes() as f64)
                .sum::<f64>()
                / count(class) as f64
        })
        .collect();
    assert!(edges.iter().all(|mean| (3.5..4.4).contains(mean)), "{edges:?}");
    assert_eq!(dataset.fingerprint(), drawn::<GraphClasses>(text).fingerprint());
}

/// Marks of a node's own class are as frequent as asked for, the others too, within 4 standard
/// errors; edges stay within classes.
#[test]
fn features_of_a_contextual_block_model_mark_classes() {
    let text = "(n_nodes: 900, n_classes: 3, n_features: 31, mark_prob: 0.4, other_prob: 0.05)";
    let dataset = drawn::<ContextualSbm>(text);
    let (labels, features) = (
        dataset.node_labels.as_ref().unwrap(),
        dataset.features.as_ref().unwrap(),
    );
    let (mut set, mut all, mut row) = ([0.0; 2], [0.0; 2], vec![0.0; 31]);
    for node in 0..900 {
        features.write_row(node, &mut row);
        for (j, x) in row.iter().enumerate() {
            let own = usize::from(Some(j as u32 % 3) != labels.single(node));
            set[own] += f64::from(*x);
            all[own] += 1.0;
        }
    }
    for (own, p) in [0.4, 0.05_f64].into_iter().enumerate() {
        let error = (p * (1.0 - p) / all[own]).sqrt();
        assert!((set[own] / all[own] - p).abs() < 4.0 * error, "{own} {set:?} {all:?}");
    }
    let within = dataset
        .graph()
        .edges()
        .filter(|(u, v)| labels.single(*u) == labels.single(*v));
    let share = within.count() as f64 / dataset.graph().n_edges() as f64;
    // Four fifths by design and a third of the rest by chance.
    assert!((share - (0.8 + 0.2 / 3.0)).abs() < 0.03, "{share}");
    let refused = card::<ContextualSbm>("(n_classes: 1, mark_prob: 2)").broken();
    assert_eq!(
        refused.iter().map(|broken| broken.path.as_str()).collect::<Vec<_>>(),
        ["mark_prob", "n_classes"]
    );
}

#[test]
fn built_in_and_real_sets_load_by_their_cards() {
    assert_eq!(drawn::<Karate>("()").graph().n_edges(), 78);
    let Some(data) = real_data() else { return };
    let dirs = &DataDirs::new().with("FOLKMOOT_DATA", data);
    assert_eq!(load::<Planetoid>(dirs, "(name: Citeseer)").graph().n_nodes(), 2_120);
    assert_eq!(
        load::<Planetoid>(dirs, "(name: Cora, largest_component: false)")
            .graph()
            .n_nodes(),
        2_708
    );
    assert_eq!(
        load::<EmailEuCore>(dirs, "(largest_component: true)").graph().n_nodes(),
        986
    );
    let dropped = load::<EmailEuCore>(dirs, "(isolated: Drop)");
    assert_eq!(dropped.graph().n_nodes(), 986);
    assert!(dropped.notes.contains(&"left out 19 isolated nodes".to_string()));
    assert_eq!(load::<TuDataset>(dirs, "(name: \"MUTAG\")").graphs.len(), 188);
    assert_eq!(load::<BlogCatalog>(dirs, "()").n_classes, 39);
}

/// Two molecules of one element each and a triangle without labels, as three sets: each has columns
/// and classes of its own.
#[test]
fn several_sets_are_one_in_which_each_has_its_own() {
    let folder = Folder::new("spec-several");
    let set = |name: &str, edges: &str, indicator: &str, graphs: &str, nodes: Option<&str>| {
        let file = |part: &str, text: &str| folder.file(&format!("tudataset/{name}/{name}_{part}.txt"), text);
        file("A", edges);
        file("graph_indicator", indicator);
        file("graph_labels", graphs);
        nodes.map(|text| file("node_labels", text));
    };
    set(
        "FIRST",
        "1, 2\n2, 1\n3, 4\n4, 3\n",
        "1\n1\n2\n2\n",
        "-1\n1\n",
        Some("6\n7\n6\n6\n"),
    );
    set("SECOND", "1, 2\n2, 1\n", "1\n1\n", "5\n", Some("9\n9\n"));
    set(
        "THIRD",
        "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n",
        "1\n1\n1\n",
        "0\n",
        None,
    );
    let dirs = DataDirs::new().with("test", &folder.0);
    let dirs = &dirs;
    let all = load::<TuDatasets>(dirs, "(names: [\"FIRST\", \"SECOND\", \"THIRD\"])");
    assert_eq!(
        (all.name.as_str(), all.graphs.len(), all.n_nodes(), all.n_classes),
        ("FIRST + SECOND + THIRD", 4, 9, 4)
    );
    assert_eq!(all.graph_labels, Some(vec![0, 1, 2, 3]));
    let crate::Features::Sparse(rows) = all.features.as_ref().unwrap() else {
        panic!("most is 0")
    };
    let columns: Vec<&[u32]> = (0..9).map(|node| rows.row(node).0).collect();
    assert_eq!(columns, [&[0][..], &[1], &[0], &[0], &[2], &[2], &[], &[], &[]]);
    assert!(
        all.notes
            .iter()
            .any(|note| note.contains("nodes of THIRD bring nothing")),
        "{:?}",
        all.notes
    );
    let by_set = crate::partition::ByProperty {
        property: crate::Property::Facet("set".to_owned()),
        n_clients: None,
    };
    let partition = by_set.divide(&all, &mut rng()).unwrap();
    let shards: Vec<Vec<u32>> = (0..partition.n_clients())
        .map(|client| partition.shard(client).to_vec())
        .collect();
    assert_eq!(shards, [vec![0, 1], vec![2], vec![3]]);
    // Of one set nothing but the property is added.
    let (one, alone) = (
        load::<TuDatasets>(dirs, "(names: [\"FIRST\"])"),
        load::<TuDataset>(dirs, "(name: \"FIRST\")"),
    );
    assert_eq!((one.graphs, one.graph_labels), (alone.graphs, alone.graph_labels));
}

#[test]
fn generated_functions_have_all_that_the_published_ones_have() {
    let load = drawn::<ControlFlow>;
    let set = load("(n_functions: 30)");
    let properties = set.graph_properties.as_ref().unwrap();
    assert_eq!(
        (properties.n_classes(), properties.name(5)),
        (8, "compiler 1 O1".to_string())
    );
    assert_eq!(properties.facet("level").unwrap().n_classes(), 4);
    assert_eq!(set.n_classes, 30);
    assert_eq!(set.features.as_ref().unwrap().n_columns(), 6);
    assert_eq!(set.features.as_ref().unwrap().n_rows(), set.n_nodes());
    assert!(set.graphs.iter().all(Graph::is_directed));
    assert!(set.graphs.iter().any(|graph| graph.arcs().any(|(u, v)| u == v)));
    let splits = set.split_by_class(&mut rng()).unwrap();
    let labels = set.graph_labels.as_ref().unwrap();
    for part in [&splits.train, &splits.val, &splits.test] {
        let items = crate::Splits::items(part);
        let pairs = crate::PairSampler::new(labels, &items).unwrap().epoch(&mut rng());
        assert_eq!(pairs.len(), 2 * items.len());
    }
    assert_eq!(set.fingerprint(), load("(n_functions: 30)").fingerprint());
    assert_ne!(set.fingerprint(), load("(n_functions: 30, scaling: Log)").fingerprint());
    let lonely = load("(variant_prob: 0)");
    assert_eq!(lonely.graphs.len(), 100);
    assert!(lonely.notes[0].starts_with("100 functions have one variant only"));
}
