use std::fs::{self, File};
use std::path::{Path, PathBuf};

use folkmoot_draws::SimRng;
use folkmoot_parts::Component;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::column::Column;
use crate::readers::test_files::Folder;
use crate::section::BLOCK;
use crate::{
    DataDirs, DataError, DataSource, Dataset, DenseRows, Features, Graph, GraphBuilder, Labels, Properties, SparseRows,
    Splits, Targets, TaskLabels, datasets,
};

fn drawn<P: Component + DataSource>(text: &str) -> Dataset {
    let spec: P = ron::from_str(text).unwrap();
    spec.load(&DataDirs::new(), &mut SimRng::seed_from_u64(5)).unwrap()
}

fn written(folder: &Folder, dataset: &Dataset) -> PathBuf {
    let path = folder.0.join("set.graph");
    write(dataset, File::create(&path).unwrap()).unwrap();
    path
}

/// Opened by its card, as a run does.
fn opened(path: &Path) -> Result<Dataset, DataError> {
    let path = path.to_str().unwrap().to_owned();
    Mapped { path }.load(&DataDirs::new(), &mut SimRng::seed_from_u64(0))
}

/// A directed weighted graph of three nodes with all that a set of one graph can have.
fn one_of_all() -> Dataset {
    let pairs = [(0, 1), (0, 2), (2, 0)];
    let builder = GraphBuilder::new(3).directed(true);
    let graph = builder.build_weighted(&pairs, &[0.5, -1.0, 2.0]).unwrap().0;
    let sparse = [vec![(1, 2.0)], vec![], vec![(0, 1.0), (2, 3.0)]];
    Dataset {
        features: SparseRows::from_rows(3, &sparse).map(Features::Sparse),
        structural_columns: vec![0..1, 2..3],
        node_labels: Some(Labels::from_pairs(3, 3, &[(0, 0), (0, 2), (2, 1)]).unwrap()),
        edge_labels: Some(vec![7, 0, 9]),
        n_classes: 3,
        splits: Some(Splits::from_codes(&[1, 3, 2])),
        node_ids: Some(vec![10, 11, 20]),
        edge_features: Some(DenseRows::from(
            Array2::from_shape_vec((3, 2), (0_u8..6).map(f32::from).collect()).unwrap(),
        )),
        node_tasks: TaskLabels::new(vec!["t".to_owned()], vec![Some(true), None, Some(false)]).ok(),
        node_properties: Properties::new(
            &["client"],
            vec![vec!["B".to_owned()], vec!["A".to_owned()]],
            vec![0, 1, 1],
        ),
        targets: Targets::new(vec!["p".to_owned()], vec![0.5, f32::NAN, -3.0], false).ok(),
        node_names: Some(vec!["é".to_owned(), String::new(), "ab".to_owned()]),
        notes: vec!["a note".to_owned()],
        ..Dataset::of_graph("all", graph)
    }
}

/// Two molecules, one of them without a bond, with two tasks.
fn several() -> Dataset {
    let graphs = vec![
        Graph::from_edges(2, &[(0, 1)], false).unwrap(),
        Graph::from_edges(1, &[], false).unwrap(),
    ];
    let labels = vec![Some(true), None, Some(false), Some(true)];
    Dataset {
        name: "two".to_owned(),
        graphs,
        features: Some(Features::Dense(
            Array2::from_shape_vec((3, 2), (0_u8..6).map(f32::from).collect())
                .unwrap()
                .into(),
        )),
        graph_tasks: Some(TaskLabels::new(vec!["a".to_owned(), "b".to_owned()], labels).unwrap()),
        targets: Targets::new(vec!["p".to_owned(), "q".to_owned()], vec![1.0; 4], true).ok(),
        n_classes: 2,
        ..Dataset::default()
    }
}

