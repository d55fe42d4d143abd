//! A writer of tiny `.mat` files in every layout that the reader promises, and what the reader
//! makes of them.

use std::io::Write;

use super::super::test_files::real_data;
use super::element::Endian;
use super::*;
use crate::measures::{components, degree_stats};
use proptest::prelude::*;

fn options() -> Mat {
    Mat {
        path: String::new(),
        network: "network".to_owned(),
        group: "group".to_owned(),
        directed: false,
        largest_component: false,
    }
}

struct Writer {
    endian: Endian,
    compressed: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn new(endian: Endian, compressed: bool) -> Writer {
        let mut bytes = vec![b' '; 124];
        bytes.extend(if endian == Endian::Little {
            *b"\x00\x01IM"
        } else {
            *b"\x01\x00MI"
        });
        Writer {
            endian,
            compressed,
            bytes,
        }
    }

    fn ordered<const N: usize>(&self, mut little: [u8; N]) -> [u8; N] {
        if self.endian == Endian::Big {
            little.reverse();
        }
        little
    }

    fn element(&self, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if data.len() <= 4 && !data.is_empty() {
            out.extend(self.ordered((kind | ((data.len() as u32) << 16)).to_le_bytes()));
        } else {
            out.extend(self.ordered(kind.to_le_bytes()));
            out.extend(self.ordered((data.len() as u32).to_le_bytes()));
        }
        out.extend(data);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }

    fn words(&self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.ordered(word.to_le_bytes())).collect()
    }

    /// `values` is an element's type and its data, already in the file's byte order.
    fn sparse(&mut self, name: &str, shape: [u32; 2], rows: &[u32], bounds: &[u32], values: (u32, Vec<u8>)) {
        let parts = [
            self.element(6, &self.words(&[5, rows.len() as u32])),
            self.element(5, &self.words(&shape)),
            self.element(1, name.as_bytes()),
            self.element(5, &self.words(rows)),
            self.element(5, &self.words(bounds)),
            self.element(values.0, &values.1),
        ];
        self.matrix(parts.concat());
    }

    /// A matrix of this class with all values, column after column.
    fn full(&mut self, name: &str, class: u32, shape: [u32; 2], values: (u32, Vec<u8>)) {
        let parts = [
            self.element(6, &self.words(&[class, 0])),
            self.element(5, &self.words(&shape)),
            self.element(1, name.as_bytes()),
            self.element(values.0, &values.1),
        ];
        self.matrix(parts.concat());
    }

    fn matrix(&mut self, parts: Vec<u8>) {
        let matrix = self.element(14, &parts);
        if self.compressed {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&matrix).unwrap();
            let packed = encoder.finish().unwrap();
            self.bytes.extend(self.ordered(15_u32.to_le_bytes()));
            self.bytes.extend(self.ordered((packed.len() as u32).to_le_bytes()));
            self.bytes.extend(packed);
        } else {
            self.bytes.extend(matrix);
        }
    }
}

/// A path 0 1 2 and an isolated node 3; classes {0}, {0, 1}, {}, {1}; and a variable to ignore.
fn example(endian: Endian, compressed: bool, value_type: u32) -> Vec<u8> {
    let mut writer = Writer::new(endian, compressed);
    let one: Vec<u8> = match value_type {
        2 => vec![1],
        4 => writer.ordered(1_u16.to_le_bytes()).to_vec(),
        5 => writer.ordered(1_i32.to_le_bytes()).to_vec(),
        7 => writer.ordered(1_f32.to_le_bytes()).to_vec(),
        _ => writer.ordered(1_f64.to_le_bytes()).to_vec(),
    };
    let text = [
        writer.element(6, &writer.words(&[4, 0])),
        writer.element(5, &writer.words(&[1, 2])),
        writer.element(1, b"remark"),
    ];
    writer.matrix(text.concat());
    writer.sparse(
        "network",
        [4, 4],
        &[1, 0, 2, 1],
        &[0, 1, 3, 4, 4],
        (value_type, one.repeat(4)),
    );
    writer.sparse("group", [4, 2], &[0, 1, 1, 3], &[0, 2, 4], (value_type, one.repeat(4)));
    writer.bytes
}

