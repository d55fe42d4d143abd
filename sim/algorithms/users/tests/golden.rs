//! Golden vectors: see `folkmoot_checks::golden`.
#![allow(clippy::unwrap_used, reason = "a vector that cannot be computed fails the test")]

#[path = "golden/users.rs"]
mod users;

use folkmoot_checks::golden::{self, Topics};

const TOPICS: &Topics = &[("users", users::check)];

#[test]
fn golden_vectors_agree() {
    golden::agree(TOPICS, env!("CARGO_MANIFEST_DIR"), |_| true);
}

#[test]
fn no_expected_value_is_decoration() {
    golden::every_value_counts(TOPICS, env!("CARGO_MANIFEST_DIR"), &[]);
}
