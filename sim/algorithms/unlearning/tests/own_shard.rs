//! A client sees its own shard and what it is sent: see `folkmoot_checks`.

use folkmoot_checks::{data, holds};
use folkmoot_unlearning::{Params, only};

#[test]
fn in_unlearn() {
    let update: &[&str] = &["update"];
    holds::<Params>(
        &only(),
        data::parts,
        &[
            (
                "(forget: (clients: [1]), method: Retrain(), protocol: (rounds: 2))",
                update,
            ),
            (
                "(forget: (clients: [0], share: 0.5), method: Retrain(), protocol: (rounds: 2))",
                update,
            ),
            (
                "(forget: (clients: [1]), method: FedEraser(interval: 1), protocol: (rounds: 2))",
                update,
            ),
            (
                "(forget: (clients: [0], share: 0.5), method: Ascent(), protocol: (rounds: 2))",
                update,
            ),
            (
                "(forget: (clients: [1]), method: RapidRetrain(rounds: 2), protocol: (rounds: 2))",
                update,
            ),
            (
                "(forget: (clients: [1]), method: Shards(), protocol: (rounds: 2))",
                update,
            ),
        ],
    );
}
