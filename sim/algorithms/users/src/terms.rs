//! What is measured where users are single nodes.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

const LPGNN: &str = "Sajadmanesh & Gatica-Perez, CCS 2021";

/// Of [`LocalGnn`](crate::LocalGnn).
pub(crate) const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Accuracy of the server's network on the users who did not send their class.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "majority_accuracy",
        "Accuracy of the majority class",
        "Accuracy of always predicting the most frequent reported class: the baseline.",
    ),
    share(
        "clear_accuracy",
        "Accuracy without privacy",
        "Accuracy of a network trained without privacy on features, classes and edges: the upper baseline.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "no_graph_accuracy",
        "Accuracy without edges",
        "Accuracy of a multilayer perceptron on the reported features and classes: the baseline without edges.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "train_told_accuracy",
        "Training accuracy",
        "Fraction of the training users whose reported class the network predicts.",
    ),
    Term::new(
        "kept_epoch",
        "Selected step",
        Unit::Count,
        "Training step of the selected network.",
        "",
    ),
    Term::new(
        "held_arcs",
        "Arcs at the server",
        Unit::Count,
        "Arcs of the graph that the server trains on; sum of the weights if all pairs are weighted.",
        "",
    ),
    bytes(
        "feature_bytes",
        "Bytes of features",
        "Payload bytes of a user's feature report, mean over users.",
    ),
    bytes(
        "label_bytes",
        "Bytes of labels",
        "Payload bytes of a user's class report, mean over users.",
    ),
    bytes(
        "edge_bytes",
        "Bytes of edges",
        "Payload bytes of a user's neighbour report, mean over users.",
    ),
    Term::new(
        "feature_epsilon",
        "Epsilon of features",
        Unit::Number,
        "Epsilon charged for all features of a user.",
        LPGNN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "label_epsilon",
        "Epsilon of a label",
        Unit::Number,
        "Epsilon charged for a user's class.",
        LPGNN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "edge_epsilon",
        "Epsilon of an edge",
        Unit::Number,
        "Epsilon charged for an edge over all lists that contain it: twice a list's epsilon if both users report.",
        "",
    )
    .from(0.0)
    .lower(),
    attack(
        "link_auc",
        "Link recovery AUC",
        "Attack: probability that the strongest attacker on the server's reports ranks an edge above a non-edge.",
    ),
    attack(
        "link_lists_auc",
        "Link recovery AUC by lists",
        "Attack: probability that an edge ranks above a non-edge by the number of the two users that report the other.",
    ),
    attack(
        "link_posterior_auc",
        "Link recovery AUC by posterior",
        "Attack: probability that an edge ranks above a non-edge by Bayes' rule, with a prior from degrees.",
    ),
    attack(
        "link_features_auc",
        "Link recovery AUC by features",
        "Attack: probability that an edge ranks above a non-edge by the similarity of the two reported features, without edge reports.",
    ),
    attack(
        "feature_own_auc",
        "Feature inference AUC by own report",
        "Attack: probability that a user with a feature ranks above one without it, by its own report.",
    ),
    attack(
        "feature_near_auc",
        "Feature inference AUC by neighbours",
        "Attack: probability that a user with a feature ranks above one without it, by its neighbours' reports in the server's graph.",
    ),
    Term::new(
        "label_told_accuracy",
        "Reported classes that are true",
        Unit::Share,
        "Attack: fraction of the reporting users whose reported class is the true one.",
        "",
    )
    .attack(),
    Term::new(
        "label_guess_accuracy",
        "Class inference accuracy",
        Unit::Share,
        "Attack: fraction of the reporting users whose class is inferred from the report combined with the network's prediction.",
        "",
    )
    .attack(),
    Term::new(
        "moved_features",
        "Clipped features",
        Unit::Count,
        "Features outside the public range, clipped to it before release.",
        "",
    ),
];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .higher()
}

const fn bytes(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Bytes, about, "").lower()
}

const fn attack(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .attack_beside(0.5)
}
