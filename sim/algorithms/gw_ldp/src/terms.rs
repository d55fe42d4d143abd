//! What is measured of graphs that are compared: distances, classes, clusters, and whose graph it
//! is.

use folkmoot_engine::prelude::*;

const PAPER: &str = "H. Jin and X. Chen 2022";

/// Of GW-LDP, by the released embeddings; `name@metric` is the same by another metric of graphs.
pub(super) const TERMS: &[Term] = terms! {
    "graphs_compared", "Graphs compared", Count [higher]:
        "Graphs whose embedding the server has at the end.";
    "graphs_missing", "Graphs missing", Count [lower]:
        "Graphs whose client never sent an embedding.";
    "graphs_stale", "Graphs with an old embedding", Count [lower]:
        "Graphs whose embedding dates from a collection before the last.";
    "mean_distance", "Mean distance", Number [from(0.0)]:
        "Mean Gromov-Wasserstein distance over all pairs of graphs.",
        PAPER;
    "distance_*", "Distance, *", Number [from(0.0)]:
        "Gromov-Wasserstein distance of two graphs, by their indices in the data set.",
        PAPER;
    "std_distance", "Standard deviation of distances", Number [from(0.0)]:
        "Standard deviation of the Gromov-Wasserstein distance over all pairs of graphs.",
        PAPER;
    "knn*_accuracy", "Accuracy of * nearest neighbours", Number [fraction, higher, scored(Probe, All, Items)]:
        "Accuracy on test graphs of classification by the * nearest training graphs.";
    "svm_accuracy", "Accuracy of the support vector machine", Number [fraction, higher, scored(Probe, All, Items)]:
        "Accuracy on test graphs of a support vector machine on the distances.";
    "svm_c", "C of the support vector machine", Number [from(0.0)]:
        "Penalty C, selected without the test graphs.";
    "svm_gamma", "Gamma of the support vector machine", Number [from(0.0)]:
        "Gamma of the kernel exp(-gamma distance), selected without the test graphs.";
    "svm_fits_stopped", "Fits stopped early", Number [from(0.0), lower]:
        "Fits of the support vector machine in the grid search that were stopped before convergence.";
    "ari", "Adjusted Rand index", Number [from(-1.0), up_to(1.0), higher]:
        "Adjusted Rand index of clusters and classes; 0 is chance, 1 is identical.",
        "L. Hubert and P. Arabie 1985";
    "nmi", "Normalised mutual information", Number [fraction, higher]:
        "Mutual information of clusters and classes, divided by the mean of both entropies.";
    "silhouette_classes", "Silhouette of the classes", Number [from(-1.0), up_to(1.0), higher]:
        "Mean silhouette coefficient of the graphs, with classes as clusters.",
        "P. Rousseeuw 1987";
    "silhouette_clusters", "Silhouette of the clusters", Number [from(-1.0), up_to(1.0), higher]:
        "Mean silhouette coefficient of the graphs, by cluster.",
        "P. Rousseeuw 1987";
    "cluster_rounds", "Iterations of clustering", Number [from(0.0)]:
        "Iterations of the clustering until the assignment was stable.";
    "map_divergence", "Kullback-Leibler divergence of the map", Number [from(0.0), lower]:
        "Final Kullback-Leibler divergence of the two-dimensional t-SNE map.",
        "L. van der Maaten and G. Hinton 2008";
    "mean_change_*", "Mean change by a *", Number [from(0.0)]:
        "Mean distance that a graph moves when it loses a *.";
    "std_change_*", "Standard deviation of the change by a *", Number [from(0.0)]:
        "Standard deviation of the distance that a graph moves when it loses a *.";
    "same_client*", "Neighbours of the same client, *", Number [fraction, lower]:
        "Fraction of the * nearest other graphs that belong to the same client.";
    "same_client*_by_class", "Neighbours of the same client by class, *", Number [fraction]:
        "Expected fraction among the * nearest if graphs of the same classes were drawn at random.";
    "link_nearest_top_1", "Clients identified by the nearest graph", Number [fraction, lower, attack]:
        "Attack: fraction of the graphs whose client is that of the nearest training graph.";
    "link_top_1", "Clients identified", Number [fraction, lower, attack]:
        "Attack: fraction of the graphs whose client is identified from their embedding (top-1 accuracy).";
    "link_auc", "ROC AUC of client identification", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: mean over clients of the one-vs-rest ROC AUC of client identification.";
    "link_auc_in_class", "ROC AUC of client identification within a class", Number [fraction, lower, attack_beside(0.5)]:
        "Attack: ROC AUC of client identification among graphs of one class; 0.5 if the embedding reveals only the class.";
    "*_by_class", "*, from the class alone", Number [fraction]:
        "Control: the same attack from a graph's class alone, without an embedding.";
};
