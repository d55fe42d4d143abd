//! What is measured of learning without a server.

use folkmoot_engine::prelude::*;

const LIAN: &str = "Lian et al., NIPS 2017";

/// Of gossip; `validation_` and `test_` before a name say of which part.
pub(super) const TERMS: &[Term] = terms! {
    "accuracy", "Accuracy", Number [fraction, higher, scored(Own, All, Clients)]:
        "Accuracy of each client's model over the items of all clients: mean over clients.";
    "attack_success", "Attack success rate", Number [fraction, lower, scored(Own, All, Clients)]:
        "Fraction of test items of other classes that the models of honest clients give the adversary's target class: mean over these clients. With a backdoor they have the whole trigger, and the control is the same items without it. With flipped labels they are the items of the source class.";
    "worst_accuracy", "Accuracy of the worst client", Number [fraction, higher, scored(Own, All, Items)]:
        "Accuracy of the worst client's model over the items of all clients.";
    "mean_model_accuracy", "Accuracy of the mean model", Number [fraction, higher, scored(Mean, All, Items)]:
        "Accuracy of the mean of all models over the items of all clients; no client has this model.";
    "average_precision", "Average precision", Number [fraction, higher, scored(Own, All, Clients)]:
        "Average precision of each client's model over the items of all clients: mean over clients.";
    "worst_average_precision", "Average precision of the worst client", Number [fraction, higher, scored(Own, All, Items)]:
        "Average precision of the worst client's model over the items of all clients.";
    "mean_model_average_precision", "Average precision of the mean model", Number [fraction, higher, scored(Mean, All, Items)]:
        "Average precision of the mean of all models over the items of all clients; no client has this model.";
    "mae", "Mean absolute error", Number [from(0.0), lower, scored(Own, All, Clients)]:
        "Mean absolute error of each client's model over the items of all clients: mean over clients.";
    "worst_mae", "Mean absolute error of the worst client", Number [from(0.0), lower, scored(Own, All, Items)]:
        "Mean absolute error of the worst client's model over the items of all clients.";
    "mean_model_mae", "Mean absolute error of the mean model", Number [from(0.0), lower, scored(Mean, All, Items)]:
        "Mean absolute error of the mean of all models over the items of all clients; no client has this model.";
    "consensus_distance", "Distance from consensus", Number [from(0.0), lower]:
        "Root mean square over clients of the Euclidean distance to the mean of all models.",
        LIAN;
    "spectral_gap", "Spectral gap", Number [higher]:
        "1 minus the worst-case contraction of the distance from consensus per exchange. For a fixed topology with Metropolis weights, 1 minus the second largest absolute eigenvalue of the mixing matrix. For changing topologies, of its mean square.",
        "L. Xiao and S. Boyd, Systems & Control Letters 53, 2004";
    "link_bytes_most", "Bytes on the busiest link", Bytes [lower]:
        "Payload bytes delivered on the busiest directed link.";
    "link_bytes_least", "Bytes on the least used link", Bytes []:
        "Payload bytes delivered on the least used directed link, among links with traffic.";
    "compression", "Compression of models", Number [from(0.0), higher]:
        "Compression ratio of models: uncompressed size divided by transmitted size.";
    "missing_models", "Missing models", Count [lower]:
        "Models or answers of neighbours that did not arrive in time; the client's own model took their weight.";
    "late_models", "Late models", Count [lower]:
        "Models of neighbours that arrived after the client's round had ended, and were dropped.";
    "refused_models", "Refused models", Count [lower]:
        "Models with non-finite values, which count as missing: training diverged at those clients.";
    "skipped_rounds", "Skipped rounds", Count [lower]:
        "Rounds that clients missed because their neighbours continued without them.";
    "repeated_trainings", "Repeated trainings", Count [lower]:
        "Trainings that a client restarted because the result was overdue.";
    "late_reports", "Late reports", Count [lower]:
        "Reports that reached the evaluator after it had closed their round; the model counts in the next.";
};
