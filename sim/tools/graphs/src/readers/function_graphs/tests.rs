use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::super::test_files::{Folder, real_data};
use super::*;

const FACETS: &[&str] = &["compiler", "level"];

/// A loop of two blocks, the second of which may also repeat itself.
const LOOP: &str = r#"{"src": "a.o", "n_num": 2, "succs": [[1], [0, 1]], "features": [[0, 1, 2.0, 3, 4, 5], [0, 0, 0, 0, 1517, 0]], "fname": "spin"}"#;
const PATH: &str = r#"{"src": "a.o", "n_num": 3, "succs": [[1], [2], []], "features": [[1,0,0,0,0,0],[0,0,0,0,0,0],[0,0,0,0,0,0]], "fname": "walk", "more": {"x": [null]}}"#;

fn gz(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn binaries() -> Vec<Binary> {
    let binary = |compiler: &str, level: &str| Binary {
        file: format!("{compiler}_{level}.json.gz"),
        property: vec![compiler.to_string(), level.to_string()],
    };
    vec![binary("clang", "O1"), binary("gcc", "O1"), binary("gcc", "O2")]
}

fn read(folder: &Folder) -> Result<Dataset, DataError> {
    let options = FunctionOptions {
        n_nodes: (1, 200),
        facets: FACETS,
        binaries: &binaries(),
        whole: true,
    };
    read_function_graphs("tiny", &folder.0, &options)
}

/// The message about a set whose second file is `content`.
fn refusal(folder: &Folder, content: &[u8]) -> String {
    folder.file("clang_O1.json.gz", gz(PATH));
    folder.file("gcc_O1.json.gz", content);
    read(folder).expect_err("a damaged set").to_string()
}

#[test]
fn hand_written_files_read_as_they_were_meant() {
    let folder = Folder::new("acfg-example");
    folder.file("clang_O1.json.gz", gz(&format!("{LOOP}\r\n{PATH}\n")));
    folder.file("gcc_O2.json.gz", gz(&format!("{LOOP}\n\n")));
    let set = read(&folder).unwrap();
    assert_eq!(set.graph_labels, Some(vec![0, 1, 0]));
    assert_eq!((set.n_classes, set.n_nodes()), (2, 7));
    let spin = &set.graphs[0];
    assert!(spin.is_directed());
    assert_eq!(spin.arcs().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 1)]);
    let features = set.features.as_ref().unwrap().to_dense(&[0, 1, 2]);
    assert_eq!(features.row(0).to_vec(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((features[[1, 4]], features[[2, 0]]), (1517.0, 1.0));
    let properties = set.graph_properties.as_ref().unwrap();
    assert_eq!(properties.classes(), [0, 0, 1]);
    assert_eq!((properties.name(1), properties.n_classes()), ("gcc O2".to_string(), 2));
    let notes = [
        "the set is partial: 1 of its 3 binaries are not in the folder (gcc O1)",
        "1 functions have one variant only: their matching pair is the graph with itself",
        "1 graphs equal an earlier one, in successors and counts",
    ];
    assert_eq!(set.notes, notes);
    assert!(
        set.describe()
            .contains(&("graph properties".to_string(), "2 (compiler × level)".to_string()))
    );
}

#[test]
fn properties_are_part_of_the_fingerprint() {
    let folder = Folder::new("acfg-fingerprint");
    folder.file("clang_O1.json.gz", gz(LOOP));
    folder.file("gcc_O1.json.gz", gz(PATH));
    let one = read(&folder).unwrap();
    std::fs::rename(folder.0.join("gcc_O1.json.gz"), folder.0.join("gcc_O2.json.gz")).unwrap();
    let other = read(&folder).unwrap();
    assert_eq!(one.graphs, other.graphs);
    assert_ne!(one.fingerprint(), other.fingerprint());
}

#[test]
fn each_broken_rule_is_told_with_file_and_line() {
    let folder = Folder::new("acfg-bad");
    for (from, to, expected) in [
        ("[0, 1]]", "[0, 2]]", "block 1 has successor 2, but blocks are 0..2"),
        ("[0, 1]]", "[-1]]", "block 1 has successor -1, but blocks are 0..2"),
        ("[0, 1]]", "[0.5]]", "invalid type: floating point `0.5`"),
        ("4, 5]", "4]", "block 0 must have 6 features, got 5"),
        ("4, 5]", "4, 5, 6]", "block 0 must have 6 features, got 7"),
        ("1517", "-1", "block 1 has feature -1, but a count must lie in 0..="),
        ("1517", "1e300", "must lie in 0..=16777216"),
        ("1517", "1e999", "number out of range"),
        ("1517", "NaN", "not a function graph, column"),
        (
            "\"n_num\": 2",
            "\"n_num\": 3",
            "must agree on the number of blocks, got 3, 2 and 2",
        ),
        (
            "[1], [0, 1]",
            "[1]",
            "must agree on the number of blocks, got 2, 1 and 2",
        ),
        ("\"fname\": \"spin\"", "\"name\": \"spin\"", "missing field `fname`"),
        ("spin", "", "`fname` is the class of the graph and must not be empty"),
        ("\"spin\"}", "\"spin\"", "EOF while parsing an object"),
        ("\"spin\"}", "\"spin\"} {}", "trailing characters"),
        ("\"fname\"", "\"n_num\"", "duplicate field `n_num`"),
    ] {
        assert!(LOOP.contains(from), "{from}");
        let text = refusal(&folder, &gz(&format!("{PATH}\n{}\n", LOOP.replacen(from, to, 1))));
        assert!(
            text.contains("gcc_O1.json.gz:2: ") && text.contains(expected),
            "{text}\n{expected}"
        );
    }
    let empty = r#"{"n_num": 0, "succs": [], "features": [], "fname": "f"}"#;
    assert!(refusal(&folder, &gz(empty)).contains("gcc_O1.json.gz:1: a function must have at least one block"));
    assert!(refusal(&folder, &gz("\n\n")).contains("gcc_O1.json.gz: the file holds no function"));
}

#[test]
fn damaged_gzip_is_told_apart_from_damaged_json() {
    let folder = Folder::new("acfg-gzip");
    let whole = gz(&format!("{LOOP}\n{PATH}\n").repeat(9));
    assert!(refusal(&folder, b"").contains("gcc_O1.json.gz"));
    assert!(refusal(&folder, LOOP.as_bytes()).contains("gcc_O1.json.gz:1: the gzip data are damaged (or no gzip data"));
    let text = refusal(&folder, &whole[..whole.len() / 2]);
    assert!(text.contains("the file is truncated, copy it again"), "{text}");
    let text = refusal(&folder, &whole[..whole.len() - 1]);
    assert!(text.contains("the file is truncated, copy it again"), "{text}");
    let mut changed = whole.clone();
    let at = whole.len() - 6;
    changed[at] ^= 1;
    assert!(
        refusal(&folder, &changed).contains("the gzip data are damaged"),
        "a wrong checksum"
    );
    let mut parts = gz(&format!("{LOOP}\n"));
    parts.extend(gz(PATH));
    folder.file("gcc_O1.json.gz", parts);
    assert_eq!(read(&folder).unwrap().graphs.len(), 3, "gzip members follow each other");
}

#[test]
fn folders_without_two_binaries_or_any_fitting_function_are_refused() {
    let folder = Folder::new("acfg-few");
    folder.file("clang_O1.json.gz", gz(PATH));
    let text = read(&folder).unwrap_err().to_string();
    assert!(
        text.contains("holds 1 of the 3 binaries of the set, such as `clang_O1.json.gz`"),
        "{text}"
    );
    folder.file("gcc_O1.json.gz", gz(LOOP));
    let options = FunctionOptions {
        n_nodes: (4, 9),
        facets: FACETS,
        binaries: &binaries(),
        whole: false,
    };
    let text = read_function_graphs("tiny", &folder.0, &options)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("no function has 4 to 9 blocks; widen `n_nodes`"),
        "{text}"
    );
    let options = FunctionOptions {
        n_nodes: (3, 9),
        ..options
    };
    let set = read_function_graphs("tiny", &folder.0, &options).unwrap();
    assert_eq!(
        set.notes[1],
        "1 functions with fewer than 3 or more than 9 blocks were left out"
    );
    assert_eq!((set.graphs.len(), set.n_classes), (1, 1));
}

