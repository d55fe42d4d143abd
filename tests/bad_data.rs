//! Data that are missing, damaged, or not what the strategy needs: exit code 2, the place, and no
//! directory.

use crate::support::TempDir;
use folkmoot_graphs::DataSource;
use folkmoot_graphs::datasets::Karate;

/// Runs FedAvg on a data set of this spec with the file `name` of this content.
#[track_caller]
fn refuses(spec: &str, files: &[(&str, &[u8])], words: &[&str]) {
    refuses_with(spec, files, &[words, &["repeat with: folkmoot run c.ron"]].concat());
}

/// As [`refuses`], whether or not it would help to run the card again.
#[track_caller]
fn refuses_with(spec: &str, files: &[(&str, &[u8])], words: &[&str]) {
    let temp = TempDir::new();
    for (name, content) in files {
        temp.write(&format!("data/{name}"), content);
    }
    temp.write(
        "c.ron",
        format!(
            "(dataset: {spec}, partition: Iid(n_clients: 2), strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)))"
        ),
    );
    let names = temp.names();
    temp.run(&["run", "c.ron", "--out", "out"]).refused(words);
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with("repeat with"))
        .collect();
    temp.run(&["sweep", "c.ron", "--out", "out", "--quiet"]).refused(&words);
    assert_eq!(temp.names(), names);
}

#[track_caller]
fn refuses_edges(edges: &str, words: &[&str]) {
    refuses(
        "EdgeList(edges: \"edges.txt\")",
        &[("edges.txt", edges.as_bytes())],
        words,
    );
}

#[test]
fn a_missing_data_set_is_met_with_the_places_looked_in_and_where_to_get_it() {
    refuses(
        "BlogCatalog",
        &[],
        &[
            "blogcatalog/blogcatalog.mat was not found",
            "data/blogcatalog/blogcatalog.mat (./data)",
            "folkmoot data fetch BlogCatalog",
        ],
    );
    refuses(
        "Planetoid(name: Cora)",
        &[],
        &[
            "planetoid/cora.npz was not found",
            "(./data)",
            "help: folkmoot data fetch cora\n",
        ],
    );
    refuses(
        "TuDataset(name: \"MUTAG\")",
        &[],
        &["tudataset/MUTAG was not found", "help: folkmoot data fetch MUTAG\n"],
    );
    refuses(
        "EdgeList(edges: \"nope.txt\")",
        &[],
        &[
            "nope.txt was not found",
            "check the path, which is relative to the card (or the current folder) or to a data folder (--data DIR or FOLKMOOT_DATA)",
        ],
    );
    let temp = TempDir::new();
    temp.write("file", "no folder");
    temp.write("c.ron", "(dataset: BlogCatalog, strategy: FedAvg())");
    for data in ["file", "nowhere"] {
        let args = ["run", "c.ron", "--data", data, "--out", "out"];
        let place = format!("looked for {data}/blogcatalog/blogcatalog.mat (--data)");
        temp.run(&args).refused(&[&place, "(./data)"]);
    }
    let args = ["run", "c.ron", "--out", "out"];
    let output = temp.command(&args).env("FOLKMOOT_DATA", "elsewhere").output().unwrap();
    crate::support::Ended::of(&args, output)
        .refused(&["looked for elsewhere/blogcatalog/blogcatalog.mat (FOLKMOOT_DATA)"]);
    assert_eq!(temp.names(), ["c.ron", "file"]);
}

#[test]
fn a_damaged_edge_list_is_refused_by_its_line() {
    refuses_edges("0 1\n-1 2\n", &["edges.txt:2", "-1"]);
    refuses_edges("0 1\n1 two\n", &["edges.txt:2", "\"two\""]);
    refuses_edges("0 1\n1 2\n\n0 2 1\n", &["edges.txt:4", "weighted"]);
    refuses_edges("0 1\n1\n", &["edges.txt:2"]);
    refuses_edges("0 1\n1 4294967296\n", &["edges.txt:2", "4294967296"]);
    refuses_edges("0 1\n1 4000000000\n", &["edges.txt", "renumber: true"]);
    refuses_edges("0 1\n1 1.5\n", &["edges.txt:2", "\"1.5\""]);
    refuses_edges("", &["edges.txt: the file is empty"]);
    refuses_edges("# nothing\n", &["edges.txt: the file holds no edge"]);
    refuses(
        "EdgeList(edges: \"edges.txt\")",
        &[("edges.txt", b"0 1\n\xff\xfe 2\n")],
        &["edges.txt:2: not a text in UTF-8; ", "iconv -f ISO-8859-1 -t UTF-8 "],
    );
    refuses(
        "EdgeList(edges: \"edges.txt\", weighted: true)",
        &[("edges.txt", b"0 1 1\n1 2 NaN\n")],
        &["edges.txt: edge 1 2: the weight must be finite, got NaN"],
    );
    refuses(
        "EdgeList(edges: \"edges.txt\", first_id: 1)",
        &[("edges.txt", b"1 2\n0 2\n")],
        &["edges.txt:2", "first_id"],
    );
}

