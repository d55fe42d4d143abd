//! A client sees its own shard and what it is sent: see `folkmoot_checks`.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::{Change, check, data, holds, play};
use folkmoot_fgcl::{Params, only};

#[test]
fn in_fgcl() {
    let (update, masked): (&[&str], &[&str]) = (&["update"], &["keys", "shares", "masked_update"]);
    holds::<Params>(
        &only(),
        data::graphs,
        &[
            ("(setting: Federated, protocol: (rounds: 2))", update),
            (
                "(setting: FgclWithoutNoise, split: Published, protocol: (rounds: 2))",
                update,
            ),
            (
                "(setting: Noise(epsilon: 1), draws: PerEntry, protocol: (rounds: 2))",
                update,
            ),
            ("(variant: AsPublished, protocol: (rounds: 2))", update),
            (
                "(variant: AsReleased, contrast: (queue: 4, order: Lifo), protocol: (rounds: 2))",
                update,
            ),
            (
                "(variant: Corrected, supervised: FirstView, protocol: (rounds: 2))",
                update,
            ),
            ("(protocol: (rounds: 2, secure: Pairwise()))", masked),
        ],
    );
}

/// The arm of FGCL's table without a federation: its first client holds every training graph, which
/// is its shard by the setting's name.
#[test]
fn in_fgcls_centralised_setting_the_first_client_holds_all() {
    let params: Params = only()
        .settings("(setting: Centralised, protocol: (rounds: 1))")
        .unwrap();
    let two = data::graphs(Change::everything(101));
    let told = check(&params, &two).unwrap_err();
    assert!(told.contains("client 0 tells") && told.contains("update"), "{told}");
    assert!(
        play(&params, &two.one, &two.partition).trusted.is_some(),
        "it is declared"
    );
}