/// A `.npy` file of 64-bit integers.
fn npy(values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    folkmoot_metrics::npy::npy("<i8", &[values.len()], &data)
}

#[test]
fn the_published_order_is_used_only_where_it_fits() {
    let folder = Folder::new("acfg-order");
    let functions: Vec<String> = (0..10).map(|f| PATH.replace("walk", &format!("f{f}"))).collect();
    for binary in binaries() {
        folder.file(&binary.file, gz(&functions.join("\n")));
    }
    folder.file(ORDER, npy(&[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]));
    let set = read(&folder).unwrap();
    let splits = set.splits.as_ref().unwrap();
    assert_eq!(splits.sizes(), (24, 3, 3));
    assert_eq!(
        Splits::items(&splits.test),
        [0, 10, 20],
        "function 0 is the last of the order"
    );
    folder.file(ORDER, npy(&[0, 1, 2]));
    let set = read(&folder).unwrap();
    assert!(set.splits.is_none());
    assert!(
        set.notes
            .last()
            .unwrap()
            .contains("orders 3 functions, but 10 were read")
    );
    folder.file(ORDER, npy(&[9, 8, 7, 6, 5, 4, 3, 2, 1, -1]));
    let text = read(&folder).unwrap_err().to_string();
    assert!(
        text.contains("class_perm.npy: an order of 10 classes must name each of 0..10 once"),
        "{text}"
    );
    folder.file(ORDER, "no array");
    assert!(
        read(&folder)
            .unwrap_err()
            .to_string()
            .contains("class_perm.npy: not an .npy array")
    );
}

