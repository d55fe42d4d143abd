//! Items that are searched out of updates through a whole network, and where there is nothing to be
//! found.

use super::*;
use folkmoot_classifiers::attacks::{Classes, Distance, GradientSearch};

fn search() -> GradientSearch {
    GradientSearch {
        updates: 4,
        steps: 300,
        restarts: 2,
        learning_rate: 0.3,
        distance: Distance::Cosine,
        classes: Classes::Searched,
    }
}

/// Clients of ten nodes each make one step of a rate on one, or on such a share.
fn searched(search: GradientSearch, (share, rate): (f64, f64), model: Model, secure: Secure) -> Params {
    Params {
        attacks: vec![Chosen::new(search)],
        ..updates(share, (1, rate), model, secure)
    }
}

/// Error, and that of the mean row.
fn errors(outcome: &Outcome) -> [f64; 2] {
    ["search_error", "search_error@blind"].map(|name| number(outcome, name))
}

#[test]
fn one_step_on_one_node_is_searched_out_through_two_layers_and_a_head() {
    for distance in [Distance::Cosine, Distance::Squared] {
        for classes in [Classes::Searched, Classes::Known] {
            let search = GradientSearch {
                distance,
                classes,
                ..search()
            };
            let params = searched(search, (ONE_ITEM, 0.1), Model::default(), Secure::Off);
            let outcome = play_among(N_CLIENTS, &nodes(false), &params, 2);
            let ([error, blind], said) = (errors(&outcome), &outcome.summary);
            let other = number(&outcome, "search_error@other_client");
            assert!(
                error < 0.05 && blind > 0.8 && other > 0.8,
                "{distance:?} {classes:?}: {said:?}"
            );
            assert_eq!(number(&outcome, "search_recovered"), 1.0, "{said:?}");
            assert!(number(&outcome, "search_distance") < 1e-3, "{said:?}");
            if classes == Classes::Searched {
                assert_eq!(number(&outcome, "search_classes"), 1.0, "{said:?}");
            }
        }
    }
}

#[test]
fn a_search_says_the_same_on_any_number_of_threads() {
    let short = GradientSearch { steps: 20, ..search() };
    let params = searched(short, (0.5, 0.1), Model::default(), Secure::Off);
    let played = |threads| play_among(N_CLIENTS, &nodes(true), &params, threads).summary;
    assert_eq!(played(1), played(2));
}

#[test]
fn nothing_is_searched_out_of_masked_updates_or_of_such_as_tell_nothing() {
    for (rate, secure) in [(0.1, MASKED), (1e-30, Secure::Off)] {
        let params = searched(search(), (ONE_ITEM, rate), Model::default(), secure);
        let outcome = play_among(N_CLIENTS, &nodes(false), &params, 2);
        let [error, blind] = errors(&outcome);
        assert!(error > 0.9 * blind, "{:?}", outcome.summary);
        assert_eq!(number(&outcome, "search_recovered"), 0.0);
    }
}

#[test]
fn whoever_knows_the_graph_has_nothing_to_search_where_all_follows_from_it() {
    let mut params = searched(search(), (ONE_ITEM, 0.1), Model::default(), Secure::Off);
    params.inputs = Inputs::Degree { most: 4 };
    let why = refused(&params);
    assert!(why.contains("attacks.0") && why.contains("inputs: Intrinsic"), "{why}");
    // Some columns of the data set may be computed from edges, too.
    params.inputs = Inputs::Features;
    let mut structural = Dataset::clone(&nodes(true));
    structural.structural_columns.push(0..1);
    assert_eq!(refused_on(structural.clone(), &params), why);
    params.inputs = Inputs::Intrinsic;
    play(&Arc::new(structural), &params, 1);
}
