//! What is measured where users are single nodes.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

const LPGNN: &str = "Sajadmanesh & Gatica-Perez, CCS 2021";

/// Of [`LocalGnn`](crate::LocalGnn).
pub(crate) const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Share of the users who never told their class whose class the server's network predicts.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "majority_accuracy",
        "Accuracy of the commonest class",
        "The same for who always says the class that is commonest among those who tell theirs: the floor.",
    ),
    share(
        "clear_accuracy",
        "Accuracy without privacy",
        "The same for a network that is trained on features, classes and edges as they are: the ceiling.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "no_graph_accuracy",
        "Accuracy without edges",
        "The same for a perceptron on the features and classes that were told: what edges must beat.",
    )
    .scored_at_best(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "train_told_accuracy",
        "Training accuracy",
        "Share of the users who train whose class as they told it the network predicts.",
    ),
    Term::new(
        "kept_epoch",
        "Kept after",
        Unit::Count,
        "Steps after which the network was kept.",
        "",
    ),
    Term::new(
        "held_arcs",
        "Arcs held",
        Unit::Count,
        "Arcs of the graph that the server learns on; of weights for all pairs their sum.",
        "",
    ),
    bytes(
        "feature_bytes",
        "Bytes of features",
        "Payload bytes of a user's report on its features, the mean.",
    ),
    bytes(
        "label_bytes",
        "Bytes of labels",
        "Payload bytes of a user's report on its class, the mean.",
    ),
    bytes(
        "edge_bytes",
        "Bytes of edges",
        "Payload bytes of a user's report on its neighbours, the mean.",
    ),
    Term::new(
        "feature_epsilon",
        "Epsilon of features",
        Unit::Number,
        "What a user's features were charged, all together.",
        LPGNN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "label_epsilon",
        "Epsilon of a label",
        Unit::Number,
        "What a user's class was charged.",
        LPGNN,
    )
    .from(0.0)
    .lower(),
    Term::new(
        "edge_epsilon",
        "Epsilon of an edge",
        Unit::Number,
        "What an edge was charged in all lists that tell of it: twice a list's epsilon where both its users answer.",
        "",
    )
    .from(0.0)
    .lower(),
    attack(
        "link_auc",
        "Link recovery AUC",
        "Attack: probability that the strongest attacker on the server's reports ranks an edge above a pair that is none.",
    ),
    attack(
        "link_lists_auc",
        "Link recovery AUC by lists",
        "Attack: probability that an edge ranks above a pair that is none by how many of a pair have named the other.",
    ),
    attack(
        "link_posterior_auc",
        "Link recovery AUC by posterior",
        "Attack: probability that an edge ranks above a pair that is none by Bayes' rule, with a prior from degrees.",
    ),
    attack(
        "link_features_auc",
        "Link recovery AUC by features",
        "Attack: probability that an edge ranks above a pair that is none by how alike two users are in what they told of their features: no edge is read.",
    ),
    attack(
        "feature_own_auc",
        "Feature inference AUC by own report",
        "Attack: probability that a user who has a feature ranks above one who has not, by its own report.",
    ),
    attack(
        "feature_near_auc",
        "Feature inference AUC by neighbours",
        "Attack: probability that a user who has a feature ranks above one who has not, by the reports of its neighbours in the graph that the server holds.",
    ),
    Term::new(
        "label_told_accuracy",
        "Classes as they were told",
        Unit::Share,
        "Attack: share of the users who told their class for whom that was the true one.",
        "",
    )
    .attack(),
    Term::new(
        "label_guess_accuracy",
        "Classes guessed",
        Unit::Share,
        "Attack: share of the users who told their class whose class is guessed by who weighs what was told with what the network predicts.",
        "",
    )
    .attack(),
    Term::new(
        "moved_features",
        "Features moved",
        Unit::Count,
        "Features outside of the public range, moved to its nearest end before anything is released.",
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
