//! What is measured of vectors, and of edges that were guessed.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of every strategy that embeds nodes.
pub const TERMS: &[Term] = &[
    Term::new(
        "micro_f1",
        "Micro F1",
        Unit::Number,
        "F1 of node classes predicted from the vectors by logistic regression, all answers counted together.",
        "B. Perozzi et al., DeepWalk, KDD 2014, section 4.1: one against the rest, as many labels as a node has",
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    Term::new(
        "macro_f1",
        "Macro F1",
        Unit::Number,
        "F1 of node classes predicted from the vectors by logistic regression, the mean over classes.",
        "B. Perozzi et al., DeepWalk, KDD 2014, section 4.1: one against the rest, as many labels as a node has",
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    Term::new(
        "knn_accuracy",
        "Accuracy of nearest neighbours",
        Unit::Number,
        "Share of the test nodes whose class most of the nearest training vectors have, by cosine.",
        "",
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    area(
        "link_auc",
        "ROC AUC of held-out edges",
        "Probability that the vectors' cosine ranks a held-out edge above a pair without an edge; 0.5 is a coin.",
    )
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    area(
        "vector_edge_auc",
        "ROC AUC of edges read off the vectors",
        "Attack: probability that the vectors' cosine ranks an edge above a pair without one; 0.5 is a coin.",
    )
    .lower()
    .attack_beside(0.5),
    area(
        "vector_membership_auc",
        "ROC AUC of walked edges against held-out ones",
        "Attack: probability that the vectors' cosine ranks an edge that was walked on above one that was held out.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "vector_membership_recall",
        "Walked edges found in the vectors",
        "Attack: share of the edges walked on that are among the half with the highest cosine of as many walked on as held out; half by a coin.",
    )
    .attack_beside(0.5),
    share(
        "vector_membership_precision",
        "Guesses that were walked on, by the vectors",
        "Attack: share of the half with the highest cosine that was walked on, of as many edges walked on as held out; half by a coin.",
    )
    .attack_beside(0.5),
    share(
        "*_recall",
        "Edges found, *",
        "Attack `*`: share of the edges that are among its guesses.",
    )
    .attack(),
    share(
        "*_precision",
        "Guesses that are edges, *",
        "Attack `*`: share of its guesses that are edges.",
    )
    .attack(),
    area(
        "*_auc",
        "ROC AUC of edges, *",
        "Attack `*`: probability that it ranks an edge above a pair without one; 0.5 is a coin.",
    )
    .lower()
    .attack_beside(0.5),
];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .lower()
}

const fn area(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0)
}
