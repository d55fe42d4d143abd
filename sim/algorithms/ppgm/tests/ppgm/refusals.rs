//! What is refused, and with which words: settings, data that do not suit, and training that leaves
//! no numbers.

use super::{functions, one_each, params, system};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Properties};
use folkmoot_parts::Value;
use folkmoot_ppgm::Params;
use folkmoot_ppgm::options::{Convolution, Model};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

#[test]
fn data_that_do_not_suit_it_are_refused_with_the_way_out() {
    let refused = |dataset: Dataset, property: Option<&str>| {
        let mut params = params(Model::Ppgm);
        params.attack.property = property.map(str::to_owned);
        let dataset = Arc::new(dataset);
        let partition = one_each(&dataset);
        params
            .prepare(&Source::new(&dataset, &partition, Streams::new(1)))
            .err()
            .unwrap()
            .0
    };
    let whole = || functions(30, 1.0, 1).as_ref().clone();
    assert_eq!(
        refused(whole(), Some("compiler")),
        "Ppgm: attack.property: there is nothing to infer where all graphs of ControlFlow have one value of `compiler`, compiler 0; choose \
         another property, or leave it out for all of them together"
    );
    assert_eq!(
        refused(whole(), Some("linker")),
        "Ppgm: attack.property: ControlFlow has no property `linker`, only compiler, level; leave it out for all of them together"
    );
    let unlabelled = Dataset {
        graph_labels: None,
        ..whole()
    };
    assert!(refused(unlabelled, None).starts_with("Ppgm: pairs need graphs with classes, and ControlFlow has none"));
    let bare = Dataset {
        graph_properties: None,
        ..whole()
    };
    assert!(refused(bare, None).starts_with("Ppgm: the attack infers a property of graphs, and ControlFlow has none"));
    let few = functions(5, 1.0, 2).as_ref().clone();
    assert!(refused(few, None).contains("needs at least 10 classes, got 5"));
    let few = functions(12, 1.0, 2).as_ref().clone();
    let text = refused(few, None);
    assert!(
        text.starts_with("Ppgm: validation: pairs that do not match need graphs of 2 classes or more, got "),
        "{text}"
    );
    assert!(
        text.contains("graphs of 1; take a set of at least 16 classes"),
        "{text}"
    );
}

#[test]
fn every_broken_rule_is_named() {
    let mut params = Params::default();
    params.size.hidden = 2;
    params.size.heads = 3;
    params.form.dropout = 1.0;
    params.training.learning_rate = f64::NAN;
    params.attack.shadow = 0.0;
    params.deployment.patience_s = 0.0;
    let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(
        fields,
        [
            "size.hidden",
            "size.heads",
            "form.dropout",
            "training.learning_rate",
            "attack.shadow",
            "deployment.patience_s"
        ]
    );
}

/// Nothing to read and nobody who reads it are errors only where somebody is to read.
#[test]
fn an_attack_without_attackers_is_refused() {
    let mut params = Params::default();
    params.thorough.intercepts.clear();
    let attackers = &mut params.thorough.attackers;
    (attackers.trees, attackers.network) = (0, false);
    attackers.penalties.clear();
    attackers.neighbours.clear();
    assert_eq!(params.broken(), []);
    params.thorough.shadows = vec![0.1];
    let fields: Vec<String> = params.broken().into_iter().map(|broken| broken.path).collect();
    assert_eq!(fields, ["thorough.intercepts", "thorough.attackers"]);
}

/// Of two compilers one has functions of other sizes alone, which the reader leaves out; its value
/// is still in the list.
#[test]
fn a_property_without_two_values_among_the_graphs_is_refused() {
    let whole = functions(30, 1.0, 1).as_ref().clone();
    let n_graphs = whole.graphs.len();
    let values = ["O0", "O1"].map(|level| vec!["gcc".to_owned(), level.to_owned()]);
    let one_level = Dataset {
        graph_properties: Properties::new(&["compiler", "level"], values.to_vec(), vec![1; n_graphs]),
        ..whole
    };
    let refused = |property: Option<&str>| {
        let mut params = params(Model::Ppgm);
        params.attack.property = property.map(str::to_owned);
        let dataset = Arc::new(one_level.clone());
        params
            .prepare(&Source::new(&dataset, &one_each(&dataset), Streams::new(1)))
            .err()
            .unwrap()
            .0
    };
    assert_eq!(
        refused(None),
        "Ppgm: there is nothing to infer where all graphs of ControlFlow have one property, gcc O1; take graphs of more sizes or of \
         more binaries"
    );
    assert!(refused(Some("level")).contains("have one value of `level`, O1; choose another property"));
}

#[test]
fn training_that_leaves_no_number_ends_the_run_with_the_epoch() {
    let dataset = functions(30, 1.0, 2);
    let mut params = params(Model::Ppgm);
    params.form.convolution = Convolution::Gin;
    params.size.layers = 16;
    params.training.learning_rate = 10.0;
    params.training.epochs = 20;
    let system = system(&dataset, &params);
    let error = run(system.system(), &World::ideal(), 3, Options::default(), &mut Unobserved);
    let text = error.err().unwrap().to_string();
    assert!(
        text.contains("numbers that are not finite in epoch 1; lower training.learning_rate"),
        "{text}"
    );
    assert_eq!(system.train().diverged_in, Some(1));
}
