//! What is measured of learning without a server.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

const LIAN: &str = "Lian et al., NIPS 2017";

/// Of gossip; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Share of all clients' items whose class a client's own model predicts, the mean over clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Clients),
    share(
        "worst_accuracy",
        "Accuracy of the worst client",
        "Share of all clients' items whose class a client's own model predicts, for the client that fares worst.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Items),
    share(
        "mean_model_accuracy",
        "Accuracy of the mean model",
        "Share of all clients' items whose class the mean of all models predicts; no client holds it.",
    )
    .scored(Answering::Mean, Asked::All, Weighed::Items),
    Term::new(
        "consensus_distance",
        "Distance from consensus",
        Unit::Number,
        "Root mean square over clients of the Euclidean distance of a client's model from the mean of all models.",
        LIAN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "spectral_gap",
        "Spectral gap",
        Unit::Number,
        "1 less the factor by which an exchange shrinks the distance from consensus at least: for one topology with weights of Metropolis, 1 \
         less the second largest absolute eigenvalue of the mixing matrix; over topologies that change, of the mean square.",
        "L. Xiao and S. Boyd, Systems & Control Letters 53, 2004",
    )
    .higher(),
    Term::new(
        "link_bytes_most",
        "Bytes on the busiest link",
        Unit::Bytes,
        "Bytes of payload that arrived along the link that carried most, one way.",
        "",
    )
    .lower(),
    Term::new(
        "link_bytes_least",
        "Bytes on the quietest link",
        Unit::Bytes,
        "Bytes of payload that arrived along the link that carried least of those that carried any, one way.",
        "",
    ),
    Term::new(
        "compression",
        "Compression of models",
        Unit::Number,
        "How many times larger models would be as they are, without the codec that packs them.",
        "",
    )
    .from(0.0)
    .higher(),
    count(
        "missing_models",
        "Missing models",
        "Models of neighbours, or answers, that a client waited for in vain; its own took their weight.",
    ),
    count(
        "late_models",
        "Late models",
        "Models of neighbours that came when their round was over for the client, and were dropped.",
    ),
    count(
        "refused_models",
        "Refused models",
        "Models with a number that is not finite, which count as missing; training has diverged at their clients.",
    ),
    count(
        "skipped_rounds",
        "Skipped rounds",
        "Rounds that clients were left out of, as their neighbours had gone on without them.",
    ),
    count(
        "repeated_trainings",
        "Repeated trainings",
        "Trainings that a client began again, as their result should long have been there.",
    ),
    count(
        "late_reports",
        "Late reports",
        "Reports that came to whoever measures when their round had ended there; the model counts in the next.",
    ),
];

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "").lower()
}

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .higher()
}
