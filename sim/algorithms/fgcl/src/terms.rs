//! What is measured of FGCL: its classifier, its budget, and what views and updates give away.

use folkmoot_engine::prelude::*;

/// Of FGCL; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = terms! {
    "roc_auc", "ROC AUC", Number [fraction, higher, scored(Server, Whole, Items)]:
        "Area under the ROC curve of the server's model; mean over classes or tasks if several; 0.5 is chance.";
    "loss", "Loss", Number [from(0.0), lower, scored(Server, Whole, Items)]:
        "Mean classification loss over labelled graphs, without the contrastive loss.";
    "accuracy", "Accuracy", Number [fraction, higher, scored(Server, Whole, Items)]:
        "Fraction of graphs classified correctly by the server's model.";
    "epsilon_all_rounds", "Epsilon of all rounds", Number [from(0.0), lower]:
        "Epsilon of all views in all rounds, summed for the most-used graph.",
        "basic composition: C. Dwork and A. Roth 2014, theorem 3.16";
    "edge_guess_auc", "ROC AUC of edge inference from views", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that an observer of the noisy views ranks an edge above a non-adjacent pair of nodes.";
    "edge_guess_found", "Edges found in views", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: true positive rate of edge inference from noisy views at 1 % false positives.";
    "edge_guess_error", "Error of edge inference from views", Number [fraction, higher, attack]:
        "Attack: fraction of pairs misclassified by the more likely answer; the constant answer `never an edge` is a candidate.";
    "edge_guess_balanced", "Balanced error of edge inference from views", Number [fraction, higher, attack_beside(0.5)]:
        "Attack: mean of the error rates on edges and on non-edges, by likelihood alone.",
        "for one view of Laplace noise exp(-epsilon / 2) / 2";
    "nonpositive_degrees", "Non-positive degrees", Share []:
        "Fraction of nodes with a non-positive degree in a noisy view; they are excluded from propagation.";
    "graphs_with_nonpositive_degree", "Graphs with a non-positive degree", Share []:
        "Fraction of graphs whose first noisy view has a non-positive degree, for which the published formula is undefined.";
    "membership_auc", "ROC AUC of membership inference", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that updates align more with the gradient of a training graph than with that of a non-member.";
    "membership_found", "Members found", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: true positive rate of membership inference from updates at 1 % false positives.";
    "update_edge_auc", "ROC AUC of edge inference from updates", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: probability that updates align more with a graph with a true edge than with a false edge in its place.";
    "update_edge_found", "Edges found in updates", Number [fraction, lower, attack_beside(0.01)]:
        "Attack: true positive rate of edge inference from updates at 1 % false positives.";
};