fn real(name: Functions, n_nodes: (u32, u32), scaling: CountScaling) -> Option<Dataset> {
    let dirs = DataDirs::new().with("FOLKMOOT_DATA", real_data()?);
    let spec = FunctionGraphs { name, n_nodes, scaling };
    let mut rng = folkmoot_draws::SeedableRng::seed_from_u64(0);
    Some(spec.load(&dirs, &mut rng).unwrap())
}

/// Graphs, functions, arcs in all, those with one variant, copies and disconnected graphs.
fn counts(set: &Dataset) -> (usize, usize, usize, usize, usize, usize) {
    let note = |what: &str| {
        let note = set.notes.iter().find(|note| note.contains(what));
        note.map_or(0, |note| note.split(' ').next().unwrap().parse().unwrap())
    };
    let arcs = set.graphs.iter().map(Graph::n_edges).sum();
    let (single, copies) = (note("have one variant only"), note("equal an earlier one"));
    (
        set.graphs.len(),
        set.n_classes,
        arcs,
        single,
        copies,
        note("not connected"),
    )
}

fn means(set: &Dataset) -> (String, String) {
    let row = |what: &str| set.describe().into_iter().find(|(name, _)| name == what).unwrap().1;
    (row("mean nodes"), row("mean edges"))
}

#[test]
fn published_open_ssl_sets_have_the_counts_of_the_paper() {
    let Some(small) = real(Functions::OpenSSL, (50, 200), CountScaling::Raw) else {
        return;
    };
    assert_eq!(counts(&small), (4_308, 338, 550_345, 12, 649, 26));
    assert_eq!(means(&small), ("83.68".to_string(), "127.75".to_string()));
    assert_eq!(small.graph_properties.as_ref().unwrap().n_classes(), 24);
    let level = small.graph_properties.as_ref().unwrap().facet("level").unwrap();
    assert_eq!((level.n_classes(), level.name(3)), (4, "O3".to_string()));
    assert!(small.splits.is_none(), "no order of its functions was published");
    let mut rng = folkmoot_draws::SeedableRng::seed_from_u64(1);
    let (train, val, test) = small.split_by_class(&mut rng).unwrap().sizes();
    assert_eq!(train + val + test, 4_308);

    let large = real(Functions::OpenSSL, (20, 200), CountScaling::Log).unwrap();
    assert_eq!(counts(&large), (15_800, 1_073, 1_060_909, 20, 2_900, 101));
    assert_eq!(means(&large), ("44.89".to_string(), "67.15".to_string()));
    let (train, val, test) = large.splits.as_ref().unwrap().sizes();
    assert_eq!(train + val + test, 15_800);
    let mut row = [0.0; N_COLUMNS];
    let largest = (0..large.n_nodes() as u32).fold(0.0, |most: f32, node| {
        large.features.as_ref().unwrap().write_row(node, &mut row);
        row.iter().fold(most, |most, value| most.max(*value))
    });
    assert_eq!(largest, libm::log1pf(1_517.0));
}

