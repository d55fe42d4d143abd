use folkmoot_draws::SimRng;
use proptest::prelude::*;
use rand::SeedableRng;

use super::*;
use crate::readers::test_files::{Folder, real_data};

const OPTIONS: MoleculeOptions<'static> = MoleculeOptions {
    smiles: "smiles",
    tasks: Tasks::AllBut(&["id"]),
    split: None,
    refuse_invalid: false,
};

fn read(folder: &Folder, content: &str) -> Result<Dataset, DataError> {
    read_molecules("t", &folder.file("t.csv", content), &OPTIONS)
}

/// Exactly the columns that are marked as made of bonds change when a bond goes.
#[test]
fn columns_that_bonds_make_are_marked() {
    let folder = Folder::new("molecules-marks");
    let mut changed = std::collections::BTreeSet::new();
    for (whole, cut) in [
        ("CCO", "CC.O"),
        ("c1ccccc1", "C=CC=CC=C"),
        ("C1CC1", "CCC"),
        ("C=O", "C.O"),
        ("C#N", "CN"),
        ("[NH3+]CC", "[NH4+].CC"),
    ] {
        let of = |smiles: &str| {
            let dataset = read(&folder, &format!("id,active,smiles\na,1,{smiles}\n")).unwrap();
            let atoms = dataset.graphs[0].n_nodes() as u32;
            let Some(Features::Sparse(rows)) = &dataset.features else {
                panic!("atoms have features")
            };
            let columns: Vec<Vec<u32>> = (0..atoms).map(|atom| rows.row(atom).0.to_vec()).collect();
            (columns, dataset.structural_columns)
        };
        let ((whole, marked), (cut, _)) = (of(whole), of(cut));
        assert_eq!(marked, STRUCTURAL);
        for (before, after) in whole.iter().zip(&cut) {
            let (before, after) = (
                std::collections::BTreeSet::from_iter(before),
                std::collections::BTreeSet::from_iter(after),
            );
            for column in before.symmetric_difference(&after) {
                assert!(marked.iter().any(|range| range.contains(column)), "column {column}");
                changed.insert(**column);
            }
        }
    }
    for (what, columns) in [
        ("degree", 16..23),
        ("hydrogens", 29..35),
        ("hybridisation", 35..41),
        ("aromatic", 41..42),
        ("ring", 42..43),
    ] {
        assert!(
            changed.iter().any(|column| columns.contains(column)),
            "no {what} changed"
        );
    }
}

#[test]
fn quotes_crlf_and_missing_labels_are_understood() {
    let folder = Folder::new("molecules-small");
    let text = "\u{feff}id,\"toxic, acute\",active,smiles\r\n\"a, \"\"b\"\"\",1,,CCO\r\n\r\nc,,0.0,\"C=O\"\r\nd,0,1,[Na+].[Cl-]\r\n";
    let dataset = read(&folder, text).unwrap();
    let tasks = dataset.graph_tasks.as_ref().unwrap();
    assert_eq!(tasks.names(), ["toxic, acute", "active"]);
    assert_eq!(tasks.of(0), [Some(true), None]);
    assert_eq!(tasks.of(1), [None, Some(false)]);
    assert_eq!(tasks.of(2), [Some(false), Some(true)]);
    assert!(dataset.is_graph_level() && dataset.graph_labels.is_none());
    let sizes: Vec<_> = dataset
        .graphs
        .iter()
        .map(|graph| (graph.n_nodes(), graph.n_edges()))
        .collect();
    assert_eq!(sizes, [(3, 2), (2, 1), (2, 0)]);
    assert_eq!(dataset.edge_labels, Some(vec![0, 0, 0, 0, 1, 1]));
    assert_eq!(dataset.notes, ["2 labels are missing", "2 atoms have no bond"]);
    let rows = dataset.describe();
    let value = "active: 1 positive, 1 negative, 1 missing";
    assert!(rows.contains(&("task".to_string(), value.to_string())), "{rows:?}");
}

