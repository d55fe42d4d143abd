//! How settings are read.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_ppgm::{Params, only};

#[test]
fn a_variant_sets_what_a_card_leaves_open_and_nothing_else() {
    let released = only()
        .settings::<Params>("(variant: AsReleased, form: (dropout: 0.5))")
        .unwrap();
    assert_eq!((released.form.feed_forward, released.form.dropout), (1024, 0.5));
}
