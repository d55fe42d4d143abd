use super::super::test_files::Folder;
use super::*;
use crate::{DataDirs, Partitioner, partition};
use folkmoot_draws::{SeedableRng, SimRng};

fn read(folder: &Folder, text: &str) -> Result<Dataset, String> {
    let path = folder.file("g.graph", text);
    read_metis("g", &path, &[None, None, None]).map_err(|error| error.to_string())
}

#[test]
fn a_graph_is_read_with_and_without_weights() {
    let folder = Folder::new("metis");
    let plain = read(&folder, "% a comment\n4 2\n2\n1 3\n2\n\n").unwrap();
    assert_eq!(plain.graph().edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!((plain.graph().n_nodes(), plain.graph().is_weighted()), (4, false));
    let weighted = read(&folder, "2 1 001\n2 0.5\n1 0.5\n").unwrap();
    assert_eq!(weighted.graph().weights(0), Some(&[0.5][..]));
}

#[test]
fn labels_features_and_split_count_nodes_from_1_and_a_partition_lists_their_parts() {
    let folder = Folder::new("metis-side");
    let path = folder.file("g.graph", "3 2 011 1\n5 2 7\n5 1 7 3 9\n5 2 9\n");
    let files = [
        folder.file("labels.txt", "1 red\n3 blue\n"),
        folder.file("x.csv", "id,a,b\n3,5,6\n1,1,2\n2,3,4\n"),
        folder.file("split.txt", "1 train\n2 test\n"),
    ];
    let set = read_metis("g", &path, &files.map(Some)).unwrap();
    assert_eq!(set.graph().weights(1), Some(&[7.0, 9.0][..]));
    assert_eq!(set.node_labels.as_ref().unwrap().of(2), [0]);
    assert_eq!(
        set.features
            .as_ref()
            .unwrap()
            .to_dense(&[2])
            .into_raw_vec_and_offset()
            .0,
        [5.0, 6.0]
    );
    assert_eq!(set.splits.as_ref().unwrap().sizes(), (1, 0, 1));
    assert!(
        set.notes
            .contains(&"sizes and weights of nodes are not read".to_owned())
    );
    let dirs = DataDirs::new().with("data", &folder.0);
    let divide = |parts: &str| {
        folder.file("g.part", parts);
        let spec = partition::Metis {
            path: "g.part".to_owned(),
        };
        let partition = Partitioner::partition(&spec, &set, &dirs, &mut SimRng::seed_from_u64(1));
        partition.map_err(|error| error.to_string())
    };
    let partition = divide("1\n0\n1\n").unwrap();
    assert_eq!((partition.shard(0), partition.shard(1)), (&[1][..], &[0, 2][..]));
    assert!(
        divide("0\n0\n")
            .unwrap_err()
            .contains("the file has 2 lines, one for each of the nodes, and the data set has 3")
    );
    assert!(divide("0\n0\n2\n").unwrap_err().contains("part 1 has no item"));
    assert!(
        divide("0\n0\n3\n")
            .unwrap_err()
            .contains("g.part:3: part 3 must be below the number of nodes, 3")
    );
}

#[test]
fn what_does_not_fit_is_refused_by_its_line() {
    let folder = Folder::new("metis-refused");
    let refused = |text: &str, words: &str| {
        let error = read(&folder, text).unwrap_err();
        assert!(error.contains(words), "{error}");
    };
    refused("4\n", "expected the numbers of nodes and edges");
    refused("2 1 2\n2\n1\n", "the format must have three digits");
    refused("2 1\n3\n1\n", "g.graph:2: node 3 must lie in 1..=2");
    refused("2 1\n2\n1\n1\n", "more lines than the 2 nodes");
    refused(
        "3 2\n2\n1\n",
        "the first line counts 2 edges, and the lines below have 1",
    );
    refused("2 1 1\n2\n1 4\n", "the last neighbour has no weight");
    refused("2 1 1\n2 3\n1 4\n", "is listed with weight");
}
