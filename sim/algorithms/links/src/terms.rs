//! What is measured of predicted edges.

use folkmoot_engine::prelude::*;

/// `validation_` and `test_` before a name say of which held-out edges.
pub(crate) const TERMS: &[Term] = terms! {
    "auc", "ROC AUC", Number [fraction, higher, scored(Server, All, Items)]:
        "Probability that a held-out edge scores above a pair without an edge; 0.5 is chance. Each node is embedded at its own client.";
    "average_precision", "Average precision", Number [fraction, higher, scored(Server, All, Items)]:
        "Area under the precision-recall curve, without interpolation, of held-out edges among as many pairs without an edge; 0.5 is chance.";
    "loss", "Loss", Number [from(0.0), lower, scored(Server, All, Items)]:
        "Mean binary cross entropy over held-out edges and as many pairs without an edge; ln 2 is chance.";
    "mrr", "Mean reciprocal rank", Number [fraction, higher, scored(Server, All, Items)]:
        "Mean of 1 over the rank of a held-out edge among random nodes that have no edge with its first end.";
    "hits_at_1", "Hits at 1", Number [fraction, higher, scored(Server, All, Items)]:
        "Fraction of held-out edges with rank 1 among random nodes that have no edge with the first end.";
    "hits_at_3", "Hits at 3", Number [fraction, higher, scored(Server, All, Items)]:
        "Fraction of held-out edges with rank at most 3 among random nodes that have no edge with the first end.";
    "hits_at_10", "Hits at 10", Number [fraction, higher, scored(Server, All, Items)]:
        "Fraction of held-out edges with rank at most 10 among random nodes that have no edge with the first end.";
    "inner_auc", "ROC AUC within clients", Number [fraction, higher, scored(Server, Own, Items)]:
        "ROC AUC of held-out edges within a client against as many pairs of that client's nodes without an edge, all clients together; 0.5 is chance.";
    "cross_auc", "ROC AUC between clients", Number [fraction, higher, scored(Server, Whole, Items)]:
        "ROC AUC of held-out edges between nodes of different clients against such pairs without an edge; each end is embedded at its own client.";
    "client_auc", "ROC AUC per client", Number [fraction, higher, scored(Server, Own, Clients)]:
        "ROC AUC of held-out edges within a client against pairs of its nodes without an edge: unweighted mean over clients.";
    "client_worst_tenth_auc", "ROC AUC of the worst 10 % of clients", Number [fraction, higher, scored(Server, Own, Clients)]:
        "ROC AUC within a client: mean over the 10 % of clients with the lowest.";
    "membership_auc", "ROC AUC of edge membership", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that the trained model scores an edge that clients train to predict above a test edge; 0.5 is chance.";
    "link_auc", "ROC AUC of edges from the embeddings", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that cosine similarity of embeddings ranks a training edge above a pair without an edge; 0.5 is chance.";
};
