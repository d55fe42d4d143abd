use std::io::Write;

use super::super::test_files::Folder;
use super::*;

fn folder(test: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(test);
    for (name, content) in files {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(content.as_bytes()).unwrap();
        folder.file(&format!("{name}.csv.gz"), writer.finish().unwrap());
    }
    folder
}

const NODES: &[(&str, &str)] = &[
    ("raw/edge", "0,1\n1,2\n"),
    ("raw/num-node-list", "3\n"),
    ("raw/num-edge-list", "2\n"),
    ("raw/node-feat", "0.5,1\n0,0\n-1,2\n"),
    ("raw/node-label", "4\n0\nnan\n"),
    ("raw/node_year", "1999\n2000\n2001\n"),
    ("split/time/train", "0\n"),
    ("split/time/valid", "1\n"),
    ("split/time/test", "2\n"),
];

fn read(folder: &Folder, split: Option<&str>) -> Result<Dataset, String> {
    read_ogb("set", &folder.0, split, false).map_err(|error| error.to_string())
}

#[test]
fn a_set_of_one_graph_has_features_classes_and_its_split() {
    let folder = folder("ogb-nodes", NODES);
    let set = read(&folder, None).unwrap();
    assert_eq!((set.graph().n_edges(), set.is_graph_level()), (2, false));
    assert_eq!(set.features.as_ref().unwrap().n_columns(), 2);
    assert_eq!(set.node_labels.as_ref().unwrap().of(0), [1]);
    assert_eq!(set.splits.as_ref().unwrap().sizes(), (1, 1, 1));
    let notes = [
        "1 nodes have no label",
        "node labels 0, 4 became classes 0 to 1",
        "files of `raw` that are not read: node_year.csv.gz",
    ];
    assert_eq!(set.notes, notes);
    let error = read(&folder, Some("random")).unwrap_err();
    assert!(
        error.contains("there is no split \"random\"; there are time"),
        "{error}"
    );
}

const GRAPHS: &[(&str, &str)] = &[
    ("raw/edge", "0,1\n0,1\n1,2\n"),
    ("raw/num-node-list", "2\n3\n"),
    ("raw/num-edge-list", "1\n2\n"),
    ("raw/edge-feat", "1\n2\n3\n"),
    ("raw/graph-label", "1,0\n,1\n"),
    ("split/scaffold/train", "0\n"),
    ("split/scaffold/valid", "1\n"),
    ("split/scaffold/test", ""),
];

#[test]
fn a_set_of_graphs_has_tasks_and_features_of_edges() {
    let filled: Vec<(&str, &str)> = GRAPHS
        .iter()
        .map(|&(name, text)| (name, if text.is_empty() { "\n" } else { text }))
        .collect();
    let folder = folder("ogb-graphs", &filled);
    let set = read(&folder, None).unwrap();
    assert_eq!((set.graphs.len(), set.graphs[1].n_edges()), (2, 2));
    assert_eq!(set.graph_tasks.as_ref().unwrap().of(1), [None, Some(true)]);
    let rows = set.edge_features.as_ref().unwrap();
    assert_eq!(
        (0..6).map(|arc| rows.row(arc)[0]).collect::<Vec<_>>(),
        [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    );
    assert_eq!(set.splits.as_ref().unwrap().sizes(), (1, 1, 0));
}

#[test]
fn numbers_of_graphs_are_targets() {
    let files: Vec<(&str, &str)> = GRAPHS
        .iter()
        .map(|&(name, text)| {
            if name == "raw/graph-label" {
                (name, "0.5\n-1.25\n")
            } else {
                (name, text)
            }
        })
        .filter(|(name, _)| !name.starts_with("split"))
        .collect();
    let set = read(&folder("ogb-numbers", &files), None).unwrap();
    assert_eq!(set.targets.unwrap().of(1), [-1.25]);
    assert!(set.splits.is_none());
}

#[test]
fn damaged_and_foreign_folders_are_refused() {
    let with = |test: &str, name: &'static str, text: &'static str| {
        let mut files: Vec<(&str, &str)> = NODES.iter().copied().filter(|(other, _)| *other != name).collect();
        if !text.is_empty() {
            files.push((name, text));
        }
        read(&folder(test, &files), None).unwrap_err()
    };
    let refused = |error: String, words: &str| assert!(error.contains(words), "{error}");
    refused(with("ogb-a", "raw/edge", ""), "the folder has no `raw/edge.csv.gz`");
    refused(
        with("ogb-b", "raw/edge", "0,1\n1,3\n"),
        "edge.csv.gz:2: node 3 must be below 3",
    );
    refused(
        with("ogb-c", "raw/edge", "0,1\n"),
        "the file ends after 1 edges, and graph 0 has 2",
    );
    refused(
        with("ogb-d", "raw/node-feat", "1\n2\n"),
        "expected a row per node (3), got 2",
    );
    refused(
        with("ogb-e", "raw/triplet-type-list", "paper\n"),
        "only graphs of one type are read",
    );
    refused(
        with("ogb-f", "split/time/test", "1\n"),
        "item 1 is in two parts of the split",
    );
    refused(
        with("ogb-g", "split/random/train", "0\n"),
        "there are several splits, random, time",
    );
}