#[test]
fn labels_that_cannot_be_those_of_the_nodes_are_refused() {
    let refuses_labels = |labels: &[u8], words: &[&str]| {
        let files: &[(&str, &[u8])] = &[("edges.txt", b"0 1\n1 2\n"), ("labels.txt", labels)];
        refuses("EdgeList(edges: \"edges.txt\", labels: \"labels.txt\")", files, words);
    };
    refuses_labels(
        b"1 1\n2 0\n3 0\n",
        &["labels.txt: labels name nodes 1 to 3, edges 0 to 2"],
    );
    refuses_labels(b"0 1\n1 0.5\n", &["labels.txt:2: 0.5 is a number to predict"]);
    refuses_labels(b"0 1\n1\n", &["labels.txt:2"]);
    refuses(
        "EdgeList(edges: \"edges.txt\", labels: \"none.txt\")",
        &[("edges.txt", b"0 1\n")],
        &["none.txt was not found"],
    );
}

#[test]
fn a_truncated_or_foreign_mat_file_is_refused() {
    let whole = mat_of_a_dense_graph();
    let spec = "Mat(path: \"graph.mat\")";
    for length in [0, 4, 127, 128, 132, 136, 180, 400, whole.len() / 2, whole.len() - 1] {
        refuses(spec, &[("graph.mat", &whole[..length])], &["graph.mat"]);
    }
    refuses(
        "Mat(path: \"graph.mat\", network: \"net\")",
        &[("graph.mat", &whole)],
        &["graph.mat", "`net`", "`network`"],
    );
    refuses(
        spec,
        &[("graph.mat", b"PK\x03\x04 this is a zip file, not a matrix")],
        &["graph.mat"],
    );
    refuses(
        "BlogCatalog",
        &[("blogcatalog/blogcatalog.mat", &whole[..whole.len() / 2])],
        &["blogcatalog.mat"],
    );
    refuses(
        "Npz(path: \"graph.npz\")",
        &[("graph.npz", &whole[..500])],
        &["graph.npz"],
    );
}

/// Whoever opens a mapped file reads none of its arcs; what a run made of damaged ones is no
/// result.
#[test]
fn a_damaged_mapped_file_ends_a_run_without_a_result() {
    let dirs = folkmoot_graphs::DataDirs::new();
    let rng = &mut folkmoot_draws::SeedableRng::seed_from_u64(1);
    let graph = Karate {}.load(&dirs, rng).unwrap();
    let mut file = std::io::Cursor::new(Vec::new());
    folkmoot_graphs::mapped::write(&graph, &mut file).unwrap();
    let whole = file.into_inner();
    let spec = "Mapped(path: \"k.graph\")";
    // Sections start at pages: after the header that of the graph's shape, its row bounds, its
    // targets.
    let mut bytes = whole.clone();
    bytes[3 * 4_096 + 5] ^= 1;
    let words = [
        "k.graph: bytes 12288 to 16384 are not what was written",
        "make the file again",
    ];
    refuses(spec, &[("k.graph", &bytes)], &words);
    bytes[2 * 4_096 + 5] ^= 1;
    refuses(spec, &[("k.graph", &bytes)], &["k.graph: bytes 8192 to 12288 are not"]);
    refuses(spec, &[("k.graph", &whole[..20_000])], &["k.graph: has 20000 bytes"]);
    refuses(spec, &[], &["k.graph was not found"]);
}

/// `text` in a gzip file of one stored block (RFC 1951, 3.2.4; RFC 1952).
fn gzip(text: &str) -> Vec<u8> {
    let crc = text.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    });
    let len = u16::try_from(text.len()).unwrap();
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    file.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
    file.extend(text.as_bytes());
    file.extend([(!crc).to_le_bytes(), u32::from(len).to_le_bytes()].concat());
    file
}

/// A function of 50 blocks in a row, each with six counts.
fn function_of_50_blocks() -> String {
    let succs: Vec<String> = (1..50).map(|next| format!("[{next}]")).collect();
    let features = vec!["[0,0,0,0,1,0]"; 50].join(",");
    let succs = succs.join(",");
    format!("{{\"n_num\":50,\"succs\":[{succs},[]],\"features\":[{features}],\"fname\":\"f\"}}\n")
}

