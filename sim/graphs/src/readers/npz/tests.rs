use std::io::Write;

use super::super::test_files::real_data;
use super::*;
use crate::measures::components;
use proptest::prelude::*;

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
    let dataset = parse("test", archive(&example())).unwrap();
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
        "1 self loops were dropped",
        "1 nodes have no edge",
        "2 nodes have no features",
        "1 nodes have no label",
    ];
    assert_eq!(dataset.notes, notes);
    let part = dataset.on_largest_component();
    assert_eq!((part.graph().n_nodes(), part.node_ids), (3, Some(vec![0, 1, 2])));
}

/// As the sets of Amazon and Coauthor are handed on: an archive in a zip file. One deeper is not looked for.
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
    let read = |bytes: Vec<u8>| parse("example", bytes).map(|dataset| dataset.fingerprint());
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
        parse("test", archive(&members)).expect_err("an odd archive")
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
    assert!(with("labels", Some(i8(&[0, 1, 2, 1 << 40]))).contains("classes must be below"));
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
        parse("test", archive(&empty))
            .unwrap_err()
            .contains("the graph has no nodes")
    );
    assert!(
        parse("test", b"PK but nothing else".to_vec())
            .unwrap_err()
            .contains("not a .npz archive")
    );
    assert!(
        parse("test", archive(&[]))
            .unwrap_err()
            .contains("`adj_indptr` is missing (found nothing)")
    );
}

fn planetoid(name: &str) -> Option<Dataset> {
    real_data().map(|data| read_npz(name, &data.join(format!("planetoid/{name}.npz"))).unwrap())
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

proptest! {
    #[test]
    fn random_mutated_and_truncated_archives_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..4000, byte: u8, len in 0_usize..4000
    ) {
        let _ = parse("test", bytes.clone());
        let mut file = archive(&example());
        if let Some(target) = file.get_mut(at) {
            *target = byte;
        }
        let _ = parse("test", file.clone());
        file.truncate(len);
        let _ = parse("test", file);
    }
}
