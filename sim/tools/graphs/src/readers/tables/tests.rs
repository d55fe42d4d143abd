use super::super::test_files::Folder;
use super::*;
use crate::{DataDirs, DataSource, Partitioner, Property, partition};
use folkmoot_draws::{SeedableRng, SimRng};

const NODES: &str = "id,label,age,city,split,client,ok,price\n\
    ann,red,30,Bern,train,north,1,0.5\n\
    \"bob, jr\",blue,41,Oslo,valid,south,0,\n\
    cy,red,-2.5,Bern,test,north,,2\n";
const EDGES: &str = "when,source,target,weight\n1999,ann,\"bob, jr\",2\n2000,\"bob, jr\",cy,0.5\n";

fn load(folder: &Folder, text: &str) -> Result<Dataset, String> {
    let ron = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    let spec: Tables = ron.from_str(text).unwrap();
    let dirs = DataDirs::new().with("data", &folder.0);
    spec.load(&dirs, &mut SimRng::seed_from_u64(1))
        .map_err(|error| error.to_string())
}

fn example(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("n.csv", NODES);
    folder.file("e.csv", EDGES);
    folder
}

#[test]
fn columns_with_usual_names_need_no_settings() {
    let folder = example("tables-usual");
    let set = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\")").unwrap();
    assert_eq!(set.name, "e");
    assert_eq!(set.graph().edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(set.graph().weights(1), Some(&[2.0, 0.5][..]));
    assert_eq!(set.node_names.as_ref().unwrap()[1], "bob, jr");
    assert_eq!(set.node_labels.as_ref().unwrap().of(0), [1]);
    assert_eq!(set.splits.as_ref().unwrap().sizes(), (1, 1, 1));
    for note in [
        "of the nodes, the column is not read: `city`; `features` names those to keep, words as columns of 0 and 1",
        "of the nodes, the columns are not read: `ok`, `price`; values are missing, which features may not lack: fill them in",
    ] {
        assert!(set.notes.contains(&note.to_owned()), "{:?}", set.notes);
    }
    assert!(
        set.notes
            .contains(&"of the edges, the column is not read: `when`; `edge_features` names those to keep".to_owned())
    );
    assert!(
        set.notes
            .iter()
            .any(|note| note.starts_with("the files have masks for training"))
    );
    let given = partition::Given { n_clients: None }
        .divide(&set, &mut SimRng::seed_from_u64(1))
        .unwrap();
    assert_eq!((given.shard(0), given.shard(1)), (&[0, 2][..], &[1][..]));
}

/// Columns with gaps are features only if the card names them.
#[test]
fn a_feature_that_is_missing_is_refused_by_its_line() {
    let folder = example("tables-gap");
    let error = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\", features: [\"price\"])").unwrap_err();
    assert!(
        error.ends_with("n.csv:3: column `price`: expected a finite number, got \"\""),
        "{error}"
    );
}

#[test]
fn settings_name_other_columns() {
    let folder = example("tables-named");
    let of = |rest: &str| load(&folder, &format!("(nodes: \"n.csv\", edges: \"e.csv\", {rest})")).unwrap();
    let set = of("features: [\"city\", \"age\"], edge_features: [\"when\"], properties: [\"city\"], directed: true");
    assert_eq!(
        set.features
            .as_ref()
            .unwrap()
            .to_dense(&[0, 1])
            .into_raw_vec_and_offset()
            .0,
        [1.0, 0.0, 30.0, 0.0, 1.0, 41.0]
    );
    assert_eq!(set.edge_features.as_ref().unwrap().row(1), [2000.0]);
    assert!(set.graph().is_directed());
    let by_city = partition::ByProperty {
        property: Property::Facet("city".to_owned()),
        n_clients: None,
    };
    let partition = by_city.divide(&set, &mut SimRng::seed_from_u64(1)).unwrap();
    assert_eq!((partition.shard(0), partition.shard(1)), (&[0, 2][..], &[1][..]));
    let numbers = of("targets: [\"price\"]").targets.unwrap();
    assert_eq!(
        (numbers.names(), numbers.summary(0)),
        (&["price".to_owned()][..], Some((0.5, 1.25, 2.0, 2)))
    );
    let labels = of("labels: [\"ok\"], features: [\"age\"]").node_tasks.unwrap();
    assert_eq!((labels.of(0), labels.of(2)), (&[Some(true)][..], &[None][..]));
}

/// Columns named as labels, parts of a split or ids would give a label away, or be noise.
#[test]
fn features_are_no_labels_and_no_ids() {
    let folder = Folder::new("tables-unlike");
    folder.file("e.csv", "source,target\n0,1\n1,2\n");
    folder.file(
        "n.csv",
        "Unnamed: 0,id,label,class,train_mask,client_id,x\n7,0,a,0,1,3,0.5\n8,1,b,1,0,4,1.5\n9,2,a,0,0,5,2\n",
    );
    let set = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\")").unwrap();
    let rows = |set: &Dataset| {
        set.features
            .as_ref()
            .unwrap()
            .to_dense(&[0, 1, 2])
            .into_raw_vec_and_offset()
            .0
    };
    assert_eq!(rows(&set), [0.5, 1.5, 2.0]);
    for note in [
        "of the nodes, the columns are not read: `class`, `train_mask`, `client_id`; their names are those of labels, parts of a split or ids; `features` names those to keep all the same",
        "features are the columns with numbers: `x`; `features` names others",
    ] {
        assert!(set.notes.contains(&note.to_owned()), "{:?}", set.notes);
    }
    let set = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\", features: [\"class\"])").unwrap();
    assert_eq!(rows(&set), [0.0, 1.0, 0.0]);
    folder.file("n.csv", "id,z\n0,1\n1,1e39\n2,3\n");
    let error = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\", features: [\"z\"])").unwrap_err();
    assert!(
        error.contains("n.csv:3: column `z`: expected a finite number, as most have, got \"1e39\""),
        "{error}"
    );
}

