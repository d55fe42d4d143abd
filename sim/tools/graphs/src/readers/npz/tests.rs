use std::io::Write;

use super::super::test_files::real_data;
use super::members::{Limits, MEMBERS};
use super::*;
use crate::measures::components;
use proptest::prelude::*;
use std::io::Cursor;

fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    folkmoot_metrics::npy::npy(descr, &[count], data)
}

fn i4(values: &[i32]) -> Vec<u8> {
    npy(
        "<i4",
        values.len(),
        &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
    )
}

fn i8(values: &[i64]) -> Vec<u8> {
    npy(
        "<i8",
        values.len(),
        &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
    )
}

fn f4(values: &[f32]) -> Vec<u8> {
    npy(
        ">f4",
        values.len(),
        &values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>(),
    )
}

fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer
            .start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn small_members_that_unpack_to_much_are_refused_before_they_are_widened() {
    let zeros = |n: usize| npy("|i1", n, &vec![0; n]);
    let two = || archive(&[("adj_indices", zeros(60_000)), ("labels", zeros(60_000))]);
    let refused = |bytes, numbers| open(two(), Limits { bytes, numbers }).err();
    let message = |text: &str| Some(text.to_owned());
    let bytes = message("the members up to `labels` unpack to more than 100000 bytes");
    assert_eq!(refused(100_000, 1 << 20), bytes);
    let numbers = message("member `labels`: 60000 values are stored, and no more than 40000 can be taken");
    assert_eq!(refused(1 << 20, 100_000), numbers);
    assert_eq!(refused(1 << 20, 120_000), None);
}

/// A path 0 1 2, an isolated unlabelled node 3 without features, and a loop at 2.
fn example() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("adj_data", f4(&[1.0; 5])),
        ("adj_indices", i4(&[1, 0, 2, 1, 2])),
        ("adj_indptr", i4(&[0, 1, 3, 5, 5])),
        ("adj_shape", i8(&[4, 4])),
        ("attr_data", f4(&[0.5, 1.0, 2.0])),
        ("attr_indices", i4(&[4, 0, 1])),
        ("attr_indptr", i4(&[0, 2, 2, 3, 3])),
        ("attr_shape", i8(&[4, 5])),
        ("labels", i8(&[0, 2, 1, -1])),
        ("train_mask", npy("|b1", 4, &[1, 0, 0, 0])),
        ("val_mask", npy("|b1", 4, &[0, 1, 0, 0])),
        ("test_mask", npy("|b1", 4, &[0, 0, 1, 0])),
        ("node_names", npy("|O", 4, b"pickled objects")),
    ]
}

