//! What is counted of training in rounds.

use folkmoot_engine::prelude::*;

/// Of every strategy that trains in rounds.
pub const TERMS: &[Term] = &[
    count(
        "refused_updates",
        "Refused updates",
        "Updates with values that are not finite, or beyond the fixed-point range of secure aggregation. They are excluded from aggregation.",
    ),
    count(
        "late_updates",
        "Late updates",
        "Updates that arrived after the end of their round and were dropped.",
    ),
    count(
        "lost_models",
        "Lost models",
        "Models that never reached their client.",
    ),
    count(
        "rounds_without_update",
        "Rounds without an update",
        "Rounds with too few updates, or with zero total weight, that left the model unchanged.",
    ),
    Term::new(
        "epsilon_training",
        "Epsilon of training",
        Unit::Number,
        "Privacy loss of training for the client with the largest, from Rényi DP accounting at the ledger's delta. The unit of privacy and the adversary are documented at protocol.private.",
        "",
    )
    .lower(),
    ratio(
        "compression_up",
        "Compression of updates",
        "Compression ratio of updates: uncompressed size divided by transmitted size. Additional instructions count at their transmitted size.",
    ),
    ratio(
        "compression_down",
        "Compression of models",
        "Compression ratio of models and control variates: uncompressed size divided by transmitted size. Other instructions count at their transmitted size.",
    ),
];

const fn ratio(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").higher()
}

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "").lower()
}
