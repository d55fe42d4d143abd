//! What is measured of vectors, and of edges that were guessed.

use folkmoot_engine::prelude::*;

/// Of every strategy that embeds nodes.
pub const TERMS: &[Term] = terms! {
    "micro_f1", "Micro F1", Number [fraction, higher, scored(Probe, Whole, Items)]:
        "Micro-averaged F1 of node classes predicted from the embeddings by logistic regression.",
        "B. Perozzi et al., DeepWalk, KDD 2014, section 4.1: one against the rest, as many labels as a node has";
    "macro_f1", "Macro F1", Number [fraction, higher, scored(Probe, Whole, Items)]:
        "Macro-averaged F1 of node classes predicted from the embeddings by logistic regression.",
        "B. Perozzi et al., DeepWalk, KDD 2014, section 4.1: one against the rest, as many labels as a node has";
    "knn_accuracy", "k-NN accuracy", Number [fraction, higher, scored(Probe, Whole, Items)]:
        "Accuracy on the test nodes of k-nearest-neighbour classification by cosine similarity of embeddings.";
    "link_auc", "ROC AUC of held-out edges", Number [fraction, higher, scored(Probe, Whole, Items)]:
        "Link prediction: probability that cosine similarity ranks a held-out edge above a non-edge; 0.5 is chance.";
    "vector_edge_auc", "ROC AUC of edges inferred from the embeddings", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that cosine similarity of embeddings ranks an edge above a non-edge; 0.5 is chance.";
    "vector_membership_auc", "ROC AUC of edge membership (walked versus held out)", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that cosine similarity of embeddings ranks an edge used in walks above a held-out edge; 0.5 is chance.";
    "vector_membership_recall", "Recall of edge membership from the embeddings", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: recall of walked edges when the half with the highest cosine is guessed, among equally many walked and held-out edges; 0.5 is chance.";
    "vector_membership_precision", "Precision of edge membership from the embeddings", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: precision when the half with the highest cosine is guessed, among equally many walked and held-out edges; 0.5 is chance.";
    "*_recall", "Recall of edges, *", Number [fraction, lower, attack]:
        "Attack `*`: fraction of the edges that it guesses (recall).";
    "*_precision", "Precision of edges, *", Number [fraction, lower, attack]:
        "Attack `*`: fraction of its guesses that are edges (precision).";
    "*_auc", "ROC AUC of edges, *", Number [fraction, lower, attack_beside(0.5)]:
        "Attack `*`: probability that it ranks an edge above a non-edge; 0.5 is chance.";
};
