//! Partitions read from files: published ones, and what is none.

use super::cut_tests::{cut_and_sizes, graph, group_of, rng, shards, whole};
use super::*;
use crate::readers::test_files::{Folder, real_data};
use crate::{Citation, DataSource, datasets, measures};

#[test]
fn published_partitions_are_read_and_cut_what_they_are_known_to_cut() {
    let Some(data) = real_data() else { return };
    let golden = [
        (
            "openfgl_cora_louvain_20",
            Citation::Cora,
            Cover::Exact,
            5278 - 1854,
            (153, 82),
            "0.597",
        ),
        (
            "fedgta_citeseer_louvain_10",
            Citation::Citeseer,
            Cover::Exact,
            4552 - 293,
            (333, 332),
            "0.831",
        ),
        (
            "fedgta_cora_louvain_10",
            Citation::Cora,
            Cover::Any,
            5278 - 753,
            (272, 270),
            "0.756",
        ),
    ];
    for (name, citation, cover, inside, sizes_of, q) in golden {
        let Some(dataset) = whole(citation) else { return };
        let path = data.join(format!("golden-partitions/{name}.csv")).display().to_string();
        let file = |cover| File {
            path: path.clone(),
            cover,
        };
        let partition = file(cover).divide(&dataset, &mut rng(0)).unwrap();
        let (cut, most, least) = cut_and_sizes(&partition, &dataset);
        assert_eq!(
            (dataset.graph().n_edges() as u64 - cut, (most, least)),
            (inside, sizes_of),
            "{name}"
        );
        let modularity = measures::modularity(dataset.graph(), &group_of(&partition, dataset.n_items()));
        assert_eq!(format!("{modularity:.3}"), q, "{name}");
        assert_eq!(partition.source().unwrap().0, format!("{name}.csv"));
        if cover == Cover::Any {
            // Three nodes stand in two lines each.
            let error = file(Cover::Exact)
                .divide(&dataset, &mut rng(0))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(".csv:2628: node 2625 stands in line 2627 already, with client 7"),
                "{error}"
            );
            assert!(partition.notes()[0].starts_with("3 lines"));
        }
    }
    let spec = File {
        path: data
            .join("golden-partitions/openfgl_cora_louvain_20.csv")
            .display()
            .to_string(),
        cover: Cover::Exact,
    };
    let largest = datasets::Planetoid {
        name: Citation::Cora,
        largest_component: true,
    };
    let dataset = largest.load(&DataDirs::new().with("", data), &mut rng(0)).unwrap();
    let error = spec.divide(&dataset, &mut rng(0)).unwrap_err().to_string();
    assert!(
        error.contains("is not in the data set; a file for the whole set fits `largest_component: false`"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_no_partition_is_refused_with_line_and_rule() {
    let folder = Folder::new("partition-file");
    let dataset = graph(3, &[(0, 1), (1, 2)]);
    let read = |text: &str, cover| {
        let path = folder.file("shards.csv", text).display().to_string();
        File { path, cover }.divide(&dataset, &mut rng(4))
    };
    let exact = read(
        "client, node, split\n1,0,test\n# by hand\n\n0,2,train\n0,1,val\n",
        Cover::Exact,
    )
    .unwrap();
    assert_eq!(shards(&exact), [vec![1, 2], vec![0]]);
    for text in [
        "\u{feff}# by hand\n% too\n\nnode,client\n1,0\n2,0\n0,1\n",
        "node;client\r1;0\r2;0\r0;1\r",
        "node client\n1 0\n2 0\n0 1\n",
        ",\"node\",\"client\"\r\n0,1.0,0\r\n1,2.0,0\r\n2,0.0,1\r\n",
    ] {
        assert_eq!(
            shards(&read(text, Cover::Exact).unwrap()),
            [vec![1, 2], vec![0]],
            "{text:?}"
        );
    }
    let any = read("node,client\n0,0\n0,1\n0,0\n", Cover::Any).unwrap();
    assert_eq!((shards(&any), any.notes().len()), (vec![vec![0], vec![0]], 1));
    let bad = [
        (
            "node,part\n0,0\n",
            "shards.csv:1: the first line must name the columns `node` and `client`",
        ),
        (
            "node,client\n0,0,1\n",
            "shards.csv:2: expected 2 fields as in the first line, got 3",
        ),
        (
            "node,client\n0,0\n-1,0\n",
            "shards.csv:3: expected the id of a node, got \"-1\"",
        ),
        (
            "node,client\n0,x\n",
            "shards.csv:2: expected a client, counted from 0, got \"x\"",
        ),
        ("node,client\n3,0\n", "shards.csv:2: node 3 is not in the data set"),
        (
            "node,client\n0,4294967295\n",
            "shards.csv:2: client 4294967295 must be below the number of nodes, 3",
        ),
        (
            "node,client\n0,0\n1,0\n0,1\n",
            "shards.csv:4: node 0 stands in line 2 already, with client 0; `cover: Any`",
        ),
        (
            "node,client\n0,0\n",
            "shards.csv: 2 of 3 nodes have no client, such as node 1; `cover: Any`",
        ),
        ("node,client\n0,2\n1,0\n2,0\n", "shards.csv: client 1 has no node"),
        ("node,client\n", "shards.csv: the file gives no node to any client"),
        ("", "shards.csv: the file is empty"),
    ];
    for (text, expected) in bad {
        let error = read(text, Cover::Exact).unwrap_err().to_string();
        assert!(
            error.starts_with("partition.path: ") && error.contains(expected),
            "{error}"
        );
    }
    let missing = File {
        path: "nowhere.csv".to_owned(),
        cover: Cover::Any,
    };
    let error = missing.divide(&dataset, &mut rng(4)).unwrap_err().to_string();
    assert!(error.contains("partition.path: nowhere.csv was not found"), "{error}");
}
