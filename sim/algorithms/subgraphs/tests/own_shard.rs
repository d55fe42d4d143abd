//! A client sees its own shard and what it is sent: see `folkmoot_checks`.

use folkmoot_checks::{data, holds};
use folkmoot_subgraphs::{ada_fgl, fed_gcn, fed_sage, only};

#[test]
fn in_fed_gcn() {
    let up: &[&str] = &["rows"];
    // Nothing takes time before the sums come, so that a client is asked to unmask, and asks for
    // its sums, at the same instant in both.
    let masked: &[&str] = &["keys", "shares", "masked_update", "unmasking", "rows"];
    holds::<fed_gcn::Params>(
        &only(),
        data::parts,
        &[
            ("(hops: 1, protocol: (rounds: 2))", up),
            ("(hops: 2, protocol: (rounds: 2))", up),
            ("(upload: Border, protocol: (rounds: 2))", up),
            ("(upload: Dense, weights: Plain, protocol: (rounds: 2))", up),
            ("(carries: Features, protocol: (rounds: 2))", up),
            ("(between: Peers, protocol: (rounds: 2))", up),
            ("(protocol: (rounds: 2, secure: Pairwise()))", masked),
        ],
    );
}

#[test]
fn in_ada_fgl() {
    holds::<ada_fgl::Params>(
        &only(),
        data::parts,
        &[("(personal: (epochs: 2), protocol: (rounds: 2))", &["update"][..])],
    );
}

#[test]
fn in_fed_sage() {
    let small = "(generator: Trained(encoder_hidden: 3, latent: 3, first_width: 4, second_width: 4, epochs: 2, steps: 2), protocol: (rounds: 2))";
    let alone = "(generator: Trained(encoder_hidden: 3, latent: 3, first_width: 4, second_width: 4, epochs: 2, steps: 0), protocol: (rounds: 2))";
    holds::<fed_sage::Params>(
        &only(),
        data::parts,
        &[
            ("(protocol: (rounds: 2))", &["update"][..]),
            (small, &["generator"]),
            (alone, &["ready", "update"]),
        ],
    );
}