#[test]
fn features_are_one_hot_in_the_documented_columns() {
    let folder = Folder::new("molecules-features");
    let dataset = read(&folder, "smiles,y\nC[NH3+],1\nc1ccccc1,0\n[Pt+4],1\n").unwrap();
    let features = dataset.features.unwrap();
    assert_eq!(features.n_columns(), N_FEATURES as usize);
    let ones = |row: u32| {
        let Features::Sparse(rows) = &features else {
            panic!("sparse")
        };
        rows.row(row).0.to_vec()
    };
    assert_eq!(
        ones(0),
        [1, 17, 25, 32, 37],
        "C: one neighbour, no charge, three hydrogens, sp3"
    );
    assert_eq!(ones(1), [2, 17, 26, 32, 37], "N: charge 1");
    assert_eq!(ones(2), [1, 18, 25, 30, 36, 41, 42], "aromatic, in a ring");
    assert_eq!(
        ones(8)[..4],
        [15, 16, 28, 29],
        "platinum is another element, 4 another charge"
    );
    assert_eq!(dataset.graph_labels, Some(vec![1, 0, 1]));
}

#[test]
fn names_after_smiles_words_as_labels_and_other_separators_are_read_with_a_note() {
    let folder = Folder::new("molecules-words");
    let plain = read(&folder, "smiles,y\nCCO,0\nC=O,1\n").unwrap();
    for (text, note) in [
        (
            "smiles,y\nCCO ethanol,0\nC=O |$_AV:1$|,1\n",
            "2 SMILES have a name or an extension after them, which is not read",
        ),
        (
            "smiles,y\nCCO,inactive\nC=O,toxic\n",
            "labels inactive, toxic of the task y became 0 and 1",
        ),
        (
            "smiles\ty\nCCO\t-1\nC=O\t1\n",
            "labels -1, 1 of the task y became 0 and 1",
        ),
        (
            "smiles;y\rCCO;False\rC=O;True\r",
            "labels False, True of the task y became 0 and 1",
        ),
        (
            ",smiles,y\n0,CCO,0\n1,C=O,1\n",
            "column 1 has no name, as an index of pandas, and is no task",
        ),
    ] {
        let dataset = read(&folder, text).unwrap();
        assert_eq!(dataset.fingerprint(), plain.fingerprint(), "{text}");
        assert_eq!(dataset.notes, [note]);
    }
    for (text, words) in [
        (
            "smiles,y,weight\nCCO,0,46.07\nC=O,1,30.03\n",
            "t.csv:2: column `weight`: expected 0, 1 or nothing, or two other values, got \"46.07\"; for numbers to predict, write `targets: [\"weight\"]`",
        ),
        (
            "smiles,name\nCCO,a\nC=O,b\nCC,c\n",
            "t.csv:4: column `name`: expected 0, 1 or nothing, or two other values, got \"a\", \"b\", \"c\"; if the column is no task",
        ),
        (
            "smiles,set\nCCO,a\nC=O,a\n",
            "column `set` has one value, \"a\", and a task needs two; if the column is no task, name those that are: `tasks:",
        ),
    ] {
        let error = read(&folder, text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// The columns of ESOL's file that this reads, with values of our own.
#[test]
fn columns_of_numbers_are_targets() {
    let folder = Folder::new("molecules-numbers");
    let text = "smiles,name,solubility,weight\nCCO,a,1.1,46.07\nC(C)(C)(C)(C)C,b,9,9\nC=O,c,,30.03\n";
    let path = folder.file("t.csv", text);
    let options = MoleculeOptions {
        tasks: Tasks::Numbers(&["solubility", "weight"]),
        ..OPTIONS
    };
    let dataset = read_molecules("t", &path, &options).unwrap();
    let targets = dataset.targets.unwrap();
    assert!(targets.are_of_graphs());
    assert_eq!(targets.names(), ["solubility", "weight"]);
    assert_eq!(targets.of(0), [1.1, 46.07]);
    assert!(
        targets.of(1)[0].is_nan() && targets.of(1)[1] == 30.03,
        "{:?}",
        targets.of(1)
    );
    assert_eq!((dataset.graph_labels, dataset.n_classes), (None, 0));
    assert_eq!(
        dataset.notes,
        [
            "1 rows without a valid molecule were left out (lines 3)",
            "1 numbers to predict are missing"
        ]
    );
    let words = MoleculeOptions {
        tasks: Tasks::Numbers(&["name"]),
        ..OPTIONS
    };
    let error = read_molecules("t", &path, &words).unwrap_err().to_string();
    assert!(
        error.contains("t.csv:2: column `name`") && error.contains("\"a\""),
        "{error}"
    );
}

#[test]
fn invalid_rows_are_left_out_by_line_or_refused() {
    let folder = Folder::new("molecules-invalid");
    let text = "smiles,y\r\nCC,1\r\nC(C)(C)(C)(C)C,0\r\n\r\n\"C\",0\r\nC1CC,1\r\n";
    let dataset = read(&folder, text).unwrap();
    assert_eq!(dataset.graphs.len(), 2);
    assert_eq!(
        dataset.notes[0],
        "2 rows without a valid molecule were left out (lines 3, 6)"
    );
    assert_eq!(dataset.graph_labels, Some(vec![1, 0]));
    let path = folder.file("t.csv", text);
    let refuse = MoleculeOptions {
        refuse_invalid: true,
        ..OPTIONS
    };
    let error = read_molecules("t", &path, &refuse).unwrap_err().to_string();
    let expected = "t.csv:3: column `smiles`: the molecule is invalid: column 1: C has valence 5, but at most 4";
    assert!(error.contains(expected) && error.contains("`invalid: Skip`"), "{error}");
}

#[test]
fn damaged_tables_are_refused_with_line_and_column() {
    let folder = Folder::new("molecules-damaged");
    for (content, expected) in [
        ("", "t.csv: the file is empty"),
        ("\n\n", "the file holds no header"),
        ("smiles,y\n", "there is no row below the header"),
        ("smiles\nC\n", "there is no column of labels"),
        (
            "mol,y\nC,1\n",
            "t.csv:1: there is no column `smiles` (smiles); the header has mol, y",
        ),
        ("smiles,y,y\nC,1,1\n", "t.csv:1: two columns have the name \"y\""),
        (
            "smiles,y\nC,1\nC,2\nC,3\n",
            "t.csv:4: column `y`: expected 0, 1 or nothing, or two other values, got \"1\", \"2\", \"3\"; for numbers to predict, write `targets: [\"y\"]`; if the column is no task",
        ),
        ("smiles,y\nC\n", "t.csv:2: expected 2 fields as in the header, got 1"),
        (
            "smiles,y\nC,1\n\"C,1\n",
            "t.csv:3: expected 2 fields as in the header, got 1",
        ),
        (
            "smiles,y,fold\nCC,0,0\nCO,1,1\n",
            "the column `fold` is named as a split; name the tasks: `tasks: [\"…\"]`",
        ),
        (
            "smiles,y\nCQ,1\n",
            "no row holds a valid molecule; the first invalid one is on line 2",
        ),
    ] {
        let error = read(&folder, content).unwrap_err().to_string();
        assert!(error.contains(expected), "{content:?}: {error}");
    }
    let path = folder.file("t.csv", b"smiles,y\nC,1\n\xff,1\n");
    let error = read_molecules("t", &path, &OPTIONS).unwrap_err().to_string();
    assert!(error.contains("t.csv:3: column `smiles`: not a text"), "{error}");
    let split = MoleculeOptions {
        split: Some("y"),
        ..OPTIONS
    };
    let error = read_molecules("t", &folder.file("t.csv", "smiles,y\nC,1\n"), &split)
        .unwrap_err()
        .to_string();
    assert!(error.contains("expected Train, Valid or Test, got \"1\""), "{error}");
}

fn real(card: &str) -> Option<Dataset> {
    let spec: Molecules = ron::from_str(card).unwrap();
    let dirs = DataDirs::new().with("FOLKMOOT_DATA", real_data()?);
    Some(spec.load(&dirs, &mut SimRng::seed_from_u64(0)).unwrap())
}

/// Graphs, atoms, bonds, tasks and missing labels, as RDKit counts them.
#[track_caller]
fn counts(card: &str, expected: (usize, usize, usize, usize, usize)) -> Option<Dataset> {
    let dataset = real(card)?;
    let bonds: usize = dataset.graphs.iter().map(crate::Graph::n_edges).sum();
    let tasks = dataset.graph_tasks.as_ref().unwrap();
    let got = (
        dataset.graphs.len(),
        dataset.n_nodes(),
        bonds,
        tasks.n_tasks(),
        tasks.n_missing(),
    );
    assert_eq!(got, expected, "{card}");
    Some(dataset)
}

#[test]
fn bace_has_its_counts_and_its_published_split() {
    let Some(bace) = counts("(name: BACE, invalid: Refuse)", (1_513, 51_577, 55_768, 1, 0)) else {
        return;
    };
    assert_eq!(bace.graph_tasks.unwrap().counts(0), (691, 822));
    assert_eq!(bace.splits.unwrap().sizes(), (203, 45, 1_265));
    assert_eq!((bace.name.as_str(), bace.n_classes), ("BACE", 2));
}

#[test]
fn bbbp_leaves_out_the_rows_that_rdkit_refuses() {
    let Some(bbbp) = counts("(name: BBBP)", (2_039, 49_068, 52_921, 1, 0)) else {
        return;
    };
    let lines =
        "11 rows without a valid molecule were left out (lines 61, 63, 393, 616, 644, 647, 648, 649, 650, 651, 687)";
    assert_eq!(bbbp.notes[0], lines);
    assert_eq!(bbbp.graph_tasks.as_ref().unwrap().counts(0).0, 1_560);
    let cleaned = real("(name: BBBP, cleaned: true, invalid: Refuse)").unwrap();
    assert_eq!(cleaned.graphs, bbbp.graphs);
}

#[test]
fn sider_tox21_and_clintox_have_their_counts() {
    let Some(sider) = counts("(name: SIDER, invalid: Refuse)", (1_427, 48_006, 50_456, 27, 0)) else {
        return;
    };
    assert_eq!(sider.graphs.iter().filter(|graph| graph.n_edges() == 0).count(), 31);
    assert_eq!(sider.graphs.iter().map(crate::Graph::n_nodes).max(), Some(492));
    let tox21 = counts("(name: Tox21)", (7_823, 145_256, 150_901, 12, 16_012)).unwrap();
    let lines = "8 rows without a valid molecule were left out (lines 1324, 2292, 2299, 3560, 4567, 4651, 5540, 6725)";
    assert_eq!(tox21.notes[0], lines);
    let clintox = counts("(name: ClinTox)", (1_480, 38_846, 41_416, 2, 0)).unwrap();
    assert_eq!(
        clintox.notes[0],
        "4 rows without a valid molecule were left out (lines 9, 304, 1221, 1222)"
    );
    let cleaned = counts("(name: ClinTox, cleaned: true)", (1_478, 38_661, 41_209, 2, 0)).unwrap();
    let tasks = cleaned.graph_tasks.unwrap();
    assert_eq!((tasks.counts(0).0, tasks.counts(1).0), (1_384, 112));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_content_never_panics(content in "[smileC1,=\"\n\r0 ]{0,60}", bytes in proptest::collection::vec(any::<u8>(), 1..60)) {
        let folder = Folder::new("molecules-random");
        let _ = read(&folder, &content);
        let _ = read(&folder, &format!("smiles,y\n{content}"));
        let _ = read_molecules("t", &folder.file("t.csv", bytes), &OPTIONS);
    }
}
