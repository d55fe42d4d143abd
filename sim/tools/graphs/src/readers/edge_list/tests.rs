use super::super::test_files::{Folder, real_data};
use super::*;
use crate::measures::{isolated_nodes, largest_component};
use proptest::prelude::*;

fn plain() -> EdgeListOptions {
    EdgeListOptions {
        labels: None,
        features: None,
        split: None,
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
            "edges.txt:2: expected a node id (an integer from 0), got \"-2\"",
        ),
        ("0 1\none two\n", "edges.txt:2: expected a node id"),
        ("0 1 2\n", "edges.txt:1: expected two node ids"),
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
            "1 ids between 1 and 5 do not occur and became nodes without an edge; `renumber: true` leaves them out",
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
        ("10\n", "expected a node id and a class, got 1 fields"),
        ("10 1 2\n", "a node with several classes has a line for each"),
        ("10 0.5\n", "labels.txt:1: 0.5 is a number to predict, not a class"),
        ("10 nan\n", "the file holds no class"),
    ] {
        folder.file("labels.txt", content);
        let error = read_edge_list("test", &edges, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn notes_of(content: &str, options: &EdgeListOptions) -> Vec<String> {
    let folder = Folder::new(&format!("edges-notes-{:x}", blake3_prefix(content)));
    let path = folder.file("edges.txt", content);
    read_edge_list("test", &path, options).unwrap().notes
}

#[test]
fn ids_that_never_occur_are_noted_with_the_way_out() {
    let start = "ids start at 1, so node 0 was added without edges; set `first_id: 1` if nodes are counted from 1";
    let one_based = "1 2\n2 3\n3 1\n3 4\n";
    assert_eq!(notes_of(one_based, &plain()), [start, "1 nodes have no edge"]);
    assert_eq!(
        notes_of(one_based, &EdgeListOptions { first_id: 1, ..plain() }),
        [""; 0]
    );
    assert_eq!(
        notes_of(
            one_based,
            &EdgeListOptions {
                renumber: true,
                ..plain()
            }
        ),
        [""; 0]
    );
    assert!(notes_of("100 101\n101 102\n", &plain())[0].starts_with("ids start at 100, so nodes 0 to 99 were added"));
    let gaps = notes_of("0 1\n1 7\n", &plain());
    assert!(
        gaps[0].starts_with("5 ids between 0 and 7 do not occur") && gaps[0].contains("`renumber: true`"),
        "{gaps:?}"
    );
    assert!(
        notes_of(
            "0 1 0\n1 2 -3\n",
            &EdgeListOptions {
                weighted: true,
                ..plain()
            }
        )
        .join("; ")
        .contains("1 edges have a negative weight")
    );
    assert_eq!(
        notes_of(
            "0 1 0\n1 2 3\n",
            &EdgeListOptions {
                weighted: true,
                ..plain()
            }
        ),
        ["1 edges have weight 0 and stay edges"]
    );
}

#[test]
fn ids_of_64_bits_are_numbered_in_ascending_order() {
    let folder = Folder::new("edges-wide");
    let path = folder.file(
        "edges.txt",
        "10 20\n20 4000000000\n4000000000 10\n4000000000 18446744073709551615\n",
    );
    let labels = folder.file("labels.txt", "18446744073709551615 x\n10 y\n");
    let options = EdgeListOptions {
        renumber: true,
        labels: Some(labels),
        ..plain()
    };
    let dataset = read_edge_list("test", &path, &options).unwrap();
    assert_eq!(
        dataset.graph().edges().collect::<Vec<_>>(),
        [(0, 1), (0, 2), (1, 2), (2, 3)]
    );
    assert_eq!(dataset.node_labels.unwrap().of(3), [0]);
    assert!(
        dataset.notes[0].contains("ids beyond 4294967295 are not kept"),
        "{:?}",
        dataset.notes
    );
    let error = read_edge_list("test", &path, &plain()).unwrap_err().to_string();
    assert!(
        error.contains("edges.txt:4: node id 18446744073709551615") && error.contains("`renumber: true`"),
        "{error}"
    );
}

#[test]
fn labels_may_be_words_have_gaps_and_name_nodes_without_an_edge() {
    let folder = Folder::new("edges-words");
    let edges = folder.file("edges.txt", "0 1\n1 2\n2 0\n2 3\n");
    let read = |labels: &str, renumber| {
        let labels = Some(folder.file("labels.txt", labels));
        read_edge_list(
            "test",
            &edges,
            &EdgeListOptions {
                labels,
                renumber,
                ..plain()
            },
        )
    };
    let words = read("id,field\n0,machine learning\n1,Zürich\n2,machine learning\n", false).unwrap();
    let classes = |dataset: &Dataset| {
        let labels = dataset.node_labels.as_ref().unwrap();
        (0..labels.n_nodes() as u32)
            .map(|node| labels.single(node))
            .collect::<Vec<_>>()
    };
    assert_eq!(classes(&words), [Some(1), Some(0), Some(1), None]);
    let expected = [
        "the first line, \"id,field\", names columns and is not data",
        "1 nodes have no label",
        "node labels Zürich, machine learning became classes 0 to 1",
    ];
    assert_eq!(words.notes, expected);
    for renumber in [false, true] {
        let isolated = read("0 0\n1 0\n2 1\n3 1\n9 1\n", renumber).unwrap();
        let n = if renumber { 5 } else { 10 };
        assert_eq!((isolated.graph().n_nodes(), classes(&isolated)[n - 1]), (n, Some(1)));
        assert!(
            isolated
                .notes
                .contains(&"1 nodes are named by the labels alone".to_string()),
            "{:?}",
            isolated.notes
        );
    }
    let marked = read("0 -1\n1 4\n2 7\n3 4\n", false).unwrap();
    assert_eq!(classes(&marked), [None, Some(0), Some(1), Some(0)]);
    assert_eq!(
        classes(&read("0 -1\n1 1\n2 1\n3 -1\n", false).unwrap()),
        [Some(0), Some(1), Some(1), Some(0)]
    );
    let shifted = read("1 0\n2 0\n3 1\n4 1\n", false).unwrap_err().to_string();
    assert!(shifted.contains("labels name nodes 1 to 4, edges 0 to 3"), "{shifted}");
}

#[test]
fn other_layouts_of_numbers_are_named_with_a_command() {
    let weighted = EdgeListOptions {
        weighted: true,
        ..plain()
    };
    let metis = "a METIS graph";
    for (content, words) in [
        (
            "1 2 3 4\n2 3\n3 4\n",
            ["an adjacency list", "read_adjlist(sys.argv[1])"],
        ),
        ("0 1 2\n1 2\n2\n", ["an adjacency list", "convert it: python3"]),
        ("4 4\n2 3\n1 3\n1 2 4\n3\n", [metis, "`Metis(path: …)`"]),
        ("% made by hand\n4 4\n2 4\n1 3\n2 4\n1 3\n", [metis, "`Metis(path: …)`"]),
        ("5 2\n2\n1\n4\n3\n\n", [metis, "`Metis(path: …)`"]),
        ("3 2 1\n2 7\n1 7 3 5\n2 5\n", [metis, "`Metis(path: …)`"]),
        (
            "0 1 1\n1 0 0\n1 0 0\n",
            ["an adjacency matrix", "argwhere(np.loadtxt(sys.argv[1]))"],
        ),
        ("0,1,1\n1,0,0\n1,0,0\n", ["an adjacency matrix", "delimiter=','"]),
        (
            "0,1,5,1588\n1,2,5,1589\n",
            ["got 4 fields", "awk -F',' '{print $1, $2}' "],
        ),
        ("0 1 5 1588\n1 2 5 1589\n", ["got 4 fields", "awk '{print $1, $2}' "]),
        (
            "0 1 5\n1 2 7\n2 3 7\n3 4 8\n",
            ["`weighted: true` if the third", "awk '{print $1, $2}' "],
        ),
        (
            "34\n0 1\n1 2\n",
            ["the first line has 1 fields and the others 2", "delete it"],
        ),
        (
            "4 4 4\n0 1\n1 2\n2 3\n3 0\n",
            ["the first line has 3 fields", "delete it"],
        ),
        (
            "4 5\n0 1\n1 2\n2 3\n3 0\n0 2\n",
            ["the first line, 4 5, counts nodes and edges", "delete it"],
        ),
        (
            "5 4\n0 1\n1 2\n2 3\n3 0\n0 2\n",
            ["the first line, 5 4, counts nodes and edges", "delete it"],
        ),
        (
            "4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n",
            ["the first line, 4 5, counts nodes and edges", "delete it"],
        ),
        (
            "0 1 {'weight': 3}\n1 2 {}\n",
            ["is a dictionary of edge data", "data=False"],
        ),
        (",source,target\n0,0,1\n1,1,2\n", ["index=False", "pandas"]),
        (",0,1\n0,5,6\n1,6,7\n", ["index=False", "cut -d, -f2- "]),
        (
            "0,1,\n1,2,\n",
            ["each line ends with a separator", "sed 's/[,;] *$//' "],
        ),
        ("0 1 2\n1 2\n2 3\n3 4\n", ["some lines have 2 fields", "read_adjlist"]),
        (
            "0,1,100\n1,2,200\n2,3,300\n",
            ["`weighted: true` if the third", "awk -F','"],
        ),
        ("% asym positive\n1 2 1 1082\n2 3 1 1083\n", ["got 4 fields", "awk"]),
        (
            "id,source,target\n0,0,1\n1,1,2\n",
            ["the ends of edges must be the first two columns", "reorder"],
        ),
        (
            "alice bob\nbob carol\n",
            ["expected a node id (an integer from 0), got \"bob\"", ":2"],
        ),
    ] {
        let error = error_of(content, &plain());
        assert!(words.iter().all(|word| error.contains(word)), "{content:?}: {error}");
    }
    for (content, words) in [
        (
            "4 5\n0 1 2.5\n1 2 1\n2 3 1\n3 0 1\n0 2 1\n",
            "the first line has 2 fields and the others 3",
        ),
        (
            "4 4 5\n1 2 2\n2 3 1\n3 4 1\n4 1 1\n1 3 1\n",
            "counts rows, columns and entries",
        ),
        (
            "3 5 2\n2 1 5\n3 2 6\n",
            "a matrix that is not square is none of a graph",
        ),
        ("0 1 2 3\n1 2 2 3\n", "expected two node ids"),
    ] {
        let error = error_of(content, &weighted);
        assert!(error.contains(words), "{content:?}: {error}");
    }
    let tree = notes_of("3 2\n2 1\n1 0\n", &plain());
    assert!(
        tree[0].contains("3 2, counts nodes and edges of the lines below, and was read as an edge"),
        "{tree:?}"
    );
}

/// A header that names the columns in another order than they are read in.
#[test]
fn headers_are_obeyed() {
    let directed = EdgeListOptions {
        directed: true,
        ..plain()
    };
    let turned = "target,source\n0,1\n1,2\n";
    let error = error_of(turned, &directed);
    assert!(
        error.contains("the source and the target of an edge must be the first two columns, in this order"),
        "{error}"
    );
    assert!(notes_of(turned, &plain())[0].contains("names columns"));
    let weighted = EdgeListOptions {
        weighted: true,
        ..plain()
    };
    let notes = notes_of("source,target,id\n5,6,0.5\n6,7,1\n", &weighted);
    assert!(
        notes.contains(&"the third column of the edges, \"id\", was read as their weights".to_owned()),
        "{notes:?}"
    );
    let folder = Folder::new("edges-headers");
    let edges = folder.file("edges.txt", "0 1\n1 2\n2 0\n");
    let of = |labels: &str, features: &str| {
        let options = EdgeListOptions {
            labels: Some(folder.file("labels.csv", labels)),
            features: Some(folder.file("features.csv", features)),
            ..plain()
        };
        read_edge_list("test", &edges, &options).map_err(|error| error.to_string())
    };
    let (labels, features) = ("id,label\n0,C #1\n1,C #2\n2,C #1\n", "user_id,a\n2,20\n1,10\n0,0\n");
    let set = of(labels, features).unwrap();
    assert_eq!(set.node_labels.as_ref().unwrap().n_classes(), 2);
    let rows = set
        .features
        .as_ref()
        .unwrap()
        .to_dense(&[0, 1, 2])
        .into_raw_vec_and_offset()
        .0;
    assert_eq!(rows, [0.0, 10.0, 20.0]);
    for turned in ["label,id\n0,0\n1,1\n", "class,node\n0,0\n1,1\n"] {
        let error = of(turned, features).unwrap_err();
        assert!(error.contains("the id of the node must be the first column"), "{error}");
    }
    let error = of(labels, ",a\n0,1\n1,2\n2,3\n").unwrap_err();
    assert!(error.contains("the first column has no name"), "{error}");
    let error = of(labels, "a,id\n1,0\n2,1\n3,2\n").unwrap_err();
    assert!(error.contains("must be the first, and it is column 2"), "{error}");
    let notes = of(labels, "a,b\n1,0\n2,1\n3,2\n").unwrap().notes;
    assert!(
        notes.iter().any(|note| note.contains("\"a\", which names no ids")),
        "{notes:?}"
    );
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
