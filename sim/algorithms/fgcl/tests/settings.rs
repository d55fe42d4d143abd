//! How settings are read, and what is said of numbers.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_fgcl::{Params, only};
use folkmoot_scenarios::glossary::unknown;

#[test]
fn whole_clients_cannot_be_hidden_where_views_are_told() {
    let text = "(protocol: (weighting: Uniform, private: Clients(noise_multiplier: 0)))";
    let said = only().settings::<Params>(text).unwrap_err().to_string();
    assert!(said.contains("protocol.private") && said.contains("views"), "{said}");
}

#[test]
fn a_number_that_it_does_not_have_is_unknown() {
    let says = |metric: &str| unknown(metric, &["Fgcl".to_owned()], &only());
    assert_eq!(says("test_roc_auc"), None);
    assert!(says("tset_roc_auc").unwrap().ends_with("did you mean `test_roc_auc`?"));
}
