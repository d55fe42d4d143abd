use super::super::test_files::{Folder, real_data};
use super::*;
use proptest::prelude::*;

const ALL: Brought = Brought {
    attributes: true,
    labels: true,
};
const NO_LABELS: Brought = Brought {
    attributes: true,
    labels: false,
};

/// Two graphs: a path of three nodes and a single edge; node 3 is the middle one; edge 1 2 is
/// listed twice.
const FILES: &[(&str, &str)] = &[
    ("A", "1, 3\n3, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n"),
    ("graph_indicator", "1\n1\n1\n2\n2\n"),
    ("graph_labels", "1\n-1\n"),
    ("node_labels", "0\n5\n0\n0\n5\n"),
    ("edge_labels", "0\n0\n2\n2\n0\n0\n2\n2\n"),
    ("node_attributes", " 1.5, -2\n0, 0\n0,0\n0,0\n3,4\n"),
];

fn write(folder: &Folder, change: Option<(&str, &str)>) {
    for &(part, content) in FILES {
        let content = change
            .filter(|(changed, _)| *changed == part)
            .map_or(content, |(_, content)| content);
        folder.file(&format!("TINY_{part}.txt"), content);
    }
}

#[test]
fn hand_written_folder_reads_as_it_was_meant() {
    let folder = Folder::new("tu-example");
    write(&folder, None);
    let dataset = read_tudataset("TINY", &folder.0, ALL).unwrap();
    assert_eq!(dataset.graphs.iter().map(Graph::n_edges).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(dataset.graph_labels, Some(vec![1, 0]));
    assert_eq!(dataset.graphs[0].neighbours(2), [0, 1]);
    assert_eq!(dataset.edge_labels, Some(vec![0, 1, 0, 1, 1, 1]));
    let features = dataset.features.as_ref().unwrap();
    assert_eq!(
        features.to_dense(&[0, 4]).into_raw_vec_and_offset().0,
        [1.5, -2.0, 1.0, 0.0, 3.0, 4.0, 0.0, 1.0]
    );
    assert_eq!(dataset.node_range(1), 3..5);
    assert!(
        dataset.notes.contains(&"2 repeated edges were dropped".to_string()),
        "{:?}",
        dataset.notes
    );
    assert!(
        dataset
            .notes
            .contains(&"graph labels -1, 1 became classes 0 to 1".to_string())
    );
    let no_attributes = Brought {
        attributes: false,
        ..ALL
    };
    let labels = read_tudataset("TINY", &folder.0, no_attributes).unwrap();
    let (of_labels, n_classes) = (labels.features.unwrap(), labels.node_labels.unwrap().n_classes());
    assert_eq!(of_labels.n_columns(), n_classes);
    let plain = read_tudataset("TINY", &folder.0, NO_LABELS).unwrap();
    assert_eq!(plain.features.unwrap().n_columns(), 2);
}

#[test]
fn classes_may_be_words_and_files_that_are_not_read_are_noted() {
    let folder = Folder::new("tu-words");
    write(&folder, Some(("graph_labels", "\u{feff}toxic\r\nharmless\r\n")));
    folder.file("TINY_graph_attributes.txt", "0.5\n0.25\n");
    folder.file("TINY_edge_attributes.txt", "1\n");
    let dataset = read_tudataset("TINY", &folder.0, ALL).unwrap();
    assert_eq!(dataset.graph_labels, Some(vec![1, 0]));
    for note in [
        "graph labels harmless, toxic became classes 0 to 1",
        "TINY_graph_attributes.txt is not read",
        "TINY_edge_attributes.txt is not read",
    ] {
        assert!(dataset.notes.contains(&note.to_string()), "{note}: {:?}", dataset.notes);
    }
    // Without classes the attributes of graphs are what is to be predicted.
    std::fs::remove_file(folder.0.join("TINY_graph_labels.txt")).unwrap();
    let dataset = read_tudataset("TINY", &folder.0, ALL).unwrap();
    let targets = dataset.targets.as_ref().unwrap();
    assert!(targets.are_of_graphs());
    assert_eq!(
        (targets.names(), targets.values()),
        (&["target".to_owned()][..], &[0.5, 0.25][..])
    );
    assert_eq!((dataset.graph_labels, dataset.n_classes), (None, 0));
    assert!(
        !dataset.notes.iter().any(|note| note.contains("graph_attributes")),
        "{:?}",
        dataset.notes
    );
    folder.file("TINY_graph_attributes.txt", "0.5, 1\n0.25, 2\n");
    let dataset = read_tudataset("TINY", &folder.0, ALL).unwrap();
    assert_eq!(dataset.targets.unwrap().names(), ["target_0", "target_1"]);
    folder.file("TINY_graph_attributes.txt", "0.5\n0.25\n1\n");
    let error = read_tudataset("TINY", &folder.0, ALL).unwrap_err().to_string();
    assert!(error.contains("graph 3 has no node"), "{error}");
}

#[test]
fn files_that_contradict_each_other_are_refused() {
    let folder = Folder::new("tu-bad");
    for (part, content, expected) in [
        ("A", "1, 4\n", "TINY_A.txt:1: the edge joins graph 1 to graph 2"),
        ("A", "1, 3\n6, 1\n", "TINY_A.txt:2: node id 6 must lie in 1..=5"),
        ("A", "0, 1\n", "TINY_A.txt:1: node id 0 must lie in 1..=5"),
        ("A", "1 2\n", "TINY_A.txt:1: expected two node ids with a comma"),
        ("A", "1, 2, 3\n", "expected a node id (an integer from 1), got \"2, 3\""),
        ("A", "", "the file is empty"),
        (
            "graph_indicator",
            "1\n1\n2\n",
            "TINY_A.txt:1: the edge joins graph 1 to graph 2",
        ),
        (
            "graph_indicator",
            "1\n2\n1\n2\n2\n",
            "TINY_graph_indicator.txt:3: graph id 1 follows 2",
        ),
        ("graph_indicator", "1\n1\n1\n1\n1\n", "graph 2 has no node"),
        (
            "graph_indicator",
            "1\n1\n1\n3\n3\n",
            "TINY_graph_indicator.txt:4: graph id 3 must lie in 1..=2",
        ),
        (
            "graph_indicator",
            "2\n2\n2\n2\n2\n",
            "TINY_graph_indicator.txt:1: graph 1 has no node",
        ),
        (
            "node_labels",
            "0\n",
            "expected 5 lines to go with the other files, got 1",
        ),
        (
            "edge_labels",
            "0\n",
            "expected 8 lines to go with the other files, got 1",
        ),
        (
            "edge_labels",
            "0\n1\n2\n2\n0\n0\n2\n2\n",
            "TINY_edge_labels.txt:2: the label differs",
        ),
        (
            "node_attributes",
            "1\n",
            "expected 5 lines to go with the other files, got 1",
        ),
        (
            "node_attributes",
            "1, 2\n3\n",
            "TINY_node_attributes.txt:2: expected 2 attributes as in the first line, got 1",
        ),
        ("node_attributes", "1, inf\n", "every attribute must be finite, got inf"),
        (
            "graph_labels",
            "0.5\n1.5\n",
            "TINY_graph_labels.txt:1: 0.5 is a number to predict, not a class",
        ),
        (
            "graph_labels",
            "1, 0\n0, 1\n",
            "TINY_graph_labels.txt:1: expected one label per graph, got several (\"1, 0\")",
        ),
        (
            "graph_labels",
            "1\nnan\n",
            "TINY_graph_labels.txt:2: the label of the graph is missing",
        ),
        (
            "node_labels",
            "0, 1\n5, 1\n0, 0\n0, 0\n5, 0\n",
            "TINY_node_labels.txt:1: expected one label per node, got several (\"0, 1\"); keep the column",
        ),
    ] {
        write(&folder, Some((part, content)));
        let error = read_tudataset("TINY", &folder.0, NO_LABELS).unwrap_err().to_string();
        assert!(error.contains(expected), "{part} {content:?}: {error}");
    }
    std::fs::remove_file(folder.0.join("TINY_A.txt")).unwrap();
    let error = read_tudataset("TINY", &folder.0, NO_LABELS).unwrap_err().to_string();
    assert!(error.contains("the folder has no `TINY_A.txt`"), "{error}");
}

fn real(name: &str) -> Option<Dataset> {
    real_data().map(|data| read_tudataset(name, &data.join("tudataset").join(name), ALL).unwrap())
}

fn class_sizes(dataset: &Dataset) -> Vec<usize> {
    let labels = dataset.graph_labels.as_ref().unwrap();
    (0..dataset.n_classes as u32)
        .map(|class| labels.iter().filter(|&&label| label == class).count())
        .collect()
}

#[test]
fn mutag_has_the_counts_of_its_source() {
    let Some(dataset) = real("MUTAG") else { return };
    assert_eq!(
        (dataset.graphs.len(), dataset.n_nodes(), class_sizes(&dataset)),
        (188, 3_371, vec![63, 125])
    );
    assert_eq!(dataset.graphs.iter().map(Graph::n_arcs).sum::<usize>(), 7_442);
    assert_eq!(dataset.features.as_ref().unwrap().n_columns(), 7);
    assert_eq!(dataset.node_labels.as_ref().unwrap().class_sizes()[4], 1);
    let edge_labels = dataset.edge_labels.as_ref().unwrap();
    let count = |class| edge_labels.iter().filter(|&&label| label == class).count();
    assert_eq!([count(0), count(1), count(2), count(3)], [4_708, 2_008, 724, 2]);
    let sizes = dataset.graphs.iter().map(Graph::n_nodes);
    assert_eq!((sizes.clone().min(), sizes.max()), (Some(10), Some(28)));
}

#[test]
fn proteins_full_has_32_features_and_the_graphs_of_proteins() {
    let (Some(proteins), Some(full)) = (real("PROTEINS"), real("PROTEINS_full")) else {
        return;
    };
    assert_eq!(proteins.graphs, full.graphs);
    assert_eq!((proteins.graphs.len(), class_sizes(&proteins)), (1_113, vec![663, 450]));
    assert_eq!(proteins.features.as_ref().unwrap().n_columns(), 1 + 3);
    assert_eq!(full.features.as_ref().unwrap().n_columns(), 29 + 3);
    assert!(
        proteins.notes.contains(&"5 nodes have no edge".to_string()),
        "{:?}",
        proteins.notes
    );
    let disconnected = |graph: &&Graph| crate::measures::components(graph).sizes.len() > 1;
    assert_eq!(proteins.graphs.iter().filter(disconnected).count(), 46);
    let sizes = proteins.graphs.iter().map(Graph::n_nodes);
    assert_eq!((sizes.clone().min(), sizes.max()), (Some(4), Some(620)));
}

#[test]
fn imdb_binary_is_rid_of_its_duplicate_edges() {
    let Some(dataset) = real("IMDB-BINARY") else { return };
    assert_eq!((dataset.graphs.len(), class_sizes(&dataset)), (1_000, vec![500, 500]));
    assert_eq!(dataset.graphs.iter().map(Graph::n_arcs).sum::<usize>(), 193_062);
    assert!(
        dataset
            .notes
            .contains(&"193062 repeated edges were dropped".to_string()),
        "{:?}",
        dataset.notes
    );
    assert!(dataset.features.is_none() && dataset.node_labels.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_content_never_panics(part in 0_usize..6, content in "[0-9,. \n-]{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let folder = Folder::new("tu-random");
        write(&folder, Some((FILES[part].0, &content)));
        let _ = read_tudataset("TINY", &folder.0, ALL);
        folder.file(&format!("TINY_{}.txt", FILES[part].0), bytes);
        let _ = read_tudataset("TINY", &folder.0, ALL);
    }
}
