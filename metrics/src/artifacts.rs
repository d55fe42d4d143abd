//! The tables that runs leave below `artifacts/`: what each is called, and what its columns are.
//! Whoever writes one takes its name and its first line from here, and so no column is there that
//! `explain` does not know.

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

/// What each link between clients carried.
pub const LINKS: ArtifactTable = ArtifactTable {
    file: "links.csv",
    columns: &[
        column("from", WHOLE, "The client that sent."),
        column("to", WHOLE, "The client that received."),
        column("models", WHOLE, "Models that arrived."),
        column(
            "payload_bytes",
            WHOLE,
            "Bytes of what arrived, without headers and retries.",
        ),
    ],
};
/// Where models that walk have been.
pub const VISITS: ArtifactTable = ArtifactTable {
    file: "visits.csv",
    columns: &[
        column("client", WHOLE, "The client."),
        column("visits", WHOLE, "Steps that models took there."),
        column("gradients", WHOLE, "Gradients that it gave them."),
        column("share_meant", FLOAT, "Its share of all visits as the chain means it."),
    ],
};
/// Updates that the server refused.
pub const REFUSED_UPDATES: ArtifactTable = ArtifactTable {
    file: "refused_updates.csv",
    columns: &[
        column("client", WHOLE, "The client whose update it was."),
        column("round", WHOLE, "The round that it was for."),
        column(
            "index",
            WHOLE,
            "Position, from 0, of its first number that is not finite, or that is beyond the fixed-point range of secure aggregation: 2^23 divided by the weight of the client.",
        ),
        column("value", FLOAT, "That number."),
    ],
};
/// What could not be scored.
pub const NOT_SCORED: ArtifactTable = ArtifactTable {
    file: "not_scored.csv",
    columns: &[
        column("what", "text", "The number that is missing."),
        column("why", "text", "Why."),
    ],
};
/// Graphs whose embeddings a server holds.
pub const GRAPHS: ArtifactTable = ArtifactTable {
    file: "graphs.csv",
    columns: &[
        GRAPH,
        column("client", WHOLE, "Whose it is."),
        CLASS,
        column(
            "part",
            "text",
            "What it is for: `train`, `validation`, `test`, or blank.",
        ),
        column("n_nodes", WHOLE, "Its nodes."),
        column("n_edges", WHOLE, "Its edges."),
        column("round", WHOLE, "The round that the embedding is of."),
        column("cluster*", WHOLE, "Its cluster by the distances of a metric."),
    ],
};
/// Graphs in the plane.
pub const PLACES: ArtifactTable = ArtifactTable {
    file: "map*.csv",
    columns: &[
        GRAPH,
        CLASS,
        column("cluster", "a whole number or blank", "Its cluster, if there are any."),
        column("x", FLOAT, "Where it lies by t-SNE, to the right."),
        column("y", FLOAT, "Where it lies by t-SNE, upwards."),
    ],
};
/// How far graphs move if they are changed.
pub const CHANGES: ArtifactTable = ArtifactTable {
    file: "changes.csv",
    columns: &[
        GRAPH,
        column("lost", "text", "What it has less: an `edge` or a `node`."),
        column("hops", FLOAT, "How far its hop counts move."),
        column(
            "embedding",
            FLOAT,
            "How far its embedding moves, before anything is done to that.",
        ),
    ],
};
/// Attackers that guess a property of a graph from the messages of its matches.
pub const ATTACKS: ArtifactTable = ArtifactTable {
    file: "attacks.csv",
    columns: &[
        column(
            "property",
            "text",
            "What is guessed; `joint` for all that is private together.",
        ),
        column(
            "shadow",
            FLOAT,
            "The share of the training graphs whose property the attacker knows.",
        ),
        column("known", WHOLE, "How many graphs these are."),
        column("targets", WHOLE, "How many graphs it guesses the property of."),
        column(
            "intercept",
            "text",
            "What it reads of the messages; `_with_itself` or `_with_one` where all graphs met such a partner.",
        ),
        column("attacker", "text", "What it learns by."),
        column("setting", "text", "With which setting."),
        column(
            "known_auc",
            "a float or blank",
            "ROC AUC on graphs that it knows, in cross-validation.",
        ),
        column("auc", "a float or blank", "ROC AUC on those that it guesses."),
        column(
            "chosen",
            WHOLE,
            "1 for the best by `known_auc` of what reads the same, whose `auc` counts; else 0.",
        ),
    ],
};
/// What the rows of `intercepted.npy` are of.
pub const OVERHEARD: ArtifactTable = ArtifactTable {
    file: "intercepted.csv",
    columns: &[
        column(
            "part",
            "text",
            "What the graph is for: `train`, `validation` or `test`.",
        ),
        GRAPH,
        column("partner", WHOLE, "The graph that it was matched with."),
        column("matches", WHOLE, "1 if both compute the same, else 0."),
        column("class", WHOLE, "The graph's class."),
        column("property", "text", "What is private of it."),
    ],
};
/// What the columns of `intercepted.npy` are of.
pub const OVERHEARD_COLUMNS: ArtifactTable = ArtifactTable {
    file: "intercepted_columns.csv",
    columns: &[
        column("part", "text", "The part of the messages."),
        column("from", WHOLE, "Its first column, from 0."),
        column("to", WHOLE, "The column behind its last."),
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

/// The files that a card has a run keep. They are no part of the fingerprint: the result is the
/// same without them.
pub const KEPT: [&str; 8] = [
    MODEL,
    OWN_MODELS,
    MODEL_LAYOUT.file,
    PREDICTIONS.file,
    OWN_PREDICTIONS.file,
    OUTPUTS.file,
    OWN_OUTPUTS.file,
    ASSIGNMENT.file,
];

pub const ARTIFACT_TABLES: [ArtifactTable; 17] = [
    PREDICTIONS,
    OWN_PREDICTIONS,
    OUTPUTS,
    OWN_OUTPUTS,
    CLIENT_METRICS,
    ASSIGNMENT,
    MODEL_LAYOUT,
    LINKS,
    VISITS,
    REFUSED_UPDATES,
    NOT_SCORED,
    GRAPHS,
    PLACES,
    CHANGES,
    ATTACKS,
    OVERHEARD,
    OVERHEARD_COLUMNS,
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
const WHOLE: &str = "a whole number";
const FLOAT: &str = "a float";
const GRAPH: Column = column("graph", WHOLE, "The graph, by its place in the data.");
const CLASS: Column = column("class", "a whole number or blank", "Its class, if it has one.");
