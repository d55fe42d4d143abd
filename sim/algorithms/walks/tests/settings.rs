//! How the settings of FedWalk are read, and what is said of its numbers and messages.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_engine::prelude::Direction;
use folkmoot_scenarios::explain::explain;
use folkmoot_scenarios::glossary::{Word, look_up, unknown};
use folkmoot_walks::fedwalk::{self, Rows};
use folkmoot_walks::only;

#[test]
fn a_variant_sets_what_a_card_leaves_open_and_nothing_else() {
    let registry = only();
    let read = |text: &str| registry.settings::<fedwalk::Params>(text).unwrap();
    let open = |params: &fedwalk::Params| (params.m_upload, params.rows, params.encoder.text().to_owned());
    let printed = (true, Rows::All, "AsPublished".to_owned());
    for text in ["()", "(variant: AsPublished)", "(variant: AsReleased)"] {
        assert_eq!(open(&read(text)), printed, "{text}");
    }
    let corrected = (false, Rows::OnRequest, "RandomisedResponse".to_owned());
    assert_eq!(open(&read("(variant: Corrected)")), corrected);
    assert_eq!(read("(variant: Corrected, rows: All)").rows, Rows::All);
    let both = read("(epsilon: 0.5, epsilon_encoder: 3.0)");
    assert_eq!(
        (both.epsilon_degree, both.epsilon_encoder),
        (0.5, 3.0),
        "one's own value counts first"
    );
}

#[test]
fn messages_and_numbers_are_explained() {
    let registry = only();
    let look = |name: &str| look_up(name, &registry);
    let [Word::Message(Direction::Peer, walk, "FedWalk")] = look("walk")[..] else {
        panic!()
    };
    assert_eq!((walk.about, walk.payload), ("B2: a walk to continue.", "`walk: Walk`"));
    assert!(matches!(&look("walk_messages")[..], [Word::Number(_, of)] if of == &["FedWalk"]));
    assert_eq!(
        explain("strategy.walk_length", &registry).unwrap().len(),
        2,
        "of DeepWalk, too"
    );
    let says = |of: &[&str]| {
        let of: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
        unknown("walks_completed", &of, &registry)
    };
    assert_eq!(says(&["DeepWalk", "FedWalk"]), None);
    assert!(says(&["DeepWalk"]).is_some());
}