#[test]
fn a_set_is_read_as_it_was_written_whatever_it_has() {
    let folder = Folder::new("mapped-round-trip");
    let generated = [
        drawn::<datasets::Karate>("()"),
        drawn::<datasets::DcSbm>("(n_nodes: 60, n_classes: 3, second_label_prob: 0.5)"),
        drawn::<datasets::Rmat>("(n_nodes: 5000)"),
        drawn::<datasets::GraphClasses>("(n_graphs: 9)"),
        drawn::<datasets::ControlFlow>("(n_functions: 5)"),
        drawn::<datasets::ErdosRenyi>("(n_nodes: 9, mean_degree: 0, min_degree: 0)"),
    ];
    let sets = generated.into_iter().chain([one_of_all(), several()]);
    for set in sets {
        let path = written(&folder, &set);
        let mut read = opened(&path).unwrap();
        assert_eq!(read.fingerprint_on_file.take(), Some(set.fingerprint()), "{}", set.name);
        assert_eq!(read, set);
        assert_eq!(read.fingerprint(), set.fingerprint());
        assert!(verify(&path).is_ok() && read.damage().is_none(), "{}", set.name);
        // What was read can be written again: not a byte differs.
        let mut again = std::io::Cursor::new(Vec::new());
        write(&read, &mut again).unwrap();
        assert_eq!(again.into_inner(), fs::read(&path).unwrap());
    }
}

#[test]
fn of_a_large_graph_only_those_arcs_are_read_that_somebody_looks_at() {
    let folder = Folder::new("mapped-blocks");
    let set = drawn::<datasets::Rmat>("(n_nodes: 9000)");
    let last = (0..9000).rev().find(|&node| set.graph().degree(node) > 0).unwrap();
    let path = written(&folder, &set);
    let mut bytes = fs::read(&path).unwrap();
    // The last section but the description is that of the targets, of several blocks.
    assert!(set.graph().n_arcs() * 4 > 3 * BLOCK);
    let end = bytes.len() - ALIGN;
    let zeros = bytes[..end].iter().rev().take_while(|&&byte| byte == 0).count();
    bytes[end - zeros - 1] ^= 0x10;
    fs::write(&path, bytes).unwrap();

    let read = opened(&path).unwrap();
    assert_eq!(read.graph().neighbours(0), set.graph().neighbours(0));
    assert!(read.damage().is_none(), "nobody has looked at the damaged end");
    assert_eq!(read.graph().degree(last), set.graph().degree(last));
    assert!(read.graph().neighbours(last).iter().all(|&node| node == 0));
    assert_eq!(read.graph().neighbours(last).len(), set.graph().degree(last));
    let damage = read.damage().unwrap().to_string();
    assert!(
        damage.contains("set.graph: bytes") && damage.contains("not what was written"),
        "{damage}"
    );
    assert_eq!(verify(&path).unwrap_err().to_string(), damage);
}

/// Where a section of a file stands.
fn place(bytes: &[u8], kind: Kind) -> std::ops::Range<usize> {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let mut entries = (0..long(FIXED - 8)).map(|i| FIXED + ENTRY * i);
    let entry = entries.find(|&at| long(at) == kind as usize).unwrap();
    long(entry + 8)..long(entry + 8) + long(entry + 16)
}

/// A damage in the last block of each section that is read a block at a time is seen by whoever
/// looks there, and by nobody else.
#[track_caller]
fn assert_only_the_end_is_lost(path: &Path, whole: &Dataset, kinds: &[Kind], look: impl Fn(&Dataset, bool)) {
    let bytes = fs::read(path).unwrap();
    for &kind in kinds {
        let mut damaged = bytes.clone();
        let place = place(&bytes, kind);
        assert!(place.len() > BLOCK, "{kind:?} has several blocks");
        damaged[place.end - 1] ^= 0x10;
        fs::write(path, damaged).unwrap();
        let read = opened(path).unwrap();
        assert_eq!(read.n_nodes(), whole.n_nodes());
        look(&read, false);
        assert!(
            read.damage().is_none(),
            "{kind:?}: nobody has looked at the damaged end"
        );
        look(&read, true);
        let damage = read
            .damage()
            .unwrap_or_else(|| panic!("{kind:?} is looked at"))
            .to_string();
        assert!(damage.contains("not what was written"), "{damage}");
    }
}

