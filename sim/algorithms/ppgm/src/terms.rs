//! What is measured of PPGM: what its similarity is worth, what matches cost, and what messages
//! give away.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of PPGM, trained in one place or over clients.
pub(super) const TERMS: &[Term] = &[
    share(
        "similarity_auc",
        "ROC AUC of similarity",
        "Probability that a matching pair of graphs scores above a non-matching pair; 0.5 is chance.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "similarity_auc_distinct",
        "ROC AUC of similarity, distinct pairs",
        "ROC AUC of similarity without pairs of identical graphs.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    count("pairs_alike", "Identical pairs", "Test pairs of identical graphs."),
    share(
        "auc",
        "ROC AUC",
        "Probability that a matching pair of graphs scores above a non-matching pair; 0.5 is chance.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean squared error over the training pairs during an epoch.",
        "",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "mse",
        "Mean squared error",
        Unit::Number,
        "Mean squared error of the predicted against the true similarity exp(-edit distance).",
        "",
    )
    .from(0.0)
    .lower()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    rank(
        "spearman",
        "Spearman's rank correlation",
        "Spearman's correlation of predicted and true ranks, mean over queries.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    rank(
        "kendall",
        "Kendall's tau",
        "Kendall's tau of predicted and true ranks, mean over queries.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "precision_at_*",
        "Precision at *",
        "Fraction of the * most similar graphs by prediction that are among the true * most similar.",
    )
    .higher()
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "chosen_epoch",
        "Chosen epoch",
        Unit::Number,
        "Epoch of the model with the best validation score; 0 is the untrained model.",
        "",
    )
    .from(0.0),
    count("parameters", "Parameters", "Trainable parameters of the model."),
    count("clients_with_pairs", "Clients with pairs", "Clients that hold graphs of at least two classes and can train."),
    share(
        "attack_auc",
        "ROC AUC of property inference",
        "Attack: mean area under the ROC curve of property inference from intercepted messages; 0.5 is chance.",
    )
    .lower().attack_beside(0.5),
    share(
        "attack_auc_*",
        "ROC AUC of property inference from *",
        "Attack: ROC AUC of property inference from `*`: g (to the other client), o (to the service), or both.",
    )
    .lower().attack_beside(0.5),
    share(
        "structure_auc",
        "ROC AUC of arcs from messages",
        "Attack: probability that an arc of a graph ranks above a non-adjacent pair of nodes by the rows of its message.",
    )
    .lower().attack_beside(0.5),
    share(
        "leak_auc",
        "ROC AUC of property inference, strongest attacker",
        "Attack: area under the ROC curve of property inference by the attacker with the best score on its known graphs.",
    )
    .lower().attack_beside(0.5),
    share(
        "leak_auc_*",
        "ROC AUC of property inference, strongest attacker, *",
        "Attack: ROC AUC of the strongest attacker from `*`, `of` a component of the property, or `with` a fixed partner of all graphs.",
    )
    .lower().attack_beside(0.5),
    share(
        "decoded_arcs_auc",
        "ROC AUC of decoded arcs",
        "Attack: area under the ROC curve of arcs decoded from pairs of message rows, or from an embedding and two node indices.",
    )
    .lower().attack_beside(0.5),
    share(
        "decoded_features_auc",
        "ROC AUC of decoded features",
        "Attack: mean area under the ROC curve of feature quartiles decoded from a message row, or from an embedding and a node index.",
    )
    .lower().attack_beside(0.5),
    share(
        "*_top_1",
        "Top-1 accuracy, *",
        "Attack: fraction of the queries whose nearest message is from the same graph (link) or class (find).",
    )
    .lower().attack(),
    share(
        "*_mrr",
        "Mean reciprocal rank, *",
        "Attack: mean over queries of the reciprocal rank of the target message.",
    )
    .lower().attack(),
    count("*_queries", "Queries, *", "Queries with at least one target."),
    count("matches_begun", "Matches started", "Matches to which a client invited another client."),
    count("matches_scored", "Matches scored", "Matches completed with a score.").higher(),
    count("matches_lost", "Matches lost", "Matches that never completed.").lower(),
    Term::new(
        "share_lost",
        "Matches lost",
        Unit::Share,
        "Fraction of the matches that never completed.",
        "",
    )
    .lower(),
    count("exchanges_repeated", "Exchanges repeated", "Messages requested again.").lower(),
    count(
        "invitations_declined",
        "Invitations declined",
        "Invitations that the other client could not accept.",
    )
    .lower(),
    latency("score_latency_median_s", "Latency of a score, median", "Median virtual time from invitation to score."),
    latency(
        "score_latency_p99_s",
        "Latency of a score, 99th percentile",
        "99th percentile of the virtual time from invitation to score.",
    ),
    count(
        "scores_unlike_in_memory",
        "Scores that differ from a central run",
        "Scores whose bits differ from a centralised run of the same model; must be 0 if messages are complete.",
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