#[test]
fn hand_written_archive_reads_as_it_was_meant() {
    let dataset = parse("test", archive(&example()), 0).unwrap();
    assert_eq!(dataset.graph().edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    let features = dataset.features.as_ref().unwrap();
    assert_eq!(
        features.to_dense(&[0]).into_raw_vec_and_offset().0,
        [1.0, 0.0, 0.0, 0.0, 0.5]
    );
    assert_eq!(dataset.node_labels.as_ref().unwrap().of(1), [2]);
    assert_eq!(dataset.n_classes, 3);
    assert_eq!(dataset.splits.as_ref().unwrap().sizes(), (1, 1, 1));
    let notes = [
        "the archive's member is not read: `node_names`",
        "1 self loops were dropped",
        "1 nodes have no edge",
        "2 nodes have no features",
        "1 nodes have no label",
    ];
    assert_eq!(dataset.notes, notes);
    let part = dataset.on_largest_component();
    assert_eq!((part.graph().n_nodes(), part.node_ids), (3, Some(vec![0, 1, 2])));
}

/// As the sets of Amazon and Coauthor are handed on: an archive in a zip file. One deeper is not
/// looked for.
#[test]
fn an_archive_in_a_zip_file_is_read_as_that() {
    let zipped = |name: &str, content: &[u8]| {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let plain = archive(&example());
    let read = |bytes: Vec<u8>| parse("example", bytes, 0).map(|dataset| dataset.fingerprint());
    assert_eq!(read(zipped("example.npz", &plain)), read(plain.clone()));
    assert!(read(zipped("example.bin", &plain)).is_err());
    assert!(read(zipped("a.npz", &zipped("b.npz", &plain))).is_err());
    assert!(read(zipped("a.npz", &plain[..plain.len() / 2])).is_err());
    let least = Limits {
        bytes: 100,
        numbers: 1 << 10,
    };
    let refused = unwrapped(zipped("a.npz", &plain), least).unwrap_err();
    assert!(refused.contains("more than 100 bytes"), "{refused}");
}

#[test]
fn missing_and_odd_members_are_named() {
    let with = |name: &str, content: Option<Vec<u8>>| {
        let mut members = example();
        members.retain(|(member, _)| *member != name);
        if let Some(content) = content {
            members.push((MEMBERS.iter().find(|member| **member == name).unwrap(), content));
        }
        parse("test", archive(&members), 0).expect_err("an odd archive")
    };
    assert!(with("adj_shape", None).contains("member `adj_shape` is missing (found adj_data, adj_indices"));
    assert!(with("adj_indices", Some(f4(&[1.0]))).contains("`adj_indices` must hold integers"));
    assert!(with("adj_indices", Some(i4(&[1, 0, 9, 1, 2]))).contains("`adj_indices` must lie in 0..4, got 9"));
    assert!(with("adj_indptr", Some(i4(&[0, 3, 1, 5, 5]))).contains("must rise from 0"));
    assert!(with("adj_indptr", Some(i4(&[0, 5]))).contains("must have 5 entries, got 2"));
    assert!(with("adj_shape", Some(i8(&[4, 5]))).contains("must be square, got 4 x 5"));
    assert!(with("adj_shape", Some(i8(&[1 << 40, 4]))).contains("`adj_shape` must lie in"));
    assert!(with("attr_shape", Some(i8(&[3, 5]))).contains("`attr_indptr` must have 4 entries, got 5"));
    assert!(with("attr_data", Some(f4(&[f32::NAN, 1.0, 2.0]))).contains("a feature must be finite"));
    assert!(with("labels", Some(i8(&[0, 1]))).contains("one entry per node (4), got 2"));
    assert!(with("val_mask", None).contains("all or none"));
    assert!(with("val_mask", Some(npy("|b1", 4, &[1, 0, 0, 0]))).contains("node 0 is in two"));
    assert!(with("labels", Some(npy("|O", 4, b"x"))).contains("values of type \"|O\" are not read"));
    assert!(with("labels", Some(npy("<i8", 1 << 60, b"x"))).contains("are announced, but 1 bytes are stored"));
    let empty = [
        ("adj_indices", i4(&[])),
        ("adj_indptr", i4(&[0])),
        ("adj_shape", i8(&[0, 0])),
    ];
    assert!(
        parse("test", archive(&empty), 0)
            .unwrap_err()
            .contains("the graph has no nodes")
    );
    assert!(
        parse("test", b"PK but nothing else".to_vec(), 0)
            .unwrap_err()
            .contains("not a .npz archive")
    );
    assert!(
        parse("test", archive(&[]), 0)
            .unwrap_err()
            .contains("`adj_indptr` is missing (found nothing)")
    );
}

fn planetoid(name: &str) -> Option<Dataset> {
    real_data().map(|data| read_npz(name, &data.join(format!("planetoid/{name}.npz")), 0).unwrap())
}

#[test]
fn cora_has_the_counts_of_its_source() {
    let Some(whole) = planetoid("cora") else { return };
    assert_eq!(
        (whole.graph().n_nodes(), whole.graph().n_edges(), whole.n_classes),
        (2_708, 5_278, 7)
    );
    assert_eq!(whole.features.as_ref().unwrap().n_columns(), 1_433);
    assert_eq!(whole.splits.as_ref().unwrap().sizes(), (140, 500, 1_000));
    assert_eq!(components(whole.graph()).sizes.len(), 78);
    let part = whole.on_largest_component();
    assert_eq!((part.graph().n_nodes(), part.graph().n_edges()), (2_485, 5_069));
    assert_eq!(part.splits.unwrap().sizes(), (122, 459, 915));
}

#[test]
fn citeseer_keeps_its_15_unlabelled_nodes_without_a_class() {
    let Some(whole) = planetoid("citeseer") else { return };
    assert_eq!(
        (whole.graph().n_nodes(), whole.graph().n_edges(), whole.n_classes),
        (3_327, 4_552, 6)
    );
    assert_eq!(whole.node_labels.as_ref().unwrap().n_unlabelled(), 15);
    for note in [
        "48 nodes have no edge",
        "15 nodes have no features",
        "15 nodes have no label",
    ] {
        assert!(whole.notes.iter().any(|text| text == note), "{note}: {:?}", whole.notes);
    }
    assert_eq!(components(whole.graph()).sizes.len(), 438);
    let part = whole.on_largest_component();
    assert_eq!((part.graph().n_nodes(), part.graph().n_edges()), (2_120, 3_679));
    assert_eq!(part.node_labels.unwrap().n_unlabelled(), 10);
    assert_eq!(part.splits.unwrap().sizes(), (80, 328, 663));
}

#[test]
fn pubmed_is_one_component_with_weighted_words() {
    let Some(whole) = planetoid("pubmed") else { return };
    assert_eq!(
        (whole.graph().n_nodes(), whole.graph().n_edges(), whole.n_classes),
        (19_717, 44_324, 3)
    );
    assert_eq!(components(whole.graph()).sizes.len(), 1);
    let Some(Features::Sparse(features)) = &whole.features else {
        panic!("sparse features")
    };
    assert_eq!(features.n_values(), 988_031);
    assert_eq!(whole.splits.unwrap().sizes(), (60, 500, 1_000));
}

/// `values` row by row.
fn f8(values: &[f64], shape: &[usize]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    folkmoot_metrics::npy::npy("<f8", shape, &bytes)
}

fn u4(texts: &[&str]) -> Vec<u8> {
    let chars = texts
        .iter()
        .flat_map(|text| text.chars().chain(std::iter::repeat('\0')).take(4));
    npy(
        "<U4",
        texts.len(),
        &chars.flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>(),
    )
}

fn edited(changes: &[(&'static str, Option<Vec<u8>>)]) -> Result<Dataset, String> {
    let mut members = example();
    for (name, content) in changes {
        members.retain(|(member, _)| member != name);
        members.extend(content.clone().map(|content| (*name, content)));
    }
    parse("test", archive(&members), 0)
}

const NO_SPARSE: [(&str, Option<Vec<u8>>); 4] = [
    ("attr_data", None),
    ("attr_indices", None),
    ("attr_indptr", None),
    ("attr_shape", None),
];

#[test]
fn dense_attributes_are_those_in_sparse_rows() {
    let mut values = [0.0; 20];
    (values[4], values[0], values[11]) = (0.5, 1.0, 2.0);
    let mut changes = NO_SPARSE.to_vec();
    changes.push(("attr_matrix", Some(f8(&values, &[4, 5]))));
    let (dense, sparse) = (edited(&changes).unwrap(), edited(&[]).unwrap());
    let rows = |dataset: &Dataset| dataset.features.as_ref().unwrap().to_dense(&[0, 1, 2, 3]);
    assert_eq!((rows(&dense), dense.notes), (rows(&sparse), sparse.notes));
    let refused = |content| {
        let mut changes = NO_SPARSE.to_vec();
        changes.push(("attr_matrix", Some(content)));
        edited(&changes).unwrap_err()
    };
    assert!(refused(f8(&values, &[5, 4])).contains("must have one row per node (4)"));
    assert!(refused(u4(&["a"; 4])).contains("must hold numbers"));
    values[7] = f64::NAN;
    assert!(refused(f8(&values, &[4, 5])).contains("got NaN in row 1, column 2"));
    let both = edited(&[("attr_matrix", Some(f8(&[0.0; 20], &[4, 5])))]).unwrap_err();
    assert!(both.contains("`attr_indptr` and `attr_matrix`; keep one"), "{both}");
}

#[test]
fn labels_in_sparse_rows_are_several_per_node() {
    let labels = [
        ("labels", None),
        ("labels_data", Some(f4(&[1.0, 1.0, 1.0]))),
        ("labels_indices", Some(i4(&[0, 2, 1]))),
        ("labels_indptr", Some(i4(&[0, 2, 3, 3, 3]))),
        ("labels_shape", Some(i8(&[4, 3]))),
    ];
    let read = edited(&labels).unwrap();
    let labels_of = |node| read.node_labels.as_ref().unwrap().of(node).to_vec();
    assert_eq!(
        (labels_of(0), labels_of(1), labels_of(2), read.n_classes),
        (vec![0, 2], vec![1], vec![], 3)
    );
    let mut both = labels.to_vec();
    both[0].1 = Some(i8(&[0, 1, 0, 1]));
    assert!(edited(&both).unwrap_err().contains("keep one of them"));
    let one_hot = edited(&[("labels", Some(f8(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], &[4, 2])))]).unwrap();
    assert_eq!((one_hot.n_classes, one_hot.node_labels.unwrap().of(1)), (2, &[1][..]));
    let soft = edited(&[("labels", Some(f8(&[0.5; 8], &[4, 2])))]).unwrap_err();
    assert!(soft.contains("must be 0 and 1, got 0.5 in row 0, column 0"), "{soft}");
}

#[test]
fn classes_are_ranked_with_a_note_whatever_their_type() {
    let of = |content: Vec<u8>| {
        let read = edited(&[("labels", Some(content))])?;
        let labels = read.node_labels.unwrap();
        let classes: Vec<Option<u32>> = (0..4).map(|node| labels.single(node)).collect();
        Ok::<_, String>((classes, read.notes.last().cloned().unwrap_or_default()))
    };
    let ranked = |classes: [u32; 4], note: &str| Ok((classes.map(Some).to_vec(), note.to_string()));
    assert_eq!(
        of(i8(&[0, 0, 3, 3])),
        ranked([0, 0, 1, 1], "node labels 0, 3 became classes 0 to 1")
    );
    assert_eq!(
        of(i8(&[1, 2, 3, 1 << 40])),
        ranked([0, 1, 2, 3], "node labels 1, 2, 3, 1099511627776 became classes 0 to 3")
    );
    assert_eq!(
        of(u4(&["ml", "db", "ml", "ai"])),
        ranked([2, 1, 2, 0], "node labels ai, db, ml became classes 0 to 2")
    );
    assert_eq!(
        of(i8(&[-1, 1, 1, -1])),
        ranked([0, 1, 1, 0], "node labels -1, 1 became classes 0 to 1")
    );
    assert_eq!(
        of(f8(&[0.0, 1.0, 1.0, 0.0], &[4])).unwrap().0,
        [Some(0), Some(1), Some(1), Some(0)]
    );
    assert_eq!(
        of(f8(&[0.0, 1.0, f64::NAN, 0.0], &[4, 1])).unwrap().0,
        [Some(0), Some(1), None, Some(0)]
    );
    assert!(
        of(f8(&[0.1, 1.0, 1.0, 0.0], &[4]))
            .unwrap_err()
            .contains("`labels`: 0.1 is a number to predict")
    );
}

#[test]
fn layouts_of_other_libraries_read_as_the_same_graph() {
    let edges: [i64; 6] = [0, 1, 1, 1, 2, 2];
    let edge_list = |values: &[i64], shape: &[usize]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        folkmoot_metrics::npy::npy("<i8", shape, &bytes)
    };
    let by_rows = || edge_list(&[0, 1, 2, 1, 2, 2], &[2, 3]);
    let by_columns = || edge_list(&[0, 1, 1, 2, 2, 2], &[3, 2]);
    let (x, y) = (f8(&[1.0; 8], &[4, 2]), i8(&[0, 2, 1, -1]));
    let of = |members: &[(&str, Vec<u8>)]| parse("test", archive(members), 0);
    let expected = edited(&NO_SPARSE).unwrap();
    for members in [
        [("edge_index", by_rows()), ("x", x.clone()), ("y", y.clone())],
        [("edge_index", by_columns()), ("x", x.clone()), ("y", y.clone())],
        [
            ("edges", by_columns()),
            ("node_features", x.clone()),
            ("node_labels", y.clone()),
        ],
    ] {
        let read = of(&members).unwrap();
        assert_eq!(
            (read.graph(), &read.node_labels),
            (expected.graph(), &expected.node_labels)
        );
        assert_eq!(read.features.unwrap().n_columns(), 2);
    }
    let alone = of(&[("edge_index", by_rows()), ("num_nodes", i8(&[4]))]).unwrap();
    assert_eq!(alone.graph(), expected.graph());
    let weighted = of(&[
        ("edge_index", by_rows()),
        ("y", y.clone()),
        ("edge_weight", f4(&[2.0, 0.5, 1.0])),
    ])
    .unwrap();
    assert_eq!(weighted.graph().weights(1), Some(&[2.0, 0.5][..]));
    let refused = |members: &[(&str, Vec<u8>)]| of(members).unwrap_err();
    assert!(
        refused(&[("edge_index", by_rows())]).contains("the number of nodes is unknown; add the member `num_nodes`")
    );
    let stated = |n: &[i64]| refused(&[("edge_index", by_rows()), ("y", y.clone()), ("num_nodes", i8(n))]);
    assert!(stated(&[-5]).contains("`num_nodes` must be a count, got -5"));
    assert!(stated(&[4, 4]).contains("`num_nodes` must be one number, got 2"));
    assert!(refused(&[("edge_index", edge_list(&edges, &[6])), ("y", y.clone())]).contains("two rows or two columns"));
    assert!(
        refused(&[("edge_index", edge_list(&[0, 4], &[2, 1])), ("y", y.clone())]).contains("must lie in 0..4, got 4")
    );
    let both = [("edge_index", by_rows()), ("x", x.clone()), ("node_features", x)];
    assert!(refused(&both).contains("holds `x` and `node_features`; keep one"));
    assert!(
        refused(&[("train_mask", npy("|b1", 4, &[1; 4]))]).contains("write numpy.savez(\"graph.npz\", edge_index=…")
    );
}

#[test]
fn data_of_nodes_under_an_unknown_name_are_refused_and_the_rest_is_noted() {
    for (name, content) in [
        ("features", f8(&[1.0; 8], &[4, 2])),
        ("label", i8(&[0, 1, 0, 1])),
        ("feat", f8(&[1.0; 8], &[2, 4])),
    ] {
        let error = edited(&[(name, Some(content))]).unwrap_err();
        assert!(
            error.contains(&format!("member `{name}` of shape")) && error.contains("attr_matrix"),
            "{error}"
        );
    }
    let noted = edited(&[
        ("edge_attr", Some(f8(&[1.0; 10], &[5, 2]))),
        ("n_classes", Some(i8(&[2]))),
        ("class_names", Some(u4(&["a", "b"]))),
    ]);
    let note = "the archive's members are not read: `node_names`, `edge_attr`, `n_classes`, `class_names`";
    assert_eq!(noted.unwrap().notes[0], note);
}

/// The heterophilous sets have a row for each split, PyTorch Geometric a column, and at times one
/// test mask for all.
#[test]
fn one_of_several_published_splits_is_read() {
    let masks = |shape: [usize; 2], bits: [u8; 8]| Some(folkmoot_metrics::npy::npy("|b1", &shape, &bits));
    let read = |members: &[(&'static str, Option<Vec<u8>>)], split: u32| {
        let mut archived = example();
        archived.retain(|(name, _)| members.iter().all(|(other, _)| name != other));
        archived.extend(
            members
                .iter()
                .filter_map(|(name, content)| Some((*name, content.clone()?))),
        );
        parse("test", archive(&archived), split)
    };
    let by_row = [
        ("train_mask", None),
        ("val_mask", None),
        ("test_mask", None),
        ("train_masks", masks([2, 4], [1, 0, 0, 0, 0, 1, 0, 0])),
        ("val_masks", masks([2, 4], [0, 1, 0, 0, 1, 0, 0, 0])),
        ("test_masks", masks([2, 4], [0, 0, 1, 1, 0, 0, 1, 1])),
    ];
    let by_column = [
        ("train_mask", masks([4, 2], [1, 0, 0, 1, 0, 0, 0, 0])),
        ("val_mask", masks([4, 2], [0, 1, 1, 0, 0, 0, 0, 0])),
        ("test_mask", Some(npy("|b1", 4, &[0, 0, 1, 1]))),
    ];
    for members in [&by_row[..], &by_column] {
        for (split, trains, validates) in [(0, 0, 1), (1, 1, 0)] {
            let dataset = read(members, split).unwrap();
            let splits = dataset.splits.unwrap();
            let one = |at: usize| [0, 1, 2, 3].map(|item| item == at).to_vec();
            assert_eq!((splits.train, splits.val), (one(trains), one(validates)));
            assert_eq!(splits.test, [false, false, true, true]);
            let note = format!("2 published splits: split {split} of 0 to 1 is used");
            assert!(dataset.notes.contains(&note), "{:?}", dataset.notes);
        }
        let error = read(members, 2).unwrap_err();
        assert_eq!(
            error,
            "`split` must be one of the 2 splits of the archive, 0 to 1, got 2"
        );
    }
    assert!(
        read(&[], 1)
            .unwrap_err()
            .contains("the archive has one; leave `split` out")
    );
    let unlike = ("val_mask", Some(folkmoot_metrics::npy::npy("|b1", &[4, 3], &[0; 12])));
    let error = read(&[by_column[0].clone(), unlike], 0).unwrap_err();
    assert_eq!(error, "`val_mask` has 3 splits, and another mask 2");
    let turned = ("train_masks", masks([4, 2], [0; 8]));
    let error = read(&[("train_mask", None), turned], 0).unwrap_err();
    assert_eq!(
        error,
        "`train_masks` must have a row per split of one entry per node (4), got shape [4, 2]"
    );
}

/// The sets of Platonov et al. (2023), whose splits take half of the nodes, a quarter and a quarter.
#[test]
fn published_splits_of_minesweeper_are_read() {
    let Some(data) = real_data() else { return };
    let path = data.join("heterophilous-npz/minesweeper.npz");
    let splits: Vec<Splits> = (0..10)
        .map(|split| read_npz("minesweeper", &path, split).unwrap().splits.unwrap())
        .collect();
    assert!(splits.iter().all(|split| split.sizes() == (5000, 2500, 2500)));
    assert!((1..10).all(|at| splits[at].train != splits[at - 1].train));
}

proptest! {
    #[test]
    fn random_mutated_and_truncated_archives_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..4000, byte: u8, len in 0_usize..4000
    ) {
        let _ = parse("test", bytes.clone(), 0);
        let mut file = archive(&example());
        if let Some(target) = file.get_mut(at) {
            *target = byte;
        }
        let _ = parse("test", file.clone(), 0);
        file.truncate(len);
        let _ = parse("test", file, 0);
    }
}
