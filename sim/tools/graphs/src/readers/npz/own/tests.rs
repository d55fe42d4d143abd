use std::io::{Cursor, Write};

use proptest::prelude::*;

use super::super::parse as parse_archive;
use crate::{DataDirs, DataSource, Dataset, Features, PartitionError, Partitioner, datasets, partition};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_metrics::npy::npy;

type Archive = Vec<(&'static str, Vec<u8>)>;

fn integers(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy(
        "<i8",
        shape,
        &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
    )
}

fn floats(shape: &[usize], values: &[f32]) -> Vec<u8> {
    npy(
        "<f4",
        shape,
        &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
    )
}

fn bools(values: &[u8]) -> Vec<u8> {
    npy("|b1", &[values.len()], values)
}

fn texts(values: &[&str]) -> Vec<u8> {
    let width = values.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let text = |text: &&str| {
        text.chars()
            .map(u32::from)
            .chain(std::iter::repeat(0))
            .take(width)
            .collect::<Vec<u32>>()
    };
    let words: Vec<u32> = values.iter().flat_map(text).collect();
    let data: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    npy(&format!("<U{width}"), &[values.len()], &data)
}

fn archive(members: &Archive) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn parse(members: &Archive) -> Result<Dataset, String> {
    parse_archive("own", archive(members), 0)
}

/// A path of four nodes with everything that nodes can have. Edge 1 to 2 is listed in both
/// directions, edge 3 to 3 is a loop.
fn path() -> Archive {
    vec![
        ("folkmoot", integers(&[], &[1])),
        ("edge_index", integers(&[2, 5], &[0, 1, 2, 2, 3, 1, 2, 1, 3, 3])),
        (
            "edge_attr",
            floats(&[5, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.0]),
        ),
        ("x", floats(&[4, 1], &[0.5, 1.0, 2.0, 0.0])),
        ("y", texts(&["red", "blue", "", "red"])),
        ("train_mask", bools(&[1, 1, 0, 0])),
        ("test_mask", bools(&[0, 0, 0, 1])),
        ("client", texts(&["north", "9", "10", "north"])),
        ("node_id", texts(&["a", "ü", "c", "d"])),
    ]
}

/// Three graphs of two nodes, the last without an edge.
fn pairs() -> Archive {
    vec![
        ("folkmoot", integers(&[1], &[1])),
        ("ptr", integers(&[4], &[0, 2, 4, 6])),
        ("edge_index", integers(&[2, 2], &[0, 3, 1, 2])),
        ("client", integers(&[3], &[7, 0, 7])),
    ]
}

/// The archive with other members in place of those of the same name.
fn with(mut archive: Archive, members: Archive) -> Archive {
    archive.retain(|(name, _)| members.iter().all(|(other, _)| other != name));
    archive.extend(members);
    archive
}

#[test]
fn one_graph_has_all_that_its_members_say() {
    let set = parse(&path()).unwrap();
    assert_eq!(set.graph().edges().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    let rows = set.edge_features.as_ref().unwrap();
    // Arcs 0-1 and 1-0 share the only row; 1-2 and 2-1 have their own.
    let listed: Vec<&[f32]> = (0..6).map(|arc| rows.row(arc)).collect();
    assert_eq!(
        listed,
        [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [7.0, 8.0]]
    );
    let labels = set.node_labels.as_ref().unwrap();
    assert_eq!(
        (labels.of(0), labels.of(1), labels.of(2)),
        (&[1][..], &[0][..], &[][..])
    );
    assert_eq!(set.splits.as_ref().unwrap().sizes(), (2, 0, 1));
    assert_eq!(set.node_names.as_ref().unwrap()[1], "ü");
    let expected = [
        "2 edges were listed in one direction only and were made symmetric",
        "1 self loops were dropped",
        "edges have 2 features, which no built-in algorithm uses",
        "1 nodes have no label",
        "node labels blue, red became classes 0 to 1",
    ];
    assert_eq!(set.notes, expected);
    let part = set.restrict(&[1, 2]);
    assert_eq!(part.edge_features.unwrap().row(1), [5.0, 6.0]);
    assert_eq!(part.node_names.unwrap(), ["ü", "c"]);
    let said = set.describe();
    let value = |what: &str| {
        said.iter()
            .find(|(key, _)| key == what)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(value("edge features"), Some("2"));
    assert_eq!(value("node ids"), Some("a, ü, c, …"));
    assert_eq!(value("clients"), Some("3, with 1 to 2 nodes"));
}

#[test]
fn clients_of_the_data_are_those_of_the_partition() {
    let mut rng = SimRng::seed_from_u64(1);
    let set = parse(&path()).unwrap();
    let mut given = |set: &Dataset, n_clients| partition::Given { n_clients }.divide(set, &mut rng);
    // Numbers come before names.
    let partition = given(&set, None).unwrap();
    let shards: Vec<&[u32]> = (0..3).map(|client| partition.shard(client)).collect();
    assert_eq!(shards, [&[1][..], &[2], &[0, 3]]);
    assert_eq!(given(&set, Some(2)).unwrap().shard(1), [1, 2]);
    let graphs = parse(&pairs()).unwrap();
    let partition = given(&graphs, None).unwrap();
    assert_eq!((partition.shard(0), partition.shard(1)), (&[1][..], &[0, 2][..]));
    let part = given(&set.restrict(&[0, 1]), None).unwrap();
    assert_eq!(part.notes(), ["1 of 3 clients of the data have no item left"]);
    let karate = datasets::Karate {}
        .load(&DataDirs::new(), &mut SimRng::seed_from_u64(1))
        .unwrap();
    let error = given(&karate, None).unwrap_err();
    assert!(matches!(error, PartitionError::Needs { rule: "Given", .. }), "{error}");
    assert!(matches!(given(&set, Some(4)), Err(PartitionError::Empty { .. })));
}

/// A partition file names nodes by the texts of the data.
#[test]
fn a_partition_file_has_the_ids_of_the_data() {
    let folder = super::super::super::test_files::Folder::new("own-ids");
    let file = |content: &str| {
        folder.file("p.csv", content);
        let dirs = DataDirs::new().with("data", &folder.0);
        let spec = partition::File {
            path: "p.csv".to_owned(),
            cover: crate::Cover::Exact,
        };
        Partitioner::partition(&spec, &parse(&path()).unwrap(), &dirs, &mut SimRng::seed_from_u64(1))
    };
    let partition = file("node,client\nü,1\na,0\nd,0\nc,1\n").unwrap();
    assert_eq!((partition.shard(0), partition.shard(1)), (&[0, 3][..], &[1, 2][..]));
    let error = file("node,client\nü,1\ne,0\n").unwrap_err().to_string();
    assert!(error.contains("p.csv:3: node e is not in the data set"), "{error}");
    let error = file("node,client\nü,0\na,0\nd,0\n").unwrap_err().to_string();
    assert!(error.contains("1 of 4 nodes have no client, such as node c"), "{error}");
}

#[test]
fn labels_of_every_kind_are_found_by_type_or_as_stated() {
    let of = |members: Archive| parse(&with(pairs(), members));
    let classes = of(vec![("y", integers(&[3], &[4, 2, 4]))]).unwrap();
    assert_eq!((classes.graph_labels, classes.n_classes), (Some(vec![1, 0, 1]), 2));
    // A class of each node, in a set of graphs.
    let nodes = of(vec![("y", integers(&[6], &[0, 1, 1, 0, 1, -1]))]).unwrap();
    assert!(nodes.graph_labels.is_none() && nodes.is_graph_level());
    assert_eq!(nodes.node_labels.unwrap().n_unlabelled(), 1);
    // Missing labels, of integers and of floats, are no negative ones.
    for y in [
        integers(&[3, 2], &[0, 1, -1, 1, 0, 0]),
        floats(&[3, 2], &[0.0, 1.0, f32::NAN, 1.0, 0.0, 0.0]),
    ] {
        let set = of(vec![("y", y), ("y_names", texts(&["toxic", "soluble"]))]).unwrap();
        let tasks = set.graph_tasks.unwrap();
        assert_eq!(tasks.names(), ["toxic", "soluble"]);
        assert_eq!(tasks.of(1), [None, Some(true)]);
        assert_eq!(
            (tasks.of(2), set.notes),
            (
                &[Some(false); 2][..],
                vec!["2 nodes have no edge".to_owned(), "1 labels are missing".to_owned()]
            )
        );
    }
    // A node without a label that is 1 has labels all the same.
    for y in [
        integers(&[6, 2], &[0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1]),
        integers(&[6, 1], &[0, 1, 1, 0, 1, 0]),
    ] {
        let set = of(vec![("y", y), ("task", texts(&["labels"]))]).unwrap();
        let tasks = set.node_tasks.unwrap();
        assert_eq!((tasks.n_graphs(), tasks.n_missing(), set.node_labels), (6, 0, None));
        assert!(
            set.notes.iter().all(|note| !note.contains("no label")),
            "{:?}",
            set.notes
        );
    }
    let single = of(vec![
        ("y", integers(&[3, 1], &[0, 1, -1])),
        ("task", texts(&["labels"])),
    ])
    .unwrap();
    assert_eq!(
        (single.graph_labels, single.graph_tasks.unwrap().n_missing()),
        (None, 1)
    );
    let numbers = of(vec![("y", floats(&[3], &[1.0, f32::NAN, -2.5]))]).unwrap();
    let targets = numbers.targets.as_ref().unwrap();
    assert!(targets.are_of_graphs() && targets.names() == ["y"]);
    assert_eq!(targets.summary(0), Some((-2.5, -0.75, 1.0, 2)));
    assert!(numbers.no_classes().contains("numbers to predict"));
    let stated = of(vec![
        ("y", floats(&[3], &[1.0, 0.0, 1.0])),
        ("task", texts(&["classes"])),
    ])
    .unwrap();
    assert_eq!(stated.graph_labels, Some(vec![1, 0, 1]));
    // Of nodes: several labels without a missing one are classes, of which a node has several.
    let of_nodes = |y: Vec<u8>| parse(&with(path(), vec![("y", y)])).unwrap();
    let several = of_nodes(integers(&[4, 2], &[1, 1, 0, 1, 0, 1, 1, 0]));
    assert_eq!(several.node_labels.unwrap().of(0), [0, 1]);
    let missing = of_nodes(integers(&[4, 2], &[1, 1, 0, -1, 0, 1, 1, 0]));
    assert_eq!(missing.node_tasks.as_ref().unwrap().of(1), [Some(false), None]);
    assert!(missing.node_labels.is_none() && missing.no_classes().contains("binary labels of nodes"));
    let numbers = of_nodes(floats(&[4, 2], &[0.5; 8]));
    assert!(!numbers.targets.as_ref().unwrap().are_of_graphs() && !numbers.is_graph_level());
}

#[test]
fn sparse_features_weights_and_directions_are_read() {
    let set = parse(&vec![
        ("folkmoot", integers(&[], &[1])),
        ("num_nodes", integers(&[], &[3])),
        ("edge_index", integers(&[2, 2], &[0, 1, 1, 0])),
        ("edge_weight", floats(&[2], &[0.5, 2.0])),
        ("directed", bools(&[1])),
        ("x_data", floats(&[2], &[2.0, 3.0])),
        ("x_indices", integers(&[2], &[9, 4])),
        ("x_indptr", integers(&[4], &[0, 2, 2, 2])),
        ("x_shape", integers(&[2], &[3, 10])),
        ("node_id", integers(&[3], &[0, 1, 2])),
    ]);
    let set = set.unwrap();
    assert!(set.graph().is_directed() && set.node_names.is_none());
    assert_eq!(set.graph().weights(1), Some(&[2.0][..]));
    assert!(matches!(set.features, Some(Features::Sparse(_))));
}

#[track_caller]
fn refused(archive: Archive, words: &str) {
    let error = parse(&archive).unwrap_err();
    assert!(error.contains(words), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_with_its_member() {
    let one = |name, content| with(path(), vec![(name, content)]);
    refused(one("folkmoot", integers(&[], &[2])), "reads version 1 of the layout");
    refused(
        one("pos", floats(&[4, 2], &[0.0; 8])),
        "`pos` is no member of this layout",
    );
    refused(
        with(one("pos", floats(&[1], &[0.0])), vec![("z", floats(&[1], &[0.0]))]),
        "`pos`, `z` are no members of this layout; leave out what is none of client, directed",
    );
    refused(one("edge_index", integers(&[2, 1], &[0, 4])), "must lie in 0..4, got 4");
    refused(one("edge_index", integers(&[1, 2], &[0, 1])), "shape (2, edges)");
    refused(one("edge_attr", floats(&[4, 1], &[0.0; 4])), "one row per edge (5)");
    refused(
        one("edge_attr", floats(&[5, 1], &[0.0, 0.0, f32::NAN, 0.0, 0.0])),
        "`edge_attr` must be finite, got NaN in row 2",
    );
    let twice = vec![
        ("edge_index", integers(&[2, 2], &[0, 0, 1, 1])),
        ("edge_attr", floats(&[2], &[1.0, 2.0])),
    ];
    refused(
        with(path(), twice),
        "the edge 0 to 1 is listed twice with different features",
    );
    refused(
        one("y", integers(&[3], &[0, 1, 1])),
        "`y` must have one entry per node (4), got 3",
    );
    refused(
        one("y", floats(&[4], &[0.0, 1.0, 1.0, f32::INFINITY])),
        "must be finite, got inf for `y` of node 3",
    );
    refused(
        with(
            one("y", floats(&[4], &[0.0, 1.0, 1.0, 0.5])),
            vec![("task", texts(&["classes"]))],
        ),
        "`y`: 0.5 is a number to predict",
    );
    refused(
        one("task", texts(&["regression"])),
        "must be classes, labels or numbers, got \"regression\"",
    );
    refused(
        one("y", integers(&[4, 2], &[1, -1, 1, 1, -1, 1, 1, 1])),
        "labels must be 0 and 1, and -1 is missing; write 0 for no",
    );
    refused(
        one("y", integers(&[4, 2], &[1, 0, 2, 1, 0, 1, 1, 1])),
        "got 2 in row 1, column 0",
    );
    refused(one("y_names", texts(&["a", "b"])), "a text for each of the 1 columns");
    refused(one("test_mask", bools(&[1, 0, 0, 0])), "node 0 is in two of the masks");
    refused(
        one("val_mask", bools(&[1, 0])),
        "`val_mask` must have one entry per node (4), got shape [2]",
    );
    refused(
        one("client", integers(&[4], &[0, 1, -1, 0])),
        "a client must be a text or a number from 0, got -1",
    );
    refused(one("client", texts(&["a", "", "b", "c"])), "node 1 has no client");
    refused(
        one("node_id", texts(&["a", "b", "a", "c"])),
        "two nodes have the id \"a\"",
    );
    let many = |name, content| with(pairs(), vec![(name, content)]);
    refused(
        many("edge_index", integers(&[2, 1], &[1, 2])),
        "the edge 1 to 2 joins two graphs",
    );
    refused(many("ptr", integers(&[4], &[0, 2, 2, 6])), "every graph needs a node");
    refused(
        many("num_nodes", integers(&[], &[5])),
        "`num_nodes` is 5, but `ptr` ends with 6",
    );
    refused(many("y", texts(&["", "nan", ""])), "no graph has a class");
}

#[test]
fn a_set_of_graphs_cannot_be_cut_to_a_component() {
    let folder = super::super::super::test_files::Folder::new("own-cut");
    let path = folder.file("many.npz", archive(&pairs()));
    let spec = datasets::Npz {
        path: path.to_string_lossy().into_owned(),
        largest_component: true,
        split: 0,
    };
    let error = spec.load(&DataDirs::new(), &mut SimRng::seed_from_u64(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dataset.largest_component: must be false (its default) for a set of 3 graphs"
    );
}

#[test]
fn every_new_part_moves_the_fingerprint() {
    let whole = parse(&path()).unwrap();
    let without = |change: fn(&mut Dataset)| {
        let mut set = whole.clone();
        change(&mut set);
        set.fingerprint()
    };
    let all = [
        whole.fingerprint(),
        without(|set| set.edge_features = None),
        without(|set| set.node_properties = None),
        without(|set| set.node_names = None),
        without(|set| set.targets = crate::Targets::new(vec!["y".to_owned()], vec![0.0; 4], false).ok()),
        without(|set| set.node_tasks = crate::TaskLabels::new(vec!["y".to_owned()], vec![None; 4]).ok()),
    ];
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

proptest! {
    #[test]
    fn any_change_of_a_byte_is_a_set_or_a_message(at in 0_usize..4000, byte: u8, member in 0_usize..9) {
        let mut members = path();
        let content = &mut members[member].1;
        let at = at % content.len();
        content[at] = byte;
        let _ = parse(&members);
        let mut whole = archive(&path());
        let at = at % whole.len();
        whole[at] = byte;
        let _ = parse_archive("own", whole, 0);
    }
}
