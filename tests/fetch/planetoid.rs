//! A citation graph whose files are pickles: fetched, left for the Python package, and checked
//! afterwards.

use super::server::{Server, sha256, zipped};
use super::{fetch, table_with};
use crate::support::TempDir;
use folkmoot_metrics::npy::npy;

fn table_of(temp: &TempDir, server: &Server, fingerprint: &str) {
    let sum = sha256(b"a pickle");
    table_pinned(temp, server, fingerprint, &format!(", bytes: 8, sha256: \"{sum}\""));
}

fn table_pinned(temp: &TempDir, server: &Server, fingerprint: &str, pin: &str) {
    let download = |ending: &str| {
        let address = &server.address;
        format!(
            "(url: \"http://{address}/ind.cora.{ending}\", files: [(path: \"planetoid/raw/ind.cora.{ending}\"{pin})])"
        )
    };
    let downloads: Vec<String> = ["allx", "graph"].map(download).into();
    let made = format!("file: (path: \"planetoid/cora.npz\"), fingerprint: \"{fingerprint}\"");
    table_with(temp, &downloads.join(", "), &format!(", made: Planetoid({made})"));
}

/// Two nodes with an edge between them.
fn archive() -> Vec<u8> {
    let int = |values: &[i32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy("<i4", &[values.len()], &bytes)
    };
    zipped(&[
        ("adj_indices.npy", &int(&[1, 0])),
        ("adj_indptr.npy", &int(&[0, 1, 2])),
        ("adj_shape.npy", &int(&[2, 2])),
    ])
}

#[test]
fn pickles_are_fetched_and_the_command_that_converts_them_is_printed() {
    let temp = TempDir::new();
    let server = Server::serving(b"a pickle".to_vec());
    let unknown = "0".repeat(64);
    table_of(&temp, &server, &unknown);
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    let said = "error: S cannot be used yet: the files are Python pickles, which the Python package converts \
        (`pip install './sim/python[planetoid]'`)\n\
        help: python -m folkmoot planetoid d/planetoid cora\n  \
        then check it with: folkmoot data fetch S --data d --sources table.ron\n";
    assert_eq!(ended.stderr, said);
    assert!(
        ended.stdout.contains("planetoid/raw/ind.cora.graph: fetched, 8 bytes"),
        "{ended:#?}"
    );
    assert_eq!(TempDir::names_in(&temp.join("d/planetoid")), ["raw"]);
    // What is there is not asked for again.
    assert_eq!(fetch(&temp).stderr, said);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_converted_archive_is_known_by_its_fingerprint() {
    let temp = TempDir::new();
    let server = Server::serving(b"a pickle".to_vec());
    temp.write("d/planetoid/cora.npz", archive());
    let unknown = "0".repeat(64);
    table_of(&temp, &server, &unknown);
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    let (_, why) = ended
        .stderr
        .split_once("cora.npz exists, but differs from the published file: its fingerprint is ")
        .unwrap();
    let found = &why[..64];
    assert!(why[64..].starts_with(&format!(" instead of {unknown}")), "{why}");
    table_of(&temp, &server, found);
    let said = fetch(&temp).done();
    assert!(
        said.contains("planetoid/cora.npz: exists, fingerprint verified"),
        "{said}"
    );
    assert!(server.asked().is_empty());
}

#[test]
fn a_pickle_whose_content_is_not_known_is_not_fetched() {
    let temp = TempDir::new();
    let server = Server::serving(b"a pickle".to_vec());
    for pin in ["", ", bytes: 8", &format!(", sha256: \"{}\"", sha256(b"a pickle"))] {
        table_pinned(&temp, &server, &"0".repeat(64), pin);
        fetch(&temp).refused(&[
            "table.ron: S: planetoid/raw/ind.cora.allx is a pickle, and needs its bytes and sha256",
            "\nhelp: wc -c ind.cora.allx; sha256sum ind.cora.allx # of a copy that you trust\n",
        ]);
    }
    assert!(server.asked().is_empty());
    // What another host sends is removed.
    let other = Server::serving(b"a pickl3".to_vec());
    table_of(&temp, &other, &"0".repeat(64));
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(TempDir::names_in(&temp.join("d/planetoid/raw")), [""; 0]);
}
