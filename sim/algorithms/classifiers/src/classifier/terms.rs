//! What is measured of a graph network that classifies.

use folkmoot_engine::prelude::*;
use folkmoot_metrics::records::{OWN_SPREAD, OWN_WORST_TENTH};
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Of every strategy that trains one; `validation_` and `test_` before a name say of which part.
pub const TERMS: &[Term] = &[
    share(
        "accuracy",
        "Accuracy",
        "Share of the items whose class the server's model predicts, over all clients' items together.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    Term::new(
        "loss",
        "Loss",
        Unit::Number,
        "Mean cross entropy of the server's model, over all clients' items together.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "macro_f1",
        "Macro F1",
        "F1 of the predicted classes, the mean over classes; one that is never predicted counts 0.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "macro_auc",
        "Macro ROC AUC",
        "Area under the ROC curve of each class against the rest, the mean over classes; 0.5 is a coin.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "client_accuracy",
        "Accuracy of a client",
        "Accuracy of the server's model on one client's items, the mean over clients whatever they hold.",
    )
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    Term::new(
        "client_loss",
        "Loss of a client",
        Unit::Number,
        "Mean cross entropy of the server's model on one client's items, the mean over clients.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::Own, Weighed::Clients),
    share(
        "train_accuracy",
        "Training accuracy",
        "Accuracy of the server's model on what clients train on, as they see it.",
    )
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "published_test_accuracy",
        "Accuracy on the published test part",
        "Accuracy on the test nodes that the data set was published with, with all edges.",
    )
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    share(
        "held_out_accuracy",
        "Accuracy on nodes that none trains on",
        "Accuracy on the (published test) nodes that no client trains on, with all edges.",
    )
    .scored(Answering::Server, Asked::Whole, Weighed::Items),
    Term::new(
        "published_test_trained",
        "Published test nodes that train",
        Unit::Number,
        "Share of the published test nodes that some client trains on.",
        "",
    )
    .from(0.0)
    .up_to(1.0)
    .lower(),
];

/// What is told besides of clients that are scored one by one.
pub const FARING: &[Term] = &[OWN_WORST_TENTH, OWN_SPREAD];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .higher()
}
