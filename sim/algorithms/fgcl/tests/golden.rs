//! Golden vectors: see `folkmoot_checks::golden`.
#![allow(clippy::unwrap_used, reason = "a vector that cannot be computed fails the test")]

#[path = "golden/edge_guesses.rs"]
mod edge_guesses;
#[path = "golden/system_fgcl.rs"]
mod system_fgcl;

use folkmoot_checks::golden::{self, Topics};

const TOPICS: &Topics = &[
    ("edge_guesses", edge_guesses::check),
    ("system_fgcl", system_fgcl::check),
];

#[test]
fn golden_vectors_agree() {
    golden::agree(TOPICS, env!("CARGO_MANIFEST_DIR"), |_| true);
}

#[test]
fn no_expected_value_is_decoration() {
    golden::every_value_counts(TOPICS, env!("CARGO_MANIFEST_DIR"), &[]);
}
