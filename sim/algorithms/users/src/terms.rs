//! What is measured where users are single nodes.

use folkmoot_engine::prelude::*;

const LPGNN: &str = "Sajadmanesh & Gatica-Perez, CCS 2021";

/// Of [`LocalGnn`](crate::LocalGnn).
pub(crate) const TERMS: &[Term] = terms! {
    "accuracy", "Accuracy", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Accuracy of the server's network on the users who did not send their class.";
    "majority_accuracy", "Accuracy of the majority class", Number [fraction, higher]:
        "Accuracy of always predicting the most frequent reported class: the baseline.";
    "clear_accuracy", "Accuracy without privacy", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Accuracy of a network trained without privacy on features, classes and edges: the upper baseline.";
    "no_graph_accuracy", "Accuracy without edges", Number [fraction, higher, scored_at_best(Server, Whole, Items)]:
        "Accuracy of a multilayer perceptron on the reported features and classes: the baseline without edges.";
    "train_told_accuracy", "Training accuracy", Number [fraction, higher]:
        "Fraction of the training users whose reported class the network predicts.";
    "kept_epoch", "Selected step", Count []:
        "Training step of the selected network.";
    "held_arcs", "Arcs at the server", Count []:
        "Arcs of the graph that the server trains on; sum of the weights if all pairs are weighted.";
    "feature_bytes", "Bytes of features", Bytes [lower]:
        "Payload bytes of a user's feature report, mean over users.";
    "label_bytes", "Bytes of labels", Bytes [lower]:
        "Payload bytes of a user's class report, mean over users.";
    "edge_bytes", "Bytes of edges", Bytes [lower]:
        "Payload bytes of a user's neighbour report, mean over users.";
    "feature_epsilon", "Epsilon of features", Number [from(0.0), lower]:
        "Epsilon charged for all features of a user.",
        LPGNN;
    "label_epsilon", "Epsilon of a label", Number [from(0.0), lower]:
        "Epsilon charged for a user's class.",
        LPGNN;
    "edge_epsilon", "Epsilon of an edge", Number [from(0.0), lower]:
        "Epsilon charged for an edge over all lists that contain it: twice a list's epsilon if both users report.";
    "link_auc", "Link recovery AUC", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that the strongest attacker on the server's reports ranks an edge above a non-edge.";
    "link_lists_auc", "Link recovery AUC by lists", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that an edge ranks above a non-edge by the number of the two users that report the other.";
    "link_posterior_auc", "Link recovery AUC by posterior", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that an edge ranks above a non-edge by Bayes' rule, with a prior from degrees.";
    "link_features_auc", "Link recovery AUC by features", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that an edge ranks above a non-edge by the similarity of the two reported features, without edge reports.";
    "feature_own_auc", "Feature inference AUC by own report", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that a user with a feature ranks above one without it, by its own report.";
    "feature_near_auc", "Feature inference AUC by neighbours", Number [fraction, attack_beside(0.5)]:
        "Attack: probability that a user with a feature ranks above one without it, by its neighbours' reports in the server's graph.";
    "label_told_accuracy", "Reported classes that are true", Share [attack]:
        "Attack: fraction of the reporting users whose reported class is the true one.";
    "label_guess_accuracy", "Class inference accuracy", Share [attack]:
        "Attack: fraction of the reporting users whose class is inferred from the report combined with the network's prediction.";
    "moved_features", "Clipped features", Count []:
        "Features outside the public range, clipped to it before release.";
};
