//! That embeddings tell their client where each makes them with weights of its own, and do not
//! where all have the same.

use super::{graphs, number, play};
use folkmoot_engine::run::Outcome;
use folkmoot_gw_ldp::Params;

fn linked(embed_with: &str) -> Outcome {
    let settings = format!(
        "(inputs: Degree(most: 8), embed_with: {embed_with}, release: Plain, \
          training: (optimiser: Sgd(), learning_rate: 3.0, epochs: 5), protocol: (rounds: 5), \
          evaluation: (metrics: [Released, Clean, Size, ClientMajority], svm: Off, neighbours: [5], identity: Linked()))"
    );
    let params: Params = folkmoot_gw_ldp::only().settings(&settings).unwrap();
    play(&params, &graphs())
}

#[test]
fn a_clients_own_weights_tell_who_it_is_and_global_weights_do_not() {
    let (own, global) = (linked("Own"), linked("Global"));
    // Clients were dealt graphs at random, so a class says nothing of a client. Rows tell it where
    // distances between graphs, which do not see how rows lie, may not.
    assert!(number(&own, "link_auc_in_class") > 0.7, "{:?}", own.summary);
    assert!(
        number(&own, "link_top_1") > number(&own, "link_top_1_by_class") + 0.2,
        "{:?}",
        own.summary
    );
    assert!(
        (number(&global, "link_auc_in_class") - 0.5).abs() < 0.15,
        "{:?}",
        global.summary
    );
    assert!(number(&global, "link_top_1") < 0.4, "{:?}", global.summary);
    let near = number(&global, "same_client5") - number(&global, "same_client5_by_class");
    assert!(near.abs() < 0.08, "{:?}", global.summary);
    // What the graphs themselves say does not depend on who embeds them.
    for name in [
        "same_client5@size",
        "link_nearest_top_1@size",
        "accuracy@client_majority",
    ] {
        assert_eq!(number(&own, name), number(&global, name), "{name}");
    }
}