#[test]
fn of_several_graphs_and_of_features_only_those_are_read_that_somebody_looks_at() {
    let folder = Folder::new("mapped-parts");
    let mut rng = SimRng::seed_from_u64(8);
    let mut graphs = Vec::new();
    for _ in 0..60 {
        let pairs: Vec<(u32, u32)> = (0..900)
            .map(|_| (rng.random_range(0..300), rng.random_range(0..300)))
            .collect();
        graphs.push(Graph::from_edges(300, &pairs, false).unwrap());
    }
    let n_nodes = 60 * 300;
    let sparse: Vec<[(u32, f32); 2]> = (0..n_nodes)
        .map(|node| [(node % 7, 1.0), (7 + node % 5, 2.0)])
        .collect();
    let classes: Vec<Option<u32>> = (0..n_nodes).map(|node| Some(node % 3)).collect();
    let set = Dataset {
        graphs,
        features: SparseRows::from_rows(12, &sparse).map(Features::Sparse),
        node_labels: Some(Labels::from_single(3, &classes).unwrap()),
        n_classes: 3,
        ..Dataset::default()
    };
    let look = |set: &Dataset, at_the_end: bool| {
        let (graph, node) = if at_the_end { (59, n_nodes - 1) } else { (0, 0) };
        let graph = &set.graphs[graph];
        for u in 0..300 {
            assert!(graph.neighbours(u).iter().all(|&v| v < 300));
        }
        let mut row = [0.0; 12];
        set.features.as_ref().unwrap().write_row(node, &mut row);
        assert!(
            set.node_labels
                .as_ref()
                .unwrap()
                .of(node)
                .iter()
                .all(|&class| class < 3)
        );
    };
    let kinds = [
        Kind::Targets,
        Kind::FeatureColumns,
        Kind::FeatureValues,
        Kind::LabelClasses,
    ];
    assert_only_the_end_is_lost(&written(&folder, &set), &set, &kinds, look);

    let matrix = Array2::from_shape_fn((n_nodes as usize, 12), |(row, column)| (row * column) as f32);
    let dense = Dataset {
        features: Some(Features::Dense(matrix.into())),
        ..set
    };
    assert_only_the_end_is_lost(&written(&folder, &dense), &dense, &[Kind::FeatureValues], look);
}

/// Fails unless a file of these bytes is refused, at the latest when it is read from end to end.
#[track_caller]
fn assert_refused(path: &Path, bytes: &[u8], what: &str) {
    fs::write(path, bytes).unwrap();
    let error = verify(path).err().unwrap_or_else(|| panic!("{what} is taken"));
    assert!(error.to_string().contains("set.graph"), "{what}: {error}");
    // A run opens the file and looks here and there.
    if let Ok(read) = opened(path) {
        for graph in &read.graphs {
            for node in 0..graph.n_nodes() as u32 {
                assert!(
                    graph.neighbours(node).iter().all(|&to| (to as usize) < graph.n_nodes()),
                    "{what}"
                );
            }
        }
    }
}

/// The header's digest made to fit what the header says.
fn seal(bytes: &mut [u8]) {
    let header_len = usize::try_from(u64::from_le_bytes(bytes[16..24].try_into().unwrap())).unwrap_or(usize::MAX);
    let after = DIGEST_AT + DIGEST;
    if let Some(rest) = bytes.get(after..header_len.max(after)) {
        let digest = blake3::Hasher::new()
            .update(&bytes[..DIGEST_AT])
            .update(rest)
            .finalize();
        bytes[DIGEST_AT..after].copy_from_slice(digest.as_bytes());
    }
}

#[test]
fn no_changed_byte_and_no_cut_goes_unnoticed_and_none_panics() {
    let folder = Folder::new("mapped-fuzz");
    for set in [one_of_all(), several()] {
        let path = written(&folder, &set);
        let whole = fs::read(&path).unwrap();
        let header_len = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
        for at in (0..header_len).chain((header_len..ALIGN).step_by(97)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert_refused(&path, &bytes, &format!("a header with another byte {at}"));
            seal(&mut bytes);
            if bytes != whole {
                assert_refused(&path, &bytes, &format!("a sealed header with another byte {at}"));
            }
        }
        for len in (0..whole.len()).step_by(1_000) {
            assert_refused(&path, &whole[..len], &format!("a file cut to {len} bytes"));
        }
        let mut rng = SimRng::seed_from_u64(1);
        for _ in 0..200 {
            let mut bytes = whole.clone();
            let at = rng.random_range(ALIGN..whole.len());
            bytes[at] ^= 1 << rng.random_range(0..8_u32);
            assert_refused(&path, &bytes, &format!("a section with another byte {at}"));
        }
        assert_refused(&path, &[&whole[..], &[0; ALIGN]].concat(), "a longer file");
    }
    assert!(opened(&folder.0).unwrap_err().to_string().contains("is no file"));
}

