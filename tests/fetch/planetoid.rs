//! A citation graph in the files of its authors, fetched and joined.

use super::server::{Server, serve};
use super::{failed, fetch, table_with};
use crate::support::TempDir;
use std::collections::BTreeMap;

/// Nodes that train, and nodes of `allx`; some 500 between them validate.
const N_TRAIN: usize = 2;
const N_ALL: usize = 504;

/// The fingerprint of an archive of the same nodes, rows and edges that another program wrote.
const EXPECTED: &str = "f14bf786a7ffbd4694e9f2841fbc8e9049ea53e05ff8783f50fd6a6a36b71781";

fn int(n: usize) -> Vec<u8> {
    [b"J".as_slice(), &(n as u32).to_le_bytes()].concat()
}

/// An array, as numpy pickles it.
fn array(kind: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    [
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(".to_vec(),
        shape.iter().flat_map(|&n| int(n)).collect(),
        [
            b"tcnumpy\ndtype\nU\x02",
            kind.as_bytes(),
            b"K\x00K\x01\x87R(K\x03U\x01<NNNK\x00K\x00K\x00tb",
        ]
        .concat(),
        [b"\x89T".as_slice(), &(data.len() as u32).to_le_bytes(), data, b"tb"].concat(),
    ]
    .concat()
}

fn pickle(value: &[u8]) -> Vec<u8> {
    [b"\x80\x02", value, b"."].concat()
}

/// Rows of which row `i` has a one in column `i % 7`.
fn features(n_rows: usize) -> Vec<u8> {
    let ints = |numbers: Vec<i32>| -> Vec<u8> { numbers.into_iter().flat_map(i32::to_le_bytes).collect() };
    let columns = ints((0..n_rows as i32).map(|row| row % 7).collect());
    let values: Vec<u8> = (0..n_rows).flat_map(|_| 1_f64.to_le_bytes()).collect();
    let parts = [
        b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape".to_vec(),
        [int(n_rows), int(7), b"\x86U\x06indptr".to_vec()].concat(),
        array("i4", &[n_rows + 1], &ints((0..=n_rows as i32).collect())),
        [b"U\x07indices".to_vec(), array("i4", &[n_rows], &columns)].concat(),
        [b"U\x04data".to_vec(), array("f8", &[n_rows], &values), b"ub".to_vec()].concat(),
    ];
    pickle(&parts.concat())
}

/// Rows of which row `i` has class `i % 3`.
fn classes(n_rows: usize) -> Vec<u8> {
    let cells = (0..n_rows).flat_map(|row| (0..3).map(move |class| i32::from(row % 3 == class)));
    pickle(&array(
        "i4",
        &[n_rows, 3],
        &cells.flat_map(i32::to_le_bytes).collect::<Vec<u8>>(),
    ))
}

/// A ring of the nodes but the last, which is alone; every neighbour is named twice, and node 0 itself.
fn ring(n_nodes: usize) -> Vec<u8> {
    let list = |node: usize| {
        let next = if node + 2 < n_nodes { node + 1 } else { 0 };
        let items = match node {
            node if node + 1 == n_nodes => Vec::new(),
            0 => [int(0), int(next), int(next)].concat(),
            _ => [int(next), int(next)].concat(),
        };
        [int(node), b"](".to_vec(), items, b"e".to_vec()].concat()
    };
    let lists: Vec<u8> = (0..n_nodes).flat_map(list).collect();
    pickle(
        &[
            b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(".to_vec(),
            lists,
            b"u".to_vec(),
        ]
        .concat(),
    )
}

/// The files of 508 nodes, of which 4 stand behind the others: two that test, in the order 506, 504, and two that nobody knows.
fn published() -> BTreeMap<String, Vec<u8>> {
    let files = [
        ("allx", features(N_ALL)),
        ("tx", features(2)),
        ("ally", classes(N_ALL)),
        ("ty", classes(2)),
        ("y", classes(N_TRAIN)),
        ("graph", ring(508)),
        ("test.index", b"506\n504\n".to_vec()),
    ];
    files
        .into_iter()
        .map(|(ending, bytes)| (format!("/ind.cora.{ending}"), bytes))
        .collect()
}

fn table_of(temp: &TempDir, server: &Server, fingerprint: &str) {
    let download = |path: &String| {
        let address = &server.address;
        format!("(url: \"http://{address}{path}\", files: [(path: \"planetoid/raw{path}\")])")
    };
    let downloads: Vec<String> = published().keys().map(download).collect();
    let made = format!(
        "stem: \"planetoid/raw/ind.cora\", file: (path: \"planetoid/cora.npz\"), fingerprint: \"{fingerprint}\""
    );
    table_with(temp, &downloads.join(", "), &format!(", made: Planetoid({made})"));
}

#[test]
fn a_citation_graph_is_joined_and_known_by_its_fingerprint() {
    let temp = TempDir::new();
    let server = Server::start(|request, stream| serve(request, stream, &published()[&request.path], "\"v1\""));
    let unknown = "0".repeat(64);
    table_of(&temp, &server, &unknown);
    let ended = fetch(&temp);
    failed(
        &ended,
        &[
            "what was made of d/planetoid/raw/ind.cora.* is not what the table",
            &unknown,
        ],
    );
    assert_eq!(TempDir::names_in(&temp.join("d/planetoid")), ["raw"]);
    table_of(&temp, &server, EXPECTED);
    let said = fetch(&temp).done();
    assert!(
        said.contains("planetoid/cora.npz: made of these, its fingerprint is right"),
        "{said}"
    );
    assert_eq!(server.asked().len(), 7);
    let whole = "Planetoid(name: Cora, largest_component: false)";
    let described = temp
        .run(&["data", "describe", whole, "--data", "d", "--format", "json"])
        .done();
    let json: serde_json::Value = serde_json::from_str(&described).unwrap();
    let of = |what: &str| json[what].as_u64().unwrap();
    assert_eq!(
        (of("nodes"), of("edges"), of("components"), of("labelled")),
        (508, 507, 2, 506)
    );
    // The archive is clean: the reader leaves nothing out.
    let notes = [
        "1 nodes have no edge",
        "2 nodes have no features",
        "2 nodes have no label",
    ];
    assert_eq!(json["notes"], serde_json::json!(notes));
    let labels = json["labels"].as_array().unwrap();
    let sizes: Vec<u64> = labels.iter().map(|label| label["items"].as_u64().unwrap()).collect();
    // A third of 504 each, and test nodes of the classes 0 and 1.
    assert_eq!(sizes, [169, 169, 168]);
    let text = temp.run(&["data", "describe", whole, "--data", "d"]).done();
    assert!(text.contains("2 / 500 / 2"), "{text}");
    // A fetch that finds it asks for nothing; one that finds another says so.
    let again = fetch(&temp).done();
    assert!(
        again.contains("planetoid/cora.npz: is there, its fingerprint is right"),
        "{again}"
    );
    table_of(&temp, &server, &unknown);
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended.stderr.contains("cora.npz is there, and is not what the table"),
        "{ended:#?}"
    );
    assert_eq!(server.asked().len(), 7);
}

#[test]
fn citation_files_that_do_not_go_together_are_refused() {
    for (path, bytes, why) in [
        (
            "/ind.cora.allx",
            b"\x80\x02cos\nsystem\n.".to_vec(),
            "is no instruction that data are written with",
        ),
        ("/ind.cora.allx", classes(3), "is no sparse matrix"),
        ("/ind.cora.ty", features(2), "is no table of classes"),
        ("/ind.cora.ally", classes(3), "does not go with the other files"),
        ("/ind.cora.graph", classes(3), "is no graph"),
        (
            "/ind.cora.y",
            classes(10),
            "has more rows than there are nodes to train and validate",
        ),
        (
            "/ind.cora.test.index",
            b"506\n508\n".to_vec(),
            "has a line that is no node",
        ),
        (
            "/ind.cora.test.index",
            b"506\n".to_vec(),
            "has not as many lines as there are test nodes",
        ),
    ] {
        let temp = TempDir::new();
        let mut files = published();
        files.insert(path.to_owned(), bytes);
        let server = Server::start(move |request, stream| serve(request, stream, &files[&request.path], "\"v1\""));
        table_of(&temp, &server, &"0".repeat(64));
        failed(&fetch(&temp), &[why, "it is not what its authors published"]);
        assert_eq!(TempDir::names_in(&temp.join("d/planetoid")), ["raw"]);
    }
}
