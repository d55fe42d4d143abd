//! What is measured of a graph network that classifies.

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
        "Mean cross entropy of the global model over the items of all clients.",
        "",
    )
    .from(0.0)
    .lower()
    .scored(Answering::Server, Asked::All, Weighed::Items),
    share(
        "macro_f1",
        "Macro F1",
        "Mean F1 over classes; a class that is never predicted counts 0.",
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
        "Mean cross entropy of the global model per client: unweighted mean over clients.",
        "",
    )
    .from(0.0)
    .lower()
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
pub const FARING: &[Term] = &[OWN_WORST_TENTH, OWN_SPREAD];

const fn share(name: &'static str, words: &'static str, about: &'static str) -> Term {
    Term::new(name, words, Unit::Number, about, "")
        .from(0.0)
        .up_to(1.0)
        .higher()
}
