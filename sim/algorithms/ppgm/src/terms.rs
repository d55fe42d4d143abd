//! What is measured of PPGM: what its similarity is worth, what matches cost, and what messages
//! give away.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of PPGM, trained in one place or over clients.
pub(super) const TERMS: &[Term] = &[
    share(
        "similarity_auc",
        "ROC AUC of similarity",
        "Probability that a pair of graphs that match scores above one that does not; 0.5 is a coin.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "similarity_auc_distinct",
        "ROC AUC of similarity, unlike pairs",
        "The same without the pairs whose two graphs are equal.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    count("pairs_alike", "Pairs alike", "Test pairs whose two graphs are equal."),
    share(
        "auc",
        "ROC AUC",
        "Probability that a pair of graphs that match scores above one that does not; 0.5 is a coin.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean squared error over the training pairs of an epoch, while they were learned from.",
        "",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "mse",
        "Mean squared error",
        Unit::Number,
        "Mean squared difference of the predicted and the true similarity exp(-edit distance).",
        "",
    )
    .from(0.0)
    .lower()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    rank(
        "spearman",
        "Rank correlation",
        "Spearman's correlation of predicted and true ranks, the mean over queries.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    rank(
        "kendall",
        "Rank agreement",
        "Kendall's tau of predicted and true ranks, the mean over queries.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "precision_at_*",
        "Precision at *",
        "Share of the * graphs nearest by prediction that truly are among the * nearest.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "chosen_epoch",
        "Chosen epoch",
        Unit::Number,
        "Epoch after which the model was best on validation pairs; 0 is the model before training.",
        "",
    )
    .from(0.0),
    count("parameters", "Parameters", "Numbers that the model learns."),
    count("clients_with_pairs", "Clients with pairs", "Clients that hold graphs of two classes and so can train."),
    share(
        "attack_auc",
        "ROC AUC of the property",
        "Attack: mean area under the ROC curve of a property of a graph guessed from what is intercepted; 0.5 is a coin.",
    )
    .lower().attack_beside(0.5),
    share(
        "attack_auc_*",
        "ROC AUC of the property from *",
        "Attack: the same by whoever intercepts `*`: g to the other client, o to the service, or both.",
    )
    .lower().attack_beside(0.5),
    share(
        "structure_auc",
        "ROC AUC of arcs from messages",
        "Attack: probability that an arc of a graph ranks above another pair of nodes by the rows of its message.",
    )
    .lower().attack_beside(0.5),
    share(
        "leak_auc",
        "ROC AUC of the property, strongest attacker",
        "Attack: area under the ROC curve of the property by the attacker that is best on graphs it knows.",
    )
    .lower().attack_beside(0.5),
    share(
        "leak_auc_*",
        "ROC AUC of the property, strongest attacker, *",
        "Attack: the same from `*`, `of` a part of the property, or `with` a partner whom all graphs meet.",
    )
    .lower().attack_beside(0.5),
    share(
        "decoded_arcs_auc",
        "ROC AUC of decoded arcs",
        "Attack: area under the ROC curve of arcs decoded from pairs of rows of a message, or from a vector and two places.",
    )
    .lower().attack_beside(0.5),
    share(
        "decoded_features_auc",
        "ROC AUC of decoded features",
        "Attack: area under the ROC curve of the quarter of each feature decoded from a row, or from a vector and a place, the mean.",
    )
    .lower().attack_beside(0.5),
    share(
        "*_top_1",
        "Found at once, *",
        "Attack: share of the queries whose nearest message is the one looked for: the same graph (link) or class (find).",
    )
    .lower().attack(),
    share(
        "*_mrr",
        "Mean reciprocal rank, *",
        "Attack: mean over queries of one over the rank at which the message looked for is found.",
    )
    .lower().attack(),
    count("*_queries", "Queries, *", "Queries that have something to be found."),
    count("matches_begun", "Matches begun", "Matches that a client invited another to."),
    count("matches_scored", "Matches scored", "Matches that came to a score.").higher(),
    count("matches_lost", "Matches lost", "Matches that never came to a score.").lower(),
    Term::new(
        "share_lost",
        "Matches lost",
        Unit::Share,
        "Share of the matches that never came to a score.",
        "",
    )
    .lower(),
    count("exchanges_repeated", "Exchanges repeated", "Messages that were asked for again.").lower(),
    count(
        "invitations_declined",
        "Invitations declined",
        "Invitations that the other client could not take up.",
    )
    .lower(),
    latency("score_latency_median_s", "Latency of a score, median", "Virtual time from invitation to score, the median."),
    latency(
        "score_latency_p99_s",
        "Latency of a score, 99th percentile",
        "Virtual time from invitation to score that 99 of 100 do not exceed.",
    ),
    count(
        "scores_unlike_in_memory",
        "Scores unlike those in memory",
        "Scores whose bits differ from the same model run in one place: 0, or the messages lack something.",
    )
    .lower(),
];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0)
}

const fn rank(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(-1.0)
        .up_to(1.0)
        .higher()
}

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "")
}

const fn latency(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Seconds, about, "").lower()
}
