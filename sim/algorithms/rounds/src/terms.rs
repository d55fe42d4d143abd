//! What is counted of training in rounds.

use folkmoot_engine::prelude::*;

/// Of every strategy that trains in rounds.
pub const TERMS: &[Term] = &[
    count(
        "refused_updates",
        "Refused updates",
        "Updates with a number that is not finite, which take no part; training has diverged at their clients.",
    ),
    count(
        "late_updates",
        "Late updates",
        "Updates that came after their round had ended, and were dropped.",
    ),
    count(
        "lost_models",
        "Lost models",
        "Models that never reached the client they were for.",
    ),
    count(
        "rounds_without_update",
        "Rounds without an update",
        "Rounds in which too few updates came, or none with any weight, so that the model stayed as it was.",
    ),
    Term::new(
        "epsilon_training",
        "Epsilon of the training",
        Unit::Number,
        "What the noise of protocol.private has cost the client who paid most, by Rényi divergences at the ledger's delta; whom it protects from whom \
         is said there.",
        "",
    )
    .lower(),
    ratio(
        "compression_up",
        "Compression of updates",
        "How many times larger updates would be as they are; an order's bytes count as packed ones.",
    ),
    ratio(
        "compression_down",
        "Compression of models",
        "How many times larger models would be as they are, and control variates in front of them; the bytes of another order count as packed ones.",
    ),
];

const fn ratio(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").higher()
}

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "").lower()
}
