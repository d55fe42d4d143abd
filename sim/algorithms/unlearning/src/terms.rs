//! What is measured of a request to forget.

use folkmoot_engine::prelude::*;

pub(crate) const TERMS: &[Term] = terms! {
    "unlearning_rounds", "Rounds after the request", Count [lower]:
        "Rounds after the request to forget.";
    "unlearning_bytes", "Bytes after the request", Bytes [lower]:
        "Payload bytes sent after the request to forget.";
    "unlearning_s", "Time after the request", Seconds [lower]:
        "Virtual time from the request to forget to the end of the run.";
    "stored_bytes", "Bytes stored for unlearning", Bytes [lower]:
        "Bytes that the server stores for the method in addition to one model.";
    "retained_accuracy", "Accuracy on retained data", Number [fraction, higher, scored(Server, All, Items)]:
        "Accuracy over the items of clients that stay. The control retrained is the retrained reference.";
    "model_distance", "Distance to the retrained model", Number [from(0.0), lower]:
        "Euclidean distance of the last model to the retrained reference, divided by the length of the reference. Of several models absent.";
    "retrained_agreement", "Agreement with the retrained model", Number [fraction, higher]:
        "Fraction of all test items to which the last model and the retrained reference give the same class.";
};