#[test]
fn damaged_function_graphs_are_refused_by_file_and_line() {
    let good = function_of_50_blocks();
    let whole = gzip(&good);
    let set = "acfg/ffmpeg_6ACFG_min50_max200";
    let refuses_second = |content: &[u8], words: &[&str]| {
        let [first, second] = ["clang_O1", "gcc_O2"].map(|binary| format!("{set}/ACFG_ffmpeg_g_{binary}.json.gz"));
        refuses(
            "FunctionGraphs(name: FFmpeg)",
            &[(&first, &whole), (&second, content)],
            words,
        );
    };
    let far = gzip(&format!("{good}{}", good.replace("[[1],", "[[50],")));
    refuses_second(
        &far,
        &["ACFG_ffmpeg_g_gcc_O2.json.gz:2: block 0 has successor 50, but blocks are 0..50"],
    );
    let short = gzip(&good.replacen("[0,0,0,0,1,0]", "[0,0,0,0,1]", 1));
    refuses_second(&short, &["gcc_O2.json.gz:1: block 0 must have 6 features, got 5"]);
    refuses_second(
        &whole[..whole.len() / 2],
        &["gcc_O2.json.gz:1", "the file is truncated, copy it again"],
    );
    refuses_second(good.as_bytes(), &["gcc_O2.json.gz:1: the gzip data are damaged"]);
    // Two whole files, of one function: FedAvg wants classes, and says so after reading both.
    let [first, second] = ["clang_O1", "gcc_O2"].map(|binary| format!("{set}/ACFG_ffmpeg_g_{binary}.json.gz"));
    let both: [(&str, &[u8]); 2] = [(&first, &whole), (&second, &whole)];
    refuses_with("FunctionGraphs(name: FFmpeg)", &both, &["FedAvg", "at least 2 classes"]);
    let only = format!("{set}/ACFG_ffmpeg_g_gcc_O2.json.gz");
    refuses(
        "FunctionGraphs(name: FFmpeg)",
        &[(&only, &whole)],
        &["holds 1 of the 8 binaries", "all graphs have one property"],
    );
    refuses(
        "FunctionGraphs(name: OpenSSL)",
        &[],
        &["OpenSSL_6ACFG_min50_max200/acfgSSL_6 was not found", "(./data)", "MGMN"],
    );
}

#[test]
fn a_damaged_table_of_molecules_is_refused_by_line_and_column() {
    let refuses_table = |spec: &str, table: &str, words: &[&str]| refuses(spec, &[("t.csv", table.as_bytes())], words);
    let spec = "MoleculeTable(path: \"t.csv\", invalid: Refuse)";
    let words = [
        "t.csv:3: column `smiles`: the molecule is invalid: column 2: ring 1, opened here",
        "invalid: Skip",
    ];
    refuses_table(spec, "smiles,toxic\nCC,1\nC1CC,0\n", &words);
    refuses_table(
        spec,
        "smiles,toxic\nCC,a\nCC,b\nCC,c\n",
        &["t.csv:4: column `toxic`: expected 0, 1 or nothing, or two other values, got \"a\", \"b\", \"c\""],
    );
    refuses_table(
        spec,
        "mol,toxic\nCC,1\n",
        &["t.csv:1: there is no column `smiles` (smiles)"],
    );
    refuses(
        "Molecules(name: SIDER)",
        &[],
        &["moleculenet/sider.csv was not found", "MoleculeNet", "(./data)"],
    );
}

#[test]
fn a_folder_where_a_file_should_be_is_refused() {
    refuses(
        "EdgeList(edges: \"deep\")",
        &[("deep/x", b"")],
        &["deep", "cannot be read"],
    );
    refuses("TuDataset(name: \"MUTAG\")", &[("tudataset/MUTAG", b"")], &["MUTAG"]);
}

#[test]
fn data_that_cannot_be_shared_out_so_are_refused_as_the_cards_mistake() {
    let temp = TempDir::new();
    let refused = |rest: &str, words: &[&str]| {
        temp.write("c.ron", format!("(dataset: Karate,\n {rest}, strategy: FedAvg())"));
        temp.run(&["run", "c.ron", "--out", "out"]).refused(words);
        assert_eq!(temp.names(), ["c.ron"]);
    };
    refused(
        "partition: Iid(n_clients: 300)",
        &["34 items are too few for 300 clients", "partition.n_clients"],
    );
    refused(
        "cohort: Size(n: 100), partition: Iid(n_clients: 3)",
        &["2:18 cohort.n: must lie in 1..=3 (n_clients), got 100"],
    );
}

/// A MATLAB 5 file with `network`, sparse: 40 nodes, each the neighbour of all but itself and its
/// opposite.
fn mat_of_a_dense_graph() -> Vec<u8> {
    let n = 40_u32;
    let neighbours = |node: u32| (0..n).filter(move |&other| other != node && other != (node + n / 2) % n);
    let rows: Vec<u32> = (0..n).flat_map(neighbours).collect();
    let starts: Vec<u32> = (0..=n).map(|node| node * (n - 2)).collect();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let element = |kind: u32, data: &[u8]| {
        let mut bytes = words(&[kind, data.len() as u32]);
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let values: Vec<u8> = rows.iter().flat_map(|_| 1_f64.to_le_bytes()).collect();
    let parts = [
        element(6, &words(&[5, rows.len() as u32])),
        element(5, &words(&[n, n])),
        element(1, b"network"),
        element(5, &words(&rows)),
        element(5, &words(&starts)),
        element(9, &values),
    ];
    let mut file = vec![b' '; 124];
    file.extend(*b"\x00\x01IM");
    file.extend(element(14, &parts.concat()));
    file
}

#[test]
fn a_small_mat_file_is_read_as_blog_catalog_would_be() {
    let temp = TempDir::new();
    temp.write("data/blogcatalog/blogcatalog.mat", mat_of_a_dense_graph());
    let said = temp.run(&["data", "describe", "BlogCatalog"]).done();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["nodes", "40"]), "{said}");
}
