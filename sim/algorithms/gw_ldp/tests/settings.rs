//! How settings are read: defaults of a place, variants, and what a fault says.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_classifiers::classifier::LocalOptimiser;
use folkmoot_gw_ldp::{Params, only};
use folkmoot_parts::lines_of;
use folkmoot_scenarios::explain::{Found, explain};
use folkmoot_scenarios::glossary::{Word, look_up, unknown};

#[test]
fn a_group_written_in_part_keeps_the_other_defaults_of_its_place() {
    let registry = only();
    let read = |text: &str| registry.settings::<Params>(text).unwrap();
    let default = Params::default();
    for text in ["()", "(training: ())", "(training: (), protocol: (), model: ())"] {
        assert_eq!(read(text), default, "{text}");
    }
    let mut expected = default.clone();
    expected.training.epochs = 7;
    expected.protocol.min_updates = 2;
    assert_eq!(read("(training: (epochs: 7), protocol: (min_updates: 2))"), expected);
    expected.training.optimiser = LocalOptimiser::AdamW;
    let own = "(training: (epochs: 7, optimiser: AdamW), protocol: (min_updates: 2))";
    assert_eq!(read(own), expected, "one's own value counts first");
}

#[test]
fn what_is_resolved_reads_as_the_same_again() {
    for text in ["()", "(variant: AsReleased)", "(variant: Corrected, release: Plain)"] {
        let params = only().settings::<Params>(text).unwrap();
        assert_eq!(only().settings::<Params>(&lines_of(&params)).unwrap(), params, "{text}");
    }
}

#[test]
fn what_a_variant_lays_as_a_whole_gives_way_as_a_whole() {
    let released = only()
        .settings::<Params>("(variant: AsReleased, model: (layers: 1))")
        .unwrap();
    assert_eq!((released.model.hidden, released.model.layers), (16, 1));
}

#[test]
fn a_fault_of_what_a_variant_lays_bears_its_name() {
    let problems = only()
        .settings::<Params>("(variant: AsReleased, release: MultiBit())")
        .unwrap_err();
    assert!(
        problems
            .to_string()
            .contains("release: must not be MultiBit() for unbounded rows"),
        "{problems}"
    );
}

#[test]
fn a_default_is_that_of_the_place() {
    let default = |path: &str| match explain(path, &only()).unwrap().remove(0) {
        Found::Field { field, .. } => field.default.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(default("GwLdp.training.optimiser"), "Adam");
    assert_ne!(default("FedAvg.training.optimiser"), "Adam");
}

#[test]
fn clients_are_not_scored_one_by_one() {
    assert!(unknown("test_own_worst_tenth", &["GwLdp".to_owned()], &only()).is_some());
}

#[test]
fn whole_clients_cannot_be_hidden_where_embeddings_are_told() {
    let text = "(inputs: Degree(most: 8), protocol: (weighting: Uniform, private: Clients(noise_multiplier: 0)))";
    let said = only().settings::<Params>(text).unwrap_err().to_string();
    assert!(
        said.contains("protocol.private") && said.contains("embeddings of their graphs"),
        "{said}"
    );
}

/// Tables whose names differ by metric are found by each of these names, and columns too.
#[test]
fn tables_of_artifacts_are_found_by_their_patterns() {
    let registry = only();
    let files = |name: &str| {
        let file = |word| match word {
            Word::Table(file, _) | Word::Column(file, _) => file,
            other => panic!("{other:?}"),
        };
        look_up(name, &registry).into_iter().map(file).collect::<Vec<String>>()
    };
    assert_eq!(files("artifacts/map*.csv"), ["artifacts/map*.csv"]);
    assert_eq!(files("map_clean.csv"), ["artifacts/map*.csv"]);
    assert_eq!(files("cluster_clean"), ["artifacts/graphs.csv"]);
}
