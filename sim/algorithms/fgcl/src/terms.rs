//! What is measured of FGCL: its classifier, its budget, and what views and updates give away.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of FGCL; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = &[
    share(
        "roc_auc",
        "ROC AUC",
        "Area under the ROC curve of the server's model; of several classes or tasks the mean; 0.5 is a coin.",
    )
    .higher()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean loss over the known labels, without the contrastive term.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "accuracy",
        "Accuracy",
        "Share of the graphs whose class the server's model predicts.",
    )
    .higher()
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "epsilon_all_rounds",
        "Epsilon of all rounds",
        Unit::Number,
        "What the views of all rounds have cost the graph that was used most, added up.",
        "basic composition: C. Dwork and A. Roth 2014, theorem 3.16",
    )
    .from(0.0)
    .lower(),
    share(
        "edge_guess_auc",
        "ROC AUC of edges guessed from views",
        "Attack: probability that an edge is ranked above another pair of a graph's nodes by whoever sees its noisy views.",
    )
    .lower().attack_beside(0.5),
    share(
        "edge_guess_found",
        "Edges found in views",
        "Attack: share of the edges found in noisy views with at most 1 of 100 other pairs taken for one.",
    )
    .lower().attack_beside(0.01),
    share(
        "edge_guess_error",
        "Error of guessing edges from views",
        "Attack: share of the pairs guessed wrongly by the likelier answer; `never an edge` is among the answers.",
    )
    .higher().attack(),
    Term::new(
        "edge_guess_balanced",
        "Balanced error of guessing edges from views",
        Unit::Number,
        "Attack: mean of the error rates on edges and on other pairs, by the likelihood alone.",
        "for one view of Laplace noise exp(-epsilon / 2) / 2",
    )
    .from(0.0)
    .up_to(1.0)
    .higher().attack_beside(0.5),
    Term::new(
        "nonpositive_degrees",
        "Degrees that are not positive",
        Unit::Share,
        "Share of the nodes whose degree in a noisy view is not positive, so that they take no part in propagation.",
        "",
    ),
    Term::new(
        "graphs_with_nonpositive_degree",
        "Graphs with a degree that is not positive",
        Unit::Share,
        "Share of the graphs whose first noisy view has a degree that is not positive, where the printed formula breaks.",
        "",
    ),
    share(
        "membership_auc",
        "ROC AUC of membership",
        "Attack: probability that updates point more towards a training graph than towards one that nobody trains on.",
    )
    .lower().attack_beside(0.5),
    share(
        "membership_found",
        "Members found",
        "Attack: share of the training graphs told from updates with at most 1 of 100 others taken for one.",
    )
    .lower().attack_beside(0.01),
    share(
        "update_edge_auc",
        "ROC AUC of edges read off updates",
        "Attack: probability that updates point more towards a graph with an edge of it than with another pair joined.",
    )
    .lower().attack_beside(0.5),
    share(
        "update_edge_found",
        "Edges found in updates",
        "Attack: share of the edges told from updates with at most 1 of 100 other pairs taken for one.",
    )
    .lower().attack_beside(0.01),
];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0)
}
