//! What is measured of a graph network that learns classes, labels or numbers.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::records::{OWN_SPREAD, OWN_WORST_TENTH};

/// Of every strategy that trains one; `validation_` and `test_` before a name say of which part.
pub const TERMS: &[Term] = terms! {
    "accuracy", "Accuracy", Number [fraction, higher, scored(Server, All, Items)]:
        "Accuracy of the global model over the items of all clients.";
    "loss", "Loss", Number [from(0.0), lower, scored(Server, All, Items)]:
        "Mean loss of the global model over the items of all clients: cross entropy; of standardised numbers the squared error.";
    "macro_f1", "Macro F1", Number [fraction, higher, scored(Server, All, Items)]:
        "Mean F1 over classes, or over labels with a positive item in truth or as predicted; one that is never predicted counts 0.";
    "macro_auc", "Macro ROC AUC", Number [fraction, higher, scored(Server, All, Items)]:
        "Mean one-vs-rest ROC AUC over classes; 0.5 is chance.";
    "client_accuracy", "Client accuracy", Number [fraction, higher, scored(Server, Own, Clients)]:
        "Accuracy of the global model per client: unweighted mean over clients.";
    "client_loss", "Client loss", Number [from(0.0), lower, scored(Server, Own, Clients)]:
        "Mean loss of the global model per client: unweighted mean over clients.";
    "average_precision", "Average precision", Number [fraction, higher, scored(Server, All, Items)]:
        "Area under the precision-recall curve without interpolation: mean over labels with a positive item.";
    "micro_f1", "Micro F1", Number [fraction, higher, scored(Server, All, Items)]:
        "F1 of the counts summed over labels; a label is predicted where its probability is above 0.5.";
    "roc_auc", "ROC AUC", Number [fraction, higher, scored(Server, All, Items)]:
        "Area under the ROC curve: mean over labels with a positive and a negative item; 0.5 is chance.";
    "client_average_precision", "Client average precision", Number [fraction, higher, scored(Server, Own, Clients)]:
        "Average precision of the global model per client: unweighted mean over clients with a positive label.";
    "client_micro_f1", "Client micro F1", Number [fraction, higher, scored(Server, Own, Clients)]:
        "Micro F1 of the global model per client: unweighted mean over clients with a positive label in truth or as predicted.";
    "mae", "Mean absolute error", Number [from(0.0), lower, scored(Server, All, Items)]:
        "Mean absolute error of predicted numbers, in their own unit; of several numbers the mean.";
    "rmse", "Root mean squared error", Number [from(0.0), lower, scored(Server, All, Items)]:
        "Root mean squared error of predicted numbers, in their own unit; of several numbers the mean.";
    "r2", "R²", Number [up_to(1.0), higher, scored(Server, All, Items)]:
        "1 minus squared error over squared deviation from the mean of these items; 0 is that mean, and worse is negative. Of several numbers the mean.";
    "client_mae", "Client mean absolute error", Number [from(0.0), lower, scored(Server, Own, Clients)]:
        "Mean absolute error of the global model per client, in the number's own unit: unweighted mean over clients.";
    "attack_success", "Attack success rate", Number [fraction, lower, scored(Server, All, Items)]:
        "Fraction of test items of other classes that the global model gives the adversary's target class. With a backdoor they have the whole trigger, and the control is the same items without it. With flipped labels they are the items of the source class.";
    "train_accuracy", "Training accuracy", Number [fraction, higher, scored(Server, All, Items)]:
        "Accuracy of the global model on the training items, with the clients' local graphs.";
    "published_test_accuracy", "Accuracy on the published test set", Number [fraction, higher, scored(Server, Whole, Items)]:
        "Accuracy on the test nodes of the published split, with all edges.";
    "held_out_accuracy", "Accuracy on nodes without training", Number [fraction, higher, scored(Server, Whole, Items)]:
        "Accuracy on the nodes (of the published test set, if any) that no client trains on, with all edges.";
    "published_test_trained", "Published test nodes used for training", Number [fraction, lower]:
        "Fraction of the published test nodes that some client trains on.";
};

/// What is told besides of clients that are scored one by one.
pub const FARING: &[Term] = terms! {
    = OWN_WORST_TENTH;
    = OWN_SPREAD;
    "honest_accuracy", "Accuracy of honest clients", Number [fraction, higher, scored(Own, Own, Clients)]:
        "Accuracy on the items of each client that is not malicious, mean over these clients.";
    "honest_worst_tenth", "Accuracy of the worst 10 % of honest clients", Number [fraction, higher, scored(Own, Own, Clients)]:
        "The same, mean over the 10 % of them with the lowest.";
    "own_average_precision", "Average precision of clients", Number [fraction, higher, scored(Own, Own, Clients)]:
        "Average precision of each client's model on its own items, mean over clients with a positive label.";
    "own_worst_tenth_average_precision", "Average precision of the worst 10 % of clients", Number [fraction, higher, scored(Own, Own, Clients)]:
        "Average precision of each client's model on its own items, mean over the 10 % of clients with the lowest.";
    "own_spread_average_precision", "Spread over clients", Number [fraction, lower]:
        "Standard deviation over clients of the average precision of each client's model on its own items.";
    "own_mae", "Mean absolute error of clients", Number [from(0.0), lower, scored(Own, Own, Clients)]:
        "Mean absolute error of each client's model on its own items, mean over clients.";
    "own_worst_tenth_mae", "Mean absolute error of the worst 10 % of clients", Number [from(0.0), lower, scored(Own, Own, Clients)]:
        "Mean absolute error of each client's model on its own items, mean over the 10 % of clients with the highest.";
    "own_spread_mae", "Spread over clients", Number [from(0.0), lower]:
        "Standard deviation over clients of the mean absolute error of each client's model on its own items.";
};
