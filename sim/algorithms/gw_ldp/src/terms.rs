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
        "Graphs whose embedding the server holds at the end.",
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
        "Graphs whose embedding is of an earlier collection than the last.",
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
        "Gromov-Wasserstein distance of two graphs, by their numbers in the set.",
        PAPER,
    )
    .from(0.0),
    Term::new(
        "std_distance",
        "Deviation of distances",
        Unit::Number,
        "Standard deviation of the Gromov-Wasserstein distance over all pairs of graphs.",
        PAPER,
    )
    .from(0.0),
    share(
        "knn*_accuracy",
        "Accuracy of * nearest neighbours",
        "Share of the test graphs whose class most of their * nearest training graphs have.",
    )
    .higher()
    .scored(Answering::Probe, Asked::All, Weighed::Items),
    share(
        "svm_accuracy",
        "Accuracy of the support vector machine",
        "Share of the test graphs whose class a support vector machine on the distances predicts.",
    )
    .higher()
    .scored(Answering::Probe, Asked::All, Weighed::Items),
    Term::new(
        "svm_c",
        "C of the support vector machine",
        Unit::Number,
        "The penalty that was chosen without the test graphs.",
        "",
    )
    .from(0.0),
    Term::new(
        "svm_gamma",
        "Gamma of the support vector machine",
        Unit::Number,
        "The width of the kernel exp(-gamma distance) that was chosen without the test graphs.",
        "",
    )
    .from(0.0),
    Term::new(
        "svm_fits_stopped",
        "Fits that were stopped",
        Unit::Number,
        "Fits of the support vector machine that had not converged when they were stopped, among those of the choice.",
        "",
    )
    .from(0.0)
    .lower(),
    Term::new(
        "ari",
        "Adjusted Rand index",
        Unit::Number,
        "Agreement of the clusters with the classes; 0 is chance, 1 the same.",
        "L. Hubert and P. Arabie 1985",
    )
    .from(-1.0)
    .up_to(1.0)
    .higher(),
    share(
        "nmi",
        "Normalised mutual information",
        "What clusters tell of the classes, 0 to 1, over the mean of both entropies.",
    )
    .higher(),
    silhouette(
        "silhouette_classes",
        "Silhouette of the classes",
        "How much nearer graphs are to those of their class than to the next class, the mean.",
    ),
    silhouette(
        "silhouette_clusters",
        "Silhouette of the clusters",
        "How much nearer graphs are to those of their cluster than to the next cluster, the mean.",
    ),
    Term::new(
        "cluster_rounds",
        "Rounds of clustering",
        Unit::Number,
        "Times that graphs were dealt to clusters until nothing changed.",
        "",
    )
    .from(0.0),
    Term::new(
        "map_divergence",
        "Divergence of the map",
        Unit::Number,
        "Kullback-Leibler divergence that is left between the neighbourhoods and the map of two dimensions.",
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
        "Deviation of the change by a *",
        "Standard deviation of the distance that a graph moves when it loses a *.",
    ),
    share(
        "same_client*",
        "Neighbours of the same client, *",
        "Share of the * nearest other graphs that are of the graph's own client.",
    )
    .lower(),
    share(
        "same_client*_by_class",
        "Neighbours of the same client by class, *",
        "What the share among the * nearest would be if graphs of the same classes stood there at random.",
    ),
    share(
        "link_nearest_top_1",
        "Clients named by the nearest graph",
        "Attack: share of the graphs whose client is that of the nearest training graph.",
    )
    .lower()
    .attack(),
    share(
        "link_top_1",
        "Clients named",
        "Attack: share of the graphs whose client is named from what their embedding holds.",
    )
    .lower()
    .attack(),
    share(
        "link_auc",
        "ROC AUC of naming the client",
        "Attack: mean over clients of the area under the ROC curve of `this client's` against the rest.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "link_auc_in_class",
        "ROC AUC of naming the client within a class",
        "Attack: the same among graphs of one class; 0.5 for whoever learns the class and nothing else.",
    )
    .lower()
    .attack_beside(0.5),
    share(
        "*_by_class",
        "*, by the class alone",
        "Control: the same attack by a graph's class alone, which needs no embedding.",
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