/// A graph of four nodes that nobody has checked.
fn forged(offsets: &[u32], targets: &[u32], n_edges: usize) -> Dataset {
    let columns = (Column::from(offsets.to_vec()), Column::from(targets.to_vec()));
    Dataset::of_graph("forged", Graph::of_columns(columns, None, false, n_edges))
}

/// Labels of three classes that nobody has checked.
fn labels(offsets: &[u32], classes: &[u32]) -> Labels {
    Labels::of_columns(offsets.to_vec().into(), classes.to_vec().into(), 3)
}

/// Features of three columns that nobody has checked.
fn features(offsets: &[u32], columns: &[u32]) -> Features {
    let values = vec![1.0; columns.len()].into();
    let columns = columns.to_vec().into();
    Features::Sparse(SparseRows::of_columns(3, offsets.to_vec().into(), (columns, values)))
}

#[test]
fn a_file_whose_digests_hold_and_whose_content_cannot_be_is_refused() {
    let folder = Folder::new("mapped-forged");
    let refused = |set: &Dataset, words: &str| {
        let path = written(&folder, set);
        assert_refused(&path, &fs::read(&path).unwrap(), words);
        let error = verify(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&forged(&[0, 1, 2, 2, 2], &[1, 4], 1), "not what was written");
    refused(&forged(&[0, 3, 2, 2, 2], &[1, 0], 1), "row bounds of graph 0");
    refused(&forged(&[0, 1, 2, 2, 3], &[1, 0], 1), "row bounds of graph 0");
    refused(&forged(&[1, 1, 2, 2, 2], &[1, 0], 1), "row bounds of graph 0");
    refused(&forged(&[0, 1, 2, 2, 2], &[1, 0], 3), "says of its graphs");
    refused(&forged(&[0, 1, 2, 2, 2], &[1, 2], 1), "row 0 of graph 0");
    refused(&forged(&[0, 2, 3, 4, 4], &[2, 1, 0, 0], 2), "row 0 of graph 0");
    let mut two = several();
    (two.features, two.graph_tasks) = (None, None);
    two.graphs[1] = forged(&[0, 1, 2, 2, 2], &[1, 4], 1).graphs.remove(0);
    refused(&two, "not what was written");
    let mut two = several();
    two.graphs[1] = forged(&[0, 3, 2, 2, 2], &[1, 0], 1).graphs.remove(0);
    refused(&two, "row bounds of graph 1");
    let set = |change: fn(&mut Dataset)| {
        let mut set = one_of_all();
        change(&mut set);
        set
    };
    refused(&set(|set| set.n_classes = 4_000_000_000), "4000000000 classes");
    refused(
        &set(|set| set.edge_labels = Some(vec![1])),
        "EdgeLabels must have 3 numbers",
    );
    refused(
        &set(|set| set.node_ids = Some(vec![1, 2])),
        "NodeIds must have 3 numbers",
    );
    refused(
        &set(|set| set.graph_labels = Some(vec![3])),
        "GraphLabels must have 1 numbers below 3",
    );
    refused(
        &set(|set| set.splits = Some(Splits::from_codes(&[1]))),
        "Splits must have 3 numbers",
    );
    refused(
        &set(|set| set.structural_columns = vec![0..1, 2..4]),
        "says of them what cannot be",
    );
    refused(&set(|set| set.node_labels = Some(labels(&[0, 0], &[]))), "LabelOffsets");
    refused(
        &set(|set| set.node_labels = Some(labels(&[0, 2, 1, 3], &[0, 1, 2]))),
        "LabelOffsets that do not ascend",
    );
    refused(
        &set(|set| set.node_labels = Some(labels(&[0, 1, 1, 3], &[0, 2, 1]))),
        "labels that do not ascend at a node",
    );
    refused(
        &set(|set| set.node_labels = Some(labels(&[0, 1, 1, 2], &[0, 3]))),
        "not what was written",
    );
    refused(&set(|set| set.features = Some(features(&[0], &[]))), "FeatureOffsets");
    refused(
        &set(|set| set.features = Some(features(&[0, 1, 1, 3], &[0, 2, 1]))),
        "columns do not ascend in a row",
    );
    refused(
        &set(|set| set.features = Some(features(&[0, 1, 1, 2], &[0, 3]))),
        "not what was written",
    );
}
