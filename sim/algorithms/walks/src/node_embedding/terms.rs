//! What is measured of vectors, and of edges that were guessed.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of every strategy that embeds nodes.
pub const TERMS: &[Term] = &[
    Term::new(
        "micro_f1",
        "Micro F1",
        Unit::Number,
        "Micro-averaged F1 of node classes predicted from the embeddings by logistic regression.",
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
        "Macro-averaged F1 of node classes predicted from the embeddings by logistic regression.",
        "B. Perozzi et al., DeepWalk, KDD 2014, section 4.1: one against the rest, as many labels as a node has",
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    Term::new(
        "knn_accuracy",
        "k-NN accuracy",
        Unit::Number,
        "Accuracy on the test nodes of k-nearest-neighbour classification by cosine similarity of embeddings.",
        "",
    )
    .from(0.0)
    .up_to(1.0)
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    area(
        "link_auc",
        "ROC AUC of held-out edges",
        "Link prediction: probability that cosine similarity ranks a held-out edge above a non-edge; 0.5 is chance.",
    )
    .higher()
    .scored(Answering::Probe, Asked::Whole, Weighed::Items),
    area(
        "vector_edge_auc",
        "ROC AUC of edges inferred from the embeddings",
        "Attack: probability that cosine similarity of embeddings ranks an edge above a non-edge; 0.5 is chance.",
    )
    .lower()
    .attack_beside(0.5),
    area(
        "vector_membership_auc",
        "ROC AUC of edge membership (walked versus held out)",
        "Attack: probability that cosine similarity of embeddings ranks an edge used in walks above a held-out edge; 0.5 is chance.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "vector_membership_recall",
        "Recall of edge membership from the embeddings",
        "Attack: recall of walked edges when the half with the highest cosine is guessed, among equally many walked and held-out edges; 0.5 is chance.",
    )
    .attack_beside(0.5),
    share(
        "vector_membership_precision",
        "Precision of edge membership from the embeddings",
        "Attack: precision when the half with the highest cosine is guessed, among equally many walked and held-out edges; 0.5 is chance.",
    )
    .attack_beside(0.5),
    share(
        "*_recall",
        "Recall of edges, *",
        "Attack `*`: fraction of the edges that it guesses (recall).",
    )
    .attack(),
    share(
        "*_precision",
        "Precision of edges, *",
        "Attack `*`: fraction of its guesses that are edges (precision).",
    )
    .attack(),
    area(
        "*_auc",
        "ROC AUC of edges, *",
        "Attack `*`: probability that it ranks an edge above a non-edge; 0.5 is chance.",
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
