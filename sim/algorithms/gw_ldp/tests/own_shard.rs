//! A client sees its own shard and what it is sent: see `folkmoot_checks`.

use folkmoot_checks::{data, holds};
use folkmoot_gw_ldp::{Params, only};

#[test]
fn in_gw_ldp() {
    let both: &[&str] = &["embeddings", "update"];
    holds::<Params>(
        &only(),
        data::graphs,
        &[
            ("(protocol: (rounds: 1))", both),
            ("(variant: AsReleased, protocol: (rounds: 1))", both),
            (
                "(variant: Corrected, representation: HiddenSoftmax, protocol: (rounds: 1))",
                both,
            ),
            ("(release: Plain, collect: Every(1), protocol: (rounds: 2))", both),
            (
                "(collect: Every(1), protocol: (rounds: 3, aggregation: Buffered(size: 2)))",
                both,
            ),
            (
                "(protocol: (rounds: 1, secure: Pairwise()))",
                &["keys", "shares", "embeddings", "masked_update"],
            ),
            ("(node_weights: Degree, protocol: (rounds: 1))", both),
            // The first model tells of what others hold.
            ("(scale: Federated, protocol: (rounds: 2))", &["statistics"]),
            (
                "(scale: Federated, protocol: (rounds: 2, secure: Pairwise()))",
                &["keys", "shares", "masked_update", "unmasking"],
            ),
        ],
    );
}
