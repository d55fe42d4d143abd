//! The tables of runs below `artifacts/`: the name and the columns of each. An algorithm that writes
//! one takes its name and its first line from an [`ArtifactTable`], which it adds to the registry,
//! so that `explain` knows every column.

use crate::table::{Column, column};

/// A table below `artifacts/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactTable {
    /// Its path there, `*` standing for nothing or for `_` and a metric.
    pub file: &'static str,
    /// Its columns, in order. One that has a `*` in its name stands for several, or for none.
    pub columns: &'static [Column],
}

impl ArtifactTable {
    /// Its first line, with what the last column stands for behind the columns that are always
    /// there.
    pub fn header(&self, more: &[String]) -> String {
        let always = self.columns.iter().map(|column| column.name);
        let always = always.filter(|name| !name.contains('*'));
        let names: Vec<&str> = always.chain(more.iter().map(String::as_str)).collect();
        names.join(",") + "\n"
    }
}

/// What could not be scored.
pub const NOT_SCORED: ArtifactTable = ArtifactTable {
    file: "not_scored.csv",
    columns: &[
        column("what", "text", "The number that is missing."),
        column("why", "text", "Why."),
    ],
};

/// The answers of the server's last model, where a card keeps `Predictions`.
pub const PREDICTIONS: ArtifactTable = ArtifactTable {
    file: "predictions.csv",
    columns: ANSWERS,
};
/// The answers of each client's own last model on its own items.
pub const OWN_PREDICTIONS: ArtifactTable = ArtifactTable {
    file: "own_predictions.csv",
    columns: ANSWERS,
};
/// The answers of the server's last model to several labels or numbers, where a card keeps
/// `Predictions`.
pub const OUTPUTS: ArtifactTable = ArtifactTable {
    file: "outputs.csv",
    columns: OUTPUT,
};
/// The same of each client's own last model on its own items.
pub const OWN_OUTPUTS: ArtifactTable = ArtifactTable {
    file: "own_outputs.csv",
    columns: OUTPUT,
};
/// How each client's model scores on the client's own items, where labels or numbers are learned.
pub const CLIENT_METRICS: ArtifactTable = ArtifactTable {
    file: "client_metrics.csv",
    columns: &[
        column("client", WHOLE, "The client."),
        column("split", "text", "`test` or `validation`."),
        column("metric", "text", "`average_precision` or `mae`, and `loss`."),
        column("value", FLOAT, "Its value; a score that is undefined has no row."),
        column("items", WHOLE, "Items of the client in that split."),
    ],
};
/// The trainings of a user's own program, each with a digest of its update, so that
/// `folkmoot compare` names the first that differs.
pub const JOBS: ArtifactTable = ArtifactTable {
    file: "jobs.csv",
    columns: &[
        column("round", WHOLE, "The round of the model that was trained."),
        column("client", WHOLE, "The client."),
        column("digest", "text", "BLAKE3 hash of its update, 16 hexadecimal digits."),
    ],
};
/// Which client holds each item, and what it is for, where a card keeps `Assignment`.
pub const ASSIGNMENT: ArtifactTable = ArtifactTable {
    file: "assignment.csv",
    columns: &[
        ITEM,
        HOLDER,
        column(
            "part",
            "text",
            "What the client uses it for: `train`, `validation` or `test`; blank for an item without a label.",
        ),
    ],
};
/// The matrices in `model.npy` and in each row of `own_models.npy`, where a card keeps `Model`.
pub const MODEL_LAYOUT: ArtifactTable = ArtifactTable {
    file: "model_layout.csv",
    columns: &[
        column("name", "text", "The matrix."),
        column("from", WHOLE, "The position of its first number, from 0."),
        column("rows", WHOLE, "Its rows."),
        column("columns", WHOLE, "Its columns; rows follow each other."),
        column(
            "learns",
            WHOLE,
            "1 if it is trained, else 0, as running statistics are.",
        ),
    ],
};
/// The server's last model, where a card keeps `Model`.
pub const MODEL: &str = "model.npy";
/// The last models of clients that have models of their own, a row each.
pub const OWN_MODELS: &str = "own_models.npy";

/// The files that a card has a run keep, and digests of trainings. They are no part of the
/// fingerprint: the result is the same without them.
pub const KEPT: [&str; 9] = [
    MODEL,
    OWN_MODELS,
    MODEL_LAYOUT.file,
    PREDICTIONS.file,
    OWN_PREDICTIONS.file,
    OUTPUTS.file,
    OWN_OUTPUTS.file,
    ASSIGNMENT.file,
    JOBS.file,
];

/// The tables of all algorithms that train classifiers, and of every run.
pub const ARTIFACT_TABLES: [ArtifactTable; 8] = [
    PREDICTIONS,
    OWN_PREDICTIONS,
    OUTPUTS,
    OWN_OUTPUTS,
    CLIENT_METRICS,
    ASSIGNMENT,
    MODEL_LAYOUT,
    NOT_SCORED,
];

/// The columns of predictions.
const ANSWERS: &[Column] = &[
    ITEM,
    HOLDER,
    column(
        "part",
        "text",
        "What the client uses it for: `train`, `validation` or `test`.",
    ),
    column("label", WHOLE, "Its class."),
    column(
        "predicted",
        WHOLE,
        "The predicted class: the one of the largest logit, of equals the first.",
    ),
    column(
        "probability_*",
        FLOAT,
        "The probability of a class, from 0, by softmax in double precision.",
    ),
];

/// The columns of answers to several labels or numbers.
const OUTPUT: &[Column] = &[
    ITEM,
    HOLDER,
    column(
        "part",
        "text",
        "What the client uses it for: `train`, `validation` or `test`.",
    ),
    column(
        "output",
        WHOLE,
        "The label or number, by its place in the data, from 0.",
    ),
    column(
        "truth",
        "a float or blank",
        "The label, 0 or 1, or the number; blank where unknown.",
    ),
    column(
        "answer",
        FLOAT,
        "The probability of the label, or the predicted number in its unit.",
    ),
];

const ITEM: Column = column(
    "item",
    WHOLE,
    "The node of one graph, or the graph of a set, by its position in the data.",
);
const HOLDER: Column = column("client", WHOLE, "The client that holds it.");
/// What the cells of a column of whole numbers hold.
pub const WHOLE: &str = "a whole number";
/// What those of a column of floats hold.
pub const FLOAT: &str = "a float";
