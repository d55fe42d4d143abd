//! What is measured of a graph network that learns classes, labels or numbers.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::records::{OWN_SPREAD, OWN_WORST_TENTH};
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of every strategy that trains one; `validation_` and `test_` before a name say of which part.
pub const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Accuracy of the global model over the items of all clients.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean loss of the global model over the items of all clients: cross entropy; of standardised numbers the squared error.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "macro_f1",
        "Macro F1",
        "Mean F1 over classes, or over labels with a positive item in truth or as predicted; one that is never predicted counts 0.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "macro_auc",
        "Macro ROC AUC",
        "Mean one-vs-rest ROC AUC over classes; 0.5 is chance.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "client_accuracy",
        "Client accuracy",
        "Accuracy of the global model per client: unweighted mean over clients.",
    )
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    Term::new(
        "client_loss",
        "Client loss",
        Unit::Number,
        "Mean loss of the global model per client: unweighted mean over clients.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    share(
        "average_precision",
        "Average precision",
        "Area under the precision-recall curve without interpolation: mean over labels with a positive item.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "micro_f1",
        "Micro F1",
        "F1 of the counts summed over labels; a label is predicted where its probability is above 0.5.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "roc_auc",
        "ROC AUC",
        "Area under the ROC curve: mean over labels with a positive and a negative item; 0.5 is chance.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "client_average_precision",
        "Client average precision",
        "Average precision of the global model per client: unweighted mean over clients with a positive label.",
    )
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    share(
        "client_micro_f1",
        "Client micro F1",
        "Micro F1 of the global model per client: unweighted mean over clients with a positive label in truth or as predicted.",
    )
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    error(
        "mae",
        "Mean absolute error",
        "Mean absolute error of predicted numbers, in their own unit; of several numbers the mean.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    error(
        "rmse",
        "Root mean squared error",
        "Root mean squared error of predicted numbers, in their own unit; of several numbers the mean.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    Term::new(
        "r2",
        "R²",
        Unit::Number,
        "1 minus squared error over squared deviation from the mean of these items; 0 is that mean, and worse is negative. Of several numbers the mean.",
        "",
    )
    .up_to(1.0)
    .higher()
    .scored(Answering::Server, Asked::All, Weighed::Items),
    error(
        "client_mae",
        "Client mean absolute error",
        "Mean absolute error of the global model per client, in the number's own unit: unweighted mean over clients.",
    )
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    share(
        "train_accuracy",
        "Training accuracy",
        "Accuracy of the global model on the training items, with the clients' local graphs.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "published_test_accuracy",
        "Accuracy on the published test set",
        "Accuracy on the test nodes of the published split, with all edges.",
    )
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "held_out_accuracy",
        "Accuracy on nodes without training",
        "Accuracy on the nodes (of the published test set, if any) that no client trains on, with all edges.",
    )
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "published_test_trained",
        "Published test nodes used for training",
        Unit::Number,
        "Fraction of the published test nodes that some client trains on.",
        "",
    )
    .from(0.0)
    .up_to(1.0)
    .lower(),
];

/// What is told besides of clients that are scored one by one.
pub const FARING: &[Term] = &[
    OWN_WORST_TENTH,
    OWN_SPREAD,
    share(
        "own_average_precision",
        "Average precision of clients",
        "Average precision of each client's model on its own items, mean over clients with a positive label.",
    )
    .scored(Answering::Own, Asked::Own, Weighed::Clients),
    share(
        "own_worst_tenth_average_precision",
        "Average precision of the worst 10 % of clients",
        "Average precision of each client's model on its own items, mean over the 10 % of clients with the lowest.",
    )
    .scored(Answering::Own, Asked::Own, Weighed::Clients),
    spread(
        "own_spread_average_precision",
        "Standard deviation over clients of the average precision of each client's model on its own items.",
    )
    .up_to(1.0),
    error(
        "own_mae",
        "Mean absolute error of clients",
        "Mean absolute error of each client's model on its own items, mean over clients.",
    )
    .scored(Answering::Own, Asked::Own, Weighed::Clients),
    error(
        "own_worst_tenth_mae",
        "Mean absolute error of the worst 10 % of clients",
        "Mean absolute error of each client's model on its own items, mean over the 10 % of clients with the highest.",
    )
    .scored(Answering::Own, Asked::Own, Weighed::Clients),
    spread(
        "own_spread_mae",
        "Standard deviation over clients of the mean absolute error of each client's model on its own items.",
    ),
];

/// Errors of numbers, which have a unit of their own.
pub(crate) const fn error(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "").from(0.0).lower()
}

const fn spread(name: &'static str, about: &'static str) -> Term {
    error(name, "Spread over clients", about)
}

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .higher()
}
