//! How settings are read.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_scenarios::algorithm::Algorithm;
use folkmoot_scenarios::explain::{Found, explain};
use folkmoot_subgraphs::{ada_fgl, fed_gcn, fed_sage, only};

fn private(more: &str) -> String {
    format!("({more} protocol: (weighting: Uniform, private: Clients(noise_multiplier: 0)))")
}

#[test]
fn whole_clients_cannot_be_hidden_where_more_than_a_model_is_told() {
    fn refused<P: Algorithm>(more: &str, words: &str) {
        let said = only().settings::<P>(&private(more)).err().unwrap().to_string();
        assert!(said.contains("protocol.private") && said.contains(words), "{said}");
    }
    refused::<fed_gcn::Params>("", "rows and sums");
    refused::<fed_sage::Params>("generator: Trained(),", "generators, embeddings and gradients");
    assert!(only().settings::<fed_gcn::Params>(&private("hops: 0,")).is_ok());
    assert!(only().settings::<fed_sage::Params>(&private("generator: Off,")).is_ok());
    assert!(only().settings::<ada_fgl::Params>(&private("")).is_ok());
}

#[test]
fn a_default_is_that_of_the_place() {
    match explain("FedSage.model.hidden", &only()).unwrap().remove(0) {
        Found::Field { field, .. } => assert_eq!(field.default.unwrap(), "64"),
        other => panic!("{other:?}"),
    }
}