#[test]
fn both_byte_orders_both_packings_and_all_value_types_read_alike() {
    let expected = parse("test", &example(Endian::Little, false, 9), &options()).unwrap();
    assert_eq!(expected.graph().edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    let labels = expected.node_labels.as_ref().unwrap();
    assert_eq!(
        (labels.of(1), labels.of(2), labels.n_labels()),
        (&[0, 1][..], &[][..], 4)
    );
    let remark = "other variables of the file are not read: `remark`";
    assert_eq!(
        expected.notes,
        ["1 nodes have no edge", "1 nodes have no label", remark]
    );
    for endian in [Endian::Little, Endian::Big] {
        for compressed in [false, true] {
            for value_type in [2, 4, 5, 7, 9] {
                let read = parse("test", &example(endian, compressed, value_type), &options()).unwrap();
                assert_eq!(
                    read.fingerprint(),
                    expected.fingerprint(),
                    "{endian:?} {compressed} {value_type}"
                );
            }
        }
    }
}

#[test]
fn full_matrices_weights_zeros_loops_and_one_sided_edges_are_handled() {
    let mut writer = Writer::new(Endian::Little, false);
    let values: Vec<u8> = [1.0_f64, 2.5, 0.0, 0.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let parts = [
        writer.element(6, &writer.words(&[6, 0])),
        writer.element(5, &writer.words(&[2, 2])),
        writer.element(1, b"network"),
        writer.element(9, &values),
    ];
    writer.matrix(parts.concat());
    let read = parse("test", &writer.bytes, &options()).unwrap();
    assert_eq!(read.graph().weights(0), Some(&[2.5][..]));
    assert_eq!(
        read.notes,
        [
            "1 edges stood on one side of the diagonal only and were made symmetric",
            "1 self loops were dropped",
            "there is no variable `group`, so nodes have no labels; `group` names the variable with them"
        ]
    );
    let mut zeros = Writer::new(Endian::Little, false);
    zeros.sparse("network", [2, 2], &[1, 0], &[0, 1, 2], (2, vec![0, 0]));
    assert!(
        parse("test", &zeros.bytes, &options())
            .unwrap()
            .notes
            .contains(&"2 stored zeros are not edges".to_string())
    );
}

#[test]
fn damaged_files_are_refused_with_the_reason() {
    let whole = example(Endian::Little, false, 9);
    let error = |bytes: &[u8]| parse("test", bytes, &options()).expect_err("damaged");
    assert!(error(&whole[..60]).contains("60 bytes are less than its header of 128"));
    assert!(error(&[7; 300]).contains("version and byte order"));
    assert!(error(&whole[..whole.len() - 20]).contains("cut short or damaged"));
    assert!(error(&whole[..128]).contains("no variable `network` with the edges (found no matrix)"));
    let mut v73 = whole[..128].to_vec();
    v73[125] = 2;
    assert!(error(&v73).contains("HDF5"));
    let packed = example(Endian::Little, true, 9);
    assert!(error(&packed[..packed.len() - 3]).contains("cut short"));
    let with = |shape, rows: &[u32], bounds: &[u32]| {
        let mut writer = Writer::new(Endian::Little, false);
        writer.sparse("network", shape, rows, bounds, (2, vec![1; rows.len()]));
        error(&writer.bytes)
    };
    assert!(with([2, 3], &[1], &[0, 1, 1, 1]).contains("must be square, got 2 x 3"));
    assert!(with([0, 0], &[], &[0]).contains("has no rows"));
    assert!(with([2, 2], &[2], &[0, 1, 1]).contains("row index 2 must be below 2"));
    assert!(with([2, 2], &[1], &[0, 1]).contains("2 columns need 3 bounds, got 2"));
    assert!(with([2, 2], &[1], &[0, 2, 1]).contains("must rise from 0"));
    assert!(with([2, 2], &[1], &[0, 1, 9]).contains("9 entries are announced, but 1 row indices"));
    // A header that claims two thousand million nodes costs no memory: the bounds that must go with
    // them are not there.
    assert!(with([2_000_000_000, 2_000_000_000], &[1], &[0, 1]).contains("need 2000000001 bounds"));
}

#[test]
fn blogcatalog_has_the_counts_of_its_source() {
    let Some(data) = real_data() else { return };
    let dataset = read_mat("BlogCatalog", &data.join("blogcatalog/blogcatalog.mat"), &options()).unwrap();
    let graph = dataset.graph();
    assert_eq!(
        (graph.n_nodes(), graph.n_edges(), graph.n_arcs()),
        (10_312, 333_983, 667_966)
    );
    assert!(!graph.is_weighted() && dataset.notes.is_empty(), "{:?}", dataset.notes);
    let stats = degree_stats(graph);
    assert_eq!((stats.min, stats.max, stats.median), (1, 3_992, 21));
    assert_eq!(components(graph).sizes, [10_312]);
    let labels = dataset.node_labels.as_ref().unwrap();
    assert_eq!(
        (labels.n_classes(), labels.n_labels(), labels.n_unlabelled()),
        (39, 14_476, 0)
    );
    assert_eq!((0..10_312).map(|node| labels.of(node).len()).max(), Some(11));
    let sizes = labels.class_sizes();
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&8), Some(&1_623)));
}

