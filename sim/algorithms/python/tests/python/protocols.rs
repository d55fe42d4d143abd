//! What rounds do to a training, they do to one in Python.

use super::{SOFTMAX, desk, hash};

/// Protocols that clients' updates go through.
const PROTOCOLS: [(&str, &[&str]); 7] = [
    (
        "codec",
        &[
            "strategy.protocol.uplink_codec=TopK(share: 0.2)",
            "strategy.protocol.downlink_codec=Half()",
        ],
    ),
    ("quantised", &["strategy.protocol.uplink_codec=Qsgd(levels: 15)"]),
    (
        "private",
        &[
            "strategy.protocol.private=Clients(clip: 1.0)",
            "strategy.protocol.weighting=Uniform",
        ],
    ),
    ("secure", &["strategy.protocol.secure=Pairwise()"]),
    (
        "fed_buff",
        &["strategy.protocol.aggregation=Buffered(size: 2)", "cohort=Size(n: 3)"],
    ),
    (
        "fed_async",
        &["strategy.protocol.aggregation=Mixed()", "cohort=Size(n: 3)"],
    ),
    (
        "robust",
        &[
            "strategy.protocol.aggregator=Median()",
            "strategy.protocol.server_optimizer=Adam()",
            "dropout=(prob: 0.2)",
        ],
    ),
];

#[test]
fn every_protocol_gives_the_same_bytes_on_any_number_of_workers_and_after_a_stop() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let mut hashes = vec![hash(&desk.whole("plain", &[]))];
    for (name, settings) in PROTOCOLS {
        let one = [settings, &["strategy.workers=1"]].concat();
        let two = [settings, &["strategy.workers=2"]].concat();
        let run = desk
            .go(&format!("{name}-1"), &one, (1, None))
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let stopped = desk
            .go(&format!("{name}-2"), &two, (2, Some(2)))
            .unwrap_err()
            .to_string();
        assert!(stopped.starts_with("stopped as asked"), "{name}: {stopped}");
        let resumed = desk.go(&format!("{name}-2"), &two, (2, None)).unwrap();
        assert_eq!(hash(&run), hash(&resumed), "{name}");
        assert!(run.summary["test_accuracy"] > 0.2, "{name}");
        hashes.push(hash(&run));
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(
        hashes.len(),
        PROTOCOLS.len() + 1,
        "each protocol has results of its own"
    );
}

#[test]
fn bytes_are_those_of_the_model_that_travels() {
    let Some(desk) = desk(SOFTMAX) else { return };
    let run = desk.whole("run", &[]);
    // A weight of 12 by 3 and 3 biases, and the number of samples.
    let sent = run.summary["update_messages"];
    assert_eq!(run.summary["update_payload_bytes"], sent * (4.0 * 39.0 + 4.0));
    assert_eq!(
        run.summary["model_payload_bytes"],
        run.summary["model_messages"] * 4.0 * 39.0
    );
}
