//! What is measured of FGCL: its classifier, its budget, and what views and updates give away.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of FGCL; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = &[
    share(
        "roc_auc",
        "ROC AUC",
        "Area under the ROC curve of the server's model; mean over classes or tasks if several; 0.5 is chance.",
    )
    .higher()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean classification loss over labelled graphs, without the contrastive loss.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "accuracy",
        "Accuracy",
        "Fraction of graphs classified correctly by the server's model.",
    )
    .higher()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "epsilon_all_rounds",
        "Epsilon of all rounds",
        Unit::Number,
        "Epsilon of all views in all rounds, summed for the most-used graph.",
        "basic composition: C. Dwork and A. Roth 2014, theorem 3.16",
    )
    .from(0.0)
    .lower(),
    share(
        "edge_guess_auc",
        "ROC AUC of edge inference from views",
        "Attack: probability that an observer of the noisy views ranks an edge above a non-adjacent pair of nodes.",
    )
    .lower().attack_beside(0.5),
    share(
        "edge_guess_found",
        "Edges found in views",
        "Attack: true positive rate of edge inference from noisy views at 1 % false positives.",
    )
    .lower().attack_beside(0.01),
    share(
        "edge_guess_error",
        "Error of edge inference from views",
        "Attack: fraction of pairs misclassified by the more likely answer; the constant answer `never an edge` is a candidate.",
    )
    .higher().attack(),
    Term::new(
        "edge_guess_balanced",
        "Balanced error of edge inference from views",
        Unit::Number,
        "Attack: mean of the error rates on edges and on non-edges, by likelihood alone.",
        "for one view of Laplace noise exp(-epsilon / 2) / 2",
    )
    .from(0.0)
    .up_to(1.0)
    .higher().attack_beside(0.5),
    Term::new(
        "nonpositive_degrees",
        "Non-positive degrees",
        Unit::Share,
        "Fraction of nodes with a non-positive degree in a noisy view; they are excluded from propagation.",
        "",
    ),
    Term::new(
        "graphs_with_nonpositive_degree",
        "Graphs with a non-positive degree",
        Unit::Share,
        "Fraction of graphs whose first noisy view has a non-positive degree, for which the published formula is undefined.",
        "",
    ),
    share(
        "membership_auc",
        "ROC AUC of membership inference",
        "Attack: probability that updates align more with the gradient of a training graph than with that of a non-member.",
    )
    .lower().attack_beside(0.5),
    share(
        "membership_found",
        "Members found",
        "Attack: true positive rate of membership inference from updates at 1 % false positives.",
    )
    .lower().attack_beside(0.01),
    share(
        "update_edge_auc",
        "ROC AUC of edge inference from updates",
        "Attack: probability that updates align more with a graph with a true edge than with a false edge in its place.",
    )
    .lower().attack_beside(0.5),
    share(
        "update_edge_found",
        "Edges found in updates",
        "Attack: true positive rate of edge inference from updates at 1 % false positives.",
    )
    .lower().attack_beside(0.01),
];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0)
}