/// Without usual names, ends are two columns at most, and noted.
#[test]
fn ends_of_edges_are_not_guessed_among_several_columns() {
    let folder = Folder::new("tables-guess");
    let of = |edges: &str| {
        folder.file("e.csv", edges);
        load(&folder, "(edges: \"e.csv\")")
    };
    for several in ["edge_id,person,friend\n100,5,6\n", "date,one,other\n1999,0,1\n"] {
        let error = of(several).unwrap_err();
        assert!(error.contains("the ends of edges are not found"), "{error}");
    }
    let set = of("source,from,to\nx,5,6\ny,6,7\n").unwrap();
    assert_eq!(set.node_names.as_deref().unwrap(), ["5", "6", "7"]);
    let set = of("weight,a,b\n2,5,6\n3,6,7\n").unwrap();
    assert_eq!((set.graph().n_edges(), set.graph().weights(0)), (2, Some(&[2.0][..])));
    assert!(
        set.notes
            .iter()
            .any(|note| note.contains("the columns `a` and `b` were read as the ends")),
        "{:?}",
        set.notes
    );
    let error = of("ann,bob\nbob,cy\ncy,ann\n").unwrap_err();
    assert!(
        error.contains("the first line, \"ann\" and \"bob\", names nodes and no columns"),
        "{error}"
    );
}

/// Of several usual names of ids, `id` counts before `name`.
#[test]
fn an_id_is_no_name() {
    let folder = Folder::new("tables-id");
    folder.file("n.csv", "name,id,label\n1,0,a\n0,1,b\n");
    folder.file("e.csv", "source,target\n0,1\n");
    let set = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\")").unwrap();
    assert_eq!((set.node_names, set.node_labels.unwrap().of(0)), (None, &[0][..]));
}

#[test]
fn edges_alone_give_the_nodes_numbers_before_words() {
    let folder = Folder::new("tables-edges");
    folder.file("e.tsv", "from\tto\nb\t10\n9\ta\n");
    let set = load(&folder, "(edges: \"e.tsv\")").unwrap();
    assert_eq!(set.node_names.as_deref().unwrap(), ["9", "10", "a", "b"]);
    assert_eq!(set.graph().edges().collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    // Numbers from 0 are no names.
    folder.file("e.tsv", "a;b\n0;1\n2;1\n");
    assert_eq!(load(&folder, "(edges: \"e.tsv\")").unwrap().node_names, None);
    let error = load(&folder, "(edges: \"e.tsv\", label: \"y\")").unwrap_err();
    assert!(error.contains("there is no table of nodes"), "{error}");
    folder.file("e.tsv", "u,v\n1,2\n1.0,3\n");
    let error = load(&folder, "(edges: \"e.tsv\")").unwrap_err();
    assert!(error.contains("the ids \"1\" and \"1.0\""), "{error}");
    folder.file("e.tsv", "u,v,weight\n1,2,0\n1,3,2\n");
    let notes = load(&folder, "(edges: \"e.tsv\")").unwrap().notes;
    assert!(
        notes.contains(&"1 edges have weight 0 and stay edges".to_owned()),
        "{notes:?}"
    );
}

/// As pandas writes frames with their index.
#[test]
fn an_index_without_a_name_is_the_id_of_a_node_and_nothing_of_an_edge() {
    let folder = Folder::new("tables-index");
    folder.file("n.csv", ",x\nb,1\na,2\n");
    folder.file("e.csv", ",u,v\n0,a,b\n");
    let set = load(&folder, "(nodes: \"n.csv\", edges: \"e.csv\")").unwrap();
    assert_eq!(set.node_names.as_deref().unwrap(), ["b", "a"]);
    assert_eq!(set.graph().n_edges(), 1);
    assert!(
        set.notes[0].contains("has no name and was read as their ids"),
        "{:?}",
        set.notes
    );
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let folder = example("tables-refused");
    let error = |nodes: &str, edges: &str, rest: &str| {
        folder.file("n.csv", nodes);
        folder.file("e.csv", edges);
        load(&folder, &format!("(nodes: \"n.csv\", edges: \"e.csv\"{rest})")).unwrap_err()
    };
    let refused = |error: String, words: &str| assert!(error.contains(words), "{error}");
    refused(
        error(NODES, "source,target\nann,dan\n", ""),
        "e.csv:2: column `target`: \"dan\" is no node of the table of nodes",
    );
    refused(error(NODES, "0,1\n1,2\n", ""), "the first line must name the columns");
    refused(
        error(NODES, "source,b,c\nann,cy,cy\n", ""),
        "the ends of edges are not found",
    );
    refused(
        error("id,x\na,1\na,2\n", EDGES, ""),
        "n.csv:3: column `id`: a second node with the id \"a\"",
    );
    refused(
        error("id,split\na,1\n", "u,v\na,a\n", ""),
        "expected train, valid, test or nothing, got \"1\"",
    );
    refused(error("id,client\na,\n", "u,v\na,a\n", ""), "node 0 has no client");
    refused(
        error(NODES, EDGES, ", label: \"klass\""),
        "there is no column `klass` (label); the header has id, label",
    );
    refused(
        error(NODES, EDGES, ", label: \"label\", targets: [\"price\"]"),
        "name one of `label`, `labels` and `targets`",
    );
    refused(
        error(NODES, "source,target,weight\nann,cy,heavy\n", ""),
        "expected a finite number, got \"heavy\"",
    );
    refused(error("id,y\na,0.5\n", "u,v\na,a\n", ""), "0.5 is a number to predict");
}
