//! What is measured of learning without a server.

use crate::classifier::error;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

const LIAN: &str = "Lian et al., NIPS 2017";

/// Of gossip; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Accuracy of each client's model over the items of all clients: mean over clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Clients),
    share(
        "worst_accuracy",
        "Accuracy of the worst client",
        "Accuracy of the worst client's model over the items of all clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Items),
    share(
        "mean_model_accuracy",
        "Accuracy of the mean model",
        "Accuracy of the mean of all models over the items of all clients; no client has this model.",
    )
    .scored(Answering::Mean, Asked::All, Weighed::Items),
    share(
        "average_precision",
        "Average precision",
        "Average precision of each client's model over the items of all clients: mean over clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Clients),
    share(
        "worst_average_precision",
        "Average precision of the worst client",
        "Average precision of the worst client's model over the items of all clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Items),
    share(
        "mean_model_average_precision",
        "Average precision of the mean model",
        "Average precision of the mean of all models over the items of all clients; no client has this model.",
    )
    .scored(Answering::Mean, Asked::All, Weighed::Items),
    error(
        "mae",
        "Mean absolute error",
        "Mean absolute error of each client's model over the items of all clients: mean over clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Clients),
    error(
        "worst_mae",
        "Mean absolute error of the worst client",
        "Mean absolute error of the worst client's model over the items of all clients.",
    )
    .scored(Answering::Own, Asked::All, Weighed::Items),
    error(
        "mean_model_mae",
        "Mean absolute error of the mean model",
        "Mean absolute error of the mean of all models over the items of all clients; no client has this model.",
    )
    .scored(Answering::Mean, Asked::All, Weighed::Items),
    Term::new(
        "consensus_distance",
        "Distance from consensus",
        Unit::Number,
        "Root mean square over clients of the Euclidean distance to the mean of all models.",
        LIAN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "spectral_gap",
        "Spectral gap",
        Unit::Number,
        "1 minus the worst-case contraction of the distance from consensus per exchange. For a fixed topology with Metropolis weights, 1 minus the second largest absolute eigenvalue of the mixing matrix. For changing topologies, of its mean square.",
        "L. Xiao and S. Boyd, Systems & Control Letters 53, 2004",
    )
    .higher(),
    Term::new(
        "link_bytes_most",
        "Bytes on the busiest link",
        Unit::Bytes,
        "Payload bytes delivered on the busiest directed link.",
        "",
    )
    .lower(),
    Term::new(
        "link_bytes_least",
        "Bytes on the least used link",
        Unit::Bytes,
        "Payload bytes delivered on the least used directed link, among links with traffic.",
        "",
    ),
    Term::new(
        "compression",
        "Compression of models",
        Unit::Number,
        "Compression ratio of models: uncompressed size divided by transmitted size.",
        "",
    )
    .from(0.0)
    .higher(),
    count(
        "missing_models",
        "Missing models",
        "Models or answers of neighbours that did not arrive in time; the client's own model took their weight.",
    ),
    count(
        "late_models",
        "Late models",
        "Models of neighbours that arrived after the client's round had ended, and were dropped.",
    ),
    count(
        "refused_models",
        "Refused models",
        "Models with non-finite values, which count as missing: training diverged at those clients.",
    ),
    count(
        "skipped_rounds",
        "Skipped rounds",
        "Rounds that clients missed because their neighbours continued without them.",
    ),
    count(
        "repeated_trainings",
        "Repeated trainings",
        "Trainings that a client restarted because the result was overdue.",
    ),
    count(
        "late_reports",
        "Late reports",
        "Reports that reached the evaluator after it had closed their round; the model counts in the next.",
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