/// A path of four nodes and a full matrix of labels of this shape.
fn labelled(shape: [u32; 2], values: &[f64]) -> Result<Dataset, String> {
    let mut writer = Writer::new(Endian::Little, false);
    let ones: Vec<u8> = [1.0_f64; 6].iter().flat_map(|value| value.to_le_bytes()).collect();
    writer.sparse("network", [4, 4], &[1, 0, 2, 1, 3, 2], &[0, 1, 3, 5, 6], (9, ones));
    writer.full(
        "group",
        6,
        shape,
        (9, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    );
    parse("test", &writer.bytes, &options())
}

#[test]
fn a_column_or_row_of_class_numbers_is_one_class_per_node() {
    let of = |shape, values: &[f64]| {
        let read = labelled(shape, values)?;
        let labels = read.node_labels.unwrap();
        let classes: Vec<Option<u32>> = (0..4).map(|node| labels.single(node)).collect();
        Ok::<_, String>((classes, read.n_classes, read.notes.join("; ")))
    };
    let some = |classes: [u32; 4]| classes.map(Some).to_vec();
    for shape in [[4, 1], [1, 4]] {
        let (classes, n, notes) = of(shape, &[1.0, 2.0, 3.0, 2.0]).unwrap();
        assert_eq!((classes, n), (some([0, 1, 2, 1]), 3));
        assert!(notes.contains("`group` is one column of 3 class numbers"), "{notes}");
        assert!(notes.contains("node labels 1, 2, 3 became classes 0 to 2"), "{notes}");
        // An anomaly is 1, and what is none is a class, too.
        assert_eq!(of(shape, &[0.0, 0.0, 1.0, 0.0]).unwrap().0, some([0, 0, 1, 0]));
        assert_eq!(of(shape, &[-1.0, 1.0, 1.0, -1.0]).unwrap().0, some([0, 1, 1, 0]));
        assert_eq!(
            of(shape, &[1.0, 2.0, -1.0, f64::NAN]).unwrap().0,
            [Some(0), Some(1), None, None]
        );
        assert!(
            of(shape, &[0.5, 1.0, 1.0, 2.0])
                .unwrap_err()
                .contains("0.5 is a number to predict")
        );
    }
    let one_hot = of([4, 2], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
    assert_eq!((one_hot.0, one_hot.1), (some([0, 1, 0, 1]), 2));
    let listed = of([4, 2], &[1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, 1.0]).unwrap_err();
    assert!(
        listed.contains("must hold 0 and 1, got 2 in row 2, column 1; class numbers stand in one column"),
        "{listed}"
    );
    assert!(
        of([2, 4], &[1.0; 8])
            .unwrap_err()
            .contains("one row per node (4), got 2; transpose it")
    );
}

#[test]
fn labels_that_are_text_or_cells_and_variables_that_are_not_read_are_named() {
    for (class, kind) in [(1, "a cell array"), (2, "a structure"), (4, "text")] {
        let mut writer = Writer::new(Endian::Little, false);
        writer.full("network", 6, [1, 1], (9, 0.0_f64.to_le_bytes().to_vec()));
        let plain = writer.bytes.len();
        writer.full("group", class, [1, 1], (4, vec![b'a', 0]));
        let error = parse("test", &writer.bytes, &options()).unwrap_err();
        assert!(
            error.contains(&format!("variable `group`: {kind} is not read")) && error.contains("unique"),
            "{error}"
        );
        writer.bytes.truncate(plain);
        writer.full("Attributes", class, [1, 1], (4, vec![b'a', 0]));
        let notes = parse("test", &writer.bytes, &options()).unwrap().notes.join("; ");
        assert!(
            notes.contains("there is no variable `group`, so nodes have no labels"),
            "{notes}"
        );
        assert!(
            notes.contains("other variables of the file are not read: `Attributes`"),
            "{notes}"
        );
    }
}

#[test]
fn files_of_other_levels_are_named() {
    let mut level_4: Vec<u8> = [0_u32, 1, 1, 0, 8].iter().flat_map(|word| word.to_le_bytes()).collect();
    level_4.extend(b"network\0");
    level_4.extend(1.0_f64.to_le_bytes());
    let refused = |bytes: &[u8]| parse("test", bytes, &options()).unwrap_err();
    assert_eq!(refused(&level_4), "a MATLAB 4 file; save it with `-v7`");
    assert!(refused(b"\x89HDF\r\n\x1a\n....").contains("an HDF5 file, not a MATLAB 5 file"));
    assert!(refused(b"\x93NUMPY....").contains("a single NumPy array"));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut file = Writer::new(Endian::Little, false).bytes;
        file.extend(&bytes);
        let _ = parse("test", &file, &options());
        let _ = parse("test", &bytes, &options());
    }

    #[test]
    fn mutated_and_truncated_files_never_panic(
        at in 120_usize..600, byte: u8, len in 0_usize..900, big: bool, compressed: bool
    ) {
        let mut file = example(if big { Endian::Big } else { Endian::Little }, compressed, 9);
        if let Some(target) = file.get_mut(at) {
            *target = byte;
        }
        let _ = parse("test", &file, &options());
        file.truncate(len);
        let _ = parse("test", &file, &options());
    }
}

#[test]
fn complex_numbers_are_refused() {
    let mut writer = Writer::new(Endian::Little, false);
    writer.full("network", 6 | 0x800, [1, 1], (9, 1.0_f64.to_le_bytes().to_vec()));
    let error = parse("test", &writer.bytes, &options()).unwrap_err();
    assert!(error.contains("`network`: complex numbers are not read"), "{error}");
}
