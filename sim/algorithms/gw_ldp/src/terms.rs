//! What is measured of graphs that are compared: distances, classes, clusters, and whose graph it
//! is.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

const PAPER: &str = "H. Jin and X. Chen 2022";

/// Of GW-LDP, by the released embeddings; `name@metric` is the same by another metric of graphs.
pub(super) const TERMS: &[Term] = &[
    count(
        "graphs_compared",
        "Graphs compared",
        "Graphs whose embedding the server has at the end.",
    )
    .higher(),
    count(
        "graphs_missing",
        "Graphs missing",
        "Graphs whose client never sent an embedding.",
    )
    .lower(),
    count(
        "graphs_stale",
        "Graphs with an old embedding",
        "Graphs whose embedding dates from a collection before the last.",
    )
    .lower(),
    Term::new(
        "mean_distance",
        "Mean distance",
        Unit::Number,
        "Mean Gromov-Wasserstein distance over all pairs of graphs.",
        PAPER,
    )
    .from(0.0),
    Term::new(
        "distance_*",
        "Distance, *",
        Unit::Number,
        "Gromov-Wasserstein distance of two graphs, by their indices in the data set.",
        PAPER,
    )
    .from(0.0),
    Term::new(
        "std_distance",
        "Standard deviation of distances",
        Unit::Number,
        "Standard deviation of the Gromov-Wasserstein distance over all pairs of graphs.",
        PAPER,
    )
    .from(0.0),
    share(
        "knn*_accuracy",
        "Accuracy of * nearest neighbours",
        "Accuracy on test graphs of classification by the * nearest training graphs.",
    )
    .higher()
    .scored(Answering::Probe, Asked::All, Weighed::Items),
    share(
        "svm_accuracy",
        "Accuracy of the support vector machine",
        "Accuracy on test graphs of a support vector machine on the distances.",
    )
    .higher()
    .scored(Answering::Probe, Asked::All, Weighed::Items),
    Term::new(
        "svm_c",
        "C of the support vector machine",
        Unit::Number,
        "Penalty C, selected without the test graphs.",
        "",
    )
    .from(0.0),
    Term::new(
        "svm_gamma",
        "Gamma of the support vector machine",
        Unit::Number,
        "Gamma of the kernel exp(-gamma distance), selected without the test graphs.",
        "",
    )
    .from(0.0),
    Term::new(
        "svm_fits_stopped",
        "Fits stopped early",
        Unit::Number,
        "Fits of the support vector machine in the grid search that were stopped before convergence.",
        "",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "ari",
        "Adjusted Rand index",
        Unit::Number,
        "Adjusted Rand index of clusters and classes; 0 is chance, 1 is identical.",
        "L. Hubert and P. Arabie 1985",
    )
    .from(-1.0)
    .up_to(1.0)
    .higher(),
    share(
        "nmi",
        "Normalised mutual information",
        "Mutual information of clusters and classes, divided by the mean of both entropies.",
    )
    .higher(),
    silhouette(
        "silhouette_classes",
        "Silhouette of the classes",
        "Mean silhouette coefficient of the graphs, with classes as clusters.",
    ),
    silhouette(
        "silhouette_clusters",
        "Silhouette of the clusters",
        "Mean silhouette coefficient of the graphs, by cluster.",
    ),
    Term::new(
        "cluster_rounds",
        "Iterations of clustering",
        Unit::Number,
        "Iterations of the clustering until the assignment was stable.",
        "",
    )
    .from(0.0),
    Term::new(
        "map_divergence",
        "Kullback-Leibler divergence of the map",
        Unit::Number,
        "Final Kullback-Leibler divergence of the two-dimensional t-SNE map.",
        "L. van der Maaten and G. Hinton 2008",
    )
    .from(0.0)
    .lower(),
    change(
        "mean_change_*",
        "Mean change by a *",
        "Mean distance that a graph moves when it loses a *.",
    ),
    change(
        "std_change_*",
        "Standard deviation of the change by a *",
        "Standard deviation of the distance that a graph moves when it loses a *.",
    ),
    share(
        "same_client*",
        "Neighbours of the same client, *",
        "Fraction of the * nearest other graphs that belong to the same client.",
    )
    .lower(),
    share(
        "same_client*_by_class",
        "Neighbours of the same client by class, *",
        "Expected fraction among the * nearest if graphs of the same classes were drawn at random.",
    ),
    share(
        "link_nearest_top_1",
        "Clients identified by the nearest graph",
        "Attack: fraction of the graphs whose client is that of the nearest training graph.",
    )
    .lower()
    .attack(),
    share(
        "link_top_1",
        "Clients identified",
        "Attack: fraction of the graphs whose client is identified from their embedding (top-1 accuracy).",
    )
    .lower()
    .attack(),
    share(
        "link_auc",
        "ROC AUC of client identification",
        "Attack: mean over clients of the one-vs-rest ROC AUC of client identification.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "link_auc_in_class",
        "ROC AUC of client identification within a class",
        "Attack: ROC AUC of client identification among graphs of one class; 0.5 if the embedding reveals only the class.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "*_by_class",
        "*, from the class alone",
        "Control: the same attack from a graph's class alone, without an embedding.",
    ),
];

const fn count(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Count, about, "")
}

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0)
}

const fn silhouette(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "P. Rousseeuw 1987")
        .from(-1.0)
        .up_to(1.0)
        .higher()
}

const fn change(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0)
}
