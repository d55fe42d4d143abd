use super::super::test_files::{Folder, real_data};
use super::*;
use crate::measures::{isolated_nodes, largest_component};
use proptest::prelude::*;

fn plain() -> EdgeListOptions {
    EdgeListOptions {
        labels: None,
        directed: false,
        weighted: false,
        first_id: 0,
        renumber: false,
    }
}

fn error_of(content: &str, options: &EdgeListOptions) -> String {
    let folder = Folder::new(&format!("edges-{:x}", blake3_prefix(content)));
    let path = folder.file("edges.txt", content);
    read_edge_list("test", &path, options).unwrap_err().to_string()
}

fn blake3_prefix(content: &str) -> u64 {
    u64::from_le_bytes(blake3::hash(content.as_bytes()).as_bytes()[..8].try_into().unwrap())
}

#[test]
fn each_kind_of_bad_line_is_named_with_its_number() {
    for (content, expected) in [
        ("", "the file is empty"),
        ("# only a remark\n", "the file holds no edge"),
        (
            "0 1\n1 -2\n",
            "edges.txt:2: expected a node id (an integer from 0 to 4294967294), got \"-2\"",
        ),
        ("0 1\none two\n", "edges.txt:2: expected a node id"),
        (
            "0 1 2\n",
            "edges.txt:1: expected two node ids, got more; state `weighted: true`",
        ),
        ("0\n", "edges.txt:1: expected two node ids, got one field"),
        (
            "0 1\n5 4294967295\n",
            "edges.txt:2: node id 4294967295 must lie in 0..=4294967294",
        ),
        ("0 4000000000\n", "state `renumber: true`"),
    ] {
        let error = error_of(content, &plain());
        assert!(error.contains(expected), "{content:?}: {error}");
    }
    let below = error_of("0 1\n", &EdgeListOptions { first_id: 1, ..plain() });
    assert!(below.contains("node id 0 must lie in 1..=4294967294"), "{below}");
    let weighted = EdgeListOptions {
        weighted: true,
        ..plain()
    };
    assert!(error_of("0 1\n", &weighted).contains("expected two node ids and a weight"));
    assert!(error_of("0 1 inf\n", &weighted).contains("must be finite"));
    assert!(error_of("0 1 2\n1 0 3\n", &weighted).contains("weight 2 and with 3"));
}

#[test]
fn loops_repetitions_and_mirrored_edges_are_dropped_and_noted() {
    let folder = Folder::new("edges-clean");
    let path = folder.file("edges.txt", "# remark\r\n\r\n1 2\r\n2 1\r\n1 2\r\n3 3\r\n5 1");
    let dataset = read_edge_list("test", &path, &EdgeListOptions { first_id: 1, ..plain() }).unwrap();
    assert_eq!((dataset.graph().n_nodes(), dataset.graph().n_edges()), (5, 2));
    assert_eq!(dataset.node_ids, Some(vec![1, 2, 3, 4, 5]));
    assert_eq!(
        dataset.notes,
        [
            "1 self loops were dropped",
            "1 repeated edges were dropped",
            "1 edges were listed in both directions and count once",
            "2 nodes have no edge"
        ]
    );
}

#[test]
fn labels_may_be_several_per_node_and_must_name_nodes_that_exist() {
    let folder = Folder::new("edges-labels");
    let edges = folder.file("edges.txt", "10 20 0.5\n20 70 1\n");
    let labels = folder.file("labels.txt", "10 7\n10 3\n70 7\n70 7\n");
    let options = EdgeListOptions {
        labels: Some(labels),
        renumber: true,
        weighted: true,
        ..plain()
    };
    let dataset = read_edge_list("test", &edges, &options).unwrap();
    let read = dataset.node_labels.as_ref().unwrap();
    assert_eq!(
        (read.of(0), read.of(1), read.of(2), dataset.n_classes),
        (&[0, 1][..], &[][..], &[1][..], 2)
    );
    assert_eq!(dataset.graph().weights(1), Some(&[0.5, 1.0][..]));
    assert!(
        dataset.notes.contains(&"1 nodes have no label".to_string()),
        "{:?}",
        dataset.notes
    );
    for (content, expected) in [
        (
            "30 1\n",
            "labels.txt:1: a label for node 30, which the edge list does not have",
        ),
        ("10\n", "expected a node id and a class, got 1 fields"),
        ("10 -1\n", "expected a class (an integer from 0), got \"-1\""),
    ] {
        folder.file("labels.txt", content);
        let error = read_edge_list("test", &edges, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn email_eu_core_has_the_counts_of_its_source() {
    let Some(data) = real_data() else { return };
    let dir = data.join("small-graphs/email-eu-core");
    let labels = Some(dir.join("email-Eu-core-department-labels.txt"));
    let read = |directed| {
        let options = EdgeListOptions {
            directed,
            labels: labels.clone(),
            ..plain()
        };
        read_edge_list("EmailEuCore", &dir.join("email-Eu-core.txt"), &options).unwrap()
    };
    let directed = read(true);
    assert_eq!(directed.graph().n_arcs(), 25_571 - 642);
    assert!(directed.notes.contains(&"642 self loops were dropped".to_string()));
    let undirected = read(false);
    assert_eq!(
        (undirected.graph().n_nodes(), undirected.graph().n_edges()),
        (1_005, 16_064)
    );
    assert_eq!(largest_component(undirected.graph()).len(), 986);
    assert_eq!(isolated_nodes(undirected.graph()).len(), 19);
    let labels = undirected.node_labels.unwrap();
    let sizes = labels.class_sizes();
    assert_eq!((labels.n_classes(), labels.n_unlabelled()), (42, 0));
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&1), Some(&109)));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), weighted: bool, renumber: bool) {
        let folder = Folder::new("edges-random");
        let path = folder.file("edges.txt", &bytes);
        let options = EdgeListOptions { weighted, renumber, labels: Some(path.clone()), ..plain() };
        let _ = read_edge_list("test", &path, &options);
    }

    #[test]
    fn random_fields_never_panic(text in "([0-9 \n.-]|4294967295|1e40|nan){0,60}", first_id in 0_u32..3, weighted: bool) {
        let folder = Folder::new("edges-fields");
        let path = folder.file("edges.txt", &text);
        let _ = read_edge_list("test", &path, &EdgeListOptions { first_id, weighted, ..plain() });
    }
}