#[test]
fn the_narrow_range_is_the_same_out_of_either_folder() {
    let (Some(data), Some(small)) = (real_data(), real(Functions::OpenSSL, (50, 200), CountScaling::Raw)) else {
        return;
    };
    let folder = data.join("acfg/OpenSSL_6ACFG_min20_max200/acfgSSL_6");
    let property = small.graph_properties.clone().unwrap();
    let binaries: Vec<Binary> = (0..24_u32)
        .map(|class| {
            let name = property.name(class);
            let values: Vec<String> = name.split(' ').map(str::to_string).collect();
            let file = format!(
                "filter_openssl-{}-{}-linux-{}v54.json.gz",
                values[0], values[1], values[2]
            );
            Binary { file, property: values }
        })
        .collect();
    let options = FunctionOptions {
        n_nodes: (50, 200),
        facets: &["version", "architecture", "level"],
        binaries: &binaries,
        whole: false,
    };
    let cut = read_function_graphs("cut", &folder, &options).unwrap();
    assert_eq!(cut.fingerprint(), small.fingerprint());
    assert!(
        cut.notes[0].starts_with("11492 functions with fewer than 50"),
        "{:?}",
        cut.notes
    );
}

#[test]
fn the_ffmpeg_set_at_hand_says_that_it_is_partial() {
    let Some(set) = real(Functions::FFmpeg, (50, 200), CountScaling::Raw) else {
        return;
    };
    assert_eq!(counts(&set), (7_262, 2_365, 1_036_401, 878, 2, 1));
    assert_eq!(means(&set), ("92.36".to_string(), "142.72".to_string()));
    assert_eq!(
        set.notes[0],
        "the set is partial: 2 of its 8 binaries are not in the folder (clang O0, gcc O0)"
    );
    let expected = "no published split: class_perm.npy orders 3178 functions, but 2365 were read";
    assert!(set.notes.contains(&expected.to_string()), "{:?}", set.notes);
    assert!(set.splits.is_none());
}

proptest! {
    #[test]
    fn truncated_and_changed_files_never_panic(cut in 0_usize..400, at in 0_usize..400, bit in 0_u32..8) {
        let folder = Folder::new("acfg-fuzz");
        let whole = gz(&format!("{LOOP}\n{PATH}\n"));
        let text = refusal(&folder, &whole[..cut.min(whole.len() - 1)]);
        prop_assert!(text.contains("gcc_O1.json.gz"), "{}", text);
        let mut changed = whole;
        let at = at % changed.len();
        changed[at] ^= 1 << bit;
        folder.file("gcc_O1.json.gz", changed);
        // A changed bit in the header's time stamp is no damage; any other must be found.
        if let Err(error) = read(&folder) {
            prop_assert!(error.to_string().contains("gcc_O1.json.gz"), "{}", error);
        } else {
            prop_assert!(at < 10, "byte {}", at);
        }
    }

    #[test]
    fn any_json_is_a_function_or_an_error(
        n_num in 0_u64..5,
        succs in prop::collection::vec(prop::collection::vec(0_u64..6, 0..4), 0..5),
        lens in prop::collection::vec(5_usize..8, 0..5),
        name in "[a-z]{0,3}",
    ) {
        let features: Vec<Vec<f64>> = lens.iter().map(|len| vec![1.5; *len]).collect();
        let text = serde_json::json!({"n_num": n_num, "succs": &succs, "features": features, "fname": &name}).to_string();
        let n = succs.len();
        let legal = n > 0 && n as u64 == n_num && lens.len() == n && !name.is_empty()
            && lens.iter().all(|len| *len == N_COLUMNS) && succs.iter().flatten().all(|next| *next < n as u64);
        let parsed = line::parse(text.as_bytes());
        prop_assert_eq!(parsed.is_ok(), legal, "{}", text);
        if let Ok(function) = parsed {
            for (u, listed) in (0..).zip(&succs) {
                let mut listed: Vec<u32> = listed.iter().map(|next| *next as u32).collect();
                listed.sort_unstable();
                listed.dedup();
                prop_assert_eq!(function.graph.neighbours(u), listed);
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[\\[\\]{}:,\"a-z0-9.eE+-]{0,60}") {
        prop_assert!(line::parse(&bytes).is_err());
        prop_assert!(line::parse(text.as_bytes()).is_err());
    }
}
