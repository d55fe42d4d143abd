//! Files of one's own: what their readers say on the screen, and what algorithms do not read.

use crate::support::{TempDir, run_args};
use crate::trials::trials;

const ONE_BASED: &str = "1 2\n2 3\n3 1\n3 4\n";
const LABELS: &str = "1 0\n2 1\n3 0\n4 1\n";
const START: &str = "note: edges: ids start at 1, so node 0 was added without edges; set `first_id: 1`";

#[test]
fn notes_of_readers_are_on_the_screen_once_for_each_data_set() {
    let temp = TempDir::new();
    temp.write("data/edges.txt", ONE_BASED);
    temp.write("data/labels.txt", LABELS);
    let card = |sweep: &str| {
        format!(
            "(dataset: EdgeList(edges: \"edges.txt\", labels: \"labels.txt\"), partition: Iid(n_clients: 2), \
             strategy: FedAvg(inputs: Degree(), protocol: (rounds: 1)){sweep})"
        )
    };
    temp.write("c.ron", card(""));
    let arms = ", sweep: (seeds: [1, 2], axes: {\"strategy.training.epochs\": [1, 2]})";
    temp.write("s.ron", card(arms));
    let n_notes = |args: &[&str]| {
        let ended = temp.run(args);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        ended.stderr.matches(START).count()
    };
    assert_eq!(n_notes(&["run", "c.ron", "--out", "a"]), 1);
    assert_eq!(n_notes(&["run", "c.ron", "--out", "b", "--quiet"]), 0);
    assert_eq!(n_notes(&["sweep", "s.ron", "--out", "c"]), 1);
    assert_eq!(n_notes(&["sweep", "s.ron", "--out", "d", "--quiet"]), 0);
    let checked = temp.run(&["check", "c.ron"]);
    assert!(
        checked.stderr.contains("note: c.ron: edges: ids start at 1"),
        "{checked:#?}"
    );
    let described = temp.run(&["data", "describe", "EdgeList(edges: \"edges.txt\")"]).done();
    assert!(described.contains("ids start at 1"), "{described}");
    let right = temp.run(&["run", "c.ron", "--set", "dataset.first_id=1", "--out", "e"]);
    assert!(!right.stderr.contains("note:"), "{right:#?}");
}

#[test]
fn check_reads_the_files_of_a_card_where_they_are() {
    let temp = TempDir::new();
    temp.write("c.ron", "(dataset: EdgeList(edges: \"edges.txt\"), strategy: FedAvg())");
    let missing = temp.run(&["check", "c.ron"]);
    assert_eq!(missing.code, Some(0), "{missing:#?}");
    assert!(
        missing
            .stderr
            .contains("edges.txt was not found, so the data are not checked"),
        "{missing:#?}"
    );
    temp.write("elsewhere/edges.txt", "graph [\n]\n");
    temp.run(&["check", "c.ron", "--data", "elsewhere"])
        .refused(&["edges.txt: a GML file"]);
}

#[test]
fn edge_weights_are_refused_by_what_does_not_read_them() {
    let temp = TempDir::new();
    temp.write("data/edges.txt", "0 1 1000\n1 2 0.001\n2 0 1\n2 3 1\n");
    temp.write("data/labels.txt", "0 0\n1 0\n2 1\n3 1\n");
    let weighted = "dataset=EdgeList(edges: \"edges.txt\", labels: \"labels.txt\", weighted: true)";
    for trial in trials(|file| &file.unweighted) {
        let args = [&["run", "--out", "out", "--set", weighted], trial.args().as_slice()].concat();
        let ended = temp.run(&args);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(ended.stderr.contains("weight"), "{ended:#?}");
    }
    temp.write("data/edges.txt", "0 1 1\n1 2 1\n2 0 1\n2 3 1\n");
    temp.write(
        "c.ron",
        "(dataset: EdgeList(edges: \"edges.txt\", labels: \"labels.txt\", weighted: true), partition: Iid(n_clients: 2), \
         strategy: FedAvg(inputs: Degree(), model: (encoder: Gat()), protocol: (rounds: 1)))",
    );
    temp.run(&run_args(&["c.ron"], "out", &[])).done();
}

#[test]
fn a_table_with_several_tasks_or_missing_labels_is_learned_but_not_skewed() {
    let temp = TempDir::new();
    temp.write("data/t.csv", "smiles,a,b\nCO,0,1\nCCO,1,\nCCC,0,0\nCC,1,1\n");
    let run = |dataset: &str, partition: &str| {
        let card = format!("(dataset: {dataset}, partition: {partition}, strategy: FedAvg(protocol: (rounds: 1)))");
        temp.write("c.ron", card);
        temp.run(&["run", "c.ron", "--out", "out"])
    };
    let (both, one) = (
        "MoleculeTable(path: \"t.csv\")",
        "MoleculeTable(path: \"t.csv\", tasks: [\"b\"])",
    );
    for dataset in [both, one] {
        run(dataset, "LabelSkew(n_clients: 2)").refused(&["LabelSkew needs labels that are classes", "use Iid"]);
    }
    let learned = run(both, "Iid(n_clients: 2)");
    assert_eq!(learned.code, Some(0), "{learned:#?}");
}

/// Files as people have them, each read rightly or refused with the name of its format: the list is
/// `tests/data/cases.csv`.
#[test]
fn files_as_people_have_them_are_read_or_refused_by_name() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut cases = csv::Reader::from_path(format!("{data}/cases.csv")).unwrap();
    let mut n = 0;
    for case in cases.records() {
        let case = case.unwrap();
        let (dataset, code, words) = (&case[0], case[1].parse().unwrap(), &case[2]);
        let ended = TempDir::new().run(&["data", "describe", dataset, "--data", data]);
        // Columns are padded.
        let said = format!("{}\n{}", ended.stdout, ended.stderr);
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(ended.code, Some(code), "{dataset}: {said:?}");
        assert!(said.join(" ").contains(words), "{dataset}: no {words:?} in {said:?}");
        n += 1;
    }
    assert!(n > 30);
}
